//! Files: reading and writing graphs and clusters.

mod error;
pub mod graphdef;

pub use error::{FormatError, Place};
