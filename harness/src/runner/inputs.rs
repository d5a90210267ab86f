//! The files that a run reads. Their digests are remembered, so that no resumed run mixes two states of a file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use placebench_datasets::format::sha256;

use super::folder_error::FolderError;
use crate::suite::{PlacerEntry, RunPlan};

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
    let digest = |path: PathBuf| match File::open(&path).and_then(sha256) {
        Ok(digest) => Ok((path.display().to_string(), digest)),
        Err(source) => Err(FolderError::Io { path, source }),
    };
    files.into_iter().map(digest).collect()
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
