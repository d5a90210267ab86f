//! An instance under other numbers of ops and devices: what numbers decide is no quality of an algorithm.

use crate::{
    DataflowGraph, DeviceId, GraphBuilder, GraphError, Instance, OpId, PlacedGraph, Placement, SplitMix64, TransferId,
};

/// An instance whose ops and devices have other numbers, and how to translate back.
///
/// # Example
/// ```
/// use placebench_datasets::{Cluster, GraphBuilder, Instance, Kind, Link, OpSpec, Placement, Renumbered};
///
/// let mut builder = GraphBuilder::default();
/// let ops = [3.0, 5.0, 7.0].map(|cost| builder.add_op(OpSpec::cost(cost), &[8]));
/// builder.add_edge(ops[0], 0, ops[2])?;
/// let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 })?;
/// let given = Instance::new(builder.build()?, cluster)?;
/// let renumbered = Renumbered::draw(&given, 1);
/// // Everything on the first device of the renumbered instance is everything on one device of the given one.
/// let found = renumbered.instance().graph().op_ids().map(|_| placebench_datasets::DeviceId(0)).collect();
/// let placement = renumbered.given_placement(&Placement::new(found));
/// assert!(placement.check(&given).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Renumbered {
    instance: Instance,
    /// The given number of each op.
    ops: Vec<OpId>,
    /// The given number of each device.
    devices: Vec<DeviceId>,
}

impl Renumbered {
    /// An instance under numbers drawn from a seed, any order of ops and of devices as likely as any other. Names stay
    /// with their ops and devices; nothing that an algorithm may look at but the numbers changes.
    ///
    /// # Complexity
    /// O(ops + edges · log degree + devices²).
    pub fn draw(given: &Instance, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let ops: Vec<OpId> = order(given.graph().op_count(), &mut random).into_iter().map(OpId::new).collect();
        let devices: Vec<DeviceId> =
            order(given.cluster().device_count(), &mut random).into_iter().map(DeviceId::new).collect();
        let graph = renumbered_graph(given.graph(), &ops).expect("a graph stays valid under other numbers");
        Self { instance: given.renumbered(graph, &devices), ops, devices }
    }

    /// The instance under the drawn numbers.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The given number of an op.
    pub fn given_op(&self, op: OpId) -> OpId {
        self.ops[op.index()]
    }

    /// The given number of a device.
    pub fn given_device(&self, device: DeviceId) -> DeviceId {
        self.devices[device.index()]
    }

    /// Values of ops in the order of the given numbers, from those in the order of the drawn numbers.
    ///
    /// # Panics
    /// If there are not as many as ops.
    pub fn given_order<T: Copy>(&self, values: &[T]) -> Vec<T> {
        assert_eq!(values.len(), self.ops.len(), "a value for each op");
        let mut given = values.to_vec();
        self.ops.iter().zip(values).for_each(|(op, &value)| given[op.index()] = value);
        given
    }

    /// A placement of the drawn numbers in the given ones.
    ///
    /// # Panics
    /// If it has not one device for each op, or names one that does not exist. [`Placement::check`] finds that.
    pub fn given_placement(&self, placement: &Placement) -> Placement {
        let devices: Vec<DeviceId> = placement.devices().iter().map(|&device| self.given_device(device)).collect();
        Placement::new(self.given_order(&devices))
    }

    /// For each transfer of a placement in the drawn numbers the same transfer of [its translation](Self::given_placement).
    ///
    /// # Complexity
    /// O(transfers · destinations of an op).
    pub fn given_transfers(&self, drawn: &PlacedGraph<'_>, given: &PlacedGraph<'_>) -> Vec<TransferId> {
        let (drawn_graph, given_graph) = (self.instance.graph(), given.instance().graph());
        let of = |id: TransferId| {
            let transfer = drawn.transfer(id);
            let source = self.given_op(transfer.source);
            let tensor = transfer.tensor.and_then(|tensor| given_graph.output(source, drawn_graph.port(tensor)));
            let to = self.given_device(transfer.to);
            let same = |&id: &TransferId| {
                let other = given.transfer(id);
                (other.tensor, other.to) == (tensor, to)
            };
            given.transfers_of(source).find(same).unwrap_or(TransferId(u32::MAX))
        };
        drawn.transfer_ids().map(of).collect()
    }
}

