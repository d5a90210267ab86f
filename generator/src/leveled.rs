//! Leveled random graphs (L §6.2): ops in levels, edges from lower levels to higher ones.
//!
//! A graph has a number of levels, each with a random number of ops, and two sorts of edges, counted apart:
//!
//! - *level-based* edges, between ops that are at most a limit of levels apart, or with a likelihood that decays with
//!   the distance ([`Decay`]);
//! - *random* edges, which connect any two ops of different levels that no level-based edge connects.
//!
//! Both are given as a probability of each pair or as an exact number ([`Amount`]). With an exact number, every set of
//! that many pairs is equally likely, as if one drew pairs and rejected those that exist already. With a decay, the
//! number of edges into each level is drawn first, and then pairs in proportion to the factor of their distance.
//!
//! # How it is made
//!
//! A [`LeveledPlan`] draws the size of each level and how many edges enter it: the numbers of a multivariate
//! hypergeometric or of binomial draws. Then every level draws its pairs from its own random stream, one 64-bit draw an
//! edge, sorts them by target by counting, and so writes the backward adjacency in its final order. The same bytes come
//! out on any number of threads.
//!
//! # Reference
//! L. Laich. "Graph Partitioning and Scheduling for Distributed Dataflow Computation." 2017. Section 6.2, Table 7.1.

mod chunks;
mod colocation;
mod edges;
mod levels;
mod params;
mod plan;
mod presets;

use std::ops::Range;

use placebench_base::process::check_memory;
use placebench_datasets::{BackwardParts, Colocation, DataflowGraph, KindSet, OpId};
use rayon::prelude::*;

pub use chunks::{LeveledChunks, OpBatch};
pub(crate) use colocation::draw_groups;
pub use params::{Amount, ColocationParams, Decay, LevelEdges, LeveledParams};
pub use plan::LeveledPlan;

use crate::costs::OpColumns;
use crate::error::GeneratorError;
use crate::pairs::Rows;
use crate::random::{Purpose, stream};
use crate::relation;
use crate::unrelated::MachineTimes;
use edges::write_level;

/// A leveled graph, with what is known about how it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct LeveledGraph {
    /// The graph. Ids ascend level by level.
    pub graph: DataflowGraph,
    /// Counts.
    pub stats: GraphStats,
    /// First op of each level, and the number of ops.
    pub level_offsets: Vec<u32>,
}

/// Counts of a leveled graph, as in L Table 7.1.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphStats {
    /// Number of ops.
    pub nodes: u64,
    /// Number of edges.
    pub edges: u64,
    /// Number of random long-range edges.
    pub random_edges: u64,
    /// Number of level-based edges.
    pub level_edges: u64,
    /// Number of levels.
    pub levels: u64,
    /// Ops in the smallest level.
    pub least_nodes_per_level: u64,
    /// Ops in the largest level.
    pub most_nodes_per_level: u64,
    /// Edges an op.
    pub average_degree: f64,
    /// Ops in some colocation group.
    pub colocated_nodes: u64,
    /// Number of colocation groups.
    pub colocation_groups: u64,
}

/// Makes a leveled graph.
///
/// # Errors
/// If a parameter makes no sense, more edges are asked for than there are pairs, or the graph does not fit 32-bit ids.
///
/// # Complexity
/// O(ops + edges) for sparse graphs. The graph takes 41 bytes an op and 16 an edge; at most 8 bytes of each serve as
/// scratch space while it is made.
///
/// # Example
/// ```
/// use placebench_generator::{LeveledParams, generate_leveled};
///
/// let laich3 = generate_leveled(&LeveledParams::preset("laich3").unwrap(), 1).unwrap();
/// assert_eq!((laich3.stats.nodes, laich3.stats.edges), (7475, 49510));
/// ```
pub fn generate_leveled(params: &LeveledParams, seed: u64) -> Result<LeveledGraph, GeneratorError> {
    // The plan alone of more ops than fit would take long.
    let ops = params.nodes.unwrap_or_default();
    check_memory(&[(ops, OP_BYTES)], || format!("a graph of {ops} ops"))?;
    LeveledPlan::new(params, seed)?.generate()
}

/// The edges into one level of a graph, made alone, as (source, target), ascending by target, then by source.
///
/// Makes the plan first; for more than one level, make a [`LeveledPlan`] once.
///
/// # Errors
/// As [`generate_leveled`], or if there is no such level.
pub fn level_edges(params: &LeveledParams, seed: u64, level: usize) -> Result<Vec<(OpId, OpId)>, GeneratorError> {
    let plan = LeveledPlan::new(params, seed)?;
    if level >= plan.level_count() {
        return Err(GeneratorError::bad("level", level, format!("below the number of levels, {}", plan.level_count())));
    }
    Ok(plan.edges_into(level))
}

/// Bytes an op and an edge while a graph is made, scratch space included.
pub(crate) const OP_BYTES: u64 = 41 + 8;
pub(crate) const EDGE_BYTES: u64 = 16 + 8;

