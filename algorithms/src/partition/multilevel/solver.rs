//! Runs through all levels: coarsen, partition the coarsest graph, refine on the way back.

use rayon::prelude::*;

use super::coarsening::clustering::CoarsenConfig;
use super::coarsening::{Level, coarsen};
use super::graph::Graph;
use super::initial::starts::{Start, best_start};
use super::initial::{InitialConfig, recursive_bisection};
use super::problem::Problem;
use super::random::Random;
use super::refinement::{Scored, uncoarsen};
use super::settings::Settings;
use super::structure::Structure;
use crate::partition::PartitionError;

/// A graph with fewer entries is small: several runs cost little.
const SMALL: usize = 100_000;

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
        self.settings.effort = self.settings.effort_again;
        for cycle in 0..self.settings.cycles {
            best = self.cycle(&best.block_of, 1 + u64::from(cycle));
        }
        Ok(best)
    }

    /// Whether several runs cost little.
    pub(crate) fn is_small(&self) -> bool {
        self.problem.graph.entries() < SMALL
    }

    /// Coarsens, and partitions the coarsest graph.
    fn begin(&self, run: u64) -> Initial<S> {
        let Problem { graph, request, max_block_weights, .. } = self.problem;
        let coarsening = self.coarsening(run);
        // Communities hide some cuts of graphs: every second run does without.
        let within = self.settings.always_communities || run.is_multiple_of(2);
        let communities = self.communities.as_deref().filter(|_| within);
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
        let block_of = recursive_bisection(coarsest, max_block_weights, communities.as_deref(), &config, &request.stop);
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
        let others = (1..runs).map(|run| (run, begin_first.then(|| self.begin(run))));
        let all: Vec<(u64, Option<Initial<S>>)> = std::iter::once((0, Some(first))).chain(others).collect();
        let finish = |(run, initial): (u64, Option<Initial<S>>)| {
            let initial = initial.unwrap_or_else(|| self.begin(run));
            self.finish(run, initial, start.as_ref().filter(|_| runs == 1))
        };
        let done: Vec<Finished> = all.into_par_iter().with_max_len(1).map(finish).collect();
        let least = done.iter().map(|run| run.initial).min();
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
