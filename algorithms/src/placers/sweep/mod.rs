//! Sweep: this project's own placer, which improves schedules of others.
//!
//! [`search`] is the whole where the model is exact; [`seeds`] makes the schedules it starts from, [`sweeps`] moves single ops and
//! small units, [`annealing`] moves what is connected. They see the instance as [`problem`] flattens it, in both directions of time
//! ([`way`]). Where the model is not exact, [`judged`] asks the objective, and [`ports`] says what is worth asking.

mod annealing;
mod cooling;
mod improve;
mod judge;
mod judged;
mod links;
mod memory;
mod moves;
mod passes;
mod port_pass;
mod ports;
mod problem;
pub(in crate::placers) mod random;
mod robust;
mod schedule;
mod search;
pub(in crate::placers) mod seeds;
mod sweeps;
#[cfg(test)]
mod tests;
mod way;

pub use improve::Improve;

use std::sync::Arc;
use std::time::{Duration, Instant};

use placebench_datasets::{DeviceId, Instance, OpId, Placement};
use rayon::prelude::*;

use super::{Heft, SingleDevice, period};
use crate::exact;
use crate::fairness::{Exception, Law};
use crate::period::Goal;
use crate::{
    Algorithm, Decision, Named, Objective, Params, PlaceContext, PlaceError, Placer, Plan, SpecError, bounds, registry,
};
use judge::{Judge, Judged};
use problem::{Caution, Problem};
use robust::Robust;
use schedule::{Schedule, sorted_by};
use search::{Effort, PortEffort, Search};
use seeds::{Seed, all_placers, holds, schedule_of};

/// Most schedules of a search that the objective judges.
const MOST_JUDGED: usize = 6;

/// Graphs of more ops than this are not tried to be solved.
const MOST_SOLVED: usize = 32;

/// Share of a time limit that the search may take; the rest is for executing what it answers.
const SHARE_OF_LIMIT: f64 = 0.8;

/// Share of a time that is given which the exact search may take.
const SHARE_OF_PROOF: f64 = 0.1;

/// Improves the best of several schedules: by sweeps that put each op where the longest path through it is shortest, and by annealing
/// on critical ops.
///
/// # Reference
/// This project's own. It combines: list scheduling with insertion (H. Topcuoglu et al., *Performance-Effective and
/// Low-Complexity Task Scheduling for Heterogeneous Computing*, IEEE TPDS 13(3), 2002, doi:10.1109/71.993206); simulated
/// annealing (S. Kirkpatrick et al., *Optimization by Simulated Annealing*, Science 220, 1983, doi:10.1126/science.220.4598.671);
/// heads and tails of a job-shop schedule for the exact longest path through a moved operation (P. J. M. van Laarhoven, E. H. L.
/// Aarts, J. K. Lenstra, *Job Shop Scheduling by Simulated Annealing*, Operations Research 40(1), 1992, 113–125,
/// doi:10.1287/opre.40.1.113).
///
/// # Complexity
/// A sweep takes O((ops + edges) · min(devices, 12)) beside sorting. The preset says how many there are, how many changes annealing
/// tries, and how many placements the objective judges; docs/SWEEP.md has the time that this takes. Memory: some 200 bytes an op and
/// 32 an edge for each chain, and 16 bytes per op and device for optimistic cost tables, which large instances do without.
///
/// # Ties
/// Of equal schedules the first one found: HEFT's own, then the seeds in order, then what became of them. Without noise an op
/// stays where it is unless another device is better.
///
/// # Deviations
/// - What is minimised is the makespan of the plan under the network model `contention_free`; a send op counts as part of its
///   transfer. That is exact where the scheduler `static` may execute the plan, sends cost nothing, and transfers do not hold each
///   other up, which the objective shows by graphs of two transfers. Elsewhere the objective judges: all starts, then the changes of a
///   last annealing, of which an estimate that knows ports leaves out the hopeless ones.
/// - Of the schedulers that the objective allows, the answer names the one that executes it best.
/// - The answer is never worse than HEFT's plan by that measure: HEFT's schedule is one of those it chooses among.
/// - Small graphs are solved by [`crate::exact`] where that is proven within the preset's number of nodes, and within a tenth of the
///   time that is given.
/// - Where nothing fits under the rule `peak`, the search is repeated with limits, and then all placers of the registry are asked.
/// - Searches over groups join the starts where there are colocation groups or few ops; they need an objective.
/// - A graph of at most 64 units, or of 256 where HEFT's plan does not fit, begins with what the preset below finds, and where the
///   objective judges also with what `simulated_annealing` and `cross_entropy` find, or under the rule `peak` with what all placers
///   of the registry find but `improve` and `optimal`.
/// - Told to stop, it answers with the best schedule so far if it has one.
/// - Where `preset=fast`, or a `time`, finds nothing that fits, it goes on as `preset=default` says.
/// - With `time` it goes on until the time is over, every other time from another start, so that the answer depends on the machine.
/// - With `robust`, one more search takes transfers to last longer by that share. Of the best of all searches, with each scheduler, the
///   answer has the least mean over draws of the objective ([`Objective::under_noise`]).
/// - Temperatures and budgets are tuned: docs/BIAS.md says on what.
/// - Where the period is minimised, none of this takes part, but annealing on the loads of devices and of what transfers share, from the
///   best of placements that others make. Nothing asks that what a device holds be contiguous.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// How much is tried.
    pub preset: Preset,
    /// How long the search goes on; `None` for as long as the preset says.
    pub time: Option<Duration>,
    /// A part of the method that is left out, to see what it is worth.
    pub without: Without,
    /// What is minimised; `None` for what the objective does.
    pub goal: Option<Goal>,
    /// By how much the cost of each op and each transfer varies, as a coefficient of variation: then the mean makespan over draws is
    /// what counts. 0 where all takes what it costs.
    pub robust: f64,
}

