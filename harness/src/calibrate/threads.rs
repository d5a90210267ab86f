//! Measures the executor `threads` on this machine: its kernels, what an op costs beside them, and what tensors take over
//! memory or sockets.

use placebench_algorithms::StopToken;
use placebench_algorithms::schedulers::Fifo;
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, PlacedGraph, Placement,
};

use super::measured::{Equation, Flow, Measured, MeasuredDevice, MeasuredTransfer};
use super::{CalibrateSettings, CalibrationError};
use crate::execute::simulate::ContentionFree;
use crate::execute::threads::{Threads, kernel_times};
use crate::execute::{ExecuteSettings, Executor, Order, RealTime};
use crate::timeline::{Interval, Timeline};
use placebench_base::process::available_memory;

/// Sizes of tensors, and how many of each are sent.
const SIZES: [u64; 8] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24];
const SMALL: u64 = 1 << 20;
const SMALL_COUNT: usize = 30;
const LARGE_COUNT: usize = 10;

/// Between two tensors: more than the one before takes at 0.2 GB/s.
const PAUSE: f64 = 1e-3;
const PAUSE_PER_BYTE: f64 = 5e-9;

/// Tensors that several pairs send at once, and how many each.
const FLOW_BYTES: u64 = 1 << 22;
const FLOW_COUNT: usize = 8;

/// Ops without cost behind one that takes [`PAUSE`].
const LAUNCHES: usize = 1000;

/// How often each is measured beside a first time.
const REPETITIONS: u32 = 5;

/// Measures kernels and transport with as many devices as the settings say.
pub(super) fn measure(settings: &CalibrateSettings, stop: &StopToken) -> Result<Measured, CalibrationError> {
    let count = settings.cpus;
    if count == 0 || settings.gpus > 0 {
        let reason = "its devices are threads or processes of this machine: give a number of them and no GPUs";
        return Err(CalibrationError::Driver(format!("threads: {reason}")));
    }
    let machine = Machine { settings, stop };
    let names: Vec<String> = (0..count).map(|device| format!("cpu:{device}")).collect();
    let memory_bytes = available_memory().map(|bytes| bytes / count as u64);
    let mut devices = Vec::with_capacity(count);
    let mut equations: Vec<Equation> = Vec::new();
    for (device, name) in names.iter().enumerate() {
        for (index, timed) in kernel_times(device).into_iter().enumerate() {
            if index == equations.len() {
                let (kind, operations) = (timed.kind.to_owned(), timed.operations);
                equations.push(Equation { kind, operations, step_seconds: Default::default() });
            }
            equations[index].step_seconds.insert(name.clone(), timed.seconds);
        }
        let op_overhead_seconds = Some(machine.launch_seconds(device)?);
        devices.push(MeasuredDevice { name: name.clone(), kind: "cpu".into(), memory_bytes, op_overhead_seconds });
    }
    let mut transfers = Vec::new();
    for from in 0..count {
        for to in (0..count).filter(|&to| to != from) {
            for bytes in SIZES {
                let [least, median] = machine.one_way_seconds(from, to, bytes)?;
                transfers.push(MeasuredTransfer {
                    from,
                    to,
                    bytes,
                    // Couriers beside the devices copy: devices go on meanwhile.
                    sender_seconds: 0.0,
                    receiver_seconds: 0.0,
                    one_way_seconds: [least, median],
                });
            }
        }
    }
    let flows = flow_sets(count).into_iter().map(|pairs| {
        let seconds = machine.flow_seconds(&pairs)?;
        Ok(Flow { pairs, bytes: FLOW_BYTES, seconds })
    });
    let flows = flows.collect::<Result<_, CalibrationError>>()?;
    Ok(Measured { devices, equations, graphs: Vec::new(), transfers, steps: Vec::new(), flows, noise: None })
}

/// Which pairs send at once: one alone, both ways, from one device to two, from two to one, and two apart.
fn flow_sets(devices: usize) -> Vec<Vec<[usize; 2]>> {
    let sets: [(usize, &[[usize; 2]]); 5] = [
        (2, &[[0, 1]]),
        (2, &[[0, 1], [1, 0]]),
        (3, &[[0, 1], [0, 2]]),
        (3, &[[0, 2], [1, 2]]),
        (4, &[[0, 1], [2, 3]]),
    ];
    sets.into_iter().filter(|(needed, _)| devices >= *needed).map(|(_, pairs)| pairs.to_vec()).collect()
}

/// Runs small graphs on links that cost nothing, so that what is measured is what the executor takes.
struct Machine<'a> {
    settings: &'a CalibrateSettings,
    stop: &'a StopToken,
}

