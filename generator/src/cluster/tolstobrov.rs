//! Two networks of many-core nodes, for T's experiments: one fast, one slow.

use placebench_datasets::{Cluster, Device, Kind, Link};

use crate::error::GeneratorError;

/// Single-precision operations per second of a core: one a cycle at 2.6 GHz, for compiled code without libraries.
const CORE_SPEED: f64 = 2.6e9;

/// Between cores of a node, through shared memory.
const WITHIN: Link = Link { rate: 5e9, latency: 1e-6 };

/// A network: what a node's link gives when all of its cores use it.
struct Network {
    cores: u32,
    rate: f64,
    latency: f64,
}

/// 100 Gbit/s InfiniBand, nodes of 20 cores.
const FAST: Network = Network { cores: 20, rate: 12.5e9, latency: 2e-6 };
/// 1 Gbit/s Ethernet, nodes of 14 cores.
const SLOW: Network = Network { cores: 14, rate: 125e6, latency: 50e-6 };

/// `workers` cores of a cluster with a fast network: nodes of two ten-core processors, as T's Polus, and 100 Gbit/s
/// between them. Units are seconds and bytes.
///
/// # Deviations
/// T gives the processors and where workers ran (20 cores a node; 14 on the other machine, a node more than needed at
/// most), but no figure of either network; rates and latencies are ours, nominal ones of common networks. T
/// describes them by their effect: communication is short beside training on Polus, and long on Lomonosov-2.
///
/// Workers fill node after node. The link of a node is shared by its cores, and each gets its share of the rate at all
/// times, whether the others send or not: right where all exchange at once over it, as in gossip with far partners or
/// recursive doubling; too slow for a ring, where only two cores of a node talk to other nodes. All cores of both
/// clusters run one operation a cycle at 2.6 GHz (T's Xeon E5-2697v3), so that the clusters differ by their networks
/// alone.
///
/// # Errors
/// If `workers` is 0.
pub fn t_fast(workers: u32) -> Result<Cluster, GeneratorError> {
    cluster(workers, &FAST)
}

/// `workers` cores of a cluster with a slow network: nodes of 14 cores, as T's Lomonosov-2, and 1 Gbit/s between them;
/// see [`t_fast`] for which numbers are T's and which are ours.
///
/// # Errors
/// If `workers` is 0.
pub fn t_slow(workers: u32) -> Result<Cluster, GeneratorError> {
    cluster(workers, &SLOW)
}

/// The cluster of a name like `t_slow60`.
pub(super) fn named(name: &str) -> Option<Result<Cluster, GeneratorError>> {
    /// Rates take 16 bytes a pair of devices: 4 GiB at this number.
    const MOST_WORKERS: u32 = 1 << 14;
    let workers = |prefix: &str| {
        let number: u32 = name.strip_prefix(prefix)?.parse().ok()?;
        (1..=MOST_WORKERS).contains(&number).then_some(number)
    };
    workers("t_fast").map(t_fast).or_else(|| workers("t_slow").map(t_slow))
}

fn cluster(workers: u32, network: &Network) -> Result<Cluster, GeneratorError> {
    if workers == 0 {
        return Err(GeneratorError::bad("workers", workers, "at least 1"));
    }
    let node = |core: usize| core / network.cores as usize;
    let devices = (0..workers as usize)
        .map(|core| {
            let name = format!("node{}core{}", node(core), core % network.cores as usize);
            Device { name, kind: Kind::Cpu, memory_bytes: None, speed: CORE_SPEED }
        })
        .collect();
    let between = Link { rate: network.rate / f64::from(network.cores), latency: network.latency };
    let link = |from: placebench_datasets::DeviceId, to: placebench_datasets::DeviceId| {
        if node(from.index()) == node(to.index()) { WITHIN } else { between }
    };
    Ok(Cluster::new(devices, link)?.in_seconds())
}

#[cfg(test)]
mod tests {
    use placebench_datasets::DeviceId;

    use super::*;

    #[test]
    fn cores_share_the_link_of_their_node_and_nothing_within() {
        let slow = t_slow(60).unwrap();
        assert_eq!(slow.device_count(), 60);
        assert_eq!(slow.link(DeviceId(0), DeviceId(13)), WITHIN);
        assert_eq!(slow.link(DeviceId(13), DeviceId(14)), Link { rate: 125e6 / 14.0, latency: 50e-6 });
        assert_eq!(t_fast(60).unwrap().link(DeviceId(19), DeviceId(20)).rate, 625e6);
        assert_eq!(slow.device(DeviceId(14)).name, "node1core0");
        assert!(named("t_slow0").is_none() && named("t_slow20000").is_none() && named("t_slow").is_none());
        assert_eq!(named("t_fast16").unwrap().unwrap().device_count(), 16);
    }
}
