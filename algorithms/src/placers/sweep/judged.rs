//! What a search adds where the model is not exact, because transfers wait for each other, sends cost time or the scheduler does not
//! follow plans: more starts, the objective's word on all of them, and an annealing whose changes the objective judges.

use std::time::Instant;

use placebench_datasets::{DeviceId, Instance, Placement};
use rayon::prelude::*;

use super::decision;
use super::judge::{self, Contention, Judge, Judged, Rank};
use super::ports::{self, Ports};
use super::problem::Problem;
use super::random::Random;
use super::schedule::Schedule;
use super::search::Effort;
use super::seeds::{Seed, all_placers, schedule_of};
use crate::{Decision, PlaceContext, PlaceError};

/// By which share of the makespan a change may be worse by the estimate, on the mean, and still be judged.
const SLACK: f64 = 0.03;

/// Where no change is so good, as in a small graph, the share is doubled up to this.
const MOST_SLACK: f64 = 0.96;

/// With a deadline, every other annealing begins with another of the best, of at most this many.
const OTHER_STARTS: usize = 16;

/// How many changes are drawn for each that is judged, at most.
const DRAWS: usize = 100;

/// An annealing goes back to the best that it has met after each of this many equal parts.
const PARTS: usize = 6;

/// Random numbers of other purposes have smaller streams.
const STREAM: u64 = 1 << 63;

/// What is known, and what the seeds make, best first.
///
/// # Errors
/// [`PlaceError::Stopped`] if it is time to stop and nothing is known.
pub(super) fn starts(
    problem: &Problem<'_>,
    context: &PlaceContext,
    judge: &Judge<'_>,
    seeds: impl Iterator<Item = &'static Seed>,
    known: Vec<Decision>,
) -> Result<Vec<Judged>, PlaceError> {
    let seeds: Vec<Seed> = seeds.copied().collect();
    let made: Vec<_> = seeds.par_iter().map(|seed| seed.make(problem, context)).collect();
    let mut decisions = known;
    for outcome in made {
        match outcome {
            Ok(schedule) => decisions.extend(schedule.map(|schedule| decision(problem, &schedule))),
            Err(PlaceError::Stopped) if !decisions.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(judge.rank(problem.instance, decisions))
}

/// Anneals from the best of what is ranked, each change judged by the objective, and puts what it finds first. With a deadline it is
/// repeated until then.
pub(super) fn improve(
    problem: &Problem<'_>,
    context: &PlaceContext,
    judge: &Judge<'_>,
    effort: Effort,
    deadline: Option<Instant>,
    mut ranked: Vec<Judged>,
) -> Vec<Judged> {
    if judge.contention != Contention::None || problem.ends.is_some() {
        ports::starts::improve(problem, context, judge, effort.ports, &mut ranked);
    }
    let (mut round, mut stuck) = (0u64, 0);
    while effort.judgements > 0 && !ranked.is_empty() && !context.stop.is_stopped() {
        // Beyond what the preset says, every other round begins elsewhere: what the best leads to is known.
        let starts = match round % 2 {
            0 => &ranked[..effort.starts.min(ranked.len())],
            _ => {
                let other = (round as usize / 2 + 1) % ranked.len().min(OTHER_STARTS);
                &ranked[other..=other]
            }
        };
        let judgements = effort.judgements / starts.len();
        let chain = |(nth, start): (usize, &Judged)| {
            let mut random = Random::new(context.seed, STREAM | round << 32 | nth as u64);
            anneal(problem, context, judge, start, judgements, &mut random)
        };
        let better: Vec<Option<Judged>> = starts.par_iter().enumerate().map(chain).collect();
        let is_stuck = better.iter().all(Option::is_none);
        ranked.splice(0..0, better.into_iter().flatten());
        ranked.sort_by(|a, b| a.0.compare(&b.0));
        // Equal ones are few starts.
        ranked.dedup_by(|a, b| a.0.compare(&b.0).is_eq() && a.1.placement == b.1.placement);
        round += 1;
        // Nothing can be changed at all, from none of the starts.
        stuck = if is_stuck { stuck + 1 } else { 0 };
        if stuck > 2 * OTHER_STARTS || deadline.is_none_or(|deadline| Instant::now() >= deadline) {
            break;
        }
    }
    ranked
}

/// Tries changes of a start until the objective has judged `judgements` of them. Returns the best decision met, which may be the
/// start; `None` if no change was judged.
pub(super) fn anneal(
    problem: &Problem<'_>,
    context: &PlaceContext,
    judge: &Judge<'_>,
    start: &Judged,
    judgements: usize,
    random: &mut Random,
) -> Option<Judged> {
    let mut ports = Ports::new(problem, &schedule_of(problem, &start.1), judge.contention);
    let scheduler = judge.trial_scheduler(start.0.scheduler);
    let planned = |devices: Vec<u32>| {
        let made = decision(problem, &Schedule::of_devices(problem, devices));
        Decision { scheduler: scheduler.clone(), ..made }
    };
    // Making a plan takes longer than a simulation: each change has one only where a scheduler may follow it.
    let is_free = scheduler.as_deref().is_some_and(|name| !judge::follows(name));
    let trial = |devices: Vec<u32>| match is_free {
        true => {
            let placement = Placement::new(devices.into_iter().map(DeviceId).collect());
            Decision { scheduler: scheduler.clone(), ..Decision::placement(placement) }
        }
        false => planned(devices),
    };
    let cooling = ports.cooling();
    let mut slack = SLACK;
    let part = judgements.div_ceil(PARTS).max(1);
    let (mut best, mut now): (Option<Judged>, Rank) = (None, start.0);
    for judged in 0..judgements {
        if context.stop.is_stopped() {
            break;
        }
        if judged % part == 0
            && let Some((rank, decision)) = &best
            && rank.compare(&now).is_lt()
        {
            now = *rank;
            ports.adopt(&schedule_of(problem, decision).devices);
        }
        let Some(devices) = ports.neighbour(DRAWS, slack, random) else {
            if slack >= MOST_SLACK {
                break;
            }
            slack *= 2.0;
            continue;
        };
        let tried = trial(devices.clone());
        let Some(rank) = judge.judge_one(problem.instance, &tried) else { break };
        if best.is_none() {
            best = Some(start.clone());
        }
        let limit = cooling.limit(now.makespan, judged as f64 / judgements as f64, random);
        let fits_better = rank.excess_bytes < now.excess_bytes;
        if fits_better || (rank.excess_bytes == now.excess_bytes && rank.makespan <= limit) {
            ports.adopt(&devices);
            now = rank;
            if best.as_ref().is_none_or(|(best, _)| rank.compare(best).is_lt()) {
                best = Some((rank, tried));
            }
        }
    }
    // Other schedulers than the one that was tried may execute the answer.
    best.map(|(rank, best)| match &best.plan {
        Some(_) => (rank, best),
        None => (rank, planned(schedule_of(problem, &best).devices)),
    })
}

/// What any placer of the registry finds, best first: the last resort where nothing else fits.
pub(super) fn last_resort(
    instance: &Instance,
    problem: &Problem<'_>,
    context: &PlaceContext,
    judge: &Judge<'_>,
) -> Vec<Judged> {
    let made: Vec<Option<Decision>> = all_placers()
        .par_iter()
        .map(|placer| {
            let found = placer.place(instance, context).ok()?;
            Some(match found.plan {
                Some(_) => found,
                None => Decision { repaired: found.repaired, ..decision(problem, &schedule_of(problem, &found)) },
            })
        })
        .collect();
    judge.rank(instance, made.into_iter().flatten().collect())
}
