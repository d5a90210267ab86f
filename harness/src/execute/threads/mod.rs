//! The executor `threads`: a thread or process a device, emulated kernels, real bytes.

mod clock;
mod device;
mod dynamic;
mod kernel;
mod link;
mod mailbox;
mod memory;
mod payload;
mod program;
mod tcp;
mod tensors;
mod transport;
mod worker;

pub(crate) use kernel::kernel_times;
pub use tcp::WORKER_VERB;
pub use worker::serve;

use std::sync::Arc;

use placebench_algorithms::{StopToken, Task};
use placebench_base::process::available_memory;
use placebench_base::significant::bytes_text;
use placebench_datasets::{PlacedGraph, Time};

use super::setup::{Notify, Progress, Setup};
use super::simulate::NetworkModel;
use super::{ExecuteSettings, ExecutionError, Executor, Kernel, Order, OrderMode, Simulated, Transport};
use crate::measurement::{LoadMeter, Measurement, cores, processor};
use crate::timeline::{Interval, Timeline};
use crate::validator::Demands;
use clock::{Nanos, SECOND, look_ahead};
use dynamic::Dynamic;
use kernel::Kernels;
use memory::InMemory;
use payload::Payload;
use program::{Program, RunTimes, time_scale};
use tcp::{OverSockets, TcpOptions};
use tensors::Tensors;
use transport::{Fault, Run, Session};

/// Its name in tables.
const NAME: &str = "threads";

/// What a run takes beyond its makespan: threads start, and wait for each other.
const OVERHEAD_SECONDS: f64 = 0.01;

/// Seed of what moves.
const PAYLOAD_SEED: u64 = 0x706c_6163_6562;

/// Executes placed graphs with a thread or process for each device of the cluster.
///
/// Devices execute their tasks in the order of a simulation of the same placement and scheduler. A task starts when its
/// inputs are there: local ones follow from the order, and a transfer has arrived when its bytes have been copied and
/// latency + bytes / rate has passed since the end of what sent it. In the order [`OrderMode::Dynamic`] the scheduler
/// decides instead, whenever a device is idle, among the tasks that are executable then. Time is scaled so that the mean op takes
/// [`ExecuteSettings::mean_op`], since clocks wake threads up to some 20 µs late.
///
/// The kernel `wait` checks the runtime, the synchronisation and the semantics of transfers. It does not check the costs
/// of ops, nor contention for memory or for the network. The kernel `compute` uses the cores for real.
///
/// # Memory
/// The bytes of all transfers (each has a buffer of its own), and those of the largest once more: once, or over
/// sockets in each process. With the kernel `compute` 16 MiB a device.
#[derive(Clone)]
pub struct Threads {
    network: &'static dyn NetworkModel,
    settings: ExecuteSettings,
    notify: Notify,
}

impl Threads {
    /// The executor with the settings of a setup.
    pub fn new(setup: &Setup<'_>) -> Self {
        Self { notify: setup.notify.clone(), ..Self::with(setup.network, setup.settings.clone()) }
    }

    /// An executor that tells nobody how it goes on.
    pub(crate) fn with(network: &'static dyn NetworkModel, settings: ExecuteSettings) -> Self {
        Self { network, settings, notify: Arc::new(|_| ()) }
    }

