//! The factors of MITE's function (L Eq. 4.7 to 4.14), for all devices at once. MITE and DFS share them.
//!
//! Traffic is accumulated edge by edge into an array over devices. Which devices already hold a consumer of a tensor
//! (Eq. 4.8 and 4.9) is kept as a list a tensor, so that no tensor's consumers are ever scanned.

use placebench_datasets::{Cluster, DataflowGraph, DeviceId, Instance, OpId, Placement, TensorId, Time, UnitId};

use super::load::{LoadedAssignment, Work};
use crate::PlaceError;
use crate::total::compare;

/// What Eq. 4.11 puts in place of a traffic of zero.
const NEARLY_NO_TRAFFIC: f64 = 0.000001;

/// The factors of a feasible device for the unit that is to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factors {
    /// Traffic (Eq. 4.11).
    pub(super) traffic: f64,
    /// Execution time (Eq. 4.13).
    pub(super) execution_time: f64,
    /// Memory (Eq. 4.14).
    pub(super) memory: f64,
    /// speed(d) / f̂ (Eq. 4.15).
    pub(super) relative_speed: f64,
}

/// A placement in the making, and what evaluating Eq. 4.7 to 4.14 takes.
pub(super) struct HeuristicPlacement<'a> {
    instance: &'a Instance,
    placed: LoadedAssignment<'a>,
    consumers: ConsumerDevices,
    /// For each device in turn, the rates to it from every device.
    rates_to: Vec<f64>,
    /// Used memory / memory of each device, 0 where memory is unlimited.
    memory_portions: Vec<f64>,
    /// traffic_temp of each device (Eq. 4.7, 4.10); scratch.
    traffic: Vec<f64>,
    /// The feasible devices and their execution time_temp (Eq. 4.12); scratch.
    feasible: Vec<(DeviceId, Time)>,
    /// Scratch of [`add_except`].
    kept: Vec<f64>,
}

impl<'a> HeuristicPlacement<'a> {
    /// Nothing placed yet.
    pub(super) fn new(instance: &'a Instance) -> Self {
        let cluster = instance.cluster();
        let devices = cluster.device_count();
        let rates_to =
            cluster.device_ids().flat_map(|to| cluster.device_ids().map(move |from| cluster.link(from, to).rate));
        Self {
            instance,
            placed: LoadedAssignment::new(instance),
            consumers: ConsumerDevices::new(instance.graph()),
            rates_to: rates_to.collect(),
            memory_portions: vec![0.0; devices],
            traffic: vec![0.0; devices],
            feasible: Vec::with_capacity(devices),
            kept: Vec::with_capacity(devices),
        }
    }

    pub(super) fn is_placed(&self, unit: UnitId) -> bool {
        self.placed.assignment().device_of_unit(unit).is_some()
    }

    /// Puts a unit that is not yet placed on the feasible device with the least `score`; then with the least execution
    /// time, then with the lowest id. What is equal up to rounding is equal.
    ///
    /// # Errors
    /// If no device is feasible.
    ///
    /// # Complexity
    /// O(devices · (1 + in-edges + distinct devices of consumers)); in-edges from ops not yet placed cost O(1).
    pub(super) fn place(&mut self, unit: UnitId, score: impl Fn(&Factors) -> f64) -> Result<(), PlaceError> {
        let cluster = self.instance.cluster();
        let work = Work::of_unit(self.instance, unit);
        self.feasible.clear();
        for device in cluster.device_ids() {
            if self.placed.assignment().is_feasible(unit, device) {
                self.feasible.push((device, self.placed.exec_min_with(&work, device)));
            }
        }
        self.sum_traffic(unit);
        let most = |value: &dyn Fn(DeviceId, Time) -> f64| {
            self.feasible.iter().map(|&(device, time)| value(device, time)).fold(0.0, f64::max)
        };
        let most_traffic = most(&|device, _| self.traffic[device.index()]);
        let most_time = most(&|_, time| time);
        let top_speed = most(&|device, _| cluster.device(device).speed);
        let least_portion = self.memory_portions.iter().copied().filter(|&portion| portion > 0.0).fold(1.0, f64::min);
        let mut best: Option<(f64, Time, DeviceId)> = None;
        for &(device, time) in &self.feasible {
            let traffic = self.traffic[device.index()];
            let portion = self.memory_portions[device.index()];
            let score = score(&Factors {
                traffic: match traffic {
                    _ if most_traffic == 0.0 => 1.0,
                    0.0 => NEARLY_NO_TRAFFIC,
                    _ => traffic / most_traffic,
                },
                execution_time: if most_time == 0.0 { 1.0 } else { time / most_time },
                memory: if portion == 0.0 { least_portion / 10.0 } else { portion },
                relative_speed: cluster.device(device).speed / top_speed,
            });
            let is_better = |(least, least_time, _)| compare(score, least).then(compare(time, least_time)).is_lt();
            if best.is_none_or(is_better) {
                best = Some((score, time, device));
            }
        }
        let (_, _, device) = best.ok_or_else(|| self.placed.assignment().infeasible(unit))?;
        self.assign(unit, &work, device);
        Ok(())
    }

