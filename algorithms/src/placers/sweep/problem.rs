//! An instance as flat arrays, and the same instance with time reversed.

use placebench_datasets::{DeviceId, Edge, Instance, Kind, KindSet, OpId, Time, UnitId};

use crate::fairness::usable_devices;
use crate::peak_demands::PeakDemands;
use crate::ranks::{Average, AverageTransfer};

/// The edges at one end of each op, as ops at the other end with the bytes between them.
pub(super) struct Edges {
    offsets: Vec<u32>,
    ends: Vec<(u32, f64)>,
}

impl Edges {
    fn new<I: Iterator<Item = Edge>>(instance: &Instance, edges: impl Fn(OpId) -> I) -> Self {
        let graph = instance.graph();
        let (mut offsets, mut ends) = (vec![0], Vec::with_capacity(graph.edge_count()));
        for op in graph.op_ids() {
            ends.extend(edges(op).map(|edge| (edge.op.0, graph.edge_bytes(edge) as f64)));
            offsets.push(ends.len() as u32);
        }
        Self { offsets, ends }
    }

    /// The ops at the other ends of an op's edges, each with the bytes of the edge.
    #[inline]
    pub(super) fn of(&self, op: usize) -> &[(u32, f64)] {
        &self.ends[self.offsets[op] as usize..self.offsets[op + 1] as usize]
    }
}

/// What transfers cost: row-major by the device that one of their ends is fixed on.
pub(super) struct Links {
    devices: usize,
    latencies: Vec<Time>,
    inverse_rates: Vec<f64>,
}

impl Links {
    /// Links from `fixed` to each device; with `reversed` those from each device to `fixed`. A transfer takes `factor`
    /// times as long as on an idle network, and its send and receive ops come on top.
    fn new(instance: &Instance, reversed: bool, factor: f64) -> Self {
        let cluster = instance.cluster();
        let devices = cluster.device_count();
        let (mut latencies, mut inverse_rates) = (Vec::new(), Vec::new());
        for fixed in cluster.device_ids() {
            for other in cluster.device_ids() {
                let (from, to) = if reversed { (other, fixed) } else { (fixed, other) };
                let link = cluster.link(from, to);
                if from == to {
                    latencies.push(0.0);
                    inverse_rates.push(0.0);
                    continue;
                }
                let of_pair = cluster.transfer_overheads(from, to);
                let ends = cluster.send_time(0, from, to) + cluster.receive_time(0, from, to);
                latencies.push(factor * link.latency + ends);
                inverse_rates.push(factor / link.rate + of_pair.send_per_byte + of_pair.receive_per_byte);
            }
        }
        Self { devices, latencies, inverse_rates }
    }

    /// Time for `bytes` between the fixed device and another.
    #[inline]
    pub(super) fn time(&self, fixed: u32, other: u32, bytes: f64) -> Time {
        let pair = fixed as usize * self.devices + other as usize;
        self.latencies[pair] + bytes * self.inverse_rates[pair]
    }

    /// Raises each device's time to `from` plus the time for `bytes` between `fixed` and that device.
    #[inline]
    pub(super) fn raise(&self, fixed: u32, from: Time, bytes: f64, times: &mut [Time]) {
        let row = fixed as usize * self.devices..(fixed as usize + 1) * self.devices;
        let row = self.latencies[row.clone()].iter().zip(&self.inverse_rates[row]);
        for (time, (latency, inverse_rate)) in times.iter_mut().zip(row) {
            let arrival = from + (latency + bytes * inverse_rate);
            *time = if arrival > *time { arrival } else { *time };
        }
    }
}

