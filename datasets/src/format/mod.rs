//! Files: reading and writing graphs and clusters.

mod error;

pub use error::{FormatError, Place};
