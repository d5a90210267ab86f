//! Ops and devices that can be exchanged without changing the problem.

use super::problem::{Arc, Problem};

/// Interchangeable ops and devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Symmetry {
    /// For each op, the next lower op that it can be exchanged with: the lower is scheduled first.
    pub(super) twin_before: Vec<Option<usize>>,
    /// For each op, the lowest op that it can be exchanged with.
    pub(super) class: Vec<usize>,
    /// For each device, the lower devices that it can be exchanged with while all are empty.
    pub(super) lower_devices: Vec<u64>,
}

impl Symmetry {
    pub(super) fn of(problem: &Problem) -> Self {
        let twin_before: Vec<Option<usize>> =
            (0..problem.ops).map(|op| (0..op).rev().find(|&other| are_twins(problem, other, op))).collect();
        let mut class: Vec<usize> = (0..problem.ops).collect();
        for op in 0..problem.ops {
            if let Some(twin) = twin_before[op] {
                class[op] = class[twin];
            }
        }
        let lower_devices = (0..problem.devices)
            .map(|device| {
                let lower = (0..device).filter(|&other| are_exchangeable(problem, other, device));
                lower.fold(0, |set, other| set | 1 << other)
            })
            .collect();
        Self { twin_before, class, lower_devices }
    }
}

/// Whether two ops take the same times, have the same inputs and outputs, and are bound to devices alike.
fn are_twins(problem: &Problem, a: usize, b: usize) -> bool {
    let same_unit = problem.unit[a] == problem.unit[b];
    let is_alone = |op: usize| problem.members[problem.unit[op]].count_ones() == 1;
    let same_demand = |memory: &super::memory::Memory| memory.demand[problem.unit[a]] == memory.demand[problem.unit[b]];
    let units_agree = same_unit || is_alone(a) && is_alone(b) && problem.memory.as_ref().is_none_or(same_demand);
    let times = |op: usize| &problem.time[op * problem.devices..][..problem.devices];
    units_agree
        && times(a) == times(b)
        && problem.inputs[a] == problem.inputs[b]
        && problem.outputs[a] == problem.outputs[b]
}

/// Whether the exchange of two devices changes no time, no transfer and no capacity.
fn are_exchangeable(problem: &Problem, a: usize, b: usize) -> bool {
    let devices = problem.devices;
    let exchanged = |device: usize| match device {
        d if d == a => b,
        d if d == b => a,
        d => d,
    };
    let keeps_delays = |arc: &Arc| {
        (0..devices * devices).all(|pair| {
            let (from, to) = (exchanged(pair / devices), exchanged(pair % devices));
            arc.delay[pair] == arc.delay[from * devices + to]
        })
    };
    problem.memory.as_ref().is_none_or(|memory| memory.capacity[a] == memory.capacity[b])
        && (0..problem.ops).all(|op| problem.time(op, a) == problem.time(op, b))
        && problem.inputs.iter().flatten().all(keeps_delays)
}