/// An instance as flat arrays.
pub(super) struct Problem<'a> {
    pub(super) instance: &'a Instance,
    pub(super) ops: usize,
    pub(super) devices: usize,
    pub(super) units: Vec<u32>,
    work: Vec<f64>,
    /// Measured times by kind, NaN where there is none; empty if there are none at all.
    measured: Vec<[Time; 3]>,
    kinds: Vec<u8>,
    speeds: Vec<f64>,
    /// What each device adds to each op.
    op_overheads: &'a [Time],
    /// The devices of each set of kinds, ascending.
    allowed: [Vec<u32>; 8],
    /// What each device may hold and each unit demands, if any device has a limit.
    memory: Option<Limits>,
    /// How many devices some op may run on.
    pub(super) usable: usize,
    /// The average transfer between two of them.
    pub(super) average: AverageTransfer,
    before: Edges,
    after: Edges,
    from: Links,
    to: Links,
}

/// How memory limits placements: the demands of what is on a device stay below its limit.
struct Limits {
    devices: Vec<u64>,
    units: Vec<u64>,
}

/// What a search under the memory rule `peak`, where the run decides, takes for a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caution {
    /// Nothing.
    None,
    /// What units hold when memory is shortest in a sequential run, and the largest inputs of one op.
    Estimate,
    /// The sum of all tensors, as if none were ever freed: what keeps to this fits.
    Sum,
}

