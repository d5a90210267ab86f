//! Which of several schedules is the answer: the model's best, or the objective's where the model is not exact.

use std::cmp::Ordering;
use std::sync::Arc;

use placebench_datasets::{
    Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, MemoryRule, OpId, OpSpec, Placement, Time,
};
use rayon::prelude::*;

use super::decision;
use super::problem::Problem;
use super::robust::Robust;
use super::schedule::Schedule;
use crate::schedulers::Static;
use crate::{Algorithm, Decision, Judgement, Objective, PlaceContext, PlaceError, Plan};

/// Compares decisions.
pub(super) struct Judge<'c> {
    pub(super) context: &'c PlaceContext,
    /// How transfers hold each other up, so that the model's makespans are too short.
    pub(super) contention: Contention,
    /// Whether the model's makespan is that of the plan's execution.
    pub(super) is_exact: bool,
    /// Whether a placement can be refused after it was made.
    pub(super) can_refuse: bool,
    /// What decides in the end, if costs vary.
    pub(super) robust: Option<Robust>,
}

/// How much longer transfers are taken to last in one more search each, where they hold each other up.
const FACTORS: [f64; 2] = [2.0, 4.0];

impl<'c> Judge<'c> {
    /// What the objective says about networks, and the instance about sends and memory.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`].
    pub(super) fn new(instance: &Instance, context: &'c PlaceContext) -> Result<Self, PlaceError> {
        let contention = match &context.objective {
            Some(objective) => contention(&**objective, context)?,
            None => Contention::None,
        };
        let cluster = instance.cluster();
        let schedulers = context.objective.as_ref().map_or(&[][..], |objective| objective.schedulers());
        let follows_plans = schedulers.is_empty() || schedulers.iter().any(|name| follows(name));
        let is_free = contention == Contention::None && !cluster.sends_cost() && !cluster.receives_cost();
        let is_exact = is_free && follows_plans;
        let limited = instance.cluster().device_ids().any(|device| instance.peak_limit(device).is_some());
        let can_refuse = limited && instance.memory_rule() == MemoryRule::Peak;
        Ok(Self { context, contention, is_exact, can_refuse, robust: None })
    }

    /// How much longer transfers are taken to last, in one more search each.
    pub(super) fn factors(&self) -> Vec<f64> {
        let waiting = FACTORS.into_iter().filter(|_| self.contention != Contention::None);
        self.robust.iter().map(Robust::slack).chain(waiting).collect()
    }

    /// Whether the model decides alone.
    pub(super) fn is_model(&self) -> bool {
        self.context.objective.is_none() || (self.is_exact && !self.can_refuse)
    }

    /// The decisions, best first. What the objective refuses comes last, then the objective's makespan counts unless the model's is
    /// exact, then the plan's, then the order given. Told to stop, it leaves out what it did not judge, unless that is everything.
    pub(super) fn rank(&self, instance: &Instance, decisions: Vec<Decision>) -> Vec<Judged> {
        let judged = self.judge(instance, &decisions);
        let (mut ranked, mut late) = (Vec::new(), Vec::new());
        for (decision, rank) in decisions.into_iter().zip(judged) {
            let kept = if rank.is_some() { &mut ranked } else { &mut late };
            let rank = rank.unwrap_or_else(|| self.unjudged(&decision));
            let scheduler = decision.scheduler.clone().or_else(|| self.scheduler(rank.scheduler));
            kept.push((rank, Decision { scheduler, ..decision }));
        }
        let mut ranked = if ranked.is_empty() { late } else { ranked };
        ranked.sort_by(|a, b| a.0.compare(&b.0));
        ranked
    }

    /// Schedules with what the objective says of them, best first.
    pub(super) fn rank_schedules(&self, problem: &Problem<'_>, schedules: &[Schedule]) -> Vec<Judged> {
        self.rank(problem.instance, schedules.iter().map(|schedule| decision(problem, schedule)).collect())
    }

    /// The best of some decisions with whatever scheduler executes it best; `None` without an objective, or if it is too late.
    pub(super) fn settle(&self, instance: &Instance, decisions: impl Iterator<Item = Decision>) -> Option<Judged> {
        let objective = self.context.objective.as_deref()?;
        let mut judged: Vec<Judged> = decisions
            .filter_map(|decision| {
                let decision = Decision { scheduler: None, ..decision };
                let rank = self.ask(objective, instance, &decision)?;
                Some((rank, Decision { scheduler: self.scheduler(rank.scheduler), ..decision }))
            })
            .collect();
        judged.sort_by(|a, b| a.0.compare(&b.0));
        judged.into_iter().next()
    }

    /// Which share of the time that is left a search of the model may take: the rest is for the objective.
    pub(super) fn share_of_model(&self) -> f64 {
        match (self.is_model(), self.is_exact) {
            (true, _) => 0.95,
            (false, true) => 0.8,
            (false, false) => 0.5,
        }
    }

    /// What each decision is worth; `None` for what it was too late to judge.
    fn judge(&self, instance: &Instance, decisions: &[Decision]) -> Vec<Option<Rank>> {
        decisions.par_iter().map(|decision| self.judge_one(instance, decision)).collect()
    }

    /// What a decision is worth; `None` if it was too late to judge.
    pub(super) fn judge_one(&self, instance: &Instance, decision: &Decision) -> Option<Rank> {
        match self.context.objective.as_deref().filter(|_| !self.is_model()) {
            Some(objective) => self.ask(objective, instance, decision),
            None => Some(Rank { makespan: planned(decision), ..self.unjudged(decision) }),
        }
    }

