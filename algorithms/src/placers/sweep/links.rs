//! Edges, links and the ends of transfers as flat arrays.

use placebench_datasets::{Edge, Instance, OpId, Time, TransferOverheads};

/// The edges at one end of each op, as ops at the other end with the bytes between them.
pub(super) struct Edges {
    offsets: Vec<u32>,
    ends: Vec<(u32, f64)>,
}

impl Edges {
    pub(super) fn new<I: Iterator<Item = Edge>>(instance: &Instance, edges: impl Fn(OpId) -> I) -> Self {
        let graph = instance.graph();
        let (mut offsets, mut ends) = (vec![0], Vec::with_capacity(graph.edge_count()));
        for op in graph.op_ids() {
            ends.extend(edges(op).map(|edge| (edge.op.0, graph.edge_bytes(edge) as f64)));
            offsets.push(ends.len() as u32);
        }
        Self { offsets, ends }
    }

    /// The ops at the other ends of an op's edges, each with the bytes of the edge.
    #[inline]
    pub(super) fn of(&self, op: usize) -> &[(u32, f64)] {
        &self.ends[self.offsets[op] as usize..self.offsets[op + 1] as usize]
    }
}

/// What transfers cost: row-major by the device that one of their ends is fixed on.
pub(super) struct Links {
    devices: usize,
    latencies: Vec<Time>,
    inverse_rates: Vec<f64>,
}

impl Links {
    /// Links from `fixed` to each device; with `reversed` those from each device to `fixed`. A transfer takes `factor`
    /// times as long as on an idle network, and its send and receive ops come on top.
    pub(super) fn new(instance: &Instance, reversed: bool, factor: f64) -> Self {
        let cluster = instance.cluster();
        let devices = cluster.device_count();
        let (mut latencies, mut inverse_rates) = (Vec::new(), Vec::new());
        for fixed in cluster.device_ids() {
            for other in cluster.device_ids() {
                let (from, to) = if reversed { (other, fixed) } else { (fixed, other) };
                let link = cluster.link(from, to);
                if from == to {
                    latencies.push(0.0);
                    inverse_rates.push(0.0);
                    continue;
                }
                let of_pair = cluster.transfer_overheads(from, to);
                let ends = cluster.send_time(0, from, to) + cluster.receive_time(0, from, to);
                latencies.push(factor * link.latency + ends);
                inverse_rates.push(factor / link.rate + of_pair.send_per_byte + of_pair.receive_per_byte);
            }
        }
        Self { devices, latencies, inverse_rates }
    }

    /// Time for `bytes` between the fixed device and another.
    #[inline]
    pub(super) fn time(&self, fixed: u32, other: u32, bytes: f64) -> Time {
        let pair = fixed as usize * self.devices + other as usize;
        self.latencies[pair] + bytes * self.inverse_rates[pair]
    }

    /// Raises each device's time to `from` plus the time for `bytes` between `fixed` and that device.
    #[inline]
    pub(super) fn raise(&self, fixed: u32, from: Time, bytes: f64, times: &mut [Time]) {
        let row = fixed as usize * self.devices..(fixed as usize + 1) * self.devices;
        let row = self.latencies[row.clone()].iter().zip(&self.inverse_rates[row]);
        for (time, (latency, inverse_rate)) in times.iter_mut().zip(row) {
            let arrival = from + (latency + bytes * inverse_rate);
            *time = if arrival > *time { arrival } else { *time };
        }
    }
}

/// What transfers take of the time of the devices at their ends: row-major by the sender.
pub(super) struct Ends {
    devices: usize,
    overheads: Vec<TransferOverheads>,
}

impl Ends {
    /// `None` if no transfer takes any.
    pub(super) fn new(instance: &Instance) -> Option<Self> {
        let cluster = instance.cluster();
        if !cluster.sends_cost() && !cluster.receives_cost() {
            return None;
        }
        let mut overheads = Vec::new();
        for from in cluster.device_ids() {
            for to in cluster.device_ids() {
                let of_pair = cluster.transfer_overheads(from, to);
                let (send, receive) = (cluster.send_time(0, from, to), cluster.receive_time(0, from, to));
                overheads.push(TransferOverheads { send, receive, ..of_pair });
            }
        }
        Some(Self { devices: cluster.device_count(), overheads })
    }

    /// What `bytes` take of the sender and of the receiver.
    #[inline]
    pub(super) fn of(&self, from: u32, to: u32, bytes: f64) -> (Time, Time) {
        let pair = &self.overheads[from as usize * self.devices + to as usize];
        (pair.send + bytes * pair.send_per_byte, pair.receive + bytes * pair.receive_per_byte)
    }
}
