//! Improve: how far a placement is from what a local search makes of it.

use std::time::Instant;

use placebench_datasets::Instance;

use super::judge::Judge;
use super::problem::Problem;
use super::search::Effort;
use super::seeds::schedule_of;
use super::{EXCEPTIONS, Preset, TIMES, best_of, decision, limited, of_least_period, parse_time};
use crate::fairness::Exception;
use crate::period::Goal;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, Spec, SpecError, registry};

/// Places with another placer and improves its schedule by the local search of [`Sweep`](super::Sweep): sweeps and annealing. It shows how far a placement is from a local optimum.
///
/// # Reference
/// As [`Sweep`](super::Sweep).
///
/// # Complexity
/// That of the placer, and what the preset of [`Sweep`](super::Sweep) says, its seeds left out.
///
/// # Ties
/// Of equal schedules that of the placer.
///
/// # Deviations
/// - What it starts from is the plan of the placer. A placement without a plan gets one: each device executes, whenever it is free, what
///   has the longest path behind it, as the scheduler `pct` does.
/// - The answer is never worse than this plan under the network model `contention_free` with the scheduler `static`; elsewhere it is
///   never worse, by the objective, than the plan with the best scheduler.
/// - A placement that the memory rule `peak` refuses may be replaced by a longer one that fits.
pub struct Improve {
    /// Whose placement is improved.
    pub placer: Box<dyn Placer>,
    /// How much is tried.
    pub preset: Preset,
    /// How long the search goes on after the placer; `None` for as long as the preset says.
    pub time: Option<std::time::Duration>,
    /// What is minimised; `None` for what the objective does.
    pub goal: Option<Goal>,
}

impl Algorithm for Improve {
    const NAME: &str = "improve";
    const SUMMARY: &str = "the local search of sweep after another placer";
    const SOURCE: &str = "this project";
    const EXCEPTIONS: &[Exception] = EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let placer = "whose placement is improved, with its parameters: placer=peft, placer=heft(average=speed); none that decides online, and not itself";
        let time = "how long the search goes on after the placer, such as 500ms or 2s, so that the answer depends on the machine; none: as the preset says";
        let improved = params.value("placer", "heft", "a placer", placer, |text| start_of(text).ok());
        let improved = improved.map_err(|error| match error {
            SpecError::BadValue { owner, param, value, .. } => {
                let fault = start_of(&value).err().unwrap_or_default();
                let expected = format!("a placer of 'placebench list placers' that does not decide online; {fault}");
                SpecError::BadValue { owner, param, value, expected }
            }
            error => error,
        })?;
        Ok(Self {
            placer: improved,
            preset: params.word(
                "preset",
                Preset::Default,
                "how much is tried: fast, default or quality, as of sweep",
            )?,
            time: params.value("time", "none", TIMES, time, parse_time)?,
            goal: Goal::param(params)?,
        })
    }
}

/// The placer whose placement is improved.
///
/// # Errors
/// What is wrong with the text.
fn start_of(text: &str) -> Result<Box<dyn Placer>, String> {
    let spec: Spec = text.parse().map_err(|error: SpecError| error.to_string())?;
    if spec.name == Improve::NAME {
        return Err(format!("'{}' does not improve itself", Improve::NAME));
    }
    let placer = registry::placer(&spec).map_err(|error| error.to_string())?;
    if placer.online().is_some() { Err(format!("'{spec}' decides online")) } else { Ok(placer) }
}

impl Placer for Improve {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let context = &context.for_goal(self.goal)?;
        let start = self.placer.place(instance, context)?;
        if let Some(found) = of_least_period(instance, context, self.preset, self.time, Some(start.clone())) {
            return found;
        }
        let deadline = self.time.and_then(|time| Instant::now().checked_add(time));
        let caller = &context.stop;
        let context = &limited(context, deadline);
        let start = match start.plan {
            Some(_) => start,
            None => {
                let problem = Problem::new(instance, 1.0);
                Decision { repaired: start.repaired, ..decision(&problem, &schedule_of(&problem, &start)) }
            }
        };
        let effort = Effort { seeds: &[], groups: &[], sparing: &[], ..self.preset.effort() };
        let judge = Judge::new(instance, context);
        let found = judge.and_then(|judge| best_of(instance, context, &judge, effort, deadline, vec![start.clone()]));
        match found {
            // The time that is given was over before anything was tried.
            Err(PlaceError::Stopped) if !caller.is_stopped() => Ok(start),
            found => Ok(found?.unwrap_or(start)),
        }
    }

    fn makes_plan(&self) -> bool {
        true
    }

    fn uses_objective(&self) -> bool {
        true
    }

    fn minimises(&self, asked: Goal) -> Option<Goal> {
        Some(self.goal.unwrap_or(asked))
    }

    fn needs_objective(&self) -> bool {
        self.placer.needs_objective()
    }
}