/// The numbers below `count` in a random order (Fisher, Yates).
fn order(count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

/// The graph whose first op is the one that was `ops[0]`.
fn renumbered_graph(graph: &DataflowGraph, ops: &[OpId]) -> Result<DataflowGraph, GraphError> {
    let mut new = vec![OpId(0); ops.len()];
    ops.iter().enumerate().for_each(|(at, old)| new[old.index()] = OpId::new(at));
    let new = |old: OpId| new[old.index()];
    let mut builder = GraphBuilder::default();
    let (mut outputs, mut times) = (Vec::new(), Vec::new());
    for &op in ops {
        outputs.clear();
        outputs.extend(graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)));
        builder.add_op(graph.spec(op, &mut times), &outputs);
    }
    for &op in ops {
        for edge in graph.successors(op) {
            match edge.tensor {
                Some(tensor) => builder.add_edge(new(op), graph.port(tensor), new(edge.op))?,
                None => builder.add_control_edge(new(op), new(edge.op))?,
            }
        }
    }
    for (_, members) in graph.colocation().groups() {
        for pair in members.windows(2) {
            builder.colocate(new(pair[0]), new(pair[1]))?;
        }
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::{Cluster, Device, Kind, Link, MemoryRule, TransferOverheads};

    fn instance() -> Instance {
        let device = |name: &str, kind, speed, memory_bytes| Device { name: name.into(), kind, memory_bytes, speed };
        let devices = vec![
            device("a", Kind::Cpu, 1.0, Some(1 << 40)),
            device("b", Kind::Gpu, 2.0, None),
            device("c", Kind::Gpu, 4.0, Some(1 << 41)),
        ];
        let link =
            |from: DeviceId, to: DeviceId| Link { rate: f64::from(1 + from.0 * 3 + to.0), latency: f64::from(from.0) };
        let cluster = Cluster::new(devices, link).unwrap().with_send_ops(2.0).unwrap();
        let cluster = cluster.with_op_overheads(|device| f64::from(device.0) / 8.0).unwrap();
        let overheads = |from: DeviceId, to: DeviceId| TransferOverheads {
            send: f64::from(from.0 + 2 * to.0),
            ..TransferOverheads::NONE
        };
        let cluster = cluster.with_transfer_overheads(overheads).unwrap();
        let graph = catalogue::load("convnet").unwrap().1;
        Instance::with_memory_rule(graph, cluster, MemoryRule::Peak).unwrap().with_time_unit("seconds")
    }

    /// Everything that can be asked of an op, a device or a pair of devices is what it was under the given number.
    #[test]
    fn only_the_numbers_change() {
        let given = instance();
        let drawn = Renumbered::draw(&given, 3);
        let (there, here) = (drawn.instance(), &given);
        assert_eq!((there.memory_rule(), there.time_unit()), (here.memory_rule(), here.time_unit()));
        let (new, old) = (there.graph(), here.graph());
        assert_eq!((new.op_count(), new.edge_count()), (old.op_count(), old.edge_count()));
        let group = |graph: &DataflowGraph, op: OpId| {
            let groups = graph.colocation().groups();
            let mut found = groups.filter(|(_, members)| members.contains(&op));
            found.next().map(|(_, members)| members.to_vec())
        };
        let mut moved = 0;
        for op in new.op_ids() {
            let was = drawn.given_op(op);
            moved += usize::from(op != was);
            assert_eq!((new.ops(op), new.memory_bytes(op)), (old.ops(was), old.memory_bytes(was)));
            let times = |graph: &DataflowGraph, op| -> Vec<_> {
                graph.measured_times().iter().map(|times| (times.class().to_owned(), times.of(op))).collect()
            };
            assert_eq!((new.kinds(op), times(new, op)), (old.kinds(was), times(old, was)));
            assert_eq!((new.name(op), new.demand_bytes(op)), (old.name(was), old.demand_bytes(was)));
            let edges = |graph: &DataflowGraph, op: OpId, name: &dyn Fn(OpId) -> OpId| {
                let edge =
                    |edge: crate::Edge| (name(edge.op), edge.tensor.map(|t| (graph.port(t), graph.tensor_bytes(t))));
                let mut edges: Vec<_> = graph.successors(op).map(edge).collect();
                edges.sort_unstable();
                edges
            };
            assert_eq!(edges(new, op, &|op| drawn.given_op(op)), edges(old, was, &|op| op));
            let mates = group(new, op).map(|members| {
                let mut members: Vec<OpId> = members.into_iter().map(|op| drawn.given_op(op)).collect();
                members.sort_unstable();
                members
            });
            assert_eq!(mates, group(old, was));
            for device in there.cluster().device_ids() {
                assert_eq!(there.exec_time(op, device), here.exec_time(was, drawn.given_device(device)));
            }
        }
        assert!(moved > new.op_count() / 2);
        for from in there.cluster().device_ids() {
            assert_eq!(there.peak_limit(from), here.peak_limit(drawn.given_device(from)));
            assert_eq!(there.cluster().device(from), here.cluster().device(drawn.given_device(from)));
            for to in there.cluster().device_ids() {
                let pair = (drawn.given_device(from), drawn.given_device(to));
                assert_eq!(there.cluster().link(from, to), here.cluster().link(pair.0, pair.1));
                let overheads = |cluster: &Cluster, (from, to)| cluster.transfer_overheads(from, to);
                assert_eq!(overheads(there.cluster(), (from, to)), overheads(here.cluster(), pair));
                assert_eq!(
                    there.cluster().shared_links().route(from, to),
                    here.cluster().shared_links().route(pair.0, pair.1)
                );
            }
        }
    }

    #[test]
    fn placements_and_transfers_are_translated_back() {
        let given = instance();
        let drawn = Renumbered::draw(&given, 5);
        let devices = (0..given.graph().op_count()).map(|op| DeviceId(op as u32 % 3)).collect();
        let there = Placement::new(devices);
        let here = drawn.given_placement(&there);
        for op in drawn.instance().graph().op_ids() {
            assert_eq!(here.device_of(drawn.given_op(op)), drawn.given_device(there.device_of(op)));
        }
        let (a, b) = (PlacedGraph::new(drawn.instance(), &there), PlacedGraph::new(&given, &here));
        let ids = drawn.given_transfers(&a, &b);
        let mut seen: Vec<TransferId> = ids.clone();
        seen.sort_unstable();
        assert_eq!(seen, b.transfer_ids().collect::<Vec<_>>(), "each transfer once");
        for (id, other) in a.transfer_ids().zip(ids) {
            let (a, b) = (a.transfer(id), b.transfer(other));
            assert_eq!((drawn.given_op(a.source), a.bytes, a.time), (b.source, b.bytes, b.time));
            assert_eq!((drawn.given_device(a.from), drawn.given_device(a.to)), (b.from, b.to));
        }
        assert_eq!(a.traffic_bytes(), b.traffic_bytes());
    }

    #[test]
    fn every_order_is_as_likely_as_any_other() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            *counts.entry(order(3, &mut SplitMix64::new(seed))).or_insert(0) += 1;
        }
        // 1000 each; four standard deviations are 115.
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|&count| (885..1115).contains(&count)), "{counts:?}");
        assert!(order(0, &mut SplitMix64::new(0)).is_empty());
    }
}
