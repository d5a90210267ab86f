//! Graphs as METIS reads them (METIS 5 manual, §4.1.1).

use std::io::Write;
use std::path::Path;

use super::lines::{Line, Lines};
use super::narrow::Narrow;
use crate::UndirectedGraph;
use crate::format::atomic::write_file;
use crate::format::entry::{Format, Holds, Mark};
use crate::format::text::counted;
use crate::format::{Detail, FormatError};
use crate::numbers::NumberVec;

/// The line of the table of formats.
pub(in crate::format) static FORMAT: Format = Format {
    name: "metis",
    mark: Mark::Extensions(&["graph", "metis"]),
    title: "METIS 5, a row for each vertex",
    lacks: &[Detail::ZeroEdges, Detail::WideWeights],
    options: &[],
    holds: Holds::Undirected {
        read: |path, unit_edges| {
            let read = read_metis(path)?;
            Ok(if unit_edges { read.without_edge_weights() } else { read })
        },
        write: |path, graph| write_metis(path, graph),
        fit: |graph| graph,
    },
};

/// What the first line of a METIS graph says.
struct Header {
    line: u64,
    vertices: u32,
    edges: u64,
    vertex_sizes: bool,
    vertex_weights: bool,
    edge_weights: bool,
}

impl Header {
    fn parse(line: &Line<'_>) -> Result<Self, FormatError> {
        let words: Vec<&[u8]> = line.words().collect();
        let (&[vertices, edges], more) = match words.split_first_chunk() {
            Some(split) if words.len() <= 4 => split,
            _ => {
                let fault = line.fault(format!("the header has {}", counted(words.len() as u64, "number")));
                return Err(fault.remedy("write 'vertices edges [fmt [ncon]]'"));
            }
        };
        let vertices = line.whole(vertices, "the number of vertices")?;
        let vertices = u32::try_from(vertices)
            .map_err(|_| line.fault(format!("{vertices} vertices are more than 32-bit ids can name")))?;
        let edges = line.whole(edges, "the number of edges")?;
        let format = more.first().copied().unwrap_or(b"0");
        if format.len() > 3 || format.iter().any(|digit| !matches!(digit, b'0' | b'1')) {
            let fault = line.fault(format!("fmt is '{}'", String::from_utf8_lossy(format)));
            return Err(fault.remedy("write three digits, each 0 or 1: vertex sizes, vertex weights, edge weights"));
        }
        let flag = |from_the_end: usize| format.len() > from_the_end && format[format.len() - 1 - from_the_end] == b'1';
        if let Some(constraints) = more.get(1) {
            let constraints = line.whole(constraints, "ncon")?;
            if constraints != 1 {
                let fault = line.fault(format!("there are {constraints} weights a vertex (ncon)"));
                return Err(fault.remedy("keep one: blocks are balanced by one weight here"));
            }
            if !flag(1) {
                let fault = line.fault("ncon is given, but fmt says that vertices have no weights");
                return Err(fault.remedy("write fmt 10 or 11, or leave ncon out"));
            }
        }
        let (vertex_sizes, vertex_weights, edge_weights) = (flag(2), flag(1), flag(0));
        Ok(Self { line: line.number, vertices, edges, vertex_sizes, vertex_weights, edge_weights })
    }

    /// Reads the next vertex's row: its weight, and its neighbours with weights, ascending.
    fn read_row(&self, line: &Line<'_>, rows: &mut Rows) -> Result<(), FormatError> {
        let shown = rows.count() + 1;
        let first = rows.neighbours.len();
        let mut ascending = true;
        let mut words = line.words();
        let mut leading = |what: &str| match words.next() {
            Some(word) => line.whole(word, what),
            None => {
                Err(line.fault(format!("vertex {shown} has no {what}")).remedy("write what fmt in line 1 promises"))
            }
        };
        if self.vertex_sizes {
            // METIS weighs communication volume by vertex sizes. We do not.
            leading("size")?;
        }
        if self.vertex_weights {
            rows.vertex_weights.push(leading("weight")?);
        }
        while let Some(word) = words.next() {
            let neighbour = line.whole(word, "a neighbour")?;
            if neighbour == 0 || neighbour > u64::from(self.vertices) {
                let fault = line.fault(format!("vertex {shown} has the neighbour {neighbour}"));
                return Err(fault.remedy(format!("vertices are numbered from 1 to {}", self.vertices)));
            }
            if neighbour == u64::from(shown) {
                let fault = line.fault(format!("vertex {shown} is its own neighbour"));
                return Err(fault.remedy("remove the edge, as METIS demands"));
            }
            let weight = match (self.edge_weights, self.edge_weights.then(|| words.next()).flatten()) {
                (false, _) => 1,
                (true, Some(word)) => line.whole(word, "an edge weight")?,
                (true, None) => {
                    let fault = line.fault(format!("the edge from vertex {shown} to {neighbour} has no weight"));
                    return Err(fault.remedy("write a weight after each neighbour, as fmt promises"));
                }
            };
            if weight == 0 {
                let fault = line.fault(format!("the edge from vertex {shown} to {neighbour} weighs 0"));
                return Err(fault.remedy("edge weights are at least 1"));
            }
            let neighbour = neighbour as u32 - 1;
            ascending &= rows.neighbours.len() == first || rows.neighbours.last() < Some(&neighbour);
            rows.neighbours.push(neighbour);
            if self.edge_weights {
                rows.edge_weights.push(weight);
            }
        }
        if !ascending {
            rows.sort_from(first);
            if let Some(pair) = rows.neighbours[first..].windows(2).find(|pair| pair[0] == pair[1]) {
                let fault = line.fault(format!("vertex {shown} has the neighbour {} twice", pair[0] + 1));
                return Err(fault.remedy("remove one"));
            }
        }
        rows.offsets.push(rows.neighbours.len() as u64);
        Ok(())
    }
}

