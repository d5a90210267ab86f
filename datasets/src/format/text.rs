//! What the text formats share: numbers that read back exactly, and counted nouns.

use std::fmt;

/// A number as the shortest text that reads back as the same number, with an exponent where it saves digits.
pub(crate) struct Number(pub(crate) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size == 0.0 || (1e-4..1e16).contains(&size) || !size.is_finite() {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

/// `1 edge`, `2 edges`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_reads_back_exactly_and_stays_short() {
        for (number, text) in [(0.1, "0.1"), (30.0, "30"), (1e300, "1e300"), (2.5e-7, "2.5e-7"), (f64::INFINITY, "inf")]
        {
            assert_eq!(Number(number).to_string(), text);
            assert_eq!(text.parse(), Ok(number));
        }
    }
}
