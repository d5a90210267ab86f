//! The digests of all files of a collection, as `sha256sum` writes and checks them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use placebench_datasets::format::{sha256, write_whole};

/// The file with the digests.
pub const SUMS: &str = "SHA256SUMS";

/// What became of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionCheck {
    /// Files that are as they were.
    pub intact: usize,
    /// Files that are there with another content.
    pub changed: Vec<String>,
    /// Files that are not there.
    pub missing: Vec<String>,
    /// Files that do not belong to it.
    pub unknown: Vec<String>,
}

/// All files below a folder but hidden ones and the digests, relative to it with `/`, in order, each with its SHA-256.
///
/// # Errors
/// The file or folder that cannot be read.
pub fn file_digests(folder: &Path) -> Result<Vec<(String, String)>, (PathBuf, io::Error)> {
    let mut files = Vec::new();
    list(folder, "", &mut files)?;
    files.sort();
    let digest = |name: String| {
        let path = folder.join(&name);
        let digest = File::open(&path).and_then(sha256).map_err(|error| (path, error))?;
        Ok((name, digest))
    };
    files.into_iter().map(digest).collect()
}

fn list(folder: &Path, prefix: &str, files: &mut Vec<String>) -> Result<(), (PathBuf, io::Error)> {
    let at = |error| (folder.to_owned(), error);
    for entry in fs::read_dir(folder).map_err(at)? {
        let entry = entry.map_err(at)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if name.starts_with('.') || path == SUMS {
            continue;
        }
        match entry.file_type().map_err(at)?.is_dir() {
            true => list(&entry.path(), &format!("{path}/"), files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// Writes the digests.
///
/// # Errors
/// If the file cannot be written.
pub fn write_sums(folder: &Path, digests: &[(String, String)]) -> io::Result<()> {
    write_whole(
        &folder.join(SUMS),
        |error| error,
        |out| digests.iter().try_for_each(|(name, digest)| writeln!(out, "{digest}  {name}")),
    )
}

/// Compares the files of a collection with its digests.
///
/// # Errors
/// The file that cannot be read, and why; a line of the digests that is none.
pub fn verify(folder: &Path) -> Result<CollectionCheck, (PathBuf, io::Error)> {
    let path = folder.join(SUMS);
    let text = fs::read_to_string(&path).map_err(|error| (path.clone(), error))?;
    let mut expected = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let (digest, name) = line.split_once("  ").filter(|(digest, _)| digest.len() == 64).ok_or_else(|| {
            (
                path.clone(),
                io::Error::other(format!("line {number} is no digest: restore the file, or make the collection anew")),
            )
        })?;
        expected.push((name, digest));
    }
    expected.sort_unstable();
    let found = file_digests(folder)?;
    let mut verdict = CollectionCheck::default();
    let digest_of = |name: &str| found.binary_search_by(|file| file.0.as_str().cmp(name)).ok().map(|at| &found[at].1);
    for &(name, digest) in &expected {
        match digest_of(name) {
            Some(found) if found == digest => verdict.intact += 1,
            Some(_) => verdict.changed.push(name.to_owned()),
            None => verdict.missing.push(name.to_owned()),
        }
    }
    let unknown =
        found.iter().filter(|(name, _)| expected.binary_search_by_key(&name.as_str(), |file| file.0).is_err());
    verdict.unknown = unknown.map(|(name, _)| name.clone()).collect();
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_changed_missing_or_new_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("graphs")).unwrap();
        for name in ["a.txt", "graphs/b", "graphs/c", ".hidden"] {
            fs::write(at(name), name).unwrap();
        }
        let digests = file_digests(folder.path()).unwrap();
        assert_eq!(digests.iter().map(|file| file.0.as_str()).collect::<Vec<_>>(), ["a.txt", "graphs/b", "graphs/c"]);
        write_sums(folder.path(), &digests).unwrap();
        assert_eq!(verify(folder.path()).unwrap(), CollectionCheck { intact: 3, ..CollectionCheck::default() });
        fs::write(at("graphs/b"), "B").unwrap();
        fs::remove_file(at("a.txt")).unwrap();
        fs::write(at("new"), "").unwrap();
        let verdict = verify(folder.path()).unwrap();
        assert_eq!(
            (verdict.intact, verdict.changed, verdict.missing),
            (1, vec!["graphs/b".into()], vec!["a.txt".into()])
        );
        assert_eq!(verdict.unknown, ["new"]);
    }
}
