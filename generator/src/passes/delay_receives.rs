//! Receives are held back until shortly before they are needed.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, DeviceId, Edge, KindSet, OpId, PlacedGraph, TensorId, Time, TransferId};

use crate::pass::{Kept, PassError};
use crate::placed_pass::{Changed, PlacedPass, PlacedRewrite};
use crate::rewrite::Draft;

/// Holds transfers back until their tensor is needed soon: an op `_Send` of no cost sends the tensor, and waits by a control edge for
/// an op of the device that receives it. So the tensor lies less long in the memory of that device.
///
/// The schedule is estimated: each device executes the ready op with the longest path to the end (ALAP), and transfers do not wait for each
/// other. A transfer waits for the last op on the receiving device that ends so early that a request and `ahead` times the
/// transfer fit before the first consumer starts, and that may start so much earlier than the consumers that no path to the end
/// gets longer. It does not wait if that op ends before the producer does.
///
/// What waits lies on its sender for longer, unless that needs it anyway. So three choices are compared: to hold back all that
/// can be, only what goes to a device with less room than its sender, or only what stays on its sender anyway. The one with the
/// lowest peak by the estimate is taken, and nothing is held back if none is below that of the graph as it is. By the estimate
/// nothing starts later. Under other schedulers, and where transfers share links, peaks and times may come out higher.
///
/// The output of a `_Send` is its input: it takes no memory of its own, and the input stays until it is sent.
///
/// # Complexity
/// O((ops + edges) · log ops).
///
/// # Reference
/// M. Abadi et al.: TensorFlow: large-scale machine learning on heterogeneous distributed systems, 2015, §5.2.
pub(super) struct DelayReceives {
    ahead: f64,
}

impl PlacedPass for DelayReceives {
    const NAME: &'static str = "delay_receives";
    const SUMMARY: &'static str = "holds transfers back until the tensor is needed soon";
    const SOURCE: &'static str = "Abadi et al. 2015, §5.2";
    const KEEPS: &'static [Kept] = &[Kept::Work, Kept::Bytes, Kept::Results];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let doc =
            "how long before the tensor is needed its transfer may begin, as a multiple of the time that it takes";
        Ok(Self { ahead: params.number("ahead", 2.0, 0.0..=1e6, doc)? })
    }

    fn apply(&self, placed: &PlacedGraph<'_>) -> Result<Changed, PassError> {
        let graph = placed.instance().graph();
        let refused = |source| PassError::Graph { pass: Self::NAME, source };
        let mut rewrite = PlacedRewrite::new(placed);
        let holders = Estimate::new(placed).holders(placed, self.ahead);
        let mut sends: HashMap<(TensorId, DeviceId), OpId> = HashMap::new();
        for op in graph.op_ids() {
            for id in placed.transfers_of(op) {
                let transfer = placed.transfer(id);
                let Some(tensor) = transfer.tensor.filter(|_| transfer.bytes > 0) else { continue };
                let Some(holder) = holders[id.index()] else { continue };
                let (port, to) = (graph.port(tensor), transfer.to);
                let draft = Draft {
                    ops: 0.0,
                    memory_bytes: 0,
                    bytes_moved: graph.has_bytes_moved().then_some(0.0),
                    kinds: KindSet::ALL,
                    times: graph.measured_times().iter().map(|times| (times.class(), 0.0)).collect(),
                    name: graph.name(op).map(|name| Cow::Owned(format!("{name}/send_{port}_{}", to.index()))),
                    op_type: Some(Cow::Borrowed(DataflowGraph::FORWARDING_TYPE)),
                    layer: graph.layers().and_then(|layers| layers.get(op.index())),
                    attributes: None,
                    outputs: vec![transfer.bytes],
                    from: Vec::new(),
                };
                let send = rewrite.add(draft, transfer.from);
                rewrite.rewrite.builder.add_edge(op, port, send).map_err(refused)?;
                rewrite.rewrite.builder.add_control_edge(holder, send).map_err(refused)?;
                sends.insert((tensor, to), send);
            }
        }
        rewrite.connect(|tensor, device| sends.get(&(tensor, device)).copied()).map_err(refused)?;
        let all = placed.transfers().iter().filter(|transfer| transfer.bytes > 0).count();
        rewrite.finish::<Self>(format!("{} of {all} transfers of data are held back", sends.len()))
    }
}

/// What happens in an estimate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An op ends.
    Done(OpId),
    /// The last input of an op is there.
    Ready(OpId),
}

