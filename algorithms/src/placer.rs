//! What a placer is: it gets an instance and answers with a device for each op.

use std::cmp;
use std::fmt;
use std::sync::Arc;

use placebench_datasets::{Cluster, Instance, OpId, Placement, Time};

use crate::period::{Goal, Occupancy};
use crate::{Algorithm, OnlinePlacer, PlaceError, StopToken, Task};

/// Maps each op of an instance to a device.
///
/// A placer respects device kinds, colocation and memory, or returns an error that says why it cannot. It is
/// deterministic: the same instance, parameters and seed give the same placement on any number of threads.
pub trait Placer: Send + Sync {
    /// Places every op of `instance`.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] if the placer finds no device for a unit, [`PlaceError::Stopped`] if the stop token said so.
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError>;

    /// Whether decisions carry a [`Plan`], which the scheduler `static` needs.
    fn makes_plan(&self) -> bool {
        false
    }

    /// Whether the order of ops means something to the placer, such as that of a model's layers: then drawn numbers would hide
    /// it, and it always sees the given ones.
    fn reads_order(&self) -> bool {
        false
    }

    /// Whether the placer searches, and so cannot place without [`PlaceContext::objective`].
    fn needs_objective(&self) -> bool {
        false
    }

    /// Whether it uses [`PlaceContext::objective`] where there is one, so that its placement is for one network model.
    fn uses_objective(&self) -> bool {
        self.needs_objective()
    }

    /// What it heeds where this is asked for: a search may have a goal of its own; `None` if it does the same for any.
    fn minimises(&self, asked: Goal) -> Option<Goal> {
        self.uses_objective().then_some(asked)
    }

    /// The placer as one that chooses devices during the run, if it is one; then [`Placer::place`] only says so.
    fn online(&self) -> Option<&dyn OnlinePlacer> {
        None
    }
}

/// A listed online placer is a placer, whose only answer before the run is that there is none.
impl<T: OnlinePlacer + Algorithm> Placer for T {
    /// # Errors
    /// Always: the placement is made during the run.
    fn place(&self, _: &Instance, _: &PlaceContext) -> Result<Decision, PlaceError> {
        Err(PlaceError::Unsupported(format!(
            "{} chooses devices during the run and has no placement before it: simulate it with Placer::online",
            T::NAME
        )))
    }

    fn online(&self) -> Option<&dyn OnlinePlacer> {
        Some(self)
    }
}

/// Judges decisions while a placer searches. The caller hands it in, so that a search optimises exactly what it is
/// measured by, and algorithms need not know how that is computed.
pub trait Objective: fmt::Debug + Send + Sync {
    /// The schedulers that may execute what is found, as [`Decision::scheduler`] names them: that of the cell or, where a
    /// search is to choose, several. The first is the one that a search tries first. None if what executes has no name.
    fn schedulers(&self) -> &[Arc<str>] {
        &[]
    }

    /// What a decision is worth with the scheduler that it names or, if it names none, with the best. May be called from
    /// several threads at once, and answers the same whenever it is asked the same.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`] if `stop` says so, [`PlaceError::Unsupported`] if the placement cannot be executed.
    fn judge(&self, instance: &Instance, decision: &Decision, stop: &StopToken) -> Result<Judgement, PlaceError>;

    /// What is minimised.
    fn goal(&self) -> Goal {
        Goal::Makespan
    }

    /// The objective that minimises something else of the same runs; `None` if there is none.
    fn for_goal(&self, goal: Goal) -> Option<Arc<dyn Objective>> {
        let _ = goal;
        None
    }

    /// The same objective where the cost of each op and of each transfer varies by this coefficient of variation: the mean over
    /// some draws; `None` if there is none.
    fn under_noise(&self, variation: f64) -> Option<Arc<dyn Objective>> {
        let _ = variation;
        None
    }

