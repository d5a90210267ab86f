//! A placement in a search for the least period: loads of all parts, kept up to date move by move.

use placebench_datasets::{Cluster, DeviceId, Instance, Placement, Time, UnitId};

use crate::memory::{Limits, fits_below};
use crate::period::Occupancy;

/// An output with what reads it in other units: one transfer for each device with readers.
struct Net {
    source: u32,
    bytes: u64,
    readers: Vec<u32>,
}

/// What does not change: the instance as units, nets and parts.
pub(super) struct Problem<'a> {
    pub(super) instance: &'a Instance,
    cluster: &'a Cluster,
    occupancy: &'a dyn Occupancy,
    limits: Option<Limits>,
    nets: Vec<Net>,
    /// By unit: the nets that it makes, and those that it reads.
    made: Vec<Vec<u32>>,
    read: Vec<Vec<u32>>,
    /// Which devices run everything alike.
    nature: Vec<u32>,
    natures: usize,
    /// By unit and nature; infinite where the unit may not be.
    times: Vec<Time>,
    /// Whether transfers keep anything busy.
    has_traffic: bool,
}

impl<'a> Problem<'a> {
    /// # Complexity
    /// O(ops + edges · log + units · natures), and O(devices²).
    pub(super) fn new(instance: &'a Instance, occupancy: &'a dyn Occupancy, limits: Option<Limits>) -> Self {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let mut first_of: Vec<DeviceId> = Vec::new();
        let mut nature = Vec::new();
        for device in cluster.device_ids() {
            let is_alike = |&first: &DeviceId| {
                instance.runs_alike(first, device) && cluster.device(first).kind == cluster.device(device).kind
            };
            let found = first_of.iter().position(is_alike);
            nature.push(found.unwrap_or(first_of.len()) as u32);
            if found.is_none() {
                first_of.push(device);
            }
        }
        let time = |unit: UnitId, device: DeviceId| match units.kind_allows(unit, cluster, device) {
            true => units.members(unit).iter().map(|&op| instance.exec_time(op, device)).sum(),
            false => Time::INFINITY,
        };
        let times = units.ids().flat_map(|unit| first_of.iter().map(move |&device| time(unit, device))).collect();
        let mut problem = Self {
            instance,
            cluster,
            occupancy,
            limits,
            nets: Vec::new(),
            made: vec![Vec::new(); units.count()],
            read: vec![Vec::new(); units.count()],
            nature,
            natures: first_of.len(),
            times,
            has_traffic: false,
        };
        problem.has_traffic = problem.finds_traffic();
        for op in graph.op_ids() {
            let source = units.unit_of(op).0;
            // The edges of a tensor are next to each other, and so are the control edges.
            let mut last = None;
            for edge in graph.successors(op).filter(|edge| units.unit_of(edge.op).0 != source) {
                if last.replace(edge.tensor) != Some(edge.tensor) {
                    let bytes = edge.tensor.map_or(0, |tensor| graph.tensor_bytes(tensor));
                    problem.nets.push(Net { source, bytes, readers: Vec::new() });
                }
                if let Some(net) = problem.nets.last_mut() {
                    net.readers.push(units.unit_of(edge.op).0);
                }
            }
        }
        for (number, net) in problem.nets.iter_mut().enumerate() {
            net.readers.sort_unstable();
            net.readers.dedup();
            problem.made[net.source as usize].push(number as u32);
            net.readers.iter().for_each(|&reader| problem.read[reader as usize].push(number as u32));
        }
        problem
    }

    /// Whether some pair of devices has transfers that keep something busy.
    fn finds_traffic(&self) -> bool {
        let mut found = false;
        for from in self.cluster.device_ids() {
            self.occupancy.output(from, 1, &mut |_, _| found = true);
            for to in self.cluster.device_ids().filter(|&to| to != from) {
                self.occupancy.transfer(from, to, 1, &mut |_, _| found = true);
                found |= self.cluster.send_time(1, from, to) > 0.0 || self.cluster.receive_time(1, from, to) > 0.0;
            }
        }
        found
    }

    pub(super) fn units(&self) -> usize {
        self.made.len()
    }

    pub(super) fn devices(&self) -> usize {
        self.nature.len()
    }

    /// Time that a unit takes; infinite where it may not be.
    #[inline]
    pub(super) fn time(&self, unit: usize, device: usize) -> Time {
        self.times[unit * self.natures + self.nature[device] as usize]
    }

    /// The units that make what a unit reads, and that read what it makes, one after the other.
    pub(super) fn neighbours(&self, unit: usize) -> impl Iterator<Item = usize> + '_ {
        let read = self.read[unit].iter().map(|&net| self.nets[net as usize].source as usize);
        let made = self.made[unit].iter().flat_map(|&net| self.nets[net as usize].readers.iter());
        read.chain(made.map(|&reader| reader as usize))
    }

    /// Entries of the table of readers.
    pub(super) fn table_size(&self) -> usize {
        if self.has_traffic { self.nets.len().saturating_mul(self.devices()) } else { 0 }
    }

    /// Bytes that a unit claims of its device.
    #[inline]
    pub(super) fn demand(&self, unit: usize) -> u64 {
        self.limits.as_ref().map_or(0, |limits| limits.demand(UnitId(unit as u32)))
    }

    fn limit(&self, device: usize) -> Option<u64> {
        self.limits.as_ref().and_then(|limits| limits.of_device(DeviceId(device as u32)))
    }
}

