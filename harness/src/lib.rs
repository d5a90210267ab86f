//! Judges placements: simulator, independent validator, suite runner, result tables.

pub mod table;
