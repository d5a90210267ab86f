//! Multilevel partitioning: coarsen, partition the coarsest graph, uncoarsen and refine.

mod acyclic;
mod coarsening;
mod graph;
mod heap;
pub(crate) mod initial;
mod nets;
mod pool;
pub(crate) mod problem;
pub(crate) mod random;
pub(crate) mod refinement;
mod settings;
mod solver;
pub(crate) mod structure;
mod weights;

use std::borrow::Cow;

use placebench_datasets::{Hypergraph, HypergraphError, UndirectedGraph};

use self::nets::{Nets, neighbourhoods};
use self::problem::Problem;
use self::refinement::Scored;
pub use self::settings::Preset;
use self::settings::Settings;
use self::solver::Solver;
use super::{NetWeight, Partition, PartitionError, PartitionRequest, Partitioner};
use crate::{Algorithm, Named, Params, SpecError};

/// What the partitioner minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The weight of the edges between blocks.
    Cut,
    /// The weight of each net of the request once for each further block that the net is in. Tensors weigh what edges
    /// do. Without nets, a vertex and its neighbours are a net of weight 1.
    Connectivity,
    /// The same, but tensors weigh their bytes, however edges are weighed.
    Traffic,
}

impl Named for Objective {
    const NAMES: &'static [(&'static str, Self)] =
        &[("cut", Self::Cut), ("connectivity", Self::Connectivity), ("traffic", Self::Traffic)];
}

impl Objective {
    /// What it is, for the lists of parameters.
    pub(super) const HELP: &str =
        "cut: edges between blocks; connectivity: each net once for each further block; traffic: so for tensors' bytes";

    /// How tensors weigh as nets; `None` if edges count.
    pub(super) fn counts_nets(self) -> Option<NetWeight> {
        match self {
            Self::Cut => None,
            Self::Connectivity => Some(NetWeight::Edge),
            Self::Traffic => Some(NetWeight::Bytes),
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

impl Named for Coarsening {
    const NAMES: &'static [(&'static str, Self)] = &[("clusters", Self::Clusters), ("matching", Self::Matching)];
}

/// Multilevel k-way partitioning.
///
/// **Coarsening** visits the vertices by degree, low degrees first. Each joins the cluster to which its edges weigh most: label
/// propagation with a bound on weight and members. If all edges are equal, the weight is divided by the root of the cluster's
/// weight. Vertices whose favourite cluster is full join each other. With nets always, and on small graphs in every second run,
/// clusters stay within communities of large modularity.
///
/// The **initial partition** bisects the coarsest graph recursively. Each bisection is multilevel itself, and begins with
/// greedy graph growing from several seeds and by several rules.
///
/// **Refinement** at each level of the way back is FM between all blocks: first one search from the whole boundary, then one
/// from each boundary vertex. Every search is undone back to its least cut. Except with `fast`, the first is repeated while
/// blocks may be 5 % too heavy; then they are balanced, and all of that is undone unless the cut fell.
///
/// Threads share the work on large graphs, and their number does not change the partition. They cluster ranges of vertices
/// concurrently, then the vertices that prefer a cluster beyond their range. They look for moves that lower the cut
/// everywhere, and make them in the order of their gains before FM begins. Local searches run in batches, each with its own
/// delta over the partition; what they found is carried out in turn, as far as it still holds.
///
/// Isolated vertices are set aside and fill up the blocks at the end. Ranges by degree (if there are hubs) and the slabs of
/// [`LevelSlabs`](super::LevelSlabs) replace the initial partition if they cut less. Of several runs one may begin with them, and
/// one with a block for the core, the vertices of most degree. If two runs end within 1 % of each other, they are the last, but
/// for these.
///
/// # Reference
/// B. Hendrickson, R. Leland: A multilevel algorithm for partitioning graphs. Supercomputing 1995,
/// doi:10.1145/224170.224228. G. Karypis, V. Kumar: Multilevel k-way partitioning scheme for irregular graphs. Journal of
/// Parallel and Distributed Computing 48 (1998), 96–129, doi:10.1006/jpdc.1997.1404. Clusters by label propagation:
/// H. Meyerhenke, P. Sanders, C. Schulz: Partitioning complex networks via size-constrained clustering. SEA 2014,
/// doi:10.1007/978-3-319-07959-2_30. Communities: T. Heuer, S. Schlag: Improving coarsening schemes for hypergraph
/// partitioning by exploiting community structure. SEA 2017, doi:10.4230/LIPIcs.SEA.2017.21. Localised FM: P. Sanders,
/// C. Schulz: Engineering multilevel graph partitioning algorithms. ESA 2011, doi:10.1007/978-3-642-23719-5_40.
/// Blocks that may be too heavy for a while: N. Maas, L. Gottesbüren, D. Seemaier: Parallel unconstrained local search for
/// partitioning irregular graphs. ALENEX 2024. Acyclic blocks: J. Herrmann, M. Y. Özkaya, B. Uçar, K. Kaya, Ü. V. Çatalyürek:
/// Multilevel algorithms for acyclic partitioning of directed acyclic graphs. SIAM Journal on Scientific Computing 41 (2019),
/// A2117–A2145, doi:10.1137/18M1176865; O. Moreira, M. Popp, C. Schulz: Graph partitioning with
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
/// be a topological order (see [`View`](placebench_datasets::View)), and every edge leads to the same or a later
/// block. The partition begins with slabs, of the vertices' order and of orders that minimum cuts have changed. Then a
/// vertex moves only between its predecessors' last block and its successors' first. On the finest level, and not with the
/// preset `fast`, whole sets move: in graphs without hubs searches from single vertices take along up to 5 predecessors or
/// successors that are in the way (15 with `quality`), and minimum cuts that go against no edge divide near blocks anew. It
/// is never worse than [`LevelSlabs`](super::LevelSlabs), except with thousands of blocks, where the best slabs would take
/// too long. Coarsening joins vertices of one block only, so that its clusters
/// need not be acyclic.
///
/// Nets instead of edges take the same way. A pin of a net of p pins belongs to another as by an edge of 1 / (p − 1) of
/// the net's weight; nets of more than 1000 pins are passed over in that. Blocks of small edge cut are refined for nets
/// in V-cycles. On small graphs the better of both ways counts; acyclic blocks only come this way,
/// and from slabs by the nets that their borders cut. There, each preset also does what the quicker ones do.
#[derive(Clone, Copy, Debug)]
pub struct Multilevel {
    /// Time against quality.
    pub preset: Preset,
    /// How vertices are joined.
    pub coarsening: Coarsening,
    /// What is minimised.
    pub objective: Objective,
    /// Whether the blocks must form no cycle, every edge leading from the lower to the higher number.
    pub acyclic: bool,
}

impl Algorithm for Multilevel {
    const NAME: &str = "multilevel";
    const SUMMARY: &str = "coarsens, partitions the coarsest graph, and refines on the way back";
    const SOURCE: &str = "Hendrickson, Leland 1995; Karypis, Kumar 1998";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let coarsening = "clusters: by label propagation, or matching: in pairs of heavy edges";
        let acyclic =
            "true: every edge leads to the same or a later block, the vertices' numbers being a topological order";
        Ok(Self {
            preset: params.word("preset", Preset::Default, "time against quality: fast, default or quality")?,
            coarsening: params.word("coarsening", Coarsening::Clusters, coarsening)?,
            objective: params.word("objective", Objective::Cut, Objective::HELP)?,
            acyclic: params.word("acyclic", false, acyclic)?,
        })
    }
}

