//! What the operating system refused, in plain words.

use std::io::{Error, ErrorKind};

/// Why an operation on a file failed, as a person would say it, without the system's number for it.
pub fn io_reason(error: &Error) -> String {
    let words = match error.kind() {
        ErrorKind::NotFound => "no such file or directory",
        ErrorKind::PermissionDenied => "permission denied",
        ErrorKind::InvalidData if error.raw_os_error().is_none() && error.to_string().contains("UTF-8") => {
            "the text is not UTF-8"
        }
        ErrorKind::NotADirectory => "a part of this path is a file, not a folder",
        ErrorKind::IsADirectory => "is a folder, not a file",
        ErrorKind::DirectoryNotEmpty => "the folder is not empty",
        ErrorKind::StorageFull => "no space is left on the disk",
        ErrorKind::QuotaExceeded => "the disk quota is used up",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        ErrorKind::InvalidFilename => "the name is too long or not legal here",
        // One of our own says how much was wanted.
        ErrorKind::OutOfMemory if error.get_ref().is_none() => "not enough memory",
        _ => {
            let text = error.to_string();
            return match text.rfind(" (os error ") {
                Some(end) if error.raw_os_error().is_some() => text[..end].to_lowercase(),
                _ => text,
            };
        }
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_numbers_stay_out_of_messages() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, [0xff]).unwrap();
        let said = |error: Error| io_reason(&error);
        let inside = std::fs::read(file.join("x")).unwrap_err();
        assert_eq!(said(inside), "a part of this path is a file, not a folder");
        assert_eq!(said(std::fs::write(folder.path(), "x").unwrap_err()), "is a folder, not a file");
        assert_eq!(said(std::fs::read_to_string(&file).unwrap_err()), "the text is not UTF-8");
        assert_eq!(said(Error::other("disk on fire")), "disk on fire");
        assert_eq!(said(ErrorKind::OutOfMemory.into()), "not enough memory");
        assert_eq!(said(Error::new(ErrorKind::OutOfMemory, "a line takes all")), "a line takes all");
        #[cfg(target_os = "linux")]
        assert_eq!(said(Error::from_raw_os_error(40)), "too many levels of symbolic links");
        #[cfg(target_os = "linux")]
        assert_eq!(said(std::fs::write("/dev/full", "x").unwrap_err()), "no space is left on the disk");
        #[cfg(target_os = "linux")]
        assert_eq!(said(Error::from_raw_os_error(122)), "the disk quota is used up");
    }
}
