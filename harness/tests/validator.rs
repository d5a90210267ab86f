//! Every corruption of a valid run is caught, and called by its name.

use placebench_algorithms::schedulers::Fifo;
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec, PlacedGraph, Placement,
    TensorId, TransferOverheads,
};
use placebench_harness::execute::simulate::{ContentionFree, LogGp, NetworkModel, OnePort, simulate};
use placebench_harness::validator::{Demands, Records, RouteRecord, Violation, validate};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;
const E: usize = 4;
const F: usize = 5;

/// A run of this graph, with its device below each op and memory limits that just hold:
/// ```text
///          ┌─8─▶ b ···▶ d      a feeds b, c and d with its output 0 and e with its output 1;
///   a ─────┼─8─▶ c      ▲      b only precedes d (control); b feeds f; e and f are colocated;
///  d0      ├─8──────────┘      e and f need a GPU
///          └─4─▶ e   b ─2─▶ f
/// ```
/// a, b on d0 (CPU); c, d on d1 (CPU); e, f on d2 (GPU).
struct Case {
    instance: Instance,
    placement: Placement,
    network: &'static dyn NetworkModel,
    records: Records,
}

fn instance_with(send_ops: f64, memory: [Option<u64>; 3]) -> Instance {
    let mut builder = GraphBuilder::default();
    let mut add = |name, ops, kinds, outputs: &[u64]| {
        builder.add_op(OpSpec { ops, name: Some(name), kinds, memory_bytes: 1, ..OpSpec::default() }, outputs)
    };
    let gpu = KindSet::only(Kind::Gpu);
    let a = add("a", 10.0, KindSet::ALL, &[8, 4]);
    let b = add("b", 20.0, KindSet::ALL, &[2]);
    let c = add("c", 30.0, KindSet::ALL, &[]);
    let d = add("d", 10.0, KindSet::ALL, &[]);
    let e = add("e", 40.0, gpu, &[]);
    let f = add("f", 40.0, gpu, &[]);
    for (producer, port, consumer) in [(a, 0, b), (a, 0, c), (a, 0, d), (a, 1, e), (b, 0, f)] {
        builder.add_edge(producer, port, consumer).unwrap();
    }
    builder.add_control_edge(b, d).unwrap();
    builder.colocate(e, f).unwrap();
    let device = |index: usize, kind| Device {
        name: format!("d{index}"),
        kind,
        memory_bytes: memory[index],
        speed: [10.0, 10.0, 20.0][index],
    };
    let devices = vec![device(0, Kind::Cpu), device(1, Kind::Cpu), device(2, Kind::Gpu)];
    let cluster = Cluster::new(devices, |_, _| Link { rate: 4.0, latency: 0.5 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster.with_send_ops(send_ops).unwrap()).unwrap()
}

fn placement(devices: [u32; 6]) -> Placement {
    Placement::new(devices.map(DeviceId).to_vec())
}

fn case(network: &'static dyn NetworkModel, send_ops: f64) -> Case {
    // Demands: a 1+12, b 1+2+8; c 1+8, d 1+8; e 1+4, f 1+2.
    case_of(network, instance_with(send_ops, [Some(25), Some(19), Some(9)]))
}

fn case_of(network: &'static dyn NetworkModel, instance: Instance) -> Case {
    let placement = placement([0, 0, 1, 1, 2, 2]);
    let placed = PlacedGraph::new(&instance, &placement);
    let records = simulate(&placed, &Fifo, None, network).unwrap().records(&placed);
    let case = Case { instance, placement, network, records };
    assert_eq!(case.check(), Ok(()));
    case
}

fn free() -> Case {
    case(&ContentionFree, 0.0)
}

fn with_sends() -> Case {
    case(&ContentionFree, 5.0)
}

/// Each transfer takes 0.25 of its receiver.
fn with_receives() -> Case {
    let free = instance_with(0.0, [None; 3]);
    let overheads = TransferOverheads { receive: 0.25, ..TransferOverheads::NONE };
    let cluster = free.cluster().clone().with_transfer_overheads(|_, _| overheads).unwrap();
    case_of(&ContentionFree, Instance::new(free.graph().clone(), cluster).unwrap())
}

impl Case {
    fn check(&self) -> Result<(), Violation> {
        validate(&self.instance, &self.placement, &self.records, self.network.demands())
    }

    fn corrupt(mut self, change: impl FnOnce(&mut Records)) -> Violation {
        change(&mut self.records);
        self.check().expect_err("the corruption is found")
    }
}

/// The position of what `source` moves to a device.
fn moved(records: &[RouteRecord], source: usize, to: u32) -> usize {
    let is_it = |record: &RouteRecord| record.route.source.index() == source && record.route.to.0 == to;
    records.iter().position(is_it).unwrap()
}

fn shift(record: &mut RouteRecord, by: f64) {
    record.start += by;
    record.end += by;
}

macro_rules! assert_violation {
    ($violation:expr, $pattern:pat, $message:expr) => {
        let violation: Violation = $violation;
        assert!(matches!(violation, $pattern), "{violation:?}");
        assert_eq!(violation.to_string(), $message);
    };
}

#[test]
fn the_valid_run_is_what_the_test_reader_expects() {
    let records = free().records;
    let op = |op: usize| (records.ops[op].start, records.ops[op].end);
    assert_eq!([op(A), op(B), op(C), op(D)], [(0.0, 1.0), (1.0, 3.0), (3.5, 6.5), (6.5, 7.5)]);
    assert_eq!([op(E), op(F)], [(2.5, 4.5), (4.5, 6.5)]);
    assert_eq!(records.transfers.len(), 4);
}

#[test]
fn the_order_of_records_does_not_matter() {
    let mut case = with_sends();
    case.records.ops.reverse();
    case.records.sends.reverse();
    case.records.transfers.reverse();
    assert_eq!(case.check(), Ok(()));
}

#[test]
fn an_op_that_was_not_executed_is_found() {
    let violation = free().corrupt(|records| {
        records.ops.remove(C);
    });
    assert_violation!(violation, Violation::NotExecuted { .. }, "op 'c' was never executed");
}

#[test]
fn an_op_that_was_executed_twice_is_found() {
    let violation = free().corrupt(|records| {
        let mut again = records.ops[C];
        (again.start, again.end) = (20.0, 23.0);
        records.ops.push(again);
    });
    assert_violation!(violation, Violation::ExecutedTwice { .. }, "op 'c' was executed twice, at 3.5 and at 20");
}

#[test]
fn records_of_what_does_not_exist_are_found() {
    let unknown = |change: fn(&mut Records)| match free().corrupt(change) {
        Violation::Unknown { what } => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(unknown(|records| records.ops[A].op = OpId(99)), "op 99");
    assert_eq!(unknown(|records| records.ops[A].device = DeviceId(7)), "device 7");
    assert_eq!(unknown(|records| records.transfers[0].route.source = OpId(99)), "op 99");
    assert_eq!(unknown(|records| records.transfers[0].route.tensor = Some(TensorId(99))), "tensor 99");
    assert_eq!(unknown(|records| records.transfers[0].route.to = DeviceId(7)), "device 7");
}

#[test]
fn a_placement_of_another_length_is_found() {
    let case = Case { placement: Placement::new(vec![DeviceId(0); 5]), ..free() };
    assert_eq!(case.check(), Err(Violation::WrongLength { found: 5, expected: 6 }));
}

#[test]
fn an_op_on_another_device_than_placed_is_found() {
    let violation = free().corrupt(|records| records.ops[C].device = DeviceId(0));
    assert_violation!(
        violation,
        Violation::WrongDevice { .. },
        "op 'c' is placed on 'd1', but was executed on 'd0' at 3.5"
    );
}

#[test]
fn times_that_are_none_are_found() {
    for (start, end) in [(-1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (1.0, 0.0)] {
        let violation = free().corrupt(|records| (records.ops[A].start, records.ops[A].end) = (start, end));
        assert!(matches!(violation, Violation::BadTime { .. }), "{violation:?}");
        let violation = free().corrupt(|records| (records.transfers[0].start, records.transfers[0].end) = (start, end));
        assert!(matches!(violation, Violation::BadTime { .. }), "{violation:?}");
    }
}

#[test]
fn an_op_that_took_another_time_is_found() {
    let violation = free().corrupt(|records| records.ops[D].end -= 0.25);
    assert_violation!(violation, Violation::WrongDuration { .. }, "op 'd' on 'd1' at 6.5 took 0.75 instead of 1");
}

#[test]
fn a_device_of_the_wrong_kind_is_found() {
    let mut case = free();
    case.placement = placement([0, 0, 1, 1, 1, 1]);
    let violation = case.corrupt(|records| {
        for op in [E, F] {
            records.ops[op].device = DeviceId(1);
            records.ops[op].end = records.ops[op].start + 4.0;
        }
    });
    assert_violation!(
        violation,
        Violation::WrongKind { .. },
        "op 'e' may run only on GPU, but was executed on 'd1', a CPU"
    );
}

#[test]
fn colocated_ops_that_are_apart_are_found() {
    let mut builder = GraphBuilder::default();
    let ops: Vec<OpId> = (0..3).map(|_| builder.add_op(OpSpec::cost(1.0), &[])).collect();
    builder.colocate(ops[0], ops[2]).unwrap();
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let placement = Placement::new([0, 1, 1].map(DeviceId).to_vec());
    let placed = PlacedGraph::new(&instance, &placement);
    let network: &dyn NetworkModel = &ContentionFree;
    let records = simulate(&placed, &Fifo, None, network).unwrap().records(&placed);
    assert_violation!(
        validate(&instance, &placement, &records, network.demands()).unwrap_err(),
        Violation::Separated { .. },
        "op 0 and op 2 are colocated, but were executed on 'd0' and 'd1'"
    );
}

#[test]
fn a_missing_transfer_is_found() {
    let violation = free().corrupt(|records| {
        records.transfers.remove(moved(&records.transfers, A, 1));
    });
    assert_violation!(
        violation,
        Violation::NeverMoved { .. },
        "op 'c' on 'd1' started at 3.5 without the transfer of output 0 of op 'a' from 'd0' to 'd1'"
    );
}

#[test]
fn a_missing_control_signal_is_found() {
    let violation = free().corrupt(|records| {
        records.transfers.remove(moved(&records.transfers, B, 1));
    });
    assert_violation!(
        violation,
        Violation::NeverMoved { .. },
        "op 'd' on 'd1' started at 6.5 without the control signal of op 'b' from 'd0' to 'd1'"
    );
}

#[test]
fn a_tensor_that_is_moved_once_for_each_consumer_is_found() {
    let violation = free().corrupt(|records| {
        let mut again = records.transfers[moved(&records.transfers, A, 1)];
        shift(&mut again, 1.0);
        records.transfers.push(again);
    });
    assert_violation!(
        violation,
        Violation::MovedTwice { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd1' happened twice, at 1 and at 2: one send/receive pair serves \
         all consumers on a device"
    );
}

#[test]
fn a_transfer_that_serves_no_consumer_is_found() {
    let violation = free().corrupt(|records| {
        let mut useless = records.transfers[moved(&records.transfers, A, 1)];
        useless.route.to = DeviceId(2);
        records.transfers.push(useless);
    });
    assert_violation!(
        violation,
        Violation::Superfluous { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd2' at 1 serves no consumer"
    );
}

#[test]
fn impossible_transfers_are_found() {
    let reason = |change: fn(&mut RouteRecord)| match free().corrupt(|records| change(&mut records.transfers[0])) {
        Violation::Impossible { reason, .. } => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(|record| record.route.tensor = Some(TensorId(2))), "its source does not produce that tensor");
    assert_eq!(reason(|record| record.route.from = DeviceId(2)), "its source is on another device");
    assert_eq!(reason(|record| record.route.to = DeviceId(0)), "it goes nowhere");
}

#[test]
fn a_transfer_that_took_another_time_is_found() {
    for by in [-0.5, 0.25] {
        let violation = free().corrupt(|records| {
            let position = moved(&records.transfers, A, 2);
            records.transfers[position].end += by;
        });
        assert!(matches!(violation, Violation::WrongDuration { .. }), "{violation:?}");
    }
    // The latency of a control signal counts.
    let violation = free().corrupt(|records| {
        let position = moved(&records.transfers, B, 1);
        records.transfers[position].end = records.transfers[position].start;
    });
    assert_violation!(
        violation,
        Violation::WrongDuration { .. },
        "the control signal of op 'b' from 'd0' to 'd1' at 3 took 0 instead of 0.5"
    );
}

#[test]
fn a_transfer_before_the_end_of_its_producer_is_found() {
    let violation = free().corrupt(|records| {
        let position = moved(&records.transfers, A, 1);
        shift(&mut records.transfers[position], -0.5);
    });
    assert_violation!(
        violation,
        Violation::MovedTooEarly { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd1' started at 0.5, but op 'a' ended only at 1"
    );
}

#[test]
fn an_op_that_starts_before_a_remote_input_arrives_is_found() {
    let violation = free().corrupt(|records| {
        (records.ops[C].start, records.ops[C].end) = (3.25, 6.25);
    });
    assert_violation!(
        violation,
        Violation::StartedTooEarly { .. },
        "op 'c' on 'd1' started at 3.25, but its input from op 'a' was there only at 3.5"
    );
}

#[test]
fn an_op_that_starts_before_a_local_producer_ends_is_found() {
    let violation = free().corrupt(|records| (records.ops[B].start, records.ops[B].end) = (0.5, 2.5));
    assert_violation!(
        violation,
        Violation::StartedTooEarly { .. },
        "op 'b' on 'd0' started at 0.5, but its input from op 'a' was there only at 1"
    );
}

#[test]
fn two_ops_at_once_on_a_device_are_found() {
    let violation = free().corrupt(|records| (records.ops[F].start, records.ops[F].end) = (4.0, 6.0));
    assert_violation!(violation, Violation::Overlap { .. }, "at 4 device 'd2' executed op 'e' and op 'f' at once");
}

#[test]
fn an_op_within_a_longer_one_is_found() {
    let violation = free().corrupt(|records| (records.ops[D].start, records.ops[D].end) = (4.0, 5.0));
    assert!(matches!(violation, Violation::Overlap { .. }), "{violation:?}");
}

#[test]
fn send_ops_must_be_there_where_they_cost_something_and_only_there() {
    let violation = with_sends().corrupt(|records| {
        records.sends.remove(moved(&records.sends, A, 1));
    });
    assert_violation!(
        violation,
        Violation::UnmatchedTask { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd1': it has no send op"
    );
    let violation = with_sends().corrupt(|records| records.sends.push(records.sends[0]));
    assert_violation!(
        violation,
        Violation::UnmatchedTask { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd1': it has a send op too many"
    );
    let violation = free().corrupt(|records| records.sends.push(records.transfers[0]));
    assert_violation!(
        violation,
        Violation::UnmatchedTask { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd1': it has a send op, although sends cost nothing"
    );
}

#[test]
fn a_send_op_that_took_another_time_is_found() {
    let violation = with_sends().corrupt(|records| records.sends[0].end -= 0.25);
    assert!(matches!(violation, Violation::WrongDuration { .. }), "{violation:?}");
}

#[test]
fn a_send_op_before_its_producer_and_a_transfer_before_its_send_op_are_found() {
    let violation = with_sends().corrupt(|records| shift(&mut records.sends[0], -2.75));
    assert!(matches!(violation, Violation::MovedTooEarly { .. }), "{violation:?}");
    let violation = with_sends().corrupt(|records| shift(&mut records.transfers[0], -0.25));
    assert_violation!(
        violation,
        Violation::MovedTooEarly { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd1' started at 3.25, but the send op of the transfer of output 0 \
         of op 'a' from 'd0' to 'd1' ended only at 3.5"
    );
}

#[test]
fn a_send_op_during_an_op_is_found() {
    let violation = with_sends().corrupt(|records| shift(&mut records.sends[0], -0.25));
    assert_violation!(
        violation,
        Violation::Overlap { .. },
        "at 2.75 device 'd0' executed op 'b' and the send op of the transfer of output 0 of op 'a' from 'd0' to 'd1' at once"
    );
}

#[test]
fn the_valid_run_with_receives_is_what_the_test_reader_expects() {
    let records = with_receives().records;
    let op = |op: usize| (records.ops[op].start, records.ops[op].end);
    assert_eq!([op(A), op(B), op(C), op(D)], [(0.0, 1.0), (1.0, 3.0), (4.0, 7.0), (7.0, 8.0)]);
    assert_eq!([op(E), op(F)], [(2.75, 4.75), (5.0, 7.0)]);
    let receives = records.receives.iter().map(|record| (record.start, record.end));
    assert_eq!(receives.collect::<Vec<_>>(), [(3.5, 3.75), (2.5, 2.75), (4.75, 5.0), (3.75, 4.0)]);
}

#[test]
fn a_run_that_ignores_what_receives_cost_is_found() {
    let case = with_receives();
    let violation = validate(&case.instance, &case.placement, &free().records, case.network.demands()).unwrap_err();
    assert_violation!(
        violation,
        Violation::UnmatchedTask { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd1': it has no receive op"
    );
    let violation = free().corrupt(|records| records.receives.push(records.transfers[0]));
    assert_violation!(
        violation,
        Violation::UnmatchedTask { .. },
        "the transfer of output 0 of op 'a' from 'd0' to 'd1': it has a receive op, although receives cost nothing"
    );
    let violation = with_receives().corrupt(|records| (records.ops[E].start, records.ops[E].end) = (2.5, 4.5));
    assert_violation!(
        violation,
        Violation::StartedTooEarly { .. },
        "op 'e' on 'd2' started at 2.5, but its input from op 'a' was there only at 2.75"
    );
    let violation = with_receives().corrupt(|records| {
        let at = moved(&records.receives, A, 2);
        shift(&mut records.receives[at], -0.25);
    });
    assert_violation!(
        violation,
        Violation::MovedTooEarly { .. },
        "the receive op of the transfer of output 1 of op 'a' from 'd0' to 'd2' started at 2.25, but the transfer of output 1 \
         of op 'a' from 'd0' to 'd2' ended only at 2.5"
    );
    let violation = with_receives().corrupt(|records| records.receives[0].end -= 0.125);
    assert!(matches!(violation, Violation::WrongDuration { .. }), "{violation:?}");
    let violation = with_receives().corrupt(|records| {
        let at = moved(&records.receives, B, 2);
        shift(&mut records.receives[at], -0.25);
    });
    assert_violation!(
        violation,
        Violation::Overlap { .. },
        "at 4.5 device 'd2' executed op 'e' and the receive op of the transfer of output 0 of op 'b' from 'd0' to 'd2' at once"
    );
}

#[test]
fn measured_runs_need_not_record_sends_and_receives() {
    for mut case in [with_receives(), with_sends()] {
        case.records.receives.clear();
        case.records.sends.clear();
        assert_eq!(validate(&case.instance, &case.placement, &case.records, Demands::Order), Ok(()));
        assert!(case.check().is_err());
    }
}

#[test]
fn a_contention_free_run_breaks_the_rules_of_loggp() {
    let case = Case { network: &LogGp, ..free() };
    assert_violation!(
        case.check().unwrap_err(),
        Violation::PortOverlap { .. },
        "at 1 device 'd0' sent two transfers at once: the transfer of output 1 of op 'a' from 'd0' to 'd2' and the transfer \
         of output 0 of op 'a' from 'd0' to 'd1'"
    );
}

#[test]
fn a_contention_free_run_breaks_the_rules_of_one_port() {
    let case = Case { network: &OnePort, ..free() };
    assert_violation!(
        case.check().unwrap_err(),
        Violation::PortOverlap { .. },
        "at 1 device 'd0' sent two transfers at once: the transfer of output 1 of op 'a' from 'd0' to 'd2' and the transfer \
         of output 0 of op 'a' from 'd0' to 'd1'"
    );
}

#[test]
fn two_transfers_received_at_once_are_found_under_one_port_and_loggp() {
    // Two producers on two devices, one consumer on a third.
    let mut builder = GraphBuilder::default();
    let ops: Vec<OpId> = (0..3).map(|_| builder.add_op(OpSpec::cost(1.0), &[3])).collect();
    builder.add_edge(ops[0], 0, ops[2]).unwrap();
    builder.add_edge(ops[1], 0, ops[2]).unwrap();
    let cluster = Cluster::uniform(3, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let placement = Placement::new([0, 1, 2].map(DeviceId).to_vec());
    let placed = PlacedGraph::new(&instance, &placement);
    let records = simulate(&placed, &Fifo, None, &ContentionFree).unwrap().records(&placed);
    // Under loggp the validator allows for rounding of the end.
    for (network, time) in [(&OnePort as &dyn NetworkModel, "1"), (&LogGp, "1.000000004")] {
        assert_violation!(
            validate(&instance, &placement, &records, network.demands()).unwrap_err(),
            Violation::PortOverlap { .. },
            format!(
                "at {time} device 'd2' received two transfers at once: the transfer of output 0 of op 0 from 'd0' to 'd2' \
                 and the transfer of output 0 of op 1 from 'd1' to 'd2'"
            )
        );
    }
}

#[test]
fn too_much_in_memory_at_an_instant_is_found() {
    // At 1, b starts on d0: both ops' memory (2), both outputs of a on their way (12), and b's own output (2).
    let case = Case { instance: instance_with(0.0, [Some(15), None, None]), ..free() };
    assert_violation!(
        case.check().unwrap_err(),
        Violation::OutOfMemory { .. },
        "at time 1 device 'd0' held 16.0 B, more than its memory of 15.0 B: the memory rule static refuses the run"
    );
}

#[test]
fn static_demands_that_are_not_below_the_memory_are_found() {
    // 16 bytes are enough at any instant, but the demands are 24.
    let case = Case { instance: instance_with(0.0, [Some(24), None, None]), ..free() };
    assert_violation!(
        case.check().unwrap_err(),
        Violation::DemandTooLarge { .. },
        "the ops on device 'd0' demand 24 bytes, not below its memory of 24 bytes: \
         the memory rule static counts every tensor as if it were never freed"
    );
}

#[test]
fn differences_that_rounding_explains_are_accepted() {
    let mut case = free();
    case.records.ops[C].start *= 1.0 - 1e-12;
    case.records.transfers[0].end *= 1.0 + 1e-12;
    assert_eq!(case.check(), Ok(()));
}
