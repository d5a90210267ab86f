//! What searches share: groups, a budget of simulated placements, the best placement seen, random streams.
//!
//! A search draws candidates in batches of a fixed size; a batch is judged in parallel and used in order, so that
//! threads make no difference.

mod groups;

use std::sync::Arc;

use placebench_datasets::{DeviceId, Instance, Placement, Time, splitmix64};
use rand_pcg::Pcg64;
use rayon::prelude::*;

use self::groups::Groups;
use super::{Hashing, Heft, SingleDevice};
use crate::fairness::{Exception, Law};
use crate::{Algorithm, Decision, Named, Objective, Params, PlaceContext, PlaceError, Placer, SpecError};

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
    /// Units are merged to at most so many groups.
    pub groups: usize,
}

impl Budget {
    /// The parameters `budget` and `groups`.
    pub(super) fn params(params: &mut Params) -> Result<Self, SpecError> {
        let budget = "placements that are simulated; every search has the same default";
        Ok(Self {
            evaluations: params.number("budget", 1000, 1.., budget)?,
            groups: params.number("groups", 256, 1.., "units are merged to at most this many groups")?,
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
    best: (Time, Placement),
    /// Makespan of the start.
    reference: Time,
}

impl<'a> Search<'a> {
    /// Groups the units and evaluates the start: what `single_device` answers or, if it finds no room, `heft`, or `hashing`.
    pub(super) fn new(
        name: &str,
        instance: &'a Instance,
        context: &'a PlaceContext,
        budget: Budget,
    ) -> Result<Self, PlaceError> {
        let objective = context.objective.clone().ok_or_else(|| {
            PlaceError::Unsupported(format!(
                "{name} searches and needs an objective to minimise: set PlaceContext::objective"
            ))
        })?;
        context.stop.check()?;
        let start = start(instance, context)?;
        let groups = Groups::new(instance, budget.groups);
        context.stop.check()?;
        let reference = objective.makespan(instance, &start, &context.stop)?;
        let left = budget.evaluations.saturating_sub(1);
        Ok(Self { instance, context, objective, groups, left, best: (reference, start), reference })
    }

    /// Evaluations left; none where there is nothing to choose.
    pub(super) fn left(&self) -> usize {
        let has_choice = (0..self.groups.count()).any(|group| self.groups.allowed(group).len() > 1);
        if has_choice { self.left } else { 0 }
    }

    /// Probabilities of the allowed devices of each group.
    pub(super) fn prior(&self, prior: Prior) -> Vec<Vec<f64>> {
        let even = |count: usize| vec![1.0 / count as f64; count];
        let row = |group: usize| match prior {
            Prior::Speed => self.groups.speed_shares(group, self.instance.cluster()),
            Prior::Uniform => even(self.groups.allowed(group).len()),
        };
        (0..self.groups.count()).map(row).collect()
    }

    /// Makespan of the start.
    pub(super) fn reference(&self) -> Time {
        self.reference
    }

    /// The choice nearest to the best placement so far, repaired if groups do not fit where their ops did; `None` if that fails.
    pub(super) fn nearest_to_best(&self) -> Option<Vec<DeviceId>> {
        let mut choice = self.groups.nearest(&self.best.1);
        self.groups.repair(&mut choice).then_some(choice)
    }

    /// The makespan of a choice that is the best placement so far.
    pub(super) fn best_if(&self, choice: &[DeviceId]) -> Option<Time> {
        (self.groups.placement(choice) == self.best.1).then_some(self.best.0)
    }

    /// The generator of the `sample`-th candidate: its stream depends on nothing else but the seed.
    pub(super) fn random(&self, sample: u64) -> Pcg64 {
        let high = splitmix64(self.context.seed);
        Pcg64::new(u128::from(high) << 64 | u128::from(splitmix64(high ^ sample)), u128::from(sample))
    }

    /// Makespans of choices that fit in memory, in order, as far as the budget goes.
    pub(super) fn evaluate(&mut self, choices: &[&[DeviceId]]) -> Result<Vec<Time>, PlaceError> {
        let choices = &choices[..choices.len().min(self.left)];
        self.left -= choices.len();
        let judge = |choice: &&[DeviceId]| {
            let placement = self.groups.placement(choice);
            self.objective.makespan(self.instance, &placement, &self.context.stop)
        };
        // All results before the first error: which error that is must not depend on which thread was first.
        let judged: Vec<Result<Time, PlaceError>> = choices.par_iter().map(judge).collect();
        let makespans = judged.into_iter().collect::<Result<Vec<Time>, PlaceError>>()?;
        for (&makespan, choice) in makespans.iter().zip(choices) {
            if makespan < self.best.0 {
                self.best = (makespan, self.groups.placement(choice));
            }
        }
        self.context.stop.check()?;
        Ok(makespans)
    }

    /// The best placement seen.
    pub(super) fn finish(self) -> Decision {
        Decision::placement(self.best.1)
    }
}

/// The first of three placements that is feasible.
fn start(instance: &Instance, context: &PlaceContext) -> Result<Placement, PlaceError> {
    let starters: [&dyn Placer; 3] = [&SingleDevice::with_defaults(), &Heft::with_defaults(), &Hashing];
    let mut failure = None;
    for starter in starters {
        match starter.place(instance, context) {
            Ok(decision) => return Ok(decision.placement),
            Err(error @ PlaceError::Infeasible { .. }) => failure = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(failure.unwrap_or(PlaceError::Stopped))
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
