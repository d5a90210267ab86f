//! A decision about a graph that passes change between placement and execution.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use placebench_algorithms::{Decision, Plan};
use placebench_datasets::{Instance, OpId, Placement, Time};
use placebench_generator::{ChangedPlacement, PassError, Passes};
use serde::Serialize;

use crate::metrics::Metrics;

/// What is executed of a placement that passes have changed.
#[derive(Clone, Debug)]
pub struct Executed {
    /// The graph on its cluster. Its first ops are those that were placed.
    pub instance: Instance,
    /// The device of each op, and the plan with the new ops in it.
    pub(crate) decision: Decision,
    /// The passes.
    pub passes: Passes,
    /// One line a pass.
    pub lines: Vec<String>,
    /// What the placement is worth without the passes, if it runs without them.
    pub before: Option<Box<Metrics>>,
}

impl Executed {
    /// What passes make of a decision that fits its instance.
    ///
    /// # Errors
    /// That of the first pass that refuses the graph.
    pub(crate) fn of(passes: &Passes, instance: &Instance, given: &Decision) -> Result<Arc<Self>, PassError> {
        let ChangedPlacement { instance: changed, placement, lines } =
            passes.apply_placed(instance, &given.placement)?;
        let plan = given.plan.as_ref().map(|plan| with_new_ops(plan, instance, &changed, &placement));
        let decision = Decision { placement, plan, ..given.clone() };
        Ok(Arc::new(Self { instance: changed, decision, passes: passes.clone(), lines, before: None }))
    }

    /// The device of each op.
    pub fn placement(&self) -> &Placement {
        &self.decision.placement
    }
}

/// What passes did, and what the placement is worth without those over the placed graph, for a person or a program.
#[derive(Serialize)]
pub struct PassReport<'a> {
    /// A line for each pass.
    pub lines: Vec<&'a str>,
    /// None if there are no passes over the placed graph, or if the placement does not run without them.
    pub without: Option<WithoutPasses>,
}

/// What a placement is worth without passes that changed what was placed.
#[derive(Serialize)]
pub struct WithoutPasses {
    /// The passes.
    pub passes: String,
    /// In the time unit of the run.
    pub makespan: Time,
    /// Bytes sent from device to device.
    pub traffic_bytes: u64,
    /// The highest peak of a device.
    pub peak_memory_bytes: u64,
}

impl<'a> PassReport<'a> {
    /// Of the lines of passes over the graph, and of what was executed if passes changed what was placed. None without passes.
    pub fn of(notes: &'a [String], executed: Option<&'a Executed>) -> Option<Self> {
        let placed = executed.iter().flat_map(|executed| &executed.lines);
        let lines: Vec<&str> = notes.iter().chain(placed).map(String::as_str).collect();
        let without = |executed: &Executed| {
            let before = executed.before.as_ref()?;
            Some(WithoutPasses {
                passes: executed.passes.to_string(),
                makespan: before.makespan,
                traffic_bytes: before.traffic_bytes,
                peak_memory_bytes: before.peak_memory_bytes,
            })
        };
        (!lines.is_empty()).then(|| Self { lines, without: executed.and_then(without) })
    }
}

/// A plan with the ops that passes added: one that takes what its own device made comes behind that, one that takes what came from
/// another device before its first consumer. Where new edges contradict the plan, they are right.
///
/// # Complexity
/// O((ops + edges) · log ops).
fn with_new_ops(plan: &Plan, before: &Instance, after: &Instance, placement: &Placement) -> Plan {
    /// Before a place of the plan, at it, behind it.
    const BEFORE: u8 = 0;
    const AT: u8 = 1;
    const BEHIND: u8 = 2;
    let (graph, old_count) = (after.graph(), before.graph().op_count());
    let mut place: Vec<Option<(usize, u8)>> = vec![None; graph.op_count()];
    for (at, op) in plan.ops().enumerate() {
        place[op.index()] = Some((at, AT));
    }
    let comes = |op: OpId| {
        let sources = graph.predecessors(op).filter(|edge| edge.tensor.is_some());
        sources.into_iter().any(|edge| placement.device_of(edge.op) != placement.device_of(op))
    };
    let order: Vec<OpId> = graph.topological_order().collect();
    let is_new = |op: &OpId| op.index() >= old_count;
    for &op in order.iter().rev().filter(|op| is_new(op)).filter(|&&op| comes(op)) {
        let first = graph.successor_ops(op).iter().filter_map(|other| place[other.index()]).min();
        place[op.index()] = first.map(|(at, _)| (at, BEFORE));
    }
    for &op in order.iter().filter(|op| is_new(op)).filter(|&&op| !comes(op)) {
        let last = graph.predecessor_ops(op).iter().filter_map(|other| place[other.index()]).max();
        place[op.index()] = last.map(|(at, _)| (at, BEHIND));
    }
    let mut waits: Vec<usize> = graph.op_ids().map(|op| graph.predecessor_ops(op).len()).collect();
    let key = |op: OpId| Reverse((place[op.index()].unwrap_or((usize::MAX, AT)), op));
    let mut ready: BinaryHeap<_> = graph.op_ids().filter(|op| waits[op.index()] == 0).map(key).collect();
    let mut ops = Vec::with_capacity(graph.op_count());
    while let Some(Reverse((_, op))) = ready.pop() {
        ops.push(op);
        for &next in graph.successor_ops(op) {
            waits[next.index()] -= 1;
            if waits[next.index()] == 0 {
                ready.push(key(next));
            }
        }
    }
    Plan::of_ops(ops, plan.makespan)
}
