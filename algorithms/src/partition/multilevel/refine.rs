//! Uncoarsening: a partition is carried from level to level, and refined at each.

use super::balance::rebalance;
use super::coarsen::Level;
use super::fm::{Fm, FmConfig};
use super::graph::{Graph, Weight};
use super::propagate::propagate;
use super::random::Random;
use super::state::{Refined, State};
use crate::StopToken;

/// How much refinement a level gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Whether balancing may move vertices to blocks that they are not tied to.
    pub(crate) balance_anywhere: bool,
    /// Rounds of label propagation.
    pub(crate) propagation: u32,
    /// Hill-climbing after it, with one search for the whole boundary.
    pub(crate) global: Option<FmConfig>,
    /// Hill-climbing after that, with a search for each few boundary vertices.
    pub(crate) local: Option<FmConfig>,
    /// The largest share of vertices at a boundary for which that is done: beyond it single searches cost much and find
    /// little. Small graphs are exempt.
    pub(crate) local_share: f64,
}

/// Vertices of a graph on which every refinement is cheap.
const SMALL: usize = 5000;

/// Balances, then lowers the cut.
pub(crate) fn refine<W: Weight>(state: &mut State<'_, '_, W>, effort: &Effort, random: &mut Random, stop: &StopToken) {
    rebalance(state, effort.balance_anywhere);
    propagate(state, effort.propagation);
    let mut fm = Fm::new(state.graph.len());
    for (config, share) in [(&effort.global, 1.0), (&effort.local, effort.local_share)] {
        let Some(config) = config else { continue };
        if share < 1.0 && state.graph.len() > SMALL && state.boundary().len() as f64 > share * state.graph.len() as f64
        {
            continue;
        }
        fm.refine(state, config, random, stop);
    }
}

/// Carries a partition of the coarsest graph to the finest, refining at every level.
pub(crate) fn uncoarsen<W: Weight>(
    finest: &Graph<'_, W>,
    levels: &[Level<W>],
    caps: &[i64],
    coarsest: Vec<u32>,
    effort: &Effort,
    random: &mut Random,
    stop: &StopToken,
) -> Vec<u32> {
    let mut refined: Option<Refined> = None;
    let mut coarsest = Some(coarsest);
    for at in (0..=levels.len()).rev() {
        let graph: &Graph<'_, W> = if at == 0 { finest } else { &levels[at - 1].graph };
        let mut state = match (&refined, levels.get(at)) {
            (Some(coarse), Some(level)) => {
                let cluster = |vertex: u32| level.cluster_of[vertex as usize] as usize;
                let block_of = (0..graph.len() as u32).map(|vertex| coarse.block_of[cluster(vertex)]).collect();
                State::new(graph, caps, block_of, |vertex| coarse.boundary[cluster(vertex)])
            }
            _ => State::new(graph, caps, coarsest.take().unwrap_or_default(), |_| true),
        };
        let balance_anywhere = effort.balance_anywhere && at == 0;
        refine(&mut state, &Effort { balance_anywhere, ..*effort }, random, stop);
        refined = Some(state.finish());
    }
    refined.map(|refined| refined.block_of).unwrap_or_default()
}