impl Partitioner for Multilevel {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        if self.objective == Objective::Cut {
            let problem = Problem::new(graph, request, self.acyclic)?;
            let solver = Solver::new(&problem, self.joining(self.preset.settings()));
            let best = if self.acyclic { acyclic::partition(&solver, self.preset)? } else { solver.partition()? };
            return problem.complete(best.block_of);
        }
        let nets = nets_of(graph, request)?;
        let problem = Problem::of_nets(graph, &nets, request, self.acyclic)?;
        let solver = Solver::new(&problem, self.joining(self.preset.settings_for_nets()));
        let best = if self.acyclic {
            self.acyclic_for_nets(graph, &problem)?
        } else if solver.is_small() {
            // On small graphs, runs differ much. Some nets are cut less by whoever looks at edges.
            let start = self.for_edges(graph, request)?;
            let (refined, found) = (solver.improve(problem.restrict(start.block_of)), solver.partition()?);
            if refined.score < found.score { refined } else { found }
        } else {
            solver.partition()?
        };
        problem.complete(best.block_of)
    }

    fn counts_nets(&self) -> Option<NetWeight> {
        self.objective.counts_nets()
    }

    fn needs_order(&self) -> bool {
        self.acyclic
    }
}

impl Multilevel {
    /// The blocks of least edge cut.
    fn for_edges(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        Self { objective: Objective::Cut, ..*self }.partition(graph, request)
    }

    /// The best acyclic blocks for nets that this preset and the quicker ones find: a slower preset is never worse.
    fn acyclic_for_nets(&self, graph: &UndirectedGraph, problem: &Problem<'_, Nets>) -> Result<Scored, PartitionError> {
        let mut best: Option<Scored> = None;
        for &preset in self.preset.and_quicker() {
            let quicker = Self { preset, ..*self };
            let solver = Solver::new(problem, quicker.joining(preset.settings_for_nets()));
            let start = quicker.for_edges(graph, problem.request)?;
            let found = acyclic::for_nets::partition(&solver, preset, problem.restrict(start.block_of))?;
            if best.as_ref().is_none_or(|best| found.score < best.score) {
                best = Some(found);
            }
        }
        best.ok_or(PartitionError::Stopped)
    }

    /// Settings that join vertices as they should be.
    fn joining(&self, settings: Settings) -> Settings {
        match self.coarsening {
            Coarsening::Clusters => settings,
            Coarsening::Matching => Settings { max_members: 2, ..settings },
        }
    }
}

/// The nets of a request, or those of the graph if there are none.
pub(super) fn nets_of<'r>(
    graph: &UndirectedGraph,
    request: &'r PartitionRequest,
) -> Result<Cow<'r, Hypergraph>, PartitionError> {
    match &request.nets {
        Some(nets) if nets.vertex_count() == graph.vertex_count() => Ok(Cow::Borrowed(nets)),
        Some(nets) => {
            let (found, expected) = (nets.vertex_count(), graph.vertex_count());
            let what = format!("the nets have {found} vertices, and the graph {expected}: give both the same");
            Err(PartitionError::Unsupported(what))
        }
        None => {
            let unsupported = |error: HypergraphError| PartitionError::Unsupported(error.to_string());
            neighbourhoods(graph).map(Cow::Owned).map_err(unsupported)
        }
    }
}
