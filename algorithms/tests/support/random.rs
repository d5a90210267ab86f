//! Small random instances with everything that is legal: several outputs, parallel and control edges, ids that are no
//! topological order, kinds, groups, layers, memory limits, measured times, classes and rooflines of devices, latencies,
//! overheads, costs of nothing, and many ties.

use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec, Roofline,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// How large random instances are and what they contain.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub ops: usize,
    pub devices: usize,
    pub edges: usize,
    pub memory: bool,
    /// Costs and sizes are small integers, rates powers of two, and nothing has latency: every sum is exact, so that a
    /// literal implementation may add in another order.
    pub exact: bool,
}

impl Limits {
    /// Exact instances of at most `ops` ops.
    pub fn exact(ops: usize) -> Self {
        Self { ops, devices: 4, edges: 3 * ops, memory: true, exact: true }
    }
}

/// The classes of devices with measured times.
const CLASSES: [&str; 4] = ["cpu", "gpu", "tpu", "old_cpu"];

const LAYERS: [&str; 3] = ["embedding", "lstm", "softmax"];

#[derive(Clone, Debug)]
struct RawOp {
    cost: f64,
    memory: u64,
    kinds: u8,
    times: [Option<f64>; 4],
    outputs: [u64; 2],
    layer: Option<usize>,
    id_key: u32,
}

#[derive(Clone, Debug)]
struct RawDevice {
    kind: Kind,
    speed: f64,
    memory: Option<u64>,
    op_overhead: f64,
    /// Of a class of its own, if it is a CPU.
    is_old: bool,
    has_roofline: bool,
}

fn raw_op(exact: bool) -> impl Strategy<Value = RawOp> {
    let odd = if exact { [4.0, 5.0, 6.0] } else { [0.1, 7.5, 30.0] };
    let cost = select([&[0.0, 0.0, 1.0, 1.0, 2.0, 3.0], &odd[..]].concat());
    let kinds = prop_oneof![6 => Just(0b111u8), 1 => Just(0b001), 1 => Just(0b011), 1 => Just(0b101), 1 => Just(0b010)];
    let time = || prop_oneof![6 => Just(None), 1 => select(vec![0.0, 0.5, 2.0, 5.0]).prop_map(Some)];
    let size = || select(vec![0u64, 1, 5, 10, 33]);
    let layer = proptest::option::weighted(0.7, 0..LAYERS.len());
    (cost, 0..12u64, kinds, [time(), time(), time(), time()], [size(), size()], layer, any::<u32>()).prop_map(
        |(cost, memory, kinds, times, outputs, layer, id_key)| RawOp {
            cost,
            memory,
            kinds,
            times,
            outputs,
            layer,
            id_key,
        },
    )
}

fn raw_device(memory: bool) -> impl Strategy<Value = RawDevice> {
    let kind = select(vec![Kind::Cpu, Kind::Cpu, Kind::Gpu, Kind::Tpu]);
    let limit = match memory {
        true => prop_oneof![1 => Just(None), 2 => (20..300u64).prop_map(Some)].boxed(),
        false => Just(None).boxed(),
    };
    let op_overhead = select(vec![0.0, 0.0, 0.0, 0.5, 2.0]);
    let nature = (proptest::bool::weighted(0.2), proptest::bool::weighted(0.1));
    (kind, select(vec![1.0, 1.0, 2.0, 3.0, 7.0]), limit, op_overhead, nature).prop_map(
        |(kind, speed, memory, op_overhead, (is_old, has_roofline))| RawDevice {
            kind,
            speed,
            memory,
            op_overhead,
            is_old,
            has_roofline,
        },
    )
}

