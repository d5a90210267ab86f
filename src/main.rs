//! The `placebench` program.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(placebench::command(&arguments).code())
}
