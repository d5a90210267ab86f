//! What must share a device, since a transfer would take too long.

use std::collections::BinaryHeap;

use placebench_datasets::{Instance, OpId, Time};

/// How many predecessors are looked at, those of all ops together.
const LOOKED_AT: usize = 640_000;

/// The most an op: on the embedded graphs more change nothing.
const MOST_AN_OP: usize = 64;

/// With fewer an op little is found.
const LEAST_AN_OP: usize = 4;

/// How many predecessors of each op are looked at.
fn nearest(ops: usize) -> usize {
    (LOOKED_AT / ops.max(1)).min(MOST_AN_OP)
}

/// The longest path through any op, from its earliest start and its least time to the end, where ops whose transfers would
/// come too late share a device, one after the other.
///
/// # Reference
/// C. H. Papadimitriou, M. Yannakakis, *Towards an Architecture-Independent Analysis of Parallel Algorithms*, SIAM Journal
/// on Computing 19(2), 1990, 322–328, doi:10.1137/0219021, the bound e(v) of §3. Theirs has unit times and one delay for all
/// edges; here each has its own, devices have classes, and ops released late are scheduled by J. R. Jackson's preemptive rule
/// (1955), whose length no schedule of one machine undercuts.
///
/// # Proof
/// Let op v start at T on device d of class c. For each predecessor u, `off` is the least time from the end of u to the start
/// of v if u runs elsewhere: along each path some transfer must come to d. So every u with earliest end + off > T is on d, and
/// before v. One device executes them, so T is no less than what the preemptive rule needs for them: each is released at its
/// earliest start, takes its time on d, and then at least the least time to v if it is on d. The more ops are taken to be on d,
/// in the order of falling earliest end + off, the more that rule needs, and the less the largest left outside demands: the
/// least, over how many are taken, of the larger of both, is at most T. Colocated ops that come before v are taken together.
/// Predecessors not looked at only make the bound lower. Heads are computed along the graph, tails the same way against it;
/// no schedule is shorter than head + least time + tail of any op on the best class for it, nor than the preemptive rule for
/// a colocation group with the heads and tails of its ops.
///
/// # Complexity
/// O(ops · classes · (e + k · log² k)), where k = 640,000 / ops, at most 64, are the nearest predecessors that are looked at, and e
/// their edges. For more than 160,000 ops it is 0: too few would be looked at.
pub fn forced_together(instance: &Instance) -> Time {
    if nearest(instance.graph().op_count()) < LEAST_AN_OP {
        return 0.0;
    }
    let model = Model::new(instance);
    let heads = model.starts(true);
    let tails = model.starts(false);
    let classes = model.classes;
    let mut longest: Time = 0.0;
    for op in instance.graph().op_ids() {
        let through = (0..classes).map(|class| {
            let at = op.index() * classes + class;
            heads[at] + model.exec[at] + tails[at]
        });
        longest = longest.max(through.fold(f64::INFINITY, Time::min));
    }
    let units = instance.units();
    let mut jobs = Vec::new();
    for unit in units.ids().filter(|&unit| units.members(unit).len() > 1) {
        let alone = (0..classes).map(|class| {
            jobs.clear();
            jobs.extend(units.members(unit).iter().map(|op| {
                let at = op.index() * classes + class;
                Job { release: heads[at], time: model.exec[at], tail: tails[at] }
            }));
            jobs.sort_by(|a: &Job, b| a.release.total_cmp(&b.release));
            preemptive(jobs.iter().copied())
        });
        longest = longest.max(alone.fold(f64::INFINITY, Time::min));
    }
    longest
}

/// Times by class, and the least that a transfer can take.
struct Model<'a> {
    instance: &'a Instance,
    classes: usize,
    /// Row-major by op: least time on a device of the class, infinite where the op may not run.
    exec: Vec<Time>,
    /// For each op the least of them.
    least: Vec<Time>,
    /// For each class, what a transfer to, and from, a device of that class takes at least: constant and for each byte.
    into: Vec<(Time, f64)>,
    out_of: Vec<(Time, f64)>,
    before: Edges,
    after: Edges,
}

/// The edges at one end of each op, as the ops at the other end with the bytes between them.
struct Edges {
    offsets: Vec<usize>,
    ends: Vec<(u32, f64)>,
}

impl Edges {
    fn of(&self, op: u32) -> &[(u32, f64)] {
        &self.ends[self.offsets[op as usize]..self.offsets[op as usize + 1]]
    }
}

/// What one device executes.
#[derive(Clone, Copy)]
struct Job {
    release: Time,
    time: Time,
    tail: Time,
}

