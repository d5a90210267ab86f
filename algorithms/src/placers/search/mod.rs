//! What searches share: groups, a budget of simulated placements, the best placement seen, random streams.
//!
//! A search draws candidates in batches of a fixed size; a batch is judged in parallel and used in order, so that
//! threads make no difference.

mod groups;

use std::sync::Arc;

use placebench_base::process::check_memory;
use placebench_datasets::{DeviceId, Instance, Placement, Time, splitmix64};
use rand_pcg::Pcg64;
use rayon::prelude::*;

use self::groups::Groups;
use super::{Hashing, Heft, SingleDevice};
use crate::fairness::{Exception, Law};
use crate::period::Goal;
use crate::{Algorithm, Decision, Judgement, Named, Objective, Params, PlaceContext, PlaceError, Placer, SpecError};

/// The laws of fairness that no search keeps, since it draws.
pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception::new(
        Law::RelabelledDevices,
        "it draws devices for ops or groups by their numbers: other numbers, other draws",
    ),
    Exception::new(
        Law::RelabelledOps,
        "it draws devices for ops or groups by their numbers: other numbers, other draws",
    ),
    Exception::new(Law::IsolatedOp, "one more op is one more group to draw for: other draws"),
];

/// What every search takes: the same budget and the same groups, so that they compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many placements may be simulated, the start included.
    pub evaluations: usize,
    /// Units are merged to at most this number of groups.
    pub groups: usize,
    /// What is minimised; `None` for what the objective does.
    pub goal: Option<Goal>,
}

impl Budget {
    /// The parameters `budget`, `groups` and `objective`.
    pub(super) fn params(params: &mut Params) -> Result<Self, SpecError> {
        let budget = "placements that are simulated; every search has the same default";
        Ok(Self {
            evaluations: params.number("budget", 1000, 1.., budget)?,
            groups: params.number("groups", 256, 1.., "units are merged to at most this many groups")?,
            goal: Goal::param(params)?,
        })
    }
}

/// The distribution over devices that a search draws from before it has learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prior {
    /// Proportional to how fast the device is at the group's ops.
    Speed,
    /// The same for every allowed device.
    Uniform,
}

impl Prior {
    /// The parameter `prior`.
    pub(super) fn param(params: &mut Params) -> Result<Self, SpecError> {
        let doc =
            "probabilities of devices (to begin with): proportional to speed at the group's ops (speed), or uniform";
        params.word("prior", Self::Speed, doc)
    }
}

impl Named for Prior {
    const NAMES: &'static [(&'static str, Self)] = &[("speed", Self::Speed), ("uniform", Self::Uniform)];
}

/// A search under way.
pub(super) struct Search<'a> {
    instance: &'a Instance,
    context: &'a PlaceContext,
    objective: Arc<dyn Objective>,
    pub(super) groups: Groups,
    /// Evaluations left.
    left: usize,
    best: (Judgement, Placement),
    /// What executes what is judged: where there is a choice, what executes the start best.
    scheduler: Option<Arc<str>>,
    /// What the start is worth.
    reference: Time,
}

impl<'a> Search<'a> {
    /// Groups the units and evaluates the start: what `single_device` answers or, if that finds no room or does not fit, `heft`,
    /// or `hashing`; of those that do not fit the best.
    pub(super) fn new(
        name: &str,
        instance: &'a Instance,
        context: &'a PlaceContext,
        budget: Budget,
    ) -> Result<Self, PlaceError> {
        let objective = context.for_goal(budget.goal)?.objective.ok_or_else(|| {
            PlaceError::Unsupported(format!(
                "{name} searches and needs an objective to minimise: set PlaceContext::objective"
            ))
        })?;
        context.stop.check()?;
        let mut left = budget.evaluations;
        let best = start(instance, context, &*objective, &mut left)?;
        let groups = Groups::new(instance, budget.groups);
        context.stop.check()?;
        let reference = best.0.value;
        let scheduler = objective.schedulers().get(best.0.scheduler).cloned();
        Ok(Self { instance, context, objective, groups, left, best, scheduler, reference })
    }

    /// Evaluations left; none where there is nothing to choose.
    pub(super) fn left(&self) -> usize {
        let has_choice = (0..self.groups.count()).any(|group| self.groups.allowed(group).len() > 1);
        if has_choice { self.left } else { 0 }
    }

    /// How many candidates to draw next: as many as are wanted, as far as the budget goes.
    ///
    /// # Errors
    /// If they do not fit into memory.
    pub(super) fn round(&self, wanted: usize) -> Result<u64, PlaceError> {
        let count = wanted.min(self.left()) as u64;
        // The choice of each group, and its placement while it is judged.
        let candidate = size_of::<Vec<DeviceId>>() + self.groups.count() * size_of::<DeviceId>();
        let fits = check_memory(&[(count, candidate as u64)], || format!("a round of {count} samples"));
        fits.map_err(|error| PlaceError::Unsupported(error.to_string()))?;
        Ok(count)
    }

