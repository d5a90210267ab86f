//! How long a part of a pipeline keeps a device busy.

use placebench_datasets::{DeviceId, Instance, Kind, MemoryRule, TensorId, Time};

use super::stages::Stages;

/// How transfers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfers {
    /// As time of accelerators, each output once and each input once; nothing on CPUs.
    Device,
    /// Beside the work: the longest of work, inputs and outputs counts.
    Ports,
    /// Not at all.
    Free,
}

/// Most combinations of numbers of devices.
const MOST_CHOICES: usize = 4096;

/// Devices on which everything takes equally long, with equal memory.
struct Sort {
    devices: Vec<DeviceId>,
    /// Time of each vertex; infinite where some op may not run.
    times: Vec<Time>,
    /// Bytes each time unit of the fastest link.
    rate: f64,
    is_accelerator: bool,
    /// Less than this many bytes fit, or at most under the rule of peaks.
    memory: Option<u64>,
    /// How many choices there are of the sorts before.
    stride: usize,
}

/// A tensor between two vertices.
struct Moved {
    tensor: TensorId,
    bytes: f64,
    from: u32,
    to: Vec<u32>,
}

/// The loads of all parts.
pub(super) struct Loads<'a> {
    sorts: Vec<Sort>,
    choices: usize,
    transfers: Transfers,
    moved: Vec<Moved>,
    /// For each vertex, which tensors it produces and which it reads from others.
    outputs: Vec<Vec<u32>>,
    inputs: Vec<Vec<u32>>,
    /// Bytes that each vertex holds on its device.
    bytes: Vec<u64>,
    instance: &'a Instance,
}

/// Memory that is used again and again, and the answer.
pub(super) struct Scratch {
    /// By tensor: for which part it was counted last.
    counted: Vec<u32>,
    part: u32,
    /// The load of the part on each sort of devices.
    pub(super) by_sort: Vec<Time>,
}

impl<'a> Loads<'a> {
    /// With `constrained`, devices have their memory and run what their kinds allow; else they take anything.
    pub(super) fn new(instance: &'a Instance, stages: &Stages, transfers: Transfers, constrained: bool) -> Self {
        let (graph, units) = (instance.graph(), instance.units());
        let mut vertex_of = vec![0u32; units.count()];
        for vertex in 0..stages.count() {
            stages.units(vertex).iter().for_each(|unit| vertex_of[unit.index()] = vertex as u32);
        }
        let vertex = |op| vertex_of[units.unit_of(op).index()];
        let mut moved: Vec<Moved> = Vec::new();
        let (mut outputs, mut inputs) = (vec![Vec::new(); stages.count()], vec![Vec::new(); stages.count()]);
        for op in graph.op_ids() {
            let from = vertex(op);
            // The edges of a tensor are next to each other.
            let first = moved.len();
            for edge in graph.successors(op).filter(|edge| vertex(edge.op) != from) {
                let Some(tensor) = edge.tensor else { continue };
                let to = vertex(edge.op);
                match moved[first..].last_mut().filter(|last| last.tensor == tensor) {
                    Some(last) => last.to.push(to),
                    None => moved.push(Moved { tensor, bytes: graph.tensor_bytes(tensor) as f64, from, to: vec![to] }),
                }
            }
        }
        for (number, moved) in moved.iter_mut().enumerate() {
            moved.to.sort_unstable();
            moved.to.dedup();
            outputs[moved.from as usize].push(number as u32);
            moved.to.iter().for_each(|&to| inputs[to as usize].push(number as u32));
        }
        // Under the static rule a unit claims its demand; otherwise what stays on the device.
        let held = |unit| match instance.memory_rule() {
            MemoryRule::Static => units.demand_bytes(unit),
            _ => units.members(unit).iter().map(|&op| graph.memory_bytes(op)).fold(0, u64::saturating_add),
        };
        let bytes = (0..stages.count())
            .map(|vertex| stages.units(vertex).iter().map(|&unit| held(unit)).fold(0, u64::saturating_add));
        let bytes = bytes.collect();
        let mut loads = Self { sorts: Vec::new(), choices: 1, transfers, moved, outputs, inputs, bytes, instance };
        loads.sort_devices(stages, constrained);
        loads
    }

