//! Rules about what moves between devices.

use placebench_datasets::{OpId, Time};

use super::{
    Records, Route, RouteRecord, Run, Span, TransferLaw, Violation, are_times, first_overlap, is_later, lasts,
};

/// The transfers and send ops of a run, found by what they move.
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

    /// Everything is sent after it exists: after its producer, or after the send op after its producer.
    pub(super) fn check_starts(&self, run: &Run<'_>) -> Result<(), Violation> {
        let sends = self.matched_sends(run)?;
        for (place, &position) in self.order.iter().enumerate() {
            let record = self.records.transfers[position as usize];
            let source = record.route.source;
            let produced = (run.end[source.index()], run.graph.label(source));
            let (ready, after) = match sends.as_ref().map(|sends| self.records.sends[sends[place] as usize]) {
                None => produced,
                Some(send) => {
                    let what = format!("the send op of {}", label(run, send.route));
                    let expected = run.cluster.send_ops() / run.cluster.device(send.route.from).speed;
                    if run.demands.exact_tasks() && !lasts(send.start, send.end, expected) {
                        let (start, took) = (send.start, send.end - send.start);
                        return Err(Violation::WrongDuration { what, start, took, expected });
                    }
                    if is_later(produced.0, send.start) {
                        let (ready, after) = produced;
                        return Err(Violation::SentTooEarly { what, start: send.start, after, ready });
                    }
                    (send.end, what)
                }
            };
            if is_later(ready, record.start) {
                let what = label(run, record.route);
                return Err(Violation::SentTooEarly { what, start: record.start, after, ready });
            }
        }
        Ok(())
    }

    /// The send op of each transfer, in the order of `self.order`; `None` where sends cost nothing.
    fn matched_sends(&self, run: &Run<'_>) -> Result<Option<Vec<u32>>, Violation> {
        let unmatched = |route, reason| Err(Violation::UnmatchedSend { what: label(run, route), reason });
        let sends = by_route(&self.records.sends);
        if run.cluster.send_ops() == 0.0 {
            return match self.records.sends.first() {
                Some(send) => unmatched(send.route, "it has a send op, although sends cost nothing"),
                None => Ok(None),
            };
        }
        for place in 0..self.order.len().max(sends.len()) {
            let transfer = self.order.get(place).map(|&position| self.records.transfers[position as usize].route);
            let send = sends.get(place).map(|&position| self.records.sends[position as usize].route);
            match (transfer, send) {
                (Some(transfer), Some(send)) if transfer == send => {}
                (Some(transfer), send) if send.is_none_or(|send| transfer < send) => {
                    return unmatched(transfer, "it has no send op");
                }
                (_, Some(send)) => return unmatched(send, "it has a send op too many"),
                (_, None) => {}
            }
        }
        Ok(Some(sends))
    }

    /// Every op starts after its inputs are there, and every transfer serves an op. For each transfer, when the last op
    /// that it serves started.
    pub(super) fn check_inputs(&self, run: &Run<'_>) -> Result<Vec<Time>, Violation> {
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
                self.records.transfers[position].end
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
        for (direction, is_sender) in [("sent", true), ("received", false)] {
            let spans = self.records.transfers.iter().enumerate().map(|(index, record)| Span {
                device: if is_sender { record.route.from } else { record.route.to },
                start: record.start,
                end: record.end,
                index,
            });
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

/// Whether each send or transfer could exist at all.
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
