//! What a scheduler is: whenever a device is idle, it says which of the device's executable tasks comes next.

use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time, TransferId};

use crate::Plan;

/// Something that occupies a device: an op, or the send or receive op of a transfer where those take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// An op of the graph.
    Op(OpId),
    /// The sending half of a send/receive pair: before the transfer, on its sender.
    Send(TransferId),
    /// The receiving half: after the transfer, on its receiver.
    Receive(TransferId),
}

/// What a policy may look at when it decides (L §5.4 needs all of it).
#[derive(Clone, Copy, Debug)]
pub struct SimulationState<'s> {
    /// The present instant.
    pub now: Time,
    /// For each op, how many of its in-edges come from ops that have not finished.
    pub unfinished_inputs: &'s [u32],
    /// For each device, whether it executes something at this instant.
    pub busy: &'s [bool],
}

/// Makes a [`Policy`] for a placed graph.
pub trait Scheduler: Send + Sync {
    /// Prepares a run: ranks and priorities are computed here, once (L §3.1.5).
    ///
    /// # Errors
    /// If the scheduler needs a plan and there is none.
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        plan: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError>;

    /// Whether [`Scheduler::start`] needs the placer's plan.
    fn needs_plan(&self) -> bool {
        false
    }
}

/// Decides during one run. The executor promises: each task becomes ready exactly once; all that becomes
/// ready at an instant is announced, in ascending order of tasks, before any decision at that instant; idle devices are
/// asked in ascending order; what was returned is never announced or returned again. A task that takes no time gives its
/// instant another round of announcements and decisions.
pub trait Policy {
    /// `task` became executable on `device`.
    fn ready(&mut self, device: DeviceId, task: Task, state: &SimulationState<'_>);

    /// The task that the idle `device` starts now, or `None` to stay idle until something else becomes ready there.
    fn next(&mut self, device: DeviceId, state: &SimulationState<'_>) -> Option<Task>;
}

/// Why a scheduler cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// The placer made no plan.
    #[error("the scheduler 'static' executes the placer's own order, and this placer makes none: use fifo, pct or msr")]
    NoPlan,
    /// The plan is no linear extension of the graph.
    #[error("the scheduler 'static' cannot execute the placer's plan: {task} {fault}")]
    BadPlan {
        /// The op, or the send or receive, at fault.
        task: String,
        /// What is wrong with it.
        fault: &'static str,
    },
}
