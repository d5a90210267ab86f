//! Selections: which device the op at hand goes to.

use placebench_datasets::{DeviceId, Instance, OpId, Time, UnitId};

use super::oct::OptimisticCostTable;
use super::schedule::{PartialSchedule, Select};
use super::view::View;
use crate::PlaceError;
use crate::fairness::usable_devices;
use crate::placers::coarse::workers::Workers;
use crate::ranks::{Average, AverageTransfer, average_exec_times, upward_ranks};

fn unit_of<V: View>(schedule: &PartialSchedule<'_, V>, op: OpId) -> UnitId {
    schedule.instance().units().unit_of(op)
}

/// Where the op finishes first.
pub(crate) struct EarliestFinish;

impl<V: View> Select<V> for EarliestFinish {
    fn select(&mut self, schedule: &PartialSchedule<'_, V>, op: OpId) -> Result<Option<DeviceId>, PlaceError> {
        Ok(schedule.earliest_finish(unit_of(schedule, op), |_| 0.0))
    }
}

/// Where the op starts first.
pub(super) struct EarliestStart;

impl<V: View> Select<V> for EarliestStart {
    fn select(&mut self, schedule: &PartialSchedule<'_, V>, op: OpId) -> Result<Option<DeviceId>, PlaceError> {
        Ok(schedule.earliest_start(unit_of(schedule, op)))
    }
}

/// Where finish plus optimistic cost is least (PEFT).
pub(crate) struct FinishPlusCost<'a>(pub(crate) &'a OptimisticCostTable);

impl<V: View> Select<V> for FinishPlusCost<'_> {
    fn select(&mut self, schedule: &PartialSchedule<'_, V>, op: OpId) -> Result<Option<DeviceId>, PlaceError> {
        Ok(schedule.earliest_finish(unit_of(schedule, op), |device| self.0.cost(op, device)))
    }
}

/// The ops of a critical path on one device, the others where they finish first (CPOP).
pub(super) struct CriticalPathProcessor {
    on_path: Vec<bool>,
    processor: Option<DeviceId>,
}

impl CriticalPathProcessor {
    /// The critical path of average costs, and the device on which it takes least time: what may not run there counts
    /// with its least time, and every transfer between two ops that are not both there with its average.
    ///
    /// # Complexity
    /// O(edges + path · devices).
    pub(super) fn new(instance: &Instance, average: Average) -> Self {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let transfer = AverageTransfer::new(instance, average);
        let path = critical_path(instance, &average_exec_times(instance, average), transfer);
        let mut on_path = vec![false; graph.op_count()];
        path.iter().for_each(|&(op, _)| on_path[op.index()] = true);
        let least = instance.min_exec_times();
        let length = |device: DeviceId| {
            let (mut length, mut before) = (0.0, true);
            for (position, &(op, arriving)) in path.iter().enumerate() {
                let here = units.kind_allows(units.unit_of(op), cluster, device);
                if position > 0 && !(before && here) {
                    length += arriving;
                }
                length += if here { instance.exec_time(op, device) } else { least[op.index()] };
                before = here;
            }
            length
        };
        let lengths = usable_devices(instance).into_iter().map(|device| (length(device), device));
        let shortest = lengths.reduce(|best, other| if other.0 < best.0 { other } else { best });
        Self { on_path, processor: shortest.map(|(_, device)| device) }
    }
}

/// The longest path of averages from a source to a sink: each op with the transfer that leads to it. Ties: the lowest
/// source id, then the first edge.
fn critical_path(instance: &Instance, exec: &[Time], transfer: AverageTransfer) -> Vec<(OpId, Time)> {
    let graph = instance.graph();
    let ranks = upward_ranks(graph, exec, transfer);
    let sources = graph.op_ids().filter(|&op| graph.in_degree(op) == 0);
    let longer = |best: OpId, other: OpId| if ranks[other.index()] > ranks[best.index()] { other } else { best };
    let mut path = Vec::new();
    let mut next = sources.reduce(longer).map(|source| (source, 0.0));
    while let Some((op, arriving)) = next {
        path.push((op, arriving));
        let steps = graph.successors(op).map(|edge| {
            let time = transfer.time(graph.edge_bytes(edge));
            (time + ranks[edge.op.index()], edge.op, time)
        });
        let longest = steps.reduce(|best, other| if other.0 > best.0 { other } else { best });
        next = longest.map(|(_, after, time)| (after, time));
    }
    path
}

impl<V: View> Select<V> for CriticalPathProcessor {
    fn select(&mut self, schedule: &PartialSchedule<'_, V>, op: OpId) -> Result<Option<DeviceId>, PlaceError> {
        let unit = unit_of(schedule, op);
        let wanted = self.processor.filter(|_| self.on_path[op.index()]);
        Ok(wanted
            .filter(|&device| schedule.assignment().is_feasible(unit, device))
            .or_else(|| schedule.earliest_finish(unit, |_| 0.0)))
    }
}

/// One device after the other, each up to an equal share of the memory that the graph demands (m-TOPO): the devices that
/// some op may run on, those that may run much of the graph and the fastest first.
pub(super) struct Fill {
    share: u64,
    /// The devices in the order in which they are filled.
    order: Vec<DeviceId>,
    /// How many of them are full.
    full: usize,
    /// What the units on each device demand, by id.
    filled: Vec<u64>,
}

impl Fill {
    /// The share is the mean demand of a device plus the largest demand of a unit.
    pub(super) fn new(instance: &Instance) -> Self {
        let units = instance.units();
        let demands = || units.ids().map(|unit| units.demand_bytes(unit));
        let total: u64 = demands().fold(0, u64::saturating_add);
        let order = Workers::new(instance).usable().to_vec();
        let mean = total / order.len().max(1) as u64;
        Self {
            share: mean.saturating_add(demands().max().unwrap_or(0)),
            order,
            full: 0,
            filled: vec![0; instance.cluster().device_count()],
        }
    }
}

impl<V: View> Select<V> for Fill {
    fn select(&mut self, schedule: &PartialSchedule<'_, V>, op: OpId) -> Result<Option<DeviceId>, PlaceError> {
        let (unit, assignment) = (unit_of(schedule, op), schedule.assignment());
        let demand = schedule.instance().units().demand_bytes(unit);
        let filled = &self.filled;
        let fits = |device: DeviceId| filled[device.index()].saturating_add(demand) <= self.share;
        // A device that is full stays behind for good; one that is of the wrong kind or too small is passed over once.
        while self.full + 1 < self.order.len() && !fits(self.order[self.full]) {
            self.full += 1;
        }
        let (before, from_here) = self.order.split_at(self.full);
        let feasible =
            || from_here.iter().chain(before).copied().filter(|&device| assignment.is_feasible(unit, device));
        let in_share = feasible().find(|&device| fits(device));
        let device = in_share.or_else(|| feasible().min_by_key(|&device| filled[device.index()]));
        if let Some(device) = device {
            self.filled[device.index()] = self.filled[device.index()].saturating_add(demand);
        }
        Ok(device)
    }
}
