//! Runs through all levels: coarsen, partition the coarsest graph, refine on the way back.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::coarsening::clustering::CoarsenConfig;
use super::coarsening::{Level, coarsen};
use super::graph::Graph;
use super::initial::core::{around_core, core, is_worth_a_run};
use super::initial::starts::{Start, best_start};
use super::initial::{InitialConfig, recursive_bisection};
use super::problem::Problem;
use super::random::Random;
use super::refinement::{Scored, uncoarsen};
use super::settings::Settings;
use super::structure::Structure;
use crate::StopToken;
use crate::partition::PartitionError;

/// A graph with fewer entries is small: several runs cost little.
const SMALL: usize = 100_000;

/// Runs whose cuts differ by a smaller share are alike.
const ALIKE: f64 = 0.01;

/// A partition of the coarsest graph.
struct Initial<S> {
    levels: Vec<Level<S>>,
    block_of: Vec<u32>,
    /// Overload and cut.
    score: (i64, i64),
}

/// A partition of the finest graph, and the score that its run had on the coarsest.
struct Finished {
    initial: (i64, i64),
    scored: Scored,
}

/// Whether the cuts of some runs hardly differ. Then further runs would hardly find a smaller one.
fn are_alike(done: &[Finished]) -> bool {
    let scores = || done.iter().map(|run| run.scored.score);
    let ((least, low), (most, high)) = (scores().min().unwrap_or_default(), scores().max().unwrap_or_default());
    least == most && (high - low) as f64 <= ALIKE * low as f64
}

/// Partitions one problem.
pub(crate) struct Solver<'p, S = Graph<'p>> {
    pub(crate) problem: &'p Problem<'p, S>,
    settings: Settings,
    /// For each vertex, if runs keep to them.
    communities: Option<Vec<u32>>,
}

impl<'p, S: Structure + Send> Solver<'p, S> {
    pub(crate) fn new(problem: &'p Problem<'p, S>, settings: Settings) -> Self {
        Self { problem, settings, communities: None }
    }

    /// The best of some runs, improved by V-cycles.
    pub(crate) fn partition(mut self) -> Result<Scored, PartitionError> {
        let problem = self.problem;
        let mut best = if problem.graph.is_strip(problem.max_block_weights.len()) {
            // Slabs of a long strip are good already.
            match best_start(problem)? {
                Some(start) => self.cycle(&start.block_of, 0),
                None => self.best(None, self.begin(0)),
            }
        } else {
            if self.is_small() || self.settings.always_communities {
                self.communities = Some(problem.graph.communities(&problem.request.stop));
            }
            let (start, first) = rayon::join(|| best_start(problem), || self.begin(0));
            self.best(start?, first)
        };
        if let Some(packed) = self.packed(best.score.0) {
            best = packed;
        }
        self.settings.effort = self.settings.effort_again;
        for cycle in 0..self.settings.cycles {
            let next = self.cycle(&best.block_of, 1 + u64::from(cycle));
            if next.score <= best.score {
                best = next;
            }
        }
        Ok(best)
    }

    /// Vertices packed by weight alone, and refined: a way out where blocks are too heavy by `overload`. Heavy vertices that share a
    /// block are hard to part, since no other block has room for one. `None` if it does not lower the overload.
    fn packed(&self, overload: i64) -> Option<Scored> {
        let graph = &self.problem.graph;
        if overload == 0 {
            return None;
        }
        let mut order: Vec<u32> = (0..graph.len() as u32).collect();
        order.sort_by_key(|&vertex| Reverse(graph.weight(vertex)));
        let block_of = self.problem.fill(&order);
        let packed = self.overload(graph, &block_of);
        if packed >= overload {
            return None;
        }
        let refined = self.cycle(&block_of, 0);
        let score = (packed, graph.cut(&block_of));
        Some(if refined.score <= score { refined } else { Scored { score, block_of } })
    }

    /// Whether several runs cost little.
    pub(crate) fn is_small(&self) -> bool {
        self.problem.graph.entries() < SMALL
    }

