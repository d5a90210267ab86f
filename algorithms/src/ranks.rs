//! Ranks that several algorithms share: upward rank, operations rank, path computation time.

use placebench_datasets::{
    DataflowGraph, DeviceId, Instance, KindSet, Link, OpId, PlacedGraph, Time, TransferOverheads,
};

use crate::fairness::usable_devices;
use crate::{Directed, Named, Params, SpecError};

/// How costs that differ between devices are averaged before any op is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// Mean over devices of op / speed, mean over ordered pairs of latency + size / rate (Topcuoglu et al. 2002).
    Time,
    /// Op / mean speed, mean latency + size / mean rate (L Eq. 4.2); about 41 % less for speeds U\[10, 100\].
    ///
    /// L's mean speed is over all devices. Here it is over those whose kind the op may use: the others say nothing about it.
    Speed,
}

impl Named for Average {
    const NAMES: &'static [(&'static str, Self)] = &[("time", Self::Time), ("speed", Self::Speed)];
}

impl Average {
    /// The parameter `average`.
    pub(crate) fn param(params: &mut Params, default: Self) -> Result<Self, SpecError> {
        let doc = "average cost of an op for the upward rank: time (mean of ops/speed) or speed (ops / mean speed, L Eq. 4.2)";
        params.word("average", default, doc)
    }
}

/// Average execution time of each op over the devices of the kinds allowed to it.
///
/// # Complexity
/// O(ops · classes + devices).
pub fn average_exec_times(instance: &Instance, average: Average) -> Vec<Time> {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    let classes = instance.classes();
    // By class: number of devices, sum of 1/speed, sum of speed, sum of overheads.
    let mut totals = vec![(0.0, 0.0, 0.0, 0.0); classes.count()];
    for id in cluster.device_ids() {
        let (total, speed) = (&mut totals[classes.number(id)], cluster.device(id).speed);
        total.0 += 1.0;
        total.1 += 1.0 / speed;
        total.2 += speed;
        total.3 += cluster.op_overhead(id);
    }
    graph
        .op_ids()
        .map(|op| {
            let (mut count, mut given, mut inverse, mut speed, mut by_speed) = (0.0, 0.0, 0.0, 0.0, 0.0);
            let mut overhead = 0.0;
            for (number, class) in classes.of_kinds(units.kinds(units.unit_of(op))) {
                let total = totals[number];
                count += total.0;
                overhead += total.3;
                match class.given_time(op) {
                    Some(time) => given += total.0 * time,
                    None => {
                        inverse += total.1;
                        speed += total.2;
                        by_speed += total.0;
                    }
                }
            }
            let computed = match average {
                Average::Time => graph.ops(op) * inverse,
                // ops / mean speed, weighted by how many devices it stands for.
                Average::Speed if by_speed > 0.0 => graph.ops(op) / (speed / by_speed) * by_speed,
                Average::Speed => 0.0,
            };
            (given + computed + overhead) / count
        })
        .collect()
}

/// Median execution time of each op over the devices of the kinds allowed to it: the mean of the two in the middle where
/// their number is even.
///
/// # Complexity
/// O(ops + devices · log devices), and O(devices · log devices) for each op with a given time, or for every op if devices
/// differ in what they add to ops.
pub fn median_exec_times(instance: &Instance) -> Vec<Time> {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    // The devices of each set of kinds, fastest first: the order of times where none is given, and all devices add
    // the same to each.
    let adds_unequally = cluster.op_overheads().windows(2).any(|pair| pair[0] != pair[1]);
    let by_speed: [Vec<DeviceId>; 8] = std::array::from_fn(|bits| {
        let set = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
        let mut devices: Vec<DeviceId> =
            cluster.device_ids().filter(|&device| set.contains(cluster.device(device).kind)).collect();
        devices.sort_by(|&a, &b| cluster.device(b).speed.total_cmp(&cluster.device(a).speed));
        devices
    });
    let mut times = Vec::with_capacity(cluster.device_count());
    graph
        .op_ids()
        .map(|op| {
            let kinds = units.kinds(units.unit_of(op));
            let devices = &by_speed[usize::from(kinds.bits())];
            let middle = [(devices.len() - 1) / 2, devices.len() / 2];
            let mut classes = instance.classes().of_kinds(kinds);
            if !adds_unequally && classes.all(|(_, class)| class.given_time(op).is_none()) {
                return middle.map(|at| instance.exec_time(op, devices[at])).iter().sum::<Time>() / 2.0;
            }
            times.clear();
            times.extend(devices.iter().map(|&device| instance.exec_time(op, device)));
            times.sort_unstable_by(Time::total_cmp);
            middle.map(|at| times[at]).iter().sum::<Time>() / 2.0
        })
        .collect()
}

/// Average cost of moving bytes between two different devices: `latency + bytes · inverse_rate`, 0 with one device. The
/// overheads of transfers at both ends are part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AverageTransfer {
    /// Mean latency and mean overheads of a transfer.
    pub latency: Time,
    /// Time for a byte, and mean overheads of a byte.
    pub inverse_rate: f64,
}

