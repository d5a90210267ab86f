//! Initial partitions: recursive bisection, each bisection multilevel itself, begun by greedy graph growing.

pub(crate) mod core;
pub(crate) mod starts;

use rayon::prelude::*;

use super::coarsening::clustering::CoarsenConfig;
use super::coarsening::coarsen;
use super::heap::Heap;
use super::random::Random;
use super::refinement::partitioned_graph::PartitionedGraph;
use super::refinement::{Effort, refine, uncoarsen};
use super::structure::{Pins, Structure};
use crate::StopToken;

/// How to bisect.
#[derive(Clone, Copy)]
pub(crate) struct InitialConfig<'c> {
    /// Tolerated imbalance. Every level of the recursion may use its share of it.
    pub(crate) epsilon: f64,
    /// Greedy growings that each bisection tries.
    pub(crate) trials: u32,
    pub(crate) max_members: u32,
    /// As in [`CoarsenConfig`].
    pub(crate) by_size: bool,
    /// Vertices at which a bisection stops to coarsen.
    pub(crate) coarsen_to: usize,
    pub(crate) effort: &'c Effort,
    pub(crate) seed: u64,
}

/// A block for every vertex, within the maximum block weights if possible. If there are communities, bisections join only
/// vertices of the same one when they coarsen.
pub(crate) fn recursive_bisection<S: Structure>(
    graph: &S,
    max_block_weights: &[i64],
    communities: Option<&[u32]>,
    config: &InitialConfig<'_>,
    stop: &StopToken,
) -> Vec<u32> {
    let blocks = max_block_weights.len();
    if blocks <= 1 || graph.len() == 0 {
        return vec![0; graph.len()];
    }
    let (low, high) = max_block_weights.split_at(blocks.div_ceil(2));
    let budget = |max_block_weights: &[i64]| max_block_weights.iter().map(|&cap| i128::from(cap)).sum::<i128>();
    let depth = f64::from((blocks as u32 - 1).ilog2() + 1);
    let slack =
        (budget(max_block_weights) as f64 / graph.total_weight().max(1) as f64).clamp(1.0, 1.0 + config.epsilon);
    // Later bisections need their share of the tolerated imbalance. Isolated vertices, packed at the end, come on top.
    let keep = slack.powf(-(depth - 1.0) / depth);
    let side_weight = |max_block_weights: &[i64]| {
        ((budget(max_block_weights) as f64 * keep).ceil() as i128).min(budget(max_block_weights)).min(i64::MAX.into())
            as i64
    };
    let mut side_of = bisect(graph, [side_weight(low), side_weight(high)], communities, config, stop);
    if blocks == 2 {
        return side_of;
    }
    let mut index = vec![0u32; graph.len()];
    let mut members: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
    for vertex in 0..graph.len() as u32 {
        let side = &mut members[side_of[vertex as usize] as usize];
        index[vertex as usize] = side.len() as u32;
        side.push(vertex);
    }
    let sub = |side: u32| graph.induced(&members[side as usize], &index, |n| side_of[n as usize] == side);
    let communities_of = |side: usize| -> Option<Vec<u32>> {
        communities.map(|of| members[side].iter().map(|&vertex| of[vertex as usize]).collect())
    };
    let config_of = |side: u64| InitialConfig { seed: Random::new(config.seed, 2 + side).next(), ..*config };
    let (left, right) = rayon::join(
        || recursive_bisection(&sub(0), low, communities_of(0).as_deref(), &config_of(0), stop),
        || recursive_bisection(&sub(1), high, communities_of(1).as_deref(), &config_of(1), stop),
    );
    for (side, (blocks, first)) in [(left, 0), (right, low.len() as u32)].into_iter().enumerate() {
        for (&vertex, block) in members[side].iter().zip(blocks) {
            side_of[vertex as usize] = first + block;
        }
    }
    side_of
}

/// Two sides, each within its maximum weight if possible.
fn bisect<S: Structure>(
    graph: &S,
    max_block_weights: [i64; 2],
    communities: Option<&[u32]>,
    config: &InitialConfig<'_>,
    stop: &StopToken,
) -> Vec<u32> {
    let max_weight = (graph.total_weight() as f64 * 1.5 / config.coarsen_to as f64).ceil() as i64;
    let coarsening = CoarsenConfig {
        target: config.coarsen_to,
        max_weight,
        max_members: config.max_members,
        by_size: config.by_size,
        shuffle: None,
    };
    let (levels, _) = coarsen(graph, &coarsening, communities, stop);
    let coarsest = levels.last().map_or(graph, |level| &level.graph);
    let trial = |trial: u32| {
        let mut random = Random::new(config.seed, 100 + u64::from(trial));
        let sides = grow(coarsest, max_block_weights, GROWTHS[trial as usize % GROWTHS.len()], &mut random);
        let mut partition = PartitionedGraph::new(coarsest, &max_block_weights, sides, |_| true);
        refine(&mut partition, config.effort, &mut random, stop);
        ((partition.overload(), partition.cut(), trial), partition.block_of)
    };
    let best = (0..config.trials).into_par_iter().with_max_len(1).map(trial).min_by_key(|(score, _)| *score);
    let sides = best.map_or_else(|| vec![0; coarsest.len()], |(_, sides)| sides);
    let mut random = Random::new(config.seed, 1);
    uncoarsen(graph, levels, &max_block_weights, sides, config.effort, &mut random, stop).block_of
}

