//! What a transfer between two devices costs.

use crate::Time;

/// What a transfer between two devices costs: `latency + bytes / rate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes per time unit.
    pub rate: f64,
    /// Time before the first byte arrives.
    pub latency: Time,
}
