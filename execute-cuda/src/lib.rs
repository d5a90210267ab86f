//! Executes placed graphs on NVIDIA GPUs: ops as kernels, transfers as copies between GPUs, dependencies as events.
//!
//! The host takes part in a run only to issue it, and a step that is issued command by command begins when all is issued (see
//! [`gate`]): short ops do not measure the host. A [`plan`] says which commands go to which stream, and events make streams
//! wait for each other. Each device has a compute stream, and each pair of devices between which something moves a copy
//! stream, so that transfers overlap with ops. The start and end of each task are timing events on its stream.
//!
//! Every op checks that its inputs hold what their producers wrote in this step, and writes its own outputs: a run that
//! started something too early, or moved the wrong bytes, fails instead of being fast.
//!
//! # Not run on a GPU
//! No GPU was at hand when this was written. What can be checked without one is: plans (in a model of streams and events),
//! memory, clocks, the text of the kernel (assembled by `ptxas`, and interpreted), and all calls of the driver against a
//! driver made for the tests. Speed and accuracy are unknown.
//!
//! # Virtual devices
//! [`Devices::Virtual`] stands several devices on one GPU, each with streams of its own. They share its memory bandwidth,
//! its copy engines and, with [`Kernel::Compute`], its multiprocessors: an emulation, which [`Hardware`] says.
//! More streams than hardware queues wait for each other without need. The driver has 8 queues, and up to 32 if
//! `CUDA_DEVICE_MAX_CONNECTIONS` says so: without it more than 2 virtual devices are refused. Copies between them go at the
//! speed of the GPU's memory: the rates and latencies of the cluster's links are not emulated.

pub mod clocks;
mod driver;
mod error;
pub mod gate;
mod hardware;
pub mod kernels;
pub mod memory;
pub mod plan;
pub mod step;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use placebench_algorithms::{StopToken, Task};
use placebench_datasets::{Kind, OpId, PlacedGraph, Time};
use placebench_harness::execute::simulate::{ContentionFree, NetworkModel, Simulator};
use placebench_harness::execute::{
    ExecutionError, Executor, Kernel, Launch, Notify, Order, OrderMode, Progress, Setup,
};
use placebench_harness::measurement::{LoadMeter, Measurement};
use placebench_harness::timeline::{Interval, Timeline};
use placebench_harness::validator::Demands;

use driver::{Gpu, Job, Session, Work};
pub use error::CudaError;
pub use hardware::{GpuInfo, Hardware};
use kernels::{Marks, Products};
use memory::MemoryPlan;
use plan::CommandPlan;
pub use step::Step;

/// The executor's name in tables.
const NAME: &str = "cuda";

/// An op may spin for at most this many seconds: longer ones are a mistake in the unit of time.
const MOST_SECONDS: f64 = 3600.0;

/// What stands for the devices of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// The GPUs that the process sees, in the driver's order (`CUDA_VISIBLE_DEVICES` chooses): device 0 is the first one.
    #[default]
    Visible,
    /// The number of virtual devices on the first GPU.
    Virtual(usize),
}

/// How to execute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CudaOptions {
    /// What stands for the devices.
    pub devices: Devices,
    /// What ops do: with [`Kernel::Wait`] they let the time pass that the op takes in the cluster's model, on one
    /// multiprocessor. With [`Kernel::Compute`] they compute matrix products of as many floating-point operations as the op
    /// has operations, and then read and write as many bytes as its inputs and outputs have; the times of the model play no
    /// part.
    pub kernel: Kernel,
    /// Seconds that a unit of the instance's time takes: 1 where costs are in seconds. Ops are scaled; transfers take what
    /// they take, so that only graphs with costs in seconds, at 1, keep their relation.
    pub seconds_per_unit: f64,
    /// Steps before the measured ones.
    pub warm_ups: u32,
    /// Measured steps, at least 1.
    pub repetitions: u32,
    /// Whether the step is captured once as a CUDA graph and launched as a whole, which lowers the cost of launching. The
    /// first step of all loads kernels; if commands are launched one by one it is not held back.
    pub graph: bool,
}