impl LeveledPlan {
    /// Makes all levels, in parallel over levels. Takes the plan, whose colocation becomes the graph's.
    ///
    /// # Errors
    /// If the graph does not fit 32-bit ids or memory.
    pub fn generate(mut self) -> Result<LeveledGraph, GeneratorError> {
        let (ops, edges) = (self.op_count(), self.edge_count());
        if edges >= u64::from(u32::MAX) {
            return Err(GeneratorError::TooLarge { ops: ops as u64, edges });
        }
        let of_times = self.levels.params.times.as_ref().map_or(0, MachineTimes::op_bytes);
        let parts = [(ops as u64, OP_BYTES + of_times), (edges, EDGE_BYTES)];
        check_memory(&parts, || format!("a graph of {ops} ops and {edges} edges"))?;
        let mut parts = BackwardParts {
            ops: vec![0.0; ops],
            memory_bytes: vec![0; ops],
            kinds: vec![KindSet::ALL; ops],
            tensor_bytes: vec![0; ops],
            in_offsets: vec![0; ops + 1],
            in_sources: Vec::new(),
            colocation: Colocation::default(),
        };
        let mut sources = vec![0; edges as usize];
        let columns = OpColumns {
            ops: &mut parts.ops,
            memory_bytes: &mut parts.memory_bytes,
            tensor_bytes: &mut parts.tensor_bytes,
            kinds: &mut parts.kinds,
        };
        self.spans(columns, &mut parts.in_offsets[1..], &mut sources).into_par_iter().for_each(|span| span.make(&self));
        // A colocation group has one constraint for all members.
        for (group, members) in self.colocation.groups() {
            for &op in members {
                parts.kinds[op.index()] = self.group_kinds[group.index()];
            }
        }
        let params = &self.levels.params;
        if params.correlation != 0.0 {
            let rng = &mut stream(self.levels.seed, Purpose::Correlation, 0);
            relation::correlate(&parts.ops, &mut parts.tensor_bytes, params.correlation, rng);
        }
        let (stats, ccr) = (self.stats(), params.ccr);
        parts.colocation = std::mem::take(&mut self.colocation);
        parts.in_sources = sources.into_iter().map(OpId).collect();
        let mut graph = DataflowGraph::from_backward(parts)?;
        if let Some(times) = &self.levels.params.times {
            graph = times.draw(&graph, self.levels.seed)?;
        }
        if let Some(ccr) = ccr {
            graph = relation::scale_to_ccr(&graph, ccr)?;
        }
        Ok(LeveledGraph { graph, stats, level_offsets: self.levels.first_op })
    }

    /// The counts of the graph that the plan makes.
    pub fn stats(&self) -> GraphStats {
        let sizes = self.levels.first_op.windows(2).map(|pair| u64::from(pair[1] - pair[0]));
        let random_edges = self.random_edge_count();
        GraphStats {
            nodes: self.op_count() as u64,
            edges: self.edge_count(),
            random_edges,
            level_edges: self.edge_count() - random_edges,
            levels: self.level_count() as u64,
            least_nodes_per_level: sizes.clone().min().unwrap_or(0),
            most_nodes_per_level: sizes.max().unwrap_or(0),
            average_degree: if self.op_count() == 0 { 0.0 } else { self.edge_count() as f64 / self.op_count() as f64 },
            colocated_nodes: self.colocation.colocated_op_count() as u64,
            colocation_groups: self.colocation.group_count() as u64,
        }
    }

    /// Cuts the columns into runs of levels, each about as much work.
    fn spans<'a>(&self, columns: OpColumns<'a>, mut ends: &'a mut [u32], mut sources: &'a mut [u32]) -> Vec<Span<'a>> {
        /// Ops and edges of a span: enough to make scheduling cheap, and few enough to stay in cache.
        const SPAN: u64 = 1 << 16;
        let work = |level: usize| self.first_edge[level] + u64::from(self.levels.first_op[level]);
        let mut spans = Vec::new();
        let mut columns = columns;
        let mut from = 0;
        for to in 1..=self.level_count() {
            if to < self.level_count() && work(to) - work(from) < SPAN {
                continue;
            }
            let ops = (self.levels.first_op[to] - self.levels.first_op[from]) as usize;
            let (here, rest) = columns.split(ops);
            columns = rest;
            let (span_ends, rest) = ends.split_at_mut(ops);
            ends = rest;
            let (span_sources, rest) = sources.split_at_mut((self.first_edge[to] - self.first_edge[from]) as usize);
            sources = rest;
            spans.push(Span { levels: from..to, columns: here, ends: span_ends, sources: span_sources });
            from = to;
        }
        spans
    }
}

/// A run of consecutive levels and the parts of the graph's columns that they fill.
struct Span<'a> {
    levels: Range<usize>,
    columns: OpColumns<'a>,
    ends: &'a mut [u32],
    sources: &'a mut [u32],
}

impl Span<'_> {
    fn make(mut self, plan: &LeveledPlan) {
        let mut rows = Rows::default();
        let (first_op, first_edge) = (plan.levels.first_op[self.levels.start], plan.first_edge[self.levels.start]);
        for level in self.levels.clone() {
            let ops = plan.level_ops(level);
            let range = (ops.start - first_op) as usize..(ops.end - first_op) as usize;
            let edges =
                (plan.first_edge[level] - first_edge) as usize..(plan.first_edge[level + 1] - first_edge) as usize;
            write_level(
                &mut rows,
                &plan.levels,
                &plan.shape(level),
                plan.first_edge[level] as u32,
                &mut self.ends[range.clone()],
                &mut self.sources[edges],
            );
            self.columns.part(range).draw(
                &plan.levels.params.costs,
                &plan.levels.params.kinds,
                plan.levels.seed,
                level as u64,
            );
        }
    }
}