impl<'a> Model<'a> {
    fn new(instance: &'a Instance) -> Self {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let fastest = instance.fastest_devices();
        let mut exec = Vec::with_capacity(graph.op_count() * fastest.len());
        for op in graph.op_ids() {
            for of_class in &fastest {
                let may_run = units.kind_allows(units.unit_of(op), cluster, of_class[0]);
                let times = of_class.iter().map(|&device| instance.exec_time(op, device));
                exec.push(if may_run { times.fold(f64::INFINITY, Time::min) } else { f64::INFINITY });
            }
        }
        let mut into = vec![(f64::INFINITY, f64::INFINITY); fastest.len()];
        let mut out_of = into.clone();
        for from in cluster.device_ids() {
            for to in cluster.device_ids().filter(|&to| to != from) {
                let (link, overheads) = (cluster.link(from, to), cluster.transfer_overheads(from, to));
                let constant = link.latency + (overheads.send + overheads.receive);
                let per_byte = 1.0 / link.rate + (overheads.send_per_byte + overheads.receive_per_byte);
                let number = |device| instance.classes().number(device);
                for least in [&mut into[number(to)], &mut out_of[number(from)]] {
                    *least = (least.0.min(constant), least.1.min(per_byte));
                }
            }
        }
        let (mut before, mut after) =
            (Edges { offsets: vec![0], ends: Vec::new() }, Edges { offsets: vec![0], ends: Vec::new() });
        for op in graph.op_ids() {
            before.ends.extend(graph.predecessors(op).map(|edge| (edge.op.0, graph.edge_bytes(edge) as f64)));
            before.offsets.push(before.ends.len());
            after.ends.extend(graph.successors(op).map(|edge| (edge.op.0, graph.edge_bytes(edge) as f64)));
            after.offsets.push(after.ends.len());
        }
        let least = exec.chunks(fastest.len()).map(|row| row.iter().copied().fold(f64::INFINITY, Time::min)).collect();
        Self { instance, classes: fastest.len(), exec, least, into, out_of, before, after }
    }

    /// For each op and class, row-major, the earliest start there, or, against the edges, the least time from its end to that of
    /// everything. Infinite where the op may not run.
    fn starts(&self, forward: bool) -> Vec<Time> {
        let mut order: Vec<OpId> = self.instance.graph().topological_order().collect();
        if !forward {
            order.reverse();
        }
        let mut search = Search::new(self, forward, &order);
        order.into_iter().for_each(|op| search.visit(op));
        search.starts
    }
}

/// Earliest starts in one direction, op by op.
struct Search<'m> {
    model: &'m Model<'m>,
    before: &'m Edges,
    after: &'m Edges,
    /// For each class, transfers to and from the device of the op at hand.
    to: &'m [(Time, f64)],
    from: &'m [(Time, f64)],
    nearest: usize,
    starts: Vec<Time>,
    /// The least end of each op.
    ends: Vec<Time>,
    position: Vec<u32>,
    // Of the op at hand, by predecessor:
    /// The number of the search that found it.
    stamps: Vec<u32>,
    stamp: u32,
    /// From its start to the op's start, at least, if it is on the op's device; from its end, if elsewhere.
    on: Vec<Time>,
    off: Vec<Time>,
    found: Vec<u32>,
    /// Those that wait to be looked at, the nearest in the order first.
    queue: BinaryHeap<(u32, u32)>,
}

impl<'m> Search<'m> {
    fn new(model: &'m Model<'m>, forward: bool, order: &[OpId]) -> Self {
        let ops = order.len();
        let mut position = vec![0; ops];
        order.iter().zip(0..).for_each(|(op, at)| position[op.index()] = at);
        let (before, after) = (&model.before, &model.after);
        let (into, out_of) = (&model.into[..], &model.out_of[..]);
        let ((before, after), (to, from)) =
            if forward { ((before, after), (into, out_of)) } else { ((after, before), (out_of, into)) };
        Self {
            model,
            before,
            after,
            to,
            from,
            nearest: nearest(ops),
            starts: vec![0.0; ops * model.classes],
            ends: vec![0.0; ops],
            position,
            stamps: vec![0; ops],
            stamp: 0,
            on: vec![0.0; ops],
            off: vec![0.0; ops],
            found: Vec::new(),
            queue: BinaryHeap::new(),
        }
    }

    fn visit(&mut self, op: OpId) {
        let classes = self.model.classes;
        let mut end = f64::INFINITY;
        for class in 0..classes {
            let at = op.index() * classes + class;
            let exec = self.model.exec[at];
            self.starts[at] = if exec.is_finite() { self.start_on(op, class) } else { f64::INFINITY };
            end = end.min(self.starts[at] + exec);
        }
        self.ends[op.index()] = end;
    }

