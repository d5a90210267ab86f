//! What makes a comparison of placers fair: what their authors assume, and the laws that no placement should break.

mod sizes;

pub use sizes::{SIZES, size};

use placebench_datasets::{Categories, DeviceId, Instance, KindSet};

/// Something that the authors of an algorithm take for granted. Where an instance breaks it, a result says little about the
/// algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assumption {
    /// Each op takes equally long on all devices that may run it.
    EqualProcessors,
    /// Every pair of devices has the same rate and latency.
    EqualLinks,
    /// Every op may run on every device.
    NoKinds,
    /// Memory is never short: each device has room for all that may run there.
    NoMemory,
    /// Transfers take no time.
    FreeTransfers,
    /// The ops form layers, one after the other, which labels name.
    Layers,
}

impl Assumption {
    /// All assumptions, in the order in which they are listed.
    pub const ALL: [Self; 6] =
        [Self::EqualProcessors, Self::EqualLinks, Self::NoKinds, Self::NoMemory, Self::FreeTransfers, Self::Layers];

    /// The word for it in lists and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::EqualProcessors => "equal_processors",
            Self::EqualLinks => "equal_links",
            Self::NoKinds => "no_kinds",
            Self::NoMemory => "no_memory",
            Self::FreeTransfers => "free_transfers",
            Self::Layers => "layers",
        }
    }

    /// What is assumed, as a sentence without its full stop.
    pub fn doc(self) -> &'static str {
        match self {
            Self::EqualProcessors => "each op takes equally long on all devices that may run it",
            Self::EqualLinks => "every pair of devices has the same rate and latency",
            Self::NoKinds => "every op may run on every device",
            Self::NoMemory => "each device has memory for all that may run there",
            Self::FreeTransfers => "transfers take no time",
            Self::Layers => "most ops have a layer label",
        }
    }

    /// Whether an instance is as assumed. Devices that no op may run on do not count.
    ///
    /// # Complexity
    /// O(ops · devices) at most for times, and O(devices²) for links.
    pub fn holds(self, instance: &Instance) -> bool {
        match self {
            Self::EqualProcessors => has_equal_processors(instance),
            Self::EqualLinks => all_pairs(instance, |from, to| {
                let link = instance.cluster().link(from, to);
                (link.rate, link.latency, instance.cluster().transfer_overheads(from, to).values())
            }),
            Self::NoKinds => {
                let (cluster, units) = (instance.cluster(), instance.units());
                let usable: KindSet =
                    usable_devices(instance).into_iter().map(|device| cluster.device(device).kind).collect();
                units.ids().all(|unit| units.kinds(unit).intersection(usable) == usable)
            }
            Self::NoMemory => has_memory(instance),
            Self::FreeTransfers => has_free_transfers(instance),
            Self::Layers => {
                let graph = instance.graph();
                let labelled =
                    |layers: &Categories| graph.op_ids().filter(|op| layers.number(op.index()).is_some()).count();
                graph.layers().is_some_and(|layers| 2 * labelled(layers) >= graph.op_count())
            }
        }
    }
}

/// The assumptions that an instance breaks, in the order given.
///
/// # Example
/// ```
/// use placebench_algorithms::fairness::{Assumption, broken_assumptions};
/// use placebench_algorithms::registry::placers;
/// use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, Link, OpSpec};
///
/// let mut builder = GraphBuilder::default();
/// builder.add_op(OpSpec::cost(100.0), &[]);
/// let device = |speed| Device { name: format!("d{speed}"), kind: Kind::Cpu, memory_bytes: None, speed };
/// let cluster = Cluster::new(vec![device(1.0), device(50.0)], |_, _| Link { rate: 1.0, latency: 0.0 })?;
/// let instance = Instance::new(builder.build()?, cluster)?;
/// let broken = |name: &str| {
///     let entry = placers().find(|entry| entry.name == name).unwrap();
///     broken_assumptions(entry.assumes, &instance)
/// };
/// assert_eq!(broken("etf"), [Assumption::EqualProcessors]);
/// assert_eq!(broken("heft"), []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn broken_assumptions(assumed: &[Assumption], instance: &Instance) -> Vec<Assumption> {
    assumed.iter().copied().filter(|assumption| !assumption.holds(instance)).collect()
}