impl Default for CudaOptions {
    fn default() -> Self {
        Self {
            devices: Devices::Visible,
            kernel: Kernel::Wait,
            seconds_per_unit: 1.0,
            warm_ups: 2,
            repetitions: 9,
            graph: false,
        }
    }
}

/// Executes placed graphs on GPUs, in the order in which the simulator executes them.
pub struct CudaExecutor {
    options: CudaOptions,
    queues: usize,
    network: &'static dyn NetworkModel,
    notify: Notify,
    gpus: Mutex<Vec<Gpu>>,
    hardware: Hardware,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct CudaRun {
    /// Every measured step, in the order of execution.
    pub steps: Vec<Step>,
    /// The step of median makespan (the lower one of two), in the instance's unit of time.
    pub timeline: Timeline,
    /// Commands that the host issues for a step.
    pub commands: usize,
    /// How many of them it issues before a step begins; `None` if a step is launched as a CUDA graph.
    pub held: Option<usize>,
}

impl CudaRun {
    /// What the host takes to issue a step: the median, in seconds.
    pub fn issued_in(&self) -> f64 {
        let mut seconds: Vec<f64> = self.steps.iter().map(|step| step.issued_in.as_secs_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
    }

    /// How steps are launched, as rows say it.
    fn launched(&self) -> String {
        let how = match self.held {
            None => "launched as a CUDA graph".to_owned(),
            Some(held) if held < self.commands => {
                format!("launched one by one, begun after {held}, since queues of the GPU would be full")
            }
            Some(_) => "launched one by one, begun when all were issued".to_owned(),
        };
        let overdue = match self.steps.iter().filter(|step| step.overdue).count() {
            0 => String::new(),
            count => format!(", {count} steps begun before that, after {} s", gate::LIMIT.as_secs()),
        };
        format!("{how}{overdue}, issued in {:.3} ms (median)", self.issued_in() * 1e3)
    }
}

impl CudaExecutor {
    /// Opens the GPUs.
    ///
    /// # Errors
    /// If there is no driver or no GPU, or an option makes no sense.
    pub fn new(options: CudaOptions) -> Result<Self, CudaError> {
        let refuse = |text: &str| Err(CudaError::Options(text.to_owned()));
        if !(options.seconds_per_unit.is_finite() && options.seconds_per_unit > 0.0) {
            return refuse("the seconds of a unit of time must be a positive number");
        }
        if options.repetitions == 0 {
            return refuse("nothing is measured with 0 repetitions: use 1 or more");
        }
        if options.devices == Devices::Virtual(0) {
            return refuse("nothing can run on 0 virtual devices: use 1 or more");
        }
        let queues = gate::queues(std::env::var("CUDA_DEVICE_MAX_CONNECTIONS").ok().as_deref());
        caught(|| {
            let mut gpus = driver::open()?;
            let virtual_devices = match options.devices {
                Devices::Visible => None,
                Devices::Virtual(count) => {
                    // A stream a device, and one for each pair of them.
                    let needed = count.saturating_mul(count).min(gate::MOST_QUEUES);
                    if needed > queues {
                        return Err(CudaError::TooFewQueues { devices: count, queues, needed });
                    }
                    gpus.truncate(1);
                    Some(count)
                }
            };
            let hardware = Hardware::ask(&gpus, virtual_devices)?;
            let (network, notify): (_, Notify) = (&ContentionFree, Arc::new(|_| ()));
            Ok(Self { options, queues, network, notify, gpus: Mutex::new(gpus), hardware })
        })
    }

    /// The executor `cuda` of suites and of the command.
    ///
    /// # Errors
    /// As [`CudaExecutor::new`]; and if the graph's times are no seconds, or a setting is none of this executor.
    pub fn of_setup(setup: &Setup<'_>) -> Result<Self, String> {
        let settings = setup.settings;
        setup.check_seconds()?;
        if settings.order != OrderMode::Replay {
            return Err(format!("the order {} is not possible on GPUs: use the order replay", settings.order));
        }
        if !settings.hosts.is_empty() {
            return Err("it uses the GPUs of this host alone: leave out hosts".to_owned());
        }
        let options = CudaOptions {
            devices: settings.virtual_devices.map_or(Devices::Visible, |count| Devices::Virtual(count as usize)),
            kernel: settings.kernel,
            warm_ups: settings.warm_up,
            repetitions: settings.repetitions,
            graph: settings.launch == Launch::Graph,
            ..CudaOptions::default()
        };
        let executor = Self::new(options).map_err(|error| error.to_string())?;
        Ok(Self { network: setup.network, notify: setup.notify.clone(), ..executor })
    }

