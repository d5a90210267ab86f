//! Opens what a person names as a file.

use std::fs::{File, metadata};
use std::io;
use std::path::Path;

/// Opens a file to read. A pipe would be waited for until somebody writes into it, and nothing can read it twice.
///
/// # Errors
/// As [`File::open`]; also if there is a pipe, a socket or a device.
pub fn open_file(path: &Path) -> io::Result<File> {
    check_file(path)?;
    File::open(path)
}

/// Refuses a pipe, a socket or a device.
///
/// # Errors
/// If there is one, or nothing.
pub fn check_file(path: &Path) -> io::Result<()> {
    let kind = metadata(path)?.file_type();
    match kind.is_file() || kind.is_dir() {
        true => Ok(()),
        false => Err(io::Error::other("is a pipe or a device: name a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_pass_and_nothing_waits_for_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert!(open_file(&file).is_ok() && check_file(folder.path()).is_ok());
        assert_eq!(open_file(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        #[cfg(unix)]
        {
            let socket = folder.path().join("socket");
            let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
            assert_eq!(open_file(&socket).unwrap_err().to_string(), "is a pipe or a device: name a file");
        }
    }
}