/// A change of an instance that must not change how good a placer looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// The same devices are listed in another order.
    RelabelledDevices,
    /// The same ops are numbered otherwise.
    RelabelledOps,
    /// All costs, bytes, latencies and memories are multiplied by the same factor: all times are, too.
    ScaledCosts,
    /// A device is added that no op may run on.
    UnusableDevice,
    /// An op is added that costs nothing and has no edges.
    IsolatedOp,
    /// Memory is doubled where none is short.
    DoubledMemory,
}

impl Law {
    /// All laws, in the order in which they are listed.
    pub const ALL: [Self; 6] = [
        Self::RelabelledDevices,
        Self::RelabelledOps,
        Self::ScaledCosts,
        Self::UnusableDevice,
        Self::IsolatedOp,
        Self::DoubledMemory,
    ];

    /// The word for it in lists and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::RelabelledDevices => "relabelled_devices",
            Self::RelabelledOps => "relabelled_ops",
            Self::ScaledCosts => "scaled_costs",
            Self::UnusableDevice => "unusable_device",
            Self::IsolatedOp => "isolated_op",
            Self::DoubledMemory => "doubled_memory",
        }
    }
}

/// A law that an algorithm does not keep, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The law.
    pub law: Law,
    /// What demands it, as a sentence without its full stop.
    pub reason: &'static str,
}

impl Exception {
    /// An exception from a law.
    pub const fn new(law: Law, reason: &'static str) -> Self {
        Self { law, reason }
    }
}

/// The devices of a kind that some op may run on, ascending; all, if there are no ops.
///
/// # Complexity
/// O(units + devices).
pub fn usable_devices(instance: &Instance) -> Vec<DeviceId> {
    let (cluster, units) = (instance.cluster(), instance.units());
    let kinds = units.ids().map(|unit| units.kinds(unit)).reduce(KindSet::union).unwrap_or(KindSet::ALL);
    cluster.device_ids().filter(|&device| kinds.contains(cluster.device(device).kind)).collect()
}

fn has_equal_processors(instance: &Instance) -> bool {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    // One device of each sort.
    let mut sorts: Vec<DeviceId> = Vec::new();
    for device in cluster.device_ids() {
        if !sorts.iter().any(|&other| instance.runs_alike(other, device)) {
            sorts.push(device);
        }
    }
    graph.op_ids().all(|op| {
        let allowed = sorts.iter().filter(|&&device| units.kind_allows(units.unit_of(op), cluster, device));
        let mut times = allowed.map(|&device| instance.exec_time(op, device));
        times.next().is_none_or(|first| times.all(|time| time == first))
    })
}

/// Whether a property is the same for all ordered pairs of different devices that ops may run on.
fn all_pairs<T: PartialEq>(instance: &Instance, property: impl Fn(DeviceId, DeviceId) -> T) -> bool {
    let devices = usable_devices(instance);
    let pairs = devices.iter().flat_map(|&from| devices.iter().map(move |&to| (from, to))).filter(|(a, b)| a != b);
    let mut properties = pairs.map(|(from, to)| property(from, to));
    properties.next().is_none_or(|first| properties.all(|other| other == first))
}

fn has_memory(instance: &Instance) -> bool {
    let (cluster, units) = (instance.cluster(), instance.units());
    let mut demands = [0u64; 3];
    for unit in units.ids() {
        for kind in units.kinds(unit).iter() {
            let demand = &mut demands[kind.index()];
            *demand = demand.saturating_add(units.demand_bytes(unit));
        }
    }
    cluster.devices().iter().all(|device| {
        let demand = demands[device.kind.index()];
        demand == 0 || device.memory_bytes.is_none_or(|memory| demand < memory)
    })
}

