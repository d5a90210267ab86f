//! Files and folders that appear complete or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::FormatError;
use super::compressed::Compression;
use super::sha256;

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
/// A process that is killed leaves at most a hidden `.NAME.HOST-PID-N.partial` behind, which the next process of the same
/// host that writes into the folder removes. Devices and pipes are written to, not replaced. A symbolic link stays one: what it points to is
/// replaced. A file that is replaced passes its permissions on. A file whose name ends in `.gz` or `.zst` is compressed.
///
/// # Errors
/// What `content` returns, and the system's errors as `io_error` wraps them. An existing file then stays as it was.
pub fn write_whole<E>(
    path: &Path,
    io_error: impl Fn(io::Error) -> E,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let found = fs::metadata(path);
    if found.as_ref().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let file = File::options().write(true).open(path).map_err(&io_error)?;
        let mut out = BufWriter::new(file);
        content(&mut out)?;
        return out.flush().map_err(&io_error);
    }
    let target = without_links(path).map_err(&io_error)?;
    let (partial, file) = Partial::file(&target).map_err(&io_error)?;
    let mut out = BufWriter::new(file);
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
            let from = File::open(&partial.path).map_err(&io_error)?;
            let (packed, to) = Partial::file(&target).map_err(&io_error)?;
            compression.compress(from, BufWriter::new(&to)).and_then(|()| to.sync_all()).map_err(&io_error)?;
            packed
        }
    };
    if let Ok(found) = found {
        fs::set_permissions(&partial.path, found.permissions()).map_err(&io_error)?;
    }
    fs::rename(&partial.path, &target).and_then(|()| sync_parent(&target)).map_err(io_error)
}

/// The path that a symbolic link points to in the end, whether something is there or not.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let folder = path.parent().unwrap_or(Path::new(""));
                // As in /dev/stdout, which is no name of the file that it leads to: others write to the same descriptor.
                if folder.canonicalize().is_ok_and(|folder| folder.starts_with("/proc")) {
                    return Err(io::Error::other(
                        "leads to a file that is open, which would be replaced: name that file, or use a pipe (| cat)",
                    ));
                }
                let target = fs::read_link(&path)?;
                path = folder.join(target);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links, one to the other"))
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
        let real = without_links(target).map_err(|error| FormatError::io(target, error))?;
        // Before the folder is made, whose old one may have to come back.
        remove_left_behind(folder_of(&real));
        let partial = Partial::folder(&real).map_err(|error| FormatError::io(target, error))?;
        Ok(Self { target: real, partial })
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
        if let Ok(found) = fs::metadata(&self.target) {
            fs::set_permissions(&self.partial.path, found.permissions())?;
            // Not a partial folder, which others would remove: if this process is killed now, it is all that there is. Locked
            // like a partial one.
            let old = sibling(&self.target, REPLACED);
            let _lock = File::open(&self.target).ok().filter(|lock| lock.try_lock().is_ok());
            fs::rename(&self.target, &old)?;
            if let Err(error) = fs::rename(&self.partial.path, &self.target) {
                // Put the old folder back. If that fails too, the first error says more.
                let _ = fs::rename(&old, &self.target);
                return Err(error);
            }
            // If removing fails, a hidden folder stays until the next process looks.
            let _ = fs::remove_dir_all(&old);
        } else {
            fs::rename(&self.partial.path, &self.target)?;
        }
        sync_parent(&self.target)
    }
}

/// A file or folder that is removed when dropped, if it is still there.
#[derive(Debug)]
struct Partial {
    path: PathBuf,
    is_folder: bool,
    /// Locked as long as somebody works on it, where the system can: see [`remove_left_behind`].
    _lock: Option<File>,
}

impl Partial {
    /// Makes a file beside `target`.
    fn file(target: &Path) -> io::Result<(Self, File)> {
        let (path, file) = Self::beside(target, |path| File::options().write(true).create_new(true).open(path))?;
        let lock = file.try_clone().ok().filter(|lock| lock.try_lock().is_ok());
        Ok((Self { path, is_folder: false, _lock: lock }, file))
    }

    /// Makes a folder beside `target`.
    fn folder(target: &Path) -> io::Result<Self> {
        let (path, ()) = Self::beside(target, |path| fs::create_dir(path))?;
        let lock = File::open(&path).ok().filter(|lock| lock.try_lock().is_ok());
        Ok(Self { path, is_folder: true, _lock: lock })
    }

