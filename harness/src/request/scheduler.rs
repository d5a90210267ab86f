//! Which scheduler runs a placement: the one asked for, or the default of the placer.

use placebench_algorithms::{ONLINE, Placer, Scheduler, Spec, SpecError, registry};

/// The scheduler of placers that decide before the run, unless another is asked for.
const DEFAULT: &str = "pct";

/// The scheduler of a cell.
pub struct ChosenScheduler {
    /// Its name in tables: `online` if the placer decides during the run.
    pub name: String,
    /// The scheduler; `None` if the placer decides during the run.
    pub scheduler: Option<Box<dyn Scheduler>>,
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

/// The scheduler asked for, or the default of the placer, whose name is for messages.
///
/// # Errors
/// If there is no such scheduler, or it does not suit the placer.
///
/// # Example
/// ```
/// use placebench_algorithms::registry;
/// use placebench_harness::request::choose_scheduler;
///
/// let cats = registry::placer(&"cats".parse()?)?;
/// assert_eq!(choose_scheduler("cats", &*cats, None)?.name, "online");
/// assert!(choose_scheduler("cats", &*cats, Some("pct")).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn choose_scheduler(
    placer_name: &str,
    placer: &dyn Placer,
    asked: Option<&str>,
) -> Result<ChosenScheduler, ChoiceError> {
    let placer_name = placer_name.to_owned();
    match (placer.online(), asked) {
        (Some(_), None | Some(ONLINE)) => Ok(ChosenScheduler { name: ONLINE.to_owned(), scheduler: None }),
        (Some(_), Some(name)) => Err(ChoiceError::Unneeded { placer: placer_name, scheduler: name.to_owned() }),
        (None, Some(ONLINE)) => Err(ChoiceError::Needed { placer: placer_name }),
        (None, asked) => {
            let name = asked.unwrap_or(DEFAULT).to_owned();
            let scheduler = registry::scheduler(&name.parse::<Spec>()?)?;
            Ok(ChosenScheduler { name, scheduler: Some(scheduler) })
        }
    }
}
