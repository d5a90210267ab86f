//! A problem in parts, to be changed, as a law of fairness says for example, and put together.

use std::sync::Arc;

use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec, TransferOverheads, catalogue,
};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) ops: f64,
    pub(crate) memory_bytes: u64,
    pub(crate) kinds: KindSet,
    pub(crate) bytes_moved: Option<f64>,
    /// By class of devices.
    pub(crate) times: Vec<(String, f64)>,
    pub(crate) name: Option<String>,
    pub(crate) op_type: Option<String>,
    pub(crate) layer: Option<String>,
    pub(crate) outputs: Vec<u64>,
}

/// The parts of an instance.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) ops: Vec<Op>,
    /// Producer, port or control, consumer.
    pub(crate) edges: Vec<(usize, Option<usize>, usize)>,
    pub(crate) colocated: Vec<(usize, usize)>,
    pub(crate) devices: Vec<Device>,
    /// Row-major by sender.
    pub(crate) links: Vec<Link>,
    pub(crate) send_ops: f64,
    /// What each device adds to each op.
    pub(crate) op_overheads: Vec<f64>,
    pub(crate) transfer_overheads: Vec<TransferOverheads>,
}

impl Problem {
    pub(crate) fn of(instance: &Instance) -> Self {
        let (graph, cluster) = (instance.graph(), instance.cluster());
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let op = |op: OpId| Op {
            ops: graph.ops(op),
            memory_bytes: graph.memory_bytes(op),
            kinds: graph.kinds(op),
            bytes_moved: graph.bytes_moved(op),
            times: graph
                .measured_times()
                .iter()
                .filter_map(|times| Some((times.class().to_owned(), times.of(op)?)))
                .collect(),
            name: owned(graph.name(op)),
            op_type: owned(graph.op_types().and_then(|types| types.get(op.index()))),
            layer: owned(graph.layers().and_then(|layers| layers.get(op.index()))),
            outputs: graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect(),
        };
        let inputs = |to: OpId| {
            let edge = move |edge: placebench_datasets::Edge| {
                (edge.op.index(), edge.tensor.map(|tensor| graph.port(tensor)), to.index())
            };
            graph.predecessors(to).map(edge)
        };
        let mates =
            |members: &[OpId]| members.windows(2).map(|pair| (pair[0].index(), pair[1].index())).collect::<Vec<_>>();
        let pairs = cluster.device_ids().flat_map(|from| cluster.device_ids().map(move |to| (from, to)));
        Self {
            ops: graph.op_ids().map(op).collect(),
            edges: graph.op_ids().flat_map(inputs).collect(),
            colocated: graph.colocation().groups().flat_map(|(_, members)| mates(members)).collect(),
            devices: cluster.devices().to_vec(),
            links: pairs.clone().map(|(from, to)| cluster.link(from, to)).collect(),
            send_ops: cluster.send_ops(),
            op_overheads: cluster.op_overheads().to_vec(),
            transfer_overheads: pairs.map(|(from, to)| cluster.transfer_overheads(from, to)).collect(),
        }
    }

    pub(crate) fn instance(&self) -> Instance {
        let mut builder = GraphBuilder::default();
        for op in &self.ops {
            let times: Vec<(&str, f64)> = op.times.iter().map(|(class, time)| (class.as_str(), *time)).collect();
            let spec = OpSpec {
                ops: op.ops,
                memory_bytes: op.memory_bytes,
                kinds: op.kinds,
                bytes_moved: op.bytes_moved,
                times: &times,
                name: op.name.as_deref(),
                op_type: op.op_type.as_deref(),
                layer: op.layer.as_deref(),
                attributes: None,
            };
            builder.add_op(spec, &op.outputs);
        }
        for &(from, port, to) in &self.edges {
            match port {
                Some(port) => builder.add_edge(OpId::new(from), port, OpId::new(to)).unwrap(),
                None => builder.add_control_edge(OpId::new(from), OpId::new(to)).unwrap(),
            }
        }
        for &(a, b) in &self.colocated {
            builder.colocate(OpId::new(a), OpId::new(b)).unwrap();
        }
        let count = self.devices.len();
        let link = |from: DeviceId, to: DeviceId| self.links[from.index() * count + to.index()];
        let cluster = Cluster::new(self.devices.clone(), link).unwrap().with_send_ops(self.send_ops).unwrap();
        let cluster = cluster.with_op_overheads(|device| self.op_overheads[device.index()]).unwrap();
        let overheads = |from: DeviceId, to: DeviceId| self.transfer_overheads[from.index() * count + to.index()];
        let cluster = cluster.with_transfer_overheads(overheads).unwrap();
        Instance::new(builder.build().unwrap(), Arc::new(cluster)).unwrap()
    }

