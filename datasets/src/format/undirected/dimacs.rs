//! DIMACS graphs: `p edge` of the second challenge (colouring, cliques) and `p sp` of the ninth (shortest paths).

use std::io::Write;
use std::path::Path;

use super::edges::refuse_vertex_weights;
use super::lines::{Line, Lines, RENUMBER, check_vertex_count};
use crate::UndirectedGraph;
use crate::format::atomic::write_file;
use crate::format::entry::{Format, Holds, Mark};
use crate::format::text::counted;
use crate::format::{Detail, FormatError};

/// The line of the table of formats.
pub(in crate::format) static FORMAT: Format = Format {
    name: "dimacs",
    mark: Mark::Extensions(&["dimacs", "col", "gr"]),
    title: "DIMACS, 'p edge' or with weights 'p sp'",
    lacks: &[Detail::VertexWeights],
    options: &[],
    holds: Holds::Undirected {
        read: |path, unit_edges| read_dimacs(path, unit_edges),
        write: |path, graph| write_dimacs(path, graph),
        fit: UndirectedGraph::without_vertex_weights,
    },
};

/// What the problem line says.
struct Problem {
    vertices: usize,
    entries: u64,
    /// Whether the lines are arcs with weights.
    arcs: bool,
}

/// An edge with the sums of what its arcs in both directions weigh, 0 for none, and the line of the last.
struct Pair {
    ends: (u32, u32),
    weights: [u64; 2],
    line: u64,
}

/// Reads a DIMACS graph: after comments (`c …`) a line `p edge VERTICES EDGES` and lines `e A B`, or `p sp VERTICES ARCS` and
/// lines `a FROM TO WEIGHT`. Vertices count from 1; `p col` is `p edge`.
///
/// An edge counts once however often `e` gives it, since many files give both directions. An arc and its opposite are one edge,
/// and must weigh the same; equal arcs add up. Self-loops are dropped. With `ignore_weights`, edges weigh 1.
///
/// # Errors
/// With the line of the fault.
///
/// # Complexity
/// O(bytes + edges · log edges) time; 40 bytes an arc beside the graph.
pub fn read_dimacs(path: impl AsRef<Path>, ignore_weights: bool) -> Result<UndirectedGraph, FormatError> {
    let path = path.as_ref();
    let mut lines = Lines::open(path)?;
    let mut problem: Option<Problem> = None;
    let mut pairs: Vec<Pair> = Vec::new();
    let mut entries = 0u64;
    while let Some(line) = lines.next()? {
        let mut words = line.words();
        match (words.next(), &problem) {
            (None | Some(b"c"), _) => {}
            (Some(b"p"), None) => problem = Some(parse_problem(&line)?),
            (Some(b"p"), Some(_)) => return Err(line.fault("is a second problem line").remedy("drop one of both")),
            (Some(b"e" | b"a"), Some(known)) => {
                entries += 1;
                pairs.extend(parse_entry(&line, known)?);
            }
            (Some(b"e" | b"a"), None) => {
                return Err(line.fault("comes before the problem line").remedy("begin with 'p edge' or 'p sp'"));
            }
            (Some(other), _) => {
                let fault = line.fault(format!("begins with '{}'", String::from_utf8_lossy(other)));
                return Err(fault.remedy("lines begin with c, p, e or a; weights of vertices (n) are not read"));
            }
        }
    }
    let Some(Problem { vertices, entries: promised, arcs }) = problem else {
        return Err(FormatError::file(path, "has no problem line").remedy("begin with 'p edge VERTICES EDGES'"));
    };
    if entries != promised {
        let message = format!("has {}, but the problem line promises {promised}", counted(entries, "edge"));
        return Err(FormatError::at_line(path, lines.number(), message).remedy("correct the problem line"));
    }
    pairs.sort_by_key(|pair| pair.ends);
    let weight = |run: &[Pair]| {
        let sum = |direction: usize| run.iter().map(|pair| pair.weights[direction]).fold(0u64, u64::saturating_add);
        match [sum(0), sum(1)] {
            [there, back] if there == back || there == 0 || back == 0 => Ok(there.max(back)),
            [there, back] => {
                let ((a, b), line) = (run[0].ends, run.iter().map(|pair| pair.line).max().unwrap_or(1));
                let message = format!("arcs from {} to {} weigh {there}, those back {back}", a + 1, b + 1);
                let remedy = "an undirected edge has one weight: give both directions the same, or ignore weights";
                Err(FormatError::at_line(path, line, message).remedy(remedy))
            }
        }
    };
    let mut edges: Vec<(u32, u32, u64)> = Vec::new();
    for run in pairs.chunk_by(|a, b| a.ends == b.ends) {
        let (a, b) = run[0].ends;
        edges.push((a, b, if arcs && !ignore_weights { weight(run)? } else { 1 }));
    }
    UndirectedGraph::from_edges(vertices, edges.into_iter(), None).map_err(|error| FormatError::file(path, error))
}

