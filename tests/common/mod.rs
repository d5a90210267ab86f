//! Running the command, for all tests of it.

pub(crate) mod keys;

use std::path::Path;
use std::process::{Command, Output};

/// What the command answers in a folder.
pub(crate) fn placebench(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_placebench")).args(args).current_dir(folder).output().unwrap()
}

/// Bytes that a command printed, as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One line on standard error, nothing on standard output, exit code 1.
pub(crate) fn assert_one_line_error(output: &Output, expected: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.contains(expected), "{stderr}\n   lacks   {expected}");
    assert!(output.stdout.is_empty());
}
