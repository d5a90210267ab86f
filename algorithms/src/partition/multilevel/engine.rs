//! The parts of the multilevel method that work alone.

use placebench_datasets::UndirectedGraph;

use super::fm::FmConfig;
use super::graph::Scale;
pub(crate) use super::graph::Weight;
use super::initial::{InitialConfig, recursive_bisection};
use super::isolated::{Split, set_aside};
use super::random::Random;
use super::refine::{Effort, refine};
use super::state::State;
use crate::partition::{PartitionError, Request};

/// Whether 32 bits hold all totals of weights.
pub(crate) fn is_narrow(graph: &UndirectedGraph) -> bool {
    Scale::of(graph).is_narrow()
}

/// What every method begins with: the working graph and what blocks may weigh in it.
pub(crate) fn prepare<'a, W: Weight>(
    graph: &'a UndirectedGraph,
    request: &Request,
    directed: bool,
) -> Result<(Split<'a, W>, Scale, Vec<i64>), PartitionError> {
    if u32::try_from(graph.all_neighbours().len()).is_err() {
        let what = "the two ends of edges are counted with 32 bits: this graph has too many edges";
        return Err(PartitionError::Unsupported(what.to_owned()));
    }
    let scale = Scale::of(graph);
    let total = graph.total_vertex_weight();
    let caps: Vec<i64> = (0..request.blocks).map(|block| scale.cap(request.capacity(block, total))).collect();
    let even = Request { epsilon: 0.0, ..request.clone() };
    let slack = |block| request.capacity(block, total).saturating_sub(even.capacity(block, total));
    let light = (0..request.blocks).map(slack).min().unwrap_or(0).max(1);
    Ok((set_aside::<W>(graph, scale, light, directed), scale, caps))
}

/// Passes over the whole boundary.
fn passes(count: u32) -> Effort {
    let global = FmConfig { rounds: count, min_improvement: 0.0, seeds: usize::MAX, patience: u32::MAX };
    Effort { balance_anywhere: true, propagation: 0, global: Some(global), local: None, local_share: 1.0 }
}

/// FM between all blocks, from random ones.
pub(crate) fn flat<W: Weight>(
    graph: &UndirectedGraph,
    request: &Request,
    count: u32,
) -> Result<Vec<u32>, PartitionError> {
    let (split, scale, caps) = prepare::<W>(graph, request, false)?;
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
    request: &Request,
    count: u32,
) -> Result<Vec<u32>, PartitionError> {
    let (split, scale, caps) = prepare::<W>(graph, request, false)?;
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
    let block_of = recursive_bisection(&split.graph, &caps, &config, &request.stop);
    Ok(split.complete(graph, scale, &caps, block_of))
}
