//! What a search adds where transfers wait for each other: starts with few transfers, list passes and annealing that know ports,
//! the objective's word on all of them, and annealing on that word.

use std::time::Instant;

use placebench_datasets::{Instance, Time};
use rayon::prelude::*;

use super::decision;
use super::judge::{Judge, Rank};
use super::port_pass::{informed_port_pass, port_pass};
use super::ports::PortAnnealing;
use super::problem::Problem;
use super::random::Random;
use super::schedule::Schedule;
use super::search::Effort;
use super::seeds::{Seed, by_upward_rank, schedule_of};
use super::simulated;
use crate::{Decision, PlaceContext, PlaceError, StopToken};

/// How much longer transfers are taken to last for the priorities of list passes that know ports.
const FACTORS: [f64; 3] = [1.0, 3.0, 8.0];

/// How often an annealing shows its best schedule to the judge.
const PARTS: u64 = 4;

/// How many of the schedules that list passes made are shown to the judge.
const MOST_JUDGED: usize = 12;

/// The ops and edges of a graph beyond which fewer changes are tried.
const LARGE: u64 = 20_000;

/// Random numbers of other purposes have smaller streams.
const STREAM: u64 = 1 << 63;

/// What is known and what is found beside it, best first. With a deadline, the last annealing is repeated until then.
///
/// # Errors
/// [`PlaceError::Stopped`] if it is time to stop and nothing is known.
pub(super) fn search(
    instance: &Instance,
    problem: &Problem<'_>,
    context: &PlaceContext,
    judge: &Judge<'_>,
    effort: Effort,
    deadline: Option<Instant>,
    known: Vec<Decision>,
) -> Result<Vec<(Rank, Decision)>, PlaceError> {
    let judged = |schedules: Vec<Schedule>| {
        judge.rank(instance, schedules.iter().map(|schedule| decision(problem, schedule)).collect())
    };
    let slower = FACTORS.map(|factor| Problem::new(instance, factor));
    let mut found = Vec::new();
    let sparing = if effort.seeds.is_empty() { &[] } else { Seed::SPARING };
    let seeds = effort.seeds.iter().chain(sparing).filter(|seed| effort.ports.with_slow_seeds || !seed.is_slow());
    for seed in seeds {
        if context.stop.is_stopped() {
            break;
        }
        match seed.make(problem, context) {
            Ok(schedule) => found.extend(schedule),
            Err(PlaceError::Stopped) if !known.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    if !effort.seeds.is_empty() {
        found.extend(
            slower
                .iter()
                .filter_map(|slower| port_pass(problem, &by_upward_rank(slower.forward()), None, &context.stop)),
        );
    }
    let mut ranked = judge.rank(instance, known);
    ranked.extend(judged(found));
    ranked.sort_by(|a, b| a.0.compare(&b.0));
    let starts: Vec<Schedule> =
        ranked.iter().take(effort.ports.passed).map(|(_, start)| schedule_of(problem, start)).collect();
    let mut passed: Vec<(Time, Schedule)> = starts
        .par_iter()
        .flat_map_iter(|start| {
            slower.iter().flat_map(|slower| passes(problem, slower, start, effort.ports.passes, &context.stop))
        })
        .map(|schedule| (PortAnnealing::new(problem, &schedule, judge.contention).makespan(), schedule))
        .collect();
    passed.sort_by(|a, b| a.0.total_cmp(&b.0));
    ranked.extend(judged(passed.into_iter().take(MOST_JUDGED).map(|(_, schedule)| schedule).collect()));
    ranked.sort_by(|a, b| a.0.compare(&b.0));
    // Large graphs get fewer changes: each takes longer.
    let size = problem.ops + instance.graph().edge_count();
    let changes = effort.ports.changes * LARGE / (size as u64).max(LARGE);
    let mut round = 0;
    while round < effort.ports.rounds as u64 && !context.stop.is_stopped() && !ranked.is_empty() {
        let starts = &ranked[..effort.ports.starts.min(ranked.len())];
        let better: Vec<Vec<Schedule>> = starts
            .par_iter()
            .enumerate()
            .map(|(nth, (_, start))| {
                let mut random = Random::new(context.seed, STREAM | round << 32 | nth as u64);
                let mut annealing = PortAnnealing::new(problem, &schedule_of(problem, start), judge.contention);
                annealing.run(changes, PARTS, &mut random, &context.stop)
            })
            .collect();
        ranked.extend(judged(better.into_iter().flatten().collect()));
        ranked.sort_by(|a, b| a.0.compare(&b.0));
        round += 1;
    }
    // What does not fit is searched again, with limits.
    while let Some(start) = ranked.first().filter(|(rank, _)| rank.excess_bytes == 0) {
        let mut random = Random::new(context.seed, STREAM | round << 32);
        let judgements = effort.ports.judgements;
        let Some(better) = simulated::anneal(instance, problem, judge, start, judgements, &mut random, &context.stop)
        else {
            break;
        };
        ranked.insert(0, better);
        round += 1;
        if deadline.is_none() {
            break;
        }
    }
    Ok(ranked)
}

/// What list passes that know ports make of a schedule, one after the other.
fn passes(
    problem: &Problem<'_>,
    slower: &Problem<'_>,
    start: &Schedule,
    passes: usize,
    stop: &StopToken,
) -> Vec<Schedule> {
    let mut made: Vec<Schedule> = Vec::new();
    for _ in 0..passes {
        let Some(next) = informed_port_pass(problem, slower, made.last().unwrap_or(start), stop) else { break };
        made.push(next);
    }
    made
}