    /// What it runs on, as it was when the GPUs were opened.
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    /// Executes a placed graph: warm-ups, then the measured steps. `order` is one that [`CommandPlan::new`] accepts.
    ///
    /// # Errors
    /// If the cluster does not fit the GPUs, memory does not suffice, the driver fails, data is wrong, or the stop token asks
    /// for it.
    pub fn measure(&self, placed: &PlacedGraph<'_>, order: &[Task], stop: &StopToken) -> Result<CudaRun, CudaError> {
        if placed.instance().graph().op_count() == 0 {
            return Err(CudaError::Options("the graph has no ops: there is nothing to execute".to_owned()));
        }
        let gpus = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        let gpu_of = devices(placed, self.options.devices, gpus.len())?;
        let used = &gpus[..gpu_of.iter().max().map_or(0, |&last| last + 1)];
        let plan = CommandPlan::new(placed, order)?;
        let memory = MemoryPlan::new(placed, order);
        let job = Job {
            plan,
            marks: Marks::new(placed, &memory),
            memory,
            gpu_of,
            ops: work(placed, self.options)?,
            send_nanoseconds: send_nanoseconds(placed, self.options.seconds_per_unit)?,
            graph: self.options.graph,
            queues: self.queues,
            placed,
        };
        let commands = job.plan.commands.len();
        let (held, steps) = caught(|| self.steps(used, job, stop))?;
        let mut by_makespan: Vec<&Step> = steps.iter().collect();
        by_makespan.sort_by(|a, b| a.makespan().total_cmp(&b.makespan()));
        let timeline = timeline(placed, by_makespan[(steps.len() - 1) / 2], self.options.seconds_per_unit);
        Ok(CudaRun { timeline, steps, commands, held })
    }

    fn steps(&self, gpus: &[Gpu], job: Job<'_>, stop: &StopToken) -> Result<(Option<usize>, Vec<Step>), CudaError> {
        let total = self.options.warm_ups.saturating_add(self.options.repetitions);
        let mut session = Session::new(gpus, job)?;
        let mut steps = Vec::with_capacity(self.options.repetitions as usize);
        for finished in 0..total {
            if stop.is_stopped() {
                return Err(CudaError::Stopped { finished, total });
            }
            let step = match session.run(stop) {
                Ok(step) => step.ok_or(CudaError::Stopped { finished, total })?,
                Err(error) => {
                    if matches!(error, CudaError::Hung(_)) {
                        // To end the session would be to wait for the GPU for good.
                        std::mem::forget(session);
                    }
                    return Err(error);
                }
            };
            (self.notify)(Progress::Run);
            if finished >= self.options.warm_ups {
                steps.push(step);
            }
        }
        Ok((session.held(), steps))
    }
}

impl Executor for CudaExecutor {
    fn demands(&self) -> Demands {
        Demands::Order
    }

