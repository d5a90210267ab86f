//! Annealing whose changes the objective judges, where the model is only an estimate of it.

use placebench_datasets::Instance;

use super::decision;
use super::judge::{Judge, Rank};
use super::ports::{HEAT, PortAnnealing};
use super::problem::Problem;
use super::random::Random;
use super::schedule::Schedule;
use super::seeds::schedule_of;
use crate::{Decision, StopToken};

/// Changes judged at once from one schedule: the first of them that is accepted is made.
const BATCH: usize = 4;

/// How many changes are drawn for each that is judged, at most.
const DRAWS: usize = 100;

/// By which share of the makespan a change may be worse by the estimate, on the mean, and still be judged.
const SLACK: f64 = 0.01;

/// Tries changes of a start until the objective has judged `judgements` of them. Returns the best decision met; `None` if no
/// change was judged.
pub(super) fn anneal(
    instance: &Instance,
    problem: &Problem<'_>,
    judge: &Judge<'_>,
    start: &(Rank, Decision),
    judgements: usize,
    random: &mut Random,
    stop: &StopToken,
) -> Option<(Rank, Decision)> {
    let mut annealing = PortAnnealing::new(problem, &schedule_of(problem, &start.1), judge.contention);
    let (mut best, mut now) = (None, start.0);
    let mut judged = 0;
    while judged < judgements && !stop.is_stopped() {
        let neighbours = annealing.neighbours(BATCH, DRAWS, SLACK, random);
        let schedules = neighbours.iter().map(|devices| Schedule::of_devices(problem, devices.clone()));
        let decisions: Vec<Decision> = schedules.map(|schedule| decision(problem, &schedule)).collect();
        if decisions.is_empty() {
            break;
        }
        let temperature = now.makespan * HEAT.0 * libm::pow(HEAT.1 / HEAT.0, judged as f64 / judgements as f64);
        judged += decisions.len();
        let ranks = judge.judge(instance, &decisions);
        for ((devices, decision), rank) in neighbours.iter().zip(decisions).zip(ranks) {
            let Some(rank) = rank else { break };
            if best.is_none() {
                best = Some(start.clone());
            }
            let fits_better = rank.excess_bytes < now.excess_bytes;
            let limit = now.makespan + temperature * random.exponential();
            if fits_better || (rank.excess_bytes == now.excess_bytes && rank.makespan <= limit) {
                annealing.adopt(devices);
                now = rank;
                if best.as_ref().is_none_or(|(best, _)| rank.compare(best).is_lt()) {
                    best = Some((rank, decision));
                }
                break;
            }
        }
    }
    best
}
