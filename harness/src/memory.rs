//! How much memory a run needs on each device.

use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time};

use crate::timeline::Timeline;

/// The most memory in use at one instant, for each device.
///
/// What is in memory (L §3.1.6, made precise):
/// - the resident memory of an op ([`DataflowGraph::memory_bytes`](placebench_datasets::DataflowGraph::memory_bytes)), on
///   its device, for the whole run;
/// - a tensor on its producer's device, once, from the **start** of its producer until its last consumer there has
///   **started** and its last transfer has **ended**; the outputs of TensorFlow's variables
///   ([`outputs_are_resident`](placebench_datasets::DataflowGraph::outputs_are_resident)) are counted as resident already;
/// - the output of an op that forwards its input
///   ([`forwards`](placebench_datasets::DataflowGraph::forwards)) is the input, which stays until both are used;
/// - a tensor on a device that receives it, once, from the **start** of the transfer until its last consumer there has
///   **started**;
/// - a tensor that nothing consumes, until its producer **ends**.
///
/// At one instant, what comes is counted before what goes: an op's inputs and outputs are in memory together when it
/// starts. Therefore a device never needs more than the sum of its ops' demands, which L §4.1 keeps below its memory.
///
/// # Deviations
/// L frees a tensor on its sender when the send node has *started*; but her send node has an output of the same size on
/// the edge to the receive node (L Fig. 2.2), which stays until the receive node has executed. Both together are a
/// tensor that stays until the transfer has ended; here it is one copy however many transfers send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    resident_bytes: Vec<u64>,
    peak_bytes: Vec<u64>,
}

impl MemoryUse {
    /// The memory that a run needed.
    ///
    /// # Complexity
    /// O(edges + (tensors + transfers) · log) time; 56 bytes a tensor that is not empty and a transfer of one.
    pub fn new(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Self {
        let stays = Stays::new(placed, timeline);
        let cluster = placed.instance().cluster();
        let peak_bytes =
            cluster.device_ids().map(|device| stays.peak(device, stays.of(device).iter().copied())).collect();
        Self { resident_bytes: stays.resident_bytes, peak_bytes }
    }

    pub(crate) fn from_peaks(stays: Stays, peak_bytes: Vec<u64>) -> Self {
        Self { resident_bytes: stays.resident_bytes, peak_bytes }
    }

    /// The sum of the resident memory of a device's ops.
    pub fn resident_bytes(&self, device: DeviceId) -> u64 {
        self.resident_bytes[device.index()]
    }

    /// The most memory in use on a device at one instant, resident memory included.
    pub fn peak_bytes(&self, device: DeviceId) -> u64 {
        self.peak_bytes[device.index()]
    }

    /// The peaks of all devices, in the order of their ids.
    pub fn peaks(&self) -> &[u64] {
        &self.peak_bytes
    }

    /// The highest peak of any device.
    pub fn max_peak_bytes(&self) -> u64 {
        self.peak_bytes.iter().copied().max().unwrap_or(0)
    }
}

/// A tensor that is in a device's memory from `from` to `until`, both included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stay {
    pub(crate) bytes: u64,
    pub(crate) from: Time,
    pub(crate) until: Time,
}

/// What is in memory in one run, by device.
pub(crate) struct Stays {
    resident_bytes: Vec<u64>,
    /// The stays of a device begin at its offset.
    offsets: Vec<usize>,
    stays: Vec<Stay>,
}

