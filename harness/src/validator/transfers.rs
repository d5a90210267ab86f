//! Rules about what moves between devices.

use placebench_datasets::{OpId, ROUNDING, Time};

use super::{
    Records, Route, RouteRecord, Run, Span, TransferLaw, Violation, are_times, first_overlap, is_later, lasts,
};

/// The transfers, send ops and receive ops of a run, found by what they move.
pub(super) struct Transfers<'a> {
    records: &'a Records,
    /// Positions in `records.transfers`, by source, tensor, receiver.
    order: Vec<u32>,
    /// Where each op's transfers begin in `order`.
    offsets: Vec<u32>,
}

pub(super) fn label(run: &Run<'_>, route: Route) -> String {
    let (from, to) = (run.name(route.from), run.name(route.to));
    let source = run.graph.label(route.source);
    match route.tensor {
        Some(tensor) => {
            format!("the transfer of output {} of {source} from '{from}' to '{to}'", run.graph.port(tensor))
        }
        None => format!("the control signal of {source} from '{from}' to '{to}'"),
    }
}

/// Positions of records in ascending order of routes.
fn by_route(records: &[RouteRecord]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..records.len() as u32).collect();
    if !records.is_sorted_by_key(|record| record.route) {
        order.sort_unstable_by_key(|&position| records[position as usize].route);
    }
    order
}

impl<'a> Transfers<'a> {
    pub(super) fn new(run: &Run<'_>, records: &'a Records) -> Result<Self, Violation> {
        check_routes(run, &records.sends)?;
        check_routes(run, &records.transfers)?;
        check_routes(run, &records.receives)?;
        let order = by_route(&records.transfers);
        let mut offsets = vec![0u32; run.graph.op_count() + 1];
        for record in &records.transfers {
            offsets[record.route.source.index() + 1] += 1;
        }
        for op in 0..run.graph.op_count() {
            offsets[op + 1] += offsets[op];
        }
        let transfers = Self { records, order, offsets };
        transfers.check_unique(run)?;
        transfers.check_durations(run)?;
        Ok(transfers)
    }

    fn check_durations(&self, run: &Run<'_>) -> Result<(), Violation> {
        let (exact, least) = (run.demands.has(TransferLaw::ExactTime), run.demands.has(TransferLaw::LeastTime));
        if !exact && !least {
            return Ok(());
        }
        for record in &self.records.transfers {
            let Route { tensor, from, to, .. } = record.route;
            let bytes = tensor.map_or(0.0, |tensor| run.graph.tensor_bytes(tensor) as f64);
            let link = run.cluster.link(from, to);
            let expected = link.latency + bytes / link.rate;
            let is_slower = least && record.end - record.start > expected;
            if !is_slower && !lasts(record.start, record.end, expected) {
                let (what, start) = (label(run, record.route), record.start);
                return Err(Violation::WrongDuration { what, start, took: record.end - start, expected });
            }
        }
        Ok(())
    }

    fn check_unique(&self, run: &Run<'_>) -> Result<(), Violation> {
        let record = |position: u32| self.records.transfers[position as usize];
        for pair in self.order.windows(2) {
            let (one, other) = (record(pair[0]), record(pair[1]));
            if one.route == other.route {
                let what = label(run, one.route);
                return Err(Violation::MovedTwice { what, first: one.start, second: other.start });
            }
        }
        Ok(())
    }

