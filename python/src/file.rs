//! Files that Python asks for.

use std::io::Write;
use std::path::Path;

use placebench::base::io_reason;
use placebench::datasets::format;
use pyo3::prelude::*;

use crate::fault::fault;

/// Writes a file, whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> PyResult<()> {
    let written = format::write_whole(path, |error| error, |out| out.write_all(bytes));
    written.map_err(|error| fault(format!("{}: {}", path.display(), io_reason(&error))))
}
