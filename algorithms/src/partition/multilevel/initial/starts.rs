//! Cheap partitions to start from, for graphs whose structure coarsening hides.
//!
//! A graph with hubs and a sparse periphery is cut least where the hubs share a block (with the 2^18 vertices of a usual
//! R-MAT, ranges by degree cut a third of what multilevel methods find), but coarsening mixes hubs and periphery into all
//! vertices of the coarse graphs. A graph that is a long strip, as leveled graphs are, is cut least into slices.

use crate::partition::multilevel::problem::Problem;
use crate::partition::multilevel::structure::Structure;
use crate::partition::{LevelSlabs, PartitionError};

/// A partition to refine.
pub(crate) struct Start {
    pub(crate) cut: i64,
    pub(crate) block_of: Vec<u32>,
}

/// A start is refined instead of the initial partition if it cuts less than this times as much.
const NEAR: f64 = 1.15;

/// A start is refined, too, if it cuts less than this times as much as the best of several initial partitions. They are refined
/// already, and it is not: on power laws, a start that cut 1.3 times as much ended 6 % below.
const NEAR_AMONG_SEVERAL: f64 = 1.4;

impl Start {
    /// Whether this promises more than an initial partition of some overload and cut.
    pub(crate) fn is_near(&self, initial: (i64, i64)) -> bool {
        self.is_within(NEAR, initial)
    }

    /// Whether this may become better than what several initial partitions, the best with some overload and cut, become.
    pub(crate) fn is_worth_a_run(&self, best: (i64, i64)) -> bool {
        self.is_within(NEAR_AMONG_SEVERAL, best)
    }

    fn is_within(&self, factor: f64, (overload, cut): (i64, i64)) -> bool {
        overload > 0 || (self.cut as f64) < factor * cut as f64
    }
}

/// Places for borders, at most: some 0.3 s, and 256 MB. With more, which takes thousands of blocks, blocks are filled one
/// after the other instead.
pub(crate) const MOST_PLACES: usize = 1 << 26;

/// The slabs of the natural order.
pub(crate) fn slabs<S: Structure>(problem: &Problem<'_, S>) -> Result<Start, PartitionError> {
    let block_of = problem.restrict(LevelSlabs::split(problem.original, problem.request, MOST_PLACES)?.block_of);
    Ok(Start { cut: problem.graph.cut(&block_of), block_of })
}

/// The start of least cut, of those whose blocks are light enough.
pub(crate) fn best_start<S: Structure>(problem: &Problem<'_, S>) -> Result<Option<Start>, PartitionError> {
    let Problem { graph, max_block_weights, request, .. } = problem;
    let by_degree = by_degree(graph, max_block_weights, request.epsilon);
    let by_degree = by_degree.map(|block_of| Start { cut: graph.cut(&block_of), block_of });
    let fits = |start: &Start| {
        let weights = graph.block_weights(&start.block_of, max_block_weights.len());
        weights.iter().zip(max_block_weights).all(|(weight, most)| weight <= most)
    };
    Ok(std::iter::once(slabs(problem)?).chain(by_degree).filter(fits).min_by_key(|start| start.cut))
}

/// Ranges by descending degree, each as heavy as its block may be without the tolerance; `None` where degrees differ too
/// little for this to make sense.
fn by_degree<S: Structure>(graph: &S, max_block_weights: &[i64], epsilon: f64) -> Option<Vec<u32>> {
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
        while block + 1 < max_block_weights.len()
            && load + weight > (max_block_weights[block] as f64 / (1.0 + epsilon)).ceil() as i64
        {
            (block, load) = (block + 1, 0);
        }
        load += weight;
        block_of[vertex as usize] = block as u32;
    }
    Some(block_of)
}