    pub(crate) fn device_count(&self) -> usize {
        self.devices.len()
    }

    pub(crate) fn op_count(&self) -> usize {
        self.ops.len()
    }

    /// The devices in another order: the first is the one that was at `order[0]`.
    pub(crate) fn with_devices(&self, order: &[usize]) -> Self {
        let count = self.devices.len();
        let pairs = order.iter().flat_map(|&from| order.iter().map(move |&to| (from, to)));
        Self {
            devices: order.iter().map(|&device| self.devices[device].clone()).collect(),
            links: pairs.clone().map(|(from, to)| self.links[from * count + to]).collect(),
            op_overheads: order.iter().map(|&device| self.op_overheads[device]).collect(),
            transfer_overheads: pairs.map(|(from, to)| self.transfer_overheads[from * count + to]).collect(),
            ..self.clone()
        }
    }

    /// The ops numbered otherwise: the first is the one that was at `order[0]`.
    pub(crate) fn with_ops(&self, order: &[usize]) -> Self {
        let mut new = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &old)| new[old] = at);
        Self {
            ops: order.iter().map(|&op| self.ops[op].clone()).collect(),
            edges: self.edges.iter().map(|&(from, port, to)| (new[from], port, new[to])).collect(),
            colocated: self.colocated.iter().map(|&(a, b)| (new[a], new[b])).collect(),
            ..self.clone()
        }
    }

    /// All costs, bytes, latencies, overheads and memories times `factor`.
    pub(crate) fn scaled(&self, factor: u32) -> Self {
        let (time, bytes) = (f64::from(factor), u64::from(factor));
        let mut scaled = self.clone();
        for op in &mut scaled.ops {
            op.ops *= time;
            op.memory_bytes *= bytes;
            op.times.iter_mut().for_each(|(_, measured)| *measured *= time);
            op.outputs.iter_mut().for_each(|output| *output *= bytes);
        }
        scaled.links.iter_mut().for_each(|link| link.latency *= time);
        scaled.op_overheads.iter_mut().for_each(|overhead| *overhead *= time);
        for pair in &mut scaled.transfer_overheads {
            (pair.send, pair.receive) = (pair.send * time, pair.receive * time);
        }
        scaled.with_memory(bytes)
    }

    /// All memories times `factor`.
    pub(crate) fn with_memory(&self, factor: u64) -> Self {
        let mut changed = self.clone();
        for device in &mut changed.devices {
            device.memory_bytes = device.memory_bytes.map(|memory| memory * factor);
        }
        changed
    }

    /// One more device, at `at`, that no op may run on: fast, with little memory, links out of it slower than all others and
    /// links into it faster, so that neither a mean nor a maximum over all pairs stays as it is.
    pub(crate) fn with_unusable_device(&self, at: usize) -> Self {
        let count = self.devices.len();
        let used: KindSet = self.ops.iter().map(|op| op.kinds).reduce(KindSet::union).unwrap();
        assert!(!used.contains(Kind::Tpu), "TPUs are for this law");
        let mut order: Vec<usize> = (0..count).collect();
        order.insert(at, count);
        let mut devices = self.devices.clone();
        devices.push(Device { name: "unusable".into(), kind: Kind::Tpu, memory_bytes: Some(1), speed: 1e6 });
        let slow = Link { rate: 1e-3, latency: 1e4 };
        let quick = Link { rate: 1e9, latency: 0.0 };
        let costly = TransferOverheads { send: 1e3, ..TransferOverheads::NONE };
        let (mut links, mut transfer_overheads) = (Vec::new(), Vec::new());
        for from in 0..=count {
            for to in 0..=count {
                let pair = from * count + to;
                let is_new = from.max(to) == count;
                links.push(match (from == count, to == count) {
                    (true, _) => slow,
                    (false, true) => quick,
                    _ => self.links[pair],
                });
                transfer_overheads.push(match is_new {
                    true if self.transfer_overheads.iter().any(|pair| *pair != TransferOverheads::NONE) => costly,
                    true => TransferOverheads::NONE,
                    false => self.transfer_overheads[pair],
                });
            }
        }
        let op_overheads = self.op_overheads.iter().copied().chain([0.0]).collect();
        Self { devices, links, op_overheads, transfer_overheads, ..self.clone() }.with_devices(&order)
    }

    /// The same with overheads of ops and of transfers.
    pub(crate) fn with_overheads(&self, seed: u64) -> Self {
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut changed = self.clone();
        changed.op_overheads.iter_mut().for_each(|overhead| *overhead = rng.random_range(0.0..20.0));
        for pair in &mut changed.transfer_overheads {
            let constant = [0, 1].map(|_| rng.random_range(0.0..10.0));
            let per_byte = [0, 1].map(|_| rng.random_range(0.0..1e-3));
            *pair = TransferOverheads::from_values([constant[0], per_byte[0], constant[1], per_byte[1]]);
        }
        changed
    }

    /// One more op, the last, that costs nothing, may run wherever some op may, and has no edges.
    pub(crate) fn with_isolated_op(&self) -> Self {
        let kinds = self.ops.iter().map(|op| op.kinds).reduce(KindSet::union).unwrap();
        let mut changed = self.clone();
        changed.ops.push(Op {
            ops: 0.0,
            memory_bytes: 0,
            kinds,
            bytes_moved: None,
            times: Vec::new(),
            name: self.ops[0].name.as_ref().map(|_| "isolated".to_owned()),
            op_type: None,
            layer: None,
            outputs: Vec::new(),
        });
        changed
    }
}

