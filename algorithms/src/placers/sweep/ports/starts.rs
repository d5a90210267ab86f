//! Schedules that know ports, made of others: list passes, and annealing by the estimate. The objective judges the best of them.

use placebench_datasets::Time;
use rayon::prelude::*;

use super::Ports;
use crate::PlaceContext;
use crate::placers::sweep::judge::{Judge, Judged};
use crate::placers::sweep::port_pass::{informed_port_pass, port_pass};
use crate::placers::sweep::problem::Problem;
use crate::placers::sweep::random::Random;
use crate::placers::sweep::schedule::Schedule;
use crate::placers::sweep::search::PortEffort;
use crate::placers::sweep::seeds::{by_upward_rank, schedule_of};

/// How much longer transfers are taken to last for the priorities of list passes.
const FACTORS: [f64; 3] = [1.0, 3.0, 8.0];

/// How many of the schedules that list passes made are judged.
const MOST_JUDGED: usize = 12;

/// How often an annealing shows its best schedule to the judge.
const PARTS: u64 = 4;

/// The ops and edges of a graph beyond which fewer changes are tried.
const LARGE: u64 = 20_000;

/// Random numbers of other purposes have other streams.
const STREAM: u64 = 3 << 62;

/// Adds to what is ranked, best first, what list passes make of the upward ranks and of the best, and what annealing by the estimate
/// makes of the best then, round by round.
pub(in super::super) fn improve(
    problem: &Problem<'_>,
    context: &PlaceContext,
    judge: &Judge<'_>,
    effort: PortEffort,
    ranked: &mut Vec<Judged>,
) {
    if effort.passed > 0 {
        ranked.extend(judge.rank_schedules(problem, &passed(problem, context, judge, effort, ranked)));
        ranked.sort_by(|a, b| a.0.compare(&b.0));
    }
    // Large graphs get fewer changes: each takes longer.
    let size = problem.ops + problem.instance.graph().edge_count();
    let changes = effort.changes * LARGE / (size as u64).max(LARGE);
    for round in 0..effort.rounds {
        if changes == 0 || ranked.is_empty() || context.stop.is_stopped() {
            break;
        }
        let anneal = |(nth, (_, start)): (usize, &Judged)| {
            let mut random = Random::new(context.seed, STREAM | round << 32 | nth as u64);
            let mut ports = Ports::new(problem, &schedule_of(problem, start), judge.contention);
            let cooling = ports.cooling();
            ports.run(changes, PARTS, cooling, &mut random, &context.stop)
        };
        let starts = &ranked[..effort.starts.min(ranked.len())];
        let better: Vec<Vec<Schedule>> = starts.par_iter().enumerate().map(anneal).collect();
        ranked.extend(judge.rank_schedules(problem, &better.concat()));
        ranked.sort_by(|a, b| a.0.compare(&b.0));
    }
}

/// What list passes make of the upward ranks, and of the best of what is ranked: those that the estimate says are shortest.
fn passed(
    problem: &Problem<'_>,
    context: &PlaceContext,
    judge: &Judge<'_>,
    effort: PortEffort,
    ranked: &[Judged],
) -> Vec<Schedule> {
    let slower = FACTORS.map(|factor| Problem::new(problem.instance, factor));
    let by_rank = |slower: &Problem<'_>| port_pass(problem, &by_upward_rank(slower.forward()), None, &context.stop);
    let mut found: Vec<Schedule> = slower.iter().filter_map(by_rank).collect();
    let starts: Vec<Schedule> =
        ranked.iter().take(effort.passed).map(|(_, start)| schedule_of(problem, start)).chain(found.clone()).collect();
    let mut made: Vec<(Time, Schedule)> = starts
        .par_iter()
        .flat_map_iter(|start| {
            slower.iter().flat_map(move |slower| {
                let next = move |former: &Schedule| informed_port_pass(problem, slower, former, &context.stop);
                std::iter::successors(next(start), next).take(effort.passes)
            })
        })
        .map(|schedule| (Ports::new(problem, &schedule, judge.contention).makespan(), schedule))
        .collect();
    made.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.extend(made.into_iter().take(MOST_JUDGED).map(|(_, schedule)| schedule));
    found
}
