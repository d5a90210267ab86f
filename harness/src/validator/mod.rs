//! Checks a run against the problem, from first principles.
//!
//! Nothing here is shared with the simulator, send/receive insertion or the algorithms: the validator reads the graph, the
//! cluster, the placement and plain [`Records`], and works everything else out for itself.

mod demands;
mod links;
mod memory;
mod records;
mod transfers;
mod violation;

use placebench_datasets::{
    Cluster, DataflowGraph, DeviceId, Instance, OpId, Placement, Time, is_equal, is_less, is_matrix_op,
};

pub use demands::{Demands, TransferLaw};
pub use records::{OpRecord, Records, Route, RouteRecord};
pub use violation::Violation;

/// Checks that a run executed the graph as placed, on the cluster, and as demanded.
///
/// The rules, in the order in which they are checked:
/// 1. every op is executed exactly once, on the device on which it is placed;
/// 2. under [`Demands::Exact`], an op takes exactly the time that it takes there;
/// 3. the device is of a kind allowed to the op, and colocated ops are on one device;
/// 4. each transfer moves an output (or a control signal) of an op from that op's device to another, once for each
///    (tensor, device), and takes the time that the [`TransferLaw`]s demand;
/// 5. a transfer starts when the op has ended. It may have a send op on the sender, between op and transfer, and a receive
///    op on the receiver after the transfer: under [`Demands::Exact`] it has those, and only those, that take time, and they
///    take exactly their time;
/// 6. each op starts after its local producers end and its remote inputs are there, received where that is an op, and every
///    transfer serves an op;
/// 7. a device executes one op, send op or receive op at a time;
/// 8. the other [`TransferLaw`]s hold;
/// 9. unless the instance's [`MemoryRule`](placebench_datasets::MemoryRule) is `Unlimited`, the memory in use stays within
///    each device's at every instant, with tensors staying as [`MemoryUse`](crate::memory::MemoryUse) defines; under
///    `Static`, the static demands stay below it, too (L §4.1).
///
/// Times are equal if they are [equal up to rounding](is_equal).
///
/// # Errors
/// The first violation.
///
/// # Complexity
/// O((ops + transfers) log + edges log transfers of an op) time; about 50 bytes an op, 60 a transfer, and, on clusters with
/// memory limits, 60 more a tensor and a transfer.
pub fn validate(
    instance: &Instance,
    placement: &Placement,
    records: &Records,
    demands: Demands,
) -> Result<(), Violation> {
    let run = Run::new(instance, placement, &records.ops, demands)?;
    run.check_durations()?;
    run.check_constraints()?;
    let transfers = transfers::Transfers::new(&run, records)?;
    let arrivals = transfers.check_starts(&run)?;
    let last_uses = transfers.check_inputs(&run, &arrivals)?;
    run.check_overlap(records)?;
    if demands.has(TransferLaw::OneAtATime) {
        transfers.check_ports(&run)?;
    }
    if demands.has(TransferLaw::GapPerByte) {
        transfers.check_gaps(&run)?;
    }
    if demands.has(TransferLaw::LinkCapacity) {
        links::check(&run, records)?;
    }
    memory::check(&run, &transfers, &last_uses)
}

/// The problem, and when each op was executed.
struct Run<'a> {
    instance: &'a Instance,
    graph: &'a DataflowGraph,
    cluster: &'a Cluster,
    placement: &'a Placement,
    demands: Demands,
    start: Vec<Time>,
    end: Vec<Time>,
}

/// Whether `a` is later than `b` by more than rounding explains.
fn is_later(a: Time, b: Time) -> bool {
    is_less(b, a)
}

/// Whether an interval is as long as expected.
fn lasts(start: Time, end: Time, expected: Time) -> bool {
    is_equal(end, start + expected)
}

fn are_times(start: Time, end: Time) -> bool {
    start.is_finite() && end.is_finite() && start >= 0.0 && end >= start
}

impl<'a> Run<'a> {
    fn new(
        instance: &'a Instance,
        placement: &'a Placement,
        records: &[OpRecord],
        demands: Demands,
    ) -> Result<Self, Violation> {
        let (graph, cluster) = (instance.graph(), instance.cluster());
        let (found, expected) = (placement.devices().len(), graph.op_count());
        if found != expected {
            return Err(Violation::WrongLength { found, expected });
        }
        let is_device = |device: DeviceId| device.index() < cluster.device_count();
        let times = vec![-1.0; expected];
        let mut run = Self { instance, graph, cluster, placement, demands, start: times.clone(), end: times };
        for record in records {
            let OpRecord { op, device, start, end } = *record;
            if op.index() >= expected {
                return Err(Violation::Unknown { what: format!("op {op}") });
            }
            if let Some(device) = [device, placement.device_of(op)].into_iter().find(|&device| !is_device(device)) {
                return Err(Violation::Unknown { what: format!("device {device}") });
            }
            if !are_times(start, end) {
                return Err(Violation::BadTime { what: graph.label(op), start, end });
            }
            if run.start[op.index()] >= 0.0 {
                let (op, first) = (graph.label(op), run.start[op.index()]);
                return Err(Violation::ExecutedTwice { op, first, second: start });
            }
            if device != run.device_of(op) {
                return Err(Violation::WrongDevice {
                    op: graph.label(op),
                    placed: run.name(run.device_of(op)),
                    device: run.name(device),
                    start,
                });
            }
            run.start[op.index()] = start;
            run.end[op.index()] = end;
        }
        match graph.op_ids().find(|op| run.start[op.index()] < 0.0) {
            Some(op) => Err(Violation::NotExecuted { op: graph.label(op) }),
            None => Ok(run),
        }
    }