impl<'a> Problem<'a> {
    /// The same problem with limits of memory where the instance's rule leaves them to the run.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub(super) fn cautious(mut self, caution: Caution) -> Self {
        let (instance, units) = (self.instance, self.instance.units());
        let (demands, reserve) = match caution {
            Caution::None => return self,
            Caution::Estimate => {
                let demands = PeakDemands::new(instance);
                let reserve = demands.temporary.iter().copied().max().unwrap_or(0);
                (demands.permanent, reserve)
            }
            Caution::Sum => (units.ids().map(|unit| units.demand_bytes(unit)).collect(), 0),
        };
        // Limits are exclusive.
        let limit =
            |device| instance.peak_limit(device).map_or(u64::MAX, |most| (most + 1).saturating_sub(reserve).max(1));
        let devices = instance.cluster().device_ids().map(limit).collect();
        self.memory = Some(Limits { devices, units: demands });
        self
    }

    /// Whether what devices hold stays below their limits.
    pub(super) fn holds(&self, devices: &[u32]) -> bool {
        let Some(limits) = &self.memory else { return true };
        let used = self.memory_of(devices).used;
        used.iter().zip(&limits.devices).all(|(used, limit)| *used == 0 || used < limit)
    }

    /// What a unit demands; 0 where no device has a limit.
    #[inline]
    pub(super) fn demand(&self, unit: u32) -> u64 {
        self.memory.as_ref().map_or(0, |limits| limits.units[unit as usize])
    }

    /// What a device may hold less than.
    pub(super) fn limit(&self, device: u32) -> u64 {
        self.memory.as_ref().map_or(u64::MAX, |limits| limits.devices[device as usize])
    }

    /// Reads an instance; transfers are taken to last `factor` times as long as on an idle network.
    ///
    /// # Complexity
    /// O(ops + edges + devices²).
    pub(super) fn new(instance: &'a Instance, factor: f64) -> Self {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let kinds: Vec<u8> = cluster.devices().iter().map(|device| device.kind.index() as u8).collect();
        let has_measured = Kind::ALL.iter().any(|&kind| graph.has_measured_times(kind));
        let measured = |op| graph.measured_times(op).map(|time| time.unwrap_or(f64::NAN));
        let limited = cluster.devices().iter().any(|device| device.memory_bytes.is_some());
        Self {
            instance,
            ops: graph.op_count(),
            devices: cluster.device_count(),
            units: graph.op_ids().map(|op| units.unit_of(op).0).collect(),
            work: graph.op_ids().map(|op| graph.ops(op)).collect(),
            measured: if has_measured { graph.op_ids().map(measured).collect() } else { Vec::new() },
            kinds,
            speeds: cluster.devices().iter().map(|device| device.speed).collect(),
            op_overheads: cluster.op_overheads(),
            allowed: std::array::from_fn(|bits| {
                let set = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
                let devices = cluster.device_ids().filter(|&device| set.contains(cluster.device(device).kind));
                devices.map(|device| device.0).collect()
            }),
            memory: limited.then(|| Limits {
                devices: cluster.devices().iter().map(|device| device.memory_bytes.unwrap_or(u64::MAX)).collect(),
                units: units.ids().map(|unit| units.demand_bytes(unit)).collect(),
            }),
            usable: usable_devices(instance).len(),
            average: AverageTransfer::new(instance, Average::Time),
            before: Edges::new(instance, |op| graph.predecessors(op)),
            after: Edges::new(instance, |op| graph.successors(op)),
            from: Links::new(instance, false, factor),
            to: Links::new(instance, true, factor),
        }
    }

    /// As time runs.
    pub(super) fn forward(&self) -> Way<'_> {
        Way { problem: self, before: &self.before, after: &self.after, from: &self.from, to: &self.to }
    }

    /// With time reversed: an op comes after its consumers, and transfers run from consumers to producers.
    pub(super) fn backward(&self) -> Way<'_> {
        Way { problem: self, before: &self.after, after: &self.before, from: &self.to, to: &self.from }
    }

    /// Time that an op takes on a device.
    #[inline]
    pub(super) fn exec(&self, op: usize, device: u32) -> Time {
        if let Some(times) = self.measured.get(op) {
            let time = times[usize::from(self.kinds[device as usize])];
            if !time.is_nan() {
                return time + self.op_overheads[device as usize];
            }
        }
        self.work[op] / self.speeds[device as usize] + self.op_overheads[device as usize]
    }

    /// The most time that an op can take on each device.
    pub(super) fn longest_exec(&self) -> Vec<Time> {
        let work = self.work.iter().copied().fold(0.0, f64::max);
        let measured = |kind: u8| self.measured.iter().map(|times| times[usize::from(kind)]).fold(0.0, f64::max);
        let measured = [measured(0), measured(1), measured(2)];
        let on = |device: usize| (work / self.speeds[device]).max(measured[usize::from(self.kinds[device])]);
        (0..self.devices).map(|device| on(device) + self.op_overheads[device]).collect()
    }

    /// Writes the time that an op takes on each device.
    pub(super) fn exec_times(&self, op: usize, times: &mut [Time]) {
        for (time, device) in times.iter_mut().zip(0..) {
            *time = self.exec(op, device);
        }
    }

    /// The devices of the kinds that a unit may run on, ascending.
    #[inline]
    pub(super) fn allowed(&self, unit: u32) -> &[u32] {
        &self.allowed[usize::from(self.instance.units().kinds(UnitId(unit)).bits())]
    }

    /// The ops of a unit.
    #[inline]
    pub(super) fn members(&self, unit: u32) -> &'a [OpId] {
        self.instance.units().members(UnitId(unit))
    }

    /// The memory claimed where each op is on a device.
    pub(super) fn memory_of(&self, devices: &[u32]) -> Memory {
        let mut memory = Memory::new(self);
        if self.memory.is_some() {
            for unit in self.instance.units().ids() {
                memory.claim(self, unit.0, devices[self.members(unit.0)[0].index()]);
            }
        }
        memory
    }

    /// Makespan, starts and finish times of a linear extension on given devices, as the network model `contention_free` has
    /// them to the last bit; send and receive ops count as part of their transfers.
    pub(super) fn exact_times(&self, devices: &[u32], order: &[u32]) -> (Time, Vec<Time>, Vec<Time>) {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        let (mut starts, mut finish) = (vec![0.0; self.ops], vec![0.0; self.ops]);
        let mut free = vec![0.0; self.devices];
        for &op in order {
            let device = DeviceId(devices[op as usize]);
            let arrivals = graph.predecessors(OpId(op)).map(|edge| {
                let from = DeviceId(devices[edge.op.index()]);
                let bytes = graph.edge_bytes(edge);
                let ends = match from == device {
                    true => 0.0,
                    false => cluster.send_time(bytes, from, device) + cluster.receive_time(bytes, from, device),
                };
                finish[edge.op.index()] + ends + cluster.transfer_time(bytes, from, device)
            });
            let start = arrivals.fold(free[device.index()], Time::max);
            let end = start + self.instance.exec_time(OpId(op), device);
            (starts[op as usize], finish[op as usize], free[device.index()]) = (start, end, end);
        }
        (free.into_iter().fold(0.0, Time::max), starts, finish)
    }
}