/// A part of [`Sweep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// Everything takes part.
    Nothing,
    /// The seeds beside HEFT.
    Seeds,
    /// The searches over groups.
    Groups,
    /// The sweeps.
    Sweeps,
    /// The annealing.
    Annealing,
    /// List passes and annealing that know ports.
    Ports,
}

impl Named for Without {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("none", Self::Nothing),
        ("seeds", Self::Seeds),
        ("groups", Self::Groups),
        ("sweeps", Self::Sweeps),
        ("annealing", Self::Annealing),
        ("ports", Self::Ports),
    ];
}

/// How much [`Sweep`] tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Some list schedules, briefly improved.
    Fast,
    /// About what `simulated_annealing` takes; where the objective judges, 4 to 7 times as much.
    Default,
    /// Until little more is found.
    Quality,
}

impl Named for Preset {
    const NAMES: &'static [(&'static str, Self)] =
        &[("fast", Self::Fast), ("default", Self::Default), ("quality", Self::Quality)];
}

impl Preset {
    fn effort(self) -> Effort {
        match self {
            Self::Fast => Effort {
                seeds: &Seed::ALL[..8],
                groups: &[Seed::Placer("simulated_annealing(budget=150)")],
                sparing: &Seed::SPARING[..5],
                chains: 1,
                generations: 1,
                rounds: 4,
                sweeps: 8,
                annealing: 5.0,
                ports: PortEffort { passes: 3, passed: 1, rounds: 2, starts: 1, changes: 600 },
                starts: 1,
                judgements: 200,
            },
            Self::Default => Effort {
                seeds: Seed::ALL,
                groups: &[Seed::Placer("simulated_annealing")],
                sparing: Seed::SPARING,
                chains: 1,
                generations: 1,
                rounds: 8,
                sweeps: 12,
                annealing: 16.0,
                ports: PortEffort { passes: 3, passed: 2, rounds: 6, starts: 2, changes: 600 },
                starts: 1,
                judgements: 800,
            },
            Self::Quality => Effort {
                seeds: Seed::ALL,
                groups: &[Seed::Placer("simulated_annealing"), Seed::Placer("cross_entropy")],
                sparing: Seed::SPARING,
                chains: 4,
                generations: 4,
                rounds: 6,
                sweeps: 24,
                annealing: 60.0,
                ports: PortEffort { passes: 6, passed: 8, rounds: 8, starts: 4, changes: 5_000 },
                starts: 4,
                judgements: 16_000,
            },
        }
    }