    fn execute(
        &self,
        placed: &PlacedGraph<'_>,
        order: Order<'_>,
        stop: &StopToken,
    ) -> Result<Timeline, ExecutionError> {
        let CudaOptions { kernel, seconds_per_unit, warm_ups, repetitions, .. } = self.options;
        let simulated = Simulator::new(self.network).execute(placed, order, stop)?;
        let runs = warm_ups.saturating_add(repetitions);
        (self.notify)(Progress::Begin { runs, seconds: None });
        let before = LoadMeter::now(&[]);
        let run = self.measure(placed, &plan::order_of(placed, &simulated), stop);
        let run = run.map_err(|error| match error {
            CudaError::Stopped { finished, total } => {
                ExecutionError::Interrupted { executor: NAME, done: finished, runs: total }
            }
            error => ExecutionError::Failed { executor: NAME, reason: error.to_string() },
        })?;
        let other_load = before.zip(LoadMeter::now(&[])).map(|(before, after)| before.others_until(&after));
        let measurement = Measurement {
            hardware: self.hardware.to_string(),
            execution: format!("kernel {kernel}, order replay, {} commands a step, {}", run.commands, run.launched()),
            other_load,
            warm_ups,
            makespans: run.steps.iter().map(|step| step.makespan() / seconds_per_unit).collect(),
            time_scale: seconds_per_unit,
        };
        Ok(run.timeline.with_measurement(measurement))
    }
}

/// Turns a panic of the driver's binding, its only answer to a missing function, into an error.
fn caught<T>(run: impl FnOnce() -> Result<T, CudaError>) -> Result<T, CudaError> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(answer) => answer,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            let text = text.unwrap_or_else(|| "an unknown fault".to_owned());
            Err(CudaError::Binding(text.lines().next().unwrap_or_default().to_owned()))
        }
    }
}

/// The GPU of each device of the cluster.
fn devices(placed: &PlacedGraph<'_>, devices: Devices, gpus: usize) -> Result<Vec<usize>, CudaError> {
    let cluster = placed.instance().cluster();
    let count = cluster.device_count();
    match devices {
        Devices::Virtual(asked) if asked < count => Err(CudaError::TooFewVirtual { cluster: count, asked }),
        Devices::Virtual(_) => Ok(vec![0; count]),
        Devices::Visible => {
            if let Some(device) = cluster.devices().iter().find(|device| device.kind != Kind::Gpu) {
                return Err(CudaError::NotGpu { device: device.name.clone(), kind: device.kind });
            }
            if count > gpus {
                return Err(CudaError::TooFewGpus { cluster: count, gpus });
            }
            Ok((0..count).collect())
        }
    }
}

/// A time of the model in nanoseconds.
fn nanoseconds(time: Time, seconds_per_unit: f64, task: impl FnOnce() -> String) -> Result<u64, CudaError> {
    let seconds = time * seconds_per_unit;
    if seconds > MOST_SECONDS {
        return Err(CudaError::TooLong { task: task(), seconds, most: MOST_SECONDS });
    }
    Ok((seconds * 1e9).round() as u64)
}

/// What each op does.
fn work(placed: &PlacedGraph<'_>, options: CudaOptions) -> Result<Vec<Work>, CudaError> {
    let graph = placed.instance().graph();
    let spin = |op| {
        let nanoseconds = nanoseconds(placed.exec_time(op), options.seconds_per_unit, || graph.label(op))?;
        Ok(Work::Spin(nanoseconds))
    };
    let real = |op: OpId| {
        let mut read: Vec<_> = graph.predecessors(op).filter_map(|edge| edge.tensor).collect();
        read.sort_unstable();
        read.dedup();
        let bytes = read.into_iter().chain(graph.outputs(op)).map(|tensor| graph.tensor_bytes(tensor));
        Work::Real(Products::of(graph.ops(op)), bytes.fold(0, u64::saturating_add))
    };
    match options.kernel {
        Kernel::Wait => graph.op_ids().map(spin).collect(),
        Kernel::Compute => Ok(graph.op_ids().map(real).collect()),
    }
}

/// How long each send op spins.
fn send_nanoseconds(placed: &PlacedGraph<'_>, seconds_per_unit: f64) -> Result<Vec<u64>, CudaError> {
    let graph = placed.instance().graph();
    let label = |id| format!("a send of {}", graph.label(placed.transfer(id).source));
    placed.transfer_ids().map(|id| nanoseconds(placed.send_time(id), seconds_per_unit, || label(id))).collect()
}

/// A step as a timeline in the instance's unit of time.
fn timeline(placed: &PlacedGraph<'_>, step: &Step, seconds_per_unit: f64) -> Timeline {
    let in_units = |times: &[Interval]| {
        let scaled = |at: &Interval| Interval { start: at.start / seconds_per_unit, end: at.end / seconds_per_unit };
        times.iter().map(scaled).collect()
    };
    Timeline::measured(placed, in_units(&step.ops), in_units(&step.sends), in_units(&step.transfers))
}
