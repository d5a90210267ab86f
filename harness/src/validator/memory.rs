//! Memory over time, and the static demands, worked out from the records alone.

use placebench_datasets::{DeviceId, MemoryRule, TensorId, Time};

use super::transfers::Transfers;
use super::{Run, Violation};

/// A tensor comes or goes. At one instant, what comes is counted first.
#[derive(Clone, Copy, PartialEq)]
struct Change {
    device: DeviceId,
    time: Time,
    goes: bool,
    bytes: u64,
}

pub(super) fn check(run: &Run<'_>, transfers: &Transfers<'_>, last_uses: &[Time]) -> Result<(), Violation> {
    let peak_limit = |device: DeviceId| run.instance.peak_limit(device);
    if run.cluster.device_ids().all(|device| peak_limit(device).is_none()) {
        return Ok(());
    }
    for (device, (bytes, time)) in run.cluster.device_ids().zip(peaks(run, transfers, last_uses)) {
        if let Some(memory_bytes) = peak_limit(device).filter(|&memory| bytes > memory) {
            return Err(Violation::OutOfMemory { time, device: run.name(device), bytes, memory_bytes });
        }
    }
    if run.instance.memory_rule() != MemoryRule::Static {
        return Ok(());
    }
    for (device, demand_bytes) in run.cluster.device_ids().zip(demands(run)) {
        let memory = run.cluster.device(device).memory_bytes;
        if let Some(memory_bytes) = memory.filter(|&memory| demand_bytes > 0 && demand_bytes >= memory) {
            return Err(Violation::DemandTooLarge { device: run.name(device), demand_bytes, memory_bytes });
        }
    }
    Ok(())
}

/// For each device, the most bytes in memory at one instant, and the first such instant.
pub(super) fn peaks(run: &Run<'_>, transfers: &Transfers<'_>, last_uses: &[Time]) -> Vec<(u64, Time)> {
    let mut present = vec![0u128; run.cluster.device_count()];
    for op in run.graph.op_ids() {
        present[run.device_of(op).index()] += u128::from(run.graph.memory_bytes(op));
    }
    let mut peaks: Vec<(u128, Time)> = present.iter().map(|&resident| (resident, 0.0)).collect();
    let mut changes = changes(run, transfers, last_uses);
    changes.sort_unstable_by(|a, b| a.time.total_cmp(&b.time).then(a.goes.cmp(&b.goes)));
    for change in changes {
        let (now, peak) = (&mut present[change.device.index()], &mut peaks[change.device.index()]);
        if change.goes {
            *now -= u128::from(change.bytes);
        } else {
            *now += u128::from(change.bytes);
            if *now > peak.0 {
                *peak = (*now, change.time);
            }
        }
    }
    peaks.into_iter().map(|(bytes, time)| (u64::try_from(bytes).unwrap_or(u64::MAX), time)).collect()
}

fn changes(run: &Run<'_>, transfers: &Transfers<'_>, last_uses: &[Time]) -> Vec<Change> {
    // Until when each tensor is on its producer's device.
    let producers = (0..run.graph.tensor_count()).map(|tensor| run.graph.producer(TensorId::new(tensor)));
    let mut until: Vec<Time> = producers.map(|op| run.end[op.index()]).collect();
    for (producer, edge) in run.graph.edges() {
        if let Some(tensor) = edge.tensor.filter(|_| run.device_of(edge.op) == run.device_of(producer)) {
            until[tensor.index()] = until[tensor.index()].max(run.start[edge.op.index()]);
        }
    }
    let mut changes = Vec::new();
    let mut stay = |device, bytes, from, until: Time| {
        if bytes > 0 {
            changes.push(Change { device, time: from, goes: false, bytes });
            changes.push(Change { device, time: until.max(from), goes: true, bytes });
        }
    };
    for (record, &last_use) in transfers.records().iter().zip(last_uses) {
        if let Some(tensor) = record.route.tensor {
            until[tensor.index()] = until[tensor.index()].max(record.end);
            stay(record.route.to, run.graph.tensor_bytes(tensor), record.start, last_use.max(record.end));
        }
    }
    // What an op forwards stays as long as what it makes of it, which takes no memory of its own.
    for op in run.graph.op_ids().filter(|&op| run.graph.forwards(op)) {
        let needed = run.graph.outputs(op).map(|output| until[output.index()]).fold(run.end[op.index()], Time::max);
        for input in run.graph.predecessors(op).filter(|edge| run.device_of(edge.op) == run.device_of(op)) {
            if let Some(tensor) = input.tensor {
                until[tensor.index()] = until[tensor.index()].max(needed);
            }
        }
    }
    for (index, &until) in until.iter().enumerate() {
        let tensor = TensorId::new(index);
        let op = run.graph.producer(tensor);
        if run.graph.outputs_are_resident(op) || run.graph.forwards(op) {
            continue;
        }
        stay(run.device_of(op), run.graph.tensor_bytes(tensor), run.start[op.index()], until);
    }
    changes
}

/// For each device, the sum over its ops of resident memory, outputs and distinct inputs.
fn demands(run: &Run<'_>) -> Vec<u64> {
    let mut demands = vec![0u64; run.cluster.device_count()];
    let mut inputs: Vec<TensorId> = Vec::new();
    for op in run.graph.op_ids() {
        inputs.clear();
        inputs.extend(run.graph.predecessors(op).filter_map(|edge| edge.tensor));
        inputs.sort_unstable();
        inputs.dedup();
        let tensors = run.graph.outputs(op).chain(inputs.iter().copied()).map(|tensor| run.graph.tensor_bytes(tensor));
        let demand = &mut demands[run.device_of(op).index()];
        *demand = tensors.fold(demand.saturating_add(run.graph.memory_bytes(op)), u64::saturating_add);
    }
    demands
}
