//! Numbers of comparisons in as many digits as it takes to see the difference.

use placebench_base::significant::{bytes_text, time_text};
use placebench_harness::compare::CellChange;
use placebench_harness::results::{Content, Metric};

/// A factor with four decimals, or more until it differs from 1; `1` only if it is exactly that.
pub(crate) fn factor(ratio: f64) -> String {
    if ratio == 1.0 {
        return "1".to_owned();
    }
    if !ratio.is_finite() {
        return "∞".to_owned();
    }
    let off = (ratio - 1.0).abs();
    match ratio {
        _ if off < 5e-5 => format!("1{:+.0e}", ratio - 1.0),
        r if r >= 99.95 => format!("{r:.0}"),
        r => format!("{r:.4}"),
    }
}

/// A p-value with two significant digits.
pub(crate) fn probability(p: f64) -> String {
    if p < 1e-4 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

/// The two values of a changed cell, in full where three digits do not tell them apart.
pub(crate) fn values(metric: Metric, change: &CellChange) -> String {
    let short = |value: f64| match metric.content() {
        Content::Time => time_text(value, &change.time_unit),
        Content::Seconds => seconds(value),
        Content::Bytes => bytes_text(value),
        Content::Text | Content::Count | Content::Share | Content::Ratio => format!("{value:.3}"),
    };
    let (old, new) = (short(change.old), short(change.new));
    if old == new { format!("{} → {}", change.old, change.new) } else { format!("{old} → {new}") }
}

/// Seconds with a metric prefix.
pub(crate) fn seconds(value: f64) -> String {
    time_text(value, "seconds")
}

/// A count with its noun: `1 cell`, `2 cells`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_that_is_not_one_never_reads_as_one() {
        let texts = [1.0, 1.0 + 1e-9, 1.2, 0.99999999, 0.5, 12345.6, f64::INFINITY].map(factor);
        assert_eq!(texts, ["1", "1+1e-9", "1.2000", "1-1e-8", "0.5000", "12346", "∞"]);
    }
}
