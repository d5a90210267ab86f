//! Makes a cluster, and graphs with their times, of what was measured on a machine.

mod fit;
mod measured;
mod quiet;
mod run;
mod settings;
mod sharing;
mod threads;

use std::collections::BTreeMap;
use std::fmt;

use placebench_datasets::{
    Cluster, ClusterError, DataflowGraph, Device, DeviceId, GraphError, Kind, Link, TransferOverheads,
};

pub use fit::Line;
pub use measured::{
    Equation, Flow, Measured, MeasuredDevice, MeasuredGraph, MeasuredNoise, MeasuredStep, MeasuredTransfer,
};
pub use quiet::{LOUD, QuietMeasurement, TOO_LOUD, measure_quietly};
pub use run::measure;
pub use settings::CalibrateSettings;
pub use sharing::network_errors;

use crate::statistics::mean;
use fit::non_negative_least_squares;

/// Why measurements make no cluster.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrationError {
    /// The driver did not answer.
    #[error("{0}")]
    Driver(String),
    /// Other processes kept the machine busy.
    #[error("other processes used {:.0} % of a core in the quietest of {tries} measurements: stop them, or use --anyway", cores * 100.0)]
    Busy {
        /// Cores that they used.
        cores: f64,
        /// How often it was measured.
        tries: usize,
    },
    /// The answer contradicts itself.
    #[error("the driver's answer is unusable: {0}")]
    Answer(String),
    /// The numbers make no cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The times do not fit the graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// What a machine's devices take, as far as lines say it.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The cluster, in seconds, bytes and operations.
    pub cluster: Cluster,
    /// By device: equations' times over their operations. Its inverse slope is the device's speed.
    pub speeds: Vec<Line>,
    /// By type of op, those that took longest first: the operations a second of each device.
    pub types: Vec<(String, Vec<f64>)>,
    /// By ordered pair.
    pub pairs: Vec<PairFit>,
    /// How far network models are off how pairs share: see [`network_errors`].
    pub networks: Vec<(&'static str, f64)>,
    /// How pairs that send at once slow each other: for each set of pairs, its time / that of the first pair alone.
    pub sharing: Vec<(Vec<[usize; 2]>, f64)>,
}

/// What a transfer takes between two devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairFit {
    /// Sender.
    pub from: DeviceId,
    /// Receiver.
    pub to: DeviceId,
    /// Of the sender's time.
    pub send: Line,
    /// Of the receiver's time.
    pub receive: Line,
    /// Between the two: what is left of the least time from producer to consumer.
    pub link: Line,
    /// From producer to consumer.
    pub one_way: Line,
    /// How sender and receiver were measured.
    pub ends: Ends,
}

/// How it was measured what a transfer takes of its sender and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Tensors were sent one by one.
    Alone,
    /// In steps of random graphs.
    InSteps,
}

