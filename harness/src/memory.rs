//! How much memory a run needs on each device.

use placebench_datasets::{DeviceId, PlacedGraph, Time};

use crate::timeline::Timeline;

/// The most memory in use at one instant, for each device.
///
/// What is in memory (L §3.1.6, made precise):
/// - the resident memory of an op ([`DataflowGraph::memory_bytes`](placebench_datasets::DataflowGraph::memory_bytes)), on
///   its device, for the whole run;
/// - a tensor on its producer's device, once, from the **start** of its producer until its last consumer there has
///   **started** and its last transfer has **ended**; the outputs of TensorFlow's variables
///   ([`outputs_are_resident`](placebench_datasets::DataflowGraph::outputs_are_resident)) are counted as resident already;
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

/// A tensor that is in a device's memory from `from` to `until`, both included.
#[derive(Clone, Copy, Debug)]
struct Stay {
    device: DeviceId,
    bytes: u64,
    from: Time,
    until: Time,
}

impl MemoryUse {
    /// The memory that a run needed.
    ///
    /// # Complexity
    /// O(edges + (tensors + transfers) · log) time; 32 bytes a tensor that is not empty and a transfer of one.
    pub fn new(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Self {
        Self::folded(placed, timeline, None)
    }

    /// The memory in the steady state, when a sample starts at each multiple of `period` and each goes through the same timeline:
    /// resident memory once, and a tensor once for each sample in flight between its producer and its last consumer. Where samples
    /// follow each other at the period, a device executes ops of several by turns, so that a run may differ from this timeline; in a
    /// pipeline of equal stages it is what 1F1B holds (D. Narayanan et al., *PipeDream*, SOSP 2019, §3.2).
    ///
    /// # Complexity
    /// As [`MemoryUse::new`], with up to three intervals a stay.
    pub fn in_flight(placed: &PlacedGraph<'_>, timeline: &Timeline, period: Time) -> Self {
        Self::folded(placed, timeline, (period > 0.0).then_some(period))
    }

    fn folded(placed: &PlacedGraph<'_>, timeline: &Timeline, period: Option<Time>) -> Self {
        let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
        let mut resident_bytes = vec![0u64; cluster.device_count()];
        for op in graph.op_ids() {
            let resident = &mut resident_bytes[placed.device_of(op).index()];
            *resident = resident.saturating_add(graph.memory_bytes(op));
        }
        // By device: what comes, and what goes, each as (time, bytes).
        let devices = cluster.device_count();
        let mut offsets = vec![0usize; devices + 1];
        for_each_phase(placed, timeline, period, |stay| offsets[stay.device.index() + 1] += 1);
        for device in 0..devices {
            offsets[device + 1] += offsets[device];
        }
        let mut cursor = offsets.clone();
        let mut coming = vec![(0u64, 0u64); offsets[devices]];
        let mut going = coming.clone();
        for_each_phase(placed, timeline, period, |stay| {
            let slot = &mut cursor[stay.device.index()];
            // Times are not negative, so that their bits order as they do.
            coming[*slot] = (stay.from.to_bits(), stay.bytes);
            going[*slot] = (stay.until.to_bits(), stay.bytes);
            *slot += 1;
        });
        let peak_bytes = (0..devices)
            .map(|device| {
                let range = offsets[device]..offsets[device + 1];
                let peak = peak_of(&mut coming[range.clone()], &mut going[range]);
                resident_bytes[device].saturating_add(peak)
            })
            .collect();
        Self { resident_bytes, peak_bytes }
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

/// As [`for_each_stay`]; with a period, the stays of all samples within the first of many equal periods.
fn for_each_phase(placed: &PlacedGraph<'_>, timeline: &Timeline, period: Option<Time>, mut visit: impl FnMut(Stay)) {
    for_each_stay(placed, timeline, |stay| match period {
        None => visit(stay),
        Some(period) => phases(stay, period).into_iter().flatten().for_each(&mut visit),
    });
}

/// A stay of each sample, seen within one period: as many whole periods as it lasts, and what is left over, which may go beyond the
/// end of the period and on at its beginning.
fn phases(stay: Stay, period: Time) -> [Option<Stay>; 3] {
    /// Stays that differ from a whole period by less than this share of it last a whole period.
    const ROUNDING: f64 = 1e-9;
    let length = stay.until - stay.from;
    let whole = (length / period + ROUNDING).floor();
    let left = (length - whole * period).max(0.0);
    let always = Stay { from: 0.0, until: Time::INFINITY, bytes: stay.bytes.saturating_mul(whole as u64), ..stay };
    let always = Some(always).filter(|stay| stay.bytes > 0);
    if whole > 0.0 && left <= ROUNDING * period {
        return [always, None, None];
    }
    let from = stay.from % period;
    let until = from + left + ROUNDING * period;
    match until < period {
        true => [always, Some(Stay { from, until, ..stay }), None],
        false => {
            let until = until - period;
            [always, Some(Stay { from, until: Time::INFINITY, ..stay }), Some(Stay { from: 0.0, until, ..stay })]
        }
    }
}

/// Every stay of a tensor that is not empty, on its producer's device and on each that receives it.
fn for_each_stay(placed: &PlacedGraph<'_>, timeline: &Timeline, mut visit: impl FnMut(Stay)) {
    let graph = placed.instance().graph();
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
                }
            }
            while let Some(id) = transfers.next_if(|&id| placed.transfer(id).tensor == Some(tensor)) {
                let moved = timeline.transfer(placed, id);
                until = until.max(moved.end);
                let last = placed.remote_consumers(id).iter().map(|&consumer| timeline.start(consumer));
                let last = last.fold(moved.end, Time::max);
                if bytes > 0 {
                    visit(Stay { device: placed.transfer(id).to, bytes, from: moved.start, until: last });
                }
            }
            if bytes > 0 && !graph.outputs_are_resident(op) {
                visit(Stay { device, bytes, from: timeline.start(op), until });
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of a stay's bytes is there at an instant of the period, without those that come and go at it.
    fn present(stay: Stay, period: Time, at: Time) -> u64 {
        phases(stay, period)
            .into_iter()
            .flatten()
            .filter(|phase| phase.from < at && at < phase.until)
            .map(|phase| phase.bytes)
            .sum()
    }

    #[test]
    fn a_stay_is_there_once_for_each_sample_in_flight() {
        let stay = |from, until| Stay { device: DeviceId(0), bytes: 7, from, until };
        // 2.5 periods: two everywhere, and a third in the half that begins at 3 mod 2 = 1 and ends at 0.
        assert_eq!([0.5, 1.5].map(|at| present(stay(3.0, 8.0), 2.0, at)), [14, 21]);
        // It goes beyond the end of the period.
        assert_eq!([0.25, 0.75, 1.5].map(|at| present(stay(1.0, 2.5), 2.0, at)), [7, 0, 7]);
        // A whole number of periods has no rest, though rounding says so.
        assert_eq!([0.1, 0.2, 0.25].map(|at| present(stay(0.1, 0.1 + 0.3 * 3.0), 0.3, at)), [21, 21, 21]);
        // Empty stays are there at their instant.
        assert!(phases(stay(1.0, 1.0), 2.0)[1].is_some());
    }
}