    /// The earliest start of an op on a device of a class.
    fn start_on(&mut self, op: OpId, class: usize) -> Time {
        let units = self.model.instance.units();
        let classes = self.model.classes;
        let own = units.unit_of(op);
        let (to, from) = (self.to[class], self.from[class]);
        self.stamp += 1;
        self.found.clear();
        self.queue.clear();
        self.queue.extend(self.before.of(op.0).iter().map(|&(other, _)| (self.position[other as usize], other)));
        while let Some((_, other)) = self.queue.pop() {
            let at = other as usize;
            if self.stamps[at] == self.stamp {
                continue;
            }
            if self.found.len() == self.nearest {
                break;
            }
            // What comes after it, on the device or elsewhere.
            let (mut on, mut off): (Time, Time) = (0.0, 0.0);
            for &(next, bytes) in self.after.of(other) {
                let (there, elsewhere) = match next {
                    next if next == op.0 => (0.0, f64::INFINITY),
                    next if self.stamps[next as usize] == self.stamp => {
                        (self.on[next as usize], self.off[next as usize] + self.model.least[next as usize])
                    }
                    _ => continue,
                };
                on = on.max(there.min(elsewhere + from.0 + bytes * from.1));
                off = off.max(elsewhere.min(there + to.0 + bytes * to.1));
            }
            self.stamps[at] = self.stamp;
            self.on[at] = self.model.exec[at * classes + class] + on;
            self.off[at] = if units.unit_of(OpId(other)) == own { f64::INFINITY } else { off };
            self.found.push(other);
            for &(former, _) in self.before.of(other) {
                if self.stamps[former as usize] != self.stamp {
                    self.queue.push((self.position[former as usize], former));
                }
            }
        }
        self.together(class)
    }

    /// The earliest start that what was found allows.
    fn together(&mut self, class: usize) -> Time {
        let classes = self.model.classes;
        // Those first that could come last from elsewhere.
        let arrival = |op: u32| self.ends[op as usize] + self.off[op as usize];
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable_by(|&a, &b| arrival(b).total_cmp(&arrival(a)).then(a.cmp(&b)));
        let outside = |count: usize| found.get(count).map_or(0.0, |&op| arrival(op));
        let job = |op: u32| {
            let at = op as usize * classes + class;
            let time = self.model.exec[at];
            Job { release: self.starts[at], time, tail: self.on[op as usize] - time }
        };
        let mut jobs: Vec<(Job, usize)> = found.iter().map(|&op| job(op)).zip(0..).collect();
        jobs.sort_by(|a, b| a.0.release.total_cmp(&b.0.release));
        let alone = |count: usize| preemptive(jobs.iter().filter(|(_, rank)| *rank < count).map(|(job, _)| *job));
        // How many have to be on the device until they take longer than the rest demands.
        let (mut low, mut high) = (0, found.len());
        while low < high {
            let middle = (low + high) / 2;
            if alone(middle) >= outside(middle) { high = middle } else { low = middle + 1 }
        }
        let start = if low == 0 { alone(0).max(outside(0)) } else { alone(low).min(outside(low - 1)) };
        self.found = found;
        start
    }
}

/// The time that one machine needs for jobs that it may interrupt, by rising release, each followed by its tail: the job of the
/// longest tail first (Jackson 1955). Infinite if one takes forever.
fn preemptive(jobs: impl Iterator<Item = Job>) -> Time {
    // Bits of floats ≥ 0 order as they do.
    let mut waiting: BinaryHeap<(u64, u64)> = BinaryHeap::new();
    let (mut now, mut longest): (Time, Time) = (0.0, 0.0);
    // Works until a time, or, with none, until nothing waits.
    let mut work = |waiting: &mut BinaryHeap<(u64, u64)>, now: &mut Time, until: Time| {
        while let Some((tail, left)) = waiting.pop() {
            let left = f64::from_bits(left);
            if *now + left > until {
                waiting.push((tail, (left - (until - *now)).to_bits()));
                break;
            }
            *now += left;
            longest = longest.max(*now + f64::from_bits(tail));
        }
        *now = now.max(until);
    };
    for job in jobs {
        if !job.time.is_finite() {
            return f64::INFINITY;
        }
        work(&mut waiting, &mut now, job.release);
        waiting.push((job.tail.max(0.0).to_bits(), job.time.to_bits()));
    }
    work(&mut waiting, &mut now, f64::MAX);
    longest
}
