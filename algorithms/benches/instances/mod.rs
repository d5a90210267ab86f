//! Instances that the benchmarks share: leveled graphs with L's costs (L Table 7.2), on clusters with L's speeds and rates.

#![allow(dead_code, unreachable_pub, reason = "each benchmark uses its own part")]

use placebench_datasets::{
    BackwardParts, Cluster, Colocation, DataflowGraph, Device, GraphBuilder, Instance, Kind, KindSet, Link, OpId,
    OpSpec,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Shape of a leveled graph.
#[derive(Clone, Copy, Debug)]
pub struct Leveled {
    pub levels: usize,
    pub width: usize,
    /// Whether each op has a parent in the level before.
    pub connected: bool,
    /// Further parents, on average, from the five levels before.
    pub further_parents: f64,
}

impl Leveled {
    /// 36,300 ops with about 16,000 edges, most of them without a parent: the shape of L's graph 1.
    pub const LAICH_1: Self = Self { levels: 300, width: 121, connected: false, further_parents: 0.44 };

    pub fn connected(ops: usize, levels: usize) -> Self {
        Self { levels, width: ops / levels, connected: true, further_parents: 3.5 }
    }

    /// The graph, with operations and sizes U[1, 100].
    pub fn graph(self, seed: u64) -> DataflowGraph {
        let mut random = Pcg64::seed_from_u64(seed);
        let n = self.levels * self.width;
        let mut parts = BackwardParts {
            ops: (0..n).map(|_| f64::from(random.random_range(1..=100u32))).collect(),
            memory_bytes: vec![0; n],
            kinds: vec![KindSet::ALL; n],
            tensor_bytes: (0..n).map(|_| random.random_range(1..=100)).collect(),
            in_offsets: vec![0],
            in_sources: Vec::new(),
            colocation: Colocation::default(),
        };
        let mut parents = Vec::new();
        for op in 0..n {
            let level_start = op / self.width * self.width;
            parents.clear();
            if level_start > 0 {
                if self.connected {
                    parents.push(random.random_range(level_start - self.width..level_start));
                }
                let most = (2.0 * self.further_parents).ceil();
                for _ in 0..most as usize {
                    if random.random_bool(self.further_parents / most) {
                        parents.push(random.random_range(level_start.saturating_sub(5 * self.width)..level_start));
                    }
                }
                parents.sort_unstable();
                parents.dedup();
            }
            parts.in_sources.extend(parents.iter().map(|&parent| OpId::new(parent)));
            parts.in_offsets.push(parts.in_sources.len() as u32);
        }
        DataflowGraph::from_backward(parts).expect("the columns fit together")
    }

    /// The graph on a heterogeneous cluster.
    pub fn instance(self, devices: usize, seed: u64) -> Instance {
        Instance::new(self.graph(seed), cluster(devices, seed)).expect("every op may run on a CPU")
    }
}

/// Ops that all lead to the last one.
pub fn join(ops: usize, devices: usize, seed: u64) -> Instance {
    let mut builder = GraphBuilder::default();
    let ids: Vec<OpId> = (0..ops).map(|op| builder.add_op(OpSpec::cost((1 + op % 7) as f64), &[8])).collect();
    let (last, others) = ids.split_last().expect("at least one op");
    others.iter().for_each(|&op| builder.add_edge(op, 0, *last).expect("both ops exist"));
    Instance::new(builder.build().expect("a join"), cluster(devices, seed)).expect("every op may run on a CPU")
}

/// A comb of gaps that are all too short: a chain that alternates between the only CPU and the only GPU, and as many
/// times `per_tooth` ops for the CPU, placed after the chain, each longer than any gap that the chain leaves there.
pub fn comb(teeth: usize, per_tooth: usize) -> Instance {
    let (cpu, gpu) = (KindSet::only(Kind::Cpu), KindSet::only(Kind::Gpu));
    let mut builder = GraphBuilder::default();
    for link in 0..2 * teeth {
        let kinds = if link % 2 == 0 { cpu } else { gpu };
        let op = builder.add_op(OpSpec { kinds, ..OpSpec::cost(1.0) }, &[1]);
        if link > 0 {
            builder.add_edge(OpId(op.0 - 1), 0, op).expect("both ops exist");
        }
    }
    for _ in 0..teeth * per_tooth {
        builder.add_op(OpSpec { kinds: cpu, ..OpSpec::cost(3.1) }, &[]);
    }
    let device = |kind: Kind| Device { name: kind.to_string(), kind, memory_bytes: None, speed: 1.0 };
    let cluster = Cluster::new(vec![device(Kind::Cpu), device(Kind::Gpu)], |_, _| Link { rate: 1.0, latency: 0.0 });
    Instance::new(builder.build().expect("a chain"), cluster.expect("two devices")).expect("both kinds exist")
}

/// Speeds U[10, 100], rates U[10, 60] for every pair.
pub fn cluster(count: usize, seed: u64) -> Cluster {
    let mut random = Pcg64::seed_from_u64(seed ^ 0x5eed);
    let devices = (0..count)
        .map(|device| Device {
            name: format!("d{device}"),
            kind: Kind::Cpu,
            memory_bytes: None,
            speed: random.random_range(10.0..100.0),
        })
        .collect();
    let rates: Vec<f64> = (0..count * count).map(|_| random.random_range(10.0..60.0)).collect();
    Cluster::new(devices, |from, to| {
        let (a, b) = (from.index().min(to.index()), from.index().max(to.index()));
        Link { rate: rates[a * count + b], latency: 0.0 }
    })
    .expect("speeds and rates are positive")
}