    /// The finished placement.
    ///
    /// # Errors
    /// If a unit is not placed.
    pub(super) fn finish(self) -> Result<Placement, PlaceError> {
        self.placed.finish()
    }

    /// Fills `traffic` with traffic_temp of every device (Eq. 4.10).
    fn sum_traffic(&mut self, unit: UnitId) {
        self.traffic.fill(0.0);
        for &op in self.instance.units().members(unit) {
            self.add_traffic_of(op);
        }
    }

    /// Eq. 4.7. An op's own device needs no condition: its rate to itself is infinite, so that it adds 0.
    fn add_traffic_of(&mut self, op: OpId) {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        for edge in graph.predecessors(op) {
            let Some(tensor) = edge.tensor else { continue };
            let bytes = graph.tensor_bytes(tensor);
            if bytes == 0 || !self.consumers.first_visit(tensor, op) {
                continue;
            }
            if let Some(from) = self.placed.assignment().device_of(edge.op) {
                let rates = cluster.rates_from(from);
                let held = self.consumers.devices(tensor);
                add_except(&mut self.traffic, bytes as f64, rates, held, &mut self.kept);
            }
        }
        for tensor in graph.outputs(op) {
            let bytes = graph.tensor_bytes(tensor);
            if bytes > 0 {
                for to in self.consumers.devices(tensor) {
                    let devices = self.traffic.len();
                    let rates = &self.rates_to[to.index() * devices..][..devices];
                    add(&mut self.traffic, bytes as f64, rates);
                }
            }
        }
    }

    fn assign(&mut self, unit: UnitId, work: &Work, device: DeviceId) {
        self.placed.assign_work(unit, work, device);
        self.memory_portions[device.index()] =
            memory_portion(self.instance.cluster(), self.placed.assignment().used_bytes(device), device);
        let graph = self.instance.graph();
        for &op in self.instance.units().members(unit) {
            for tensor in graph.predecessors(op).filter_map(|edge| edge.tensor) {
                self.consumers.insert(tensor, device);
            }
        }
    }
}

fn memory_portion(cluster: &Cluster, used_bytes: u64, device: DeviceId) -> f64 {
    match cluster.device(device).memory_bytes {
        Some(memory) if memory > 0 => used_bytes as f64 / memory as f64,
        _ => 0.0,
    }
}

fn add(traffic: &mut [f64], bytes: f64, rates: &[f64]) {
    for (traffic, rate) in traffic.iter_mut().zip(rates) {
        *traffic += bytes / rate;
    }
}

/// As [`add`], but nothing for the devices of `held`. Adding to all and putting those few back keeps the loop simple
/// enough for the compiler to vectorise.
fn add_except(traffic: &mut [f64], bytes: f64, rates: &[f64], held: &[DeviceId], kept: &mut Vec<f64>) {
    kept.clear();
    kept.extend(held.iter().map(|device| traffic[device.index()]));
    add(traffic, bytes, rates);
    for (device, &value) in held.iter().zip(&*kept) {
        traffic[device.index()] = value;
    }
}

/// For each tensor, the distinct devices that hold a placed consumer of it, in the order in which they came to.
///
/// Memory: 16 bytes a tensor and 4 an edge.
struct ConsumerDevices {
    tensors: Vec<TensorEntry>,
    devices: Vec<DeviceId>,
}

#[derive(Clone, Copy, Default)]
struct TensorEntry {
    start: u32,
    count: u32,
    /// The op whose inputs last led here, plus one.
    visited_by: u32,
}

impl ConsumerDevices {
    fn new(graph: &DataflowGraph) -> Self {
        let mut tensors = vec![TensorEntry::default(); graph.tensor_count()];
        for (_, edge) in graph.edges() {
            if let Some(tensor) = edge.tensor {
                tensors[tensor.index()].count += 1;
            }
        }
        let mut start = 0;
        for entry in &mut tensors {
            entry.start = start;
            start += std::mem::take(&mut entry.count);
        }
        Self { tensors, devices: vec![DeviceId(0); start as usize] }
    }

    fn devices(&self, tensor: TensorId) -> &[DeviceId] {
        let entry = self.tensors[tensor.index()];
        &self.devices[entry.start as usize..][..entry.count as usize]
    }

    fn insert(&mut self, tensor: TensorId, device: DeviceId) {
        if !self.devices(tensor).contains(&device) {
            let entry = &mut self.tensors[tensor.index()];
            self.devices[(entry.start + entry.count) as usize] = device;
            entry.count += 1;
        }
    }

    /// Whether this is the first time in a row that an input of `op` leads to `tensor`: parallel edges carry it once.
    fn first_visit(&mut self, tensor: TensorId, op: OpId) -> bool {
        std::mem::replace(&mut self.tensors[tensor.index()].visited_by, op.0 + 1) != op.0 + 1
    }
}
