//! A plan with all that it needs on the GPUs, ready to run again and again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaGraph, CudaStream, result, sys};
use placebench_algorithms::{StopToken, Task};
use placebench_datasets::PlacedGraph;
use placebench_harness::timeline::Interval;

use super::blas::{self, Workbench};
use super::device::{Device, Entries, Launch};
use super::gate::Gate;
use super::memory::Memory;
use super::{Gpu, doing};
use crate::clocks::Before;
use crate::gate::held_back;
use crate::kernels::{Mark, Marks, Products};
use crate::memory::MemoryPlan;
use crate::plan::{Action, Activity, CommandPlan};
use crate::{CudaError, Step};

/// How long a GPU may take to end once it was told to stop: no op spins from then on.
const GRACE: Duration = Duration::from_secs(60);
/// How often the host looks whether a step has ended.
const POLL: Duration = Duration::from_micros(50);

/// What an op makes the GPU do, besides checking and writing marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Work {
    /// Let this many nanoseconds pass.
    Spin(u64),
    /// Compute products, and move bytes within the device.
    Real(Option<Products>, u64),
}

/// The two timing events of an activity, on the clock of a GPU.
struct Timing {
    gpu: usize,
    start: CudaEvent,
    end: CudaEvent,
}

/// A plan on the GPUs. A step whose commands are launched one by one is held back, see [`crate::gate`].
pub(crate) struct Session<'a> {
    gpus: &'a [Gpu],
    placed: &'a PlacedGraph<'a>,
    memory: MemoryPlan,
    plan: CommandPlan,
    ops: Vec<Work>,
    send_nanoseconds: Vec<u64>,
    inputs: Vec<Entries>,
    outputs: Vec<Entries>,
    devices: Vec<Device>,
    streams: Vec<Arc<CudaStream>>,
    /// Streams that nothing else uses, one a GPU, by which the host tells it to stop.
    side_streams: Vec<Arc<CudaStream>>,
    events: Vec<CudaEvent>,
    timings: Vec<Timing>,
    origin: Origin,
    graph: Option<CudaGraph>,
    /// What holds back steps whose commands are launched one by one.
    gate: Option<Gate>,
    steps: u64,
}

/// How a step begins and ends on all streams, and what ties the clocks of the GPUs.
struct Origin {
    /// When the step began on each GPU: the zero of its clock.
    bases: Vec<CudaEvent>,
    /// When the first GPU knew of it.
    echoes: Vec<CudaEvent>,
    begun: Vec<CudaEvent>,
    go: CudaEvent,
    ended: Vec<CudaEvent>,
    done: CudaEvent,
}

/// What a session executes.
pub(crate) struct Job<'a> {
    pub(crate) placed: &'a PlacedGraph<'a>,
    pub(crate) plan: CommandPlan,
    pub(crate) memory: MemoryPlan,
    pub(crate) marks: Marks,
    /// The GPU of each device.
    pub(crate) gpu_of: Vec<usize>,
    /// What each op does.
    pub(crate) ops: Vec<Work>,
    /// How long the send op of each transfer spins.
    pub(crate) send_nanoseconds: Vec<u64>,
    /// Whether a step is captured once and launched as a whole.
    pub(crate) graph: bool,
    /// How many hardware queues the streams of a GPU share.
    pub(crate) queues: usize,
}