    /// The preset that tries less.
    fn below(self) -> Option<Self> {
        match self {
            Self::Fast => None,
            Self::Default => Some(Self::Fast),
            Self::Quality => Some(Self::Default),
        }
    }

    /// How much is tried where the period is minimised: what the presets below try comes first.
    fn period_efforts(self) -> Vec<period::Effort> {
        let below = self.below().map(Self::period_efforts);
        below.into_iter().flatten().chain([self.period_effort()]).collect()
    }

    fn period_effort(self) -> period::Effort {
        match self {
            Self::Fast => period::Effort { chains: 2, moves: 40, least: 10_000, most: 100_000 },
            Self::Default => period::Effort { chains: 3, moves: 200, least: 100_000, most: 1_000_000 },
            Self::Quality => period::Effort { chains: 6, moves: 1_000, least: 500_000, most: 10_000_000 },
        }
    }

    /// Nodes of the exact search.
    fn nodes(self) -> u64 {
        match self {
            Self::Fast => 500,
            Self::Default => 2_000,
            Self::Quality => 100_000,
        }
    }
}

/// The laws of fairness that the search does not keep, since it draws.
const EXCEPTIONS: &[Exception] = &[
    Exception::new(Law::IsolatedOp, "it draws numbers op by op: one more op, and those after it get other draws"),
    Exception::new(
        Law::RelabelledDevices,
        "it draws devices for ops or groups by their numbers: other numbers, other draws",
    ),
    Exception::new(
        Law::RelabelledOps,
        "it draws devices for ops or groups by their numbers: other numbers, other draws",
    ),
    Exception::new(
        Law::ScaledCosts,
        "rounding decides whether annealing accepts a change, and what it draws next is then for another schedule",
    ),
];

impl Algorithm for Sweep {
    const NAME: &str = "sweep";
    const SUMMARY: &str = "improves schedules of others: sweeps, annealing on critical ops, the objective's word";
    const SOURCE: &str = "this project";
    const EXCEPTIONS: &[Exception] = EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let preset = "how much is tried: fast, default (about what simulated_annealing takes, or 4 to 7 times as much where the \
                      objective judges) or quality";
        let time = "goes on for so long, such as 500ms or 2s, so that the answer depends on the machine; none: as the preset says";
        Ok(Self {
            preset: params.word("preset", Preset::Default, preset)?,
            time: params.value("time", "none", TIMES, time, parse_time)?,
            without: params.word(
                "without",
                Without::Nothing,
                "a part that is left out, to see what it is worth: none, seeds, groups, sweeps, annealing or ports",
            )?,
            goal: Goal::param(params)?,
            robust: params.number(
                "robust",
                0.0,
                0.0..=10.0,
                "the coefficient of variation of each op and transfer: minimises the mean makespan over draws, and searches with \
                 slack for transfers, too",
            )?,
        })
    }
}

/// What a time is written like.
const TIMES: &str = "none, or a time such as 500ms, 2s or 1.5m";

fn parse_time(text: &str) -> Option<Option<Duration>> {
    if text == "none" {
        return Some(None);
    }
    let (number, seconds) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => text.strip_suffix('s').map(|number| (number, 1.0)).or_else(|| Some((text.strip_suffix('m')?, 60.0)))?,
    };
    let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)?;
    Duration::try_from_secs_f64(number * seconds).ok().map(Some)
}