/// An instance in one of the two directions of time.
#[derive(Clone, Copy)]
pub(super) struct Way<'p> {
    pub(super) problem: &'p Problem<'p>,
    /// What an op waits for.
    pub(super) before: &'p Edges,
    /// What waits for an op.
    pub(super) after: &'p Edges,
    /// Links from a fixed device, which sends.
    pub(super) from: &'p Links,
    /// Links to a fixed device, which receives.
    pub(super) to: &'p Links,
}

impl Way<'_> {
    /// The other direction.
    pub(super) fn reversed(self) -> Self {
        Self { before: self.after, after: self.before, from: self.to, to: self.from, ..self }
    }

    /// When each op finishes if every device executes its ops in the order given, a linear extension in this direction.
    /// Returns the makespan.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub(super) fn finish_times(self, devices: &[u32], order: impl Iterator<Item = u32>, finish: &mut [Time]) -> Time {
        let mut free = vec![0.0; self.problem.devices];
        for op in order {
            let op = op as usize;
            let device = devices[op];
            let mut start: Time = free[device as usize];
            for &(before, bytes) in self.before.of(op) {
                let arrival = finish[before as usize] + self.from.time(devices[before as usize], device, bytes);
                start = if arrival > start { arrival } else { start };
            }
            finish[op] = start + self.problem.exec(op, device);
            free[device as usize] = finish[op];
        }
        free.into_iter().fold(0.0, Time::max)
    }
}

/// What is claimed of each device's memory (L §4.1), where any is limited.
#[derive(Clone)]
pub(super) struct Memory {
    used: Vec<u64>,
}

impl Memory {
    /// What is claimed of a device.
    pub(super) fn used(&self, device: u32) -> u64 {
        self.used.get(device as usize).copied().unwrap_or(0)
    }

    /// Whether two units on two devices may change places.
    pub(super) fn can_swap(&self, problem: &Problem<'_>, (a, on_a): (u32, u32), (b, on_b): (u32, u32)) -> bool {
        let after = |device: u32, gone: u32, come: u32| {
            let used = self.used(device).saturating_sub(problem.demand(gone)).saturating_add(problem.demand(come));
            used == 0 || used < problem.limit(device)
        };
        after(on_a, a, b) && after(on_b, b, a)
    }

    /// Nothing claimed yet.
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        Self { used: if problem.memory.is_some() { vec![0; problem.devices] } else { Vec::new() } }
    }

    /// Whether a unit fits on a device beside what is there.
    #[inline]
    pub(super) fn fits(&self, problem: &Problem<'_>, unit: u32, device: u32) -> bool {
        let Some(limits) = &problem.memory else { return true };
        let (demand, limit) = (limits.units[unit as usize], limits.devices[device as usize]);
        limit == u64::MAX || demand == 0 || self.used[device as usize].saturating_add(demand) < limit
    }

    /// Puts a unit on a device.
    #[inline]
    pub(super) fn claim(&mut self, problem: &Problem<'_>, unit: u32, device: u32) {
        if let Some(used) = self.used.get_mut(device as usize) {
            *used = used.saturating_add(problem.demand(unit));
        }
    }

    /// Takes a unit off a device.
    #[inline]
    pub(super) fn release(&mut self, problem: &Problem<'_>, unit: u32, device: u32) {
        if let Some(used) = self.used.get_mut(device as usize) {
            *used = used.saturating_sub(problem.demand(unit));
        }
    }

    /// Moves a unit.
    #[inline]
    pub(super) fn shift(&mut self, problem: &Problem<'_>, unit: u32, from: u32, to: u32) {
        self.release(problem, unit, from);
        self.claim(problem, unit, to);
    }
}
