//! Streamed graphs on disk: a folder of parts, or a single file.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use placebench_datasets::format::{FormatError, sha256, write_whole};
use placebench_datasets::stream::{EdgeFormat, OpRow, Target, write_edge_part, write_op_part};

use super::manifest::{FileManifest, parse, text};
use super::{
    ChunkScratch, EdgeChunks, PartSheet, Sheet, StreamGraph, StreamManifest, StreamParams, StreamProperties, Tally,
};
use crate::error::GeneratorError;
use crate::leveled::{LeveledChunks, OpBatch};

/// Edges of a part, if nobody says how many parts there are: half a gigabyte in the binary format.
const PART_EDGES: u64 = 1 << 26;

const MANIFEST: &str = "stream.toml";
const PROPERTIES: &str = "properties.toml";

/// Why a streamed graph cannot be made or checked.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The parameters make no graph.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// A file cannot be read or written, or is not what it should be.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// A streamed graph and the place of its parts.
///
/// ```text
/// web/stream.toml                        family, parameters, seed, version, format, number of parts
/// web/edges-00001-of-00016.parquet       edges of a part
/// web/ops-00001-of-00016.parquet         its ops, if the graph is leveled
/// web/edges-00001-of-00016.toml          its SHA-256 and counts; a part is finished when this is there
/// web/properties.toml                    the sum of all parts, when they are there
/// ```
///
/// A single file `web.pbedges` has all of that in `web.pbedges.toml`, and no ops.
#[derive(Clone, Debug)]
pub struct Streamed {
    manifest: StreamManifest,
    graph: StreamGraph,
    path: PathBuf,
    is_file: bool,
}

impl Streamed {
    /// Draws the plan of a graph whose parts go into the folder `path`; `parts` is their number, one for each 2²⁶ edges if
    /// not given.
    ///
    /// # Errors
    /// If the parameters make no graph, or there are more parts than chunks of edges.
    pub fn folder(
        params: StreamParams,
        seed: u64,
        format: EdgeFormat,
        parts: Option<u32>,
        path: &Path,
    ) -> Result<Self, StreamError> {
        let graph = params.graph(seed)?;
        let most = u32::try_from(graph.chunk_count()).unwrap_or(u32::MAX);
        let parts = parts.unwrap_or_else(|| (graph.edge_count().div_ceil(PART_EDGES) as u32).clamp(1, most));
        if parts == 0 || parts > most {
            let expected = format!("from 1 to {most}, the chunks of this graph");
            return Err(GeneratorError::bad("shards", parts, expected).into());
        }
        Ok(Self::new(params, seed, format, parts, graph, path, false))
    }

    /// Draws the plan of a graph that goes into one file.
    ///
    /// # Errors
    /// If the parameters make no graph.
    pub fn file(params: StreamParams, seed: u64, format: EdgeFormat, path: &Path) -> Result<Self, StreamError> {
        let graph = params.graph(seed)?;
        Ok(Self::new(params, seed, format, 1, graph, path, true))
    }

    fn new(
        params: StreamParams,
        seed: u64,
        format: EdgeFormat,
        parts: u32,
        graph: StreamGraph,
        path: &Path,
        is_file: bool,
    ) -> Self {
        let manifest = StreamManifest {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
            format,
            parts,
            vertices: graph.vertex_count(),
            edges: graph.edge_count(),
            params,
        };
        Self { manifest, graph, path: path.to_owned(), is_file }
    }

    /// Whether a streamed graph is at a path: a folder of parts or a file with a manifest.
    pub fn is_at(path: &Path) -> bool {
        path.join(MANIFEST).is_file() || (path.is_file() && beside(path).is_file())
    }