impl Placer for Sweep {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        context.stop.check()?;
        let context = &context.for_goal(self.goal)?;
        // What cannot be heeded is said before it is ignored.
        Robust::new(self.robust, context)?;
        if let Some(found) = of_least_period(instance, context, self.preset, self.time, None) {
            return found;
        }
        let found = self.search(instance, context);
        let is_short = self.preset == Preset::Fast || self.time.is_some();
        let found = match found {
            Err(PlaceError::Stopped | PlaceError::Infeasible { .. }) if is_short && !context.stop.is_stopped() => None,
            Ok(found) if is_short => Some(found),
            outcome => return outcome,
        };
        let patient = &limited(context, None);
        let judge = Judge::new(instance, patient)?;
        let fits = |found: &Decision| {
            !judge.can_refuse || judge.judge_one(instance, found).is_none_or(|rank| rank.excess_bytes == 0)
        };
        if let Some(found) = found.as_ref().filter(|found| fits(found)) {
            return Ok(found.clone());
        }
        match (Self { preset: Preset::Default, time: None, ..*self }.search(instance, context), found) {
            (Ok(more), Some(found)) => Ok(judge.rank(instance, vec![found.clone(), more]).swap_remove(0).1),
            (Err(PlaceError::Stopped | PlaceError::Infeasible { .. }), Some(found)) => Ok(found),
            (outcome, _) => outcome,
        }
    }

    fn makes_plan(&self) -> bool {
        true
    }

    fn uses_objective(&self) -> bool {
        true
    }

    fn minimises(&self, asked: Goal) -> Option<Goal> {
        Some(self.goal.unwrap_or(asked))
    }
}

impl Sweep {
    /// What the preset finds, or what is found in the time that is given.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`] if it is time to stop and nothing is known; [`PlaceError::Infeasible`] if nothing was found.
    fn search(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let begun = Instant::now();
        let deadline = self.time.and_then(|time| begun.checked_add(time));
        let caller = &limited(context, None);
        let context = &limited(context, deadline);
        // The network is probed in the caller's time: the time that is given may be over by then.
        let judge = Judge { context, robust: Robust::new(self.robust, caller)?, ..Judge::new(instance, caller)? };
        // Time that is given begins with what is known at once.
        let (heft, infeasible) = match Heft::with_defaults().place(instance, caller) {
            Ok(decision) => (Some(decision), None),
            Err(error @ PlaceError::Infeasible { .. }) => (None, Some(error)),
            Err(error) => return Err(error),
        };
        let solving = match self.time {
            Some(time) => limited(context, begun.checked_add(time.mul_f64(SHARE_OF_PROOF))),
            None => context.clone(),
        };
        let optimum = match self.optimum(instance, &solving) {
            Err(PlaceError::Stopped) if heft.is_some() => None,
            outcome => outcome?,
        };
        if let Some(optimum) = optimum.as_ref().filter(|_| judge.is_model() && judge.robust.is_none()) {
            let ranked = judge.rank(instance, vec![optimum.clone()]);
            return Ok(ranked.into_iter().next().map_or_else(|| optimum.clone(), |(_, optimum)| optimum));
        }
        let mut known: Vec<Decision> = heft.iter().cloned().collect();
        known.extend(optimum);
        known.extend(self.nested(instance, context, &judge, &known));
        let best = match (best_of(instance, context, &judge, self.effort(), deadline, known), &heft) {
            // The time that is given was over before anything was tried.
            (Err(PlaceError::Stopped), Some(heft)) if !caller.stop.is_stopped() => heft.clone(),
            (best, _) => best?.ok_or_else(|| infeasible.unwrap_or(PlaceError::Stopped))?,
        };
        let is_heft = heft.is_some_and(|heft| heft.placement == best.placement);
        if !(is_heft && context.stop.is_stopped() && !caller.stop.is_stopped()) {
            return Ok(best);
        }
        // The time was over before anyone was asked which scheduler executes it best.
        let settled = Judge { context: caller, ..judge }.settle(instance, std::iter::once(best.clone()));
        Ok(settled.map_or(best, |(_, best)| best))
    }

