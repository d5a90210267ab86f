//! Files of any size.

use placebench_algorithms::Algorithm;
use placebench_algorithms::partition::PartitionRequest;
use placebench_algorithms::partition::registry::edge_partitioner;
use placebench_algorithms::partition::streaming::{Fennel, Ldg};
use placebench_base::processor::thread_time;
use placebench_datasets::stream::{self, EdgeFile, RowFile, VertexStream};

use crate::{Outcome, rmat};

pub(crate) fn write_edges(file: &str, scale: u32, edges: usize) -> Outcome {
    let count = stream::write_edges(file, 1 << scale, rmat::rmat(scale, 1).take(edges))?;
    println!("{count} edges");
    Ok(())
}

pub(crate) fn write_rows(file: &str, edges: &str, mib: usize) -> Outcome {
    let before = thread_time();
    stream::write_rows_from_edges(file, &mut EdgeFile::open(edges)?, mib << 20)?;
    println!("rows in {:.1} s, {}", (thread_time() - before).as_secs_f64(), peak());
    Ok(())
}

pub(crate) fn edges(file: &str, blocks: u32, spec: &str) -> Outcome {
    let partitioner = edge_partitioner(&spec.parse()?)?;
    let mut edges = EdgeFile::open(file)?;
    let before = thread_time();
    let cut = partitioner.partition_edges(&mut edges, &PartitionRequest::new(blocks, 0.03, 1), &mut |_| Ok(()))?;
    let seconds = (thread_time() - before).as_secs_f64();
    let total: u64 = cut.edges_of_block.iter().sum();
    let speed = total as f64 / seconds / 1e6;
    println!(
        "{spec}, k = {blocks}: {total} edges in {seconds:.1} s, {speed:.1} M/s, replication factor {:.3}, imbalance {:.4}, \
         {:.1} MB by its own count, {}",
        cut.replication_factor(),
        cut.edge_imbalance(),
        cut.memory_bytes as f64 / 1e6,
        peak()
    );
    Ok(())
}

pub(crate) fn rows(file: &str, blocks: u32, name: &str) -> Outcome {
    let mut rows = RowFile::open(file)?;
    let request = PartitionRequest::new(blocks, 0.03, 1);
    let before = thread_time();
    let partition = match name {
        "ldg" => Ldg::with_defaults().partition_stream(&mut rows, &request)?,
        "fennel" => Fennel::with_defaults().partition_stream(&mut rows, &request)?,
        _ => return Err("ldg or fennel".into()),
    };
    let seconds = (thread_time() - before).as_secs_f64();
    let (mut cut, edges) = (0u64, rows.total_edge_weight());
    rows.rewind()?;
    while let Some(row) = rows.next_row()? {
        let own = partition.block_of[row.vertex as usize];
        cut += row.neighbours.iter().filter(|&&n| partition.block_of[n as usize] != own).count() as u64;
    }
    let speed = edges as f64 / seconds / 1e6;
    println!("{name}, k = {blocks}: {edges} edges in {seconds:.1} s, {speed:.1} M/s, cut {}, {}", cut / 2, peak());
    Ok(())
}

/// The most memory that this process has had at once, where the system tells.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name| status.lines().find_map(|line: &str| line.strip_prefix(name)).unwrap_or("?").trim().to_owned();
    format!("peak {} resident, {} of address space", line("VmHWM:"), line("VmPeak:"))
}