/// Loads are raised to this power and added up, so that all high ones count.
const POWER: i32 = 8;

/// A placement with the loads of all parts.
#[derive(Clone)]
pub(super) struct State<'p> {
    problem: &'p Problem<'p>,
    pub(super) device: Vec<u32>,
    /// By net and device: how many readers are there.
    readers: Vec<u32>,
    /// By net: to how many other devices it goes.
    remote: Vec<u32>,
    load: Vec<Time>,
    used: Vec<u64>,
    /// Loads count in multiples of this.
    scale: Time,
    energy: f64,
    /// What moves changed, newest last.
    moved: Vec<(u32, u32)>,
    loads_before: Vec<(u32, Time)>,
}

impl<'p> State<'p> {
    /// # Complexity
    /// O(nets · devices + readers).
    pub(super) fn new(problem: &'p Problem<'p>, device: Vec<u32>) -> Self {
        let devices = problem.devices();
        let mut state = Self {
            problem,
            device,
            readers: vec![0; problem.table_size()],
            remote: vec![0; problem.nets.len()],
            load: vec![0.0; problem.occupancy.parts()],
            used: vec![0; devices],
            scale: 1.0,
            energy: 0.0,
            moved: Vec::new(),
            loads_before: Vec::new(),
        };
        state.recompute();
        state
    }

    /// All from the devices of the units, without what rounding has left over. Moves before cannot be taken back.
    pub(super) fn recompute(&mut self) {
        let (problem, devices) = (self.problem, self.problem.devices());
        self.readers.fill(0);
        self.load.fill(0.0);
        self.used.fill(0);
        for unit in 0..problem.units() {
            let device = self.device[unit] as usize;
            self.load[device] += problem.time(unit, device);
            self.used[device] = self.used[device].saturating_add(problem.demand(unit));
        }
        for (number, net) in problem.nets.iter().enumerate().filter(|_| problem.has_traffic) {
            let from = self.device[net.source as usize];
            for &reader in &net.readers {
                self.readers[number * devices + self.device[reader as usize] as usize] += 1;
            }
            self.remote[number] = 0;
            for to in (0..devices as u32).filter(|&to| to != from) {
                if self.readers[number * devices + to as usize] > 0 {
                    self.remote[number] += 1;
                    self.transfer(from, to, net.bytes, 1.0);
                }
            }
            if self.remote[number] > 0 {
                self.output(from, net.bytes, 1.0);
            }
        }
        self.moved.clear();
        self.loads_before.clear();
        let period = self.period();
        self.scale = if period > 0.0 { period } else { 1.0 };
        self.energy = self.load.iter().map(|&load| self.term(load)).sum();
    }

    #[inline]
    fn term(&self, load: Time) -> f64 {
        (load.max(0.0) / self.scale).powi(POWER)
    }

    /// The largest load.
    pub(super) fn period(&self) -> Time {
        self.load.iter().copied().fold(0.0, Time::max)
    }

    /// A smooth stand-in for the largest load, in the same unit.
    pub(super) fn smooth(&self) -> Time {
        self.scale * libm::pow(self.energy.max(0.0), 1.0 / f64::from(POWER))
    }

    /// The load of a device.
    pub(super) fn load(&self, device: u32) -> Time {
        self.load[device as usize]
    }

    /// The device of the highest load.
    pub(super) fn busiest_device(&self) -> u32 {
        let loads = self.load[..self.problem.devices()].iter().zip(0u32..);
        loads.fold((0.0, 0), |best, (&load, device)| if load > best.0 { (load, device) } else { best }).1
    }

    /// Whether a unit may move to a device.
    pub(super) fn may_move(&self, unit: usize, to: u32) -> bool {
        let (problem, to) = (self.problem, to as usize);
        problem.time(unit, to).is_finite() && fits_below(problem.limit(to), self.used[to], problem.demand(unit))
    }

    /// A device without the memory for what is there.
    pub(super) fn overfull(&self) -> Option<usize> {
        (0..self.used.len()).find(|&device| !fits_below(self.problem.limit(device), 0, self.used[device]))
    }

    fn add(&mut self, part: usize, time: Time) {
        let before = self.load[part];
        self.loads_before.push((part as u32, before));
        self.load[part] = before + time;
        self.energy += self.term(self.load[part]) - self.term(before);
    }

    fn output(&mut self, from: u32, bytes: u64, sign: f64) {
        let occupancy = self.problem.occupancy;
        occupancy.output(DeviceId(from), bytes, &mut |part, time| self.add(part, sign * time));
    }