impl Machine<'_> {
    /// Executes a graph, whose costs are seconds, op by op on these devices.
    fn run(&self, mut graph: GraphBuilder, on: &[usize]) -> Result<(Instance, Placement, Timeline), CalibrationError> {
        let failed = |reason: String| CalibrationError::Driver(format!("threads: {reason}"));
        let device = |id: usize| Device { name: format!("cpu:{id}"), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
        let free = Link { rate: f64::INFINITY, latency: 0.0 };
        let cluster = Cluster::new((0..self.settings.cpus).map(device).collect(), |_, _| free)?;
        let instance = Instance::new(graph.build()?, cluster).map_err(|error| failed(error.to_string()))?;
        let placement = Placement::new(on.iter().map(|&device| DeviceId::new(device)).collect());
        let placed = PlacedGraph::new(&instance, &placement);
        let seconds: f64 = instance.graph().op_ids().map(|op| placed.exec_time(op)).sum();
        let settings = ExecuteSettings {
            warm_up: 1,
            repetitions: REPETITIONS,
            transport: self.settings.transport,
            // The scale of time is 1.
            mean_op: RealTime { seconds: seconds / instance.graph().op_count() as f64 },
            hosts: self.settings.hosts.clone(),
            ..ExecuteSettings::default()
        };
        let order = Order { scheduler: &Fifo, plan: None };
        let executor = Threads::with(&ContentionFree, settings);
        let timeline = executor.execute(&placed, order, self.stop).map_err(|error| failed(error.to_string()))?;
        Ok((instance, placement, timeline))
    }

    /// What an op takes beside its kernel.
    fn launch_seconds(&self, device: usize) -> Result<f64, CalibrationError> {
        let mut graph = GraphBuilder::default();
        for op in 0..=LAUNCHES {
            graph.add_op(OpSpec::cost(if op == 0 { PAUSE } else { 0.0 }), &[]);
        }
        let (_, _, timeline) = self.run(graph, &vec![device; LAUNCHES + 1])?;
        let least = timeline.measurement().map_or(0.0, |measurement| measurement.least());
        Ok(((least - PAUSE) / LAUNCHES as f64).max(0.0))
    }

    /// Least and median time of a tensor, of several sent one by one.
    fn one_way_seconds(&self, from: usize, to: usize, bytes: u64) -> Result<[f64; 2], CalibrationError> {
        let count = if bytes < SMALL { SMALL_COUNT } else { LARGE_COUNT };
        let mut graph = GraphBuilder::default();
        let mut on = Vec::with_capacity(2 * count);
        for _ in 0..count {
            let source = graph.add_op(OpSpec::cost(PAUSE + PAUSE_PER_BYTE * bytes as f64), &[bytes]);
            let sink = graph.add_op(OpSpec::cost(0.0), &[]);
            graph.add_edge(source, 0, sink)?;
            on.extend([from, to]);
        }
        let (instance, placement, timeline) = self.run(graph, &on)?;
        let mut times: Vec<f64> =
            transfers(&instance, &placement, &timeline).into_iter().map(|at| at.end - at.start).collect();
        times.sort_by(f64::total_cmp);
        Ok([times[0], times[times.len() / 2]])
    }

    /// Time of a tensor, while all pairs send without pause.
    fn flow_seconds(&self, pairs: &[[usize; 2]]) -> Result<f64, CalibrationError> {
        let mut graph = GraphBuilder::default();
        let mut on = Vec::new();
        for &[from, to] in pairs {
            let source = graph.add_op(OpSpec::cost(PAUSE), &[FLOW_BYTES; FLOW_COUNT]);
            let sink = graph.add_op(OpSpec::cost(0.0), &[]);
            for port in 0..FLOW_COUNT {
                graph.add_edge(source, port, sink)?;
            }
            on.extend([from, to]);
        }
        let (instance, placement, timeline) = self.run(graph, &on)?;
        let moved = transfers(&instance, &placement, &timeline);
        let begin = moved.iter().map(|at| at.start).fold(f64::INFINITY, f64::min);
        let end = moved.iter().map(|at| at.end).fold(0.0, f64::max);
        Ok((end - begin) / FLOW_COUNT as f64)
    }
}

fn transfers(instance: &Instance, placement: &Placement, timeline: &Timeline) -> Vec<Interval> {
    let placed = PlacedGraph::new(instance, placement);
    placed.transfer_ids().map(|id| timeline.transfer(&placed, id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::Calibration;
    use crate::execute::Transport;

    #[test]
    fn this_machine_copies_and_computes_at_a_rate_that_machines_have() {
        let settings =
            CalibrateSettings { driver: "threads".into(), cpus: 2, transport: Transport::Memory, ..Default::default() };
        let measured = measure(&settings, &StopToken::default()).unwrap();
        let types: Vec<&str> = measured.equations.iter().map(|equation| equation.kind.as_str()).collect();
        assert!(types.contains(&"gemm") && types.contains(&"memory"), "{types:?}");
        let found = Calibration::of(&measured).unwrap();
        for device in found.cluster.device_ids() {
            let speed = found.cluster.device(device).speed;
            assert!((1e7..1e13).contains(&speed), "{speed} operations a second");
            assert!(found.cluster.op_overhead(device) < 1e-3);
            assert!(found.cluster.device(device).memory_bytes.is_none_or(|bytes| bytes > 1 << 20));
        }
        for pair in &found.pairs {
            let rate = 1.0 / pair.one_way.per_unit;
            assert!((1e7..1e12).contains(&rate), "{rate} bytes a second");
            assert_eq!((pair.send, pair.receive), Default::default());
        }
        assert_eq!(found.sharing.len(), 1);
    }

    #[test]
    fn gpus_and_no_devices_are_refused() {
        for settings in [CalibrateSettings { gpus: 1, cpus: 1, ..Default::default() }, CalibrateSettings::default()] {
            assert!(
                measure(&settings, &StopToken::default()).unwrap_err().to_string().starts_with("threads: its devices")
            );
        }
    }
}
