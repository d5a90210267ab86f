//! Small random instances with everything that an instance can have, and random feasible placements.

use placebench_datasets::{Device, DeviceId, Instance, Kind, KindSet, Link, Placement, TransferOverheads};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::problem::{Op, Problem};

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

/// An instance and a feasible placement of it.
pub(crate) fn instance(shape: Shape, variant: Variant) -> (Instance, Placement) {
    let mut rng = Pcg64::seed_from_u64(shape.seed);
    let n = shape.ops;
    let number = |rng: &mut Pcg64, most: u32| match shape.whole_numbers {
        true => f64::from(rng.random_range(0..=most)),
        false => rng.random_range(0.0..f64::from(most)),
    };
    let kinds = [KindSet::ALL, KindSet::ALL, KindSet::only(Kind::Cpu), KindSet::only(Kind::Gpu)];
    let ops: Vec<Op> = (0..n)
        .map(|_| Op {
            ops: number(&mut rng, 6),
            memory_bytes: rng.random_range(0..20),
            kinds: kinds[rng.random_range(0..kinds.len())],
            bytes_moved: None,
            times: match rng.random_bool(0.2) {
                true => vec![("gpu".to_owned(), number(&mut rng, 4) / variant.faster)],
                false => Vec::new(),
            },
            name: None,
            op_type: None,
            layer: None,
            outputs: (0..rng.random_range(0..=3)).map(|_| rng.random_range(0..12)).collect(),
        })
        .collect();
    // Parallel edges happen.
    let mut edges = Vec::new();
    for consumer in 1..n {
        for _ in 0..rng.random_range(0..=3) {
            let producer = rng.random_range(consumer.saturating_sub(12)..consumer);
            let ports = ops[producer].outputs.len();
            let port = (ports > 0 && rng.random_bool(0.85)).then(|| rng.random_range(0..ports));
            edges.push((producer, port, consumer));
        }
    }
    // Kinds within a group must not contradict.
    let everywhere = |op: usize| ops[op].kinds == KindSet::ALL;
    let colocated = (0..n / 8)
        .map(|_| (rng.random_range(0..n), rng.random_range(0..n)))
        .filter(|&(a, b)| a < b && everywhere(a) && everywhere(b))
        .collect();
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
    // Half of the clusters have overheads; drawn apart, so that the rest does not depend on them.
    let mut apart = Pcg64::seed_from_u64(!shape.seed);
    let most = if apart.random() { number(&mut apart, 2) } else { 0.0 };
    let op_overheads = (0..count).map(|_| number(&mut apart, 2).min(most) / variant.faster).collect();
    // A third has sends and receives that take time, some of them none or none but for their bytes.
    let sparse = apart.random_range(0..3u32);
    let mut overhead = || {
        let value = |rng: &mut Pcg64, most: u32| match sparse > 0 || rng.random_range(0..3) == 0 {
            true => 0.0,
            false => number(rng, most) / variant.faster,
        };
        let per_byte = |rng: &mut Pcg64| value(rng, 4) / 4.0;
        TransferOverheads {
            send: value(&mut apart, 3),
            send_per_byte: per_byte(&mut apart),
            receive: value(&mut apart, 3),
            receive_per_byte: per_byte(&mut apart),
        }
    };
    let transfer_overheads = (0..count * count).map(|_| overhead()).collect();
    let send_ops = shape.send_ops;
    let mut problem = Problem { ops, edges, colocated, devices, links, send_ops, op_overheads, transfer_overheads };

    // Each unit goes to one of the devices allowed to it.
    let parts = problem.instance();
    let units = parts.units();
    let mut device_of = vec![DeviceId(0); n];
    let mut demands = vec![0u64; count];
    for unit in units.ids() {
        let allowed: Vec<usize> =
            (0..count).filter(|&device| units.kinds(unit).contains(problem.devices[device].kind)).collect();
        let device = allowed[rng.random_range(0..allowed.len())];
        demands[device] += units.demand_bytes(unit);
        for op in units.members(unit) {
            device_of[op.index()] = DeviceId::new(device);
        }
    }
    for (device, demand) in problem.devices.iter_mut().zip(demands) {
        device.memory_bytes = rng.random_bool(0.7).then(|| demand + rng.random_range(1..5));
    }

    let mut order: Vec<usize> = (0..n).collect();
    if variant.relabelled {
        order.shuffle(&mut rng);
    }
    let instance = problem.with_ops(&order).instance();
    let placement = Placement::new(order.iter().map(|&op| device_of[op]).collect());
    placement.check(&instance).unwrap();
    (instance, placement)
}
