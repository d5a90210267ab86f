//! Multilevel partitioning: coarsen, partition the coarsest graph, uncoarsen and refine.

mod acyclic;
#[cfg(test)]
mod bound;
mod coarsening;
pub(crate) mod engine;
mod graph;
mod heap;
mod initial;
mod isolated;
mod pool;
mod random;
mod refinement;
mod settings;

use placebench_datasets::UndirectedGraph;
use rayon::prelude::*;

use self::coarsening::communities::communities;
use self::coarsening::{CoarsenConfig, Level, coarsen};
use self::graph::{Graph, Scale, Weight};
use self::initial::starts::{Start, best_start};
use self::initial::{InitialConfig, recursive_bisection};
use self::random::Random;
use self::refinement::volume::lower_volume;
use self::refinement::{Scored, uncoarsen};
pub use self::settings::Preset;
use self::settings::Settings;
use super::{Partition, PartitionError, Partitioner, Request};

/// What a partition should have little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The weight of the edges between blocks.
    Cut,
    /// The communication volume: a vertex's value goes once to each block that needs it.
    Volume,
}

impl std::str::FromStr for Aim {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "cut" => Ok(Self::Cut),
            "volume" => Ok(Self::Volume),
            _ => Err(()),
        }
    }
}

/// How coarsening joins vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coarsening {
    /// Up to eight in a step, by size-constrained label propagation: the better on all families measured.
    Clusters,
    /// In pairs, by heavy-edge matching.
    Matching,
}

impl std::str::FromStr for Coarsening {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "clusters" => Ok(Self::Clusters),
            "matching" => Ok(Self::Matching),
            _ => Err(()),
        }
    }
}

/// Multilevel k-way partitioning.
///
/// Coarsening joins each vertex, low degrees first, to the cluster that it is tied to most, where edges are equal for the
/// root of the cluster's weight (label propagation with a bound on weight and members); vertices whose favourite is full
/// join each other. On small graphs every other run keeps clusters within communities of large modularity. The coarsest
/// graph is bisected recursively, each bisection multilevel itself and begun by greedy graph growing from several seeds and
/// by several rules. At each level of the way back FM moves vertices between all blocks: first with one search for the whole
/// boundary, then with one from each boundary vertex; both are undone back to their best point.
///
/// Threads share the work on large graphs, and the partition depends on the graph alone, not on their number: ranges of
/// vertices are clustered at the same time, then who prefers a cluster beyond its range; moves that lower the cut are looked
/// for everywhere and made in the order of their gains before FM begins; searches from single vertices run in batches, each
/// on an overlay over the partition as it was, and what they found is carried out in turn as far as it still holds.
///
/// Isolated vertices are set aside and fill up the blocks at the end. Ranges by degree (where there are hubs) and the slabs
/// of [`LevelSlabs`](super::LevelSlabs) are refined instead of the initial partition where they cut less.
///
/// # Reference
/// B. Hendrickson, R. Leland: A multilevel algorithm for partitioning graphs. Supercomputing 1995,
/// doi:10.1145/224170.224228. G. Karypis, V. Kumar: Multilevel k-way partitioning scheme for irregular graphs. Journal of
/// Parallel and Distributed Computing 48 (1998), 96–129, doi:10.1006/jpdc.1997.1404. Clusters by label propagation:
/// H. Meyerhenke, P. Sanders, C. Schulz: Partitioning complex networks via size-constrained clustering. SEA 2014,
/// doi:10.1007/978-3-319-07959-2_30. Communities: T. Heuer, S. Schlag: Improving coarsening schemes for hypergraph
/// partitioning by exploiting community structure. SEA 2017, doi:10.4230/LIPIcs.SEA.2017.21. Localised FM: P. Sanders,
/// C. Schulz: Engineering multilevel graph partitioning algorithms. ESA 2011, doi:10.1007/978-3-642-23719-5_40. Acyclic blocks: J. Herrmann, M. Y. Özkaya, B. Uçar, K. Kaya,
/// Ü. V. Çatalyürek: Multilevel algorithms for acyclic partitioning of directed acyclic graphs. SIAM Journal on Scientific
/// Computing 41 (2019), A2117–A2145, doi:10.1137/18M1176865; O. Moreira, M. Popp, C. Schulz: Graph partitioning with
/// acyclicity constraints. SEA 2017, doi:10.4230/LIPIcs.SEA.2017.30. Borders by flows: P. Sanders, C. Schulz 2011, as above;
/// balance by piercing: M. Hamann, B. Strasser: Graph bisection with Pareto optimization. ACM Journal of Experimental
/// Algorithmics 23 (2018), doi:10.1145/3173045.
///
/// # Complexity
/// About O(vertices + edges) a level, and O(edges + moves · degree · log boundary) for its refinement.
///
/// # Ties
/// Clusters: the first found, in the order of the rows. Blocks: the one with most room, then the lowest number. Vertices of
/// equal gain: the one whose gain changed last.
///
/// # Deviations
/// A block has an upper bound only: blocks may stay empty where that cuts less. Acyclic blocks: the vertices' numbers must
/// be a topological order (see [`TopologicalView`](super::TopologicalView)), and every edge leads to the same or a later
/// block. The partition begins with slabs, of the vertices' order and of orders that minimum cuts have changed. Then a
/// vertex moves only between its predecessors' last block and its successors' first. On the finest level, and not with the
/// preset `fast`, whole sets move: in graphs without hubs searches from single vertices take along up to 5 predecessors or
/// successors that are in the way (15 with `quality`), and minimum cuts that go against no edge divide near blocks anew. It
/// is never worse than [`LevelSlabs`](super::LevelSlabs). Coarsening joins vertices of one block only, so that its clusters
/// need not be acyclic.
/// For the communication volume the finest level of a partition of small cut is refined greedily.
#[derive(Clone, Copy, Debug)]
pub struct Multilevel {
    /// Time against quality.
    pub preset: Preset,
    /// How vertices are joined.
    pub coarsening: Coarsening,
    /// What is made small.
    pub aim: Aim,
    /// Whether the blocks must form no cycle, every edge leading from the lower to the higher number.
    pub acyclic: bool,
}

