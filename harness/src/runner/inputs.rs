//! The files that a run reads. Their digests are remembered, so that no resumed run mixes two states of a file.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use placebench_base::open_file;
use placebench_datasets::format::sha256;

use super::folder_error::FolderError;
use crate::suite::{Cell, PlacerEntry, RunPlan};

/// The SHA-256 of each file that the cells of a plan depend on, by its path: graphs (of a graph folder every file in it),
/// clusters, and what the commands of placers name, the program itself and every argument that is a file. What programs
/// load beyond that is not seen.
///
/// # Errors
/// If a file is gone or cannot be read.
///
/// # Complexity
/// O(bytes of all files).
pub fn input_digests(plan: &RunPlan) -> Result<BTreeMap<String, String>, FolderError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for group in plan.used_groups() {
        let (graph, cluster) = (&plan.suite.graphs[group.graph], &plan.suite.clusters[group.cluster]);
        for path in graph.file.iter().chain(&cluster.file) {
            files.extend(files_at(path)?);
        }
    }
    for entry in plan.used_placer_entries() {
        if let PlacerEntry::Program(program) = entry {
            files.extend(program.files());
        }
    }
    files.sort();
    files.dedup();
    let digest = |path: PathBuf| match open_file(&path).and_then(sha256) {
        Ok(digest) => Ok((path.display().to_string(), digest)),
        Err(source) => Err(FolderError::Io { path, source }),
    };
    files.into_iter().map(digest).collect()
}

/// The files that a run reads, which must stay as they are while it goes on.
#[derive(Debug)]
pub struct InputWatch {
    files: BTreeMap<PathBuf, Watched>,
    /// What the command of each placer of the plan names.
    programs: Vec<Vec<PathBuf>>,
}

#[derive(Debug)]
struct Watched {
    digest: String,
    /// As the file was when it had this digest.
    stamp: Mutex<Option<Stamp>>,
}

/// What changes with the content of a file.
type Stamp = (u64, Option<SystemTime>, (i64, i64));

impl InputWatch {
    /// Watches files that have these digests ([`input_digests`]).
    pub fn new(plan: &RunPlan, digests: &BTreeMap<String, String>) -> Self {
        let watched = |(path, digest): (&String, &String)| {
            let path = PathBuf::from(path);
            let stamp = Mutex::new(fs::metadata(&path).ok().as_ref().map(stamp));
            (path, Watched { digest: digest.clone(), stamp })
        };
        let programs = plan.suite.placer_entries.iter().map(|entry| match entry {
            PlacerEntry::Program(program) => program.files(),
            _ => Vec::new(),
        });
        let of_registry = plan.suite.placers.iter().map(|_| Vec::new());
        Self { files: digests.iter().map(watched).collect(), programs: of_registry.chain(programs).collect() }
    }

    /// Checks the files that a cell reads. Those whose size, times and place on the disk are what they were are not read again.
    ///
    /// # Errors
    /// [`FolderError::InputChanged`] with the first file that has changed or is gone.
    pub fn check(&self, plan: &RunPlan, cell: Cell) -> Result<(), FolderError> {
        let group = &plan.groups[cell.group];
        let files = [&plan.suite.graphs[group.graph].file, &plan.suite.clusters[group.cluster].file];
        let programs = self.programs.get(cell.placer).into_iter().flatten();
        for path in files.into_iter().flatten().chain(programs) {
            // Of a graph folder every file in it.
            let of_path = self.files.range(path.clone()..).take_while(|(file, _)| file.starts_with(path));
            of_path.into_iter().try_for_each(|(file, watched)| watched.check(file, false))?;
        }
        Ok(())
    }

    /// Checks the content of all files.
    ///
    /// # Errors
    /// As [`InputWatch::check`].
    ///
    /// # Complexity
    /// O(bytes of all files).
    pub fn check_all(&self) -> Result<(), FolderError> {
        self.files.iter().try_for_each(|(file, watched)| watched.check(file, true))
    }
}

impl Watched {
    fn check(&self, path: &Path, by_content: bool) -> Result<(), FolderError> {
        let changed = |change| FolderError::InputChanged { path: path.to_owned(), change };
        let now = fs::metadata(path).map_err(|_| changed("is gone"))?;
        let mut known = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        if !by_content && *known == Some(stamp(&now)) {
            return Ok(());
        }
        match open_file(path).and_then(sha256) {
            Ok(digest) if digest == self.digest => {
                *known = Some(stamp(&now));
                Ok(())
            }
            Ok(_) => Err(changed("has changed")),
            Err(_) => Err(changed("cannot be read any more")),
        }
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    #[cfg(unix)]
    let change = {
        use std::os::unix::fs::MetadataExt;
        // The time of the last change of anything, which no program can set.
        (metadata.ctime(), metadata.ctime_nsec())
    };
    #[cfg(not(unix))]
    let change = (0, 0);
    (metadata.len(), metadata.modified().ok(), change)
}

/// A file, or the files of a folder.
fn files_at(path: &Path) -> Result<Vec<PathBuf>, FolderError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let fault = |source| FolderError::Io { path: path.to_owned(), source };
    let entries = fs::read_dir(path).map_err(fault)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(fault)?;
    Ok(paths.into_iter().filter(|path| path.is_file()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suite;

    #[test]
    fn an_input_that_changes_or_goes_is_named_and_one_that_is_written_again_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let [cluster, placer] = ["c.toml", "p.sh"].map(|name| folder.path().join(name));
        let text = format!(
            r#"
            name = "s"
            placers = ["heft"]
            [[placer]]
            name = "mine"
            command = ["sh", "{}"]
            [[graph]]
            preset = "laich1"
            [[cluster]]
            file = "{}"
            "#,
            placer.display(),
            cluster.display()
        );
        let devices = "[[device]]\nname = \"a\"\nkind = \"CPU\"\nspeed = 1\n\n[link]\nrate = 1\n";
        fs::write(&cluster, devices).unwrap();
        fs::write(&placer, "exit 3").unwrap();
        let plan = RunPlan::new(Suite::parse(&text, "s.toml").unwrap()).unwrap();
        let digests = input_digests(&plan).unwrap();
        let watch = InputWatch::new(&plan, &digests);
        let of = |placer: usize| *plan.cells.iter().find(|cell| cell.placer == placer).unwrap();
        let says = |result: Result<(), FolderError>| result.unwrap_err().to_string();
        assert!([0, 1].iter().all(|&placer| watch.check(&plan, of(placer)).is_ok()));
        fs::write(&cluster, devices).unwrap();
        assert!(watch.check(&plan, of(0)).is_ok() && watch.check_all().is_ok(), "the same was written again");

        fs::write(&placer, "exit 4").unwrap();
        assert!(watch.check(&plan, of(0)).is_ok(), "heft does not read it");
        let said = says(watch.check(&plan, of(1)));
        assert!(said.starts_with(&format!("{}: has changed while the run went on", placer.display())), "{said}");
        assert_eq!(says(watch.check_all()), said);
        fs::write(&placer, "exit 3").unwrap();
        assert!(watch.check(&plan, of(1)).is_ok() && watch.check_all().is_ok());

        fs::remove_file(&cluster).unwrap();
        assert!(says(watch.check(&plan, of(0))).starts_with(&format!("{}: is gone", cluster.display())));
    }
}
