//! The work that there is, divided by the devices that can do it.

use placebench_datasets::{DeviceId, Instance, Kind, KindSet, Time};

/// Halvings of the step in the search for weights; each costs at most twelve passes over the measured ops.
const REFINEMENTS: usize = 8;

/// The largest share of the work that some set of device kinds cannot avoid.
///
/// Where costs are operations, this is the largest, over the sets S of kinds, of the operations that can run only on S
/// divided by the sum of the speeds of the devices of S. Times measured per kind make machines unrelated; the bound is
/// then that of the same proof with weights found by a search.
///
/// # Proof
/// Let each device d have a weight y(d) ≥ 0, with a sum of 1. The makespan is at least the busy time of each device, hence
/// at least their weighted mean, which is the sum over the ops of y(d) · time(op, d) for the device d of the op, hence at
/// least the sum over the ops of the least y(d) · time(op, d) over all devices allowed to the op. (This is the dual of
/// the linear program that spreads ops over devices in fractions.) Any weights will do. Those that are proportional to
/// speed on the devices of S, and 0 elsewhere, give operations over speeds, since y(d) / speed(d) is then the same for all
/// of them and ops that may run elsewhere contribute 0. What a device adds to each op counts apart: the least of a sum is at
/// least the sum of the least y(d) · operations / speed(d) and the least y(d) · overhead(d). An op and a consumer of its tensor
/// that share no kind are on two devices: the least overhead of the send is then one more task of the first, and that of the
/// receive one of the second.
///
/// # Complexity
/// O(ops · kinds + devices), with overheads of transfers O(edges + devices²) more; with measured times O(measured ops) for each of about 200 weights tried at most.
pub fn total_work(instance: &Instance) -> Time {
    let by_speed = Work::new(instance, false).largest_share();
    match Kind::ALL.iter().any(|&kind| instance.graph().has_measured_times(kind)) {
        true => by_speed.max(Work::new(instance, true).largest_share()),
        false => by_speed,
    }
}

/// What a share of the weight on each kind makes of the work.
struct Work {
    present: KindSet,
    /// For each kind, a weight that makes all its devices together do operations as fast as they can.
    speed: [f64; 3],
    /// For each kind, the least weighted overhead of a device whose weights sum to 1.
    overhead: [Time; 3],
    /// For each set of kinds, the operations of ops that may run on these and have no measured time, and their number.
    operations: [(f64, f64); 8],
    /// For each op with a measured time, and each send and receive that cannot be avoided, its weighted time on each kind;
    /// `None` where it may not run.
    measured: Vec<[Option<Time>; 3]>,
}

impl Work {
    /// The devices of a kind get weights in proportion to their speeds, or equal ones, which suits measured times, as
    /// these are the same on all of them.
    fn new(instance: &Instance, equal_weights: bool) -> Self {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let (mut count, mut sum, mut least, mut most) = ([0.0_f64; 3], [0.0_f64; 3], [f64::INFINITY; 3], [0.0_f64; 3]);
        for device in cluster.devices() {
            let kind = device.kind.index();
            count[kind] += 1.0;
            sum[kind] += device.speed;
            least[kind] = least[kind].min(device.speed);
            most[kind] = most[kind].max(device.speed);
        }
        let present: KindSet = cluster.devices().iter().map(|device| device.kind).collect();
        // Least weight over speed, and least weight, on the devices of a kind whose weights sum to 1.
        let speed = std::array::from_fn(|kind| if equal_weights { count[kind] * most[kind] } else { sum[kind] });
        let least_weight = |kind: usize| if equal_weights { 1.0 / count[kind] } else { least[kind] / sum[kind] };
        let mut overhead = [f64::INFINITY; 3];
        for (device, added) in cluster.devices().iter().zip(cluster.op_overheads()) {
            let kind = device.kind.index();
            let weight = if equal_weights { 1.0 / count[kind] } else { device.speed / sum[kind] };
            overhead[kind] = overhead[kind].min(weight * added);
        }
        let mut work = Self { present, speed, overhead, operations: [(0.0, 0.0); 8], measured: Vec::new() };
        for op in graph.op_ids() {
            let kinds = units.kinds(units.unit_of(op)).intersection(present);
            if kinds.iter().all(|kind| graph.measured_time(op, kind).is_none()) {
                let (operations, count) = &mut work.operations[usize::from(kinds.bits())];
                (*operations, *count) = (*operations + graph.ops(op), *count + 1.0);
            } else {
                let weighted = |kind: Kind| {
                    let time = match graph.measured_time(op, kind) {
                        Some(time) => time * least_weight(kind.index()),
                        None => graph.ops(op) / work.speed[kind.index()],
                    };
                    time + work.overhead[kind.index()]
                };
                let row = Kind::ALL.map(|kind| kinds.contains(kind).then(|| weighted(kind)));
                work.measured.push(row);
            }
        }
        if cluster.has_transfer_overheads() {
            work.add_transfers(instance, least_weight);
        }
        work
    }

