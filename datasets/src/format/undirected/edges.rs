//! Lists of edges as text, as the SNAP collection has them, and in binary.

use std::io::Write;
use std::path::Path;

use placebench_base::process::check_memory;

use super::lines::{Lines, RENUMBER, check_vertex_count};
use crate::UndirectedGraph;
use crate::format::atomic::write_file;
use crate::format::entry::{Format, Holds, Mark};
use crate::format::text::counted;
use crate::format::{Detail, FormatError};
use crate::numbers::NumberVec;
use crate::stream::{EdgeFile, EdgeStream, write_edges};

/// The line of the table of formats for text.
pub(in crate::format) static TEXT: Format = Format {
    name: "edges",
    mark: Mark::Extensions(&["edges", "edgelist", "el", "txt", "tsv"]),
    title: "a line for each edge, also for streams",
    lacks: &[Detail::VertexWeights],
    options: &[],
    holds: Holds::Undirected {
        read: |path, unit_edges| read_edge_list(path, unit_edges),
        write: |path, graph| write_edge_list(path, graph),
        fit: UndirectedGraph::without_vertex_weights,
    },
};

/// The line of the table of formats for binary files.
pub(in crate::format) static BINARY: Format = Format {
    name: "binary",
    mark: Mark::Extensions(&["pbedges", "bin"]),
    title: "8 bytes for each edge, also for streams",
    lacks: &[Detail::VertexWeights, Detail::EdgeWeights],
    options: &[],
    holds: Holds::Undirected {
        read: |path, _| read_binary_edges(path),
        write: |path, graph| write_binary_edges(path, graph),
        fit: |graph| graph.without_vertex_weights().without_edge_weights(),
    },
};

/// This comment gives the number of vertices, so that the last ones may be without edges.
pub(crate) const VERTICES: &str = "# vertices";

/// Edges as they are read.
#[derive(Default)]
pub(super) struct Edges {
    ends: Vec<(u32, u32)>,
    /// Parallel to `ends`, or empty if edges weigh 1.
    weights: NumberVec,
}

impl Edges {
    /// Adds an edge that weighs 1, in whichever direction and however often it comes. Either all edges are added like
    /// this, or all by [`Edges::push_weighted`].
    pub(super) fn push(&mut self, ends: (u32, u32)) {
        self.ends.push(ends);
    }

