//! Claims of a paper as data, checked against the rows of a run.
//!
//! A claim compares a metric of two selections of rows, pair by pair: rows agree in the columns of `each` and in the
//! repetition, and differ in what `numerator` and `denominator` say. Each group of `each` gives one ratio, the geometric
//! mean over its repetitions; the claim holds if enough groups are on the right side of the limit.

use std::collections::BTreeMap;

use placebench_harness::table::Row;
use serde::Deserialize;

use crate::summary::geometric_mean;

/// The claims of one source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The suite whose rows they are checked against.
    pub suite: String,
    /// Full citation.
    pub source: String,
    /// The claims, in the order of the source.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// One claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The figure or section in the source.
    pub figure: String,
    /// What the source says.
    pub text: String,
    /// What explains it if the claim does not hold.
    #[serde(default)]
    pub why: Option<String>,
    /// The column that is compared.
    pub metric: Metric,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Selection,
    /// What makes a row the numerator.
    pub numerator: Selection,
    /// What makes a row the denominator.
    pub denominator: Selection,
    /// Columns in which the two rows agree; each combination gives one ratio.
    pub each: Vec<Column>,
    /// The ratio must be above this.
    #[serde(default)]
    pub above: Option<f64>,
    /// The ratio must be below this.
    #[serde(default)]
    pub below: Option<f64>,
    /// The share of ratios that must be within the limits: 1 unless the source says "almost".
    #[serde(default = "all")]
    pub share: f64,
}

fn all() -> f64 {
    1.0
}

/// Rows whose columns have one of the values given.
pub type Selection = BTreeMap<Column, Vec<String>>;

/// A column that identifies cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// The graph.
    Graph,
    /// The cluster.
    Cluster,
    /// The placer, without its parameters.
    Placer,
    /// The scheduler.
    Scheduler,
    /// The network model.
    Network,
}

/// A metric that claims compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// `makespan`.
    Makespan,
    /// `traffic_bytes`.
    TrafficBytes,
    /// `place_seconds`.
    PlaceSeconds,
    /// `utilization`.
    Utilization,
    /// `executable_mean`.
    ExecutableMean,
    /// `load_imbalance`.
    LoadImbalance,
}

/// How a claim fared.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Each group's label and its ratio, in the order of labels.
    pub ratios: Vec<(String, f64)>,
    /// Repetitions behind the ratios, summed.
    pub pairs: usize,
    /// Ratios within the limits.
    pub within: usize,
    /// Whether it holds; `None` if there is nothing to compare.
    pub holds: Option<bool>,
}

/// The claims of `name`, if there are any.
pub fn claims_of(name: &str) -> Option<Result<Claims, String>> {
    let text = match name {
        "laich2017" => include_str!("../claims/laich2017.toml"),
        _ => return None,
    };
    Some(toml::from_str(text).map_err(|error| error.message().to_owned()))
}

impl Claim {
    /// Checks the claim against rows; rows that are not `ok` do not count.
    pub fn check(&self, rows: &[Row]) -> Verdict {
        let mut pairs: BTreeMap<Vec<String>, BTreeMap<u32, [Vec<f64>; 2]>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.is_ok() && matches(row, &self.only)) {
            let Some(value) = self.metric.of(row) else { continue };
            let key: Vec<String> = self.each.iter().map(|&column| column.of(row)).collect();
            for (side, selection) in [&self.numerator, &self.denominator].into_iter().enumerate() {
                if matches(row, selection) {
                    let sides = pairs.entry(key.clone()).or_default().entry(row.repetition).or_default();
                    sides[side].push(value);
                }
            }
        }
        let mut verdict = Verdict { ratios: Vec::new(), pairs: 0, within: 0, holds: None };
        for (key, repetitions) in pairs {
            // Several rows on a side (three graphs, say) count by their geometric mean.
            let ratios: Vec<f64> = repetitions
                .values()
                .filter_map(|[a, b]| Some(geometric_mean(a.iter().copied())? / geometric_mean(b.iter().copied())?))
                .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
                .collect();
            verdict.pairs += ratios.len();
            if let Some(ratio) = geometric_mean(ratios.into_iter()) {
                verdict.ratios.push((key.join(" "), ratio));
            }
        }
        let within =
            |ratio: f64| self.above.is_none_or(|limit| ratio > limit) && self.below.is_none_or(|limit| ratio < limit);
        verdict.within = verdict.ratios.iter().filter(|(_, ratio)| within(*ratio)).count();
        if !verdict.ratios.is_empty() {
            verdict.holds = Some(verdict.within as f64 >= self.share * verdict.ratios.len() as f64);
        }
        verdict
    }

    /// The limits in words.
    pub fn expectation(&self) -> String {
        let limits = match (self.above, self.below) {
            (Some(above), Some(below)) => format!("{above} to {below}"),
            (Some(above), None) => format!("> {above}"),
            (None, Some(below)) => format!("< {below}"),
            (None, None) => "any".to_owned(),
        };
        if self.share < 1.0 { format!("{limits} in {:.0} %", self.share * 100.0) } else { limits }
    }
}

