//! Sweep: this project's own placer, which improves schedules of others.
//!
//! [`search`] is the whole; [`seeds`] makes the schedules it starts from, [`passes`] schedules once more with what a schedule
//! has shown, [`sweeps`] moves single ops and small units, [`annealing`] moves what is connected. They see the instance as
//! [`problem`] flattens it, in both directions of time ([`way`]).

mod annealing;
mod contended;
mod improve;
mod judge;
mod links;
mod memory;
mod passes;
mod port_pass;
mod ports;
mod problem;
mod random;
mod region;
mod schedule;
mod search;
mod seeds;
mod simulated;
mod sweeps;
#[cfg(test)]
mod tests;
mod way;

pub use improve::Improve;

use std::time::{Duration, Instant};

use placebench_datasets::{DeviceId, Instance, OpId, Placement};

use super::Heft;
use crate::exact;
use crate::fairness::{Exception, Law};
use crate::{Algorithm, Decision, Named, Params, PlaceContext, PlaceError, Placer, Plan, SpecError, bounds};
use judge::{Contention, Judge};
use problem::{Caution, Problem};
use schedule::{Schedule, sorted_by};
use search::{Effort, PortEffort, Search};
use seeds::{Seed, holds, schedule_of};

/// Most schedules of a search that the objective judges.
const MOST_JUDGED: usize = 6;

/// Graphs of more ops than this are not tried to be solved.
const MOST_SOLVED: usize = 32;

/// Share of a time limit that the search may take; the rest is for executing what it answers.
const SHARE_OF_LIMIT: f64 = 0.8;

/// How much longer transfers are taken to last in one more search each, where they hold each other up.
const FACTORS: [f64; 2] = [2.0, 4.0];

/// Improves the best of several list schedules: by list passes that know the schedule before, by sweeps that put each op where the
/// longest path through it is shortest, and by annealing on critical ops.
///
/// # Reference
/// This project's own. It combines: list scheduling with insertion (H. Topcuoglu et al., *Performance-Effective and
/// Low-Complexity Task Scheduling for Heterogeneous Computing*, IEEE TPDS 13(3), 2002, doi:10.1109/71.993206);
/// forward-backward improvement (K. Y. Li, R. J. Willis, *An iterative scheduling technique for resource-constrained project
/// scheduling*, European Journal of Operational Research 56(3), 1992, 370–379, doi:10.1016/0377-2217(92)90320-9); heads and
/// tails of a job-shop schedule for the exact longest path through a moved operation (P. J. M. van Laarhoven, E. H. L. Aarts,
/// J. K. Lenstra, *Job Shop Scheduling by Simulated Annealing*, Operations Research 40(1), 1992, 113–125,
/// doi:10.1287/opre.40.1.113).
///
/// # Complexity
/// A sweep takes O((ops + edges) · min(devices, 12)) beside sorting, a list pass what HEFT takes. The preset says how many there
/// are: measured on the suite `own-judges`, 18, 40 or 600 times the time of HEFT, and some 20 times that where transfers wait for each other. Memory: some 200 bytes an op and
/// 32 an edge for each chain, and 16 bytes per op and device for optimistic cost tables, which large instances do without.
///
/// # Ties
/// Of equal schedules the first one found: HEFT's own, then the seeds in order, then what became of them. Without noise an op
/// stays where it is unless another device is better.
///
/// # Deviations
/// - What is minimised is the makespan of the plan under the network model `contention_free`; a send op counts as part of its
///   transfer. Where transfers hold each other up, which the objective shows by graphs of two transfers, list passes and
///   annealing that know ports join the search: an estimate. There, and where sends cost something, the objective judges the
///   best schedules, and its word decides. Where transfers hold each other up, it also judges the changes of a last annealing. Under the memory rule `peak` what it refuses comes last.
/// - The answer is never worse than HEFT's plan by that measure: HEFT's schedule is one of those it chooses among.
/// - Small graphs are solved by [`crate::exact`] where that is proven within the preset's number of nodes.
/// - Told to stop, it answers with the best schedule so far if it has one.
/// - With `time` it goes on until the time is over, so that the answer depends on the machine.
/// - Temperatures and budgets are tuned, on the catalogue's graphs on `gtx1080x4` and `laich3` to `laich6` of seed 0.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// How much is tried.
    pub preset: Preset,
    /// How long the search goes on; `None` for as long as the preset says.
    pub time: Option<Duration>,
    /// A part of the method that is left out, to see what it is worth.
    pub without: Without,
}

/// A part of [`Sweep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// Everything takes part.
    Nothing,
    /// The seeds beside HEFT.
    Seeds,
    /// The informed list passes.
    Passes,
    /// The sweeps.
    Sweeps,
    /// The annealing.
    Annealing,
}

impl Named for Without {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("none", Self::Nothing),
        ("seeds", Self::Seeds),
        ("passes", Self::Passes),
        ("sweeps", Self::Sweeps),
        ("annealing", Self::Annealing),
    ];
}