impl<'a> Session<'a> {
    /// Allocates everything and, if asked, captures the step.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`] before anything is allocated; else what the driver says.
    pub(crate) fn new(gpus: &'a [Gpu], job: Job<'a>) -> Result<Self, CudaError> {
        let Job { placed, plan, memory, marks, gpu_of, ops, send_nanoseconds, graph, queues } = job;
        let scratch = scratch_of(placed, &gpu_of, &ops);
        check_memory(gpus, &memory, &gpu_of, &scratch)?;
        let table = |op_marks: &[Mark], region: u64, table: &mut Vec<u64>| -> Entries {
            let first = table.len() as u64 / 2;
            table.extend(op_marks.iter().flat_map(|mark| [region + mark.offset, mark.mark]));
            (first, op_marks.len() as u32)
        };
        let streams: Vec<_> = plan
            .streams
            .iter()
            .map(|stream| gpu_of[stream.device().index()])
            .map(|gpu| stream_on(&gpus[gpu]))
            .collect::<Result<_, _>>()?;
        let mut tables = vec![Vec::new(); gpu_of.len()];
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let regions: Vec<Memory> = gpu_of
            .iter()
            .zip(memory.device_bytes())
            .map(|(&gpu, &bytes)| Memory::new(&gpus[gpu], bytes))
            .collect::<Result<_, _>>()?;
        for op in placed.instance().graph().op_ids() {
            let device = placed.device_of(op).index();
            let region = regions[device].address();
            inputs.push(table(&marks.inputs[op.index()], region, &mut tables[device]));
            outputs.push(table(&marks.outputs[op.index()], region, &mut tables[device]));
        }
        let devices = regions.into_iter().zip(tables).enumerate().map(|(index, (region, table))| {
            let gpu = &gpus[gpu_of[index]];
            let marks = Memory::new(gpu, 8 * table.len() as u64)?;
            if !table.is_empty() {
                marks.write(&table)?;
            }
            let workbench = match scratch[index] {
                Some(bytes) => Some(Workbench::new(&streams[index], Memory::new(gpu, bytes)?)?),
                None => None,
            };
            Ok(Device { gpu: gpu_of[index], region, control: Memory::new(gpu, 32)?, marks, workbench })
        });
        let devices = devices.collect::<Result<Vec<_>, CudaError>>()?;
        let mut events = Vec::with_capacity(plan.events as usize);
        let mut timings = Vec::new();
        for command in &plan.commands {
            let gpu = gpu_of[plan.streams[command.stream].device().index()];
            match command.action {
                Action::Record(_) => events.push(event_on(&gpus[gpu], false)?),
                Action::Run(_) => {
                    timings.push(Timing { gpu, start: event_on(&gpus[gpu], true)?, end: event_on(&gpus[gpu], true)? })
                }
                Action::Wait(_) => {}
            }
        }
        let first = &gpus[gpu_of[0]];
        let origin = Origin {
            bases: gpus.iter().map(|gpu| event_on(gpu, true)).collect::<Result<_, _>>()?,
            echoes: gpus.iter().map(|_| event_on(first, true)).collect::<Result<_, _>>()?,
            begun: gpus.iter().map(|gpu| event_on(gpu, false)).collect::<Result<_, _>>()?,
            go: event_on(first, false)?,
            ended: streams
                .iter()
                .map(|stream| doing("create an event", stream.context().new_event(None)))
                .collect::<Result<_, _>>()?,
            done: event_on(first, false)?,
        };
        let side_streams = gpus.iter().map(stream_on).collect::<Result<_, _>>()?;
        let mut session = Self {
            gpus,
            placed,
            memory,
            plan,
            ops,
            send_nanoseconds,
            inputs,
            outputs,
            devices,
            streams,
            side_streams,
            events,
            timings,
            origin,
            graph: None,
            gate: None,
            steps: 0,
        };
        if graph {
            session.capture()?;
        } else {
            let gpu_of: Vec<usize> =
                session.plan.streams.iter().map(|stream| session.devices[stream.device().index()].gpu).collect();
            let calls = session.plan.commands.iter().map(|command| (command.stream, session.calls(command.action)));
            let held = held_back(calls, &gpu_of, queues);
            session.gate = Some(Gate::new(first, held)?);
        }
        Ok(session)
    }

    /// How many commands a stream takes in for a command of the plan.
    fn calls(&self, action: Action) -> usize {
        let Action::Run(activity) = action else { return 1 };
        match activity {
            Activity::Task(Task::Op(op)) => match self.ops[op.index()] {
                Work::Spin(_) => 3,
                Work::Real(products, bytes) => 3 + blas::calls(products, bytes),
            },
            _ => 3,
        }
    }

    /// How many of the plan's commands are issued before a step begins, unless it is launched as a whole.
    pub(crate) fn held(&self) -> Option<usize> {
        self.gate.as_ref().map(|gate| gate.held)
    }