fn has_free_transfers(instance: &Instance) -> bool {
    let (graph, cluster) = (instance.graph(), instance.cluster());
    let most = graph.edges().map(|(_, edge)| graph.edge_bytes(edge)).max();
    let Some(most) = most else { return true };
    let devices = usable_devices(instance);
    devices.iter().all(|&from| devices.iter().all(|&to| cluster.communication_time(most, from, to) == 0.0))
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, Device, GraphBuilder, Kind, Link, OpId, OpSpec};

    use super::*;

    /// Two ops of 8 bytes with an edge of 4 bytes, of those kinds, on devices of kind, speed and memory.
    fn instance(kinds: [KindSet; 2], times: &[(&str, f64)], devices: &[(Kind, f64, Option<u64>)]) -> Instance {
        let mut builder = GraphBuilder::default();
        for (op, kinds) in kinds.into_iter().enumerate() {
            let layer = (op == 0).then_some("first");
            builder.add_op(OpSpec { kinds, times, memory_bytes: 8, layer, ..OpSpec::cost(6.0) }, &[4]);
        }
        builder.add_edge(OpId(0), 0, OpId(1)).unwrap();
        let device = |&(kind, speed, memory_bytes): &(Kind, f64, Option<u64>)| Device {
            name: String::new(),
            kind,
            memory_bytes,
            speed,
        };
        let devices = devices.iter().map(device).enumerate();
        let devices = devices.map(|(id, device)| Device { name: format!("d{id}"), ..device }).collect();
        // Links from the third device on are slower.
        let link = |from: DeviceId, to: DeviceId| Link {
            rate: if from.index().max(to.index()) > 1 { 1.0 } else { 2.0 },
            latency: 0.0,
        };
        Instance::new(builder.build().unwrap(), Cluster::new(devices, link).unwrap()).unwrap()
    }

    fn broken(kinds: [KindSet; 2], times: &[(&str, f64)], devices: &[(Kind, f64, Option<u64>)]) -> Vec<Assumption> {
        broken_assumptions(&Assumption::ALL, &instance(kinds, times, devices))
    }

    const GPU: KindSet = KindSet::only(Kind::Gpu);
    const CPU: KindSet = KindSet::only(Kind::Cpu);
    const NONE: &[(&str, f64)] = &[];

    #[test]
    fn each_assumption_is_broken_by_what_contradicts_it_alone() {
        use Assumption::{EqualLinks, EqualProcessors, FreeTransfers, NoKinds, NoMemory};
        let two = [(Kind::Cpu, 1.0, None), (Kind::Cpu, 1.0, None)];
        assert_eq!(broken([CPU; 2], NONE, &two), [FreeTransfers]);
        assert_eq!(broken([CPU; 2], NONE, &[two[0], (Kind::Cpu, 2.0, None)]), [EqualProcessors, FreeTransfers]);
        assert_eq!(broken([CPU; 2], NONE, &[two[0], two[1], two[0]]), [EqualLinks, FreeTransfers]);
        // The demand of both, inputs and outputs included, is 8 + 4 + 8 + 4 + 4 = 28, which has to stay below the memory.
        assert_eq!(broken([CPU; 2], NONE, &[two[0], (Kind::Cpu, 1.0, Some(28))]), [NoMemory, FreeTransfers]);
        assert_eq!(broken([CPU; 2], NONE, &[two[0], (Kind::Cpu, 1.0, Some(29))]), [FreeTransfers]);
        // A GPU of another speed breaks nothing for an op that may not run there, but kinds matter.
        assert_eq!(broken([CPU, GPU], NONE, &[two[0], (Kind::Gpu, 9.0, None)]), [NoKinds, FreeTransfers]);
        assert_eq!(broken([CPU; 2], NONE, &two[..1]), []);
    }

    #[test]
    fn devices_that_no_op_may_run_on_break_nothing_and_measured_times_decide_before_speeds() {
        let devices = [(Kind::Cpu, 1.0, None), (Kind::Cpu, 1.0, None), (Kind::Tpu, 9.0, Some(1))];
        assert_eq!(broken([CPU; 2], NONE, &devices), [Assumption::FreeTransfers]);
        let devices = [(Kind::Cpu, 1.0, None), (Kind::Gpu, 9.0, None)];
        let times = &[("cpu", 3.0), ("gpu", 3.0)];
        assert!(Assumption::EqualProcessors.holds(&instance([KindSet::ALL; 2], times, &devices)));
        assert!(!Assumption::EqualProcessors.holds(&instance([KindSet::ALL; 2], NONE, &devices)));
    }

    #[test]
    fn layers_are_there_if_half_of_the_ops_have_a_label() {
        let labelled = instance([CPU; 2], NONE, &[(Kind::Cpu, 1.0, None)]);
        assert!(Assumption::Layers.holds(&labelled));
        let mut builder = GraphBuilder::default();
        builder.add_op(OpSpec::cost(1.0), &[]);
        let bare = Instance::new(builder.build().unwrap(), labelled.cluster().clone()).unwrap();
        assert!(!Assumption::Layers.holds(&bare));
    }
}
