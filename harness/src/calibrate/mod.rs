//! Makes a cluster of what was measured on a machine.

mod fit;

pub use fit::Line;