    /// Opens a streamed graph that was begun at a path.
    ///
    /// # Errors
    /// If its manifest cannot be read, or this version makes another graph of it.
    pub fn open(path: &Path) -> Result<Self, StreamError> {
        let is_file = path.is_file();
        let at = if is_file { beside(path) } else { path.join(MANIFEST) };
        let manifest: StreamManifest = match is_file {
            true => read::<FileManifest>(&at)?.manifest,
            false => read(&at)?,
        };
        let graph = manifest.params.graph(manifest.seed)?;
        let again =
            Self::new(manifest.params.clone(), manifest.seed, manifest.format, manifest.parts, graph, path, is_file);
        if (again.manifest.vertices, again.manifest.edges) != (manifest.vertices, manifest.edges) {
            let message = format!(
                "says {} vertices and {} edges, but its parameters make {} and {} (version {}; this is {})",
                manifest.vertices,
                manifest.edges,
                again.manifest.vertices,
                again.manifest.edges,
                manifest.version,
                again.manifest.version
            );
            return Err(FormatError::file(&at, message).remedy("use the version that made it").into());
        }
        Ok(Self { manifest, ..again })
    }

    /// What the graph is made from.
    pub fn manifest(&self) -> &StreamManifest {
        &self.manifest
    }

    /// The plan.
    pub fn graph(&self) -> &StreamGraph {
        &self.graph
    }

    /// Makes the folder and its manifest. A folder in which the same graph was begun is used as it is; one with another
    /// is emptied of its parts if `force` says so.
    ///
    /// # Errors
    /// If another graph was begun there, or something else is there.
    pub fn prepare(&self, force: bool) -> Result<(), StreamError> {
        if self.is_file {
            return Ok(());
        }
        let at = self.path.join(MANIFEST);
        // Looked at first: shards that begin at once all make the folder, and parts come after the manifest.
        let has_other_files = self.has_other_files();
        if at.is_file() {
            let before: StreamManifest = read(&at)?;
            if before == self.manifest {
                return Ok(());
            }
            if !force {
                let message = "holds parts of another graph, seed, version or number of parts";
                let remedy = "choose another folder, or replace them with --force";
                return Err(FormatError::file(&self.path, message).remedy(remedy).into());
            }
            let old = Self { manifest: before, ..self.clone() };
            for part in 1..=old.manifest.parts {
                for file in [old.sheet_path(part), old.edges_path(part), old.ops_path(part)] {
                    remove(&file)?;
                }
            }
            remove(&self.path.join(PROPERTIES))?;
        } else if has_other_files {
            let message = "is a folder with other files";
            return Err(FormatError::file(&self.path, message).remedy("choose another folder, or empty it").into());
        }
        fs::create_dir_all(&self.path).map_err(|error| FormatError::io(&self.path, error))?;
        write(&at, &text(&self.manifest))?;
        Ok(())
    }

    /// Whether the folder has more in it than a manifest, written or half written.
    fn has_other_files(&self) -> bool {
        let half = format!(".{MANIFEST}.");
        let is_other = |name: &str| name != MANIFEST && !name.starts_with(&half);
        let Ok(mut entries) = fs::read_dir(&self.path) else { return false };
        entries.any(|entry| entry.map_or(true, |entry| is_other(&entry.file_name().to_string_lossy())))
    }

    /// Whether a part, from 1, is finished.
    pub fn is_finished(&self, part: u32) -> bool {
        let files = [self.sheet_path(part), self.edges_path(part)];
        let ops = self.has_ops().then(|| self.ops_path(part));
        files.into_iter().chain(ops).all(|file| file.is_file())
    }

    /// Makes a part, from 1. Its edges are made by `threads` threads and written by this one.
    ///
    /// # Errors
    /// If a file cannot be written; nothing is left of the part then.
    pub fn make(&self, part: u32, threads: usize) -> Result<PartSheet, StreamError> {
        let (edges, ops) = (self.edges_path(part), self.ops_path(part));
        let written = self.write(part, threads, &Target::File(&edges), &Target::File(&ops));
        if written.is_err() && self.has_ops() {
            // Edges appear only when they are complete. The first error is the one that counts.
            let _ = remove(&ops);
        }
        let sheet = written?;
        match self.is_file {
            true => write(
                &beside(&self.path),
                &text(&FileManifest { manifest: self.manifest.clone(), part: sheet.clone() }),
            )?,
            false => write(&self.sheet_path(part), &text(&sheet))?,
        }
        Ok(sheet)
    }