/// Which vertex joins a growing side next: the one with the largest
#[derive(Clone, Copy, Debug)]
enum Growth {
    /// fall of the cut. Vertices with light edges come first, and every growing may end with the same heavy ones left over.
    Gain,
    /// share of its edges' weight that leads to the side, which takes in what hangs together before it goes on.
    Share,
    /// weight of edges to the side.
    Connection,
    /// such weight for its own weight.
    Density,
}

impl Growth {
    fn key(self, [left, joined]: [i64; 2], weight: i64) -> i64 {
        // Numbers that are not negative are in the order of their bits.
        let quotient = |divisor: i64| (joined as f64 / divisor.max(1) as f64).to_bits() as i64;
        match self {
            Self::Gain => joined - left,
            Self::Share => quotient(left + joined),
            Self::Connection => joined,
            Self::Density => quotient(weight),
        }
    }
}

/// How trials grow, in turn: the first two are the best where all edges are alike, the others now and then where they are
/// not.
const GROWTHS: [Growth; 8] = [
    Growth::Gain,
    Growth::Share,
    Growth::Gain,
    Growth::Share,
    Growth::Gain,
    Growth::Share,
    Growth::Connection,
    Growth::Density,
];

/// The side of each vertex, and how many pins of each net are on either.
struct Sides {
    side_of: Vec<u32>,
    pins: Vec<[i64; 2]>,
}

impl Sides {
    fn new<S: Structure>(graph: &S) -> Self {
        let pins = (0..graph.net_count() as u32).map(|net| [graph.pins(net).len() as i64, 0]);
        Self { side_of: vec![0; graph.len()], pins: pins.collect() }
    }
}

impl Pins for Sides {
    #[inline]
    fn block_of(&self, vertex: u32) -> u32 {
        self.side_of[vertex as usize]
    }

    #[inline]
    fn move_pin(&mut self, net: u32, from: u32, to: u32) -> (i64, i64) {
        let pins = &mut self.pins[net as usize];
        pins[from as usize] -= 1;
        pins[to as usize] += 1;
        (pins[from as usize] + 1, pins[to as usize])
    }
}

/// Greedy graph growing (Karypis, Kumar 1998): side 1 grows from a random vertex until side 0 keeps within its maximum weight; then on
/// while there is room, and back to where the cut was least.
fn grow<S: Structure>(graph: &S, max_block_weights: [i64; 2], growth: Growth, random: &mut Random) -> Vec<u32> {
    let count = graph.len();
    let mut sides = Sides::new(graph);
    let mut loads = [graph.total_weight(), 0];
    // The connections to both sides.
    let mut connections: Vec<[i64; 2]> = (0..count as u32).map(|vertex| [graph.whole_connection(vertex), 0]).collect();
    let mut heap = Heap::new(count);
    let mut order: Vec<u32> = (0..count as u32).collect();
    random.shuffle(&mut order);
    let mut starts = order.into_iter();
    let mut refused = vec![false; count];
    let overload =
        |loads: [i64; 2]| (loads[0] - max_block_weights[0]).max(0) + (loads[1] - max_block_weights[1]).max(0);
    let (mut cut, mut trail) = (0i64, Vec::new());
    let mut best = ((overload(loads), 0i64), 0usize);
    loop {
        let next = heap.pop().map(|(vertex, _)| vertex);
        let is_free = |vertex: &u32| sides.side_of[*vertex as usize] == 0 && !refused[*vertex as usize];
        let Some(vertex) = next.or_else(|| starts.find(is_free)) else { break };
        let weight = graph.weight(vertex);
        if loads[1] + weight > max_block_weights[1] {
            refused[vertex as usize] = true;
            if loads[0] <= max_block_weights[0] { break } else { continue }
        }
        sides.side_of[vertex as usize] = 1;
        loads = [loads[0] - weight, loads[1] + weight];
        let [left, joined] = connections[vertex as usize];
        cut += left - joined;
        trail.push(vertex);
        let score = (overload(loads), cut);
        if score < best.0 {
            best = (score, trail.len());
        }
        graph.for_each_change(&mut sides, vertex, 0, 1, |sides, neighbour, lost, gained| {
            let at = neighbour as usize;
            if sides.side_of[at] == 0 && !refused[at] {
                connections[at][0] -= lost;
                connections[at][1] += gained;
                heap.set(neighbour, growth.key(connections[at], graph.weight(neighbour)));
            }
        });
    }
    for &vertex in &trail[best.1..] {
        sides.side_of[vertex as usize] = 0;
    }
    sides.side_of
}
