//! Judges placements: simulates them, checks the simulation independently, and measures the outcome.

pub mod memory;
pub mod metrics;
pub mod simulator;
pub mod timeline;
pub mod trace;
pub mod validator;
