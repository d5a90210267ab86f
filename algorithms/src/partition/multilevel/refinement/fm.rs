//! Fiduccia–Mattheyses refinement between k blocks: hill-climbing from the boundary, undone back to the least cut.

use rayon::prelude::*;

use super::balancing::rebalance;
use super::delta::{Workspace, search_together};
use super::gain_cache::{Change, GainUpdate, Target};
use super::greedy::{greedy, most_promising};
use super::partitioned_graph::PartitionedGraph;
use super::search::{Limits, Search, View};
use crate::StopToken;
use crate::partition::multilevel::pool::Pool;
use crate::partition::multilevel::random::Random;
use crate::partition::multilevel::structure::{Pins, Structure};

/// How long and how widely to search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FmConfig {
    /// The number of passes, at most. A pass moves each vertex at most once.
    pub(crate) rounds: u32,
    /// A pass that lowers the cut by a smaller share is the last.
    pub(crate) min_improvement: f64,
    /// Boundary vertices that a search starts from. With `usize::MAX` one search starts from all of them.
    pub(crate) seeds: usize,
    /// Moves in a row without a new least cut after which a search ends.
    pub(crate) patience: u32,
    /// A search ends if its last thousand moves lowered the cut by a smaller share.
    pub(crate) worthwhile: f64,
}

/// With at least this many boundary vertices, a search starts from the most promising ones only.
const MANY: usize = 20_000;
/// Rounds of greedy moves before such a search.
const GREEDY_ROUNDS: u32 = 12;
/// While a search is loosened, a block may exceed what it may weigh by this share of what the largest may weigh.
const SLACK: f64 = 0.05;
/// Passes after a loosened one, at most.
const AFTER_LOOSENED: u32 = 2;
/// Run one search in 64 concurrently: denser ones disturb each other.
const SPARSE: usize = 64;
/// Concurrent searches, at most.
const MOST_TOGETHER: usize = 512;

/// Seeds that a thread takes at a time.
const FEW: usize = 1024;

/// Scratch space, kept between passes.
pub(crate) struct Fm {
    search: Search,
    workspaces: Pool<Workspace>,
    moved: Vec<bool>,
    touched: Vec<u32>,
}

impl Fm {
    pub(crate) fn new(vertices: usize) -> Self {
        Self {
            search: Search::default(),
            workspaces: Pool::default(),
            moved: vec![false; vertices],
            touched: Vec::new(),
        }
    }

    /// Passes until one brings little. Returns by how much the cut fell; it never rises.
    pub(crate) fn refine<S: Structure>(
        &mut self,
        partition: &mut PartitionedGraph<'_, S>,
        config: &FmConfig,
        random: &mut Random,
        stop: &StopToken,
    ) -> i64 {
        let cut = partition.cut();
        let mut total = 0;
        for _ in 0..config.rounds {
            let seeds = partition.boundary();
            if seeds.is_empty() || stop.is_stopped() {
                break;
            }
            let gained = if config.seeds == usize::MAX {
                self.global_pass(partition, seeds, config, random)
            } else {
                self.local_pass(partition, seeds, config, random)
            };
            for vertex in self.touched.drain(..) {
                self.moved[vertex as usize] = false;
            }
            total += gained;
            if gained == 0 || (gained as f64) < config.min_improvement * (cut - total + gained) as f64 {
                break;
            }
        }
        total
    }

