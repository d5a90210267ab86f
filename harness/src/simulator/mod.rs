//! Simulates a placed graph: discrete events in simulated time, one task at a time on a device, non-preemptive.

mod engine;
mod network;
mod online;
mod ports;

use placebench_algorithms::{Plan, Scheduler, SchedulerError, StopToken};
use placebench_datasets::{PlacedGraph, Time};

pub use network::{NetworkModel, NetworkModelError};
pub use online::{OnlineError, OnlineRun, simulate_online};

use crate::timeline::Timeline;

/// How a run is simulated.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// The placer's own schedule, for schedulers that execute it.
    pub plan: Option<&'a Plan>,
    /// How transfers share the network.
    pub network: NetworkModel,
    /// Ends the run early.
    pub stop: StopToken,
    /// Whether [`Timeline::choices`] keeps every decision (16 bytes each). The mean is known without.
    pub record_choices: bool,
}

/// Why a run came to no end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulationError {
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
    /// A time left the range of floating-point numbers.
    #[error(
        "{task} would finish at an infinite time: its cost, or a speed, rate or latency before it, is out of range"
    )]
    Overflow {
        /// The task.
        task: String,
    },
    /// The deadline passed, or the caller asked to stop.
    #[error("stopped at simulated time {time}, after {finished} of {total} tasks")]
    Stopped {
        /// Simulated time reached.
        time: Time,
        /// Tasks executed.
        finished: usize,
        /// Tasks to execute.
        total: usize,
    },
}

/// Executes a placed graph in simulated time and tells when everything happened.
///
/// An op is executable when all its inputs are on its device: local ones from the end of their producer, others from the
/// end of their transfer. Where sends cost nothing, a transfer is ready to go when its producer ends; where they cost
/// something, each transfer has a send op that is executable when the producer ends, occupies the sender like any op and
/// is scheduled like any op, and the transfer is ready to go when the send op ends. When a transfer that is ready starts,
/// and how long it takes, is up to the [`NetworkModel`]. Receives cost nothing.
///
/// # Instants
/// At an instant, everything that ends there is taken in first: tasks, then transfers, and transfers that take no time
/// start and end at once. Then all tasks that became executable are announced to the policy in ascending order, and then
/// every idle device with an executable task is asked in ascending order, if it became idle or a task became executable
/// on it. If that starts a task that takes no time, the instant has another round, of the same form.
///
/// # Errors
/// If the scheduler needs a plan that is not there, comes to a standstill, or chooses what is not executable; if a time
/// overflows.
///
/// # Complexity
/// With T tasks, X transfers and a policy that decides in O(1): O(T log T + edges) under `contention_free`, and
/// O(T log devices + X · devices + edges) under `one_port`.
///
/// # Memory
/// Besides the [`Timeline`]: 4 bytes an op, and 16 for each op all of whose inputs are produced but not all there. Where
/// sends cost something, or under `one_port`: 4 bytes an op more. Under `one_port`: 8 bytes a transfer and 12 a pair of
/// devices more.
///
/// # Example
/// ```
/// use placebench_algorithms::schedulers::Fifo;
/// use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, PlacedGraph, Placement};
/// use placebench_harness::simulator::{NetworkModel, simulate};
///
/// // a (30 ops) ──50 bytes──▶ b (60 ops), on two devices of speed 10 with a link of rate 25
/// let mut builder = GraphBuilder::default();
/// let a = builder.add_op(OpSpec::cost(30.0), &[50]);
/// let b = builder.add_op(OpSpec::cost(60.0), &[]);
/// builder.add_edge(a, 0, b)?;
/// let cluster = Cluster::uniform(2, Kind::Cpu, 10.0, Link { rate: 25.0, latency: 0.0 })?;
/// let instance = Instance::new(builder.build()?, cluster)?;
/// let placement = Placement::new(vec![DeviceId(0), DeviceId(1)]);
/// let placed = PlacedGraph::new(&instance, &placement);
/// let timeline = simulate(&placed, &Fifo, None, NetworkModel::ContentionFree)?;
/// assert_eq!((timeline.start(b), timeline.makespan()), (5.0, 11.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate(
    placed: &PlacedGraph<'_>,
    scheduler: &dyn Scheduler,
    plan: Option<&Plan>,
    network: NetworkModel,
) -> Result<Timeline, SimulationError> {
    simulate_with(placed, scheduler, &Options { plan, network, ..Options::default() })
}

/// As [`simulate`], with all options.
///
/// # Errors
/// As [`simulate`]; [`SimulationError::Stopped`] if the stop token asks for it.
pub fn simulate_with(
    placed: &PlacedGraph<'_>,
    scheduler: &dyn Scheduler,
    options: &Options<'_>,
) -> Result<Timeline, SimulationError> {
    let policy = scheduler.start(placed, options.plan)?;
    engine::run(placed, policy, options)
}