    /// Makes something under a name that no other writer uses, on whatever host.
    fn beside<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
        remove_left_behind(folder_of(target));
        loop {
            let path = sibling(target, PARTIAL);
            match make(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|made| (path, made)),
            }
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After a rename there is nothing to remove. If removing fails, a hidden file stays, which does no harm.
        let _ = if self.is_folder { fs::remove_dir_all(&self.path) } else { fs::remove_file(&self.path) };
    }
}

const PARTIAL: &str = "partial";
const REPLACED: &str = "replaced";

/// So much of a target's name is in that of its sibling that there is room for the rest.
const MOST_CHARS: usize = 40;

/// A name beside `target` that no other writer on this host uses.
fn sibling(target: &Path, what: &str) -> PathBuf {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(MOST_CHARS).collect();
    target.with_file_name(format!(".{name}.{}-{}-{number}.{what}", host(), std::process::id()))
}

/// This host in a name: on a disk that several hosts share, each removes only what its own processes have left behind.
fn host() -> &'static str {
    static HOST: LazyLock<String> = LazyLock::new(|| {
        // Where the system does not say, all hosts have one name, and locks alone tell whose a file is.
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        sha256(name.trim().as_bytes()).unwrap_or_default().chars().take(8).collect()
    });
    &HOST
}

/// Removes what processes that were killed have left half written in a folder. What one was about to replace goes back to its
/// place if nothing is there. Each process looks once a folder.
///
/// A partial file belongs to somebody if its process is alive, or somebody holds its lock: on a disk that several machines
/// or containers share, process ids say little.
fn remove_left_behind(folder: &Path) {
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !seen.insert(std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())) {
        return;
    }
    // Whatever cannot be listed or removed stays: it is only untidy.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Some(left) = name.to_str().and_then(LeftBehind::of).filter(|left| !is_alive(left.writer)) else { continue };
        if !File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            continue;
        }
        let target = folder.join(left.target);
        let _ = match (left.is_replaced, target.exists()) {
            (true, false) if left.target.chars().count() < MOST_CHARS => fs::rename(&path, target),
            // The name of its place is cut off: a person has to say what it was.
            (true, false) => continue,
            _ if path.is_dir() => fs::remove_dir_all(&path),
            _ => fs::remove_file(&path),
        };
    }
}

/// What the name of a partial or replaced file or folder says.
struct LeftBehind<'a> {
    /// The beginning of the name of its place.
    target: &'a str,
    /// The id of the process that made it, on this host.
    writer: u32,
    is_replaced: bool,
}

impl<'a> LeftBehind<'a> {
    /// `None` for any other name, and for those of other hosts.
    fn of(name: &'a str) -> Option<Self> {
        let (rest, what) = name.strip_prefix('.')?.rsplit_once('.')?;
        let (target, writer) = rest.rsplit_once('.')?;
        let (id, number) = writer.strip_prefix(host())?.strip_prefix('-')?.split_once('-')?;
        number.parse::<u32>().ok()?;
        (what == PARTIAL || what == REPLACED).then_some(Self {
            target,
            writer: id.parse().ok()?,
            is_replaced: what == REPLACED,
        })
    }
}