/// How much [`Sweep`] tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// About 18 times HEFT's time.
    Fast,
    /// About 40 times HEFT's time.
    Default,
    /// About 600 times HEFT's time.
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
                refined: 1,
                passes: 1,
                chains: 1,
                rounds: 1,
                sweeps: 6,
                annealing: 0.0,
                ports: PortEffort {
                    with_slow_seeds: false,
                    passed: 3,
                    passes: 1,
                    starts: 1,
                    rounds: 1,
                    changes: 300,
                    judgements: 100,
                },
            },
            Self::Default => Effort {
                seeds: Seed::ALL,
                refined: 2,
                passes: 3,
                chains: 1,
                rounds: 2,
                sweeps: 12,
                annealing: 4.0,
                ports: PortEffort {
                    with_slow_seeds: true,
                    passed: 6,
                    passes: 3,
                    starts: 2,
                    rounds: 2,
                    changes: 600,
                    judgements: 400,
                },
            },
            Self::Quality => Effort {
                seeds: Seed::ALL,
                refined: 4,
                passes: 6,
                chains: 2,
                rounds: 8,
                sweeps: 32,
                annealing: 80.0,
                ports: PortEffort {
                    with_slow_seeds: true,
                    passed: 12,
                    passes: 6,
                    starts: 4,
                    rounds: 6,
                    changes: 5_000,
                    judgements: 2_000,
                },
            },
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

impl Algorithm for Sweep {
    const NAME: &str = "sweep";
    const SUMMARY: &str = "improves list schedules: informed passes, sweeps, annealing on critical ops";
    const SOURCE: &str = "this project";
    const EXCEPTIONS: &[Exception] = &[Exception::new(
        Law::IsolatedOp,
        "it draws numbers op by op: one more op, and those after it get other draws",
    )];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let preset = "how much is tried: fast, default or quality, about 18, 40 or 600 times the time of heft, and some 20 times \
                      that where transfers wait for each other";
        let time = "goes on for so long, such as 500ms or 2s, so that the answer depends on the machine; none: as the preset says";
        Ok(Self {
            preset: params.word("preset", Preset::Default, preset)?,
            time: params.value("time", "none", TIMES, time, parse_time)?,
            without: params.word(
                "without",
                Without::Nothing,
                "a part that is left out, to see what it is worth: none, seeds, passes, sweeps or annealing",
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
        let begun = Instant::now();
        let deadline = self.time.and_then(|time| begun.checked_add(time));
        let context = &limited(context, deadline);
        let judge = Judge::new(instance, context)?;
        let (heft, infeasible) = match Heft::with_defaults().place(instance, context) {
            Ok(decision) => (Some(decision), None),
            Err(error @ PlaceError::Infeasible { .. }) => (None, Some(error)),
            Err(error) => return Err(error),
        };
        let optimum = match self.optimum(instance, context) {
            Err(PlaceError::Stopped) if heft.is_some() => None,
            outcome => outcome?,
        };
        if let Some(optimum) = optimum.as_ref().filter(|_| judge.is_model()) {
            return Ok(optimum.clone());
        }
        let mut known: Vec<Decision> = heft.into_iter().collect();
        known.extend(optimum);
        let best = best_of(instance, context, &judge, self.effort(), deadline, known)?;
        best.ok_or_else(|| infeasible.unwrap_or(PlaceError::Stopped))
    }

    fn makes_plan(&self) -> bool {
        true
    }

    fn uses_objective(&self) -> bool {
        true
    }
}

impl Sweep {
    fn effort(&self) -> Effort {
        let effort = self.preset.effort();
        match self.without {
            Without::Nothing => effort,
            Without::Seeds => Effort { seeds: &[], ..effort },
            Without::Passes => Effort { passes: 0, ports: PortEffort { passed: 0, ..effort.ports }, ..effort },
            Without::Sweeps => Effort { sweeps: 0, ..effort },
            Without::Annealing => {
                Effort { annealing: 0.0, ports: PortEffort { rounds: 0, judgements: 0, ..effort.ports }, ..effort }
            }
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

/// The context that a search has: told to stop at its own deadline, and early enough before that of the caller that what it
/// answers can still be used.
fn limited(context: &PlaceContext, deadline: Option<Instant>) -> PlaceContext {
    let stop = context.stop.share(SHARE_OF_LIMIT);
    PlaceContext { stop: deadline.map_or(stop.clone(), |deadline| stop.until(deadline)), ..context.clone() }
}

/// The best decision that a search finds from those that are known, which take part: of equal ones the first. Where the run decides
/// about memory and refuses what was found, the search is repeated with limits, the second time with such as are sure to hold.
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
    let is_contended = judge.contention != Contention::None;
    // Time that is given goes to the search that knows ports.
    let search_until = deadline.filter(|_| !is_contended);
    let mut best = None;
    for caution in [Caution::None, Caution::Estimate, Caution::Sum] {
        let problem = Problem::new(instance, 1.0).cautious(caution);
        let search = Search { problem: &problem, context, effort, bound };
        let schedules = known.iter().map(|decision| schedule_of(&problem, decision));
        let schedules: Vec<Schedule> = schedules.filter(|schedule| holds(&problem, schedule)).collect();
        let mut found = search.run(schedules, search_until)?;
        found.truncate(MOST_JUDGED);
        if is_contended {
            for factor in FACTORS {
                let slower = Problem::new(instance, factor).cautious(caution);
                let known = found.iter().map(|schedule| schedule.on(&slower)).collect();
                let more = Search { problem: &slower, ..search }.run(known, search_until)?;
                found.extend(more.iter().take(MOST_JUDGED / 2).map(|schedule| schedule.on(&problem)));
            }
        }
        known.extend(found.iter().map(|schedule| decision(&problem, schedule)));
        let known_now = std::mem::take(&mut known);
        let ranked = match is_contended {
            true => contended::search(instance, &problem, context, judge, effort, deadline, known_now)?,
            false => judge.rank(instance, known_now),
        };
        best = ranked.into_iter().next().map(|(rank, decision)| (rank.excess_bytes == 0, decision));
        match best {
            Some((false, ref refused)) if !context.stop.is_stopped() => known.push(refused.clone()),
            _ => break,
        }
    }
    Ok(best.map(|(_, decision)| decision))
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
