//! Refinement of acyclic blocks by minimum cuts.
//!
//! Where every edge must lead to the same or a later block, a vertex rarely may move alone: what follows it would have to
//! move first. A minimum cut moves them together. Of two blocks the vertices near the border are set free, all others stay;
//! the edges among the free may be cut in their direction for what they weigh, and against it never.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::max_flow::{Arc, UNLIMITED};
use super::region::Region;
use crate::StopToken;
use crate::partition::multilevel::graph::{EARLIER, Graph, LATER};
use crate::partition::multilevel::structure::Structure;

/// How widely to look for better borders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowConfig {
    /// Passes over all pairs of near blocks, at most.
    pub(crate) rounds: u32,
    /// On either side of a border, the free vertices weigh up to this times the weight that balance permits to move.
    pub(crate) reach: f64,
    /// But at least this many vertices of mean weight are free.
    pub(crate) least: usize,
    /// And at most this share of a block.
    pub(crate) share: f64,
    /// Blocks whose numbers differ by more are not paired.
    pub(crate) distance: u32,
}

/// The vertices of each block, and where each vertex is in its block's list.
struct Members {
    lists: Vec<Vec<u32>>,
    rank: Vec<u32>,
}

impl Members {
    fn new(block_of: &[u32], blocks: usize) -> Self {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); blocks];
        let mut rank = vec![0; block_of.len()];
        for (vertex, &block) in block_of.iter().enumerate() {
            let list = &mut lists[block as usize];
            rank[vertex] = list.len() as u32;
            list.push(vertex as u32);
        }
        Self { lists, rank }
    }
}

/// Lowers the cut between near blocks, pass by pass, until one finds nothing. Every edge has to lead to the same or a
/// later block, and does so afterwards; no block becomes heavier than it may be, or than it was. Returns by how much the
/// cut fell.
pub(crate) fn refine_by_flows(
    graph: &Graph<'_>,
    max_block_weights: &[i64],
    block_of: &mut [u32],
    config: &FlowConfig,
    stop: &StopToken,
) -> i64 {
    let mut loads = graph.block_weights(block_of, max_block_weights.len());
    let blocks = max_block_weights.len() as u32;
    // Whether the last look at a pair found nothing, and neither block has changed since; by distance and first block.
    let distances = config.distance.min(blocks.saturating_sub(1));
    let mut settled = vec![vec![false; max_block_weights.len()]; distances as usize + 1];
    let mut total = 0;
    for _ in 0..config.rounds {
        let mut found_any = false;
        for distance in 1..=distances {
            // From the first block to the second, pairs that are looked at together do not overlap.
            for offset in 0..=distance {
                if stop.is_stopped() {
                    return total;
                }
                let pairs: Vec<u32> = (offset..blocks - distance)
                    .step_by(distance as usize + 1)
                    .filter(|&first| !settled[distance as usize][first as usize])
                    .collect();
                if pairs.is_empty() {
                    continue;
                }
                let members = Members::new(block_of, max_block_weights.len());
                let shared: &[u32] = block_of;
                let found: Vec<(u32, Option<Improvement>)> = pairs
                    .into_par_iter()
                    .map(|first| {
                        let second = first + distance;
                        let pair = Pair {
                            graph,
                            max_block_weights,
                            loads: &loads,
                            block_of: shared,
                            members: &members,
                            first,
                            second,
                        };
                        (first, pair.improve(config))
                    })
                    .collect();
                for (first, improvement) in found {
                    settled[distance as usize][first as usize] = true;
                    let Some(improvement) = improvement else { continue };
                    found_any = true;
                    total += improvement.gain;
                    for vertex in improvement.moved {
                        let block = &mut block_of[vertex as usize];
                        let weight = graph.weight(vertex);
                        loads[*block as usize] -= weight;
                        *block = 2 * first + distance - *block;
                        loads[*block as usize] += weight;
                    }
                    for (far, settled) in settled.iter_mut().enumerate().skip(1) {
                        for near in [first, first + distance] {
                            settled[near as usize] = false;
                            if let Some(settled) = (near as usize).checked_sub(far).and_then(|at| settled.get_mut(at)) {
                                *settled = false;
                            }
                        }
                    }
                }
            }
        }
        if !found_any {
            break;
        }
    }
    total
}

/// Vertices that change sides.
struct Improvement {
    gain: i64,
    moved: Vec<u32>,
}

/// Two blocks.
struct Pair<'p, 'a> {
    graph: &'p Graph<'a>,
    max_block_weights: &'p [i64],
    loads: &'p [i64],
    block_of: &'p [u32],
    members: &'p Members,
    first: u32,
    second: u32,
}