    /// Refuses what this machine cannot do.
    fn check_machine(&self, program: &Program) -> Result<(), ExecutionError> {
        let (devices, settings) = (program.devices.len(), &self.settings);
        let cores = cores();
        if (settings.order, settings.transport) == (OrderMode::Dynamic, Transport::Tcp) {
            return Err(failed("the order dynamic needs the transport memory".to_owned()));
        }
        if !settings.hosts.is_empty() {
            return match settings.transport {
                Transport::Tcp => Ok(()),
                Transport::Memory => Err(failed("hosts need the transport tcp".to_owned())),
            };
        }
        if settings.kernel == Kernel::Compute && devices > cores && !settings.oversubscribe {
            return Err(failed(format!(
                "the kernel compute needs an idle core a device, and there are {devices} devices and {cores} cores: use \
                 fewer devices, the kernel wait, or oversubscribe"
            )));
        }
        let payloads = if settings.transport == Transport::Tcp { devices as u64 } else { 1 };
        let moved: u64 = program.moves.iter().map(|moved| moved.bytes).sum();
        let needed = moved
            + payloads * Payload::size(program.largest_move())
            + devices as u64 * Kernels::workspace_bytes(settings.kernel);
        match available_memory() {
            Some(available) if needed > available => Err(failed(format!(
                "the transfers need {} of memory, and {} are available: use a smaller graph or a placement that moves less",
                bytes_text(needed as f64),
                bytes_text(available as f64)
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses what would outlast the deadline, and says how long it will take.
    fn announce(&self, makespan_seconds: f64, stop: &StopToken) -> Result<(), ExecutionError> {
        let runs = self.settings.runs();
        let seconds = (makespan_seconds + OVERHEAD_SECONDS) * f64::from(runs);
        let left = stop.deadline().map(|deadline| deadline.saturating_duration_since(std::time::Instant::now()));
        if let Some(left) = left.filter(|left| seconds > left.as_secs_f64()) {
            return Err(failed(format!(
                "{runs} runs would take {seconds:.1} s, and {:.1} s are left of the time limit: use fewer repetitions, a \
                 shorter mean op than {}, or a longer limit",
                left.as_secs_f64(),
                self.settings.mean_op
            )));
        }
        (self.notify)(Progress::Begin { runs, seconds: Some(seconds) });
        Ok(())
    }

    /// How it runs, in words.
    fn description(&self, is_precise: bool) -> String {
        let ExecuteSettings { kernel, transport, order, .. } = &self.settings;
        let priority = if is_precise { "real-time priority" } else { "normal priority" };
        format!("kernel {kernel}, transport {transport}, order {order}, {priority}")
    }

    /// A program on its devices.
    fn session<'p>(
        &'p self,
        placed: &'p PlacedGraph<'p>,
        (order, tasks): (Order<'p>, &'p [Vec<Task>]),
        program: &'p Program,
        (time_scale, planned_seconds): (f64, f64),
        stop: &StopToken,
    ) -> Result<Box<dyn Session + 'p>, Fault> {
        let ExecuteSettings { kernel, transport, hosts, .. } = &self.settings;
        let pinned = *kernel == Kernel::Compute && program.devices.len() <= cores() && hosts.is_empty();
        let tensors = || Tensors::new(program, PAYLOAD_SEED);
        let ahead = look_ahead(self.settings.mean_op.seconds, program.devices.len(), cores());
        let kernels = || Kernels::new(*kernel, ahead);
        Ok(match (transport, self.settings.order) {
            (Transport::Memory, OrderMode::Replay) => {
                Box::new(InMemory { program, kernels: kernels(), pinned, tensors: tensors() })
            }
            (Transport::Memory, OrderMode::Dynamic) => Box::new(Dynamic {
                program,
                placed,
                tasks,
                order,
                kernels: kernels(),
                pinned,
                tensors: tensors(),
                nanos_per_unit: time_scale * SECOND,
            }),
            (Transport::Tcp, _) => {
                let devices = placed.instance().cluster().devices();
                let names = devices.iter().map(|device| device.name.clone()).collect();
                let options = TcpOptions {
                    program,
                    names,
                    hosts,
                    kernel: *kernel,
                    ahead,
                    pinned,
                    payload_seed: PAYLOAD_SEED,
                    planned_seconds,
                };
                Box::new(OverSockets::new(options, stop)?)
            }
        })
    }

    /// Runs a program as often as the settings say.
    fn repeat(&self, session: &mut dyn Session, stop: &StopToken) -> Result<Vec<RunTimes>, (Fault, u32)> {
        let mut measured = Vec::new();
        for index in 0..self.settings.runs() {
            let times = session.run(Run { checks: index == 0 }, stop).map_err(|fault| (fault, index))?;
            (self.notify)(Progress::Run);
            if index >= self.settings.warm_up {
                measured.push(times);
            }
        }
        Ok(measured)
    }
}

fn failed(reason: String) -> ExecutionError {
    ExecutionError::Failed { executor: NAME, reason }
}

impl Executor for Threads {
    fn demands(&self) -> Demands {
        Demands::Order
    }

    fn execute(
        &self,
        placed: &PlacedGraph<'_>,
        order: Order<'_>,
        stop: &StopToken,
    ) -> Result<Timeline, ExecutionError> {
        let Simulated { tasks, timeline: simulated } = Simulated::new(self.network, placed, order, stop)?;
        let scale = time_scale(placed, self.settings.mean_op.seconds);
        let program = Program::new(placed, &tasks, scale);
        self.check_machine(&program)?;
        self.announce(simulated.makespan() * scale, stop)?;
        let told = |(fault, done): (Fault, u32)| match fault {
            _ if stop.is_stopped() => ExecutionError::Interrupted { executor: NAME, done, runs: self.settings.runs() },
            Fault::Stopped => failed("a device gave up".to_owned()),
            Fault::Damaged { transfer } => failed(format!("the bytes of {} arrived changed", label(placed, transfer))),
            Fault::Other(reason) => failed(reason),
        };
        let planned = (scale, simulated.makespan() * scale);
        let session = self.session(placed, (order, &tasks), &program, planned, stop);
        let mut session = session.map_err(|fault| told((fault, 0)))?;
        let processes = session.processes();
        let before = LoadMeter::now(&processes);
        let runs = self.repeat(&mut *session, stop).map_err(told)?;
        let other_load = before.zip(LoadMeter::now(&processes)).map(|(before, after)| before.others_until(&after));
        let units = |nanos: Nanos| nanos as f64 / (scale * SECOND);
        let measurement = Measurement {
            hardware: processor(),
            execution: self.description(runs.iter().all(|run| run.is_precise)),
            other_load,
            warm_ups: self.settings.warm_up,
            makespans: runs.iter().map(|run| units(run.makespan())).collect(),
            time_scale: scale,
        };
        let median = &runs[measurement.median_repetition()];
        Ok(timeline(placed, &tasks, median, units).with_measurement(measurement))
    }
}

/// A transfer for people.
fn label(placed: &PlacedGraph<'_>, transfer: usize) -> String {
    let transfer = &placed.transfers()[transfer];
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let (source, to) = (graph.label(transfer.source), &cluster.device(transfer.to).name);
    format!("the transfer of {source} to device '{to}'")
}

/// The timeline of a run.
fn timeline(
    placed: &PlacedGraph<'_>,
    tasks: &[Vec<Task>],
    times: &RunTimes,
    units: impl Fn(Nanos) -> Time,
) -> Timeline {
    let interval = |&(start, end): &(Nanos, Nanos)| Interval { start: units(start), end: units(end) };
    let nothing = Interval { start: 0.0, end: 0.0 };
    let mut ops = vec![nothing; placed.instance().graph().op_count()];
    let (mut sends, mut receives) = (vec![None; placed.transfer_count()], vec![None; placed.transfer_count()]);
    for (task, time) in tasks.iter().flatten().zip(times.steps.iter().flatten()) {
        match *task {
            Task::Op(op) => ops[op.index()] = interval(time),
            Task::Send(transfer) => sends[transfer.index()] = Some(interval(time)),
            Task::Receive(transfer) => receives[transfer.index()] = Some(interval(time)),
        }
    }
    let sends = sends.into_iter().flatten().collect();
    let moves = times.moves.iter().map(interval).collect();
    Timeline::measured(placed, ops, sends, moves)
        .with_measured_receives(placed, receives.into_iter().flatten().collect())
}