    /// What one sample keeps busy beside the devices' own work; `None` if that is not known. An objective whose goal is the period
    /// knows it.
    fn occupancy<'c>(&self, cluster: &'c Cluster) -> Option<Box<dyn Occupancy + 'c>> {
        let _ = cluster;
        None
    }
}

/// What a decision is worth to a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Bytes at the devices' peaks beyond their memories, of all devices together: 0 where the placement fits. Under the
    /// memory rule [`peak`](placebench_datasets::MemoryRule::Peak) anything else is refused.
    pub excess_bytes: u64,
    /// What is minimised, the makespan or the period ([`Objective::goal`]), in the instance's time unit.
    pub value: Time,
    /// Which of [`Objective::schedulers`] it was executed with; 0 if that names none.
    pub scheduler: usize,
}

impl Judgement {
    /// That of a placement that fits, with the first scheduler.
    pub fn fits(value: Time) -> Self {
        Self { excess_bytes: 0, value, scheduler: 0 }
    }

    /// The better one is less: a placement that fits is better than any that does not. Then the least excess counts, then the
    /// value.
    pub fn compare(&self, other: &Self) -> cmp::Ordering {
        self.excess_bytes.cmp(&other.excess_bytes).then(self.value.total_cmp(&other.value))
    }
}

/// What a placer may use besides the instance.
#[derive(Clone, Debug, Default)]
pub struct PlaceContext {
    /// Seed of all randomness.
    pub seed: u64,
    /// Asks long-running placers to stop.
    pub stop: StopToken,
    /// Judges placements for placers that search; other placers ignore it.
    pub objective: Option<Arc<dyn Objective>>,
}

impl PlaceContext {
    /// A context with a seed that never stops.
    pub fn with_seed(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The same context for a search that minimises `goal`, if that is not what the objective minimises already.
    ///
    /// # Errors
    /// If the objective cannot.
    pub(crate) fn for_goal(&self, goal: Option<Goal>) -> Result<Self, PlaceError> {
        let Some(goal) = goal else { return Ok(self.clone()) };
        let objective = match &self.objective {
            Some(objective) if objective.goal() == goal => Some(Arc::clone(objective)),
            Some(objective) => objective.for_goal(goal),
            None => None,
        };
        match (objective, goal) {
            (None, Goal::Period) => {
                Err(PlaceError::Unsupported("nothing says how to judge a period: the objective cannot".to_owned()))
            }
            (objective, _) => Ok(Self { objective, ..self.clone() }),
        }
    }
}

/// What a placer decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The device of each op.
    pub placement: Placement,
    /// The schedule that the placer had in mind, if it made one.
    pub plan: Option<Plan>,
    /// How many units the shared repair step moved, if the placer knows no constraints and needs one.
    pub repaired: Option<u64>,
    /// The scheduler that a search found best, one of [`Objective::schedulers`]; none where there is nothing to choose.
    pub scheduler: Option<Arc<str>>,
}

impl Decision {
    /// A placement without a schedule.
    pub fn placement(placement: Placement) -> Self {
        Self { placement, plan: None, repaired: None, scheduler: None }
    }
}

/// A placer's own schedule. The `static` scheduler executes it; its makespan is kept beside the simulated one.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// All ops in the order of their planned starts: a linear extension of the graph. Sends and receives can be among them,
    /// as the transfers of the placement are numbered; those that are not run as soon as their device is idle.
    pub tasks: Vec<Task>,
    /// When the last op is planned to finish.
    pub makespan: Time,
}

impl Plan {
    /// A plan of ops alone, in the order of their planned starts.
    pub fn of_ops(order: impl IntoIterator<Item = OpId>, makespan: Time) -> Self {
        Self { tasks: order.into_iter().map(Task::Op).collect(), makespan }
    }

    /// The ops in the order of their planned starts.
    pub fn ops(&self) -> impl Iterator<Item = OpId> {
        self.tasks.iter().filter_map(|task| match task {
            Task::Op(op) => Some(*op),
            Task::Send(_) | Task::Receive(_) => None,
        })
    }
}