/// A random problem in which hardly two sums are equal: two CPUs and three GPUs of different speeds with different links,
/// and memory for everything everywhere.
pub(crate) fn random(seed: u64, ops: usize) -> Problem {
    let mut rng = Pcg64::seed_from_u64(seed);
    let kind_sets = [[Kind::Cpu, Kind::Gpu].into_iter().collect(), KindSet::only(Kind::Cpu), KindSet::only(Kind::Gpu)];
    let layers = 4;
    let mut problem = Problem {
        ops: (0..ops)
            .map(|op| Op {
                ops: rng.random_range(1.0..1000.0),
                memory_bytes: rng.random_range(1..1000),
                kinds: kind_sets[[0, 0, 0, 0, 1, 2][rng.random_range(0..6)]],
                bytes_moved: None,
                times: match rng.random_bool(0.1) {
                    true => vec![("gpu".to_owned(), rng.random_range(1.0..100.0))],
                    false => Vec::new(),
                },
                name: None,
                op_type: None,
                layer: Some(format!("layer_{}", op * layers / ops)),
                outputs: (0..rng.random_range(1..=2)).map(|_| rng.random_range(1..100_000)).collect(),
            })
            .collect(),
        edges: Vec::new(),
        colocated: Vec::new(),
        devices: Vec::new(),
        links: Vec::new(),
        send_ops: 0.0,
        op_overheads: vec![0.0; 5],
        transfer_overheads: vec![TransferOverheads::NONE; 25],
    };
    for to in 1..ops {
        for _ in 0..rng.random_range(0..=3) {
            let from = rng.random_range(to.saturating_sub(10)..to);
            let port = rng.random_range(0..problem.ops[from].outputs.len());
            let control = rng.random_bool(0.1);
            problem.edges.push((from, (!control).then_some(port), to));
        }
    }
    for _ in 0..ops / 10 {
        let (a, b) = (rng.random_range(0..ops), rng.random_range(0..ops));
        if a < b && problem.ops[a].kinds == kind_sets[0] && problem.ops[b].kinds == kind_sets[0] {
            problem.colocated.push((a, b));
        }
    }
    for (id, kind) in [Kind::Cpu, Kind::Gpu, Kind::Cpu, Kind::Gpu, Kind::Gpu].into_iter().enumerate() {
        let fastest = if kind == Kind::Cpu { 4.0 } else { 20.0 };
        let speed = rng.random_range(1.0..fastest);
        problem.devices.push(Device { name: format!("d{id}"), kind, memory_bytes: Some(1 << 30), speed });
    }
    let pairs = problem.devices.len() * problem.devices.len();
    problem.links = (0..pairs)
        .map(|_| Link { rate: rng.random_range(100.0..5000.0), latency: rng.random_range(0.0..5.0) })
        .collect();
    let mut order: Vec<usize> = (0..ops).collect();
    order.shuffle(&mut rng);
    problem.with_ops(&order)
}

/// A graph of the catalogue on two equal CPUs and four equal GPUs, listed in that order.
pub(crate) fn embedded(name: &str) -> Problem {
    let (_, graph) = catalogue::load(name).unwrap();
    let device = |id: usize, kind, speed| Device { name: format!("d{id}"), kind, memory_bytes: Some(1 << 50), speed };
    let devices =
        (0..6).map(|id| if id < 2 { device(id, Kind::Cpu, 1.0) } else { device(id, Kind::Gpu, 50.0) }).collect();
    // 10 GB/s and 10 µs: the graphs count in nanoseconds.
    let cluster = Cluster::new(devices, |_, _| Link { rate: 10.0, latency: 1e4 }).unwrap();
    let mut problem = Problem::of(&Instance::new(graph, cluster).unwrap());
    let no_tpu: KindSet = [Kind::Cpu, Kind::Gpu].into_iter().collect();
    problem.ops.iter_mut().for_each(|op| op.kinds = op.kinds.intersection(no_tpu));
    problem
}