    /// Coarsens, and partitions the coarsest graph.
    fn begin(&self, run: u64) -> Initial<S> {
        // Communities hide some cuts of graphs: every second run does without.
        let within = self.settings.always_communities || run.is_multiple_of(2);
        let communities = self.communities.as_deref().filter(|_| within);
        self.begin_by(run, communities, recursive_bisection)
    }

    /// The same with a block for the core, if there is one.
    fn begin_with_core(&self, run: u64) -> Option<Initial<S>> {
        let Problem { graph, request, max_block_weights, .. } = self.problem;
        let is_core = core(graph, max_block_weights, request.epsilon)?;
        // What is of the core joins nothing else: communities with odd numbers are of the core.
        let community = |vertex: usize| self.communities.as_ref().map_or(0, |of| of[vertex]);
        let communities: Vec<u32> =
            (0..graph.len()).map(|vertex| 2 * community(vertex) + u32::from(is_core[vertex])).collect();
        let partition =
            |coarsest: &S, weights: &[i64], communities: Option<&[u32]>, config: &InitialConfig<'_>, stop: &_| {
                let communities = communities.unwrap_or_default();
                let is_core = |vertex: u32| communities[vertex as usize] % 2 == 1;
                around_core(coarsest, is_core, weights, communities, config, stop)
            };
        Some(self.begin_by(run, Some(&communities), partition))
    }

    /// Coarsens within communities, if there are any, and partitions the coarsest graph.
    fn begin_by(
        &self,
        run: u64,
        communities: Option<&[u32]>,
        partition: impl Fn(&S, &[i64], Option<&[u32]>, &InitialConfig<'_>, &StopToken) -> Vec<u32>,
    ) -> Initial<S> {
        let Problem { graph, request, max_block_weights, .. } = self.problem;
        let coarsening = self.coarsening(run);
        let (levels, communities) = coarsen(graph, &coarsening, communities, &request.stop);
        let coarsest = levels.last().map_or(graph, |level| &level.graph);
        let config = InitialConfig {
            epsilon: request.epsilon,
            trials: if self.is_small() { self.settings.trials_if_small } else { self.settings.trials },
            max_members: coarsening.max_members,
            by_size: coarsening.by_size,
            coarsen_to: self.settings.bisection_target,
            effort: &self.settings.initial,
            seed: Random::new(request.seed, 1 + run).next(),
        };
        let block_of = partition(coarsest, max_block_weights, communities.as_deref(), &config, &request.stop);
        let score = (self.overload(coarsest, &block_of), coarsest.cut(&block_of));
        Initial { levels, block_of, score }
    }

    /// Refines on the way back to the finest graph.
    fn refine(&self, levels: Vec<Level<S>>, coarsest: Vec<u32>, purpose: u64) -> Scored {
        let Problem { graph, request, max_block_weights, .. } = self.problem;
        let mut random = Random::new(request.seed, 1_000_000 + purpose);
        let mut effort = self.settings.effort;
        if graph.has_hubs() {
            // A local search that reaches a hub touches most of the graph: skip it.
            effort.local = None;
            effort.propagation = 0;
        }
        uncoarsen(graph, levels, max_block_weights, coarsest, &effort, &mut random, &request.stop)
    }

    /// A V-cycle: coarsens within the blocks, and refines them again at every level.
    pub(crate) fn cycle(&self, block_of: &[u32], number: u64) -> Scored {
        let config = CoarsenConfig { max_members: self.settings.max_members, shuffle: None, ..self.coarsening(number) };
        let (levels, coarsest) = coarsen(&self.problem.graph, &config, Some(block_of), &self.problem.request.stop);
        self.refine(levels, coarsest.unwrap_or_default(), 1000 + number)
    }

    /// V-cycles from a partition of all blocks, as long as they help.
    pub(crate) fn improve(&self, block_of: Vec<u32>) -> Scored {
        let graph = &self.problem.graph;
        let mut best = Scored { score: (self.overload(graph, &block_of), graph.cut(&block_of)), block_of };
        for number in 0..1 + u64::from(self.settings.cycles) {
            let next = self.cycle(&best.block_of, number);
            if next.score >= best.score {
                break;
            }
            best = next;
        }
        best
    }

    /// How a run coarsens. On small graphs, every second run coarsens by matching: it finds other cuts than clustering does.
    /// Large graphs would need too many levels. From the third run on, vertices are visited in random order.
    fn coarsening(&self, run: u64) -> CoarsenConfig {
        let Problem { graph, request, max_block_weights, .. } = self.problem;
        let target = (self.settings.target_per_block * max_block_weights.len()).max(2000);
        let max_weight = (graph.total_weight() as f64 * 1.5 / target as f64).ceil() as i64;
        let is_second = run % 2 == 1;
        let max_members = if is_second && self.is_small() { 2 } else { self.settings.max_members };
        let flipped = if self.is_small() { run % 4 == 2 } else { is_second };
        let by_size = graph.is_even() != flipped;
        let shuffle = (run > 1).then(|| Random::new(request.seed, 2_000_000 + run).next());
        CoarsenConfig { target, max_weight, max_members, by_size, shuffle }
    }

    /// The best of all runs, the first begun already, and of the start, refined. If there is only one run, either it or the
    /// start is refined.
    fn best(&self, start: Option<Start>, first: Initial<S>) -> Scored {
        let runs = if self.is_small() { self.settings.runs_if_small } else { self.settings.runs };
        // Several threads begin all runs together, since they share coarsening well, and then finish one run each. One
        // thread finishes a run before it begins the next, so that only one run's levels are in memory.
        let begin_first = !self.is_small() && rayon::current_num_threads() > 1;
        let finish = |(run, initial): (u64, Option<Initial<S>>)| {
            let initial = initial.unwrap_or_else(|| self.begin(run));
            self.finish(run, initial, start.as_ref().filter(|_| runs == 1))
        };
        let finish_all = |runs: Vec<(u64, Option<Initial<S>>)>| -> Vec<Finished> {
            runs.into_par_iter().with_max_len(1).map(finish).collect()
        };
        let others = (1..runs.min(2)).map(|run| (run, begin_first.then(|| self.begin(run))));
        let mut done = finish_all(std::iter::once((0, Some(first))).chain(others).collect());
        if runs > 2 && !are_alike(&done) {
            done.extend(finish_all((2..runs).map(|run| (run, None)).collect()));
        }
        let mut least = done.iter().map(|run| run.initial).min();
        // On large graphs with hubs, ranges by degree begin with such a block, and a further run costs much.
        if runs > 1
            && self.is_small()
            && let Some(initial) = self.begin_with_core(runs)
            && least.is_none_or(|best| is_worth_a_run(initial.score, best))
        {
            done.push(self.finish(runs, initial, None));
            least = done.iter().map(|run| run.initial).min();
        }
        let is_worth_it = |start: &&Start| runs > 1 && least.is_none_or(|best| start.is_worth_a_run(best));
        let refined = start.as_ref().filter(is_worth_it).map(|start| self.cycle(&start.block_of, 0));
        let best = done.into_iter().map(|run| run.scored).chain(refined).min_by_key(|scored| scored.score);
        match (start, best) {
            // Balancing may have cost more than refinement gained.
            (Some(start), Some(best)) if (0, start.cut) < best.score => self.cycle(&start.block_of, 0),
            (_, Some(best)) => best,
            (_, None) => self.finish(0, self.begin(0), None).scored,
        }
    }

    /// Refines the initial partition, or the start instead if there is one that promises more.
    fn finish(&self, run: u64, initial: Initial<S>, start: Option<&Start>) -> Finished {
        let Initial { levels, block_of, score } = initial;
        let scored = match start.filter(|start| start.is_near(score)) {
            Some(start) => {
                drop(levels);
                self.cycle(&start.block_of, 0)
            }
            None => self.refine(levels, block_of, run),
        };
        Finished { initial: score, scored }
    }

    /// By how much blocks exceed what they may weigh, added up.
    pub(crate) fn overload(&self, graph: &S, block_of: &[u32]) -> i64 {
        let weights = graph.block_weights(block_of, self.problem.max_block_weights.len());
        weights.iter().zip(&self.problem.max_block_weights).map(|(&weight, &most)| (weight - most).max(0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Hypergraph, UndirectedGraph};

    use super::*;
    use crate::partition::PartitionRequest;
    use crate::partition::multilevel::settings::Preset;

    fn finished(overload: i64, cut: i64) -> Finished {
        Finished { initial: (0, 0), scored: Scored { score: (overload, cut), block_of: Vec::new() } }
    }

    #[test]
    fn runs_are_alike_within_a_hundredth_of_the_cut_and_with_one_overload() {
        assert!(are_alike(&[finished(0, 1000), finished(0, 1010)]));
        assert!(!are_alike(&[finished(0, 1000), finished(0, 1011)]));
        assert!(!are_alike(&[finished(0, 1000), finished(1, 1000)]));
    }

    /// A path with heavy vertices at its begin, two of which fit no block: a search begins with them in one, and cannot part them.
    #[test]
    fn heavy_vertices_that_share_a_block_are_parted_where_a_packing_does() {
        for (blocks, epsilon, heavy, light) in
            [(3, 0.03, [5; 3].as_slice(), 6), (8, 0.01, &[14; 8], 32), (12, 0.0, &[8; 11], 29)]
        {
            let weights: Vec<u64> = heavy.iter().copied().chain(std::iter::repeat_n(1, light)).collect();
            let count = weights.len();
            let edges = (1..count as u32).map(|vertex| (vertex - 1, vertex, 1));
            let graph = UndirectedGraph::from_edges(count, edges, Some(weights)).unwrap();
            for seed in 0..6 {
                let request = PartitionRequest::new(blocks, epsilon, seed);
                let problem = Problem::new(&graph, &request, false).unwrap();
                for preset in [Preset::Fast, Preset::Default, Preset::Quality] {
                    let found = Solver::new(&problem, preset.settings()).partition().unwrap();
                    assert_eq!(found.score.0, 0, "{blocks} blocks, seed {seed}, {preset:?}");
                }
            }
        }
    }

    /// Nets of 4,000 vertices whose degrees and sizes follow power laws.
    fn power_law(seed: u64) -> Hypergraph {
        let count = 4000usize;
        let mut random = Random::new(seed, 5);
        let mut share = || random.below(1 << 30) as f64 / f64::from(1 << 30);
        let (mut offsets, mut pins) = (vec![0], Vec::new());
        for _ in 0..count {
            let size = (2.0 + (1.0 - share()).powf(-1.0 / 1.4)).min(100.0) as usize;
            let mut own: Vec<u32> = (0..size).map(|_| (share().powf(1.0 / 0.45) * count as f64) as u32).collect();
            own.sort_unstable();
            own.dedup();
            pins.extend(own);
            offsets.push(pins.len() as u64);
        }
        Hypergraph::from_nets(count, offsets, pins, None, None).unwrap()
    }

    #[test]
    fn a_block_for_the_core_lowers_the_cost_of_power_laws() {
        for seed in 1..4 {
            let nets = power_law(seed);
            let graph: UndirectedGraph = nets.to_graph().unwrap();
            let request = PartitionRequest::new(16, 0.03, seed);
            let problem = Problem::of_nets(&graph, &nets, &request, false).unwrap();
            let mut solver = Solver::new(&problem, Preset::Default.settings_for_nets());
            solver.communities = Some(problem.graph.communities(&request.stop));
            let plain = (0..3).map(|run| solver.finish(run, solver.begin(run), None).scored.score).min().unwrap();
            let best = solver.best(None, solver.begin(0)).score;
            assert!(best.0 <= plain.0 && best.1 * 100 < plain.1 * 98, "{seed}: {plain:?}, {best:?}");
        }
    }
}
