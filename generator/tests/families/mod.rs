//! Laws of the families of graphs: exact counts, distributions, costs, and golden digests.

mod costs;
mod counts;
mod golden;
mod networks;
mod parallel;
mod random;

use placebench_datasets::{DataflowGraph, OpId, UndirectedGraph};
use placebench_generator::{Described, GraphParams, described};

/// The graph of a family or preset with parameters.
fn graph(text: &str, seed: u64) -> DataflowGraph {
    match GraphParams::preset(text) {
        Some(Ok(params)) => params.generate(seed).unwrap_or_else(|error| panic!("{text}: {error}")),
        other => panic!("{text}: {other:?}"),
    }
}

/// The undirected graph of a family with parameters.
fn undirected(text: &str, seed: u64) -> UndirectedGraph {
    match described(text) {
        Some(Ok(Described::Undirected(params))) => params.generate(seed).unwrap(),
        other => panic!("{text}: {other:?}"),
    }
}

/// Number of ops and edges.
fn counts(text: &str) -> (usize, usize) {
    let graph = graph(text, 1);
    (graph.op_count(), graph.edge_count())
}

/// The type of an op.
fn class(graph: &DataflowGraph, op: OpId) -> &str {
    graph.op_types().and_then(|types| types.get(op.index())).unwrap_or_default()
}

/// Cost of all ops of these types.
fn ops_of(graph: &DataflowGraph, classes: &[&str]) -> f64 {
    graph.op_ids().filter(|&op| classes.contains(&class(graph, op))).map(|op| graph.ops(op)).sum()
}

/// Whether the statistic of a chi-squared test with these degrees of freedom would be exceeded less than once in 10,000
/// seeds (Wilson and Hilferty's approximation).
fn is_plausible(chi_squared: f64, freedom: f64) -> bool {
    let scale = 2.0 / (9.0 * freedom);
    chi_squared < freedom * (1.0 - scale + 3.719 * scale.sqrt()).powi(3)
}
