//! Cheap partitions to start from, for graphs whose structure coarsening hides.
//!
//! A graph with hubs and a sparse periphery is cut least where the hubs share a block (with the 2^18 vertices of a usual
//! R-MAT, ranges by degree cut a third of what multilevel methods find), but coarsening mixes hubs and periphery into all
//! vertices of the coarse graphs. A graph that is a long strip, as leveled graphs are, is cut least into slices.

use placebench_datasets::UndirectedGraph;

use crate::partition::multilevel::graph::{Graph, Weight};
use crate::partition::{LevelSlabs, PartitionError, Partitioner, Request};

/// A partition to refine.
pub(crate) struct Start {
    pub(crate) cut: i64,
    pub(crate) block_of: Vec<u32>,
}

/// A start is refined if it cuts less than so many times what an initial partition cuts.
const NEAR: f64 = 1.15;

impl Start {
    /// Whether this may become better than an initial partition of some overload and cut.
    pub(crate) fn is_near(&self, (overload, cut): (i64, i64)) -> bool {
        overload > 0 || (self.cut as f64) < NEAR * cut as f64
    }
}

/// The start of least cut, of those within `caps`; if `acyclic` that of the slabs, whether it is or not.
pub(crate) fn best_start<W: Weight>(
    original: &UndirectedGraph,
    graph: &Graph<'_, W>,
    kept: Option<&[u32]>,
    caps: &[i64],
    request: &Request,
    acyclic: bool,
) -> Result<Option<Start>, PartitionError> {
    let slabs = LevelSlabs.partition(original, request)?.block_of;
    let slabs = match kept {
        Some(kept) => kept.iter().map(|&vertex| slabs[vertex as usize]).collect(),
        None => slabs,
    };
    if acyclic {
        return Ok(Some(Start { cut: graph.cut(&slabs), block_of: slabs }));
    }
    let mut starts = vec![slabs];
    starts.extend(by_degree(graph, caps, request.epsilon));
    let fits = |block_of: &Vec<u32>| {
        let mut loads = vec![0; caps.len()];
        for vertex in 0..graph.len() as u32 {
            loads[block_of[vertex as usize] as usize] += graph.weight(vertex);
        }
        loads.iter().zip(caps).all(|(load, cap)| load <= cap)
    };
    let starts = starts.into_iter().filter(fits);
    Ok(starts.map(|block_of| Start { cut: graph.cut(&block_of), block_of }).min_by_key(|start| start.cut))
}

/// Ranges by descending degree, each as heavy as its block may be without the tolerance; `None` where degrees differ too
/// little for this to make sense.
fn by_degree<W: Weight>(graph: &Graph<'_, W>, caps: &[i64], epsilon: f64) -> Option<Vec<u32>> {
    if !graph.has_hubs() {
        return None;
    }
    let mut order: Vec<u32> = (0..graph.len() as u32).collect();
    order.sort_by_key(|&vertex| std::cmp::Reverse(graph.degree(vertex)));
    let mut block_of = vec![0; graph.len()];
    let mut block = 0;
    let mut load = 0;
    for vertex in order {
        let weight = graph.weight(vertex);
        while block + 1 < caps.len() && load + weight > (caps[block] as f64 / (1.0 + epsilon)).ceil() as i64 {
            (block, load) = (block + 1, 0);
        }
        load += weight;
        block_of[vertex as usize] = block as u32;
    }
    Some(block_of)
}