impl Verdict {
    /// `least – mean – most` of the ratios.
    pub fn range(&self) -> String {
        let values = || self.ratios.iter().map(|(_, ratio)| *ratio);
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(0.0, f64::max);
        match geometric_mean(values()) {
            None => "-".to_owned(),
            Some(_) if self.ratios.len() == 1 => format!("{least:.2}"),
            Some(mean) => format!("{least:.2} – {mean:.2} – {most:.2}"),
        }
    }

    /// One word.
    pub fn word(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "cannot be tested",
        }
    }
}

/// All verdicts as a Markdown table, and below it the single ratios of each claim.
pub fn claims_markdown(claims: &Claims, rows: &[Row]) -> String {
    let mut table = String::from(
        "| # | figure | claim | ratio expected | ratio measured (least – mean – most) | within | verdict |\n",
    );
    table.push_str("|---|---|---|---|---|---|---|\n");
    let mut details = String::new();
    for (number, claim) in claims.claims.iter().enumerate() {
        let number = number + 1;
        let verdict = claim.check(rows);
        table.push_str(&format!(
            "| {number} | {} | {} | {} | {} | {}/{} | {} |\n",
            claim.figure,
            claim.text,
            claim.expectation(),
            verdict.range(),
            verdict.within,
            verdict.ratios.len(),
            verdict.word()
        ));
        let list: Vec<String> = verdict.ratios.iter().map(|(label, ratio)| format!("{label} {ratio:.2}")).collect();
        details.push_str(&format!("{number}. {}: {} pairs; {}.", verdict.word(), verdict.pairs, list.join(", ")));
        if let (Some(false), Some(why)) = (verdict.holds, &claim.why) {
            details.push_str(&format!(" {why}"));
        }
        details.push('\n');
    }
    format!("{table}\n{details}")
}

fn matches(row: &Row, selection: &Selection) -> bool {
    selection.iter().all(|(column, values)| values.contains(&column.of(row)))
}

impl Column {
    fn of(self, row: &Row) -> String {
        match self {
            Self::Graph => row.graph.clone(),
            Self::Cluster => row.cluster.clone(),
            Self::Placer => row.placer.split('(').next().unwrap_or_default().to_owned(),
            Self::Scheduler => row.scheduler.clone(),
            Self::Network => row.network.clone(),
        }
    }
}

impl Metric {
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Self::Makespan => row.makespan,
            Self::TrafficBytes => row.traffic_bytes.map(|bytes| bytes as f64),
            Self::PlaceSeconds => row.place_seconds,
            Self::Utilization => row.utilization,
            Self::ExecutableMean => row.executable_mean,
            Self::LoadImbalance => row.load_imbalance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::rows;

    fn claim(text: &str) -> Claim {
        let claims =
            format!("suite = 's'\nsource = 'x'\n[[claim]]\nfigure = '1'\ntext = 't'\nmetric = 'makespan'\n{text}");
        toml::from_str::<Claims>(&claims).unwrap().claims.remove(0)
    }

    #[test]
    fn ratios_are_paired_by_repetition_and_failures_do_not_count() {
        let claim = claim(
            "numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph', 'scheduler']\nabove = 1.9\nbelow = 2.1",
        );
        let verdict = claim.check(&rows());
        let labels: Vec<&str> = verdict.ratios.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["a fifo", "a pct", "b fifo", "b pct"]);
        // On b one of two repetitions failed.
        assert_eq!((verdict.pairs, verdict.within, verdict.holds), (6, 4, Some(true)));
        assert_eq!(verdict.range(), "2.00 – 2.00 – 2.00");
    }

    #[test]
    fn almost_all_is_a_share_and_nothing_to_compare_is_no_verdict() {
        let text = "numerator = {scheduler = ['fifo']}\ndenominator = {scheduler = ['pct']}\neach = ['graph', 'placer']\nabove = 1.5000001";
        assert_eq!(claim(text).check(&rows()).holds, Some(false));
        let text = "numerator = {placer = ['mite']}\ndenominator = {placer = ['heft']}\neach = ['graph']\nabove = 1";
        assert_eq!(claim(text).check(&rows()).word(), "cannot be tested");
    }

    #[test]
    fn the_claims_that_come_along_are_valid() {
        let claims = claims_of("laich2017").unwrap().unwrap();
        assert!(claims.claims.iter().all(|claim| claim.above.is_some() || claim.below.is_some()));
    }
}
