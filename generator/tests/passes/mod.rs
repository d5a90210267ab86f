//! Passes: laws of all in the table, golden examples, and what they make of the catalogue's graphs.

mod catalogue;
mod cse;
mod families;
mod golden;
mod integers;
mod laws;
mod placed;

use placebench_datasets::{DataflowGraph, OpId};
use placebench_generator::{Chained, PassError, Passes};

/// What passes make of a graph.
fn passed(graph: &DataflowGraph, passes: &[&str]) -> Result<Chained, PassError> {
    Passes::new(passes).unwrap().apply(graph.clone())
}

/// Whether no op of a micro-batch comes after an op of another: sums alone take what several make.
fn waits_for_no_other(graph: &DataflowGraph) -> Result<(), String> {
    let own = |op: OpId| graph.name(op)?.rsplit_once("/micro_").and_then(|(_, part)| part.parse::<u64>().ok());
    // By op, the micro-batches before it, as bits.
    let mut before = vec![0u64; graph.op_count()];
    for op in graph.topological_order() {
        let all = graph.predecessor_ops(op).iter().fold(0, |all, source| all | before[source.index()]);
        before[op.index()] = all | own(op).map_or(0, |part| 1 << part);
        if own(op).is_some_and(|part| all & !(1 << part) != 0) {
            return Err(format!("{} waits for another micro-batch", graph.label(op)));
        }
    }
    Ok(())
}