/// When ops start and end if devices take theirs by how late they may start.
struct Estimate {
    start: Vec<Time>,
    end: Vec<Time>,
    /// From the start of each op to the end of all, at least.
    rest: Vec<Time>,
    /// The ops of each device, in order.
    of_device: Vec<Vec<OpId>>,
    /// The place of each op among those of its device.
    place: Vec<u32>,
}

/// The op that each transfer waits for, if any, by transfer.
type Holders = Vec<Option<OpId>>;

impl Estimate {
    fn new(placed: &PlacedGraph<'_>) -> Self {
        let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
        let way = |from: OpId, edge: Edge| {
            let (from, to) = (placed.device_of(from), placed.device_of(edge.op));
            if from == to { 0.0 } else { cluster.transfer_time(graph.edge_bytes(edge), from, to) }
        };
        let mut rest: Vec<Time> = vec![0.0; graph.op_count()];
        let ops: Vec<OpId> = graph.topological_order().collect();
        for &op in ops.iter().rev() {
            let after = graph.successors(op).map(|edge| way(op, edge) + rest[edge.op.index()]);
            rest[op.index()] = after.fold(0.0, Time::max) + placed.exec_time(op);
        }
        let order = |op: OpId| (Reverse(rest[op.index()].to_bits()), op);
        let mut waits: Vec<usize> = graph.op_ids().map(|op| graph.in_degree(op)).collect();
        let mut start = vec![0.0; graph.op_count()];
        let mut end: Vec<Time> = vec![0.0; graph.op_count()];
        let mut place = vec![0; graph.op_count()];
        let mut of_device: Vec<Vec<OpId>> = vec![Vec::new(); cluster.device_count()];
        // Ops whose inputs arrive later, and devices that end an op, by time, in bits, which order as times that are not negative.
        let mut events: BinaryHeap<Reverse<(u64, Event)>> = BinaryHeap::new();
        let mut ready: Vec<BTreeSet<(Reverse<u64>, OpId)>> = vec![BTreeSet::new(); cluster.device_count()];
        let mut busy = vec![false; cluster.device_count()];
        let mut open: Vec<DeviceId> = Vec::new();
        events.extend(graph.op_ids().filter(|op| waits[op.index()] == 0).map(|op| Reverse((0, Event::Ready(op)))));
        while let Some(Reverse((bits, event))) = events.pop() {
            let now = Time::from_bits(bits);
            let device = match event {
                Event::Ready(op) => {
                    let device = placed.device_of(op);
                    ready[device.index()].insert(order(op));
                    device
                }
                Event::Done(op) => {
                    for edge in graph.successors(op) {
                        let arrival: &mut Time = &mut start[edge.op.index()];
                        *arrival = arrival.max(now + way(op, edge));
                        waits[edge.op.index()] -= 1;
                        if waits[edge.op.index()] == 0 {
                            events.push(Reverse((arrival.to_bits(), Event::Ready(edge.op))));
                        }
                    }
                    busy[placed.device_of(op).index()] = false;
                    placed.device_of(op)
                }
            };
            // Once everything that happens now is known.
            open.push(device);
            if events.peek().is_some_and(|Reverse((next, _))| *next == bits) {
                continue;
            }
            for device in open.drain(..) {
                if busy[device.index()] {
                    continue;
                }
                if let Some((_, op)) = ready[device.index()].pop_first() {
                    busy[device.index()] = true;
                    place[op.index()] = of_device[device.index()].len() as u32;
                    of_device[device.index()].push(op);
                    start[op.index()] = now;
                    end[op.index()] = now + placed.exec_time(op);
                    events.push(Reverse((end[op.index()].to_bits(), Event::Done(op))));
                }
            }
        }
        Self { start, end, rest, of_device, place }
    }

    /// When the device of an op needs one of its tensors for the last time, but for transfers.
    fn last_use(&self, placed: &PlacedGraph<'_>, op: OpId, tensor: Option<TensorId>) -> Time {
        let graph = placed.instance().graph();
        if graph.outputs_are_resident(op) {
            return Time::INFINITY;
        }
        let edges = graph.successors(op).filter(|edge| edge.tensor == tensor);
        let here = edges.filter(|edge| placed.device_of(edge.op) == placed.device_of(op));
        here.map(|edge| self.start[edge.op.index()]).fold(self.end[op.index()], Time::max)
    }

