//! How fast the native folder is written and read: `cargo run --release -p placebench-datasets --example native_speed -- 10`
//! for 10 M edges over 2 M ops; each op reads five ops drawn from all before it.

use std::time::Instant;

use placebench_datasets::format::{FormatError, GraphHeader, read_native, write_native};
use placebench_datasets::{BackwardParts, Colocation, DataflowGraph, GraphError, KindSet, OpId};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let millions: u32 = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    let graph = random_graph(millions * 200_000, 5)?;
    let folder = std::env::temp_dir().join(format!("placebench-native-speed-{}", std::process::id()));
    let result = measure(&folder, &graph);
    std::fs::remove_dir_all(&folder)?;
    Ok(result?)
}

fn measure(folder: &std::path::Path, graph: &DataflowGraph) -> Result<(), FormatError> {
    println!("{} ops, {} edges, {} MB in memory", graph.op_count(), graph.edge_count(), graph.heap_bytes() / 1_000_000);
    for round in 1..=3 {
        let start = Instant::now();
        write_native(folder, &GraphHeader::named("speed"), graph)?;
        let written = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let (_, read) = read_native(folder)?;
        let seconds = start.elapsed().as_secs_f64();
        println!("round {round}: written in {written:.2} s, read in {seconds:.2} s, equal: {}", read == *graph);
    }
    for file in ["ops.parquet", "tensors.parquet", "edges.parquet"] {
        let path = folder.join(file);
        let bytes = std::fs::metadata(&path).map_err(|error| FormatError::io(&path, error))?.len();
        println!("{file}: {:.1} MB", bytes as f64 / 1e6);
    }
    Ok(())
}

/// Costs and sizes as L draws them, from 1 to 100.
fn random_graph(ops: u32, degree: u32) -> Result<DataflowGraph, GraphError> {
    let mut state = 1u64;
    let mut below = |bound: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state >> 32) * u64::from(bound)) >> 32) as u32
    };
    let mut parts =
        BackwardParts { in_offsets: vec![0], colocation: Colocation::default(), ..BackwardParts::default() };
    for op in 0..ops {
        parts.ops.push(f64::from(below(100) + 1));
        parts.memory_bytes.push(u64::from(below(100) + 1));
        parts.tensor_bytes.push(u64::from(below(100) + 1));
        parts.kinds.push(KindSet::ALL);
        let first = parts.in_sources.len();
        for _ in 0..degree.min(op) {
            parts.in_sources.push(OpId(below(op)));
        }
        parts.in_sources[first..].sort_unstable();
        parts.in_offsets.push(parts.in_sources.len() as u32);
    }
    DataflowGraph::from_backward(parts)
}