/// Random instances; those that no placement can satisfy because of kinds are left out.
pub fn instances(limits: Limits) -> impl Strategy<Value = Instance> {
    let (rates, latency) = if limits.exact { ([1.0, 2.0, 8.0], 0.0) } else { ([1.0, 3.0, 10.0], 0.5) };
    let links = prop_oneof![
        1 => vec((select(rates.to_vec()), select(vec![0.0, 0.0, latency])), limits.devices * limits.devices),
        1 => Just(vec![(2.0, 0.0); limits.devices * limits.devices]),
    ];
    (
        vec(raw_op(limits.exact), 1..=limits.ops),
        vec((any::<u32>(), any::<u32>(), 0..7u8), 0..=limits.edges),
        prop_oneof![2 => Just(vec![]), 1 => vec((any::<u32>(), any::<u32>()), 0..=1 + limits.ops / 8)],
        vec(raw_device(limits.memory), 1..=limits.devices),
        links,
        prop_oneof![4 => Just(false), 1 => Just(true)],
    )
        .prop_filter_map("some op can run nowhere", |(ops, edges, groups, devices, links, equal)| {
            build(ops, &edges, &groups, &devices, &links, equal)
        })
}

fn build(
    mut ops: Vec<RawOp>,
    edges: &[(u32, u32, u8)],
    groups: &[(u32, u32)],
    devices: &[RawDevice],
    links: &[(f64, f64)],
    equal: bool,
) -> Option<Instance> {
    if equal {
        let first = ops[0].clone();
        ops.iter_mut().for_each(|op| (op.cost, op.outputs, op.times) = (first.cost, first.outputs, first.times));
    }
    let n = ops.len() as u32;
    // Position in a topological order → id.
    let mut positions: Vec<u32> = (0..n).collect();
    positions.sort_by_key(|&position| ops[position as usize].id_key);
    let mut builder = GraphBuilder::default();
    for op in &ops {
        let kinds = KindSet::from_bits(op.kinds)?;
        let layer = op.layer.map(|layer| LAYERS[layer]);
        let times: Vec<_> =
            CLASSES.into_iter().zip(op.times).filter_map(|(class, time)| Some((class, time?))).collect();
        let op_type = Some(if op.memory % 2 == 0 { "MatMul" } else { "Add" });
        let bytes_moved = Some(2.0 * op.memory as f64);
        let spec = OpSpec {
            kinds,
            times: &times,
            memory_bytes: op.memory,
            bytes_moved,
            op_type,
            layer,
            ..OpSpec::cost(op.cost)
        };
        builder.add_op(spec, &op.outputs);
    }
    for &(a, b, port) in edges {
        let (a, b) = ((a % n).min(b % n), (a % n).max(b % n));
        if a != b {
            let (source, target) = (OpId(positions[a as usize]), OpId(positions[b as usize]));
            match port {
                6 => builder.add_control_edge(source, target).ok()?,
                _ => builder.add_edge(source, usize::from(port == 5), target).ok()?,
            }
        }
    }
    for &(a, b) in groups {
        builder.colocate(OpId(a % n), OpId(b % n)).ok()?;
    }
    let described = devices
        .iter()
        .enumerate()
        .map(|(id, device)| Device {
            name: format!("d{id}"),
            kind: device.kind,
            memory_bytes: device.memory,
            speed: device.speed,
        })
        .collect();
    let cluster = Cluster::new(described, |from, to| {
        let (rate, latency) = links[from.index() * devices.len() + to.index()];
        Link { rate, latency }
    });
    let cluster = cluster.ok()?.with_op_overheads(|device| devices[device.index()].op_overhead);
    let class = |id: DeviceId| match &devices[id.index()] {
        device if device.is_old && device.kind == Kind::Cpu => "old_cpu",
        device => device.kind.class(),
    };
    let limits = Roofline { matrix_speed: Some(8.0), memory_bandwidth: Some(4.0) };
    let roofline = |id: DeviceId| if devices[id.index()].has_roofline { limits } else { Roofline::NONE };
    let cluster = cluster.ok()?.with_classes(class).ok()?.with_rooflines(roofline).ok()?;
    Instance::new(builder.build().ok()?, cluster).ok()
}
