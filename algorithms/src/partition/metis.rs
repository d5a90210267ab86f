//! METIS, as it is: the outside reference.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use metis::option::{Seed, UFactor};
use placebench_datasets::UndirectedGraph;

use super::{Partition, PartitionError, Partitioner, Request};

/// Which of METIS's two ways to k blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetisScheme {
    /// Multilevel k-way partitioning.
    Kway,
    /// Multilevel recursive bisection.
    Recursive,
}

impl std::str::FromStr for MetisScheme {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "kway" => Ok(Self::Kway),
            "recursive" => Ok(Self::Recursive),
            _ => Err(()),
        }
    }
}

/// METIS 5.2.1 through the crate `metis`, built from the source that comes with it.
///
/// # Reference
/// G. Karypis, V. Kumar: Multilevel k-way partitioning scheme for irregular graphs. Journal of Parallel and Distributed
/// Computing 48 (1998), 96–129, doi:10.1006/jpdc.1997.1404. Recursive: A fast and high quality multilevel scheme for
/// partitioning irregular graphs. SIAM Journal on Scientific Computing 20 (1998), 359–392,
/// doi:10.1137/S1064827595287997.
///
/// # Complexity
/// O(vertices + edges + k · log k), says the first paper.
///
/// # Ties
/// METIS's own. It draws from the C library's generator, which the whole process shares: calls wait for each other, so that
/// each is repeatable.
///
/// # Deviations
/// METIS may exceed the tolerated imbalance. It gets the imbalance in thousandths, at least 1, and weights that fit into 31
/// bits: larger ones are divided by a power of two and rounded up. Edges of weight 0, which METIS forbids, are left out. With no
/// more vertices than blocks METIS is not asked: each vertex gets a block of its own, the heaviest that of the largest share.
#[derive(Clone, Copy, Debug)]
pub struct Metis {
    /// Directly into k blocks, or by recursive bisection.
    pub scheme: MetisScheme,
}

/// METIS uses the generator of the C library, and that is one for the process.
static METIS: Mutex<()> = Mutex::new(());

/// Weights whose sum METIS can hold, halved as often as needed.
fn narrow(weights: impl Iterator<Item = u64> + Clone) -> Vec<i32> {
    let mut shift = 0;
    // The rounding up adds less than one to each.
    while weights.clone().map(|weight| u128::from(weight.div_ceil(1 << shift))).sum::<u128>() > 1 << 30 && shift < 63 {
        shift += 1;
    }
    weights.map(|weight| weight.div_ceil(1 << shift) as i32).collect()
}

/// A block for each vertex, the heaviest vertex in the block of the largest share.
fn one_each(graph: &UndirectedGraph, request: &Request) -> Vec<u32> {
    let mut vertices: Vec<u32> = graph.vertices().collect();
    vertices.sort_by_key(|&vertex| Reverse(graph.vertex_weight(vertex)));
    let mut blocks: Vec<u32> = (0..request.blocks).collect();
    if let Some(shares) = &request.shares {
        blocks.sort_by(|&a, &b| shares[b as usize].total_cmp(&shares[a as usize]));
    }
    let mut block_of = vec![0; vertices.len()];
    for (vertex, block) in vertices.into_iter().zip(blocks) {
        block_of[vertex as usize] = block;
    }
    block_of
}

impl Partitioner for Metis {
    fn partition(&self, graph: &UndirectedGraph, request: &Request) -> Result<Partition, PartitionError> {
        request.check()?;
        let unsupported = |what: &str| PartitionError::Unsupported(format!("METIS {what}"));
        let vertices = graph.vertex_count();
        let blocks = request.blocks;
        if blocks == 1 || vertices == 0 {
            return Ok(Partition { blocks, block_of: vec![0; vertices] });
        }
        if blocks as usize >= vertices {
            return Ok(Partition { blocks, block_of: one_each(graph, request) });
        }
        if graph.total_vertex_weight() == 0 {
            return Err(unsupported("needs a vertex that weighs something"));
        }
        if graph.all_neighbours().len() > i32::MAX as usize {
            return Err(unsupported("counts edges with 31 bits: this graph has too many"));
        }
        let mut rows = vec![0i32];
        let (mut neighbours, mut weights) = (Vec::with_capacity(graph.all_neighbours().len()), Vec::new());
        for vertex in graph.vertices() {
            for (neighbour, weight) in graph.edges_of(vertex).filter(|&(_, weight)| weight > 0) {
                neighbours.push(neighbour as i32);
                if graph.edge_weights().is_some() {
                    weights.push(weight);
                }
            }
            rows.push(neighbours.len() as i32);
        }
        let edge_weights = narrow(weights.iter().copied());
        drop(weights);
        let vertex_weights = graph.vertex_weights().map(|weights| narrow(weights.iter().copied()));
        let shares: Option<Vec<f32>> =
            request.shares.as_ref().map(|shares| shares.iter().map(|&share| share as f32).collect());
        let mut block_of = vec![0i32; vertices];
        let guard = METIS.lock().unwrap_or_else(PoisonError::into_inner);
        let refuse = |error: &dyn std::fmt::Display| unsupported(&format!("refused the graph: {error}"));
        let mut call = metis::Graph::new(1, blocks as i32, &rows, &neighbours)
            .map_err(|error| refuse(&error))?
            .set_option(Seed((request.seed & 0x7FFF_FFFF) as i32))
            .set_option(UFactor((request.epsilon * 1000.0).round().clamp(1.0, 1e6) as i32));
        if !edge_weights.is_empty() {
            call = call.set_adjwgt(&edge_weights);
        }
        if let Some(weights) = &vertex_weights {
            call = call.set_vwgt(weights);
        }
        if let Some(shares) = &shares {
            call = call.set_tpwgts(shares);
        }
        let outcome = match self.scheme {
            MetisScheme::Kway => call.part_kway(&mut block_of),
            MetisScheme::Recursive => call.part_recursive(&mut block_of),
        };
        drop(guard);
        outcome.map_err(|error| refuse(&error))?;
        Ok(Partition { blocks, block_of: block_of.into_iter().map(|block| block as u32).collect() })
    }
}
