//! What a validated timeline is worth: makespan, traffic, balance, memory.

use placebench_algorithms::period::{busiest, busy_times};
use placebench_datasets::{DeviceId, Kind, PlacedGraph, Time};

use crate::execute::simulate::NetworkModel;
use crate::memory::MemoryUse;
use crate::steady_state::SteadyState;
use crate::timeline::Timeline;

/// The numbers of one run alone. What it is compared with, such as a lower bound or the makespan on a single device, belongs
/// to the instance: see [`Reference`](crate::evaluate::Reference).
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// When the last device finishes (L Eq. 2.1), in the instance's time unit.
    pub makespan: Time,
    /// The least time between two runs that follow each other through the same placement without end: how long one run keeps
    /// its busiest device, or the busiest part of the network that transfers share, busy, or longer where the memory rule asks
    /// for that ([`SteadyState`]). In the instance's time unit; `None` if the run was measured.
    pub period: Option<Time>,
    /// What the period is due to: a device, a port or a link, or the memory of a device; `None` if the run was measured.
    pub bottleneck: Option<String>,
    /// What is in memory when runs follow each other at the period; `None` if the run was measured or the period
    /// is 0.
    pub in_flight: Option<MemoryUse>,
    /// Bytes moved after send/receive insertion (L Eq. 2.2).
    pub traffic_bytes: u64,
    /// Bytes on cut edges, each edge counted: without deduplication.
    pub cut_bytes: u64,
    /// Send/receive pairs.
    pub transfers: u64,
    /// Edges between devices, control edges included.
    pub cut_edges: u64,
    /// Largest / mean busy time; `None` if no device is ever busy.
    pub load_imbalance: Option<f64>,
    /// Busy time / (devices · makespan); `None` if the makespan is 0.
    pub utilization: Option<f64>,
    /// Devices · makespan − busy time, in the instance's time unit.
    pub idle_time: Time,
    /// Largest peak memory of a device in bytes.
    pub peak_memory_bytes: u64,
    /// Devices with at least one op.
    pub devices_used: u64,
    /// How the load is spread over accelerators; `None` without accelerators, or if the makespan is 0.
    pub accelerators: Option<AcceleratorLoad>,
    /// Mean number of executable tasks on a device when it decides (L Fig. 7.10); `None` without decisions.
    pub executable_mean: Option<f64>,
}

/// How the load is spread over the accelerators of a cluster: the devices that are not CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AcceleratorLoad {
    /// Accelerators that are busy for at least a hundredth of the makespan.
    pub used: u64,
    /// Accelerators that are busy at least half as long as the busiest; 0 if none is ever busy.
    pub loaded: u64,
    /// Their busy time / (their number · makespan).
    pub utilization: f64,
    /// The busy time of the busiest / that of all of them; `None` if none is ever busy.
    pub busiest_share: Option<f64>,
}

impl AcceleratorLoad {
    /// Less than this share of the makespan is no use: a plot of the devices over time does not show it.
    const USED: f64 = 0.01;

    /// Of the busy times of the accelerators.
    fn new(busy: &[Time], makespan: Time) -> Option<Self> {
        if busy.is_empty() || makespan <= 0.0 {
            return None;
        }
        let total: f64 = busy.iter().sum();
        let most = busy.iter().copied().fold(0.0, f64::max);
        let count = |least: f64| busy.iter().filter(|&&time| time > 0.0 && time >= least).count() as u64;
        Some(Self {
            used: count(Self::USED * makespan),
            loaded: count(most / 2.0),
            utilization: total / (busy.len() as f64 * makespan),
            busiest_share: (total > 0.0).then(|| most / total),
        })
    }
}

