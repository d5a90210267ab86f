//! Which numbers an instance may have, so that nothing computed from them overflows or vanishes.

use std::ops::RangeInclusive;

use crate::{AssignmentUnits, Cluster, DataflowGraph, TransferOverheads};

/// The least and the largest cost, measured time, speed, rate and latency of an instance; 0 is legal, too, where it makes
/// sense, and a rate may be infinite.
///
/// A time is a quotient of two such numbers: between 1e-140 and 1e140. The sum of all times of a run then stays below
/// 1e155, and its square, and its quotient by any other time, are finite numbers.
pub const MAGNITUDES: RangeInclusive<f64> = 1e-70..=1e70;

/// The most bytes that all ops together may demand: sums of them are exact in signed and unsigned 64-bit numbers.
pub const MOST_BYTES: u64 = i64::MAX as u64;

/// A number that is too large or too small to compute with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MagnitudeError {
    /// A number is outside of [`MAGNITUDES`].
    #[error("{what} is {value:e}: costs, times, speeds, rates and latencies go from 1e-70 to 1e70: choose other units")]
    Number {
        /// The number, with the op, device or link that it belongs to.
        what: String,
        /// Its value.
        value: f64,
    },
    /// The demands for memory add up to more than [`MOST_BYTES`].
    #[error("memory and tensors of the ops up to {op} add up to more than 2^63 bytes: choose a larger unit")]
    Bytes {
        /// The op at which the sum goes too far.
        op: String,
    },
}

