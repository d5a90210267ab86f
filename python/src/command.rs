//! The command `placebench`, as a wheel brings it.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use placebench::base::process::set_program;
use pyo3::prelude::*;

/// Does what the command `placebench` does with these arguments, and ends the process with its exit code. `program` is the
/// script that started Python: what works in processes of its own starts it again.
#[pyfunction]
#[pyo3(signature = (program, arguments, /))]
pub(crate) fn run_command(py: Python<'_>, program: PathBuf, arguments: Vec<OsString>) {
    set_program(program);
    let arguments: Vec<OsString> = std::iter::once("placebench".into()).chain(arguments).collect();
    let exit = py.detach(|| placebench::command(&arguments));
    // Closed or full: the command has said what there is to say.
    let _ = std::io::stdout().flush();
    std::process::exit(exit.code().into());
}
