//! Executes placed graphs: what an executor is, the simulator, which is the first one, and those that measure.

pub mod driver;
mod noisy;
mod replay;
mod settings;
mod setup;
pub mod simulate;
mod table;
pub mod threads;
mod token;

pub use noisy::Noisy;
pub(crate) use noisy::simulating;
pub use replay::{Replay, Simulated, order_of};
pub use settings::{ExecuteSettings, Kernel, Launch, OrderMode, RealTime, Transport};
pub use setup::{Notify, Progress, Setup};
pub use table::{EXECUTORS, ExecutorEntry, ExecutorName, MakeExecutor, executor, provide_cuda};
pub use token::{TOKEN_LENGTH, TOKEN_VARIABLE};

use placebench_algorithms::{OnlinePlacer, PlaceError, Plan, Scheduler, SchedulerError, StopToken};
use placebench_datasets::{Instance, PlacedGraph, Placement, Time};

use crate::timeline::Timeline;
use crate::validator::Demands;
use simulate::NetworkModel;

/// Executes every op of a placed graph and answers with a timeline: in simulated time, or on real devices.
///
/// An executor runs one task at a time on a device, moves each tensor to each device that needs it once
/// ([`PlacedGraph`] says which transfers that are), and starts an op when all its inputs are on its device.
///
/// # Example
/// An executor that simulates and then lets everything take twice as long, as a slow machine would:
/// ```
/// use placebench_algorithms::{StopToken, schedulers::Fifo};
/// use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, PlacedGraph, Placement};
/// use placebench_harness::execute::simulate::Simulator;
/// use placebench_harness::execute::{ExecutionError, Executor, Order};
/// use placebench_harness::timeline::{Interval, Timeline};
/// use placebench_harness::validator::{Demands, validate};
///
/// struct Slow;
///
/// impl Executor for Slow {
///     fn demands(&self) -> Demands {
///         Demands::Order
///     }
///
///     fn execute(&self, placed: &PlacedGraph, order: Order, stop: &StopToken) -> Result<Timeline, ExecutionError> {
///         let simulated = Simulator::default().execute(placed, order, stop)?;
///         let slower = |at: Interval| Interval { start: 2.0 * at.start, end: 2.0 * at.end };
///         let graph = placed.instance().graph();
///         let ops = graph.op_ids().map(|op| slower(simulated.op(op))).collect();
///         let sends = simulated.sends().map(|(_, at)| slower(at)).collect();
///         let transfers = placed.transfer_ids().map(|id| slower(simulated.transfer(placed, id))).collect();
///         let receives = simulated.receives().map(|(_, at)| slower(at)).collect();
///         Ok(Timeline::measured(placed, ops, sends, transfers).with_measured_receives(placed, receives))
///     }
/// }
///
/// let mut builder = GraphBuilder::default();
/// builder.add_op(OpSpec::cost(30.0), &[]);
/// let cluster = Cluster::uniform(1, Kind::Cpu, 10.0, Link { rate: 1.0, latency: 0.0 })?;
/// let instance = Instance::new(builder.build()?, cluster)?;
/// let placement = Placement::new(vec![DeviceId(0)]);
/// let placed = PlacedGraph::new(&instance, &placement);
/// let timeline = Slow.execute(&placed, Order { scheduler: &Fifo, plan: None }, &StopToken::default())?;
/// assert_eq!(timeline.makespan(), 6.0);
/// validate(&instance, &placement, &timeline.records(&placed), Slow.demands())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Executor: Send + Sync {
    /// What the validator demands of this executor's timelines.
    fn demands(&self) -> Demands;

    /// The network model that it simulates; by default none, as that of an executor that measures.
    fn network(&self) -> Option<&'static dyn NetworkModel> {
        None
    }

    /// Executes a placed graph; on each device in the given order.
    ///
    /// # Errors
    /// If the scheduler cannot run or answers wrongly, or the stop token asks for it.
    fn execute(&self, placed: &PlacedGraph<'_>, order: Order<'_>, stop: &StopToken)
    -> Result<Timeline, ExecutionError>;

    /// Executes several placements of one instance, each as [`Executor::execute`] does. One answer for each, in order.
    ///
    /// An executor that measures may let them take turns, run about: a machine drifts within minutes, and placements that
    /// take turns meet the same conditions. By default they run one after the other.
    fn execute_all(
        &self,
        runs: &[(&PlacedGraph<'_>, Order<'_>)],
        stop: &StopToken,
    ) -> Vec<Result<Timeline, ExecutionError>> {
        runs.iter().map(|&(placed, order)| self.execute(placed, order, stop)).collect()
    }

    /// Executes an instance and lets a placer choose the device of each op once the op's predecessors have finished.
    ///
    /// # Errors
    /// If a unit fits nowhere, the placer answers wrongly, or the stop token asks for it; by default always
    /// [`ExecutionError::NotOnline`].
    fn execute_online(
        &self,
        instance: &Instance,
        placer: &dyn OnlinePlacer,
        stop: &StopToken,
    ) -> Result<OnlineRun, ExecutionError> {
        let _ = (instance, placer, stop);
        Err(ExecutionError::NotOnline)
    }
}