    fn transfer(&mut self, from: u32, to: u32, bytes: u64, sign: f64) {
        let (occupancy, cluster) = (self.problem.occupancy, self.problem.cluster);
        let (from, to) = (DeviceId(from), DeviceId(to));
        for (device, time) in [(from, cluster.send_time(bytes, from, to)), (to, cluster.receive_time(bytes, from, to))]
        {
            if time > 0.0 {
                self.add(device.index(), sign * time);
            }
        }
        occupancy.transfer(from, to, bytes, &mut |part, time| self.add(part, sign * time));
    }

    /// What is there before a sequence of moves, to which [`State::back_to`] returns.
    pub(super) fn mark(&self) -> Mark {
        Mark { moved: self.moved.len(), loads: self.loads_before.len(), energy: self.energy }
    }

    /// Moves a unit.
    ///
    /// # Complexity
    /// O(nets of the unit · devices · parts that a transfer uses).
    pub(super) fn shift(&mut self, unit: usize, to: u32) {
        let (problem, from) = (self.problem, self.device[unit]);
        self.moved.push((unit as u32, from));
        self.add(from as usize, -problem.time(unit, from as usize));
        self.add(to as usize, problem.time(unit, to as usize));
        if problem.has_traffic {
            for &net in &problem.made[unit] {
                let bytes = problem.nets[net as usize].bytes;
                if self.remote[net as usize] > 0 {
                    self.output(from, bytes, -1.0);
                }
                for device in 0..problem.devices() as u32 {
                    if self.readers[net as usize * problem.devices() + device as usize] > 0 {
                        if device != from {
                            self.transfer(from, device, bytes, -1.0);
                        }
                        if device != to {
                            self.transfer(to, device, bytes, 1.0);
                        }
                    }
                }
            }
            for &net in &problem.read[unit] {
                let Net { source, bytes, .. } = problem.nets[net as usize];
                let source = self.device[source as usize];
                let row = net as usize * problem.devices();
                if source != from && self.readers[row + from as usize] == 1 {
                    self.transfer(source, from, bytes, -1.0);
                    if self.remote[net as usize] == 1 {
                        self.output(source, bytes, -1.0);
                    }
                }
            }
        }
        self.reseat(unit, to);
        if problem.has_traffic {
            for &net in &problem.made[unit] {
                if self.remote[net as usize] > 0 {
                    self.output(to, problem.nets[net as usize].bytes, 1.0);
                }
            }
            for &net in &problem.read[unit] {
                let Net { source, bytes, .. } = problem.nets[net as usize];
                let source = self.device[source as usize];
                let row = net as usize * problem.devices();
                if source != to && self.readers[row + to as usize] == 1 {
                    self.transfer(source, to, bytes, 1.0);
                    if self.remote[net as usize] == 1 {
                        self.output(source, bytes, 1.0);
                    }
                }
            }
        }
    }

    /// Numbers of readers, memory and the device of a unit, but no loads.
    fn reseat(&mut self, unit: usize, to: u32) {
        let (problem, devices, from) = (self.problem, self.problem.devices(), self.device[unit]);
        self.device[unit] = to;
        let demand = problem.demand(unit);
        self.used[from as usize] = self.used[from as usize].saturating_sub(demand);
        self.used[to as usize] = self.used[to as usize].saturating_add(demand);
        if !problem.has_traffic {
            return;
        }
        for &net in &problem.made[unit] {
            let row = &self.readers[net as usize * devices..][..devices];
            self.remote[net as usize] =
                row.iter().zip(0u32..).filter(|&(&readers, device)| readers > 0 && device != to).count() as u32;
        }
        for &net in &problem.read[unit] {
            let source = self.device[problem.nets[net as usize].source as usize];
            let row = net as usize * devices;
            self.readers[row + from as usize] -= 1;
            if source != from && self.readers[row + from as usize] == 0 {
                self.remote[net as usize] -= 1;
            }
            self.readers[row + to as usize] += 1;
            if source != to && self.readers[row + to as usize] == 1 {
                self.remote[net as usize] += 1;
            }
        }
    }

    /// Takes back all moves since a mark, to the last bit.
    pub(super) fn back_to(&mut self, mark: &Mark) {
        while self.moved.len() > mark.moved {
            if let Some((unit, from)) = self.moved.pop() {
                self.reseat(unit as usize, from);
            }
        }
        while self.loads_before.len() > mark.loads {
            if let Some((part, before)) = self.loads_before.pop() {
                self.load[part as usize] = before;
            }
        }
        self.energy = mark.energy;
    }

    /// Forgets how to take back moves.
    pub(super) fn keep(&mut self) {
        self.moved.clear();
        self.loads_before.clear();
    }

    /// The placement of all ops.
    pub(super) fn placement(&self) -> Placement {
        let units = self.problem.instance.units();
        let device = |op| DeviceId(self.device[units.unit_of(op).index()]);
        Placement::new(self.problem.instance.graph().op_ids().map(device).collect())
    }
}

/// A point in a sequence of moves.
pub(super) struct Mark {
    moved: usize,
    loads: usize,
    energy: f64,
}