impl Calibration {
    /// Fits lines to measurements.
    ///
    /// The overhead of an op is the mean over the graphs of what a step takes beyond its equations, or what was measured of ops
    /// that do nothing. A transfer takes what its sender and its receiver are busy for, and the link takes the rest of the
    /// least time from producer to consumer. The ends of a large tensor can overlap, and then nothing is left for the link.
    ///
    /// Processors say in random steps what transfers take of them: what they do beside their ops, fitted to a constant and a
    /// cost a byte of what they send and of what they receive. Other devices, and measurements without such steps, have only
    /// tensors that were sent one by one. The ends of a small one cannot overlap: if they take longer than the tensor needs from
    /// producer to consumer, the rest is waking up and falling asleep, which a busy device does not do. So the constants are
    /// shortened to what fits.
    ///
    /// # Errors
    /// If devices or pairs are missing, or the numbers make no cluster.
    pub fn of(measured: &Measured) -> Result<Self, CalibrationError> {
        let count = measured.devices.len();
        let mut devices = Vec::with_capacity(count);
        let mut speeds = Vec::with_capacity(count);
        let mut overheads = Vec::with_capacity(count);
        for device in &measured.devices {
            let named = |name: &str| format!("device '{name}'");
            let kind = device.kind.to_uppercase();
            let kind: Kind = kind.parse().map_err(|_| {
                CalibrationError::Answer(format!("{} is of the unknown kind '{}'", named(&device.name), device.kind))
            })?;
            let times: Vec<(f64, f64)> = measured
                .equations
                .iter()
                .filter_map(|equation| Some((equation.operations, *equation.step_seconds.get(&device.name)?)))
                .collect();
            let line = Line::through(&times);
            if line.per_unit <= 0.0 {
                let name = named(&device.name);
                return Err(CalibrationError::Answer(format!("{name} has no equations whose times grow")));
            }
            let beyond = measured.graphs.iter().filter_map(|graph| graph.op_overhead_seconds.get(&device.name));
            let beyond = mean(beyond.copied()).or(device.op_overhead_seconds);
            overheads.push(beyond.unwrap_or(0.0).max(0.0));
            let (name, memory_bytes) = (device.name.clone(), device.memory_bytes);
            devices.push(Device { name, kind, memory_bytes, speed: 1.0 / line.per_unit });
            speeds.push(line);
        }
        let mut pairs = Vec::new();
        for from in 0..count {
            for to in (0..count).filter(|&to| to != from) {
                pairs.push(pair_fit(measured, from, to)?);
            }
        }
        let of = |from: DeviceId, to: DeviceId| pairs.iter().find(|pair| (pair.from, pair.to) == (from, to));
        let link = |from, to| {
            let line = of(from, to).map_or(Line::default(), |pair| pair.link);
            Link { rate: 1.0 / line.per_unit, latency: line.constant }
        };
        let beside = |from, to| {
            let lines = of(from, to).map(|pair| (pair.send, pair.receive)).unwrap_or_default();
            TransferOverheads {
                send: lines.0.constant,
                send_per_byte: lines.0.per_unit,
                receive: lines.1.constant,
                receive_per_byte: lines.1.per_unit,
            }
        };
        let cluster = Cluster::new(devices, link)?
            .with_op_overheads(|device| overheads[device.index()])?
            .with_transfer_overheads(beside)?;
        let alone = measured.flows.iter().find(|flow| flow.pairs.len() == 1).map(|flow| flow.seconds);
        let sharing = match alone {
            Some(alone) if alone > 0.0 => {
                let several = measured.flows.iter().filter(|flow| flow.pairs.len() > 1);
                several.map(|flow| (flow.pairs.clone(), flow.seconds / alone)).collect()
            }
            _ => Vec::new(),
        };
        let networks = network_errors(&pairs, &measured.flows);
        Ok(Self { cluster, speeds, types: types(measured), pairs, networks, sharing })
    }

    /// A graph with the times that its ops' equations took on these devices: for each kind, the mean over the devices of
    /// the kind.
    ///
    /// # Errors
    /// If the graph has other ops than the measured one.
    pub fn timed(
        measured: &Measured,
        of: &MeasuredGraph,
        graph: &DataflowGraph,
    ) -> Result<DataflowGraph, CalibrationError> {
        let mut names: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
        for device in &measured.devices {
            if let Ok(kind) = device.kind.parse::<Kind>() {
                names.entry(kind.class()).or_default().push(&device.name);
            }
        }
        let mut timed = graph.clone();
        for (class, names) in names {
            let time = |op: &Option<usize>| match op {
                None => Some(0.0),
                Some(equation) => {
                    let times = &measured.equations.get(*equation)?.step_seconds;
                    mean(names.iter().filter_map(|&name| times.get(name)).copied())
                }
            };
            timed = timed.with_measured_times(class, of.ops.iter().map(time).collect())?;
        }
        Ok(timed)
    }
}

/// Operations a second of each device, by type of op.
fn types(measured: &Measured) -> Vec<(String, Vec<f64>)> {
    // By type, the operations and the seconds of each device.
    let mut sums: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for equation in &measured.equations {
        let of_devices = sums.entry(&equation.kind).or_default();
        of_devices.resize(measured.devices.len(), (0.0, 0.0));
        for (device, sum) in measured.devices.iter().zip(of_devices) {
            // Without a time nothing was measured: noise hid it.
            if let Some(seconds) = equation.step_seconds.get(&device.name).filter(|&&seconds| seconds > 0.0) {
                *sum = (sum.0 + equation.operations, sum.1 + seconds);
            }
        }
    }
    let total = |sums: &[(f64, f64)]| sums.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let mut types: Vec<_> = sums.into_iter().collect();
    types.sort_by(|a, b| total(&b.1).total_cmp(&total(&a.1)).then(a.0.cmp(b.0)));
    let rate = |(operations, seconds): (f64, f64)| if seconds > 0.0 { operations / seconds } else { 0.0 };
    types.into_iter().map(|(kind, sums)| (kind.to_owned(), sums.into_iter().map(rate).collect())).collect()
}