impl Partitioner for Multilevel {
    fn partition(&self, graph: &UndirectedGraph, request: &Request) -> Result<Partition, PartitionError> {
        request.check()?;
        let scale = Scale::of(graph);
        let block_of = match scale.is_narrow() {
            true => self.run::<u32>(graph, scale, request)?,
            false => self.run::<u64>(graph, scale, request)?,
        };
        Ok(Partition { blocks: request.blocks, block_of })
    }
}

impl Multilevel {
    fn run<W: Weight>(
        &self,
        graph: &UndirectedGraph,
        scale: Scale,
        request: &Request,
    ) -> Result<Vec<u32>, PartitionError> {
        let (split, caps) = engine::prepare::<W>(graph, scale, request, self.acyclic)?;
        let kept = split.kept.as_deref();
        let mut settings = self.preset.settings();
        if self.coarsening == Coarsening::Matching {
            settings.max_members = 2;
        }
        let mut work = Work { graph: &split.graph, caps: &caps, settings, request, communities: None };
        let find_start = || best_start(graph, &split.graph, kept, &caps, request, self.acyclic);
        let mut best = if self.acyclic || split.graph.is_strip(caps.len()) {
            // What the slabs of a long strip leave open, refinement finds.
            match find_start()? {
                Some(start) if self.acyclic => work.acyclic(acyclic::Effort::of(self.preset), start),
                Some(start) => work.cycle(&start.block_of, 0),
                None => work.best(None, work.begin(0)),
            }
        } else {
            work.find_communities();
            let (start, begun) = rayon::join(find_start, || work.begin(0));
            work.best(start?, begun)
        };
        work.settings.effort = work.settings.effort_again;
        // Acyclic blocks have had theirs.
        for cycle in 0..if self.acyclic { 0 } else { work.settings.cycles } {
            best = work.cycle(&best.block_of, 1 + u64::from(cycle));
        }
        if self.aim == Aim::Volume {
            best.block_of = lower_volume(&split.graph, &caps, best.block_of, &request.stop);
        }
        if request.stop.is_stopped() {
            Err(PartitionError::Stopped)
        } else {
            Ok(split.complete(graph, scale, &caps, best.block_of))
        }
    }
}

/// Vertices at which a bisection of the coarsest graph stops to coarsen further.
const BISECTION_TARGET: usize = 120;

/// Entries of a graph on which two runs cost little.
const SMALL: usize = 100_000;

/// A partition of the coarsest graph.
struct Begun<W: Weight> {
    levels: Vec<Level<W>>,
    block_of: Vec<u32>,
    /// Overload and cut.
    initial: (i64, i64),
}

/// A partition that went through all levels.
struct Run {
    /// Overload and cut at the coarsest.
    initial: (i64, i64),
    finished: Scored,
}

/// A graph to be partitioned.
struct Work<'w, 'a, W: Weight> {
    graph: &'w Graph<'a, W>,
    caps: &'w [i64],
    settings: Settings,
    request: &'w Request,
    /// Of each vertex, where the graph is small.
    communities: Option<Vec<u32>>,
}

impl<W: Weight> Work<'_, '_, W> {
    /// Whether several runs cost little.
    fn is_small(&self) -> bool {
        self.graph.entries() < SMALL
    }

    /// How a run coarsens. On small graphs every other one joins pairs, which elsewhere takes too many levels; there it counts
    /// what the others do not. From the third on the order is random.
    fn coarsening(&self, run: u64) -> CoarsenConfig {
        let target = (self.settings.target_per_block * self.caps.len()).max(2000);
        let max_weight = (self.graph.total_weight() as f64 * 1.5 / target as f64).ceil() as i64;
        let other = run % 2 == 1;
        let max_members = if other && self.is_small() { 2 } else { self.settings.max_members };
        let flipped = if self.is_small() { run % 4 == 2 } else { other };
        let by_size = self.graph.edge_weights.is_empty() != flipped;
        let shuffle = (run > 1).then(|| Random::new(self.request.seed, 2_000_000 + run).next());
        CoarsenConfig { target, max_weight, max_members, by_size, shuffle }
    }