/// Whether a process of this id runs; not known where there is no `/proc`, and the lock alone decides.
fn is_alive(id: u32) -> bool {
    Path::new("/proc").join(id.to_string()).exists()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    sync_folder(folder_of(path))
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

    /// The name of an open file is no place for another: whoever holds it open would write on into a file without a name.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_open_is_not_replaced_by_way_of_its_descriptor() {
        use std::os::fd::AsRawFd;

        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("log.txt"), folder.path().join("stdout"));
        fs::write(&path, "precious\n").unwrap();
        let open = File::open(&path).unwrap();
        let of_descriptor = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        std::os::unix::fs::symlink(&of_descriptor, &link).unwrap();
        for name in [of_descriptor, link] {
            let wrong = write_whole(&name, |error| error, |out| out.write_all(b"other")).unwrap_err();
            assert!(wrong.to_string().contains("use a pipe"), "{wrong}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious\n");
        assert_eq!(entries(folder.path()), ["log.txt", "stdout"]);
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
    fn a_name_that_another_host_has_taken_is_left_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("g.csv");
        let taken = std::cell::RefCell::new(Vec::new());
        let make = |path: &Path| {
            if taken.borrow().len() < 2 {
                fs::write(path, "theirs")?;
                taken.borrow_mut().push(path.to_owned());
            }
            File::options().write(true).create_new(true).open(path)
        };
        let (path, _) = Partial::beside(&target, make).unwrap();
        assert!(!taken.borrow().contains(&path));
        for path in taken.take() {
            assert_eq!(fs::read_to_string(path).unwrap(), "theirs");
        }
    }

    #[test]
    fn what_is_not_replaceable_stays() {
        let folder = tempfile::tempdir().unwrap();
        let error = PartialFolder::create(folder.path(), |_| false).unwrap_err();
        assert!(error.to_string().ends_with(
            "exists already, and is no graph folder that could be replaced: choose another name, or remove it"
        ));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_what_is_replaced_passes_its_permissions_on() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let (real, link) = (folder.path().join("real.csv"), folder.path().join("link.csv"));
        fs::write(&real, "old").unwrap();
        set_mode(&real, 0o640);
        symlink("real.csv", &link).unwrap();
        write_file(&link, |out| out.write_all(b"new").map_err(|error| FormatError::io(&link, error))).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode(&real)), ("new", 0o640));
        // A link to nothing yet, and one to itself.
        symlink("later.csv", folder.path().join("ahead")).unwrap();
        write_file(&folder.path().join("ahead"), |_| Ok(())).unwrap();
        assert!(folder.path().join("later.csv").is_file());
        symlink("loop", folder.path().join("loop")).unwrap();
        assert!(write_file(&folder.path().join("loop"), |_| Ok(())).is_err());
        // Folders.
        let target = folder.path().join("graph");
        fs::create_dir(&target).unwrap();
        set_mode(&target, 0o750);
        symlink("graph", folder.path().join("g")).unwrap();
        let fresh = PartialFolder::create(&folder.path().join("g"), |_| true).unwrap();
        fs::write(fresh.path().join("graph.toml"), "x").unwrap();
        fresh.commit().unwrap();
        assert!(fs::symlink_metadata(folder.path().join("g")).unwrap().is_symlink());
        assert_eq!((target.join("graph.toml").is_file(), mode(&target)), (true, 0o750));
    }

    #[test]
    fn what_a_killed_process_left_half_written_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            fs::write(folder.path().join(name), "half").unwrap();
            name.to_owned()
        };
        // Process ids stay far below this one.
        let host = host();
        file(&format!(".results.parquet.{host}-4294967295-0.partial"));
        fs::create_dir(folder.path().join(format!(".rnn.{host}-4294967295-1.partial"))).unwrap();
        let own = file(&format!(".a.{host}-{}-99.partial", std::process::id()));
        let held = file(&format!(".b.{host}-4294967295-2.partial"));
        let other_host = file(".b.01234567-4294967295-2.partial");
        let _lock = File::open(folder.path().join(&held)).map(|file| file.try_lock().map(|()| file)).unwrap().unwrap();
        let others = ["c.4294967295.partial", ".d.4294967295-2.partial", "e.HOST-4294967295-2.partial"];
        let others = others.into_iter().chain([".f.HOST-1x-2.partial", ".f.HOST-4294967295-3.gone"]);
        let others = others.map(|name| file(&name.replace("HOST", host)));
        let mut expected: Vec<String> = others.chain([own, held, other_host, "g.csv".to_owned()]).collect();
        write_file(&folder.path().join("g.csv"), |_| Ok(())).unwrap();
        expected.sort();
        assert_eq!(entries(folder.path()), expected);
    }

    #[test]
    fn what_a_killed_process_was_about_to_replace_goes_back_or_away() {
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(MOST_CHARS);
        let graph = |name: &str, content: &str| {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("graph.toml"), content).unwrap();
        };
        // Killed before the new one was in its place, after it, and where nobody knows the place.
        graph(&format!(".before.{}-4294967295-0.replaced", host()), "old");
        graph(&format!(".after.{}-4294967295-1.replaced", host()), "old");
        graph("after", "new");
        let cut_off = format!(".{long}.{}-4294967295-2.replaced", host());
        graph(&cut_off, "old");
        // The target itself comes back, and is then replaced if it may be.
        let target = folder.path().join("before");
        PartialFolder::create(&target, |_| true).unwrap().commit().unwrap();
        assert_eq!(entries(folder.path()), [cut_off.as_str(), "after", "before"]);
        assert_eq!(fs::read_to_string(folder.path().join("after/graph.toml")).unwrap(), "new");
        assert!(!target.join("graph.toml").exists());
    }
}