    /// Everything is sent after it exists, and received after it was sent: op, send op, transfer, receive op. For each
    /// transfer, in the order of the records, when the receiver has what was sent.
    pub(super) fn check_starts(&self, run: &Run<'_>) -> Result<Vec<Time>, Violation> {
        let overheads = |route: Route| run.cluster.transfer_overheads(route.from, route.to);
        let bytes = |route: Route| route.tensor.map_or(0.0, |tensor| run.graph.tensor_bytes(tensor) as f64);
        let send_time = |route: Route| {
            let (of, operations) = (overheads(route), run.cluster.send_ops() / run.cluster.device(route.from).speed);
            operations + of.send + bytes(route) * of.send_per_byte
        };
        let receive_time = |route: Route| overheads(route).receive + bytes(route) * overheads(route).receive_per_byte;
        let sends = self.matched(run, &self.records.sends, "send", send_time)?;
        let receives = self.matched(run, &self.records.receives, "receive", receive_time)?;
        let mut arrivals = vec![0.0; self.records.transfers.len()];
        for (place, &position) in self.order.iter().enumerate() {
            let record = self.records.transfers[position as usize];
            let source = record.route.source;
            let mut before = (run.end[source.index()], run.graph.label(source));
            let send = sends[place].map(|send| (self.records.sends[send as usize], "the send op of "));
            let receive =
                receives[place].map(|receive| (self.records.receives[receive as usize], "the receive op of "));
            for (step, prefix) in send.into_iter().chain([(record, "")]).chain(receive) {
                let what = format!("{prefix}{}", label(run, step.route));
                let (ready, after) = before;
                if is_later(ready, step.start) {
                    return Err(Violation::MovedTooEarly { what, start: step.start, after, ready });
                }
                before = (step.end, what);
            }
            arrivals[position as usize] = before.0;
        }
        Ok(arrivals)
    }

    /// The send or receive op of each transfer, in the order of `self.order`. One whose time is not 0 has to be there in a
    /// simulated run, and to take that time.
    fn matched(
        &self,
        run: &Run<'_>,
        tasks: &[RouteRecord],
        name: &str,
        time: impl Fn(Route) -> Time,
    ) -> Result<Vec<Option<u32>>, Violation> {
        let unmatched = |route, reason: &str| Violation::UnmatchedTask {
            what: label(run, route),
            reason: reason.replace("send", name),
        };
        let is_exact = run.demands.exact_tasks();
        let mut order = by_route(tasks).into_iter().peekable();
        let mut matched = Vec::with_capacity(self.order.len());
        for &position in &self.order {
            let route = self.records.transfers[position as usize].route;
            if let Some(&task) = order.peek().filter(|&&task| tasks[task as usize].route < route) {
                return Err(unmatched(tasks[task as usize].route, "it has a send op too many"));
            }
            let found = order.next_if(|&task| tasks[task as usize].route == route);
            let expected = time(route);
            match found.map(|task| tasks[task as usize]) {
                None if is_exact && expected > 0.0 => return Err(unmatched(route, "it has no send op")),
                Some(_) if is_exact && expected == 0.0 => {
                    return Err(unmatched(route, "it has a send op, although sends cost nothing"));
                }
                Some(RouteRecord { start, end, .. }) if is_exact && !lasts(start, end, expected) => {
                    let what = format!("the {name} op of {}", label(run, route));
                    return Err(Violation::WrongDuration { what, start, took: end - start, expected });
                }
                _ => {}
            }
            matched.push(found);
        }
        match order.next() {
            Some(task) => Err(unmatched(tasks[task as usize].route, "it has a send op too many")),
            None => Ok(matched),
        }
    }

    /// Every op starts after its inputs are there, those from other devices at `arrivals`, and every transfer serves an op.
    /// For each transfer, when the last op that it serves started.
    pub(super) fn check_inputs(&self, run: &Run<'_>, arrivals: &[Time]) -> Result<Vec<Time>, Violation> {
        let mut last_uses: Vec<Option<Time>> = vec![None; self.records.transfers.len()];
        for (producer, edge) in run.graph.edges() {
            let consumer = edge.op;
            let start = run.start[consumer.index()];
            let (from, to) = (run.device_of(producer), run.device_of(consumer));
            let available = if from == to {
                run.end[producer.index()]
            } else {
                let route = Route { source: producer, tensor: edge.tensor, to, from };
                let Some(position) = self.position(route) else {
                    return Err(Violation::NeverMoved {
                        consumer: run.graph.label(consumer),
                        device: run.name(to),
                        start,
                        what: label(run, route),
                    });
                };
                let last = &mut last_uses[position];
                *last = Some(last.map_or(start, |last| last.max(start)));
                arrivals[position]
            };
            if is_later(available, start) {
                return Err(Violation::StartedTooEarly {
                    consumer: run.graph.label(consumer),
                    device: run.name(to),
                    start,
                    producer: run.graph.label(producer),
                    available,
                });
            }
        }
        match last_uses.iter().position(Option::is_none) {
            None => Ok(last_uses.into_iter().flatten().collect()),
            Some(unused) => {
                let record = self.records.transfers[unused];
                Err(Violation::Superfluous { what: label(run, record.route), start: record.start })
            }
        }
    }