    /// Probabilities of the allowed devices of each group.
    pub(super) fn prior(&self, prior: Prior) -> Vec<Vec<f64>> {
        let even = |count: usize| vec![1.0 / count as f64; count];
        let row = |group: usize| match prior {
            Prior::Speed => self.groups.speed_shares(group, self.instance),
            Prior::Uniform => even(self.groups.allowed(group).len()),
        };
        (0..self.groups.count()).map(row).collect()
    }

    /// What the start is worth: its makespan, or its period.
    pub(super) fn reference(&self) -> Time {
        self.reference
    }

    /// The choice nearest to the best placement so far, repaired if groups do not fit where their ops did; `None` if that fails.
    pub(super) fn nearest_to_best(&self) -> Option<Vec<DeviceId>> {
        let mut choice = self.groups.nearest(&self.best.1);
        self.groups.repair(&mut choice).then_some(choice)
    }

    /// What a choice is worth that is the best placement so far.
    pub(super) fn best_if(&self, choice: &[DeviceId]) -> Option<Judgement> {
        (self.groups.placement(choice) == self.best.1).then_some(self.best.0)
    }

    /// The generator of the `sample`-th candidate: its stream depends on nothing else but the seed.
    pub(super) fn random(&self, sample: u64) -> Pcg64 {
        let high = splitmix64(self.context.seed);
        Pcg64::new(u128::from(high) << 64 | u128::from(splitmix64(high ^ sample)), u128::from(sample))
    }

    /// Judges choices that keep the memory that placers see, in order, as far as the budget goes.
    pub(super) fn evaluate(&mut self, choices: &[&[DeviceId]]) -> Result<Vec<Judgement>, PlaceError> {
        let choices = &choices[..choices.len().min(self.left)];
        self.left -= choices.len();
        let judge = |choice: &&[DeviceId]| {
            let decision =
                Decision { scheduler: self.scheduler.clone(), ..Decision::placement(self.groups.placement(choice)) };
            self.objective.judge(self.instance, &decision, &self.context.stop)
        };
        // All results before the first error: which error that is must not depend on which thread was first.
        let judged: Vec<Result<Judgement, PlaceError>> = choices.par_iter().map(judge).collect();
        let judged = judged.into_iter().collect::<Result<Vec<Judgement>, PlaceError>>()?;
        for (judgement, choice) in judged.iter().zip(choices) {
            if judgement.compare(&self.best.0).is_lt() {
                self.best = (*judgement, self.groups.placement(choice));
            }
        }
        self.context.stop.check()?;
        Ok(judged)
    }

    /// The best placement seen, with the scheduler that executes it best.
    pub(super) fn finish(self) -> Decision {
        let decision = Decision::placement(self.best.1);
        let schedulers = self.objective.schedulers();
        let scheduler = match schedulers {
            [] | [_] => self.scheduler,
            _ => match self.objective.judge(self.instance, &decision, &self.context.stop) {
                Ok(best) => schedulers.get(best.scheduler).cloned(),
                // Told to stop.
                Err(_) => self.scheduler,
            },
        };
        Decision { scheduler, ..decision }
    }
}

/// The first of three placements that fits, or the best of those that do not, with what it is worth. Each that is judged
/// takes one of the evaluations `left`; the budget is at least one.
fn start(
    instance: &Instance,
    context: &PlaceContext,
    objective: &dyn Objective,
    left: &mut usize,
) -> Result<(Judgement, Placement), PlaceError> {
    let starters: [&dyn Placer; 3] = [&SingleDevice::with_defaults(), &Heft::with_defaults(), &Hashing];
    let mut best: Option<(Judgement, Placement)> = None;
    let mut failure = None;
    for starter in starters {
        match starter.place(instance, context) {
            Ok(decision) => {
                // Its plan is not kept: the search has none.
                let decision = Decision::placement(decision.placement);
                let judgement = objective.judge(instance, &decision, &context.stop)?;
                *left = left.saturating_sub(1);
                if best.as_ref().is_none_or(|(least, _)| judgement.compare(least).is_lt()) {
                    best = Some((judgement, decision.placement));
                }
                if judgement.excess_bytes == 0 || *left == 0 {
                    break;
                }
            }
            Err(error @ PlaceError::Infeasible { .. }) => failure = Some(error),
            Err(error) => return Err(error),
        }
    }
    best.ok_or_else(|| failure.unwrap_or(PlaceError::Stopped))
}

/// A device for a group, drawn with the given probabilities of its allowed devices.
pub(super) fn draw(allowed: &[DeviceId], probabilities: &[f64], uniform: f64) -> DeviceId {
    let mut sum = 0.0;
    for (&device, &probability) in allowed.iter().zip(probabilities) {
        sum += probability;
        if uniform < sum {
            return device;
        }
    }
    // Rounding may leave the sum just below 1.
    allowed[allowed.len() - 1]
}
