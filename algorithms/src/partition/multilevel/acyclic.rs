//! Refinement of acyclic blocks by minimum cuts.
//!
//! Where every edge must lead to the same or a later block, a vertex rarely may move alone: what follows it would have to
//! move first. A minimum cut moves them together. Of two blocks the vertices near the border are set free, all others stay;
//! the edges among the free may be cut in their direction for what they weigh, and against it never.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::flow::{Arc, Network, UNLIMITED};
use super::graph::{EARLIER, Graph, LATER, Weight};
use crate::StopToken;

/// How widely to look for better borders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowConfig {
    /// Passes over all pairs of consecutive blocks, at most.
    pub(crate) rounds: u32,
    /// Vertices on either side of a border are free up to so many times what balance would permit to move at once.
    pub(crate) reach: f64,
    /// They are at most this share of a block.
    pub(crate) share: f64,
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

/// Lowers the cut between consecutive blocks, pass by pass, until one finds nothing. Every edge has to lead to the same or a
/// later block, and does so afterwards; no block becomes heavier than it may be, or than it was. Returns by how much the
/// cut fell.
pub(crate) fn refine_by_flows<W: Weight>(
    graph: &Graph<'_, W>,
    caps: &[i64],
    block_of: &mut [u32],
    config: &FlowConfig,
    stop: &StopToken,
) -> i64 {
    let mut loads = vec![0; caps.len()];
    for vertex in 0..graph.len() as u32 {
        loads[block_of[vertex as usize] as usize] += graph.weight(vertex);
    }
    // Whether the last look at the border behind a block found nothing, and neither block has changed since.
    let mut settled = vec![false; caps.len()];
    let mut total = 0;
    for _ in 0..config.rounds {
        let mut gained = 0;
        for parity in 0..2 {
            if stop.is_stopped() {
                return total + gained;
            }
            let members = Members::new(block_of, caps.len());
            let pairs: Vec<u32> = (0..caps.len().saturating_sub(1) as u32)
                .filter(|&first| first % 2 == parity && !settled[first as usize])
                .collect();
            let shared: &[u32] = block_of;
            let found: Vec<(u32, Option<Improvement>)> = pairs
                .into_par_iter()
                .map(|first| {
                    let pair = Pair { graph, caps, loads: &loads, block_of: shared, members: &members, first };
                    (first, pair.improve(config))
                })
                .collect();
            for (first, improvement) in found {
                settled[first as usize] = improvement.is_none();
                let Some(improvement) = improvement else { continue };
                gained += improvement.gain;
                for vertex in improvement.moved {
                    let block = &mut block_of[vertex as usize];
                    let weight = graph.weight(vertex);
                    loads[*block as usize] -= weight;
                    *block = 2 * first + 1 - *block;
                    loads[*block as usize] += weight;
                }
                for near in [first.wrapping_sub(1), first + 1] {
                    if let Some(settled) = settled.get_mut(near as usize) {
                        *settled = false;
                    }
                }
            }
        }
        total += gained;
        if settled.iter().rev().skip(1).all(|&settled| settled) {
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

/// A block and the one behind it.
struct Pair<'p, 'a, W: Weight> {
    graph: &'p Graph<'a, W>,
    caps: &'p [i64],
    loads: &'p [i64],
    block_of: &'p [u32],
    members: &'p Members,
    first: u32,
}

/// The free vertices of a pair as a network: those of the first block, the nearest to the border first, then those of the
/// second.
struct Region {
    vertices: Vec<u32>,
    /// How many of them are in the first block.
    before: usize,
    weights: Vec<i64>,
    arcs: Vec<Arc>,
    /// What is cut if the vertex comes to the second block.
    if_second: Vec<i64>,
    /// What is cut if the vertex comes to the first block.
    if_first: Vec<i64>,
}

impl<W: Weight> Pair<'_, '_, W> {
    /// The vertices of a block that nothing of the block lies behind (before, if `direction` says so), then those that only
    /// such lie behind, and so on, up to a weight.
    fn peel(&self, block: u32, direction: u8, limit: i64) -> Vec<u32> {
        let list = &self.members.lists[block as usize];
        let inside = |vertex: u32, direction: u8| {
            let row = self.graph.row(vertex);
            let directed = self.graph.neighbours[row.clone()].iter().zip(&self.graph.directions[row]);
            directed
                .filter(move |&(&n, &d)| d & direction != 0 && self.block_of[n as usize] == block)
                .map(|(&n, _)| n)
        };
        let mut waits_for: Vec<u32> = list.iter().map(|&vertex| inside(vertex, direction).count() as u32).collect();
        let mut ready: VecDeque<u32> =
            list.iter().zip(&waits_for).filter(|&(_, &waits)| waits == 0).map(|(&vertex, _)| vertex).collect();
        let mut peeled = Vec::new();
        let mut weight = 0;
        while let Some(vertex) = ready.pop_front() {
            weight += self.graph.weight(vertex);
            if weight > limit {
                break;
            }
            peeled.push(vertex);
            for other in inside(vertex, LATER + EARLIER - direction) {
                let waits = &mut waits_for[self.members.rank[other as usize] as usize];
                *waits -= 1;
                if *waits == 0 {
                    ready.push_back(other);
                }
            }
        }
        peeled
    }

    fn region(&self, config: &FlowConfig) -> Region {
        let (first, second) = (self.first, self.first + 1);
        let room = |block: u32| (self.caps[block as usize] - self.loads[block as usize]).max(0);
        let limit = |block: u32, room: i64| {
            let share = self.loads[block as usize] as f64 * config.share;
            (room.max(1) as f64 * config.reach).min(share) as i64
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
                let direction = self.graph.directions[at];
                match node_of[place(neighbour)] {
                    u32::MAX if block == first => region.if_second[node] += weight.wide(),
                    u32::MAX => region.if_first[node] += weight.wide(),
                    other if direction & LATER != 0 => {
                        // Of an edge both ways each end has a row entry; one arc says all.
                        let there = if direction & EARLIER != 0 { UNLIMITED } else { weight.wide() };
                        let ends = [node as u32, other];
                        if there < UNLIMITED || ends[0] < ends[1] {
                            region.arcs.push(Arc { ends, there, back: UNLIMITED });
                        }
                    }
                    _ => {}
                }
            }
        }
        region
    }

    /// The best cut found, if it is better than what is.
    fn improve(&self, config: &FlowConfig) -> Option<Improvement> {
        let (first, second) = (self.first as usize, self.first as usize + 1);
        let region = self.region(config);
        if region.vertices.is_empty() {
            return None;
        }
        let free: i64 = region.weights[..region.before].iter().sum();
        let fixed = self.loads[first] - free;
        let whole = self.loads[first] + self.loads[second];
        // What the free vertices on the first side may weigh.
        let most = self.caps[first].max(self.loads[first]) - fixed;
        let least = whole - self.caps[second].max(self.loads[second]) - fixed;
        let now: Vec<bool> = (0..region.vertices.len()).map(|node| node < region.before).collect();
        let (cost, side) = region.best_cut(least, most)?;
        let gain = region.cost(&now) - cost;
        if gain <= 0 {
            return None;
        }
        let moved = (0..side.len()).filter(|&node| side[node] != now[node]);
        Some(Improvement { gain, moved: moved.map(|node| region.vertices[node]).collect() })
    }
}

impl Region {
    /// What a division cuts; `side` says who comes to the first block.
    fn cost(&self, side: &[bool]) -> i64 {
        let across = self.arcs.iter().filter(|arc| side[arc.ends[0] as usize] && !side[arc.ends[1] as usize]);
        let ends = side.iter().enumerate().map(|(node, &first)| {
            if first { self.if_first[node] } else { self.if_second[node] }
        });
        across.map(|arc| arc.there).sum::<i64>() + ends.sum::<i64>()
    }

    fn weight(&self, side: &[bool]) -> i64 {
        self.weights.iter().zip(side).filter(|&(_, &first)| first).map(|(weight, _)| weight).sum()
    }

    /// A cut of little weight whose first side weighs from `least` to `most`.
    ///
    /// As long as the minimum cut's first side is too light, all of it is fixed, and so are others that make up for half of
    /// what it lacks; likewise if it is too heavy. They are chosen to agree with the present division while that is possible.
    ///
    /// # Reference
    /// M. Hamann, B. Strasser: Graph bisection with Pareto optimization. ACM Journal of Experimental Algorithmics 23 (2018),
    /// doi:10.1145/3173045: piercing, here many vertices at once.
    fn best_cut(&self, least: i64, most: i64) -> Option<(i64, Vec<bool>)> {
        let nodes = self.vertices.len();
        let terminal = self.if_second.iter().zip(&self.if_first).map(|(second, first)| second - first).collect();
        let mut network = Network::new(&self.arcs, terminal);
        let mut free = vec![true; nodes];
        let middle = least + (most - least) / 2;
        loop {
            network.maximise()?;
            let small = network.source_side();
            let large: Vec<bool> = network.sink_side().iter().map(|&inside| !inside).collect();
            let (light, heavy) = (self.weight(&small), self.weight(&large));
            let fits = |weight: &i64| (least..=most).contains(weight);
            let fitting = [(light, &small), (heavy, &large)].into_iter().filter(|(weight, _)| fits(weight));
            if let Some((_, side)) = fitting.min_by_key(|(weight, _)| weight.abs_diff(middle)) {
                return Some((self.cost(side), side.clone()));
            }
            // Between a side too light and one too heavy either may be fixed.
            let grow = heavy < least || (light < least && least - light <= heavy - most);
            let whole = if grow { heavy < least } else { light <= most };
            let (side, weight) = if whole { (large, heavy) } else { (small, light) };
            let mut missing = if grow { least - weight } else { weight - most };
            missing = (missing + 1) / 2;
            for node in (0..nodes).filter(|&node| side[node] == grow) {
                free[node] = false;
                network.fix(node as u32, grow);
            }
            let (before, behind) = (0..self.before, self.before..nodes);
            let order: Vec<usize> =
                if grow { before.rev().chain(behind).collect() } else { behind.rev().chain(before).collect() };
            let mut order = order.into_iter().filter(|&node| free[node]).collect::<Vec<_>>().into_iter();
            while missing > 0 {
                let node = order.next()?;
                free[node] = false;
                network.fix(node as u32, grow);
                missing -= self.weights[node];
            }
        }
    }
}