    /// What is known of a decision that nobody judged.
    fn unjudged(&self, decision: &Decision) -> Rank {
        Rank { excess_bytes: 0, makespan: f64::INFINITY, planned: planned(decision), scheduler: self.follower() }
    }

    fn ask(&self, objective: &dyn Objective, instance: &Instance, decision: &Decision) -> Option<Rank> {
        let planned = planned(decision);
        match objective.judge(instance, decision, &self.context.stop) {
            Ok(Judgement { excess_bytes, value: makespan, scheduler }) => {
                Some(Rank { excess_bytes, makespan, planned, scheduler })
            }
            Err(PlaceError::Stopped) => None,
            Err(_) => Some(Rank { excess_bytes: u64::MAX, makespan: f64::INFINITY, planned, scheduler: 0 }),
        }
    }

    /// A decision of the model: where that is exact, the scheduler that follows plans executes it.
    pub(super) fn planned(&self, decision: Decision) -> Decision {
        let scheduler = if self.is_exact { self.scheduler(self.follower()) } else { None };
        Decision { scheduler, ..decision }
    }

    fn schedulers(&self) -> &[Arc<str>] {
        self.context.objective.as_ref().map_or(&[], |objective| objective.schedulers())
    }

    /// The name of one of the objective's schedulers.
    pub(super) fn scheduler(&self, number: usize) -> Option<Arc<str>> {
        self.schedulers().get(number).cloned()
    }

    /// Which of them follows a plan.
    fn follower(&self) -> usize {
        self.schedulers().iter().position(|name| follows(name)).unwrap_or(0)
    }

    /// The one that executes what an annealing tries, from a start that some scheduler executes best: not one that follows plans
    /// where there is another, since a changed placement has no plan that knows how transfers wait.
    pub(super) fn trial_scheduler(&self, best: usize) -> Option<Arc<str>> {
        let follows = self.scheduler(best).is_some_and(|name| follows(&name));
        self.scheduler(if follows { 0 } else { best })
    }
}

/// The makespan of a decision's plan; infinite without one.
fn planned(decision: &Decision) -> Time {
    decision.plan.as_ref().map_or(f64::INFINITY, |plan| plan.makespan)
}

/// Whether a scheduler follows plans.
pub(super) fn follows(scheduler: &str) -> bool {
    scheduler == Static::NAME
}

/// A decision with what it is worth.
pub(super) type Judged = (Rank, Decision);

/// What a decision is worth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank {
    /// Bytes beyond memories; all that there are if it cannot run.
    pub(super) excess_bytes: u64,
    pub(super) makespan: Time,
    planned: Time,
    /// Which of the objective's schedulers executes it.
    pub(super) scheduler: usize,
}

impl Rank {
    /// The better one is less.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let bytes = self.excess_bytes.cmp(&other.excess_bytes);
        bytes.then(self.makespan.total_cmp(&other.makespan)).then(self.planned.total_cmp(&other.planned))
    }
}

/// How transfers hold each other up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contention {
    /// They do not.
    None,
    /// One goes after the other.
    OneAtATime,
    /// They share what there is.
    Shared,
}

/// How transfers hold each other up: asked of the objective by graphs that have nothing but two equal ones from one device to
/// another, ready at the same time.
fn contention(objective: &dyn Objective, context: &PlaceContext) -> Result<Contention, PlaceError> {
    const BYTES: u64 = 1000;
    let alone = BYTES as f64;
    if two_transfers(objective, context, BYTES, 1.0)? <= 1.5 * alone {
        return Ok(Contention::None);
    }
    // If what consumes the first takes long, that is all that counts, unless the first came as late as the second.
    let long = 3.0 * alone;
    Ok(match two_transfers(objective, context, BYTES, long)? > 1.5 * alone + long {
        true => Contention::Shared,
        false => Contention::OneAtATime,
    })
}

/// The makespan of two transfers of `bytes` bytes, one byte a unit of time; the consumer of the first takes `first`.
fn two_transfers(
    objective: &dyn Objective,
    context: &PlaceContext,
    bytes: u64,
    first: Time,
) -> Result<Time, PlaceError> {
    let unsupported = |error: &dyn std::fmt::Display| PlaceError::Unsupported(error.to_string());
    let mut builder = GraphBuilder::default();
    let producer = builder.add_op(OpSpec::cost(1.0), &[bytes, bytes]);
    for (port, cost) in [(0, first), (1, 1.0)] {
        let consumer = builder.add_op(OpSpec::cost(cost), &[]);
        builder.add_edge(producer, port, consumer).map_err(|error| unsupported(&error))?;
    }
    let graph = builder.build().map_err(|error| unsupported(&error))?;
    let link = Link { rate: 1.0, latency: 0.0 };
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, link).map_err(|error| unsupported(&error))?;
    let instance = Instance::new(graph, cluster).map_err(|error| unsupported(&error))?;
    let plan = Plan::of_ops([0, 1, 2].map(OpId), 0.0);
    let placement = Placement::new([0, 1, 1].map(DeviceId).to_vec());
    let decision = Decision { plan: Some(plan), ..Decision::placement(placement) };
    Ok(objective.judge(&instance, &decision, &context.stop)?.value)
}