    /// Loosened passes, as long as they help and at most `rounds` times: one pass while blocks may be too heavy, balancing, and some
    /// passes as always, all undone unless the cut fell. Returns by how much it fell. Does nothing where directions matter, or
    /// blocks are too heavy already.
    ///
    /// # Reference
    /// N. Maas, L. Gottesbüren, D. Seemaier: Parallel unconstrained local search for partitioning irregular graphs. ALENEX 2024. There a
    /// move into a full block pays for what leaves it again; here its weight has a limit.
    pub(crate) fn refine_loosened<S: Structure>(
        &mut self,
        partition: &mut PartitionedGraph<'_, S>,
        config: &FmConfig,
        rounds: u32,
        random: &mut Random,
        stop: &StopToken,
    ) -> i64 {
        let largest = partition.max_block_weights.iter().copied().max().unwrap_or(0);
        let mut total = 0;
        for _ in 0..rounds {
            if partition.overload() > 0 || partition.graph.is_directed() || stop.is_stopped() {
                break;
            }
            let (cut, before) = (partition.cut(), partition.block_of.clone());
            partition.grace = (largest as f64 * SLACK) as i64;
            self.refine(partition, &FmConfig { rounds: 1, ..*config }, random, stop);
            partition.grace = 0;
            rebalance(partition, false);
            self.refine(partition, &FmConfig { rounds: AFTER_LOOSENED, ..*config }, random, stop);
            let gained = cut - partition.cut();
            if partition.overload() > 0 || gained <= 0 {
                for (vertex, &block) in (0..).zip(&before) {
                    if partition.block_of[vertex as usize] != block {
                        partition.relocate(vertex, block, |_, _, _| ());
                    }
                }
                break;
            }
            total += gained;
        }
        total
    }

    /// One search from the whole boundary. On a long boundary, greedy moves come first and the search starts where gains are
    /// largest: it would hardly reach more.
    fn global_pass<S: Structure>(
        &mut self,
        partition: &mut PartitionedGraph<'_, S>,
        mut seeds: Vec<u32>,
        config: &FmConfig,
        random: &mut Random,
    ) -> i64 {
        if seeds.len() < MANY {
            random.shuffle(&mut seeds);
            return self.search(partition, &seeds, config);
        }
        let gained = greedy(partition, seeds, GREEDY_ROUNDS);
        let seeds = most_promising(partition, &partition.boundary(), MANY.max(4 * config.patience as usize));
        gained + self.search(partition, &seeds, config)
    }

    /// A search from every few boundary vertices. On a long boundary, many run concurrently.
    fn local_pass<S: Structure>(
        &mut self,
        partition: &mut PartitionedGraph<'_, S>,
        mut seeds: Vec<u32>,
        config: &FmConfig,
        random: &mut Random,
    ) -> i64 {
        random.shuffle(&mut seeds);
        let starts: Vec<&[u32]> = seeds.chunks(config.seeds).collect();
        let together = (starts.len() / SPARSE).min(MOST_TOGETHER);
        if together < 2 {
            return starts.into_iter().map(|seeds| self.search(partition, seeds, config)).sum();
        }
        let Self { moved, touched, workspaces, .. } = self;
        let batch = |starts| search_together(partition, starts, config.patience, workspaces, moved, touched);
        starts.chunks(together).map(batch).sum()
    }

    /// One search in place, undone back to the least cut. Returns the gain.
    fn search<S: Structure>(
        &mut self,
        partition: &mut PartitionedGraph<'_, S>,
        seeds: &[u32],
        config: &FmConfig,
    ) -> i64 {
        let Self { search, moved, touched, .. } = self;
        search.clear(partition.max_block_weights.len());
        let looks = |seeds: &[u32]| -> Vec<_> {
            let free = seeds.iter().filter(|&&vertex| !moved[vertex as usize]);
            free.map(|&vertex| (vertex, partition.best_moves(vertex))).collect()
        };
        let looks: Vec<Vec<_>> = match seeds.len() {
            ..=FEW => vec![looks(seeds)],
            _ => seeds.par_chunks(FEW).with_max_len(1).map(looks).collect(),
        };
        for (vertex, moves) in looks.into_iter().flatten() {
            search.enqueue(vertex, moves);
        }
        let least = if config.worthwhile > 0.0 { (config.worthwhile * partition.cut() as f64) as i64 } else { 0 };
        let limits = Limits { patience: config.patience, least };
        let found = search.run(&mut InPlace { partition: &mut *partition, moved, touched }, limits);
        for &(vertex, from) in search.trail[found.kept..].iter().rev() {
            partition.relocate(vertex, from, |_, _, _| ());
        }
        found.gain
    }
}

/// The partition itself; handles are the vertices.
struct InPlace<'v, 'g, S> {
    partition: &'v mut PartitionedGraph<'g, S>,
    moved: &'v mut [bool],
    touched: &'v mut Vec<u32>,
}