impl Pair<'_, '_> {
    /// Vertices of a block that could leave it together, up to a weight: each after all of its neighbours in the `direction`,
    /// in the order of how much the cut falls when they leave.
    fn peel(&self, block: u32, direction: u8, limit: i64) -> Vec<u32> {
        let list = &self.members.lists[block as usize];
        let between = self.first + 1..self.second;
        let towards = |vertex: u32| {
            let row = self.graph.row(vertex);
            self.graph.neighbours[row.clone()].iter().copied().zip(self.graph.directions[row].iter().copied())
        };
        // How many have to leave first; `None` if one cannot.
        let waits = |&vertex: &u32| {
            let mut count = 0u32;
            for (neighbour, _) in towards(vertex).filter(|&(_, towards)| towards & direction != 0) {
                let other = self.block_of[neighbour as usize];
                if between.contains(&other) {
                    return None;
                }
                count += u32::from(other == block);
            }
            Some(count)
        };
        let gain = |vertex: u32| {
            let mut gain = 0;
            for (at, (neighbour, weight)) in self.graph.row(vertex).zip(self.graph.edges(vertex)) {
                let other = self.block_of[neighbour as usize];
                if other == block && self.graph.directions[at] & direction == 0 {
                    gain -= weight;
                } else if other == self.first || other == self.second {
                    gain += weight;
                }
            }
            gain
        };
        let mut waits_for: Vec<Option<u32>> = list.iter().map(waits).collect();
        let free = list.iter().zip(&waits_for).filter(|&(_, &waits)| waits == Some(0));
        let mut ready: BinaryHeap<(i64, u32)> = free.map(|(&vertex, _)| (gain(vertex), vertex)).collect();
        let mut peeled = Vec::new();
        let mut weight = 0;
        while let Some((_, vertex)) = ready.pop() {
            weight += self.graph.weight(vertex);
            if weight > limit {
                break;
            }
            peeled.push(vertex);
            for (other, towards) in towards(vertex) {
                if towards & (LATER + EARLIER - direction) == 0 || self.block_of[other as usize] != block {
                    continue;
                }
                if let Some(waits) = &mut waits_for[self.members.rank[other as usize] as usize] {
                    *waits -= 1;
                    if *waits == 0 {
                        ready.push((gain(other), other));
                    }
                }
            }
        }
        peeled
    }

    /// The free vertices, and what hangs on them.
    fn region(&self, config: &FlowConfig) -> Region {
        let (first, second) = (self.first, self.second);
        let room = |block: u32| (self.max_block_weights[block as usize] - self.loads[block as usize]).max(0);
        let limit = |block: u32, room: i64| {
            let load = self.loads[block as usize] as f64;
            let least = load * config.least as f64 / self.members.lists[block as usize].len().max(1) as f64;
            (room as f64 * config.reach).max(least).min(load * config.share) as i64
        };
        let mut vertices = self.peel(first, LATER, limit(first, room(second)));
        let before = vertices.len();
        vertices.extend(self.peel(second, EARLIER, limit(second, room(first))));
        let sizes = [first, second].map(|block| self.members.lists[block as usize].len());
        let mut node_of = vec![u32::MAX; sizes[0] + sizes[1]];
        let place = |vertex: u32| {
            let rank = self.members.rank[vertex as usize] as usize;
            if self.block_of[vertex as usize] == first { rank } else { sizes[0] + rank }
        };
        for (node, &vertex) in (0..).zip(&vertices) {
            node_of[place(vertex)] = node;
        }
        let mut region = Region {
            before,
            weights: vertices.iter().map(|&vertex| self.graph.weight(vertex)).collect(),
            arcs: Vec::new(),
            if_second: vec![0; vertices.len()],
            if_first: vec![0; vertices.len()],
            vertices,
        };
        for (node, &vertex) in region.vertices.iter().enumerate() {
            for (at, (neighbour, weight)) in self.graph.row(vertex).zip(self.graph.edges(vertex)) {
                let block = self.block_of[neighbour as usize];
                if block != first && block != second {
                    continue;
                }
                match node_of[place(neighbour)] {
                    u32::MAX if block == first => region.if_second[node] += weight,
                    u32::MAX => region.if_first[node] += weight,
                    other if self.graph.directions[at] & LATER != 0 => {
                        region.arcs.push(Arc { ends: [node as u32, other], there: weight, back: UNLIMITED });
                    }
                    _ => {}
                }
            }
        }
        region
    }

    /// The best cut found, if it is better than the present one.
    fn improve(&self, config: &FlowConfig) -> Option<Improvement> {
        // Where flows take too long, less is free.
        let configs = [1, 8, 64].map(|part| FlowConfig {
            reach: config.reach / f64::from(part),
            least: config.least / part as usize,
            ..*config
        });
        let (region, cost, side) = configs.iter().find_map(|config| {
            let region = self.region(config);
            let free: i64 = region.weights[..region.before].iter().sum();
            let [first, second] = [self.first, self.second].map(|block| block as usize);
            let fixed = self.loads[first] - free;
            // What the free vertices on the first side may weigh.
            let most = self.max_block_weights[first].max(self.loads[first]) - fixed;
            let least =
                self.loads[first] + self.loads[second] - self.max_block_weights[second].max(self.loads[second]) - fixed;
            let (cost, side) = region.best_cut(least, most)?;
            Some((region, cost, side))
        })?;
        let now: Vec<bool> = (0..region.vertices.len()).map(|node| node < region.before).collect();
        let gain = region.cost(&now) - cost;
        let moved = (0..side.len()).filter(|&node| side[node] != now[node]).map(|node| region.vertices[node]);
        (gain > 0).then(|| Improvement { gain, moved: moved.collect() })
    }
}
