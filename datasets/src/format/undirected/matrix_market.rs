//! Graphs as sparse matrices in the Matrix Market exchange format (Boisvert et al. 1996, NISTIR 5935).

use std::io::Write;
use std::path::Path;

use super::edges::{Edges, refuse_vertex_weights};
use super::lines::{Line, Lines, RENUMBER, check_vertex_count};
use crate::UndirectedGraph;
use crate::format::atomic::write_file;
use crate::format::entry::{Format, Holds, Mark};
use crate::format::text::counted;
use crate::format::{Detail, FormatError};

/// The line of the table of formats.
pub(in crate::format) static FORMAT: Format = Format {
    name: "mtx",
    mark: Mark::Extensions(&["mtx"]),
    title: "Matrix Market, a line for each entry of a sparse matrix",
    lacks: &[Detail::VertexWeights],
    options: &[],
    holds: Holds::Undirected {
        read: |path, unit_edges| read_matrix_market(path, unit_edges),
        write: |path, graph| write_matrix_market(path, graph),
        fit: UndirectedGraph::without_vertex_weights,
    },
};

/// What the first line says.
struct Banner {
    has_values: bool,
    is_integer: bool,
    is_symmetric: bool,
}

impl Banner {
    fn parse(line: &Line<'_>) -> Result<Self, FormatError> {
        let text = String::from_utf8_lossy(line.text).to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        let &["%%matrixmarket", object, form, field, symmetry] = words.as_slice() else {
            let fault = line.fault("is no Matrix Market banner");
            return Err(fault.remedy("write '%%MatrixMarket matrix coordinate pattern symmetric'"));
        };
        for (what, word, known) in [
            ("object", object, &["matrix"][..]),
            ("form", form, &["coordinate"]),
            ("field", field, &["pattern", "integer", "real"]),
            ("symmetry", symmetry, &["symmetric", "general"]),
        ] {
            if !known.contains(&word) {
                let fault = line.fault(format!("the {what} '{word}' is no graph"));
                return Err(fault.remedy(format!("use {}", known.join(" or "))));
            }
        }
        Ok(Self {
            has_values: field != "pattern",
            is_integer: field == "integer",
            is_symmetric: symmetry == "symmetric",
        })
    }

    /// The size of an entry's value, which has to be whole to be a weight.
    fn weight(&self, line: &Line<'_>, word: &[u8]) -> Result<u64, FormatError> {
        const EXACT: f64 = (1u64 << 53) as f64;
        let text = String::from_utf8_lossy(word);
        let fault = |what: &str| {
            let fault = line.fault(format!("the value is {text}, which is no {what}"));
            fault.remedy("scale the values, declare the matrix as pattern, or ask for edges that weigh 1")
        };
        if self.is_integer {
            return text.parse::<i64>().map(i64::unsigned_abs).map_err(|_| fault("integer"));
        }
        let value: f64 = text.parse().map_err(|_| fault("number"))?;
        match value.fract() == 0.0 && value.abs() < EXACT {
            true => Ok(value.abs() as u64),
            false => Err(fault("whole number")),
        }
    }
}

