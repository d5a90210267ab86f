//! How long a part of a pipeline keeps a device busy.

use placebench_datasets::{DeviceId, Instance, Kind, KindSet, MemoryRule, TensorId, Time};

use super::ideals::{Ideals, Step};
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
const MOST_CHOICES: usize = 1024;

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
        let units = instance.units();
        let kinds = units.ids().fold(KindSet::EMPTY, |kinds, unit| kinds.union(units.kinds(unit)));
        // A device that no op may run on changes nothing.
        let usable = || cluster.device_ids().filter(|&device| kinds.contains(cluster.device(device).kind));
        let rate = |device: DeviceId| {
            let others = usable().filter(|&other| other != device);
            others.map(|other| cluster.link(device, other).rate).fold(0.0, f64::max)
        };
        let mut sorts: Vec<Sort> = Vec::new();
        for device in usable() {
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
        let number = (choice / stride) % (devices.len() + 1);
        number.checked_sub(1).map(|_| choice - stride)
    }

    /// The loads of the parts between an ideal and all within it, on each sort of devices, in the order of the steps; infinite
    /// where a part cannot be.
    ///
    /// # Complexity
    /// O(sum over the steps of the sorts + the readers of tensors of the step's vertex).
    pub(super) fn of_parts(&self, ideals: &Ideals, ideal: usize, steps: &[Step], parts: &mut Parts) {
        parts.moved.clear();
        parts.works.clear();
        parts.loads.clear();
        let sorts = self.sorts.len();
        for step in steps {
            let before = step.before.map(|before| before as usize);
            let part = before.map_or(PartMoved::default(), |before| parts.moved[before]);
            let part = self.grown(part, ideals, ideal, step);
            parts.moved.push(part);
            for (number, sort) in self.sorts.iter().enumerate() {
                let work = before.map_or(0.0, |before| parts.works[before * sorts + number]);
                let work = work + sort.times[step.vertex as usize];
                parts.works.push(work);
                parts.loads.push(self.load(sort, work, part));
            }
        }
    }

    /// What a part moves and holds with one vertex more.
    fn grown(&self, mut part: PartMoved, ideals: &Ideals, ideal: usize, step: &Step) -> PartMoved {
        let vertex = step.vertex;
        part.held = part.held.saturating_add(self.bytes[vertex as usize]);
        if self.transfers == Transfers::Free {
            return part;
        }
        // With the vertex, which is not in the ideal to which the step leads.
        let is_in = |other: u32| ideals.is_between(other, step.ideal, ideal);
        for &output in &self.outputs[vertex as usize] {
            let moved = &self.moved[output as usize];
            let (mut read_within, mut read_without) = (false, false);
            for &reader in &moved.to {
                let within = is_in(reader);
                read_within |= within;
                read_without |= !within;
            }
            if read_within {
                part.received -= moved.bytes;
            }
            if read_without {
                part.sent += moved.bytes;
            }
        }
        for &input in &self.inputs[vertex as usize] {
            let moved = &self.moved[input as usize];
            if is_in(moved.from) {
                if moved.to.iter().all(|&reader| is_in(reader)) {
                    part.sent -= moved.bytes;
                }
            } else if moved.to.iter().all(|&reader| reader == vertex || !is_in(reader)) {
                part.received += moved.bytes;
            }
        }
        part
    }

    fn load(&self, sort: &Sort, work: Time, part: PartMoved) -> Time {
        let fits = match self.instance.memory_rule() {
            MemoryRule::Static => sort.memory.is_none_or(|memory| part.held == 0 || part.held < memory),
            _ => sort.memory.is_none_or(|memory| part.held <= memory),
        };
        match self.transfers {
            _ if !fits => Time::INFINITY,
            Transfers::Device if sort.is_accelerator => work + (part.sent + part.received) / sort.rate,
            Transfers::Ports => work.max(part.sent / sort.rate).max(part.received / sort.rate),
            Transfers::Device | Transfers::Free => work,
        }
    }
}

/// What a part moves, in bytes, and holds.
#[derive(Clone, Copy, Default)]
struct PartMoved {
    sent: f64,
    received: f64,
    held: u64,
}

/// The loads of some parts, and memory that is used again and again.
#[derive(Default)]
pub(super) struct Parts {
    moved: Vec<PartMoved>,
    works: Vec<Time>,
    /// By part and sort of devices.
    pub(super) loads: Vec<Time>,
}