    /// Large graphs do without, for the time.
    fn find_communities(&mut self) {
        if self.is_small() {
            self.communities = Some(communities(self.graph, &self.request.stop));
        }
    }

    /// The best of some runs, of which the first has begun, and of the start, refined. Where there is one run, either is
    /// carried to the end.
    fn best(&self, start: Option<Start>, begun: Begun<W>) -> Scored {
        let runs = if self.is_small() { self.settings.runs_if_small } else { self.settings.runs };
        // Threads share in coarsening better than in refining: they do the one together, and then a run each the other. One
        // thread has the levels of one run at a time.
        let at_first = !self.is_small() && rayon::current_num_threads() > 1;
        let others = (1..runs).map(|run| (run, at_first.then(|| self.begin(run))));
        let all: Vec<(u64, Option<Begun<W>>)> = std::iter::once((0, Some(begun))).chain(others).collect();
        let finish = |(run, begun): (u64, Option<Begun<W>>)| {
            let begun = begun.unwrap_or_else(|| self.begin(run));
            self.run(run, begun, start.as_ref(), runs == 1)
        };
        let done: Vec<Run> = all.into_par_iter().with_max_len(1).map(finish).collect();
        let least = done.iter().map(|run| run.initial).min();
        // The initial partitions were refined already, the start was not.
        let is_near = |start: &&Start| runs > 1 && least.is_none_or(|initial| start.is_near(initial));
        let refined = start.as_ref().filter(is_near).map(|start| self.cycle(&start.block_of, 0));
        let finished = done.into_iter().map(|run| run.finished).chain(refined).min_by_key(|finished| finished.score);
        match (start, finished) {
            // Balancing may have cost more than refinement gained.
            (Some(start), Some(best)) if (0, start.cut) < best.score => self.cycle(&start.block_of, 0),
            (_, Some(best)) => best,
            (_, None) => self.run(0, self.begin(0), None, false).finished,
        }
    }

    /// Coarsens and partitions the coarsest graph.
    fn begin(&self, run: u64) -> Begun<W> {
        let stop = &self.request.stop;
        let coarsening = self.coarsening(run);
        // The others find what communities hide.
        let communities = self.communities.as_deref().filter(|_| run.is_multiple_of(2));
        let (levels, communities) = coarsen(self.graph, &coarsening, communities, stop);
        let coarsest = levels.last().map_or(self.graph, |level| &level.graph);
        let config = InitialConfig {
            epsilon: self.request.epsilon,
            trials: if self.is_small() { self.settings.trials_if_small } else { self.settings.trials },
            max_members: coarsening.max_members,
            by_size: coarsening.by_size,
            coarsen_to: BISECTION_TARGET,
            effort: &self.settings.initial,
            seed: Random::new(self.request.seed, 1 + run).next(),
        };
        let block_of = recursive_bisection(coarsest, self.caps, communities.as_deref(), &config, stop);
        let initial = (self.overload(coarsest, &block_of), coarsest.cut(&block_of));
        Begun { levels, block_of, initial }
    }

    /// Uncoarsens; if `either`, that or the start, whichever promises more.
    fn run(&self, run: u64, begun: Begun<W>, start: Option<&Start>, either: bool) -> Run {
        let Begun { levels, block_of, initial } = begun;
        if let Some(start) = start.filter(|start| either && start.is_near(initial)) {
            drop(levels);
            return Run { initial, finished: self.cycle(&start.block_of, 0) };
        }
        Run { initial, finished: self.uncoarsen(levels, block_of, run) }
    }

    /// A V-cycle: coarsens within the blocks, and refines them again at every level.
    fn cycle(&self, block_of: &[u32], number: u64) -> Scored {
        let config = CoarsenConfig { max_members: self.settings.max_members, shuffle: None, ..self.coarsening(number) };
        let (levels, coarsest) = coarsen(self.graph, &config, Some(block_of), &self.request.stop);
        self.uncoarsen(levels, coarsest.unwrap_or_default(), 1000 + number)
    }

    fn uncoarsen(&self, levels: Vec<Level<W>>, coarsest: Vec<u32>, purpose: u64) -> Scored {
        let mut random = Random::new(self.request.seed, 1_000_000 + purpose);
        let mut effort = self.settings.effort;
        if self.graph.has_hubs() {
            // Searches from single vertices soon meet a hub, and then know everyone.
            effort.local = None;
            effort.propagation = 0;
        }
        uncoarsen(self.graph, levels, self.caps, coarsest, &effort, &mut random, &self.request.stop)
    }

    fn overload(&self, graph: &Graph<'_, W>, block_of: &[u32]) -> i64 {
        let mut loads = vec![0; self.caps.len()];
        for vertex in 0..graph.len() as u32 {
            loads[block_of[vertex as usize] as usize] += graph.weight(vertex);
        }
        loads.iter().zip(self.caps).map(|(&load, &cap)| (load - cap).max(0)).sum()
    }
}
