//! Flat FM: Fiduccia–Mattheyses on the graph itself, without levels.

use placebench_datasets::UndirectedGraph;

use super::multilevel::initial::{InitialConfig, recursive_bisection};
use super::multilevel::problem::Problem;
use super::multilevel::random::Random;
use super::multilevel::refinement::fm::FmConfig;
use super::multilevel::refinement::partitioned_graph::PartitionedGraph;
use super::multilevel::refinement::{Effort, refine};
use super::multilevel::structure::Structure;
use super::multilevel::{Objective, nets_of};
use super::{NetWeight, Partition, PartitionError, PartitionRequest, Partitioner};
use crate::{Algorithm, Named, Params, SpecError};

/// How [`FiducciaMattheyses`] comes to k blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FmScheme {
    /// From random blocks, moving vertices between all of them.
    Direct,
    /// By bisection, again and again.
    Recursive,
}

impl Named for FmScheme {
    const NAMES: &'static [(&'static str, Self)] = &[("recursive", Self::Recursive), ("direct", Self::Direct)];
}

/// Moves one vertex after the other to where the cut falls most or rises least, each once a pass; then back to the best
/// point of the pass; and again, until a pass gains nothing.
///
/// # Reference
/// C. M. Fiduccia, R. M. Mattheyses: A linear-time heuristic for improving network partitions. DAC 1982, 175–181,
/// doi:10.1145/800263.809204. With k blocks: L. A. Sanchis: Multiple-way network partitioning. IEEE Transactions on
/// Computers 38 (1989), 62–81, doi:10.1109/12.8730.
///
/// # Complexity
/// O(edges · log vertices) a pass; a pass looks at the blocks around a vertex at each change.
///
/// # Ties
/// Equal gains: the vertex whose gain changed last, as in the source. Equal blocks: most room, then the lowest number.
///
/// # Deviations
/// The source cuts nets; here they are an `objective`, each counted once for each further block that it is in, and the default
/// is edges. A heap takes the place of the buckets, since edges are weighted. Only vertices at a boundary can move. Blocks never exceed
/// their capacity, where the source tolerates one vertex. It begins with random blocks, each vertex in the one with most
/// room left; recursive bisections begin with greedy graph growing.
#[derive(Clone, Copy, Debug)]
pub struct FiducciaMattheyses {
    /// Directly into k blocks, or by bisections.
    pub scheme: FmScheme,
    /// Passes at most.
    pub passes: u32,
    /// What is minimised.
    pub objective: Objective,
}

impl Algorithm for FiducciaMattheyses {
    const NAME: &str = "fiduccia_mattheyses";
    const SUMMARY: &str = "moves single vertices, pass by pass, and back to each pass's best point";
    const SOURCE: &str = "Fiduccia, Mattheyses 1982; Sanchis 1989";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let scheme = "recursive: by bisections, or direct: all blocks at once";
        Ok(Self {
            scheme: params.word("scheme", FmScheme::Recursive, scheme)?,
            passes: params.number("passes", 20, 1.., "passes at most")?,
            objective: params.word("objective", Objective::Cut, Objective::HELP)?,
        })
    }
}

impl Partitioner for FiducciaMattheyses {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        if self.objective == Objective::Cut {
            return self.solve(&Problem::new(graph, request, false)?);
        }
        let nets = nets_of(graph, request)?;
        self.solve(&Problem::of_nets(graph, &nets, request, false)?)
    }

    fn counts_nets(&self) -> Option<NetWeight> {
        self.objective.counts_nets()
    }
}

impl FiducciaMattheyses {
    fn solve<S: Structure + Send>(&self, problem: &Problem<'_, S>) -> Result<Partition, PartitionError> {
        let block_of = match self.scheme {
            FmScheme::Direct => self.direct(problem),
            FmScheme::Recursive => self.recursive(problem),
        };
        problem.complete(block_of)
    }

    /// Moves vertices between all blocks, beginning with random ones.
    fn direct<S: Structure>(&self, problem: &Problem<'_, S>) -> Vec<u32> {
        let mut random = Random::new(problem.request.seed, 0);
        let mut order: Vec<u32> = (0..problem.graph.len() as u32).collect();
        random.shuffle(&mut order);
        let block_of = problem.fill(&order);
        let mut partition = PartitionedGraph::new(&problem.graph, &problem.max_block_weights, block_of, |_| true);
        refine(&mut partition, &self.effort(), &mut random, &problem.request.stop);
        partition.block_of
    }

    /// Bisects the graph, then each side, without coarsening.
    fn recursive<S: Structure + Send>(&self, problem: &Problem<'_, S>) -> Vec<u32> {
        let Problem { graph, request, max_block_weights, .. } = problem;
        let config = InitialConfig {
            epsilon: request.epsilon,
            trials: 1,
            max_members: 2,
            by_size: false,
            coarsen_to: usize::MAX,
            effort: &self.effort(),
            seed: request.seed,
        };
        recursive_bisection(graph, max_block_weights, None, &config, &request.stop)
    }

    /// Passes over the whole boundary.
    fn effort(&self) -> Effort {
        let config = FmConfig {
            rounds: self.passes,
            min_improvement: 0.0,
            seeds: usize::MAX,
            patience: u32::MAX,
            worthwhile: 0.0,
        };
        Effort {
            balance_anywhere: true,
            propagation: 0,
            global: Some(config),
            loosened: 0,
            local: None,
            local_share: 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_need_64_bits_change_nothing() {
        // The same ring with chords, whose edges weigh 2^24 times as much.
        let ring = |factor: u64| {
            let near = |v: u32| [1, 2, 9].map(|step| (v, (v + step) % 400, factor * (1 + u64::from(v * step) % 17)));
            UndirectedGraph::from_edges(400, (0..400).flat_map(near), None).expect("edges between vertices")
        };
        let (narrow, wide) = (ring(1), ring(1 << 24));
        assert!(wide.total_edge_weight() > u64::from(u32::MAX));
        for scheme in [FmScheme::Direct, FmScheme::Recursive] {
            for blocks in [2, 5, 8] {
                let fm = FiducciaMattheyses { scheme, passes: 4, objective: Objective::Cut };
                let request = PartitionRequest::new(blocks, 0.05, 3);
                assert_eq!(fm.partition(&narrow, &request), fm.partition(&wide, &request), "{scheme:?} {blocks}");
            }
        }
    }
}
