//! Passes: laws of all in the table, golden examples, and what they make of the catalogue's graphs.

mod catalogue;
mod families;
mod golden;
mod integers;
mod laws;

use placebench_datasets::DataflowGraph;
use placebench_generator::{Chained, PassError, Passes};

/// What passes make of a graph.
fn passed(graph: &DataflowGraph, passes: &[&str]) -> Result<Chained, PassError> {
    Passes::new(passes).unwrap().apply(graph.clone())
}
