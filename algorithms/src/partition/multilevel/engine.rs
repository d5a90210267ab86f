//! The parts of the multilevel method that work alone.

use placebench_datasets::UndirectedGraph;

pub(crate) use super::graph::{Scale, Weight};
use super::initial::{InitialConfig, recursive_bisection};
use super::isolated::{Split, set_aside};
use super::random::Random;
use super::refinement::fm::FmConfig;
use super::refinement::partitioned_graph::State;
use super::refinement::{Effort, refine};
use crate::partition::{PartitionError, Request};

/// What every method begins with: the working graph and what blocks may weigh in it.
pub(crate) fn prepare<'a, W: Weight>(
    graph: &'a UndirectedGraph,
    scale: Scale,
    request: &Request,
    directed: bool,
) -> Result<(Split<'a, W>, Vec<i64>), PartitionError> {
    if u32::try_from(graph.all_neighbours().len()).is_err() {
        let what = "the two ends of edges are counted with 32 bits: this graph has too many edges";
        return Err(PartitionError::Unsupported(what.to_owned()));
    }
    let total = graph.total_vertex_weight();
    let caps: Vec<i64> = (0..request.blocks).map(|block| scale.cap(request.capacity(block, total))).collect();
    let even = Request { epsilon: 0.0, ..request.clone() };
    let slack = |block| request.capacity(block, total).saturating_sub(even.capacity(block, total));
    let light = (0..request.blocks).map(slack).min().unwrap_or(0).max(1);
    Ok((set_aside::<W>(graph, scale, light, directed), caps))
}

/// Passes over the whole boundary.
fn passes(count: u32) -> Effort {
    let global =
        FmConfig { rounds: count, min_improvement: 0.0, seeds: usize::MAX, patience: u32::MAX, worthwhile: 0.0 };
    Effort { balance_anywhere: true, propagation: 0, global: Some(global), local: None, local_share: 1.0 }
}

/// FM between all blocks, from random ones.
pub(crate) fn flat<W: Weight>(
    graph: &UndirectedGraph,
    scale: Scale,
    request: &Request,
    count: u32,
) -> Result<Vec<u32>, PartitionError> {
    let (split, caps) = prepare::<W>(graph, scale, request, false)?;
    let mut random = Random::new(request.seed, 0);
    let mut order: Vec<u32> = (0..split.graph.len() as u32).collect();
    random.shuffle(&mut order);
    let block_of = split.fill(&caps, &order);
    let mut state = State::new(&split.graph, &caps, block_of, |_| true);
    refine(&mut state, &passes(count), &mut random, &request.stop);
    Ok(split.complete(graph, scale, &caps, state.block_of))
}

/// FM between two blocks, recursively.
pub(crate) fn flat_bisections<W: Weight>(
    graph: &UndirectedGraph,
    scale: Scale,
    request: &Request,
    count: u32,
) -> Result<Vec<u32>, PartitionError> {
    let (split, caps) = prepare::<W>(graph, scale, request, false)?;
    let effort = passes(count);
    let config = InitialConfig {
        epsilon: request.epsilon,
        trials: 1,
        max_members: 2,
        by_size: false,
        coarsen_to: usize::MAX,
        effort: &effort,
        seed: request.seed,
    };
    let block_of = recursive_bisection(&split.graph, &caps, None, &config, &request.stop);
    Ok(split.complete(graph, scale, &caps, block_of))
}

#[cfg(test)]
mod tests {
    use placebench_datasets::Numbers;

    use super::*;

    /// A band of 400 vertices with weights up to `most`, two of which have no neighbours.
    fn band(most: u64) -> UndirectedGraph {
        let edges = (0..398u32).flat_map(|v| [1, 2, 9].map(|step| (v, (v + step) % 398, 1 + u64::from(v * step) % 17)));
        let heavy = std::iter::once((5, 6, most));
        let weights = (0..400).map(|v| if v == 5 { most } else { 1 + v % 3 }).collect();
        UndirectedGraph::from_edges(400, edges.chain(heavy), Some(weights)).unwrap()
    }

    /// Whether a list is the original itself.
    fn is_same<W: Weight>(list: &[W], original: Option<Numbers<'_>>) -> bool {
        original.and_then(W::borrow).is_some_and(|original| std::ptr::eq(original, list))
    }

    #[test]
    fn what_lies_in_memory_as_needed_is_not_copied() {
        let request = Request::new(4, 0.03, 1);
        let (narrow, wide) = (band(20), band(1 << 32));
        let (split, _) = prepare::<u32>(&narrow, Scale::of(&narrow), &request, false).unwrap();
        assert!(Scale::of(&narrow).is_narrow() && is_same(&split.graph.offsets, Some(narrow.offsets())));
        assert!(is_same(&split.graph.edge_weights, narrow.edge_weights()));
        // Two vertices are set aside and weigh nothing here.
        assert!(!is_same(&split.graph.vertex_weights, narrow.vertex_weights()));
        assert_eq!((split.graph.weight(399), narrow.vertex_weight(399)), (0, 1));
        let (split, _) = prepare::<u64>(&wide, Scale::of(&wide), &request, false).unwrap();
        assert!(!Scale::of(&wide).is_narrow() && is_same(&split.graph.edge_weights, wide.edge_weights()));
        let (split, _) = prepare::<u64>(&narrow, Scale::of(&narrow), &request, false).unwrap();
        assert!(!is_same(&split.graph.edge_weights, narrow.edge_weights()));
    }

    #[test]
    fn weights_beyond_61_bits_are_scaled_in_a_copy() {
        let graph = band(u64::MAX / 4);
        let scale = Scale::of(&graph);
        let (split, _) = prepare::<u64>(&graph, scale, &Request::new(2, 0.03, 1), false).unwrap();
        assert!(!is_same(&split.graph.edge_weights, graph.edge_weights()));
        let expected: i64 = graph.edges_of(5).map(|(_, weight)| scale.edge(weight)).sum();
        assert_eq!(split.graph.edges(5).map(|(_, weight)| weight.wide()).sum::<i64>(), expected);
        assert!(scale.edge(u64::MAX / 4) < i64::MAX / 4);
    }

    #[test]
    fn the_width_of_weights_makes_no_difference() {
        let graph = band(20);
        let scale = Scale::of(&graph);
        for blocks in [2, 5, 8] {
            let request = Request::new(blocks, 0.05, 3);
            assert_eq!(flat::<u32>(&graph, scale, &request, 4), flat::<u64>(&graph, scale, &request, 4));
            // Bisections partition sub-graphs.
            assert_eq!(
                flat_bisections::<u32>(&graph, scale, &request, 4),
                flat_bisections::<u64>(&graph, scale, &request, 4)
            );
        }
    }
}