fn pair_fit(measured: &Measured, from: usize, to: usize) -> Result<PairFit, CalibrationError> {
    let of_pair = || measured.transfers.iter().filter(|transfer| (transfer.from, transfer.to) == (from, to));
    if of_pair().count() < 2 {
        return Err(CalibrationError::Answer(format!("fewer than two sizes were sent from device {from} to {to}")));
    }
    let line = |time: fn(&MeasuredTransfer) -> f64| {
        Line::through(&of_pair().map(|transfer| (transfer.bytes as f64, time(transfer))).collect::<Vec<_>>())
    };
    let one_way = line(|transfer| transfer.one_way_seconds[0]);
    let in_steps = in_steps(&measured.steps, from, to);
    let (send, receive, ends) = in_steps.map_or_else(
        || {
            let (mut send, mut receive) =
                (line(|transfer| transfer.sender_seconds), line(|transfer| transfer.receiver_seconds));
            let ends = send.constant + receive.constant;
            if one_way.constant < ends {
                send.constant *= one_way.constant / ends;
                receive.constant *= one_way.constant / ends;
            }
            (send, receive, Ends::Alone)
        },
        |(send, receive)| (send, receive, Ends::InSteps),
    );
    // What the ends do not explain of the time of a tensor that is sent alone.
    let link = Line {
        constant: (one_way.constant - send.constant - receive.constant).max(0.0),
        per_unit: (one_way.per_unit - send.per_unit - receive.per_unit).max(0.0),
        residual: one_way.residual,
    };
    Ok(PairFit { from: DeviceId::new(from), to: DeviceId::new(to), send, receive, link, one_way, ends })
}

/// What a transfer takes of its sender and of its receiver within steps.
fn in_steps(steps: &[MeasuredStep], from: usize, to: usize) -> Option<(Line, Line)> {
    let (sender, _) = beside_ops(steps, from, to)?;
    let (_, receiver) = beside_ops(steps, to, from)?;
    Some((sender, receiver))
}