/// Rows in the making.
struct Rows {
    offsets: NumberVec,
    neighbours: Vec<u32>,
    edge_weights: NumberVec,
    vertex_weights: NumberVec,
    /// For each comment among the rows, how many rows came before it.
    comments: Vec<u64>,
}

impl Rows {
    /// No rows yet, with room for what the header promises, but for no more than a file of `bytes` bytes can hold.
    fn new(header: &Header, bytes: u64) -> Self {
        // A row takes its line break at least, and an entry a digit and what parts it from the next.
        let vertices = u64::from(header.vertices).min(bytes) as usize;
        let entries = header.edges.saturating_mul(2).min(bytes / 2) as usize;
        let list = |exists: bool, count| if exists { NumberVec::with_capacity(count) } else { NumberVec::default() };
        let mut offsets = NumberVec::with_capacity(vertices + 1);
        offsets.push(0);
        Self {
            offsets,
            neighbours: Vec::with_capacity(entries),
            edge_weights: list(header.edge_weights, entries),
            vertex_weights: list(header.vertex_weights, vertices),
            comments: Vec::new(),
        }
    }

    /// How many rows there are.
    fn count(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }

    /// Sorts the entries of the last row, which begins there.
    fn sort_from(&mut self, first: usize) {
        let weights = self.edge_weights.len();
        let weight = |at: usize| if weights > 0 { self.edge_weights.at(at) } else { 1 };
        let mut row: Vec<(u32, u64)> =
            (first..self.neighbours.len()).map(|at| (self.neighbours[at], weight(at))).collect();
        row.sort_unstable();
        for (at, (neighbour, weight)) in (first..).zip(row) {
            self.neighbours[at] = neighbour;
            if weights > 0 {
                self.edge_weights.set(at, weight);
            }
        }
    }

    /// The line of a vertex's row.
    fn line_of(&self, header: &Header, vertex: u32) -> u64 {
        let before = self.comments.partition_point(|&rows| rows <= u64::from(vertex));
        header.line + 1 + u64::from(vertex) + before as u64
    }

    fn weight(&self, at: usize) -> u64 {
        if self.edge_weights.len() == 0 { 1 } else { self.edge_weights.at(at) }
    }

    /// Checks that each edge is in the rows of both ends, with one weight: vertices in ascending order meet the entries
    /// of each row in ascending order.
    fn check_symmetry(&self, path: &Path, header: &Header) -> Result<(), FormatError> {
        let one_way = |from: u32, to: u32| {
            let (from_line, to_line) = (self.line_of(header, from), self.line_of(header, to));
            let (from, to) = (from + 1, to + 1);
            let message = format!(
                "vertex {from} has the neighbour {to}, but vertex {to}, on line {to_line}, does not have {from}"
            );
            FormatError::at_line(path, from_line, message).remedy("add it there, or remove it here")
        };
        let mut cursor = self.offsets.clone();
        for vertex in 0..self.count() {
            for at in self.offsets.at(vertex as usize) as usize..self.offsets.at(vertex as usize + 1) as usize {
                let neighbour = self.neighbours[at];
                let partner = cursor.at(neighbour as usize) as usize;
                let end = self.offsets.at(neighbour as usize + 1) as usize;
                match (partner < end).then(|| self.neighbours[partner]) {
                    Some(other) if other == vertex => {}
                    // An earlier vertex, which did not come to this entry when it was its turn.
                    Some(other) if other < vertex => return Err(one_way(neighbour, other)),
                    _ => return Err(one_way(vertex, neighbour)),
                }
                let (here, there) = (self.weight(at), self.weight(partner));
                if here != there {
                    let line = self.line_of(header, neighbour);
                    let message = format!(
                        "the edge from vertex {} to {} weighs {here}, but {there} on line {line}",
                        vertex + 1,
                        neighbour + 1
                    );
                    let fault = FormatError::at_line(path, self.line_of(header, vertex), message);
                    return Err(fault.remedy("give both the same weight"));
                }
                cursor.set(neighbour as usize, partner as u64 + 1);
            }
        }
        Ok(())
    }
}

