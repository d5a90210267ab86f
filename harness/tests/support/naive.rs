//! A simulator for small instances under FIFO that is as plain as can be: at each instant it looks at everything.

use placebench_datasets::{DeviceId, Instance, OpId, Placement, TensorId, Time, Transfer};
use placebench_harness::execute::simulate::{CostFactors, NetworkModel};
use placebench_harness::validator::{OpRecord, Records, Route, RouteRecord};

#[derive(Clone, Copy, PartialEq)]
enum State {
    Waiting,
    Queued,
    Running(Time, Time),
    Done(Time, Time),
}

impl State {
    fn is_done(self) -> bool {
        matches!(self, Self::Done(..))
    }

    fn ends_at(self) -> Option<Time> {
        if let Self::Running(_, end) = self { Some(end) } else { None }
    }

    /// Whether it ended now.
    fn end_if_due(&mut self, now: Time) -> bool {
        match *self {
            Self::Running(start, end) if end == now => {
                *self = Self::Done(start, end);
                true
            }
            _ => false,
        }
    }

    fn interval(self) -> (Time, Time) {
        match self {
            Self::Done(start, end) => (start, end),
            _ => panic!("something never happened"),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Task {
    Op(usize),
    Send(usize),
    Receive(usize),
}

struct Moved {
    source: usize,
    tensor: Option<TensorId>,
    to: DeviceId,
}

/// Everything that happens, in the order of ids; in a draw, with all times multiplied by its factors.
pub(crate) fn simulate(
    instance: &Instance,
    placement: &Placement,
    network: &dyn NetworkModel,
    draw: Option<&CostFactors>,
) -> Records {
    let (graph, cluster) = (instance.graph(), instance.cluster());
    let device = |op: usize| placement.device_of(OpId::new(op));
    let n = graph.op_count();

    // One transfer for each op, tensor (control last) and destination.
    let mut moved: Vec<Moved> = Vec::new();
    for source in 0..n {
        let mut of_op: Vec<(u32, DeviceId)> = graph
            .successors(OpId::new(source))
            .filter(|edge| placement.device_of(edge.op) != device(source))
            .map(|edge| (edge.tensor.map_or(u32::MAX, |tensor| tensor.0), placement.device_of(edge.op)))
            .collect();
        of_op.sort();
        of_op.dedup();
        moved.extend(of_op.into_iter().map(|(raw, to)| Moved {
            source,
            tensor: (raw != u32::MAX).then_some(TensorId(raw)),
            to,
        }));
    }
    let transfer_for = |producer: usize, tensor: Option<TensorId>, to: DeviceId| {
        moved.iter().position(|x| x.source == producer && x.tensor == tensor && x.to == to).unwrap()
    };

    let mut ops = vec![State::Waiting; n];
    let mut sends = vec![State::Waiting; moved.len()];
    let mut receives = vec![State::Waiting; moved.len()];
    let mut transfers = vec![State::Waiting; moved.len()];
    let mut waiting: Vec<usize> = Vec::new();
    let mut queues: Vec<Vec<Task>> = vec![Vec::new(); cluster.device_count()];
    let mut running: Vec<Option<Task>> = vec![None; cluster.device_count()];
    let bytes = |x: &Moved| x.tensor.map_or(0.0, |tensor| graph.tensor_bytes(tensor) as f64);
    let stretch = |x: &Moved| {
        let (source, from) = (OpId::new(x.source), device(x.source));
        draw.map_or(1.0, |draw| {
            draw.stretch(&Transfer { source, tensor: x.tensor, from, to: x.to, bytes: 0, time: 0.0 })
        })
    };
    let slowness = |device: DeviceId| draw.map_or(1.0, |draw| draw.slowness(device));
    let send_time = |x: &Moved| {
        let (from, overheads) = (device(x.source), cluster.transfer_overheads(device(x.source), x.to));
        cluster.send_ops() / cluster.device(from).speed + (overheads.send + bytes(x) * overheads.send_per_byte)
    };
    let receive_time = |x: &Moved| {
        let overheads = cluster.transfer_overheads(device(x.source), x.to);
        overheads.receive + bytes(x) * overheads.receive_per_byte
    };
    // Under loggp: when each message was injected, whether its receiver has begun to take it in, until when it does.
    let mut injected: Vec<Option<Time>> = vec![None; moved.len()];
    let mut taken: Vec<Option<Time>> = vec![None; moved.len()];
    let mut now = 0.0;
    loop {
        // What ends now, and the transfers that can start then, until nothing changes.
        loop {
            let mut changed = false;
            for slot in &mut running {
                let ended = match *slot {
                    Some(Task::Op(op)) => ops[op].end_if_due(now),
                    Some(Task::Send(send)) => sends[send].end_if_due(now),
                    Some(Task::Receive(receive)) => receives[receive].end_if_due(now),
                    None => false,
                };
                if ended {
                    *slot = None;
                    changed = true;
                }
            }
            // First bytes that arrive wait for what their receiver takes in already.
            for id in 0..moved.len() {
                let link = cluster.link(device(moved[id].source), moved[id].to);
                let stretch = stretch(&moved[id]);
                let gap = bytes(&moved[id]) / link.rate;
                if let (Some(start), None) = (injected[id], taken[id])
                    && start + link.latency * stretch == now
                {
                    let others = (0..moved.len()).filter(|&other| moved[other].to == moved[id].to);
                    let busy = others.filter_map(|other| taken[other]).fold(0.0, f64::max);
                    let alone = (link.latency + gap) * stretch;
                    let end = if busy <= now { (start + alone).max(now) } else { busy + gap * stretch };
                    (taken[id], transfers[id]) = (Some(end), State::Running(start, end));
                    changed = true;
                }
            }
            for transfer in &mut transfers {
                changed |= transfer.end_if_due(now);
            }
            for (id, x) in moved.iter().enumerate() {
                let is_ready = if send_time(x) > 0.0 { sends[id].is_done() } else { ops[x.source].is_done() };
                if transfers[id] == State::Waiting && is_ready {
                    transfers[id] = State::Queued;
                    waiting.push(id);
                }
            }
            waiting.retain(|&id| {
                let x = &moved[id];
                let is_busy = |transfer: usize| {
                    let shares_port = device(moved[transfer].source) == device(x.source) || moved[transfer].to == x.to;
                    shares_port && matches!(transfers[transfer], State::Running(..))
                };
                if network.name() == "one_port" && (0..moved.len()).any(is_busy) {
                    return true;
                }
                let link = cluster.link(device(x.source), x.to);
                if network.name() == "loggp" {
                    let gap = |of: &Moved| bytes(of) / cluster.link(device(of.source), of.to).rate * stretch(of);
                    let injects = |other: usize| {
                        device(moved[other].source) == device(x.source)
                            && injected[other].is_some_and(|start| start + gap(&moved[other]) > now)
                    };
                    if (0..moved.len()).any(injects) {
                        return true;
                    }
                    injected[id] = Some(now);
                    changed = true;
                    return false;
                }
                // What takes no time holds no port.
                let end = now + (link.latency + bytes(x) / link.rate) * stretch(x);
                transfers[id] = if end == now { State::Done(now, now) } else { State::Running(now, end) };
                changed = true;
                false
            });
            if !changed {
                break;
            }
        }
        // What became executable, ops before sends.
        for op in 0..n {
            let is_there = |input: placebench_datasets::Edge| {
                if placement.device_of(input.op) == device(op) {
                    ops[input.op.index()].is_done()
                } else {
                    let id = transfer_for(input.op.index(), input.tensor, device(op));
                    if receive_time(&moved[id]) > 0.0 { receives[id].is_done() } else { transfers[id].is_done() }
                }
            };
            if ops[op] == State::Waiting && graph.predecessors(OpId::new(op)).all(is_there) {
                ops[op] = State::Queued;
                queues[device(op).index()].push(Task::Op(op));
            }
        }
        for (id, x) in moved.iter().enumerate() {
            if send_time(x) > 0.0 && sends[id] == State::Waiting && ops[x.source].is_done() {
                sends[id] = State::Queued;
                queues[device(x.source).index()].push(Task::Send(id));
            }
        }
        for (id, x) in moved.iter().enumerate() {
            if receive_time(x) > 0.0 && receives[id] == State::Waiting && transfers[id].is_done() {
                receives[id] = State::Queued;
                queues[x.to.index()].push(Task::Receive(id));
            }
        }
        // First in, first out.
        for (index, queue) in queues.iter_mut().enumerate() {
            if running[index].is_none() && !queue.is_empty() {
                let task = queue.remove(0);
                running[index] = Some(task);
                let speed = cluster.devices()[index].speed;
                match task {
                    Task::Op(op) => {
                        let times = graph.measured_on(cluster.class(DeviceId::new(index)));
                        let measured = times.and_then(|times| times.of(OpId::new(op)));
                        let time = measured.unwrap_or(graph.ops(OpId::new(op)) / speed);
                        let time = time + cluster.op_overheads()[index];
                        let factor =
                            draw.map_or(1.0, |draw| draw.op_factor(instance, OpId::new(op), DeviceId::new(index)));
                        let time = time * factor;
                        ops[op] = State::Running(now, now + time);
                    }
                    Task::Send(id) => {
                        let factor = stretch(&moved[id]) * slowness(DeviceId::new(index));
                        sends[id] = State::Running(now, now + send_time(&moved[id]) * factor);
                    }
                    Task::Receive(id) => {
                        let factor = stretch(&moved[id]) * slowness(DeviceId::new(index));
                        receives[id] = State::Running(now, now + receive_time(&moved[id]) * factor);
                    }
                }
            }
        }
        let all = ops.iter().chain(&sends).chain(&receives).chain(&transfers);
        let messages =
            injected.iter().zip(&moved).filter_map(|(start, x)| Some(((*start)?, x))).flat_map(|(start, x)| {
                let link = cluster.link(device(x.source), x.to);
                [start + link.latency * stretch(x), start + bytes(x) / link.rate * stretch(x)]
            });
        let instants = all.filter_map(|state| state.ends_at()).chain(messages.filter(|&time| time > now));
        match instants.min_by(Time::total_cmp) {
            Some(next) => now = next,
            None => break,
        }
    }

    let op_record = |op: usize| {
        let (start, end) = ops[op].interval();
        OpRecord { op: OpId::new(op), device: device(op), start, end }
    };
    let route_record = |id: usize, state: State| {
        let (start, end) = state.interval();
        let Moved { source, tensor, to } = moved[id];
        let route = Route { source: OpId::new(source), tensor, to, from: device(source) };
        RouteRecord { route, start, end }
    };
    Records {
        ops: (0..n).map(op_record).collect(),
        sends: (0..moved.len())
            .filter(|&id| send_time(&moved[id]) > 0.0)
            .map(|id| route_record(id, sends[id]))
            .collect(),
        receives: (0..moved.len())
            .filter(|&id| receive_time(&moved[id]) > 0.0)
            .map(|id| route_record(id, receives[id]))
            .collect(),
        transfers: (0..moved.len()).map(|id| route_record(id, transfers[id])).collect(),
    }
}