/// In which order devices execute their tasks.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// Decides which task comes next.
    pub scheduler: &'a dyn Scheduler,
    /// The placer's own schedule, for schedulers that follow it.
    pub plan: Option<&'a Plan>,
}

/// The result of a run in which a placer chose the devices.
#[derive(Clone, Debug, PartialEq)]
pub struct OnlineRun {
    /// The device of each op.
    pub placement: Placement,
    /// When everything happened, for the [`PlacedGraph`] of that placement.
    pub timeline: Timeline,
}

/// Why an execution failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExecutionError {
    /// The scheduler cannot run.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The scheduler left executable tasks waiting, and nothing can happen any more.
    #[error(
        "the scheduler came to a standstill at {time}: {finished} of {total} tasks were executed, and device '{device}' \
         stays idle though {waiting} task(s) are executable there; its order contradicts the graph"
    )]
    Standstill {
        /// The instant of the last event.
        time: Time,
        /// Tasks executed.
        finished: usize,
        /// Tasks to execute.
        total: usize,
        /// The first device that has executable tasks.
        device: String,
        /// How many it has.
        waiting: u32,
    },
    /// The scheduler named a task that the device cannot execute now.
    #[error("at {time} the scheduler told device '{device}' to execute {task}, which is not executable there")]
    NotExecutable {
        /// When.
        time: Time,
        /// The device that asked.
        device: String,
        /// What the scheduler answered.
        task: String,
    },
    /// The deadline passed, or the caller asked to stop.
    #[error("stopped at simulated time {time}, after {finished} of {total} tasks")]
    Stopped {
        /// Simulated time reached.
        time: Time,
        /// Tasks executed.
        finished: usize,
        /// Tasks to execute, as far as they are known.
        total: usize,
    },
    /// A measured run did not end well: a worker or a device died, memory does not suffice, or it would take too long.
    #[error("{executor}: {reason}")]
    Failed {
        /// The executor.
        executor: &'static str,
        /// What happened, where, and what to do.
        reason: String,
    },
    /// A measured run was stopped: its deadline passed, or the caller asked for it.
    #[error("{executor}: stopped after {done} of {runs} runs")]
    Interrupted {
        /// The executor.
        executor: &'static str,
        /// Runs that ended before.
        done: u32,
        /// All runs, warm-ups included.
        runs: u32,
    },
    /// The executor needs a placement before the run.
    #[error("this executor needs a placement before the run, and the placer chooses devices only during it")]
    NotOnline,
    /// An online placer finds no device for a unit beside what it placed before.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// An online placer gave an op to a device that it must not give it to.
    #[error("at {time} the placer gave {op} to device '{device}', but {fault}")]
    BadChoice {
        /// When.
        time: Time,
        /// The op.
        op: String,
        /// The device.
        device: String,
        /// What is wrong.
        fault: &'static str,
    },
    /// An online placer left ready ops without a device though one could take them, and nothing can happen any more.
    #[error("the placer came to a standstill at {time}: {op} is ready, and {waiting} op(s) were given to no device")]
    PlacerStandstill {
        /// The instant of the last event.
        time: Time,
        /// The first ready op that has no device.
        op: String,
        /// How many ops have none.
        waiting: usize,
    },
}
