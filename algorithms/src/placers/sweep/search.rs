//! The search as a whole: schedules to start from, then sweeps and annealing in turn.

use std::time::Instant;

use placebench_datasets::Time;
use rayon::prelude::*;

use super::annealing::Annealing;
use super::cooling::Cooling;
use super::memory::Memory;
use super::problem::Problem;
use super::random::Random;
use super::schedule::Schedule;
use super::seeds::{Seed, packed};
use super::sweeps::{Noise, Sweeper};
use crate::{PlaceContext, PlaceError, StopToken};

/// The temperature of the first and of the last sweep with noise, as a share of the makespan.
const SWEEP_HEAT: (f64, f64) = (2e-4, 1e-6);

/// The first temperature of annealing, in multiples of the mean time of an op on a longest path: what a change of one op costs.
const HEAT: f64 = 0.5;

/// Edges that annealing looks at in a round where a graph is small, in multiples of [`Effort::annealing`].
const LEAST_WORK: f64 = 8e3;

/// The most units with which searches over groups are asked: what they move is then the units.
const MOST_UNITS: usize = 256;

/// How much is tried. Work is counted, not timed, so that the answer does not depend on the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// What is tried beside HEFT.
    pub(super) seeds: &'static [Seed],
    /// Searches over groups: where there are few units, or the objective judges.
    pub(super) groups: &'static [Seed],
    /// What is tried, too, where the objective judges.
    pub(super) sparing: &'static [Seed],
    /// Chains of sweeps and annealing, each with random numbers of its own.
    pub(super) chains: usize,
    /// How often all chains begin, each time with the best that there are.
    pub(super) generations: usize,
    /// How often a chain sweeps and then anneals.
    pub(super) rounds: usize,
    /// Sweeps a round.
    pub(super) sweeps: usize,
    /// Edges looked at by annealing in a round, in multiples of (ops + edges) · devices that may run anything.
    pub(super) annealing: f64,
    /// How much is tried with ports in mind, where transfers hold each other up.
    pub(super) ports: PortEffort,
    /// How many of the best are annealed where the objective judges,
    pub(super) starts: usize,
    /// and the changes that it judges.
    pub(super) judgements: usize,
}

/// How much is tried with ports in mind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PortEffort {
    /// List passes one after the other,
    pub(super) passes: usize,
    /// from how many starts.
    pub(super) passed: usize,
    /// How often annealing begins,
    pub(super) rounds: u64,
    /// from how many starts,
    pub(super) starts: usize,
    /// each time with so many changes; fewer where a graph is large.
    pub(super) changes: u64,
}

impl Effort {
    /// What is spent on the model where it is not exact, so that the objective decides later.
    pub(super) fn brief(self) -> Self {
        let annealing = self.annealing.min(4.0);
        Self { groups: &[], chains: 1, generations: 1, rounds: self.rounds.min(2), annealing, ..self }
    }
}

/// A search of one problem.
pub(super) struct Search<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) context: &'a PlaceContext,
    pub(super) effort: Effort,
    /// No schedule is shorter.
    pub(super) bound: Time,
}

