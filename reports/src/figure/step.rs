//! A step of an outline.

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Begins a line here.
    Move(f64, f64),
    /// Draws on to here.
    Line(f64, f64),
    /// Draws a cubic curve: two handles, then the end.
    Curve(f64, f64, f64, f64, f64, f64),
    /// Draws back to the beginning.
    Close,
}
