//! Ops and devices that can be exchanged without changing the problem.

use super::state::State;
use super::tables::{Arc, Tables};

/// Interchangeable ops and devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Symmetry {
    /// For each op, the lower ops of the same times, inputs and outputs; memory and colocation aside.
    lower_alike: Vec<u64>,
    /// For each op, the lowest op that is alike.
    pub(super) class: Vec<usize>,
    /// For each device, the lower devices that it can be exchanged with while both are empty.
    lower_devices: Vec<u64>,
}

impl Symmetry {
    /// Nothing is interchangeable.
    pub(super) fn none(tables: &Tables) -> Self {
        let (ops, devices) = (tables.ops, tables.devices);
        Self { lower_alike: vec![0; ops], class: (0..ops).collect(), lower_devices: vec![0; devices] }
    }

    pub(super) fn of(tables: &Tables) -> Self {
        let lower_alike: Vec<u64> = (0..tables.ops)
            .map(|op| (0..op).filter(|&other| are_alike(tables, other, op)).fold(0, |set, other| set | 1 << other))
            .collect();
        let lowest = |(op, &lower): (usize, &u64)| if lower == 0 { op } else { lower.trailing_zeros() as usize };
        let class = lower_alike.iter().enumerate().map(lowest).collect();
        let lower_devices = (0..tables.devices)
            .map(|device| {
                let lower = (0..device).filter(|&other| are_exchangeable(tables, other, device));
                lower.fold(0, |set, other| set | 1 << other)
            })
            .collect();
        Self { lower_alike, class, lower_devices }
    }

    /// Whether a lower op that can be exchanged with an unscheduled one is unscheduled too, and so comes first.
    pub(super) fn has_twin_before(&self, tables: &Tables, state: &State, op: usize) -> bool {
        let twins = self.lower_alike[op] & !state.done;
        twins != 0 && ops_of(twins).any(|twin| are_bound_alike(tables, state, twin, op))
    }

    /// Whether any two ops are alike.
    pub(super) fn has_alike(&self) -> bool {
        self.lower_alike.iter().any(|&lower| lower != 0)
    }

    /// Whether a device is empty, and a lower one too that it can be exchanged with, and which so comes first.
    pub(super) fn has_empty_device_before(&self, state: &State, device: usize) -> bool {
        let is_empty = |device: usize| !state.device_of_unit.contains(&Some(device));
        self.lower_devices[device] != 0 && is_empty(device) && ops_of(self.lower_devices[device]).any(is_empty)
    }
}

/// The members of a set, ascending.
fn ops_of(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(lowest)
    })
}

fn are_alike(tables: &Tables, a: usize, b: usize) -> bool {
    let times = |op: usize| &tables.time[op * tables.devices..][..tables.devices];
    times(a) == times(b) && tables.inputs[a] == tables.inputs[b] && tables.outputs[a] == tables.outputs[b]
}

/// Whether two ops are bound to the same device, or to none and would bind others alike.
fn are_bound_alike(tables: &Tables, state: &State, a: usize, b: usize) -> bool {
    let (unit_a, unit_b) = (tables.unit[a], tables.unit[b]);
    let is_alone = |unit: usize| tables.members[unit].count_ones() == 1;
    let same_demand = |memory: &super::memory::Memory| memory.demand[unit_a] == memory.demand[unit_b];
    match (state.device_of_unit[unit_a], state.device_of_unit[unit_b]) {
        (Some(a), Some(b)) => a == b,
        (None, None) => {
            unit_a == unit_b || is_alone(unit_a) && is_alone(unit_b) && tables.memory.as_ref().is_none_or(same_demand)
        }
        _ => false,
    }
}

/// Whether the exchange of two devices changes no time, no transfer and no capacity.
fn are_exchangeable(tables: &Tables, a: usize, b: usize) -> bool {
    let devices = tables.devices;
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
    tables.memory.as_ref().is_none_or(|memory| memory.capacity[a] == memory.capacity[b])
        && (0..tables.ops).all(|op| tables.time(op, a) == tables.time(op, b))
        && tables.inputs.iter().flatten().all(keeps_delays)
}