/// What sending to a peer and receiving from it take of a device: least squares of errors relative to what the device did in
/// all, so that a step counts for its share of what will be predicted. The residual is that of the step.
///
/// A device sends about as much as it receives, so steps tell well what both take together, and hardly what each takes. What they
/// do not tell counts half for each: a ridge, as wide as the errors say, draws the two lines together.
fn beside_ops(steps: &[MeasuredStep], device: usize, peer: usize) -> Option<(Line, Line)> {
    let rows: Vec<([f64; 4], f64)> = steps
        .iter()
        .filter(|step| (step.device, step.peer) == (device, peer) && step.busy_seconds > 0.0)
        .map(|step| {
            let moved = [step.sends, step.sent_bytes, step.receives, step.received_bytes];
            (moved.map(|count| count as f64 / step.busy_seconds), 1.0 - step.op_seconds / step.busy_seconds)
        })
        .collect();
    if rows.len() < 4 {
        return None;
    }
    let residual = |found: [f64; 4]| {
        let error = |(row, value): &([f64; 4], f64)| row.iter().zip(found).map(|(a, x)| a * x).sum::<f64>() - value;
        Some(mean(rows.iter().map(|row| error(row).powi(2)))?.sqrt())
    };
    let both: Vec<([f64; 2], f64)> = rows
        .iter()
        .map(|&([sends, sent, receives, received], value)| ([sends + receives, sent + received], value))
        .collect();
    let [alike, alike_per_byte] = non_negative_least_squares(&both);
    let off = residual(non_negative_least_squares(&rows))?;
    let ridge = |column: usize, alike: f64| {
        let mut row = [0.0; 4];
        if alike > 0.0 {
            (row[column], row[column + 2]) = (off / alike, -off / alike);
        }
        (row, 0.0)
    };
    let ridges = [ridge(0, alike), ridge(1, alike_per_byte)];
    let found = non_negative_least_squares(&[&rows[..], &ridges].concat());
    let residual = residual(found)?;
    let [send, send_per_byte, receive, receive_per_byte] = found;
    let line = |constant, per_unit| Line { constant, per_unit, residual };
    Some((line(send, send_per_byte), line(receive, receive_per_byte)))
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} µs + {:.4} ns/B (± {:.0} %)", self.constant * 1e6, self.per_unit * 1e9, self.residual * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two CPUs that compute 1e9 operations a second and add 20 µs; a transfer takes 10 µs + 1 ns a byte of the sender,
    /// 30 µs of the receiver, and 5 µs + 0.5 ns a byte between.
    fn measured() -> Measured {
        let device = |name: &str| MeasuredDevice {
            name: name.into(),
            kind: "cpu".into(),
            memory_bytes: Some(1 << 30),
            op_overhead_seconds: None,
        };
        let by_device = |seconds: f64| [("a".to_owned(), seconds), ("b".to_owned(), seconds)].into();
        let equation = |operations: f64| Equation {
            kind: if operations > 5e6 { "dot" } else { "add" }.into(),
            operations,
            step_seconds: by_device(operations * 1e-9),
        };
        let transfer = |(from, to), bytes: u64| {
            let size = bytes as f64;
            let (sender_seconds, receiver_seconds) = (10e-6 + 1e-9 * size, 30e-6);
            let least = sender_seconds + receiver_seconds + 5e-6 + 0.5e-9 * size;
            MeasuredTransfer {
                from,
                to,
                bytes,
                sender_seconds,
                receiver_seconds,
                one_way_seconds: [least, 2.0 * least],
            }
        };
        let sizes = [1u64 << 10, 1 << 16, 1 << 22];
        Measured {
            devices: vec![device("a"), device("b")],
            equations: vec![equation(1e6), equation(1e7)],
            graphs: vec![MeasuredGraph {
                graph: "toy".into(),
                ops: vec![None, Some(1), Some(0)],
                op_overhead_seconds: by_device(20e-6),
            }],
            transfers: [(0, 1), (1, 0)].into_iter().flat_map(|pair| sizes.map(|size| transfer(pair, size))).collect(),
            flows: vec![
                Flow { pairs: vec![[0, 1]], bytes: 1 << 22, seconds: 1e-3 },
                Flow { pairs: vec![[0, 1], [1, 0]], bytes: 1 << 22, seconds: 1.8e-3 },
            ],
            steps: Vec::new(),
            noise: None,
        }
    }

    /// A step in which a device is busy for 1 ms and its transfers, which take twice what they do alone.
    fn step(device: usize, sends: u64, receives: u64, bytes: u64) -> MeasuredStep {
        let (sent_bytes, received_bytes) = (sends * bytes, receives * bytes);
        let moved = 20e-6 * sends as f64 + 2e-9 * sent_bytes as f64 + 60e-6 * receives as f64;
        MeasuredStep {
            device,
            peer: 1 - device,
            sends,
            sent_bytes,
            receives,
            received_bytes,
            busy_seconds: 1e-3 + moved,
            op_seconds: 1e-3,
        }
    }

    #[test]
    fn what_transfers_take_in_steps_counts_for_both_ends() {
        let mut measured = measured();
        let counts = [(1, 9), (5, 2), (7, 7), (0, 4), (3, 0)];
        measured.steps = counts
            .into_iter()
            .flat_map(|(sends, receives)| [1 << 8, 1 << 20].map(|bytes| (sends, receives, bytes)))
            .flat_map(|(sends, receives, bytes)| [0, 1].map(|device| step(device, sends, receives, bytes)))
            .collect();
        let found = Calibration::of(&measured).unwrap();
        assert!(found.pairs.iter().all(|pair| pair.ends == Ends::InSteps));
        let overheads = found.cluster.transfer_overheads(DeviceId(1), DeviceId(0));
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} is not {b}");
        near(overheads.send, 20e-6);
        near(overheads.send_per_byte, 2e-9);
        near(overheads.receive, 60e-6);
        assert!(overheads.receive_per_byte < 1e-15);
        // Alone, a tensor takes less than its ends in steps: nothing is left for the link.
        assert_eq!(found.cluster.link(DeviceId(0), DeviceId(1)).latency, 0.0);
        // Steps of one device alone say nothing about the other end.
        measured.steps.retain(|step| step.device == 0);
        let found = Calibration::of(&measured).unwrap();
        assert!(found.pairs.iter().all(|pair| pair.ends == Ends::Alone));
        near(found.cluster.transfer_overheads(DeviceId(1), DeviceId(0)).send, 10e-6);
    }

    /// Devices that send as much as they receive, but for one tensor, and that vary: what such steps do not tell is halved.
    #[test]
    fn what_steps_do_not_tell_apart_counts_half_for_each_end() {
        let mut measured = measured();
        measured.steps = (0..12_u32)
            .flat_map(|number| {
                let (sends, receives) = (30 + number + number % 2, 30 + number + (number + 1) % 2);
                [0, 1].map(|device| {
                    let bytes = if number % 3 == 0 { 1 << 16 } else { 4 };
                    let made = step(device, u64::from(sends), u64::from(receives), bytes);
                    let varies = if number / 2 % 2 == 0 { 1.04 } else { 0.96 };
                    MeasuredStep { busy_seconds: made.busy_seconds * varies, ..made }
                })
            })
            .collect();
        let found = Calibration::of(&measured).unwrap();
        let overheads = found.cluster.transfer_overheads(DeviceId(0), DeviceId(1));
        let (send, receive) = (overheads.send, overheads.receive);
        assert!((send + receive - 80e-6).abs() < 8e-6, "{send} and {receive} are not 20 and 60 µs together");
        assert!((send - receive).abs() < 0.5 * (send + receive), "{send} and {receive} are far apart");
    }

    #[test]
    fn a_machine_that_obeys_the_model_is_found_again() {
        let found = Calibration::of(&measured()).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} is not {b}");
        let (a, b) = (DeviceId(0), DeviceId(1));
        near(found.cluster.device(a).speed, 1e9);
        near(found.cluster.op_overhead(b), 20e-6);
        let overheads = found.cluster.transfer_overheads(a, b);
        near(overheads.send, 10e-6);
        near(overheads.send_per_byte, 1e-9);
        near(overheads.receive, 30e-6);
        assert!(overheads.receive_per_byte < 1e-15);
        near(found.cluster.link(b, a).latency, 5e-6);
        near(found.cluster.link(b, a).rate, 2e9);
        let [(pairs, ratio)] = &found.sharing[..] else { panic!("{:?}", found.sharing) };
        assert_eq!(*pairs, [[0, 1], [1, 0]]);
        near(*ratio, 1.8);
        let types: Vec<&str> = found.types.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(types, ["dot", "add"]);
        near(found.types[1].1[1], 1e9);
        assert_eq!(found.networks.len(), 3);
        assert!(found.pairs.iter().all(|pair| pair.one_way.residual < 1e-9));
    }

    #[test]
    fn without_graphs_the_overhead_is_that_of_ops_that_do_nothing() {
        let mut measured = measured();
        measured.graphs.clear();
        measured.devices[1].op_overhead_seconds = Some(7e-6);
        let found = Calibration::of(&measured).unwrap();
        assert_eq!([0, 1].map(|device| found.cluster.op_overhead(DeviceId(device))), [0.0, 7e-6]);
    }

    #[test]
    fn ends_that_overlap_leave_nothing_for_the_link() {
        let mut measured = measured();
        measured.transfers.iter_mut().for_each(|transfer| transfer.one_way_seconds[0] *= 0.5);
        let found = Calibration::of(&measured).unwrap();
        let link = found.cluster.link(DeviceId(0), DeviceId(1));
        assert_eq!((link.latency, link.rate), (0.0, f64::INFINITY));
    }

    #[test]
    fn the_ends_of_a_small_tensor_take_no_longer_than_its_way() {
        let mut measured = measured();
        measured.transfers.iter_mut().for_each(|transfer| transfer.one_way_seconds[0] *= 0.5);
        let found = Calibration::of(&measured).unwrap();
        let overheads = found.cluster.transfer_overheads(DeviceId(0), DeviceId(1));
        // 10 and 30 µs, where the way takes 22.5 µs; what a byte takes stays.
        assert!((overheads.send - 5.625e-6).abs() < 1e-11 && (overheads.receive - 16.875e-6).abs() < 1e-11);
        assert!((overheads.send_per_byte - 1e-9).abs() < 1e-15);
    }

    #[test]
    fn ops_get_the_times_of_their_equations() {
        let mut builder = placebench_datasets::GraphBuilder::default();
        for _ in 0..3 {
            builder.add_op(placebench_datasets::OpSpec::cost(1.0), &[]);
        }
        let graph = builder.build().unwrap();
        let measured = measured();
        let timed = Calibration::timed(&measured, &measured.graphs[0], &graph).unwrap();
        let on_cpu = timed.measured_on("cpu").unwrap();
        let times: Vec<_> = timed.op_ids().map(|op| on_cpu.of(op)).collect();
        assert_eq!(times, [Some(0.0), Some(0.01), Some(0.001)]);
        assert!(
            Calibration::timed(&measured, &MeasuredGraph { ops: vec![None], ..measured.graphs[0].clone() }, &graph)
                .is_err()
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let refused = |change: fn(&mut Measured)| {
            let mut measured = measured();
            change(&mut measured);
            Calibration::of(&measured).unwrap_err().to_string()
        };
        assert!(refused(|measured| measured.transfers.truncate(3)).contains("from device 1 to 0"));
        assert!(refused(|measured| measured.devices[1].kind = "abacus".into()).contains("unknown kind 'abacus'"));
        assert!(refused(|measured| measured.equations.clear()).contains("device 'a' has no equations"));
    }
}