    /// Adds an edge. The weights of parallel edges add up.
    pub(super) fn push_weighted(&mut self, ends: (u32, u32), weight: u64) {
        self.ends.push(ends);
        self.weights.push(weight);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn into_graph(self, path: &Path, vertices: usize) -> Result<UndirectedGraph, FormatError> {
        let made = if self.weights.len() == self.ends.len() {
            let edges = self.ends.iter().zip(self.weights.view().iter()).map(|(&(a, b), weight)| (a, b, weight));
            UndirectedGraph::from_edges(vertices, edges, None)
        } else {
            UndirectedGraph::from_distinct_edges(vertices, self.ends.iter().copied())
        };
        made.map_err(|error| FormatError::file(path, error))
    }
}

/// Reads a text file of edges: two vertices a line, from 0, and optionally a weight, separated by blanks, tabs or
/// commas.
///
/// Lines that begin with `#` or `%` are comments. One comment counts: `# vertices 10` gives the number of vertices;
/// without it, the largest id decides. Self-loops are dropped. The weights of parallel edges add up. Without weights,
/// or with `ignore_weights`, an edge counts once, however often and in whichever direction it comes.
///
/// # Errors
/// With the line of the fault.
///
/// # Complexity
/// O(bytes + edges · log degree) time; 8 bytes an edge beside the graph, 12 with weights.
pub fn read_edge_list(path: impl AsRef<Path>, ignore_weights: bool) -> Result<UndirectedGraph, FormatError> {
    let path = path.as_ref();
    let mut lines = Lines::open(path)?;
    let mut declared = None;
    let mut largest = None;
    // Whether edges have weights, as the first one says.
    let mut weighted = None;
    let mut edges = Edges::default();
    while let Some(line) = lines.next()? {
        if let Some(count) = line.text.strip_prefix(VERTICES.as_bytes()) {
            declared = Some(line.whole(count.trim_ascii(), "the number of vertices")?);
            continue;
        }
        if line.is_blank() || line.is_comment(b"#%") {
            continue;
        }
        let parts = line.text.split(|byte| byte.is_ascii_whitespace() || *byte == b',').filter(|part| !part.is_empty());
        let words: Vec<&[u8]> = parts.collect();
        if !(2..=3).contains(&words.len()) {
            let fault = line.fault(format!("the edge has {}", counted(words.len() as u64, "number")));
            return Err(fault.remedy("write 'vertex vertex' or 'vertex vertex weight'"));
        }
        if *weighted.get_or_insert(words.len() == 3) != (words.len() == 3) {
            let (here, there) = if words.len() == 3 { ("a", "none") } else { ("no", "one") };
            let fault = line.fault(format!("the edge has {here} weight, but those before have {there}"));
            return Err(fault.remedy("give all edges a weight, or none"));
        }
        let mut ends = [0u32; 2];
        for (end, word) in ends.iter_mut().zip(&words) {
            let id = line.whole(word, "a vertex")?;
            let limit = declared.unwrap_or(u64::from(u32::MAX));
            if id >= limit {
                let fault = line.fault(format!("there is no vertex {id}"));
                return Err(fault.remedy(format!("vertices are numbered from 0 to {}", limit.saturating_sub(1))));
            }
            *end = id as u32;
            largest = largest.max(Some((id, line.number)));
        }
        let weight = words.get(2).map_or(Ok(1), |word| line.whole(word, "the weight"))?;
        match weighted == Some(true) && !ignore_weights {
            true => edges.push_weighted((ends[0], ends[1]), weight),
            false => edges.push((ends[0], ends[1])),
        }
    }
    let vertices = declared.unwrap_or_else(|| largest.map_or(0, |(id, _)| id + 1));
    let vertices = check_vertex_count(vertices, edges.len() as u64, "edge").map_err(|message| {
        let line = largest.map_or(1, |(_, line)| line);
        FormatError::at_line(path, line, message).remedy(RENUMBER)
    })?;
    if let Some((id, line)) = largest.filter(|&(id, _)| id >= vertices as u64) {
        // The number of vertices came after the edge.
        let fault = FormatError::at_line(path, line, format!("there is no vertex {id}"));
        return Err(fault.remedy(format!("'{VERTICES} {vertices}' says that they end before")));
    }
    edges.into_graph(path, vertices)
}

/// Writes a text file of edges, each once, with weights if they have some. The format has no weights of vertices.
///
/// # Errors
/// If vertices have weights; if the file cannot be written.
pub fn write_edge_list(path: impl AsRef<Path>, graph: &UndirectedGraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    refuse_vertex_weights(path, graph, "edge lists")?;
    let io = |error| FormatError::io(path, error);
    write_file(path, |out| {
        writeln!(out, "{VERTICES} {}", graph.vertex_count()).map_err(io)?;
        for (a, b, weight) in graph.edges() {
            match graph.edge_weights() {
                None => writeln!(out, "{a} {b}").map_err(io)?,
                Some(_) => writeln!(out, "{a} {b} {weight}").map_err(io)?,
            }
        }
        Ok(())
    })
}

/// Reads a binary file of edges, as [`EdgeFile`] streams it. Self-loops are dropped, and an edge counts once however
/// often it comes.
///
/// # Errors
/// If the file is in another format, is not as long as its header says, or names a vertex that does not exist.
///
/// # Complexity
/// O(bytes + edges · log degree) time; 8 bytes an edge beside the graph.
pub fn read_binary_edges(path: impl AsRef<Path>) -> Result<UndirectedGraph, FormatError> {
    let path = path.as_ref();
    let mut stream = EdgeFile::open(path)?;
    let vertices = check_vertex_count(stream.vertex_count() as u64, stream.edge_count(), "edge")
        .map_err(|message| FormatError::file(path, message).remedy(RENUMBER))?;
    // The list, and the rows of the graph that is made of it.
    let parts = [(stream.edge_count(), 8 + 8), (vertices as u64, 8)];
    check_memory(&parts, || format!("a graph of {}", counted(stream.edge_count(), "edge")))
        .map_err(|error| FormatError::file(path, error))?;
    let mut edges = Edges { ends: Vec::with_capacity(stream.edge_count() as usize), ..Edges::default() };
    while let Some(batch) = stream.next_edges()? {
        edges.ends.extend_from_slice(batch);
    }
    edges.into_graph(path, vertices)
}

/// Writes a binary file of edges, each once. The format has no weights.
///
/// # Errors
/// If vertices or edges have weights; if the file cannot be written.
pub fn write_binary_edges(path: impl AsRef<Path>, graph: &UndirectedGraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    refuse_vertex_weights(path, graph, "binary files of edges")?;
    if graph.edge_weights().is_some() {
        let fault = FormatError::file(path, "edges have weights, which binary files of edges do not");
        return Err(fault.remedy("ask for edges that weigh 1, or write another format"));
    }
    write_edges(path, graph.vertex_count() as u32, graph.edges().map(|(a, b, _)| (a, b))).map(|_| ())
}

/// Refuses to write a graph whose vertices have weights in a format that has no room for them.
pub(super) fn refuse_vertex_weights(path: &Path, graph: &UndirectedGraph, format: &str) -> Result<(), FormatError> {
    match graph.vertex_weights() {
        None => Ok(()),
        Some(_) => {
            let fault = FormatError::file(path, format!("vertices have weights, which {format} do not"));
            Err(fault.remedy("write a METIS graph, or ask for vertices that weigh 1"))
        }
    }
}