    /// Captures the commands of a step into a graph that is launched as a whole.
    fn capture(&mut self) -> Result<(), CudaError> {
        let origin = Arc::clone(&self.streams[0]);
        doing(
            "begin to capture a step",
            origin.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED),
        )?;
        let issued = self.issue(true);
        // The capture has to end in any case, or the stream could not be used again.
        let captured = origin.end_capture(sys::CUgraphInstantiate_flags(0));
        issued?;
        self.graph = doing("capture a step", captured)?;
        match &self.graph {
            Some(graph) => doing("upload a captured step", graph.upload()),
            None => Err(CudaError::Driver { what: "capture a step", error: "the graph is empty".to_owned() }),
        }
    }

    /// Runs a step once, and answers with all times; `None` if the stop token ended it.
    ///
    /// # Errors
    /// If the driver fails, or an input did not hold what its producer wrote.
    pub(crate) fn run(&mut self, stop: &StopToken) -> Result<Option<Step>, CudaError> {
        self.steps += 1;
        for device in &self.devices {
            device.control.write(&[self.steps, 0, 0, 0])?;
        }
        let started = Instant::now();
        let issued = match &self.graph {
            Some(graph) => doing("launch a captured step", graph.launch()),
            None => self.issue(false),
        };
        let issued_in = started.elapsed();
        // Also where issuing failed: the GPU would wait for nothing.
        self.open_gate();
        issued?;
        doing("record the end of a step", self.origin.done.record(&self.streams[0]))?;
        if self.is_stopped(stop)? {
            return Ok(None);
        }
        self.check_data()?;
        let overdue = self.gate.as_ref().is_some_and(|gate| gate.was_overdue(self.steps));
        Ok(Some(Step { overdue, ..self.times(issued_in)? }))
    }

    /// Lets the step begin.
    fn open_gate(&self) {
        if let Some(gate) = &self.gate {
            gate.open(self.steps);
        }
    }

    /// Waits until the step has ended, and says whether it was told to.
    fn is_stopped(&self, stop: &StopToken) -> Result<bool, CudaError> {
        let mut stopped_at: Option<Instant> = None;
        while !doing("wait for the end of a step", self.origin.done.try_is_complete())? {
            match stopped_at {
                None if stop.is_stopped() => {
                    self.tell_to_stop()?;
                    stopped_at = Some(Instant::now());
                }
                Some(at) if at.elapsed() > GRACE => return Err(CudaError::Hung(GRACE)),
                _ => {}
            }
            std::thread::sleep(POLL);
        }
        Ok(stopped_at.is_some())
    }

    /// Makes all ops that have not begun take no time.
    fn tell_to_stop(&self) -> Result<(), CudaError> {
        static STOP: [u64; 1] = [1];
        for device in &self.devices {
            self.gpus[device.gpu].bind()?;
            let stream = self.side_streams[device.gpu].cu_stream();
            // SAFETY: the second word of the control memory, which has four; the source is static.
            doing("tell a GPU to stop", unsafe {
                result::memcpy_htod_async(device.control.address() + 8, &STOP, stream)
            })?;
        }
        Ok(())
    }

    fn check_data(&self) -> Result<(), CudaError> {
        for (index, device) in self.devices.iter().enumerate() {
            let [_, _, faults, op] = device.control.read::<4>()?;
            if faults > 0 {
                let (graph, cluster) = (self.placed.instance().graph(), self.placed.instance().cluster());
                let op = graph.label(placebench_datasets::OpId(op as u32));
                return Err(CudaError::WrongData { device: cluster.devices()[index].name.clone(), op, faults });
            }
        }
        Ok(())
    }

    /// Issues all commands of a step to the streams, for execution or into a capture.
    fn issue(&self, capturing: bool) -> Result<(), CudaError> {
        let flags = if capturing { sys::CUevent_record_flags_enum::CU_EVENT_RECORD_EXTERNAL as u32 } else { 0 };
        let mark = |event: &CudaEvent, stream: &CudaStream| {
            doing("choose a GPU", event.context().bind_to_thread())?;
            // SAFETY: both are alive, and of one context.
            let answer = unsafe { sys::cuEventRecordWithFlags(event.cu_event(), stream.cu_stream(), flags) };
            doing("record an event", answer.result())
        };
        let record = |event: &CudaEvent, stream: &CudaStream| doing("record an event", event.record(stream));
        let wait = |stream: &CudaStream, event: &CudaEvent| doing("let a stream wait", stream.wait(event));
        let Origin { bases, echoes, begun, go, ended, .. } = &self.origin;
        let (first_gpu, first) = (self.devices[0].gpu, &self.streams[0]);
        if let Some(gate) = &self.gate {
            if self.steps == 1 {
                // The driver loads a kernel when it is launched first, and may wait for the GPU then.
                self.open_gate();
            }
            gate.hold(&self.gpus[first_gpu], first, self.steps)?;
        }
        mark(&bases[first_gpu], first)?;
        record(&begun[first_gpu], first)?;
        for gpu in 0..self.gpus.len() {
            let Some(stream) = self.devices.iter().position(|device| device.gpu == gpu).filter(|_| gpu != first_gpu)
            else {
                continue;
            };
            let stream = &self.streams[stream];
            wait(stream, &begun[first_gpu])?;
            mark(&bases[gpu], stream)?;
            record(&begun[gpu], stream)?;
            wait(first, &begun[gpu])?;
            mark(&echoes[gpu], first)?;
        }
        record(go, first)?;
        for stream in &self.streams[1..] {
            wait(stream, go)?;
        }
        let mut timings = self.timings.iter();
        for (index, command) in self.plan.commands.iter().enumerate() {
            if self.held() == Some(index) {
                self.open_gate();
            }
            let stream = &self.streams[command.stream];
            match command.action {
                Action::Wait(event) => wait(stream, &self.events[event as usize])?,
                Action::Record(event) => record(&self.events[event as usize], stream)?,
                Action::Run(activity) => {
                    let timing = timings.next().expect("each activity has its timing events");
                    mark(&timing.start, stream)?;
                    self.start(activity, stream)?;
                    mark(&timing.end, stream)?;
                }
            }
        }
        for (stream, event) in self.streams.iter().zip(ended).skip(1) {
            record(event, stream)?;
            wait(first, event)?;
        }
        Ok(())
    }

    /// Issues what takes the time of an activity.
    fn start(&self, activity: Activity, stream: &CudaStream) -> Result<(), CudaError> {
        match activity {
            Activity::Task(Task::Op(op)) => {
                let device = &self.devices[self.placed.device_of(op).index()];
                let nanoseconds = match self.ops[op.index()] {
                    Work::Spin(nanoseconds) => nanoseconds,
                    Work::Real(products, bytes) => {
                        if let Some(workbench) = &device.workbench {
                            workbench.issue(products, bytes)?;
                        }
                        0
                    }
                };
                let (inputs, outputs) = (self.inputs[op.index()], self.outputs[op.index()]);
                let launch = Launch { nanoseconds, inputs, outputs, op: u64::from(op.0) };
                device.launch(&self.gpus[device.gpu], stream, launch)
            }
            // Plans have no receives.
            Activity::Task(Task::Send(id) | Task::Receive(id)) => {
                let device = &self.devices[self.placed.transfer(id).from.index()];
                let nanoseconds = self.send_nanoseconds[id.index()];
                let launch = Launch { nanoseconds, inputs: (0, 0), outputs: (0, 0), op: 0 };
                device.launch(&self.gpus[device.gpu], stream, launch)
            }
            Activity::Transfer(id) => {
                let transfer = self.placed.transfer(id);
                let Some(tensor) = transfer.tensor.filter(|_| transfer.bytes > 0) else { return Ok(()) };
                let (from, to) = (&self.devices[transfer.from.index()], &self.devices[transfer.to.index()]);
                let source = from.region.address() + self.memory.produced(tensor);
                let target = to.region.address() + self.memory.received(id);
                let (bytes, stream) = (transfer.bytes as usize, stream.cu_stream());
                // SAFETY: the memory plan has room for the whole tensor at both places, in regions that the session owns.
                let answer = unsafe {
                    if from.gpu == to.gpu {
                        result::memcpy_dtod_async(target, source, bytes, stream)
                    } else {
                        let (source_context, target_context) =
                            (self.gpus[from.gpu].context.cu_ctx(), self.gpus[to.gpu].context.cu_ctx());
                        result::memcpy_peer_async(target_context, target, source_context, source, bytes, stream)
                    }
                };
                doing("issue a transfer", answer)
            }
        }
    }

    /// All times, on the clock of the first GPU, from the first start on.
    fn times(&self, issued_in: Duration) -> Result<Step, CudaError> {
        let seconds = |gpu: usize, event: &CudaEvent| -> Result<f64, CudaError> {
            let base = &self.origin.bases[gpu];
            Ok(f64::from(doing("read a time", base.elapsed_ms(event))?) * 1e-3)
        };
        let first_gpu = self.devices[0].gpu;
        let mut timed = Vec::with_capacity(self.timings.len());
        for timing in &self.timings {
            timed.push((
                timing.gpu,
                Interval { start: seconds(timing.gpu, &timing.start)?, end: seconds(timing.gpu, &timing.end)? },
            ));
        }
        let mut used: Vec<usize> = self.devices.iter().map(|device| device.gpu).collect();
        used.sort_unstable();
        used.dedup();
        let mut facts = Vec::new();
        for &gpu in used.iter().filter(|&&gpu| gpu != first_gpu) {
            facts.push(Before { earlier: (first_gpu, 0.0), later: (gpu, 0.0) });
            facts.push(Before {
                earlier: (gpu, 0.0),
                later: (first_gpu, seconds(first_gpu, &self.origin.echoes[gpu])?),
            });
        }
        let activities: Vec<Activity> = self
            .plan
            .commands
            .iter()
            .filter_map(|command| match command.action {
                Action::Run(activity) => Some(activity),
                _ => None,
            })
            .collect();
        crate::step::assemble(self.placed, &activities, &timed, &used, facts, issued_in)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.open_gate();
        for gpu in self.gpus {
            // Whatever still runs uses the memory that is freed next.
            gpu.context.record_err(gpu.context.synchronize());
        }
        // Before the events and streams that it names.
        self.graph = None;
    }
}