impl AverageTransfer {
    /// The averages over all ordered pairs of different devices that ops may run on.
    ///
    /// # Complexity
    /// O(units), and O(devices²) if there are devices that no op may run on.
    pub fn new(instance: &Instance, average: Average) -> Self {
        let cluster = instance.cluster();
        let usable = usable_devices(instance);
        if usable.len() == cluster.device_count() {
            let inverse_rate = match average {
                Average::Time => cluster.mean_inverse_rate(),
                Average::Speed => 1.0 / cluster.mean_rate(),
            };
            let (constant, per_byte) = cluster.mean_transfer_overheads();
            return Self { latency: cluster.mean_latency() + constant, inverse_rate: inverse_rate + per_byte };
        }
        // Added up as the cluster does it, so that a device without use changes no digit.
        let pairs = || usable.iter().flat_map(|&from| usable.iter().map(move |&to| (from, to))).filter(|(a, b)| a != b);
        let mean = |value: &dyn Fn(Link, TransferOverheads) -> f64| {
            let (sum, count) = pairs().fold((0.0, 0.0), |(sum, count), (from, to)| {
                (sum + value(cluster.link(from, to), cluster.transfer_overheads(from, to)), count + 1.0)
            });
            if count > 0.0 { Some(sum / count) } else { None }
        };
        let inverse_rate = match average {
            Average::Time => mean(&|link, _| 1.0 / link.rate).unwrap_or(0.0),
            Average::Speed => 1.0 / mean(&|link, _| link.rate).unwrap_or(f64::INFINITY),
        };
        let constant = mean(&|_, pair| pair.send + pair.receive).unwrap_or(0.0);
        let per_byte = mean(&|_, pair| pair.send_per_byte + pair.receive_per_byte).unwrap_or(0.0);
        let latency = mean(&|link, _| link.latency).unwrap_or(0.0);
        Self { latency: latency + constant, inverse_rate: inverse_rate + per_byte }
    }

    /// Transfers that cost nothing.
    pub const FREE: Self = Self { latency: 0.0, inverse_rate: 0.0 };

    /// Average time for a number of bytes.
    #[inline]
    pub fn time(&self, bytes: u64) -> Time {
        self.time_of(bytes as f64)
    }

    /// As [`AverageTransfer::time`], for a size that is a float already.
    #[inline]
    pub(crate) fn time_of(&self, bytes: f64) -> Time {
        self.latency + bytes * self.inverse_rate
    }
}

/// Upward rank (Topcuoglu et al. 2002, Eq. 5; L Eq. 4.1): average time of an op plus the longest average path behind it.
///
/// # Complexity
/// O(ops + edges).
pub fn upward_ranks(graph: &impl Directed, exec: &[Time], transfer: AverageTransfer) -> Vec<Time> {
    let mut ranks: Vec<Time> = vec![0.0; graph.op_count()];
    for op in graph.topological_order().rev() {
        let behind = graph.after(op).map(|(after, bytes)| transfer.time_of(bytes) + ranks[after.index()]);
        ranks[op.index()] = exec[op.index()] + behind.fold(0.0, f64::max);
    }
    ranks
}

/// Downward rank (Topcuoglu et al. 2002, Eq. 7): the longest average path before an op, the op itself not counted. What
/// is added along an edge is the predecessor's time and the transfer, not the op's own time.
///
/// # Complexity
/// O(ops + edges).
pub fn downward_ranks(graph: &impl Directed, exec: &[Time], transfer: AverageTransfer) -> Vec<Time> {
    let mut ranks: Vec<Time> = vec![0.0; graph.op_count()];
    for op in graph.topological_order() {
        let before = graph
            .before(op)
            .map(|(before, bytes)| ranks[before.index()] + exec[before.index()] + transfer.time_of(bytes));
        ranks[op.index()] = before.fold(0.0, f64::max);
    }
    ranks
}

/// Static level (Hwang et al. 1989; Sih, Lee 1993): the longest path from an op, itself counted and transfers not.
///
/// # Complexity
/// O(ops + edges).
pub fn static_levels(graph: &impl Directed, exec: &[Time]) -> Vec<Time> {
    upward_ranks(graph, exec, AverageTransfer::FREE)
}

/// Operations source and sink ranks of L §4.4.1: the longest path in operations that leads to an op (itself not
/// counted), and the longest from it (itself counted).
#[derive(Clone, Debug)]
pub struct OperationsRanks {
    /// L Eq. 4.3.
    pub source: Vec<f64>,
    /// L Eq. 4.4.
    pub sink: Vec<f64>,
}

impl OperationsRanks {
    /// Both ranks of every op.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub fn new(graph: &DataflowGraph) -> Self {
        let mut source: Vec<f64> = vec![0.0; graph.op_count()];
        for op in graph.topological_order() {
            source[op.index()] =
                longest(graph.predecessor_ops(op), |before| source[before.index()] + graph.ops(before));
        }
        let mut sink: Vec<f64> = vec![0.0; graph.op_count()];
        for op in graph.topological_order().rev() {
            sink[op.index()] = longest(graph.successor_ops(op), |after| sink[after.index()]) + graph.ops(op);
        }
        Self { source, sink }
    }

    /// The operations rank: the longest path through an op, in operations.
    #[inline]
    pub fn of(&self, op: OpId) -> f64 {
        self.source[op.index()] + self.sink[op.index()]
    }
}

/// Path computation time of every op where it is placed (L Eq. 5.1): its own time plus the longest of transfer and path
/// behind it. Send and receive ops, where they take time, count as part of the transfer.
///
/// # Complexity
/// O(ops + edges).
pub fn path_computation_times(placed: &PlacedGraph<'_>) -> Vec<Time> {
    let graph = placed.instance().graph();
    let mut times: Vec<Time> = vec![0.0; graph.op_count()];
    for op in graph.topological_order().rev() {
        let local = longest(placed.local_consumers(op), |after| times[after.index()]);
        let remote = placed.transfers_of(op).map(|id| {
            let behind = longest(placed.remote_consumers(id), |after| times[after.index()]);
            placed.send_time(id) + placed.transfer(id).time + (placed.receive_time(id) + behind)
        });
        times[op.index()] = placed.exec_time(op) + remote.fold(local, f64::max);
    }
    times
}

fn longest(ops: &[OpId], length: impl Fn(OpId) -> f64) -> f64 {
    ops.iter().map(|&op| length(op)).fold(0.0, f64::max)
}
