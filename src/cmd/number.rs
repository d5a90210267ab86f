//! Numbers on the command line.

/// A number, or what to write instead.
pub(super) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "no number: write it without a unit or a %, as in 3 or 0.03".to_owned())
}