/// Bytes of scratch memory that each device needs, where its ops compute.
fn scratch_of(placed: &PlacedGraph<'_>, gpu_of: &[usize], ops: &[Work]) -> Vec<Option<u64>> {
    let mut work: Vec<(Vec<Products>, Option<u64>)> = vec![(Vec::new(), None); gpu_of.len()];
    for op in placed.instance().graph().op_ids() {
        if let Work::Real(products, bytes) = ops[op.index()] {
            let (all, most) = &mut work[placed.device_of(op).index()];
            all.extend(products);
            *most = (*most).max(Some(bytes));
        }
    }
    work.into_iter().map(|(products, most)| most.map(|most| blas::scratch_bytes(products.into_iter(), most))).collect()
}

/// Refuses what does not fit, GPU by GPU.
fn check_memory(gpus: &[Gpu], memory: &MemoryPlan, gpu_of: &[usize], scratch: &[Option<u64>]) -> Result<(), CudaError> {
    for (index, gpu) in gpus.iter().enumerate() {
        let devices = (0..gpu_of.len()).filter(|&device| gpu_of[device] == index);
        let needed = devices.fold(0_u64, |sum, device| {
            sum.saturating_add(memory.device_bytes()[device]).saturating_add(scratch[device].unwrap_or(0))
        });
        let free = gpu.free_bytes()?;
        if needed > free {
            return Err(CudaError::OutOfMemory { gpu: index, needed, free });
        }
    }
    Ok(())
}

fn stream_on(gpu: &Gpu) -> Result<Arc<CudaStream>, CudaError> {
    doing("create a stream", gpu.context.new_stream())
}

fn event_on(gpu: &Gpu, timed: bool) -> Result<CudaEvent, CudaError> {
    let flags = if timed { sys::CUevent_flags::CU_EVENT_DEFAULT } else { sys::CUevent_flags::CU_EVENT_DISABLE_TIMING };
    doing("create an event", gpu.context.new_event(Some(flags)))
}