    /// Checks a finished part, from 1: its files are as they were written, and come out the same when they are made again.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self, part: u32, threads: usize) -> Result<(), StreamError> {
        let sheet = self.sheet(part)?;
        let (edges, ops) = (self.edges_path(part), self.ops_path(part));
        let mut files = vec![(&edges, &sheet.sha256)];
        files.extend(sheet.ops_sha256.as_ref().map(|digest| (&ops, digest)));
        for (path, expected) in files {
            let found = fs::File::open(path).and_then(sha256).map_err(|error| FormatError::io(path, error))?;
            if found != *expected {
                let message = format!("has SHA-256 {found}, but its sheet says {expected}: it was changed");
                return Err(FormatError::file(path, message).remedy("remove it and make it again").into());
            }
        }
        let again = self.write(part, threads, &Target::Nowhere(&edges), &Target::Nowhere(&ops))?;
        if again != sheet {
            let message = format!(
                "its parameters make another part: it was made by version {}, and this is {}",
                self.manifest.version,
                env!("CARGO_PKG_VERSION")
            );
            let remedy = "make it again, or use the version that made it";
            return Err(FormatError::file(&edges, message).remedy(remedy).into());
        }
        Ok(())
    }

    /// The sheet of a finished part.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn sheet(&self, part: u32) -> Result<PartSheet, StreamError> {
        Ok(match self.is_file {
            true => read::<FileManifest>(&beside(&self.path))?.part,
            false => read(&self.sheet_path(part))?,
        })
    }

    /// Writes the property sheet of the graph into the folder, if all parts are finished.
    ///
    /// # Errors
    /// As [`Streamed::properties`], or if the file cannot be written.
    pub fn finish(&self) -> Result<Option<StreamProperties>, StreamError> {
        let properties = self.properties()?;
        if let (Some(properties), false) = (&properties, self.is_file) {
            write(&self.path.join(PROPERTIES), &text(properties))?;
        }
        Ok(properties)
    }

    /// The property sheet of the graph, if all parts are finished.
    ///
    /// # Errors
    /// If a sheet cannot be read, or the parts are not those of the graph.
    pub fn properties(&self) -> Result<Option<StreamProperties>, StreamError> {
        if !(1..=self.manifest.parts).all(|part| self.is_finished(part)) {
            return Ok(None);
        }
        let (mut counts, mut digests, mut edges) = (Sheet::default(), String::new(), 0);
        for part in 1..=self.manifest.parts {
            let sheet = self.sheet(part)?;
            counts.add(&sheet.counts);
            edges += sheet.edges;
            for digest in std::iter::once(&sheet.sha256).chain(&sheet.ops_sha256) {
                digests.push_str(digest);
                digests.push('\n');
            }
        }
        if edges != self.manifest.edges {
            let message = format!("its parts have {edges} edges, but the graph has {}", self.manifest.edges);
            return Err(FormatError::file(&self.path, message).remedy("remove the parts and make them again").into());
        }
        let (level_sizes, group_sizes) = match &self.graph {
            StreamGraph::Leveled(graph) => (graph.level_sizes(), graph.group_sizes()),
            _ => (Tally::default(), Tally::default()),
        };
        Ok(Some(StreamProperties {
            vertices: self.manifest.vertices,
            edges,
            sha256: sha256(digests.as_bytes()).map_err(|error| FormatError::io(&self.path, error))?,
            degrees: counts.degrees,
            spans: counts.spans,
            level_sizes,
            group_sizes,
        }))
    }

    fn write(&self, part: u32, threads: usize, edges: &Target<'_>, ops: &Target<'_>) -> Result<PartSheet, StreamError> {
        let chunks = self.graph.part(part - 1, self.manifest.parts);
        let ops_sha256 = match &self.graph {
            StreamGraph::Leveled(graph) if self.has_ops() => Some(write_ops(graph, chunks.clone(), ops)?),
            _ => None,
        };
        let first = self.graph.first_edges();
        let count = first[chunks.end] - first[chunks.start];
        let mut counts = Sheet::default();
        let StreamManifest { format, vertices, .. } = self.manifest;
        let sha256 = write_edge_part(edges, format, vertices, count, |sink| {
            counts = for_each_chunk(&self.graph, chunks, threads, |edges| sink.push(edges))?;
            Ok(())
        })?;
        Ok(PartSheet { part, edges: count, sha256, ops_sha256, counts })
    }

    fn has_ops(&self) -> bool {
        !self.is_file && self.manifest.params.has_ops()
    }

    /// The file with a part's edges.
    pub fn edges_path(&self, part: u32) -> PathBuf {
        match self.is_file {
            true => self.path.clone(),
            false => self.part_path("edges", part, self.manifest.format.extension()),
        }
    }

    /// The file with a part's ops, if the graph has ops.
    pub fn ops_path(&self, part: u32) -> PathBuf {
        self.part_path("ops", part, "parquet")
    }

    fn sheet_path(&self, part: u32) -> PathBuf {
        match self.is_file {
            true => beside(&self.path),
            false => self.part_path("edges", part, "toml"),
        }
    }

    fn part_path(&self, what: &str, part: u32, extension: &str) -> PathBuf {
        self.path.join(format!("{what}-{part:05}-of-{:05}.{extension}", self.manifest.parts))
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".toml");
    name.into()
}

