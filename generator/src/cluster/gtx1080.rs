//! The machine of B's experiments: eight GTX 1080, two Xeon Gold 6148 (B §5.2.1).

use placebench_datasets::{Cluster, Device, Kind, Link, Topology, TopologyLink};

use crate::error::GeneratorError;

/// Operations per second of one core: an operation is a nanosecond of one traced CPU core.
const CORE_SPEED: f64 = 1e9;
/// Cores of a Xeon Gold 6148.
const CORES: f64 = 20.0;
/// Peak single-precision rate of a core: two fused multiply-adds of 16 lanes a cycle at the AVX-512 base clock of 1.6 GHz.
const CORE_FLOPS: f64 = 102.4e9;
/// Peak single-precision rate of a GTX 1080: 2560 cores, a fused multiply-add a cycle, at the boost clock of 1.733 GHz.
const GPU_FLOPS: f64 = 8.873e12;

/// PCIe 3.0 x16 in one direction: 16 lanes of 8 GT/s, 128b/130b coded.
const PCIE: Link = Link { rate: 15.75e9, latency: 2.5e-6 };
/// Two UPI links of 10.4 GT/s, 2 bytes each.
const UPI: Link = Link { rate: 41.6e9, latency: 0.5e-6 };
/// Six channels of DDR4-2666.
const MEMORY_BUS: Link = Link { rate: 128e9, latency: 0.1e-6 };

const GPUS_OF_SWITCH: u32 = 2;
const GPUS_OF_SOCKET: u32 = 4;

/// B's machine with its first `gpus` GPUs, 1 to 8: the devices `cpu0`, `cpu1` (a socket each), `gpu0`, …. Units are seconds and
/// bytes.
///
/// ```text
///         cpu0 ── socket0 ════ UPI ════ socket1 ── cpu1
///                 /     \               /     \
///           switch0     switch1   switch2     switch3        each line PCIe 3.0 x16
///            /   \       /   \     /   \       /   \
///         gpu0  gpu1  gpu2  gpu3 gpu4  gpu5  gpu6  gpu7
/// ```
///
/// # Deviations
/// B names the processors and the memory in all (768 GB). The wiring is ours, that of common servers with eight GPUs.
/// Rates are nominal; latencies are ours, of the order of a copy started by the driver (5 µs between neighbouring GPUs).
/// Speeds are in operations of 1 ns of one traced core: a socket counts as its 20 cores, and a GPU as the ratio of peak
/// single-precision rates (86.7 cores, 4.3 sockets). They only matter for ops without measured times.
///
/// # Errors
/// If `gpus` is not in 1..=8.
pub fn gtx1080(gpus: u32) -> Result<Cluster, GeneratorError> {
    machine(2, gpus)
}

/// The first `gpus` GPUs of [`gtx1080`] with one CPU, `cpu0`: a small cluster for examples and tests.
///
/// # Errors
/// If `gpus` is not in 1..=8.
pub fn gtx1080_one_cpu(gpus: u32) -> Result<Cluster, GeneratorError> {
    machine(1, gpus)
}

fn machine(cpus: u32, gpus: u32) -> Result<Cluster, GeneratorError> {
    if !(1..=8).contains(&gpus) {
        return Err(GeneratorError::bad("gpus", gpus, "in [1, 8]"));
    }
    let mut devices = Vec::new();
    for cpu in 0..cpus {
        let (name, memory_bytes) = (format!("cpu{cpu}"), Some(384_000_000_000));
        devices.push(Device { name, kind: Kind::Cpu, memory_bytes, speed: CORES * CORE_SPEED });
    }
    for gpu in 0..gpus {
        let (name, memory_bytes) = (format!("gpu{gpu}"), Some(8 << 30));
        let speed = (GPU_FLOPS / CORE_FLOPS * 10.0).round() / 10.0 * CORE_SPEED;
        devices.push(Device { name, kind: Kind::Gpu, memory_bytes, speed });
    }
    let mut vertices: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    let mut links = Vec::new();
    let mut connect = |a: usize, b: usize, link: Link| links.push(TopologyLink { a, b, link });
    let sockets = cpus.max(gpus.div_ceil(GPUS_OF_SOCKET));
    let first_socket = vertices.len();
    vertices.extend((0..sockets).map(|socket| format!("socket{socket}")));
    let first_switch = vertices.len();
    let switches = gpus.div_ceil(GPUS_OF_SWITCH);
    vertices.extend((0..switches).map(|switch| format!("switch{switch}")));
    for cpu in 0..cpus as usize {
        connect(cpu, first_socket + cpu, MEMORY_BUS);
    }
    for socket in 1..sockets as usize {
        connect(first_socket, first_socket + socket, UPI);
    }
    for switch in 0..switches {
        let socket = switch * GPUS_OF_SWITCH / GPUS_OF_SOCKET;
        connect(first_switch + switch as usize, first_socket + socket as usize, PCIE);
    }
    for gpu in 0..gpus {
        connect((cpus + gpu) as usize, first_switch + (gpu / GPUS_OF_SWITCH) as usize, PCIE);
    }
    Ok(Cluster::from_topology(devices, Topology { vertices, links })?.in_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use placebench_datasets::DeviceId;

    #[test]
    fn all_eight_gpus_reach_each_other_at_the_rate_of_pcie_and_later_the_farther_they_are() {
        let cluster = gtx1080(8).unwrap();
        let names: Vec<&str> = cluster.devices().iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["cpu0", "cpu1", "gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"]);
        let latency = |from, to| cluster.link(DeviceId(from), DeviceId(to)).latency;
        for from in 2..10 {
            for to in (2..10).filter(|&to| to != from) {
                assert_eq!(cluster.link(DeviceId(from), DeviceId(to)).rate, PCIE.rate);
            }
        }
        assert!((latency(2, 3) - 5e-6).abs() < 1e-12, "two links through one switch");
        assert!((latency(2, 4) - 10e-6).abs() < 1e-12, "two switches of one socket");
        assert!((latency(2, 9) - 10.5e-6).abs() < 1e-12, "over UPI");
        assert_eq!(cluster.link(DeviceId(0), DeviceId(1)).rate, UPI.rate);
        assert_eq!(cluster.topology().unwrap().links.len(), 2 + 1 + 4 + 8);
        assert!(cluster.is_symmetric());
        assert_eq!(cluster.device(DeviceId(2)).speed, 86.7e9);
    }

    #[test]
    fn the_first_gpus_are_the_same_in_every_size_of_the_machine() {
        let whole = gtx1080(8).unwrap();
        for gpus in 1..=8 {
            let part = gtx1080(gpus).unwrap();
            assert_eq!(part.devices(), &whole.devices()[..gpus as usize + 2]);
            for from in part.device_ids() {
                for to in part.device_ids() {
                    assert_eq!(part.link(from, to), whole.link(from, to));
                }
            }
        }
        assert_eq!(gtx1080_one_cpu(4).unwrap().device_count(), 5);
        assert_eq!(gtx1080_one_cpu(8).unwrap().device_count(), 9);
        assert_eq!(gtx1080(9).unwrap_err().to_string(), "`gpus` is 9, but must be in [1, 8]");
        assert!(gtx1080(0).is_err());
    }
}