    /// The transfers of an op, as positions in the records.
    fn of(&self, source: OpId) -> &[u32] {
        let index = source.index();
        &self.order[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    fn position(&self, route: Route) -> Option<usize> {
        let order = self.of(route.source);
        let found = order.binary_search_by_key(&route, |&position| self.records.transfers[position as usize].route);
        found.ok().map(|place| order[place] as usize)
    }

    /// The records of all transfers.
    pub(super) fn records(&self) -> &'a [RouteRecord] {
        &self.records.transfers
    }

    /// A device sends one transfer at a time, and receives one at a time.
    pub(super) fn check_ports(&self, run: &Run<'_>) -> Result<(), Violation> {
        self.check_one_at_a_time(run, |record| Some([(record.start, record.end); 2]))
    }

    /// A device's interface is busy with one transfer at a time that it injects, from the transfer's start on, and with one
    /// that it takes in, until the transfer's end. What moves no bytes keeps none busy.
    pub(super) fn check_gaps(&self, run: &Run<'_>) -> Result<(), Violation> {
        self.check_one_at_a_time(run, |record| {
            let bytes = record.route.tensor.map_or(0.0, |tensor| run.graph.tensor_bytes(tensor) as f64);
            let gap = bytes / run.cluster.link(record.route.from, record.route.to).rate;
            // Where the end is much later than the gap is long, the difference is off by rounding of the end.
            let taken_from = (record.end - gap + ROUNDING * record.end).min(record.end);
            (gap > 0.0).then_some([(record.start, record.start + gap), (taken_from, record.end)])
        })
    }

    /// Transfers do not overlap at their sender, nor at their receiver, while they keep these busy.
    fn check_one_at_a_time(
        &self,
        run: &Run<'_>,
        busy: impl Fn(&RouteRecord) -> Option<[(Time, Time); 2]>,
    ) -> Result<(), Violation> {
        for (end, direction) in ["sent", "received"].into_iter().enumerate() {
            let span = |(index, record): (usize, &RouteRecord)| {
                let (start, until) = busy(record)?[end];
                Some(Span { device: [record.route.from, record.route.to][end], start, end: until, index })
            };
            let spans = self.records.transfers.iter().enumerate().filter_map(span);
            if let Some((first, second)) = first_overlap(spans.collect()) {
                return Err(Violation::PortOverlap {
                    time: second.start,
                    device: run.name(second.device),
                    direction,
                    first: label(run, self.records.transfers[first.index].route),
                    second: label(run, self.records.transfers[second.index].route),
                });
            }
        }
        Ok(())
    }
}

/// Whether each send, transfer or receive could exist at all.
fn check_routes(run: &Run<'_>, records: &[RouteRecord]) -> Result<(), Violation> {
    for record in records {
        let Route { source, tensor, from, to } = record.route;
        if source.index() >= run.graph.op_count() {
            return Err(Violation::Unknown { what: format!("op {source}") });
        }
        if let Some(tensor) = tensor.filter(|tensor| tensor.index() >= run.graph.tensor_count()) {
            return Err(Violation::Unknown { what: format!("tensor {tensor}") });
        }
        if let Some(device) = [from, to].into_iter().find(|device| device.index() >= run.cluster.device_count()) {
            return Err(Violation::Unknown { what: format!("device {device}") });
        }
        let reason = if tensor.is_some_and(|tensor| run.graph.producer(tensor) != source) {
            "its source does not produce that tensor"
        } else if run.device_of(source) != from {
            "its source is on another device"
        } else if from == to {
            "it goes nowhere"
        } else if !are_times(record.start, record.end) {
            let (what, start, end) = (label(run, record.route), record.start, record.end);
            return Err(Violation::BadTime { what, start, end });
        } else {
            continue;
        };
        return Err(Violation::Impossible { what: label(run, record.route), start: record.start, reason });
    }
    Ok(())
}