/// Reads a graph in the format of METIS: any `fmt`, at most one weight a vertex. Vertex sizes are read and dropped.
///
/// Like METIS it refuses self-loops and neighbours that come twice; unlike METIS it makes sure that every edge is in
/// the rows of both ends, with the same weight.
///
/// # Errors
/// With the line of the fault.
///
/// # Complexity
/// O(bytes + edges · log degree) time; the graph, 4 bytes a vertex and the longest line.
pub fn read_metis(path: impl AsRef<Path>) -> Result<UndirectedGraph, FormatError> {
    let path = path.as_ref();
    let mut lines = Lines::open(path)?;
    let header = match lines.next_content(b"%")? {
        Some(line) => Header::parse(&line)?,
        None => return Err(FormatError::file(path, "is empty").remedy("start with 'vertices edges'")),
    };
    let mut rows = Rows::new(&header, lines.bytes());
    while let Some(line) = lines.next()? {
        let vertex = rows.count();
        if line.is_comment(b"%") {
            rows.comments.push(u64::from(vertex));
            continue;
        }
        if vertex == header.vertices {
            if line.is_blank() {
                continue;
            }
            let fault = line.fault(format!("is a row more than the {} of the header", counted_vertices(vertex)));
            return Err(fault.remedy("correct the header, or remove the row"));
        }
        header.read_row(&line, &mut rows)?;
    }
    let vertices = rows.count();
    if vertices < header.vertices {
        let message = format!("ends after {} of {}", counted(vertices.into(), "row"), header.vertices);
        let fault = FormatError::at_line(path, lines.number(), message);
        return Err(fault.remedy("a vertex without neighbours has an empty line"));
    }
    rows.check_symmetry(path, &header)?;
    let edges = rows.neighbours.len() as u64 / 2;
    if edges != header.edges {
        let message = format!("the header says {}, but the rows have {edges}", counted(header.edges, "edge"));
        return Err(FormatError::at_line(path, header.line, message).remedy("count each edge once"));
    }
    let edge_weights = header.edge_weights.then_some(rows.edge_weights);
    let vertex_weights = header.vertex_weights.then_some(rows.vertex_weights);
    UndirectedGraph::from_symmetric_rows(rows.offsets, rows.neighbours, edge_weights, vertex_weights)
        .map_err(|error| FormatError::file(path, error))
}

fn counted_vertices(vertices: u32) -> String {
    match vertices {
        1 => "1 vertex".to_owned(),
        _ => format!("{vertices} vertices"),
    }
}

/// Writes a graph in the format of METIS, with the weights that it has. METIS adds them up in 32 bits: if those of the
/// vertices, or those of the edges in all rows, come to 2³¹ or more, they are scaled down to less. None becomes 0.
///
/// # Errors
/// If an edge weighs 0, which the format does not have; if the file cannot be written.
pub fn write_metis(path: impl AsRef<Path>, graph: &UndirectedGraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    if let Some((a, b, _)) = graph.edges().find(|&(_, _, weight)| weight == 0) {
        let message = format!("the edge between vertices {a} and {b} weighs 0, which METIS graphs cannot say");
        return Err(FormatError::file(path, message).remedy("choose another edge weight or format"));
    }
    let (vertices, edges) = (Narrow::of_vertices(graph), Narrow::of_edges(graph));
    let io = |error| FormatError::io(path, error);
    write_file(path, |out| {
        let format = match (graph.vertex_weights().is_some(), graph.edge_weights().is_some()) {
            (false, false) => "",
            (false, true) => " 1",
            (true, false) => " 10",
            (true, true) => " 11",
        };
        writeln!(out, "{} {}{format}", graph.vertex_count(), graph.edge_count()).map_err(io)?;
        for vertex in graph.vertices() {
            let mut separator = "";
            if graph.vertex_weights().is_some() {
                write!(out, "{}", vertices.weight(graph.vertex_weight(vertex))).map_err(io)?;
                separator = " ";
            }
            for (neighbour, weight) in graph.edges_of(vertex) {
                write!(out, "{separator}{}", u64::from(neighbour) + 1).map_err(io)?;
                separator = " ";
                if graph.edge_weights().is_some() {
                    write!(out, " {}", edges.weight(weight)).map_err(io)?;
                }
            }
            writeln!(out).map_err(io)?;
        }
        Ok(())
    })
}