impl Stays {
    pub(crate) fn new(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Self {
        let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
        let devices = cluster.device_count();
        let mut resident_bytes = vec![0u64; devices];
        for op in graph.op_ids() {
            let resident = &mut resident_bytes[placed.device_of(op).index()];
            *resident = resident.saturating_add(graph.memory_bytes(op));
        }
        let mut offsets = vec![0usize; devices + 1];
        for_each_stay(placed, timeline, |device, _| offsets[device.index() + 1] += 1);
        for device in 0..devices {
            offsets[device + 1] += offsets[device];
        }
        let mut cursor = offsets.clone();
        let mut stays = vec![Stay::default(); offsets[devices]];
        for_each_stay(placed, timeline, |device, stay| {
            let slot = &mut cursor[device.index()];
            stays[*slot] = stay;
            *slot += 1;
        });
        Self { resident_bytes, offsets, stays }
    }

    /// The stays on a device.
    pub(crate) fn of(&self, device: DeviceId) -> &[Stay] {
        &self.stays[self.offsets[device.index()]..self.offsets[device.index() + 1]]
    }

    /// The resident memory of a device's ops.
    pub(crate) fn resident_bytes(&self, device: DeviceId) -> u64 {
        self.resident_bytes[device.index()]
    }

    /// The most that a device holds at one instant: what is resident, and these stays.
    pub(crate) fn peak(&self, device: DeviceId, stays: impl Iterator<Item = Stay> + Clone) -> u64 {
        // Times are not negative, so that their bits order as they do.
        let mut coming: Vec<_> = stays.clone().map(|stay| (stay.from.to_bits(), stay.bytes)).collect();
        let mut going: Vec<_> = stays.map(|stay| (stay.until.to_bits(), stay.bytes)).collect();
        self.resident_bytes(device).saturating_add(peak_of(&mut coming, &mut going))
    }
}

/// Every stay of a tensor that is not empty, on its producer's device and on each that receives it.
fn for_each_stay(placed: &PlacedGraph<'_>, timeline: &Timeline, mut visit: impl FnMut(DeviceId, Stay)) {
    let graph = placed.instance().graph();
    let some_forward = graph.has_forwarding_ops();
    for op in graph.op_ids() {
        let device = placed.device_of(op);
        // Edges and transfers both ascend by tensor, control last: one walk over each serves all outputs.
        let mut edges = graph.successors(op).peekable();
        let mut transfers = placed.transfers_of(op).peekable();
        for tensor in graph.outputs(op) {
            let bytes = graph.tensor_bytes(tensor);
            let mut until = timeline.finish(op);
            while let Some(edge) = edges.next_if(|edge| edge.tensor == Some(tensor)) {
                if placed.device_of(edge.op) == device {
                    until = until.max(timeline.start(edge.op));
                    if some_forward && graph.forwards(edge.op) {
                        until = until.max(last_use(placed, timeline, edge.op));
                    }
                }
            }
            while let Some(id) = transfers.next_if(|&id| placed.transfer(id).tensor == Some(tensor)) {
                let moved = timeline.transfer(placed, id);
                until = until.max(moved.end);
                let last = placed.remote_consumers(id).iter().map(|&consumer| timeline.start(consumer));
                let last = last.fold(moved.end, Time::max);
                if bytes > 0 {
                    visit(placed.transfer(id).to, Stay { bytes, from: moved.start, until: last });
                }
            }
            if bytes > 0 && !graph.outputs_are_resident(op) && !(some_forward && graph.forwards(op)) {
                visit(device, Stay { bytes, from: timeline.start(op), until });
            }
        }
    }
}

/// Until when the device of an op that forwards its input needs that: until its last consumer there has started and its last
/// transfer has ended.
fn last_use(placed: &PlacedGraph<'_>, timeline: &Timeline, op: OpId) -> Time {
    let consumed = placed.local_consumers(op).iter().map(|&consumer| timeline.start(consumer));
    let sent = placed.transfers_of(op).map(|id| timeline.transfer(placed, id).end);
    consumed.chain(sent).fold(timeline.finish(op), Time::max)
}

fn peak_of(coming: &mut [(u64, u64)], going: &mut [(u64, u64)]) -> u64 {
    coming.sort_unstable();
    going.sort_unstable();
    // Wide enough for any number of the largest tensors.
    let (mut present, mut peak, mut gone) = (0u128, 0u128, 0);
    for &(time, bytes) in coming.iter() {
        while going[gone].0 < time {
            present -= u128::from(going[gone].1);
            gone += 1;
        }
        present += u128::from(bytes);
        peak = peak.max(present);
    }
    u64::try_from(peak).unwrap_or(u64::MAX)
}