fn read<T: for<'de> serde::Deserialize<'de>>(path: &Path) -> Result<T, FormatError> {
    let content = fs::read_to_string(path).map_err(|error| FormatError::io(path, error))?;
    parse(&content).map_err(|fault| FormatError::file(path, fault).remedy("restore it, or make the graph anew"))
}

fn write(path: &Path, content: &str) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    write_whole(path, io, |out| out.write_all(content.as_bytes()).map_err(io))
}

fn remove(path: &Path) -> Result<(), FormatError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(FormatError::io(path, error)),
        _ => Ok(()),
    }
}

fn write_ops(graph: &LeveledChunks, chunks: Range<usize>, target: &Target<'_>) -> Result<String, FormatError> {
    let mut batch = OpBatch::default();
    write_op_part(target, |sink| {
        for chunk in chunks {
            graph.draw_ops(chunk, &mut batch);
            for at in 0..batch.ops.len() {
                sink.push(&OpRow {
                    ops: batch.ops[at],
                    memory_bytes: batch.memory_bytes[at],
                    tensor_bytes: batch.tensor_bytes[at],
                    kinds: batch.kinds[at],
                    group: batch.groups[at],
                })?;
            }
        }
        Ok(())
    })
}

/// Makes chunks on `threads` threads and takes them in order on this one.
fn for_each_chunk(
    graph: &impl EdgeChunks,
    chunks: Range<usize>,
    threads: usize,
    mut take: impl FnMut(&[(u32, u32)]) -> Result<(), FormatError>,
) -> Result<Sheet, FormatError> {
    /// Chunks that wait for being taken, for each thread.
    const WAITING: usize = 2;
    let mut sheet = Sheet::default();
    if threads <= 1 {
        let (mut scratch, mut edges) = (ChunkScratch::default(), Vec::new());
        for chunk in chunks {
            edges.clear();
            graph.append(chunk, &mut scratch, &mut edges, &mut sheet);
            take(&edges)?;
        }
        return Ok(sheet);
    }
    thread::scope(|scope| {
        let (mut receivers, mut makers) = (Vec::new(), Vec::new());
        for maker in 0..threads {
            let (sender, receiver) = sync_channel(WAITING);
            let chunks = chunks.clone().skip(maker).step_by(threads);
            receivers.push(receiver);
            makers.push(scope.spawn(move || {
                let (mut scratch, mut sheet) = (ChunkScratch::default(), Sheet::default());
                for chunk in chunks {
                    let mut edges = Vec::new();
                    graph.append(chunk, &mut scratch, &mut edges, &mut sheet);
                    // Nobody takes it if the file cannot be written.
                    if sender.send(edges).is_err() {
                        break;
                    }
                }
                sheet
            }));
        }
        for at in 0..chunks.len() {
            // A maker that panics is seen below.
            let Ok(edges) = receivers[at % threads].recv() else { break };
            take(&edges)?;
        }
        drop(receivers);
        for maker in makers {
            match maker.join() {
                Ok(counts) => sheet.add(&counts),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(sheet)
    })
}