    /// Sorts the devices, the fastest first, as long as there are not too many combinations.
    fn sort_devices(&mut self, stages: &Stages, constrained: bool) {
        let (instance, cluster) = (self.instance, self.instance.cluster());
        let memory = |device: DeviceId| match instance.memory_rule() {
            _ if !constrained => None,
            MemoryRule::Static => cluster.device(device).memory_bytes,
            _ => instance.peak_limit(device),
        };
        let rate = |device: DeviceId| {
            let others = cluster.device_ids().filter(|&other| other != device);
            others.map(|other| cluster.link(device, other).rate).fold(0.0, f64::max)
        };
        let mut sorts: Vec<Sort> = Vec::new();
        for device in cluster.device_ids() {
            let is_same = |sort: &&mut Sort| {
                let first = sort.devices[0];
                instance.runs_alike(first, device) && memory(first) == memory(device) && sort.rate == rate(device)
            };
            if let Some(sort) = sorts.iter_mut().find(is_same) {
                sort.devices.push(device);
                continue;
            }
            let kind = cluster.device(device).kind;
            let time = |vertex: usize| -> Time {
                let units = stages.units(vertex);
                let may_run = |&unit: &_| !constrained || instance.units().kind_allows(unit, cluster, device);
                match units.iter().all(may_run) {
                    true => {
                        let ops = units.iter().flat_map(|&unit| instance.units().members(unit));
                        ops.map(|&op| instance.exec_time(op, device)).sum()
                    }
                    false => Time::INFINITY,
                }
            };
            sorts.push(Sort {
                devices: vec![device],
                times: (0..stages.count()).map(time).collect(),
                rate: rate(device),
                is_accelerator: kind != Kind::Cpu,
                memory: memory(device),
                stride: 0,
            });
        }
        // Able to do more first, then faster at it.
        let ability = |sort: &Sort| {
            let able = sort.times.iter().filter(|time| time.is_finite());
            (able.clone().count(), able.sum::<Time>())
        };
        sorts.sort_by(|a, b| {
            let (a, b) = (ability(a), ability(b));
            b.0.cmp(&a.0).then(a.1.total_cmp(&b.1))
        });
        for mut sort in sorts {
            let fit = (MOST_CHOICES / self.choices).saturating_sub(1);
            sort.devices.truncate(fit.min(stages.count()));
            if !sort.devices.is_empty() {
                sort.stride = self.choices;
                self.choices *= sort.devices.len() + 1;
                self.sorts.push(sort);
            }
        }
    }

    /// Number of ways to choose how many devices of each sort are there; the last has all of them.
    pub(super) fn choices(&self) -> usize {
        self.choices
    }

    pub(super) fn sorts(&self) -> usize {
        self.sorts.len()
    }

    /// The devices of a sort, ascending.
    pub(super) fn devices(&self, sort: usize) -> &[DeviceId] {
        &self.sorts[sort].devices
    }

    /// The choice with one device less of a sort, if it has one.
    pub(super) fn without(&self, choice: usize, sort: usize) -> Option<usize> {
        let Sort { stride, devices, .. } = &self.sorts[sort];
        (choice / stride % (devices.len() + 1) > 0).then(|| choice - stride)
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch { counted: vec![0; self.moved.len()], part: 0, by_sort: vec![0.0; self.sorts.len()] }
    }

    /// The load of a part on a device of each sort; infinite where it cannot be. `part` is the set of its members.
    ///
    /// # Complexity
    /// O(vertices of the part · (sorts + degree)).
    pub(super) fn of_part(&self, members: impl Iterator<Item = usize> + Clone, part: &[u64], scratch: &mut Scratch) {
        let is_in = |vertex: u32| part[vertex as usize / 64] >> (vertex % 64) & 1 == 1;
        scratch.part += 1;
        let (mut sent, mut received) = (0.0, 0.0);
        if self.transfers != Transfers::Free {
            for vertex in members.clone() {
                for &output in &self.outputs[vertex] {
                    let moved = &self.moved[output as usize];
                    if moved.to.iter().any(|&to| !is_in(to)) {
                        sent += moved.bytes;
                    }
                }
                for &input in &self.inputs[vertex] {
                    let moved = &self.moved[input as usize];
                    let counted = &mut scratch.counted[input as usize];
                    if !is_in(moved.from) && std::mem::replace(counted, scratch.part) != scratch.part {
                        received += moved.bytes;
                    }
                }
            }
        }
        let held = members.clone().map(|vertex| self.bytes[vertex]).fold(0, u64::saturating_add);
        for (sort, load) in self.sorts.iter().zip(&mut scratch.by_sort) {
            let fits = match self.instance.memory_rule() {
                MemoryRule::Static => sort.memory.is_none_or(|memory| held == 0 || held < memory),
                _ => sort.memory.is_none_or(|memory| held <= memory),
            };
            let work: Time = members.clone().map(|vertex| sort.times[vertex]).sum();
            *load = match self.transfers {
                _ if !fits => Time::INFINITY,
                Transfers::Device if sort.is_accelerator => work + (sent + received) / sort.rate,
                Transfers::Ports => work.max(sent / sort.rate).max(received / sort.rate),
                Transfers::Device | Transfers::Free => work,
            };
        }
    }
}
