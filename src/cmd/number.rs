//! Numbers on the command line.

/// A seed, or what to write instead.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("no seed: write a whole number from 0 to {}", u64::MAX))
}

/// A number, or what to write instead.
pub(super) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "no number: write it without a unit or a %, as in 3 or 0.03".to_owned())
}
