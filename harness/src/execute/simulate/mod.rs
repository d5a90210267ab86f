//! Simulates a placed graph: discrete events in simulated time, one task at a time on a device, non-preemptive.

mod engine;
mod events;
mod fixed;
pub mod network;
mod noise;
mod online;

use placebench_algorithms::{OnlinePlacer, Plan, Scheduler, StopToken};
#[cfg(doc)]
use placebench_datasets::Cluster;
use placebench_datasets::{Instance, PlacedGraph};

use fixed::Fixed;
pub use network::{
    AcceleratorIo, ContentionFree, FairShare, LogGp, NETWORK_MODELS, NetworkModel, OnePort, PREDICTING_MODELS,
    network_model,
};
pub use noise::{CostFactors, Noise};

use super::{ExecutionError, Executor, OnlineRun, Order};
use crate::timeline::Timeline;
use crate::validator::Demands;

/// Executes placed graphs in simulated time.
///
/// An op is executable when all its inputs are on its device: local ones from the end of their producer, others from the
/// end of their transfer. Where a send takes no time, the transfer is ready to go when its producer ends; where it takes
/// time ([`Cluster::send_time`]), the transfer has a send op that is executable when the producer ends, occupies the sender
/// like any op and is scheduled like any op, and the transfer is ready to go when the send op ends. The [`NetworkModel`]
/// decides when a transfer that is ready starts, and when it ends. Where a receive takes time ([`Cluster::receive_time`]),
/// the transfer has a receive op on the receiver, which is executable when the transfer ends and is scheduled like any op,
/// and the tensor is there when the receive op ends.
///
/// # Instants
/// At an instant, everything that ends there is taken in first: tasks, then transfers, and transfers that take no time
/// start and end at once. Then all tasks that became executable are announced to the scheduler in ascending order, and then
/// every idle device with an executable task is asked in ascending order, if it became idle or a task became executable
/// on it. If that starts a task that takes no time, the instant has another round, of the same form.
///
/// # Online
/// An online placer is asked before tasks are announced. It may give devices to ops whose predecessors have all finished.
/// The inputs of an op that are on other devices are sent when the op is given to its device: a tensor once for each
/// device, so that one that is there or on its way is not sent again. A device executes its ops in the order in which they
/// were given to it, each as soon as its inputs are there; what it has to send and to receive comes first.
/// [`Timeline::decisions`] is 0 then: no device chooses.
///
/// # Complexity
/// With T tasks, X transfers and a scheduler that decides in O(1): O(T log T + edges) under `contention_free`, and
/// O(T log devices + X · devices + edges) under `one_port`. Online: O((ops + X) · log + edges · devices), since the
/// transfers of a tensor are a list.
///
/// # Memory
/// Besides the [`Timeline`]: 4 bytes an op, and 16 for each op all of whose inputs are produced but not all there. Where
/// sends or receives take time, or transfers can wait or slow each other: 4 bytes an op more, and what the network model keeps.
///
/// # Example
/// ```
/// use placebench_algorithms::schedulers::Fifo;
/// use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, PlacedGraph, Placement};
/// use placebench_harness::execute::simulate::{ContentionFree, simulate};
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
/// let timeline = simulate(&placed, &Fifo, None, &ContentionFree)?;
/// assert_eq!((timeline.start(b), timeline.makespan()), (5.0, 11.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Simulator {
    /// How transfers share the network.
    pub network: &'static dyn NetworkModel,
    /// Whether [`Timeline::choices`] keeps every decision (16 bytes each). The mean is known without.
    pub record_choices: bool,
    /// By how much what happens differs from the costs. Schedulers and placers know only the costs.
    pub draw: Option<CostFactors>,
}

impl Simulator {
    /// A simulator that records no choices, and in which all takes what it costs.
    pub fn new(network: &'static dyn NetworkModel) -> Self {
        Self { network, record_choices: false, draw: None }
    }
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new(&ContentionFree)
    }
}

impl Executor for Simulator {
    fn demands(&self) -> Demands {
        if self.draw.is_some() { Demands::Order } else { self.network.demands() }
    }

    fn network(&self) -> Option<&'static dyn NetworkModel> {
        Some(self.network)
    }

    fn execute(
        &self,
        placed: &PlacedGraph<'_>,
        order: Order<'_>,
        stop: &StopToken,
    ) -> Result<Timeline, ExecutionError> {
        let mut policy = Fixed::new(placed, order.scheduler.start(placed, order.plan)?);
        let mut run = Fixed::run(placed, self);
        engine::run_to_end(&mut run, &mut policy, stop)?;
        run.check_finished()?;
        Ok(Timeline { is_measured: self.draw.is_some(), ..run.timeline })
    }

    fn execute_online(
        &self,
        instance: &Instance,
        placer: &dyn OnlinePlacer,
        stop: &StopToken,
    ) -> Result<OnlineRun, ExecutionError> {
        online::execute(instance, placer, self, stop)
    }
}

/// Simulates a placed graph with a scheduler: [`Simulator::execute`] in short.
///
/// # Errors
/// If the scheduler needs a plan that is not there, comes to a standstill, or chooses what is not executable.
pub fn simulate(
    placed: &PlacedGraph<'_>,
    scheduler: &dyn Scheduler,
    plan: Option<&Plan>,
    network: &'static dyn NetworkModel,
) -> Result<Timeline, ExecutionError> {
    Simulator::new(network).execute(placed, Order { scheduler, plan }, &StopToken::default())
}
