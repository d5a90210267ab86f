//! Small random instances with everything that an instance can have, and random feasible placements.

use placebench_datasets::{
    AssignmentUnits, Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec, Placement,
    TransferOverheads,
};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// What a random instance looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) ops: usize,
    pub(crate) devices: usize,
    pub(crate) send_ops: f64,
    /// Small whole numbers and zeros, so that much happens at the same instant; otherwise arbitrary numbers.
    pub(crate) whole_numbers: bool,
    pub(crate) seed: u64,
}

pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    let send_ops = prop_oneof![Just(0.0), Just(1.0), Just(3.0)];
    (1..40usize, 1..6usize, send_ops, any::<bool>(), any::<u64>())
        .prop_map(|(ops, devices, send_ops, whole_numbers, seed)| Shape { ops, devices, send_ops, whole_numbers, seed })
}

/// The same problem in other units or with other ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// All speeds and rates are multiplied by this.
    pub(crate) faster: f64,
    /// Ops are numbered at random instead of topologically.
    pub(crate) relabelled: bool,
}

pub(crate) const PLAIN: Variant = Variant { faster: 1.0, relabelled: false };

struct RandomOp {
    ops: f64,
    memory: u64,
    kinds: KindSet,
    gpu_time: Option<f64>,
    outputs: Vec<u64>,
}

