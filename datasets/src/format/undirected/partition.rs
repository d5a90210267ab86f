//! Partitions as METIS writes them: one block a line, a line for each vertex.

use std::io::Write;
use std::path::Path;

use super::lines::Lines;
use crate::format::FormatError;
use crate::format::atomic::write_file;
use crate::format::entry::{Format, Holds, Mark};

/// The line of the table of formats.
pub(in crate::format) static FORMAT: Format = Format {
    name: "partition",
    mark: Mark::Nothing,
    title: "a block for each vertex, one a line, as METIS writes it",
    lacks: &[],
    options: &[],
    holds: Holds::Partition,
};

/// Reads the block of each of `vertices` vertices. With `blocks`, every number must be below it.
///
/// # Errors
/// With the line of the fault: a line that is no block, or a line too many or too few.
///
/// # Complexity
/// O(bytes) time.
pub fn read_partition(path: impl AsRef<Path>, vertices: usize, blocks: Option<u32>) -> Result<Vec<u32>, FormatError> {
    let path = path.as_ref();
    let mut lines = Lines::open(path)?;
    let limit = u64::from(blocks.unwrap_or(u32::MAX));
    let mut block_of = Vec::with_capacity(vertices);
    while let Some(line) = lines.next()? {
        if block_of.len() == vertices {
            if line.is_blank() {
                continue;
            }
            let fault = line.fault(format!("is a line more than the graph has vertices, {vertices}"));
            return Err(fault.remedy("is the partition one of another graph?"));
        }
        let block = line.whole(line.text, "the block")?;
        if block >= limit {
            let fault = line.fault(format!("the block is {block}"));
            return Err(fault.remedy(format!("blocks are numbered from 0 to {}", limit.saturating_sub(1))));
        }
        block_of.push(block as u32);
    }
    if block_of.len() < vertices {
        let message = format!("ends after {} of {vertices} vertices", block_of.len());
        let fault = FormatError::at_line(path, lines.number().max(1), message);
        return Err(fault.remedy("write one block a line; is the partition one of another graph?"));
    }
    Ok(block_of)
}

/// Writes the block of each vertex, one a line.
///
/// # Errors
/// If the file cannot be written.
pub fn write_partition(path: impl AsRef<Path>, block_of: &[u32]) -> Result<(), FormatError> {
    let path = path.as_ref();
    write_file(path, |out| {
        for block in block_of {
            writeln!(out, "{block}").map_err(|error| FormatError::io(path, error))?;
        }
        Ok(())
    })
}
