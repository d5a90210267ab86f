//! Which of several schedules is the answer: the model's best, or the objective's where the model is not exact.

use std::cmp::Ordering;

use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, MemoryRule, OpSpec, Placement, Time};

use crate::{Decision, Judgement, Objective, PlaceContext, PlaceError};

/// Compares decisions.
pub(super) struct Judge<'c> {
    context: &'c PlaceContext,
    /// Whether transfers hold each other up, so that the model's makespans are too short.
    pub(super) is_contended: bool,
    /// Whether the model's makespan is that of the plan's execution.
    is_exact: bool,
    /// Whether a placement can be refused after it was made.
    can_refuse: bool,
}

impl<'c> Judge<'c> {
    /// What the objective says about networks, and the instance about sends and memory.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`].
    pub(super) fn new(instance: &Instance, context: &'c PlaceContext) -> Result<Self, PlaceError> {
        let is_contended = match &context.objective {
            Some(objective) => do_transfers_wait(&**objective, context)?,
            None => false,
        };
        let cluster = instance.cluster();
        let is_exact = !is_contended && !cluster.sends_cost() && !cluster.receives_cost();
        let limited = instance.cluster().device_ids().any(|device| instance.peak_limit(device).is_some());
        Ok(Self { context, is_contended, is_exact, can_refuse: limited && instance.memory_rule() == MemoryRule::Peak })
    }

    /// Whether the model decides alone.
    pub(super) fn is_model(&self) -> bool {
        self.context.objective.is_none() || (self.is_exact && !self.can_refuse)
    }

    /// The best decision, and whether the objective does not refuse it; `None` if there is none. What the objective refuses comes last, then the objective's makespan counts
    /// unless the model's is exact, then the plan's, then the order given.
    pub(super) fn best(&self, instance: &Instance, decisions: Vec<Decision>) -> Option<(bool, Decision)> {
        let objective = self.context.objective.as_deref().filter(|_| !self.is_model());
        let mut best: Option<((u64, Time, Time), Decision)> = None;
        for decision in decisions {
            let planned = decision.plan.as_ref().map_or(f64::INFINITY, |plan| plan.makespan);
            let judged = objective.map(|objective| objective.judge(instance, &decision.placement, &self.context.stop));
            let key = match judged {
                None => (0, 0.0, planned),
                Some(Ok(Judgement { excess_bytes, makespan })) => {
                    (excess_bytes, if self.is_exact { 0.0 } else { makespan }, planned)
                }
                // Told to stop: what was judged so far counts.
                Some(Err(PlaceError::Stopped)) if best.is_some() => break,
                Some(Err(PlaceError::Stopped)) => (0, f64::INFINITY, planned),
                Some(Err(_)) => (u64::MAX, f64::INFINITY, planned),
            };
            if best.as_ref().is_none_or(|(least, _)| compare(&key, least).is_lt()) {
                best = Some((key, decision));
            }
        }
        best.map(|((excess, ..), decision)| (excess == 0, decision))
    }
}

fn compare(a: &(u64, Time, Time), b: &(u64, Time, Time)) -> Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
}

/// Whether two transfers from one device to another take longer than one: asked of the objective by a graph that has nothing
/// else.
fn do_transfers_wait(objective: &dyn Objective, context: &PlaceContext) -> Result<bool, PlaceError> {
    let unsupported = |error: &dyn std::fmt::Display| PlaceError::Unsupported(error.to_string());
    let mut builder = GraphBuilder::default();
    let bytes = 1000;
    let producer = builder.add_op(OpSpec::cost(1.0), &[bytes, bytes]);
    for port in 0..2 {
        let consumer = builder.add_op(OpSpec::cost(1.0), &[]);
        builder.add_edge(producer, port, consumer).map_err(|error| unsupported(&error))?;
    }
    let graph = builder.build().map_err(|error| unsupported(&error))?;
    let link = Link { rate: 1.0, latency: 0.0 };
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, link).map_err(|error| unsupported(&error))?;
    let instance = Instance::new(graph, cluster).map_err(|error| unsupported(&error))?;
    let placement = Placement::new([0, 1, 1].map(DeviceId).to_vec());
    let judged = objective.judge(&instance, &placement, &context.stop)?;
    Ok(judged.makespan > 1.5 * bytes as f64)
}