    /// The most memory in use on each device if transfers wait for these ops.
    fn peaks(&self, placed: &PlacedGraph<'_>, holders: &[Option<OpId>]) -> Vec<u64> {
        let graph = placed.instance().graph();
        let mut changes: Vec<Vec<(u64, bool, u64)>> = vec![Vec::new(); self.of_device.len()];
        let mut stay = |device: DeviceId, from: Time, until: Time, bytes: u64| {
            changes[device.index()].push((from.to_bits(), false, bytes));
            changes[device.index()].push((until.to_bits(), true, bytes));
        };
        let mut resident = vec![0u64; self.of_device.len()];
        for op in graph.op_ids() {
            let device = placed.device_of(op);
            resident[device.index()] = resident[device.index()].saturating_add(graph.memory_bytes(op));
            let mut sent = vec![self.end[op.index()]; graph.outputs(op).len()];
            for id in placed.transfers_of(op) {
                let transfer = placed.transfer(id);
                let Some(tensor) = transfer.tensor else { continue };
                let released = holders[id.index()].map_or(0.0, |holder| self.end[holder.index()] + request(placed, id));
                let leaves = self.end[op.index()].max(released);
                let arrival = leaves + transfer.time;
                let starts = placed.remote_consumers(id).iter().map(|op| self.start[op.index()]);
                stay(transfer.to, leaves, starts.fold(arrival, Time::max), transfer.bytes);
                let sent = &mut sent[graph.port(tensor)];
                *sent = sent.max(arrival);
            }
            if !graph.outputs_are_resident(op) {
                for (tensor, sent) in graph.outputs(op).zip(sent) {
                    let until = self.last_use(placed, op, Some(tensor)).max(sent);
                    stay(device, self.start[op.index()], until, graph.tensor_bytes(tensor));
                }
            }
        }
        let peak = |(mut changes, resident): (Vec<(u64, bool, u64)>, u64)| {
            changes.sort_unstable();
            let (mut present, mut peak) = (u128::from(resident), u128::from(resident));
            for (_, goes, bytes) in changes {
                present = if goes { present - u128::from(bytes) } else { present + u128::from(bytes) };
                peak = peak.max(present);
            }
            peak as u64
        };
        changes.into_iter().zip(resident).map(peak).collect()
    }

    /// The op that a transfer may wait for, on the device that receives it.
    fn holder(&self, placed: &PlacedGraph<'_>, id: TransferId, ahead: f64) -> Option<OpId> {
        let transfer = placed.transfer(id);
        let way = request(placed, id) + ahead * transfer.time;
        let consumers = placed.remote_consumers(id);
        let rest = consumers.iter().map(|op| self.rest[op.index()]).fold(0.0, Time::max);
        let first = consumers.iter().min_by_key(|op| self.place[op.index()])?;
        let device = &self.of_device[transfer.to.index()][..self.place[first.index()] as usize];
        let before = device.partition_point(|op| self.end[op.index()] + way <= self.start[first.index()]);
        // Also by how late they may start the op comes first, so that no path gets longer.
        let is_early = |op: &&OpId| self.rest[op.index()] - placed.exec_time(**op) >= way + rest;
        let holder = device[..before].iter().rev().find(is_early)?;
        (self.end[holder.index()] > self.end[transfer.source.index()]).then_some(*holder)
    }

    /// What transfers wait for, by the choice with the lowest peak.
    fn holders(&self, placed: &PlacedGraph<'_>, ahead: f64) -> Holders {
        let carries = |id: &TransferId| placed.transfer(*id).tensor.is_some() && placed.transfer(*id).bytes > 0;
        let holder = |id: TransferId| Some(id).filter(carries).and_then(|id| self.holder(placed, id, ahead));
        let all: Holders = placed.transfer_ids().map(holder).collect();
        let nothing: Holders = vec![None; all.len()];
        let before = self.peaks(placed, &nothing);
        let chosen = |keep: &dyn Fn(TransferId, OpId) -> bool| -> Holders {
            placed.transfer_ids().map(|id| all[id.index()].filter(|&holder| keep(id, holder))).collect()
        };
        let stays = chosen(&|id, holder| {
            let transfer = placed.transfer(id);
            self.last_use(placed, transfer.source, transfer.tensor) >= self.end[holder.index()]
        });
        let to_shorter = chosen(&|id, _| {
            let transfer = placed.transfer(id);
            stays[id.index()].is_some() || before[transfer.from.index()] < before[transfer.to.index()]
        });
        let peak = |holders: &Holders| self.peaks(placed, holders).into_iter().max();
        // The first of equal ones.
        [nothing, to_shorter, stays, all].into_iter().min_by_key(peak).unwrap_or_default()
    }
}

/// How long the request for a tensor takes, from the device that receives it.
fn request(placed: &PlacedGraph<'_>, id: TransferId) -> Time {
    let transfer = placed.transfer(id);
    placed.instance().cluster().transfer_time(0, transfer.to, transfer.from)
}