impl Metrics {
    /// The numbers of a run, which was simulated under `network`, or measured.
    ///
    /// # Complexity
    /// O(ops + edges + devices + transfers · parts of the network that one uses).
    pub fn new(
        placed: &PlacedGraph<'_>,
        timeline: &Timeline,
        memory: &MemoryUse,
        network: Option<&dyn NetworkModel>,
    ) -> Self {
        let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
        let devices = cluster.device_count() as f64;
        let makespan = timeline.makespan();
        let busy = timeline.busy_times(placed);
        let total: f64 = busy.iter().sum();
        let most = busy.iter().copied().fold(0.0, f64::max);
        let cut = graph.edges().filter(|(op, edge)| placed.device_of(*op) != placed.device_of(edge.op));
        let (cut_edges, cut_bytes) =
            cut.fold((0, 0u64), |(count, bytes), (_, edge)| (count + 1, bytes.saturating_add(graph.edge_bytes(edge))));
        let accelerators = cluster.device_ids().filter(|&device| cluster.device(device).kind != Kind::Cpu);
        let accelerators: Vec<Time> = accelerators.map(|device| busy[device.index()]).collect();
        let mut used = vec![false; cluster.device_count()];
        for op in graph.op_ids() {
            used[placed.device_of(op).index()] = true;
        }
        let steady = network.map(|network| {
            let occupancy = network.occupancy(cluster);
            let busy = busy_times(placed, &*occupancy);
            let (part, most) = busiest(&busy);
            let steady = SteadyState::new(placed, timeline, most);
            let device = |device: DeviceId| format!("'{}'", cluster.device(device).name);
            let bottleneck = match steady.short_of_memory {
                Some(full) => format!("the memory of {}", device(full)),
                None if part < cluster.device_count() => device(DeviceId::new(part)),
                None => occupancy.name(part),
            };
            (steady, bottleneck)
        });
        let (steady, bottleneck) = steady.unzip();
        Self {
            makespan,
            period: steady.as_ref().map(|steady| steady.period),
            bottleneck,
            // At a period of 0 any number of samples is in flight.
            in_flight: steady.filter(|steady| steady.period > 0.0).map(|steady| steady.memory),
            traffic_bytes: placed.traffic_bytes(),
            cut_bytes,
            transfers: placed.transfer_count() as u64,
            cut_edges,
            load_imbalance: (total > 0.0).then(|| most * devices / total),
            utilization: (makespan > 0.0).then(|| total / (devices * makespan)),
            // Rounding could make it less than 0.
            idle_time: (devices * makespan - total).max(0.0),
            peak_memory_bytes: memory.max_peak_bytes(),
            devices_used: used.into_iter().filter(|&used| used).count() as u64,
            accelerators: AcceleratorLoad::new(&accelerators, makespan),
            executable_mean: timeline.mean_executable(),
        }
    }
}

#[cfg(test)]
mod tests {
    use placebench_algorithms::schedulers::Fifo;
    use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, Placement};

    use super::*;
    use crate::execute::simulate::{ContentionFree, simulate};

    /// a (10 ops, 40 bytes) feeds b and c (20 ops each); a and b on d0, c on d1; speed 10, rate 20.
    #[test]
    fn the_numbers_of_a_small_run_are_those_worked_out_by_hand() {
        let mut builder = GraphBuilder::default();
        let a = builder.add_op(OpSpec { memory_bytes: 5, ..OpSpec::cost(10.0) }, &[40]);
        let b = builder.add_op(OpSpec::cost(20.0), &[]);
        let c = builder.add_op(OpSpec::cost(20.0), &[]);
        let d = builder.add_op(OpSpec::cost(0.0), &[]);
        for consumer in [b, c, d] {
            builder.add_edge(a, 0, consumer).unwrap();
        }
        let cluster = Cluster::uniform(2, Kind::Cpu, 10.0, Link { rate: 20.0, latency: 0.0 }).unwrap();
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let placement = Placement::new([0, 0, 1, 1].map(DeviceId).to_vec());
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = simulate(&placed, &Fifo, None, &ContentionFree).unwrap();
        let metrics = Metrics::new(&placed, &timeline, &MemoryUse::new(&placed, &timeline), Some(&ContentionFree));
        // a runs 0–1, the transfer 1–3, b 1–3 on d0, c 3–5 on d1: busy 3 and 2.
        assert_eq!(metrics.makespan, 5.0);
        assert_eq!(metrics.period, Some(3.0));
        // The tensor of 40 bytes is on d0 from 0 to 3, as long as the period, and on d1 from 1 until d starts at 5: two at times.
        assert_eq!(metrics.in_flight.map(|memory| memory.peaks().to_vec()), Some(vec![45, 80]));
        assert_eq!((metrics.traffic_bytes, metrics.transfers), (40, 1));
        assert_eq!((metrics.cut_bytes, metrics.cut_edges), (80, 2));
        assert_eq!(metrics.load_imbalance, Some(3.0 * 2.0 / 5.0));
        assert_eq!(metrics.utilization, Some(0.5));
        assert_eq!(metrics.idle_time, 5.0);
        assert_eq!(metrics.devices_used, 2);
        assert_eq!(metrics.peak_memory_bytes, 45);
        assert_eq!(metrics.accelerators, None, "there are CPUs alone");
    }

    #[test]
    fn an_accelerator_is_used_from_a_hundredth_of_the_makespan_and_loaded_from_half_of_the_busiest() {
        let load = AcceleratorLoad::new(&[8.0, 4.0, 3.9, 0.1, 0.09, 0.0], 10.0).unwrap();
        assert_eq!((load.used, load.loaded), (4, 2));
        assert_eq!((load.utilization, load.busiest_share), (16.09 / 60.0, Some(8.0 / 16.09)));
        let idle = AcceleratorLoad { used: 0, loaded: 0, utilization: 0.0, busiest_share: None };
        assert_eq!(AcceleratorLoad::new(&[0.0, 0.0], 10.0), Some(idle));
        assert_eq!(AcceleratorLoad::new(&[], 10.0), None);
        assert_eq!(AcceleratorLoad::new(&[0.0], 0.0), None);
    }
}