    /// What is found before the preset's own work. Where the model is exact, and on small graphs, that is what the preset below finds,
    /// so that more effort is never worse. On small graphs where the objective judges, it is also what other searches find; where the
    /// memory rule may refuse an answer, what all placers find. Of what is known nothing may fit: then larger graphs are small.
    fn nested(
        &self,
        instance: &Instance,
        context: &PlaceContext,
        judge: &Judge<'_>,
        known: &[Decision],
    ) -> Vec<Decision> {
        let fits = |known: &Decision| judge.judge_one(instance, known).is_none_or(|rank| rank.excess_bytes == 0);
        let is_tight = judge.can_refuse && !known.iter().any(fits);
        let most = if is_tight { period::MOST_ASKED } else { period::MOST_SEARCHED };
        let is_small = instance.units().count() <= most;
        if self.without != Without::Nothing || !(is_small || judge.is_exact) {
            return Vec::new();
        }
        let below = self.preset.below().map(|preset| Self { preset, time: None, ..*self });
        let mut found: Vec<Decision> =
            below.and_then(|below| below.search(instance, context).ok()).into_iter().collect();
        // The preset below has asked them.
        if self.preset == Preset::Fast && is_small && !judge.is_model() {
            let searches = || period::SEARCHES.iter().filter_map(|name| registry::placer(&name.parse().ok()?).ok());
            let placers = if judge.can_refuse { all_placers() } else { searches().collect() };
            let asked = placers.into_par_iter().map(|placer| {
                let found = placer.place(instance, context).ok()?;
                Some(match found.plan {
                    Some(_) => found,
                    None => {
                        let problem = Problem::new(instance, 1.0);
                        let planned = decision(&problem, &schedule_of(&problem, &found));
                        Decision { scheduler: found.scheduler, ..planned }
                    }
                })
            });
            let asked: Vec<Option<Decision>> = asked.collect();
            found.extend(asked.into_iter().flatten());
        }
        found
    }

    fn effort(&self) -> Effort {
        let effort = self.preset.effort();
        match self.without {
            Without::Nothing => effort,
            Without::Seeds => Effort { seeds: &[], sparing: &[], ..effort },
            Without::Groups => Effort { groups: &[], ..effort },
            Without::Sweeps => Effort { sweeps: 0, ..effort },
            Without::Annealing => {
                Effort { annealing: 0.0, judgements: 0, ports: PortEffort { rounds: 0, ..effort.ports }, ..effort }
            }
            Without::Ports => Effort { ports: PortEffort::default(), ..effort },
        }
    }

