//! The search as a whole: schedules to start from, informed list passes, then sweeps and annealing in turn.

use std::time::Instant;

use placebench_datasets::Time;
use rayon::prelude::*;

use super::annealing::Annealing;
use super::memory::Memory;
use super::passes::informed_pass;
use super::problem::Problem;
use super::random::Random;
use super::schedule::Schedule;
use super::seeds::{Seed, packed};
use super::sweeps::{Noise, Sweeper};
use crate::{PlaceContext, PlaceError, StopToken};

/// The temperature of the first and of the last sweep with noise, as a share of the makespan.
const SWEEP_HEAT: (f64, f64) = (2e-4, 1e-6);

/// The same of annealing.
const ANNEALING_HEAT: (f64, f64) = (1e-4, 1e-6);

/// How much is tried. Work is counted, not timed, so that the answer does not depend on the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// What is tried beside HEFT.
    pub(super) seeds: &'static [Seed],
    /// How many of the best are refined by informed passes.
    pub(super) refined: usize,
    /// Informed passes for each.
    pub(super) passes: usize,
    /// Chains of sweeps and annealing, each with random numbers of its own.
    pub(super) chains: usize,
    /// How often a chain sweeps and then anneals.
    pub(super) rounds: usize,
    /// Sweeps a round.
    pub(super) sweeps: usize,
    /// Edges looked at by annealing in a round, in multiples of (ops + edges) · devices that may run anything.
    pub(super) annealing: f64,
    /// What is added where transfers wait for each other.
    pub(super) ports: PortEffort,
}

/// How much is tried with ports in mind.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortEffort {
    /// Whether seeds that take many times the time of HEFT take part.
    pub(super) with_slow_seeds: bool,
    /// How many of the best starts list passes are guided by, and how often one after the other.
    pub(super) passed: usize,
    pub(super) passes: usize,
    /// How many of the best are improved,
    pub(super) starts: usize,
    /// how often,
    pub(super) rounds: usize,
    /// and the changes that each annealing tries.
    pub(super) changes: u64,
    /// Changes of the best that the objective judges at last.
    pub(super) judgements: usize,
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
    /// The best schedules, best first; empty if no placement was found. What is in `known` is among what they are made of.
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
        if found.first().is_some_and(|best| self.is_done(best)) {
            return Ok(found);
        }
        let refined: Vec<Schedule> =
            found.par_iter().take(self.effort.refined).flat_map_iter(|schedule| self.refine(schedule)).collect();
        found.extend(refined);
        sort(&mut found);
        let mut round = 0;
        while !found.is_empty() && !self.is_done(&found[0]) {
            let starts: Vec<Schedule> = found.iter().take(self.effort.chains).cloned().collect();
            let chains: Vec<Schedule> = (0..self.effort.chains as u64)
                .into_par_iter()
                // Few schedules may have been found: then several chains start from the same.
                .map(|chain| self.chain(&starts[chain as usize % starts.len()], round << 32 | chain))
                .collect();
            found.extend(chains);
            sort(&mut found);
            round += 1;
            if deadline.is_none_or(|deadline| Instant::now() >= deadline) || self.effort.chains == 0 {
                break;
            }
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
        let made: Vec<Result<Option<Schedule>, PlaceError>> = self.effort.seeds.par_iter().map(make).collect();
        for outcome in made {
            match outcome {
                Ok(schedule) => known.extend(schedule),
                Err(PlaceError::Stopped) if !known.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(known)
    }

    /// What informed passes make of a schedule, in turn on the reversed graph and forward.
    fn refine(&self, schedule: &Schedule) -> Vec<Schedule> {
        let mut passes: Vec<Schedule> = Vec::new();
        for pass in 0..self.effort.passes {
            if self.stop().is_stopped() {
                break;
            }
            let former = passes.last().unwrap_or(schedule);
            let next = match pass % 2 {
                0 => informed_pass(self.problem.backward(), &former.clone().reversed()).map(Schedule::reversed),
                _ => informed_pass(self.problem.forward(), former),
            };
            match next {
                Some(next) => passes.push(next),
                // Memory was short.
                None => break,
            }
        }
        passes
    }

    /// Sweeps and anneals from a schedule, and returns the best one met.
    fn chain(&self, start: &Schedule, stream: u64) -> Schedule {
        let effort = self.effort;
        let mut noise = Noise { temperature: 0.0, random: Random::new(self.context.seed, stream) };
        let mut best = start.clone();
        let total = (effort.rounds * effort.sweeps) as f64;
        let edges = self.problem.instance.graph().edge_count() as f64;
        let work = (edges + self.problem.ops as f64) * self.problem.usable as f64 * effort.annealing;
        for round in 0..effort.rounds {
            let makespan = best.makespan;
            let heat = |spent: f64, heat: (f64, f64)| makespan * heat.0 * libm::pow(heat.1 / heat.0, spent);
            let temperature = |sweep: usize| heat((round * effort.sweeps + sweep) as f64 / total, SWEEP_HEAT);
            let temperatures: Vec<Time> = (0..effort.sweeps).map(temperature).collect();
            self.sweeps(&mut best, &temperatures, &mut noise);
            if self.is_done(&best) {
                break;
            }
            if work > 0.0 {
                let spent = |round: usize| round as f64 / effort.rounds as f64;
                let (hot, cold) = (heat(spent(round), ANNEALING_HEAT), heat(spent(round + 1), ANNEALING_HEAT));
                let mut annealing = Annealing::new(self.problem, &best);
                annealing.run(work as u64, hot, cold, &mut noise.random, self.stop());
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