/// An instance and a feasible placement of it.
pub(crate) fn instance(shape: Shape, variant: Variant) -> (Instance, Placement) {
    let mut rng = Pcg64::seed_from_u64(shape.seed);
    let n = shape.ops;
    let number = |rng: &mut Pcg64, most: u32| match shape.whole_numbers {
        true => f64::from(rng.random_range(0..=most)),
        false => rng.random_range(0.0..f64::from(most)),
    };
    let kinds = [KindSet::ALL, KindSet::ALL, KindSet::only(Kind::Cpu), KindSet::only(Kind::Gpu)];
    let ops: Vec<RandomOp> = (0..n)
        .map(|_| RandomOp {
            ops: number(&mut rng, 6),
            memory: rng.random_range(0..20),
            kinds: kinds[rng.random_range(0..kinds.len())],
            gpu_time: rng.random_bool(0.2).then(|| number(&mut rng, 4)),
            outputs: (0..rng.random_range(0..=3)).map(|_| rng.random_range(0..12)).collect(),
        })
        .collect();
    // Producer, port or control, consumer, in topological numbering; parallel edges happen.
    let mut edges: Vec<(usize, Option<usize>, usize)> = Vec::new();
    for consumer in 1..n {
        for _ in 0..rng.random_range(0..=3) {
            let producer = rng.random_range(consumer.saturating_sub(12)..consumer);
            let ports = ops[producer].outputs.len();
            let port = (ports > 0 && rng.random_bool(0.85)).then(|| rng.random_range(0..ports));
            edges.push((producer, port, consumer));
        }
    }
    let colocated: Vec<(usize, usize)> =
        (0..n / 8).map(|_| (rng.random_range(0..n), rng.random_range(0..n))).filter(|(a, b)| a < b).collect();
    let devices: Vec<Device> = (0..shape.devices.max(2))
        .map(|device| Device {
            name: format!("d{device}"),
            kind: if device % 2 == 0 { Kind::Cpu } else { Kind::Gpu },
            memory_bytes: None,
            speed: variant.faster * f64::from(rng.random_range(1..=4)),
        })
        .collect();
    let latency = if rng.random_bool(0.5) { f64::from(rng.random_range(0..3)) } else { 0.0 };
    let count = devices.len();
    let links: Vec<Link> = (0..count * count)
        .map(|_| Link {
            rate: match rng.random_range(0..10) {
                0 => f64::INFINITY,
                _ => variant.faster * f64::from(rng.random_range(1..=4)),
            },
            latency: latency / variant.faster,
        })
        .collect();
    let choices: Vec<u32> = (0..n).map(|_| rng.random()).collect();
    let limits: Vec<Option<u64>> = (0..count).map(|_| rng.random_bool(0.7).then(|| rng.random_range(1..5))).collect();

    let mut label: Vec<usize> = (0..n).collect();
    if variant.relabelled {
        label.shuffle(&mut rng);
    }
    let mut topological_of = vec![0; n];
    for (topological, &label) in label.iter().enumerate() {
        topological_of[label] = topological;
    }
    let mut builder = GraphBuilder::default();
    for &topological in &topological_of {
        let op = &ops[topological];
        let spec = OpSpec {
            ops: op.ops,
            memory_bytes: op.memory,
            kinds: op.kinds,
            times: [None, op.gpu_time.map(|time| time / variant.faster), None],
            ..OpSpec::default()
        };
        builder.add_op(spec, &op.outputs);
    }
    let id = |op: usize| OpId::new(label[op]);
    for &(producer, port, consumer) in &edges {
        match port {
            Some(port) => builder.add_edge(id(producer), port, id(consumer)).unwrap(),
            None => builder.add_control_edge(id(producer), id(consumer)).unwrap(),
        }
    }
    for &(a, b) in &colocated {
        // Kinds within a group must not contradict.
        if ops[a].kinds == KindSet::ALL && ops[b].kinds == KindSet::ALL {
            builder.colocate(id(a), id(b)).unwrap();
        }
    }
    let graph = builder.build().unwrap();

    // Each unit goes to one of the devices allowed to it, by the draw of its topologically first member.
    let units = AssignmentUnits::new(&graph);
    let mut device_of = vec![DeviceId(0); n];
    let mut demands = vec![0u64; count];
    for unit in units.ids() {
        let allowed: Vec<usize> =
            (0..count).filter(|&device| units.kinds(unit).contains(devices[device].kind)).collect();
        let first = units.members(unit).iter().map(|op| topological_of[op.index()]).min().unwrap();
        let device = allowed[choices[first] as usize % allowed.len()];
        demands[device] += units.demand_bytes(unit);
        for op in units.members(unit) {
            device_of[op.index()] = DeviceId::new(device);
        }
    }
    let devices = devices
        .into_iter()
        .enumerate()
        .map(|(index, device)| Device { memory_bytes: limits[index].map(|spare| demands[index] + spare), ..device })
        .collect();
    let cluster = Cluster::new(devices, |from, to| links[from.index() * count + to.index()]).unwrap();
    let cluster = cluster.with_send_ops(shape.send_ops).unwrap();
    // Half of the clusters have overheads; drawn apart, so that the rest does not depend on them.
    let mut rng = Pcg64::seed_from_u64(!shape.seed);
    let most = if rng.random() { number(&mut rng, 2) } else { 0.0 };
    let overheads: Vec<f64> = (0..count).map(|_| number(&mut rng, 2).min(most) / variant.faster).collect();
    let cluster = cluster.with_op_overheads(|device| overheads[device.index()]).unwrap();
    // A third has sends and receives that take time, some of them none or none but for their bytes.
    let sparse = rng.random_range(0..3u32);
    let mut overhead = || {
        let value = |rng: &mut Pcg64, most: u32| match sparse > 0 || rng.random_range(0..3) == 0 {
            true => 0.0,
            false => number(rng, most) / variant.faster,
        };
        let per_byte = |rng: &mut Pcg64| value(rng, 4) / 4.0;
        TransferOverheads {
            send: value(&mut rng, 3),
            send_per_byte: per_byte(&mut rng),
            receive: value(&mut rng, 3),
            receive_per_byte: per_byte(&mut rng),
        }
    };
    let pair_overheads: Vec<TransferOverheads> = (0..count * count).map(|_| overhead()).collect();
    let of_pair = |from: DeviceId, to: DeviceId| pair_overheads[from.index() * count + to.index()];
    let cluster = cluster.with_transfer_overheads(of_pair).unwrap();
    let instance = Instance::new(graph, cluster).unwrap();
    let placement = Placement::new(device_of);
    placement.check(&instance).unwrap();
    (instance, placement)
}
