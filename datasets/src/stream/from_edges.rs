//! From a stream of edges to a file of rows, in bounded memory.

use std::path::Path;

use placebench_base::process::check_memory;

use super::row_file::RowWriter;
use super::{EdgeStream, VertexRow};
use crate::format::FormatError;

/// Writes the rows of a graph that comes as edges, in the order of the vertices' ids, with no more than `memory_bytes`
/// for rows at once. Self-loops are left out; each parallel edge has an entry of its own. Within a row, neighbours
/// ascend.
///
/// # Errors
/// If the stream or the file fails.
///
/// # Complexity
/// O(edges) time for each pass over the stream: one to count degrees, then one for every `memory_bytes` of rows at 16
/// bytes a row and 4 an entry, plus O(degree · log degree) a vertex. 4 bytes a vertex and at most the larger of
/// `memory_bytes` and the largest row of memory.
pub fn write_rows_from_edges(
    path: impl AsRef<Path>,
    edges: &mut (impl EdgeStream + ?Sized),
    memory_bytes: usize,
) -> Result<(), FormatError> {
    let path = path.as_ref();
    let degrees = degrees(path, edges)?;
    let mut writer = RowWriter::new(path, degrees.len() as u64, 0);
    writer.write(|writer, out| {
        let mut first = 0;
        while first < degrees.len() {
            let last = last_that_fits(&degrees, first, memory_bytes);
            let rows = rows_between(path, edges, &degrees[first..last], first as u32)?;
            let mut rest = rows.as_slice();
            for (vertex, &degree) in (first as u32..).zip(&degrees[first..last]) {
                let (neighbours, others) = rest.split_at(degree as usize);
                rest = others;
                writer.row(out, VertexRow { vertex, weight: 1, neighbours, edge_weights: None })?;
            }
            first = last;
        }
        Ok(())
    })
}

fn degrees(path: &Path, edges: &mut (impl EdgeStream + ?Sized)) -> Result<Vec<u32>, FormatError> {
    let vertices = edges.vertex_count();
    check_memory(&[(vertices as u64, 4)], || format!("counting the degrees of {vertices} vertices"))
        .map_err(|error| FormatError::file(path, error))?;
    let mut degrees = vec![0u32; vertices];
    edges.rewind()?;
    while let Some(batch) = edges.next_edges()? {
        for &(a, b) in batch.iter().filter(|(a, b)| a != b) {
            for vertex in [a, b] {
                let degree = &mut degrees[vertex as usize];
                *degree = degree.checked_add(1).ok_or_else(|| {
                    FormatError::file(path, format!("vertex {vertex} has more edges than 32 bits count"))
                })?;
            }
        }
    }
    Ok(degrees)
}

/// The end of the longest run of vertices from `first` on whose rows fit, but at least one vertex.
fn last_that_fits(degrees: &[u32], first: usize, memory_bytes: usize) -> usize {
    let mut sum = 0;
    // Where a row begins, where its next entry goes, and its entries.
    let fits = |&&degree: &&u32| {
        sum += 16 + 4 * degree as usize;
        sum <= memory_bytes
    };
    first + degrees[first..].iter().take_while(fits).count().max(1)
}

/// The rows of consecutive vertices, one after the other.
fn rows_between(
    path: &Path,
    edges: &mut (impl EdgeStream + ?Sized),
    degrees: &[u32],
    first: u32,
) -> Result<Vec<u32>, FormatError> {
    let mut starts = Vec::with_capacity(degrees.len() + 1);
    starts.push(0usize);
    starts.extend(degrees.iter().scan(0, |sum, &degree| {
        *sum += degree as usize;
        Some(*sum)
    }));
    let mut rows = vec![0u32; starts[degrees.len()]];
    let mut cursor = starts.clone();
    edges.rewind()?;
    while let Some(batch) = edges.next_edges()? {
        for &(a, b) in batch.iter().filter(|(a, b)| a != b) {
            for (vertex, neighbour) in [(a, b), (b, a)] {
                let Some(row) = vertex.checked_sub(first).filter(|&row| (row as usize) < degrees.len()) else {
                    continue;
                };
                let at = &mut cursor[row as usize];
                if *at == starts[row as usize + 1] {
                    return Err(FormatError::file(path, "the edges changed between two passes over them"));
                }
                rows[*at] = neighbour;
                *at += 1;
            }
        }
    }
    for range in starts.windows(2) {
        rows[range[0]..range[1]].sort_unstable();
    }
    Ok(rows)
}
