//! Ops that belong together become one.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, OpId};

use super::contraction::{Clusters, contract, may_join};
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::refused_by;

/// What becomes one op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The ops of a colocation group, as far as precedence allows.
    Groups,
    /// Ops in a row: each but the first has one predecessor, and is its only successor.
    Chains,
    /// First the groups, then the chains of what came out.
    Both,
}

impl Named for What {
    const NAMES: &'static [(&'static str, Self)] =
        &[("groups", Self::Groups), ("chains", Self::Chains), ("both", Self::Both)];
}

/// Makes one op of what a placement does not tell apart: of a colocation group, whose ops share a device anyway, and of a chain,
/// which no placement should split, since every split costs a transfer and nothing else could run meanwhile.
///
/// A group becomes as few ops as its stages: an op's stage is the largest number of edges between units on a path to it. Two ops of a
/// group in one stage have no path between them that leaves the group, so that the new graph has no cycle: along each of its edges
/// the stage grows. A chain is not split where all devices are faster or slower by one factor; ops of it whose measured times
/// favour different classes of devices stay apart. Variables that others refer to stay alone, since their outputs take no memory.
///
/// An op that became one starts when all its inputs are there, so that a schedule may become longer.
///
/// # Complexity
/// O((ops + edges) · log ops).
///
/// # Reference
/// L §4.1 (assignment units); V. Sarkar: Partitioning and scheduling parallel programs for multiprocessors. 1989, §4 (linear
/// clusters).
pub(super) struct Coarsen {
    what: What,
}

impl Pass for Coarsen {
    const NAME: &'static str = "coarsen";
    const SUMMARY: &'static str = "makes one op of a colocation group where precedence allows, and of a chain";
    const SOURCE: &'static str = "Laich 2017, §4.1; Sarkar 1989";
    const KEEPS: &'static [Kept] = &[Kept::Work, Kept::Bytes, Kept::Results];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { what: params.word("what", What::Both, "what becomes one op: groups, chains or both")? })
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        let make =
            |graph: &DataflowGraph, clusters: &Clusters| contract(graph, clusters, |_| 0.0).map_err(refused_by::<Self>);
        match self.what {
            What::Groups => make(graph, &stages_of_groups(graph)),
            What::Chains => make(graph, &chains(graph)),
            What::Both => {
                let first = make(graph, &stages_of_groups(graph))?;
                let second = make(&first.graph, &chains(&first.graph))?;
                let line = format!("{} ops became {}", graph.op_count(), second.graph.op_count());
                Ok(Passed { origin: first.origin.then(&second.origin), line, ..second })
            }
        }
    }
}

/// The ops of each unit in each stage. Ops of a group that may not become one are of different units.
fn stages_of_groups(graph: &DataflowGraph) -> Clusters {
    let mut units: BTreeMap<_, usize> = BTreeMap::new();
    let mut unit = vec![None; graph.op_count()];
    for (group, members) in graph.colocation().groups() {
        for &op in members.iter().filter(|&&op| !graph.outputs_are_resident(op)) {
            let measured: Vec<bool> = graph.measured_times().iter().map(|times| times.of(op).is_some()).collect();
            let count = units.len();
            let key = (group, graph.kinds(op).to_string(), measured);
            unit[op.index()] = Some(*units.entry(key).or_insert(count));
        }
    }
    let mut stage = vec![0u32; graph.op_count()];
    // The last op seen of each unit in each stage.
    let mut seen: BTreeMap<(usize, u32), OpId> = BTreeMap::new();
    let mut clusters = Clusters::new(graph.op_count());
    for op in graph.topological_order() {
        let own = unit[op.index()];
        let leaves = |source: OpId| own.is_none() || unit[source.index()] != own;
        let after = |&source: &OpId| stage[source.index()] + u32::from(leaves(source));
        let at = graph.predecessor_ops(op).iter().map(after).max().unwrap_or(0);
        stage[op.index()] = at;
        if let Some(other) = own.and_then(|own| seen.insert((own, at), op)) {
            clusters.join(other, op);
        }
    }
    clusters
}

/// The chains of ops.
fn chains(graph: &DataflowGraph) -> Clusters {
    let mut clusters = Clusters::new(graph.op_count());
    for op in graph.op_ids() {
        let Some(&next) = graph.successor_ops(op).first() else { continue };
        let is_only = graph.successor_ops(op).iter().all(|&other| other == next)
            && graph.predecessor_ops(next).iter().all(|&other| other == op);
        if is_only && may_join(graph, op, next) && favour_the_same(graph, op, next) {
            clusters.join(op, next);
        }
    }
    clusters
}

/// Whether no two classes of devices are such that one op is faster on the first and the other on the second.
fn favour_the_same(graph: &DataflowGraph, a: OpId, b: OpId) -> bool {
    let times: Vec<(f64, f64)> =
        graph.measured_times().iter().filter_map(|times| times.of(a).zip(times.of(b))).collect();
    let order = |x: f64, y: f64| x.partial_cmp(&y).unwrap_or(Ordering::Equal);
    times.iter().enumerate().all(|(at, first)| {
        times[..at].iter().all(|second| {
            let (of_a, of_b) = (order(first.0, second.0), order(first.1, second.1));
            of_a == of_b || of_a == Ordering::Equal || of_b == Ordering::Equal
        })
    })
}
