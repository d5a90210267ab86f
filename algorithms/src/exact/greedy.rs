//! A first schedule: greedy, with priorities that are disturbed and kept where they help.

use placebench_datasets::Time;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::problem::Problem;
use super::state::{State, Step};

/// A good schedule, if the greedy choice finds one: each time the ready op of the largest priority goes where it and the least
/// that comes after it end first.
pub(super) fn schedule(problem: &Problem) -> Option<Vec<Step>> {
    let rounds = 50 + 20 * problem.ops;
    let mut rng = Pcg64::seed_from_u64(0);
    let mut kept = priorities(problem);
    let mut tried = kept.clone();
    let mut best: Option<(Time, Vec<Step>)> = None;
    let mut state = State::new(problem);
    for round in 0..rounds {
        let noise = 0.5 * f64::from(u32::from(round > 0)) * rng.random::<f64>();
        for (tried, &kept) in tried.iter_mut().zip(&kept) {
            *tried = kept * (1.0 + noise * (rng.random::<f64>() - 0.5));
        }
        let second_choice = if round > 0 { 0.1 } else { 0.0 };
        let Some(steps) = build(problem, &mut state, &tried, second_choice, &mut rng) else { continue };
        let makespan = problem.makespan(&steps);
        if best.as_ref().is_none_or(|(least, _)| makespan <= *least) {
            kept.clone_from(&tried);
            best = Some((makespan, steps));
        }
    }
    best.map(|(_, steps)| steps)
}

/// The mean over the devices of an op's time and what comes after it at least.
fn priorities(problem: &Problem) -> Vec<f64> {
    (0..problem.ops)
        .map(|op| {
            let allowed = (0..problem.devices).filter(|&device| problem.time(op, device) < f64::INFINITY);
            let (sum, count) = allowed.fold((0.0, 0.0), |(sum, count), device| {
                let tail = problem.tail[op * problem.devices + device];
                (sum + problem.time(op, device) + if tail < f64::INFINITY { tail } else { 0.0 }, count + 1.0)
            });
            1.0 + sum / count
        })
        .collect()
}

fn build(
    problem: &Problem,
    state: &mut State,
    priorities: &[f64],
    second_choice: f64,
    rng: &mut Pcg64,
) -> Option<Vec<Step>> {
    state.copy(&State::new(problem));
    let mut steps = Vec::with_capacity(problem.ops);
    while steps.len() < problem.ops {
        let ready = (0..problem.ops).filter(|&op| state.is_ready(problem, op));
        let op = ready.reduce(|best, op| if priorities[op] > priorities[best] { op } else { best })?;
        let mut first: Option<(Time, Step)> = None;
        let mut second = None;
        for device in (0..problem.devices).filter(|&device| state.allows(problem, op, device)) {
            let step = Step { op, device };
            let entry = op * problem.devices + device;
            let total = state.start(problem, step) + problem.time[entry] + problem.tail[entry];
            if first.is_none_or(|(least, _)| total < least) {
                (second, first) = (first, Some((total, step)));
            } else if second.is_none_or(|(least, _): (Time, Step)| total < least) {
                second = Some((total, step));
            }
        }
        let choice = if rng.random::<f64>() < second_choice { second.or(first) } else { first };
        let (_, step) = choice?;
        state.append(problem, step);
        steps.push(step);
    }
    Some(steps)
}