/// Checks every number of a graph on a cluster.
///
/// # Complexity
/// O(ops + devices²).
pub(crate) fn check(graph: &DataflowGraph, cluster: &Cluster, units: &AssignmentUnits) -> Result<(), MagnitudeError> {
    let fits = |value: f64| value == 0.0 || MAGNITUDES.contains(&value);
    let refuse = |what: String, value: f64| Err(MagnitudeError::Number { what, value });
    if let Some(op) = graph.op_ids().find(|&op| !fits(graph.ops(op))) {
        return refuse(format!("the cost of {}", graph.label(op)), graph.ops(op));
    }
    for measured in graph.measured_times() {
        let mut times = graph.op_ids().filter_map(|op| Some((op, measured.of(op)?)));
        if let Some((op, time)) = times.find(|&(_, time)| !fits(time)) {
            return refuse(format!("the time of {} on a {}", graph.label(op), measured.class()), time);
        }
    }
    let mut moved = graph.op_ids().filter_map(|op| Some((op, graph.bytes_moved(op)?)));
    if let Some((op, bytes)) = moved.find(|&(_, bytes)| !fits(bytes)) {
        return refuse(format!("the bytes_moved of {}", graph.label(op)), bytes);
    }
    if let Some(device) = cluster.devices().iter().find(|device| !fits(device.speed)) {
        return refuse(format!("the speed of device '{}'", device.name), device.speed);
    }
    let name = |device| &cluster.device(device).name;
    for device in cluster.device_ids() {
        let roofline = cluster.roofline(device);
        let named = [("matrix_speed", roofline.matrix_speed), ("memory_bandwidth", roofline.memory_bandwidth)];
        if let Some((what, Some(value))) = named.into_iter().find(|(_, value)| value.is_some_and(|value| !fits(value)))
        {
            return refuse(format!("the {what} of device '{}'", name(device)), value);
        }
    }
    if let Some(device) = cluster.device_ids().find(|&device| !fits(cluster.op_overhead(device))) {
        return refuse(format!("the op_overhead of device '{}'", name(device)), cluster.op_overhead(device));
    }
    for from in cluster.device_ids() {
        for to in cluster.device_ids().filter(|&to| to != from) {
            let link = cluster.link(from, to);
            if link.rate.is_finite() && !fits(link.rate) {
                return refuse(format!("the rate from '{}' to '{}'", name(from), name(to)), link.rate);
            }
            if !fits(link.latency) {
                return refuse(format!("the latency from '{}' to '{}'", name(from), name(to)), link.latency);
            }
            let overheads = cluster.transfer_overheads(from, to).values();
            if let Some((what, &value)) =
                TransferOverheads::NAMES.iter().zip(&overheads).find(|(_, value)| !fits(**value))
            {
                return refuse(format!("the {what} from '{}' to '{}'", name(from), name(to)), value);
            }
        }
    }
    if !fits(cluster.send_ops()) {
        return refuse("send_ops".to_owned(), cluster.send_ops());
    }
    let mut bytes = 0u64;
    for unit in units.ids() {
        bytes = bytes.saturating_add(units.demand_bytes(unit));
        if bytes > MOST_BYTES {
            return Err(MagnitudeError::Bytes { op: graph.label(units.members(unit)[0]) });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Device, DeviceId, GraphBuilder, Kind, Link, OpSpec};

    use super::*;

    /// An instance of numbers that are all legal but for what a test puts in.
    struct Numbers {
        cost: f64,
        gpu_time: Option<f64>,
        bytes: u64,
        speed: f64,
        rate: f64,
        latency: f64,
        send_ops: f64,
        op_overhead: f64,
        receive: f64,
    }

    const LEGAL: Numbers = Numbers {
        cost: 1e70,
        gpu_time: Some(1e-70),
        bytes: 8,
        speed: 1e-70,
        rate: 1e70,
        latency: 0.0,
        send_ops: 0.0,
        op_overhead: 0.0,
        receive: 0.0,
    };

    fn check_all(numbers: &Numbers) -> Result<(), MagnitudeError> {
        let mut builder = GraphBuilder::default();
        let times: Vec<_> = numbers.gpu_time.map(|time| ("gpu", time)).into_iter().collect();
        let a = builder.add_op(OpSpec { times: &times, name: Some("a"), ..OpSpec::cost(1.0) }, &[numbers.bytes]);
        let b = builder.add_op(OpSpec { name: Some("b"), ..OpSpec::cost(numbers.cost) }, &[]);
        builder.add_edge(a, 0, b).unwrap();
        let device = |name: &str, speed| Device { name: name.to_owned(), kind: Kind::Gpu, memory_bytes: None, speed };
        let link = |from: DeviceId, _| match from {
            DeviceId(0) => Link { rate: f64::INFINITY, latency: 0.0 },
            _ => Link { rate: numbers.rate, latency: numbers.latency },
        };
        let cluster = Cluster::new(vec![device("x", 1.0), device("y", numbers.speed)], link).unwrap();
        let cluster = cluster.with_send_ops(numbers.send_ops).unwrap();
        let cluster = cluster.with_op_overheads(|device| f64::from(device.0) * numbers.op_overhead).unwrap();
        let overheads = TransferOverheads { receive_per_byte: numbers.receive, ..TransferOverheads::NONE };
        let cluster = cluster.with_transfer_overheads(|_, _| overheads).unwrap();
        let graph = builder.build().unwrap();
        check(&graph, &cluster, &AssignmentUnits::new(&graph))
    }

    #[test]
    fn the_number_that_goes_too_far_is_named_and_those_at_the_limit_are_legal() {
        check_all(&LEGAL).unwrap();
        let limits = ": costs, times, speeds, rates and latencies go from 1e-70 to 1e70: choose other units";
        for (numbers, what) in [
            (Numbers { cost: 1.5e70, ..LEGAL }, "the cost of op 'b' is 1.5e70"),
            (Numbers { cost: 1e-71, ..LEGAL }, "the cost of op 'b' is 1e-71"),
            (Numbers { gpu_time: Some(1e300), ..LEGAL }, "the time of op 'a' on a gpu is 1e300"),
            (Numbers { speed: 1e-300, ..LEGAL }, "the speed of device 'y' is 1e-300"),
            (Numbers { rate: 1e71, ..LEGAL }, "the rate from 'y' to 'x' is 1e71"),
            (Numbers { latency: 1e-80, ..LEGAL }, "the latency from 'y' to 'x' is 1e-80"),
            (Numbers { send_ops: 1e100, ..LEGAL }, "send_ops is 1e100"),
            (Numbers { receive: 1e-75, ..LEGAL }, "the receive_overhead_per_byte from 'x' to 'y' is 1e-75"),
            (Numbers { op_overhead: 1e71, ..LEGAL }, "the op_overhead of device 'y' is 1e71"),
        ] {
            assert_eq!(check_all(&numbers).unwrap_err().to_string(), format!("{what}{limits}"));
        }
    }

    #[test]
    fn outputs_of_one_op_that_no_sum_can_hold_are_refused() {
        let mut graph = GraphBuilder::default();
        let op = graph.add_op(OpSpec { memory_bytes: u64::MAX, ..OpSpec::cost(1.0) }, &[u64::MAX; 2]);
        let reader = graph.add_op(OpSpec::cost(1.0), &[]);
        (0..2).for_each(|port| graph.add_edge(op, port, reader).unwrap());
        let device = Device { name: "x".into(), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
        let cluster = Cluster::new(vec![device], |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
        let error = crate::Instance::new(graph.build().unwrap(), cluster).unwrap_err().to_string();
        assert!(error.contains("add up to more than 2^63 bytes"), "{error}");
    }

    #[test]
    fn bytes_that_no_sum_can_hold_are_refused() {
        // The tensor counts where it is made and where it is read.
        check_all(&Numbers { bytes: 1 << 61, ..LEGAL }).unwrap();
        for (bytes, op) in [(1 << 62, "b"), (u64::MAX, "a")] {
            let error = check_all(&Numbers { bytes, ..LEGAL }).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "memory and tensors of the ops up to op '{op}' add up to more than 2^63 bytes: choose a larger unit"
                )
            );
        }
    }
}