fn parse_problem(line: &Line<'_>) -> Result<Problem, FormatError> {
    let words: Vec<&[u8]> = line.words().collect();
    let arcs = match words.get(1).copied() {
        Some(b"edge" | b"col") => false,
        Some(b"sp") => true,
        _ => return Err(line.fault("names no problem that is read").remedy("write 'p edge' or 'p sp'")),
    };
    let &[_, _, vertices, entries] = words.as_slice() else {
        let fault = line.fault(format!("has {}", counted(words.len() as u64, "word")));
        return Err(fault.remedy("write 'p edge VERTICES EDGES' or 'p sp VERTICES ARCS'"));
    };
    let entries = line.whole(entries, "the number of edges")?;
    let vertices = line.whole(vertices, "the number of vertices")?;
    let vertices =
        check_vertex_count(vertices, entries, "edge").map_err(|message| line.fault(message).remedy(RENUMBER))?;
    Ok(Problem { vertices, entries, arcs })
}

/// An edge or arc; none for a self-loop.
fn parse_entry(line: &Line<'_>, problem: &Problem) -> Result<Option<Pair>, FormatError> {
    let words: Vec<&[u8]> = line.words().collect();
    let (kind, form): (&[u8], _) = if problem.arcs { (b"a", "a FROM TO WEIGHT") } else { (b"e", "e A B") };
    if words[0] != kind || words.len() != form.split(' ').count() {
        let fault = line.fault(format!("is '{}'", String::from_utf8_lossy(line.text)));
        return Err(fault.remedy(format!("after this problem line, write '{form}'")));
    }
    let vertex = |word| {
        let id = line.whole(word, "a vertex")?;
        if id == 0 || id > problem.vertices as u64 {
            let fault = line.fault(format!("there is no vertex {id}"));
            return Err(fault.remedy(format!("vertices are numbered from 1 to {}", problem.vertices)));
        }
        Ok((id - 1) as u32)
    };
    let (from, to) = (vertex(words[1])?, vertex(words[2])?);
    let weight = words.get(3).map_or(Ok(1), |word| line.whole(word, "the weight"))?;
    let weights = if from < to { [weight, 0] } else { [0, weight] };
    Ok((from != to).then(|| Pair { ends: (from.min(to), from.max(to)), weights, line: line.number }))
}

/// Writes a DIMACS graph: `p edge` if all edges weigh 1, else `p sp` with an arc in each direction. The format has no weights of
/// vertices.
///
/// # Errors
/// If vertices have weights; if the file cannot be written.
pub fn write_dimacs(path: impl AsRef<Path>, graph: &UndirectedGraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    refuse_vertex_weights(path, graph, "DIMACS graphs")?;
    let io = |error| FormatError::io(path, error);
    write_file(path, |out| {
        let (vertices, edges) = (graph.vertex_count(), graph.edge_count());
        match graph.edge_weights() {
            None => writeln!(out, "p edge {vertices} {edges}").map_err(io)?,
            Some(_) => writeln!(out, "p sp {vertices} {}", 2 * edges).map_err(io)?,
        }
        for (a, b, weight) in graph.edges() {
            let (a, b) = (a + 1, b + 1);
            match graph.edge_weights() {
                None => writeln!(out, "e {a} {b}").map_err(io)?,
                Some(_) => writeln!(out, "a {a} {b} {weight}\na {b} {a} {weight}").map_err(io)?,
            }
        }
        Ok(())
    })
}