impl Search<'_> {
    /// The best schedules, best first; empty if no placement was found. What is in `known` is among what they are made of. With a
    /// deadline, chains begin again until then.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`] if it is time to stop and nothing is known.
    pub(super) fn run(&self, known: Vec<Schedule>, deadline: Option<Instant>) -> Result<Vec<Schedule>, PlaceError> {
        if known.iter().any(|schedule| self.is_done(schedule)) {
            return Ok(known);
        }
        let mut found = self.seeds(known)?;
        if found.is_empty() {
            found.extend(packed(self.problem));
        }
        sort(&mut found);
        let seeds = found.clone();
        let (chains, mut generation) = (self.effort.chains, 0);
        let goes_on = |generation| {
            generation < self.effort.generations || deadline.is_some_and(|deadline| Instant::now() < deadline)
        };
        while chains > 0 && !found.is_empty() && !self.is_done(&found[0]) && goes_on(generation) {
            // Few schedules may have been found: then several chains start from the same. Beyond what the preset says, every
            // other chain starts from another seed.
            let start = |chain: usize| match generation >= self.effort.generations && (generation + chain) % 2 == 1 {
                true => &seeds[(generation * chains + chain) / 2 % seeds.len()],
                false => &found[chain % found.len()],
            };
            let stream = |chain: usize| (generation as u64) << 32 | chain as u64;
            let better: Vec<Schedule> =
                (0..chains).into_par_iter().map(|chain| self.chain(start(chain), stream(chain))).collect();
            found.extend(better);
            sort(&mut found);
            found.dedup();
            generation += 1;
        }
        Ok(found)
    }

    fn is_done(&self, best: &Schedule) -> bool {
        best.makespan <= self.bound * (1.0 + 1e-12) || self.stop().is_stopped()
    }

    fn stop(&self) -> &StopToken {
        &self.context.stop
    }

    fn seeds(&self, mut known: Vec<Schedule>) -> Result<Vec<Schedule>, PlaceError> {
        let make = |seed: &Seed| match self.stop().is_stopped() {
            true => Err(PlaceError::Stopped),
            false => seed.make(self.problem, self.context),
        };
        let is_small = self.problem.instance.units().ids().len() <= MOST_UNITS;
        let groups = if is_small { self.effort.groups } else { &[] };
        let seeds: Vec<Seed> = self.effort.seeds.iter().chain(groups).copied().collect();
        let made: Vec<Result<Option<Schedule>, PlaceError>> = seeds.par_iter().map(make).collect();
        for outcome in made {
            match outcome {
                Ok(schedule) => known.extend(schedule),
                Err(PlaceError::Stopped) if !known.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(known)
    }

    /// Sweeps and anneals from a schedule, and returns the best one met.
    fn chain(&self, start: &Schedule, stream: u64) -> Schedule {
        let effort = self.effort;
        let mut noise = Noise { temperature: 0.0, random: Random::new(self.context.seed, stream) };
        let mut best = start.clone();
        let total = (effort.rounds * effort.sweeps) as f64;
        let edges = self.problem.instance.graph().edge_count() as f64;
        let work = (edges + self.problem.ops as f64) * self.problem.usable as f64;
        let work = work.max(LEAST_WORK) * effort.annealing;
        for round in 0..effort.rounds {
            let makespan = best.makespan;
            let spent = |sweep: usize| (round * effort.sweeps + sweep) as f64 / total;
            let cooled = |sweep| makespan * SWEEP_HEAT.0 * libm::pow(SWEEP_HEAT.1 / SWEEP_HEAT.0, spent(sweep));
            let temperatures: Vec<Time> = (0..effort.sweeps).map(cooled).collect();
            self.sweeps(&mut best, &temperatures, &mut noise);
            if self.is_done(&best) {
                break;
            }
            if work > 0.0 {
                let mut annealing = Annealing::new(self.problem, &best);
                let hottest = HEAT * best.makespan / annealing.steps() as f64;
                let cooling = Cooling::from(hottest).part(round, effort.rounds);
                annealing.run(work as u64, cooling, &mut noise.random, self.stop());
                best = annealing.finish();
            }
        }
        best
    }

    /// Sweeps in alternating directions from the best schedule, the last two without noise.
    fn sweeps(&self, best: &mut Schedule, temperatures: &[Time], noise: &mut Noise) {
        let problem = self.problem;
        let mut schedule = best.clone();
        let mut sweeper = Sweeper::new(problem.ops, problem.devices);
        let mut memory = Memory::of(problem, &schedule.devices);
        for (sweep, &temperature) in temperatures.iter().enumerate() {
            if self.stop().is_stopped() {
                return;
            }
            noise.temperature = if sweep + 2 >= temperatures.len() { 0.0 } else { temperature };
            let is_backward = sweep % 2 == 0;
            if is_backward {
                schedule.reverse();
            }
            let way = if is_backward { problem.backward() } else { problem.forward() };
            sweeper.sweep(way, &mut schedule, &mut memory, noise);
            if is_backward {
                schedule.reverse();
            }
            if schedule.makespan < best.makespan {
                best.clone_from(&schedule);
            }
        }
    }
}

/// Best first; equal ones as they are.
fn sort(schedules: &mut [Schedule]) {
    schedules.sort_by(|a, b| a.makespan.total_cmp(&b.makespan));
}
