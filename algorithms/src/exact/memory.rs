//! Whether what is not placed yet still fits (L §4.1: the demands on a device stay below its memory).

use std::collections::HashMap;

use placebench_datasets::{Instance, KindSet};

/// Demands of units and capacities of devices.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Bytes that each unit claims.
    pub(super) demand: Vec<u64>,
    /// Memory of each device; `None` is unlimited.
    pub(super) capacity: Vec<Option<u64>>,
    /// Kinds that each unit may run on, by device.
    allowed: Vec<Vec<bool>>,
    /// Units by falling demand.
    order: Vec<usize>,
}

impl Memory {
    /// The memory of an instance; `None` if all units together fit on every device.
    pub(super) fn new(instance: &Instance) -> Option<Self> {
        let (cluster, units) = (instance.cluster(), instance.units());
        let demand: Vec<u64> = units.ids().map(|unit| units.demand_bytes(unit)).collect();
        let capacity: Vec<Option<u64>> = cluster.devices().iter().map(|device| device.memory_bytes).collect();
        let total = demand.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
        if total == 0 || capacity.iter().all(|capacity| capacity.is_none_or(|capacity| total < capacity)) {
            return None;
        }
        let may_run = |kinds: KindSet| cluster.devices().iter().map(|device| kinds.contains(device.kind)).collect();
        let allowed = units.ids().map(|unit| may_run(units.kinds(unit))).collect();
        let mut order: Vec<usize> = (0..demand.len()).collect();
        order.sort_by_key(|&unit| (std::cmp::Reverse(demand[unit]), unit));
        Some(Self { demand, capacity, allowed, order })
    }

    /// Whether a unit fits on a device beside what is used there.
    #[inline]
    pub(super) fn fits(&self, unit: usize, device: usize, used: &[u64]) -> bool {
        let demand = self.demand[unit];
        demand == 0 || self.capacity[device].is_none_or(|capacity| used[device].saturating_add(demand) < capacity)
    }
}

/// Up to this number of units, all sums of their demands are listed.
const MOST_SUMMED: usize = 14;

impl Memory {
    /// All that the demands of any of these units can add up to, ascending; empty if there are too many.
    pub(super) fn sums(&self, units: &[usize]) -> Vec<u64> {
        if units.len() > MOST_SUMMED {
            return Vec::new();
        }
        let mut sums = vec![0u64];
        for &unit in units {
            for at in 0..sums.len() {
                sums.push(sums[at].saturating_add(self.demand[unit]));
            }
            sums.sort_unstable();
            sums.dedup();
        }
        sums
    }

    /// How much more each device can be given: the largest of the sums for which it has room, since what is between two of
    /// them makes no difference. Without sums, the bytes left.
    pub(super) fn room(&self, sums: &[u64], used: &[u64]) -> Vec<u64> {
        let room = |(capacity, &used): (&Option<u64>, &u64)| {
            let Some(capacity) = capacity else { return u64::MAX };
            let left = capacity.saturating_sub(1).saturating_sub(used);
            let fitting = sums.partition_point(|&sum| sum <= left);
            fitting.checked_sub(1).map_or(left, |last| sums[last])
        };
        self.capacity.iter().zip(used).map(room).collect()
    }
}

/// Answers whether the units without a device can still be placed; remembers the answers.
#[derive(Debug, Default)]
pub(super) struct Packing {
    /// By the units that are placed and the bytes used on limited devices.
    known: HashMap<(u64, Vec<u64>), bool>,
    steps: u32,
}

/// Steps after which a question counts as answered by yes: then nothing is cut off.
const MOST_STEPS: u32 = 10_000;

/// Steps that take about as long as visiting a node.
const STEPS_A_NODE: u32 = 1_000;

/// Answers kept at most.
const MOST_KNOWN: usize = 100_000;

impl Packing {
    /// Whether all units that have no device yet fit somewhere.
    pub(super) fn is_possible(&mut self, memory: &Memory, devices: &[Option<usize>], used: &[u64]) -> bool {
        let placed = devices.iter().enumerate().filter(|(_, device)| device.is_some());
        let placed = placed.fold(0, |set, (unit, _)| set | 1 << unit);
        self.steps = 0;
        self.place_rest(memory, placed, &mut used.to_vec(), 0)
    }

    /// What the last question took, in nodes of the search: a limit of nodes bounds the time of these questions, too.
    pub(super) fn nodes(&self) -> u64 {
        u64::from(self.steps / STEPS_A_NODE)
    }

    /// Places the units from a position of the order on; the depth is at most the number of units, 64.
    fn place_rest(&mut self, memory: &Memory, placed: u64, used: &mut Vec<u64>, position: usize) -> bool {
        let next = memory.order[position..].iter().position(|&unit| placed >> unit & 1 == 0);
        let Some(position) = next.map(|offset| position + offset) else { return true };
        let unit = memory.order[position];
        if memory.demand[unit] == 0 {
            return true;
        }
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return true;
        }
        if let Some(&known) = self.known.get(&(placed, used.clone())) {
            return known;
        }
        let mut possible = false;
        for device in 0..used.len() {
            if !possible && memory.allowed[unit][device] && memory.fits(unit, device, used) {
                used[device] += memory.demand[unit];
                possible = self.place_rest(memory, placed | 1 << unit, used, position + 1);
                used[device] -= memory.demand[unit];
            }
        }
        if self.known.len() < MOST_KNOWN && self.steps <= MOST_STEPS {
            self.known.insert((placed, used.clone()), possible);
        }
        possible
    }
}
