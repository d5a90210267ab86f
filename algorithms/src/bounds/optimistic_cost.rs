//! The optimistic cost table of PEFT as a lower bound.

use placebench_datasets::{DeviceId, Instance, OpId, Time};

/// With at most this number of devices, each is a class of its own.
const MAX_SINGLE_CLASSES: usize = 8;

/// The least time from the start of any op to the end, if the transfers between an op and each of its successors cost
/// what they must, and each successor picks its device without regard to the others.
///
/// # Proof
/// See [`OptimisticCosts`]: some source cannot end its part earlier than this wherever it runs.
///
/// # Complexity
/// As [`OptimisticCosts::new`].
pub fn optimistic_cost(instance: &Instance) -> Time {
    let graph = instance.graph();
    let costs = OptimisticCosts::new(instance);
    let sources = graph.op_ids().filter(|&op| graph.in_degree(op) == 0);
    sources.map(|op| costs.least(op)).fold(0.0, f64::max)
}

/// For each op and class of devices, the least time from the start of the op there to the end of all that follows it.
///
/// A class is a device if the cluster has at most eight of them, else all devices of a class: O(edges · devices²) is
/// too slow for large clusters, and in a large cluster of one class nothing would be gained, since staying on the fastest
/// device is the optimum of this relaxation.
///
/// # Reference
/// H. Arabnejad, J. G. Barbosa, *List Scheduling Algorithm for Heterogeneous Systems by an Optimistic Cost Table*, IEEE
/// Transactions on Parallel and Distributed Systems 25(3), 2014, 682–694, doi:10.1109/TPDS.2013.57, Eq. 3. Their table
/// leaves out the op's own time.
///
/// # Proof
/// By induction from the sinks. If op i starts at time s on a device of class P, then every successor j runs on a device
/// of some class Q allowed to it, and starts at s + w(i, P) + c(P, Q) or later, where w and c are at most the true
/// costs: w is the least time in the class, c the least latency plus the size over the greatest rate between devices of
/// both classes, with the least overheads of sender and receiver, and nothing within a class. So what follows i ends at s + w(i, P) + max over j of min over Q of
/// (c(P, Q) + costs(j, Q)) or later. Ops of a colocation group share a device, so there Q is P.
///
/// # Deviations
/// The table of PEFT has average transfer costs, which a transfer can undercut: that would be no bound.
#[derive(Clone, Debug)]
pub struct OptimisticCosts {
    class_of: Vec<usize>,
    class_count: usize,
    /// Row-major by op; infinite where the kind is not allowed.
    costs: Vec<Time>,
}

impl OptimisticCosts {
    /// The costs for all ops.
    ///
    /// # Complexity
    /// O(edges · classes²) time and 8 bytes for each op and class, where classes are at most 8.
    pub fn new(instance: &Instance) -> Self {
        let (graph, units) = (instance.graph(), instance.units());
        let classes = Classes::new(instance);
        let count = classes.count();
        let mut costs = vec![f64::INFINITY; graph.op_count() * count];
        let mut behind: Vec<Time> = vec![0.0; count];
        for op in graph.topological_order().rev() {
            let unit = units.unit_of(op);
            behind.fill(0.0);
            for edge in graph.successors(op) {
                let row = &costs[edge.op.index() * count..][..count];
                if units.unit_of(edge.op) == unit {
                    for (behind, &cost) in behind.iter_mut().zip(row) {
                        *behind = behind.max(cost);
                    }
                } else {
                    let bytes = graph.edge_bytes(edge) as f64;
                    for (from, behind) in behind.iter_mut().enumerate() {
                        *behind = behind.max(classes.least_with_transfer(from, bytes, row));
                    }
                }
            }
            for (class, &behind) in behind.iter().enumerate() {
                let fastest = &classes.fastest[class];
                if units.kind_allows(unit, instance.cluster(), fastest[0]) {
                    let least =
                        fastest.iter().map(|&device| instance.exec_time(op, device)).fold(f64::INFINITY, f64::min);
                    costs[op.index() * count + class] = least + behind;
                }
            }
        }
        Self { class_of: classes.class_of, class_count: count, costs }
    }

    /// The least time from the start of an op on a device to the end of all that follows it; `None` if the op's unit may
    /// not run there.
    pub fn on(&self, op: OpId, device: DeviceId) -> Option<Time> {
        let cost = self.costs[op.index() * self.class_count + self.class_of[device.index()]];
        cost.is_finite().then_some(cost)
    }

    /// The least over all devices.
    pub fn least(&self, op: OpId) -> Time {
        self.costs[op.index() * self.class_count..][..self.class_count].iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Devices that are not told apart.
struct Classes {
    class_of: Vec<usize>,
    /// For each class, devices such that any op takes its least time on one of them; never none.
    fastest: Vec<Vec<DeviceId>>,
    /// Row-major by sending class: least latency with overheads, greatest rate, and least overheads of a byte; on the
    /// diagonal 0, infinite, and 0.
    links: Vec<(Time, f64, Time)>,
}

impl Classes {
    fn new(instance: &Instance) -> Self {
        let cluster = instance.cluster();
        let single = cluster.device_count() <= MAX_SINGLE_CLASSES;
        let mut class_of = Vec::with_capacity(cluster.device_count());
        let mut of_class = instance.fastest_devices();
        let mut numbers: Vec<usize> = Vec::new();
        let mut fastest: Vec<Vec<DeviceId>> = Vec::new();
        for device in cluster.device_ids() {
            let number = instance.classes().number(device);
            let class = numbers.iter().position(|&other| !single && other == number).unwrap_or_else(|| {
                numbers.push(number);
                fastest.push(if single { vec![device] } else { std::mem::take(&mut of_class[number]) });
                fastest.len() - 1
            });
            class_of.push(class);
        }
        let count = fastest.len();
        let mut links = vec![(f64::INFINITY, 0.0_f64, f64::INFINITY); count * count];
        for from in cluster.device_ids() {
            for to in cluster.device_ids() {
                let pair = &mut links[class_of[from.index()] * count + class_of[to.index()]];
                let (link, overheads) = (cluster.link(from, to), cluster.transfer_overheads(from, to));
                let constant = link.latency + (overheads.send + overheads.receive);
                let per_byte = overheads.send_per_byte + overheads.receive_per_byte;
                *pair = (pair.0.min(constant), pair.1.max(link.rate), pair.2.min(per_byte));
            }
        }
        Self { class_of, fastest, links }
    }

    fn count(&self) -> usize {
        self.fastest.len()
    }

    /// The least, over the classes of a successor, of transfer and costs there.
    fn least_with_transfer(&self, from: usize, bytes: f64, costs: &[Time]) -> Time {
        let links = &self.links[from * self.count()..][..self.count()];
        let sums = links
            .iter()
            .zip(costs)
            .map(|(&(latency, rate, per_byte), &cost)| latency + (bytes / rate + bytes * per_byte) + cost);
        sums.fold(f64::INFINITY, f64::min)
    }
}