    /// Adds, for each tensor with a consumer that cannot be where its producer is, the send and the receive to the first such
    /// consumer.
    fn add_transfers(&mut self, instance: &Instance, least_weight: impl Fn(usize) -> f64) {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        // By kind of the sender and of the receiver: the least of send and receive, each constant and for a byte.
        let mut least = [[[f64::INFINITY; 4]; 3]; 3];
        let ends = |from: DeviceId, to: DeviceId| {
            let [send, send_per_byte, receive, receive_per_byte] = cluster.transfer_overheads(from, to).values();
            [send + cluster.send_ops_time(from), send_per_byte, receive, receive_per_byte]
        };
        for from in cluster.device_ids() {
            for to in cluster.device_ids().filter(|&to| to != from) {
                let of_kinds = &mut least[cluster.device(from).kind.index()][cluster.device(to).kind.index()];
                of_kinds.iter_mut().zip(ends(from, to)).for_each(|(least, time)| *least = least.min(time));
            }
        }
        let kinds_of = |op| units.kinds(units.unit_of(op)).intersection(self.present);
        for op in graph.op_ids() {
            let mut counted = Vec::new();
            for edge in graph.successors(op) {
                let (from, to) = (kinds_of(op), kinds_of(edge.op));
                if !from.intersection(to).is_empty() || counted.contains(&edge.tensor) {
                    continue;
                }
                counted.push(edge.tensor);
                let bytes = graph.edge_bytes(edge) as f64;
                let time = |pair: [f64; 4], end: usize| pair[end] + bytes * pair[end + 1];
                let row = |kinds: KindSet, least_to: &dyn Fn(Kind) -> Time| {
                    Kind::ALL.map(|kind| kinds.contains(kind).then(|| least_to(kind) * least_weight(kind.index())))
                };
                let send = |kind: Kind| {
                    let times = to.iter().map(|other| time(least[kind.index()][other.index()], 0));
                    times.fold(f64::INFINITY, f64::min)
                };
                let receive = |kind: Kind| {
                    let times = from.iter().map(|other| time(least[other.index()][kind.index()], 2));
                    times.fold(f64::INFINITY, f64::min)
                };
                let rows = [row(from, &send), row(to, &receive)];
                self.measured.extend(rows);
            }
        }
    }

    /// The bound that a share of the weight on each kind gives.
    fn bound(&self, shares: [f64; 3]) -> Time {
        let by_kinds = self.operations.iter().enumerate().filter(|(_, (_, count))| *count > 0.0);
        let computed = by_kinds.map(|(bits, (operations, count))| {
            let kinds = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
            let rates = kinds.iter().map(|kind| shares[kind.index()] / self.speed[kind.index()]);
            let overheads = kinds.iter().map(|kind| shares[kind.index()] * self.overhead[kind.index()]);
            operations * rates.reduce(f64::min).unwrap_or(0.0) + count * overheads.reduce(f64::min).unwrap_or(0.0)
        });
        let measured = self.measured.iter().map(|times| {
            let weighted = times.iter().zip(shares).filter_map(|(time, share)| time.map(|time| time * share));
            weighted.reduce(f64::min).unwrap_or(0.0)
        });
        computed.sum::<Time>() + measured.sum::<Time>()
    }

    /// The largest bound over shares in proportion to speed on each set of kinds; from there, if there are measured
    /// times, a search that moves shares from kind to kind.
    fn largest_share(&self) -> Time {
        let sets = (1..8).filter_map(KindSet::from_bits).filter(|set| set.intersection(self.present) == *set);
        let shares_of = |set: KindSet| {
            let total: f64 = set.iter().map(|kind| self.speed[kind.index()]).sum();
            Kind::ALL.map(|kind| if set.contains(kind) { self.speed[kind.index()] / total } else { 0.0 })
        };
        let candidates = sets.map(shares_of).map(|shares| (self.bound(shares), shares));
        let best = candidates.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let Some((mut bound, mut shares)) = best else { return 0.0 };
        if !self.measured.is_empty() {
            for refinement in 1..=REFINEMENTS {
                self.improve(&mut bound, &mut shares, 0.5_f64.powi(refinement as i32));
            }
        }
        bound
    }

    fn improve(&self, bound: &mut Time, shares: &mut [f64; 3], step: f64) {
        for _ in 0..2 {
            for from in self.present.iter() {
                for to in self.present.iter().filter(|&to| to != from) {
                    let mut moved = *shares;
                    let amount = step.min(moved[from.index()]);
                    moved[from.index()] -= amount;
                    moved[to.index()] += amount;
                    let found = self.bound(moved);
                    if found > *bound {
                        (*bound, *shares) = (found, moved);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, Device, GraphBuilder, Link, OpSpec};

    use super::*;

    fn cluster(devices: &[(Kind, f64)]) -> Cluster {
        let device = |(id, &(kind, speed)): (usize, &(Kind, f64))| Device {
            name: format!("d{id}"),
            kind,
            memory_bytes: None,
            speed,
        };
        Cluster::new(devices.iter().enumerate().map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap()
    }

    #[test]
    fn work_bound_to_a_kind_is_divided_by_the_speeds_of_that_kind_alone() {
        let mut builder = GraphBuilder::default();
        builder.add_op(OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(60.0) }, &[]);
        builder.add_op(OpSpec::cost(30.0), &[]);
        let cluster = cluster(&[(Kind::Cpu, 2.0), (Kind::Cpu, 4.0), (Kind::Gpu, 100.0)]);
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        assert_eq!(total_work(&instance), 10.0);
    }

    #[test]
    fn measured_times_are_weighted_so_that_no_kind_can_take_all() {
        // Each op takes 6 on the CPU and 3 on one of the two GPUs, whatever their speeds: together they do 1/6 + 2/3
        // ops a unit, so 10 ops take 12.
        let mut builder = GraphBuilder::default();
        for _ in 0..10 {
            builder.add_op(OpSpec { times: [Some(6.0), Some(3.0), None], ..OpSpec::cost(1e9) }, &[]);
        }
        let cluster = cluster(&[(Kind::Cpu, 1.0), (Kind::Gpu, 1.0), (Kind::Gpu, 50.0)]);
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let bound = total_work(&instance);
        assert!((11.9..=12.0 + 1e-9).contains(&bound), "{bound}");
    }
}