    /// The proven optimum, if the instance is small and the preset's nodes suffice.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] if it is proven that there is no placement, [`PlaceError::Stopped`].
    fn optimum(&self, instance: &Instance, context: &PlaceContext) -> Result<Option<Decision>, PlaceError> {
        let (ops, devices) = (instance.graph().op_count(), instance.cluster().device_count());
        if ops > MOST_SOLVED || devices > exact::MOST {
            return Ok(None);
        }
        match exact::solve(instance, self.preset.nodes(), &context.stop) {
            Ok(optimum) => Ok(Some(optimum.decision)),
            // Not proven within the nodes, or sends that cost something.
            Err(PlaceError::Unsupported(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The placement of least period that is found, with a plan for those that execute plans; `None` where the makespan is what is
/// minimised. It begins with this placement or, if there is none, with those of others.
fn of_least_period(
    instance: &Instance,
    context: &PlaceContext,
    preset: Preset,
    time: Option<Duration>,
    start: Option<Decision>,
) -> Option<Result<Decision, PlaceError>> {
    let objective = context.objective.clone().filter(|objective| objective.goal() == Goal::Period)?;
    let deadline = time.and_then(|time| Instant::now().checked_add(time));
    let problem = Problem::new(instance, 1.0);
    let planned = |placement: Placement| decision(&problem, &schedule_of(&problem, &Decision::placement(placement)));
    let search = |preset: Preset, deadline: Option<Instant>, known: Vec<Decision>| {
        let (context, efforts) = (&limited(context, deadline), preset.period_efforts());
        let search = period::Search {
            instance,
            context,
            objective: &*objective,
            planned: &planned,
            efforts: &efforts,
            deadline,
        };
        search.run(known)
    };
    let mut found = search(preset, deadline, start.iter().cloned().collect());
    if time.is_some() && matches!(found, Err(PlaceError::Stopped)) && !context.stop.is_stopped() {
        // The time was over before anything was known.
        let known = Heft::with_defaults().place(instance, context).into_iter().collect();
        found = search(preset, deadline, known);
    }
    let fits = |found: &Result<period::Found, PlaceError>| found.as_ref().is_ok_and(|(rank, _)| rank.excess_bytes == 0);
    let is_short = preset == Preset::Fast || time.is_some();
    // First what `default` does, then the same from what is nearest to fitting.
    if is_short && !fits(&found) && !context.stop.is_stopped() {
        found = better(found, search(Preset::Default, None, start.into_iter().collect()));
    }
    if !fits(&found) && !context.stop.is_stopped() {
        let known = found.iter().map(|(_, found)| found.clone()).collect();
        found = better(found, search(Preset::Default, None, known));
    }
    Some(found.map(|(_, found)| {
        let planned = if found.plan.is_some() { found } else { planned(found.placement) };
        let scheduler = best_scheduler(instance, context, &*objective, &planned);
        // It may be too late to ask.
        Decision { scheduler: scheduler.or_else(|| objective.schedulers().first().cloned()), ..planned }
    }))
}

/// The better of two answers, of equal ones the first.
fn better(
    first: Result<period::Found, PlaceError>,
    second: Result<period::Found, PlaceError>,
) -> Result<period::Found, PlaceError> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok(if second.0.compare(&first.0).is_lt() { second } else { first }),
        (first @ Ok(_), Err(_)) => first,
        (Err(_), second) => second,
    }
}

/// The scheduler with which a decision takes the least time, if what is in flight fits with it; else the one with which most fits.
fn best_scheduler(
    instance: &Instance,
    context: &PlaceContext,
    objective: &dyn Objective,
    decision: &Decision,
) -> Option<Arc<str>> {
    let judge = |objective: &dyn Objective, decision: &Decision| {
        let judgement = objective.judge(instance, decision, &context.stop).ok()?;
        Some((judgement.excess_bytes, objective.schedulers().get(judgement.scheduler).cloned()?))
    };
    let (_, fastest) = judge(&*objective.for_goal(Goal::Makespan)?, decision)?;
    match judge(objective, &Decision { scheduler: Some(Arc::clone(&fastest)), ..decision.clone() }) {
        Some((excess, _)) if excess > 0 => judge(objective, decision).map(|(_, scheduler)| scheduler),
        _ => Some(fastest),
    }
}

/// The context that a search has: told to stop at its own deadline, and early enough before that of the caller that what it
/// answers can still be used.
fn limited(context: &PlaceContext, deadline: Option<Instant>) -> PlaceContext {
    let stop = context.stop.share(SHARE_OF_LIMIT);
    PlaceContext { stop: deadline.map_or(stop.clone(), |deadline| stop.until(deadline)), ..context.clone() }
}

/// The best decision that a search finds from those that are known, which take part: of equal ones the first. Where the run decides
/// about memory and refuses what was found, the search is repeated with limits, the second time with such as are sure to hold. Where
/// nothing fits then, all placers are asked.
///
/// # Errors
/// [`PlaceError::Stopped`] if it is time to stop and nothing is known.
fn best_of(
    instance: &Instance,
    context: &PlaceContext,
    judge: &Judge<'_>,
    effort: Effort,
    deadline: Option<Instant>,
    mut known: Vec<Decision>,
) -> Result<Option<Decision>, PlaceError> {
    let bound = bounds::best_quick(instance).value;
    // Time that is given goes to the search that the objective judges.
    let search_until = deadline.filter(|_| judge.is_exact);
    let fits = |ranked: &[Judged]| ranked.first().is_some_and(|(rank, _)| rank.excess_bytes == 0);
    let begun = known.clone();
    // What is cheap is judged before what may last until it is too late.
    let early = match deadline.filter(|_| !judge.is_model()) {
        Some(_) => {
            let single = SingleDevice::with_defaults().place(instance, context).ok();
            judge.rank(instance, known.iter().cloned().chain(single).collect())
        }
        None => Vec::new(),
    };
    let mut ranked = Vec::new();
    for caution in [Caution::None, Caution::Estimate, Caution::Sum] {
        let problem = Problem::new(instance, 1.0).cautious(caution);
        let searching = &PlaceContext { stop: context.stop.share(judge.share_of_model()), ..context.clone() };
        let on_model = if judge.is_exact { effort } else { effort.brief() };
        let search = Search { problem: &problem, context: searching, effort: on_model, bound };
        let schedules = known.iter().map(|decision| schedule_of(&problem, decision));
        let schedules: Vec<Schedule> = schedules.filter(|schedule| holds(&problem, schedule)).collect();
        let found = search.run(schedules, search_until)?;
        let mut decisions = found.iter().map(|schedule| judge.planned(decision(&problem, schedule)));
        known.extend(decisions.by_ref().take(MOST_JUDGED));
        for factor in judge.factors() {
            let slower = Problem::new(instance, factor).cautious(caution);
            let known_there = found.iter().take(MOST_JUDGED).map(|schedule| schedule.on(&slower)).collect();
            let more = Search { problem: &slower, ..search }.run(known_there, None)?;
            known.extend(more.iter().take(MOST_JUDGED / 2).map(|found| decision(&problem, &found.on(&problem))));
        }
        ranked = match judge.is_exact {
            true => judge.rank(instance, known.clone()),
            false => {
                let seeds = effort.seeds.iter().chain(effort.sparing).chain(effort.groups);
                judged::starts(&problem, context, judge, seeds, known.clone())?
            }
        };
        if !fits(&ranked) {
            // Nothing worse than what it began with.
            ranked.extend(judge.rank(instance, decisions.map(|found| Decision { scheduler: None, ..found }).collect()));
            ranked.sort_by(|a, b| a.0.compare(&b.0));
        }
        if context.stop.is_stopped() || !judge.can_refuse {
            break;
        }
        // What fits may be another placer's: then the search of the model has found nothing yet.
        let own: Vec<Decision> = found.iter().take(MOST_JUDGED).map(|schedule| decision(&problem, schedule)).collect();
        if fits(&ranked) && fits(&judge.rank(instance, own)) {
            break;
        }
        known.extend(ranked.iter().take(1).map(|(_, refused)| refused.clone()));
    }
    let problem = Problem::new(instance, 1.0);
    if !fits(&ranked) && !context.stop.is_stopped() {
        ranked.extend(judged::last_resort(instance, &problem, context, judge));
        ranked.sort_by(|a, b| a.0.compare(&b.0));
    }
    ranked.extend(early);
    ranked.sort_by(|a, b| a.0.compare(&b.0));
    if !judge.is_exact || !fits(&ranked) {
        ranked = judged::improve(&problem, context, judge, effort, deadline, ranked);
    }
    if let Some(robust) = &judge.robust
        && let Some(best) = robust.best(instance, &context.stop, &ranked)
    {
        return Ok(Some(best));
    }
    let Some((rank, best)) = ranked.into_iter().next() else { return Ok(None) };
    // What was planned or tried for one scheduler may be better with another; so may what the search began with, whatever its plan.
    let again = judge.settle(instance, std::iter::once(best.clone()).chain(begun));
    Ok(Some(again.filter(|(found, _)| found.compare(&rank).is_le()).map_or(best, |(_, best)| best)))
}

/// The decision of a schedule, with its makespan to the last bit: ops by planned start, and as each device executes them.
fn decision(problem: &Problem<'_>, schedule: &Schedule) -> Decision {
    let (makespan, starts, finish) = problem.exact_times(&schedule.devices, &schedule.order);
    let order = sorted_by(schedule.order.iter().copied(), |op| finish[op as usize]);
    let order = sorted_by(order.into_iter(), |op| starts[op as usize]);
    let plan = Plan::of_ops(order.into_iter().map(OpId), makespan);
    let placement = Placement::new(schedule.devices.iter().map(|&device| DeviceId(device)).collect());
    Decision { plan: Some(plan), ..Decision::placement(placement) }
}
