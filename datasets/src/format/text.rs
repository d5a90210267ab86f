//! What the text formats share: numbers that read back exactly, suggestions, counted nouns.

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

/// A remedy for a word that is not among the known ones: the nearest of them, or all.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match crate::nearest(word, known.clone()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known are {}", known.collect::<Vec<_>>().join(", ")),
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

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_answered_with_the_list() {
        assert_eq!(nearest("memroy", ["name", "memory"].into_iter()), "did you mean 'memory'?");
        assert_eq!(nearest("colour", ["name", "kind"].into_iter()), "known are name, kind");
    }
}
