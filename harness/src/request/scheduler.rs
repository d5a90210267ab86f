//! Which scheduler runs a placement: the one asked for, or the default of the placer.

use std::sync::Arc;

use placebench_algorithms::{ONLINE, Placer, Spec, SpecError, registry};

use crate::objective::NamedScheduler;

/// The scheduler of placers that decide before the run and do not search, unless another is asked for.
const DEFAULT: &str = "pct";

/// What tables name the scheduler that a search chooses.
pub const CHOSEN: &str = "chosen";

/// The scheduler of a cell.
pub struct ChosenScheduler {
    /// Its name in tables: `online` if the placer decides during the run, `chosen` if it searches and chooses.
    pub name: String,
    /// The scheduler, or those from which a search chooses; none if the placer decides during the run.
    pub schedulers: Vec<NamedScheduler>,
}

/// Why a placer does not run with a scheduler.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChoiceError {
    /// The placer needs none.
    #[error("{placer} decides during the run and needs no scheduler: leave out the scheduler {scheduler}")]
    Unneeded {
        /// The placer.
        placer: String,
        /// What was asked for.
        scheduler: String,
    },
    /// The placer does not search.
    #[error("{placer} does not search, so it chooses no scheduler: give one, such as {DEFAULT}")]
    NoSearch {
        /// The placer.
        placer: String,
    },
    /// The placer needs one.
    #[error("{placer} decides before the run: give a scheduler, such as {DEFAULT}")]
    Needed {
        /// The placer.
        placer: String,
    },
    /// There is no such scheduler.
    #[error(transparent)]
    Unknown(#[from] SpecError),
}

/// The scheduler asked for, or the default of the placer, whose name is for messages: a placer that searches chooses among those that
/// are offered, such as [`all_schedulers`].
///
/// # Errors
/// If there is no such scheduler, or it does not suit the placer.
///
/// # Example
/// ```
/// use placebench_algorithms::registry;
/// use placebench_harness::request::{all_schedulers, choose_scheduler};
///
/// let (cats, all) = (registry::placer(&"cats".parse()?)?, all_schedulers()?);
/// assert_eq!(choose_scheduler("cats", &*cats, None, &all)?.name, "online");
/// let sweep = registry::placer(&"sweep".parse()?)?;
/// assert_eq!(choose_scheduler("sweep", &*sweep, None, &all)?.name, "chosen");
/// assert_eq!(choose_scheduler("sweep", &*sweep, None, &all[..1])?.name, *all[0].name);
/// assert!(choose_scheduler("cats", &*cats, Some("pct"), &all).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn choose_scheduler(
    placer_name: &str,
    placer: &dyn Placer,
    asked: Option<&str>,
    offered: &[NamedScheduler],
) -> Result<ChosenScheduler, ChoiceError> {
    let placer_name = placer_name.to_owned();
    match (placer.online(), asked) {
        (Some(_), None | Some(ONLINE)) => Ok(ChosenScheduler { name: ONLINE.to_owned(), schedulers: Vec::new() }),
        (Some(_), Some(name)) => Err(ChoiceError::Unneeded { placer: placer_name, scheduler: name.to_owned() }),
        (None, Some(ONLINE)) => Err(ChoiceError::Needed { placer: placer_name }),
        (None, None | Some(CHOSEN)) if placer.uses_objective() => {
            let runs = |offered: &&NamedScheduler| placer.makes_plan() || !offered.scheduler.needs_plan();
            let schedulers: Vec<NamedScheduler> = offered.iter().filter(runs).cloned().collect();
            let name = match &schedulers[..] {
                [one] => one.name.to_string(),
                _ => CHOSEN.to_owned(),
            };
            Ok(ChosenScheduler { name, schedulers })
        }
        (None, Some(CHOSEN)) => Err(ChoiceError::NoSearch { placer: placer_name }),
        (None, asked) => {
            let name = asked.unwrap_or(DEFAULT);
            Ok(ChosenScheduler { name: name.to_owned(), schedulers: vec![named_scheduler(name)?] })
        }
    }
}

/// All schedulers, with their defaults.
///
/// # Errors
/// None: the registry makes what it lists.
pub fn all_schedulers() -> Result<Vec<NamedScheduler>, SpecError> {
    registry::SCHEDULERS.iter().map(|entry| named_scheduler(&entry.name)).collect()
}

/// The scheduler of a specification.
///
/// # Errors
/// If there is none.
pub fn named_scheduler(text: &str) -> Result<NamedScheduler, SpecError> {
    let scheduler = registry::scheduler(&text.parse::<Spec>()?)?;
    Ok(NamedScheduler { name: text.into(), scheduler: Arc::from(scheduler) })
}