/// Reads the graph of a sparse matrix, `matrix coordinate`, `pattern`, `integer` or `real`, `symmetric` or `general`.
///
/// A vertex is a row and the column of the same number. The diagonal is dropped. The weight of an edge is the sum of
/// the absolute values of its two entries, which must be whole numbers; a sum of 0 is no edge. In a pattern, or with
/// `ignore_values`, every edge weighs 1, whether one or both directions are there. A symmetric matrix has entries in
/// its lower triangle only, as the format demands.
///
/// # Errors
/// With the line of the fault.
///
/// # Complexity
/// O(bytes + entries · log degree) time; 8 bytes an entry beside the graph, 12 with values.
pub fn read_matrix_market(path: impl AsRef<Path>, ignore_values: bool) -> Result<UndirectedGraph, FormatError> {
    let path = path.as_ref();
    let mut lines = Lines::open(path)?;
    let banner = match lines.next()? {
        Some(line) => Banner::parse(&line)?,
        None => return Err(FormatError::file(path, "is empty").remedy("start with '%%MatrixMarket matrix coordinate'")),
    };
    let Some(line) = lines.next_content(b"%")? else {
        return Err(
            FormatError::at_line(path, lines.number(), "ends before the sizes").remedy("write 'rows columns entries'")
        );
    };
    let sizes: Vec<&[u8]> = line.words().collect();
    let &[rows, columns, entries] = sizes.as_slice() else {
        let fault = line.fault(format!("the sizes are {}", counted(sizes.len() as u64, "number")));
        return Err(fault.remedy("write 'rows columns entries'"));
    };
    let (rows, columns) = (line.whole(rows, "the number of rows")?, line.whole(columns, "the number of columns")?);
    let entries = line.whole(entries, "the number of entries")?;
    if rows != columns {
        let fault = line.fault(format!("the matrix has {rows} rows and {columns} columns"));
        return Err(fault.remedy("only a square matrix is a graph"));
    }
    let vertices = check_vertex_count(rows, entries, "edge").map_err(|message| line.fault(message).remedy(RENUMBER))?;
    let has_weights = banner.has_values && !ignore_values;
    let mut edges = Edges::default();
    for entry in 0..entries {
        let Some(line) = lines.next_content(b"%")? else {
            let message = format!("ends after {entry} of {entries} entries");
            return Err(
                FormatError::at_line(path, lines.number(), message).remedy("add the others, or correct the sizes")
            );
        };
        let words: Vec<&[u8]> = line.words().collect();
        let expected = if banner.has_values { 3 } else { 2 };
        if words.len() != expected {
            let fault = line.fault(format!("the entry has {}", counted(words.len() as u64, "number")));
            let form = if banner.has_values { "row column value" } else { "row column" };
            return Err(fault.remedy(format!("write '{form}'")));
        }
        let (row, column) = (line.whole(words[0], "the row")?, line.whole(words[1], "the column")?);
        for (what, number) in [("row", row), ("column", column)] {
            if number == 0 || number > rows {
                let fault = line.fault(format!("the entry is in {what} {number}"));
                return Err(fault.remedy(format!("{what}s are numbered from 1 to {rows}")));
            }
        }
        if banner.is_symmetric && row < column {
            let fault = line.fault(format!("the entry in row {row}, column {column} is above the diagonal"));
            return Err(fault.remedy("a symmetric matrix has its lower triangle only; declare others as general"));
        }
        let weight = if has_weights { banner.weight(&line, words[2])? } else { 1 };
        if weight > 0 && row != column {
            let ends = (row as u32 - 1, column as u32 - 1);
            if has_weights { edges.push_weighted(ends, weight) } else { edges.push(ends) }
        }
    }
    if let Some(line) = lines.next_content(b"%")? {
        return Err(line.fault("is an entry too many").remedy("correct the sizes, or remove it"));
    }
    edges.into_graph(path, vertices)
}

/// Writes a graph as a symmetric matrix: a pattern, or integer if edges have weights. The format has no weights of
/// vertices.
///
/// # Errors
/// If vertices have weights; if the file cannot be written.
pub fn write_matrix_market(path: impl AsRef<Path>, graph: &UndirectedGraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    refuse_vertex_weights(path, graph, "Matrix Market files")?;
    let io = |error| FormatError::io(path, error);
    write_file(path, |out| {
        let field = if graph.edge_weights().is_some() { "integer" } else { "pattern" };
        let vertices = graph.vertex_count();
        writeln!(out, "%%MatrixMarket matrix coordinate {field} symmetric").map_err(io)?;
        writeln!(out, "{vertices} {vertices} {}", graph.edge_count()).map_err(io)?;
        for (a, b, weight) in graph.edges() {
            let (row, column) = (u64::from(b) + 1, u64::from(a) + 1);
            match graph.edge_weights() {
                None => writeln!(out, "{row} {column}").map_err(io)?,
                Some(_) => writeln!(out, "{row} {column} {weight}").map_err(io)?,
            }
        }
        Ok(())
    })
}
