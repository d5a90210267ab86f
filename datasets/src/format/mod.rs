//! Files: reading and writing graphs and clusters.

mod atomic;
mod error;
pub mod graphdef;
mod header;
mod native;
mod text;
mod toml_text;

pub use error::{FormatError, Place};
pub use header::{GraphHeader, NATIVE_VERSION, Units};
pub use native::{NativeBytes, NativeColumns, NativeWriter, is_decoding, read_native, write_native};
