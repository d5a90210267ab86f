//! Files and folders that appear complete or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::FormatError;
use super::compressed::Compression;

/// [`write_whole`] with the errors of formats.
pub(crate) fn write_file(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    write_whole(path, |error| FormatError::io(path, error), content)
}

/// Writes a file beside its final place, flushes it to the disk, then renames it, so that no reader ever sees half of
/// it.
///
/// A process that is killed leaves at most a hidden `.NAME.PID-N.partial` behind. Devices and pipes are written to, not
/// replaced. A file whose name ends in `.gz` or `.zst` is compressed.
///
/// # Errors
/// What `content` returns, and the system's errors as `io_error` wraps them. An existing file then stays as it was.
pub fn write_whole<E>(
    path: &Path,
    io_error: impl Fn(io::Error) -> E,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let file = File::options().write(true).open(path).map_err(&io_error)?;
        let mut out = BufWriter::new(file);
        content(&mut out)?;
        return out.flush().map_err(&io_error);
    }
    let partial = Partial::file(path);
    let mut out = BufWriter::new(File::create(&partial.path).map_err(&io_error)?);
    content(&mut out)?;
    out.flush().map_err(&io_error)?;
    let partial = match Compression::of(path) {
        None => {
            out.get_ref().sync_all().map_err(&io_error)?;
            drop(out);
            partial
        }
        Some(compression) => {
            drop(out);
            let packed = Partial::file(path);
            let from = File::open(&partial.path).map_err(&io_error)?;
            let to = File::create(&packed.path).map_err(&io_error)?;
            compression.compress(from, BufWriter::new(&to)).and_then(|()| to.sync_all()).map_err(&io_error)?;
            packed
        }
    };
    fs::rename(&partial.path, path).and_then(|()| sync_parent(path)).map_err(io_error)
}

/// A folder under construction beside its final place; removed when dropped before [`PartialFolder::commit`].
#[derive(Debug)]
pub(crate) struct PartialFolder {
    target: PathBuf,
    partial: Partial,
}

impl PartialFolder {
    /// Makes the folder. What is at `target` may be replaced if `replaceable` says so.
    pub(crate) fn create(target: &Path, replaceable: impl Fn(&Path) -> bool) -> Result<Self, FormatError> {
        if target.exists() && !replaceable(target) {
            let error = FormatError::file(target, "exists already, and is no graph folder that could be replaced");
            return Err(error.remedy("choose another name, or remove it"));
        }
        let partial = Partial::folder(target);
        fs::create_dir(&partial.path).map_err(|error| FormatError::io(target, error))?;
        Ok(Self { target: target.to_owned(), partial })
    }

    /// Where to write the files meanwhile.
    pub(crate) fn path(&self) -> &Path {
        &self.partial.path
    }

    /// Where the folder will be.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Puts the folder in its place. Its files must have been flushed to the disk.
    pub(crate) fn commit(self) -> Result<(), FormatError> {
        self.put_in_place().map_err(|error| FormatError::io(&self.target, error))
    }

    fn put_in_place(&self) -> io::Result<()> {
        sync_folder(&self.partial.path)?;
        if self.target.exists() {
            let old = Partial::folder(&self.target);
            fs::rename(&self.target, &old.path)?;
            if let Err(error) = fs::rename(&self.partial.path, &self.target) {
                // Put the old folder back. If that fails too, the first error says more.
                let _ = fs::rename(&old.path, &self.target);
                return Err(error);
            }
        } else {
            fs::rename(&self.partial.path, &self.target)?;
        }
        sync_parent(&self.target)
    }
}

/// A path that is removed when dropped, if something is still there.
#[derive(Debug)]
struct Partial {
    path: PathBuf,
    is_folder: bool,
}

impl Partial {
    fn file(target: &Path) -> Self {
        Self { path: sibling(target), is_folder: false }
    }

    fn folder(target: &Path) -> Self {
        Self { path: sibling(target), is_folder: true }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After a rename there is nothing to remove. If removing fails, a hidden file stays, which does no harm.
        let _ = if self.is_folder { fs::remove_dir_all(&self.path) } else { fs::remove_file(&self.path) };
    }
}

/// A name beside `target` that no other writer uses.
fn sibling(target: &Path) -> PathBuf {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}-{number}.partial", std::process::id()))
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_folder(Path::new(".")),
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}

/// Flushes the entries of a folder to the disk.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Other systems cannot open a folder as a file; their renames are durable enough.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.csv");
        fs::write(&path, "old").unwrap();
        let failure = write_file(&path, |out| {
            out.write_all(b"half").unwrap();
            Err(FormatError::file("g.csv", "disk on fire"))
        });
        assert_eq!(failure.unwrap_err().to_string(), "g.csv: disk on fire");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(entries(folder.path()), ["g.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_replaced_by_one() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        // A socket cannot be opened for writing.
        assert!(write_file(&path, |_| Ok(())).is_err());
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
        assert_eq!(entries(folder.path()), ["socket"]);
    }

    #[test]
    fn an_abandoned_folder_disappears_and_a_committed_one_replaces_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("rnn");
        let half = PartialFolder::create(&target, |_| true).unwrap();
        fs::write(half.path().join("ops.parquet"), "half").unwrap();
        drop(half);
        assert_eq!(entries(folder.path()), [""; 0]);
        for content in ["first", "second"] {
            let fresh = PartialFolder::create(&target, |_| true).unwrap();
            fs::write(fresh.path().join("graph.toml"), content).unwrap();
            fresh.commit().unwrap();
        }
        assert_eq!(entries(folder.path()), ["rnn"]);
        assert_eq!(fs::read_to_string(target.join("graph.toml")).unwrap(), "second");
    }

    #[test]
    fn what_is_not_replaceable_stays() {
        let folder = tempfile::tempdir().unwrap();
        let error = PartialFolder::create(folder.path(), |_| false).unwrap_err();
        assert!(error.to_string().ends_with(
            "exists already, and is no graph folder that could be replaced: choose another name, or remove it"
        ));
    }
}