impl<S: Structure> Pins for InPlace<'_, '_, S> {
    #[inline]
    fn block_of(&self, vertex: u32) -> u32 {
        self.partition.block_of[vertex as usize]
    }

    #[inline]
    fn move_pin(&mut self, net: u32, from: u32, to: u32) -> (i64, i64) {
        self.partition.pins.move_pin(net, from, to)
    }
}

impl<S: Structure> View for InPlace<'_, '_, S> {
    #[inline]
    fn best_moves(&mut self, vertex: u32) -> (Option<Target>, Option<Target>) {
        self.partition.best_moves(vertex)
    }

    #[inline]
    fn block(&self, vertex: u32) -> u32 {
        self.partition.block_of[vertex as usize]
    }

    #[inline]
    fn balances(&self, vertex: u32, to: u32) -> bool {
        self.partition.balances(vertex, to)
    }

    #[inline]
    fn has_moved(&self, vertex: u32) -> bool {
        self.moved[vertex as usize]
    }

    #[inline]
    fn gain_update(&self, vertex: u32, known: Option<i64>, change: Option<Change>) -> GainUpdate {
        self.partition.gain_update(vertex, known, change)
    }

    #[inline]
    fn make_move(&mut self, vertex: u32, to: u32, mut changed: impl FnMut(&mut Self, u32, Option<Change>)) {
        self.moved[vertex as usize] = true;
        self.touched.push(vertex);
        let (graph, from) = (self.partition.graph, self.partition.leave(vertex, to));
        graph.for_each_change(self, vertex, from, to, |this, neighbour, lost, gained| {
            let change = this.partition.follow(neighbour, from, to, lost, gained);
            if !this.moved[neighbour as usize] {
                changed(this, neighbour, change);
            }
        });
        self.partition.arrive(vertex);
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::partition::multilevel::graph::Graph;

    fn configs() -> [FmConfig; 3] {
        let config =
            FmConfig { rounds: 10, min_improvement: 0.0, seeds: usize::MAX, patience: u32::MAX, worthwhile: 0.0 };
        [config, FmConfig { patience: 5, ..config }, FmConfig { seeds: 1, patience: 15, ..config }]
    }

    #[test]
    fn the_gain_told_is_the_gain_had_and_blocks_stay_within() {
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 50)] {
            let graph = Graph::tangle(seed);
            let max_block_weights = vec![graph.total_weight() / blocks as i64 * 13 / 10 + 4; blocks];
            for config in configs() {
                let block_of = (0..200).map(|vertex| vertex % blocks as u32).collect();
                let mut partition = PartitionedGraph::new(&graph, &max_block_weights, block_of, |_| true);
                let before = graph.cut(&partition.block_of);
                assert_eq!(partition.overload(), 0);
                let mut random = Random::new(seed, 9);
                let gain = Fm::new(200).refine(&mut partition, &config, &mut random, &StopToken::default());
                assert!(gain > 0);
                assert_eq!(graph.cut(&partition.block_of), before - gain);
                assert_eq!((partition.cut(), partition.overload()), (before - gain, 0));
            }
        }
    }

    #[test]
    fn loosened_passes_lower_the_cut_further_keep_blocks_within_and_leave_what_they_cannot_lower() {
        let (mut helped, mut in_vain) = (0, 0);
        for seed in 0..40 {
            let blocks = [2usize, 3, 8][seed as usize % 3];
            let graph = Graph::tangle(seed);
            let max_block_weights = vec![graph.total_weight() / blocks as i64 * 21 / 20 + 4; blocks];
            let block_of = (0..200).map(|vertex| vertex % blocks as u32).collect();
            let mut partition = PartitionedGraph::new(&graph, &max_block_weights, block_of, |_| true);
            let (mut fm, mut random, stop) = (Fm::new(200), Random::new(seed, 9), StopToken::default());
            rebalance(&mut partition, true);
            fm.refine(&mut partition, &configs()[0], &mut random, &stop);
            let (before, overload) = (partition.block_of.clone(), partition.overload());
            let cut = graph.cut(&before);
            let gain = fm.refine_loosened(&mut partition, &configs()[0], 3, &mut random, &stop);
            assert_eq!((graph.cut(&partition.block_of), partition.cut()), (cut - gain, cut - gain));
            assert_eq!((partition.grace, partition.overload()), (0, overload));
            if gain == 0 {
                assert_eq!(partition.block_of, before);
            }
            *(if gain > 0 { &mut helped } else { &mut in_vain }) += 1;
        }
        assert!(helped >= 5 && in_vain >= 5, "{helped} helped, {in_vain} in vain");
    }

    #[test]
    fn a_search_in_vain_leaves_everything_as_it_was() {
        let graph = Graph::tangle(5);
        let max_block_weights = vec![graph.total_weight(); 4];
        let block_of: Vec<u32> = (0..200).map(|vertex| vertex % 4).collect();
        let mut partition = PartitionedGraph::new(&graph, &max_block_weights, block_of, |_| true);
        let (mut fm, config) = (Fm::new(200), configs()[0]);
        let random = || Random::new(5, 9);
        while fm.refine(&mut partition, &config, &mut random(), &StopToken::default()) > 0 {}
        let (blocks, loads) = (partition.block_of.clone(), partition.block_weights.clone());
        let levelled = fm.refine(&mut partition, &config, &mut random(), &StopToken::default());
        assert_eq!(levelled, 0);
        let again = PartitionedGraph::new(&graph, &max_block_weights, partition.block_of.clone(), |_| true);
        for vertex in 0..200 {
            for block in 0..4 {
                assert_eq!(partition.connection_to(vertex, block), again.connection_to(vertex, block));
            }
        }
        assert_eq!(again.block_weights, partition.block_weights);
        assert_eq!(
            (partition.block_of.len(), partition.block_weights.iter().sum::<i64>()),
            (blocks.len(), loads.iter().sum())
        );
    }

    #[test]
    fn a_search_ends_where_it_is_not_worth_its_while() {
        // A path whose vertices lie in random halves: nearly every move helps, but none by much of the cut.
        let count = 8000u32;
        let near = |vertex: u32| [vertex.checked_sub(1), (vertex + 1 < count).then_some(vertex + 1)];
        let rows: Vec<Vec<(u32, u32)>> =
            (0..count).map(|vertex| near(vertex).into_iter().flatten().map(|other| (other, 1)).collect()).collect();
        let graph = Graph::of_rows(&rows);
        let max_block_weights = [i64::from(count); 2];
        let gained = |worthwhile: f64| {
            let block_of = (0..count).map(|vertex| vertex * 7919 % 104_729 % 2).collect();
            let mut partition = PartitionedGraph::new(&graph, &max_block_weights, block_of, |_| true);
            let (cut, seeds) = (partition.cut(), partition.boundary());
            let config = FmConfig { worthwhile, ..configs()[0] };
            let gain = Fm::new(count as usize).search(&mut partition, &seeds, &config);
            assert_eq!(partition.cut(), cut - gain);
            (gain, gain as f64 / cut as f64)
        };
        let (all, share) = gained(0.0);
        assert!(share > 0.9, "{share}");
        // The first thousand moves bring more than a tenth, and less than all.
        assert_eq!(gained(0.1).0, all);
        let (some, share) = gained(0.9);
        assert!(some < all && (0.1..0.9).contains(&share), "{some} of {all}");
    }

    #[test]
    fn a_wall_between_two_basins_is_climbed() {
        // Two cliques of four, connected by light edges, with one vertex of each on the wrong side: each swap step alone loses.
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); 8];
        for a in 0..8u32 {
            for b in (0..8u32).filter(|&b| b != a && b / 4 == a / 4) {
                rows[a as usize].push((b, 1));
            }
        }
        let offsets = (0..=8).map(|at| 3 * at).collect();
        let neighbours = Cow::Owned(rows.iter().flatten().map(|&(n, _)| n).collect());
        let graph = Graph { offsets, neighbours, ..Graph::default() };
        let mut partition = PartitionedGraph::new(&graph, &[5, 5], vec![0, 0, 1, 1, 0, 0, 1, 1], |_| true);
        let mut random = Random::new(1, 1);
        Fm::new(8).refine(&mut partition, &configs()[0], &mut random, &StopToken::default());
        assert_eq!(graph.cut(&partition.block_of), 0);
    }
}