    fn device_of(&self, op: OpId) -> DeviceId {
        self.placement.device_of(op)
    }

    fn name(&self, device: DeviceId) -> String {
        self.cluster.device(device).name.clone()
    }

    fn op_on_device(&self, op: OpId) -> String {
        format!("{} on '{}'", self.graph.label(op), self.name(self.device_of(op)))
    }

    fn check_durations(&self) -> Result<(), Violation> {
        if !self.demands.exact_tasks() {
            return Ok(());
        }
        for op in self.graph.op_ids() {
            let class = self.cluster.class(self.device_of(op));
            let alone = match self.graph.measured_on(class).and_then(|times| times.of(op)) {
                Some(time) => time,
                None => self.unmeasured_time(op),
            };
            // What only forwards a tensor takes no time, and no device.
            let forwards = self.graph.forwards(op);
            let expected = if forwards { 0.0 } else { alone + self.cluster.op_overhead(self.device_of(op)) };
            let (start, end) = (self.start[op.index()], self.end[op.index()]);
            if !lasts(start, end, expected) {
                let what = self.op_on_device(op);
                return Err(Violation::WrongDuration { what, start, took: end - start, expected });
            }
        }
        Ok(())
    }

    /// Time of an op on its device where none was measured: operations or bytes, whichever takes longer.
    fn unmeasured_time(&self, op: OpId) -> Time {
        let device = self.device_of(op);
        let (speed, roofline) = (self.cluster.device(device).speed, self.cluster.roofline(device));
        let op_type = self.graph.op_types().and_then(|types| types.get(op.index()));
        let rate = match (roofline.matrix_speed, op_type) {
            (Some(matrix_speed), Some(op_type)) if is_matrix_op(op_type) => matrix_speed,
            _ => speed,
        };
        let computing = self.graph.ops(op) / rate;
        match (self.graph.bytes_moved(op), roofline.memory_bandwidth) {
            (Some(bytes), Some(bandwidth)) => computing.max(bytes / bandwidth),
            _ => computing,
        }
    }

    fn check_constraints(&self) -> Result<(), Violation> {
        for op in self.graph.op_ids() {
            let device = self.cluster.device(self.device_of(op));
            if !self.graph.kinds(op).contains(device.kind) {
                return Err(Violation::WrongKind {
                    op: self.graph.label(op),
                    kinds: self.graph.kinds(op),
                    device: device.name.clone(),
                    kind: device.kind,
                });
            }
        }
        for (_, members) in self.graph.colocation().groups() {
            for pair in members.windows(2) {
                let (first_device, second_device) = (self.device_of(pair[0]), self.device_of(pair[1]));
                if first_device != second_device {
                    return Err(Violation::Separated {
                        first: self.graph.label(pair[0]),
                        second: self.graph.label(pair[1]),
                        first_device: self.name(first_device),
                        second_device: self.name(second_device),
                    });
                }
            }
        }
        Ok(())
    }

    /// Ops, but for those that only forward a tensor, send ops and receive ops, one at a time on each device.
    fn check_overlap(&self, records: &Records) -> Result<(), Violation> {
        let (sends, receives) = (records.sends.len(), records.receives.len());
        let span = |device: DeviceId, (start, end): (Time, Time), index: usize| Span { device, start, end, index };
        let ops = records
            .ops
            .iter()
            .filter(|record| !self.graph.forwards(record.op))
            .map(|record| span(record.device, (record.start, record.end), sends + receives + record.op.index()));
        let of_sends = records.sends.iter().enumerate();
        let of_sends = of_sends.map(|(at, record)| span(record.route.from, (record.start, record.end), at));
        let of_receives = records.receives.iter().enumerate();
        let of_receives = of_receives.map(|(at, record)| span(record.route.to, (record.start, record.end), sends + at));
        let label = |index: usize| match (records.sends.get(index), index.checked_sub(sends + receives)) {
            (Some(send), _) => format!("the send op of {}", transfers::label(self, send.route)),
            (None, Some(op)) => self.graph.label(OpId::new(op)),
            (None, None) => {
                format!("the receive op of {}", transfers::label(self, records.receives[index - sends].route))
            }
        };
        match first_overlap(ops.chain(of_sends).chain(of_receives).collect()) {
            None => Ok(()),
            Some((first, second)) => Err(Violation::Overlap {
                time: second.start,
                device: self.name(second.device),
                first: label(first.index),
                second: label(second.index),
            }),
        }
    }
}

/// Something that occupies a device, or one of its ports, alone.
#[derive(Clone, Copy)]
struct Span {
    device: DeviceId,
    start: Time,
    end: Time,
    index: usize,
}

/// Two spans of one device that overlap.
fn first_overlap(mut spans: Vec<Span>) -> Option<(Span, Span)> {
    spans.sort_unstable_by(|a, b| {
        let times = a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end));
        a.device.cmp(&b.device).then(times).then(a.index.cmp(&b.index))
    });
    let mut last: Option<Span> = None;
    for span in spans {
        match last {
            Some(before) if before.device == span.device => {
                if is_later(before.end, span.start) {
                    return Some((before, span));
                }
                if span.end > before.end {
                    last = Some(span);
                }
            }
            _ => last = Some(span),
        }
    }
    None
}
