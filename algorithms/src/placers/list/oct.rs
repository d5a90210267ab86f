//! The optimistic cost table (Arabnejad, Barbosa 2014, Eq. 3).

use placebench_datasets::{DeviceId, Instance, Kind, OpId, Time};

use super::view::View;
use crate::ranks::AverageTransfer;

/// For each op and device, the longest of the shortest ways to the end behind the op, if it is there and each successor
/// is where that is best for it: what the op itself takes is not counted.
///
/// A transfer between two devices costs the average in the table, so that devices on which all ops take equally long share a column.
///
/// Memory: 8 bytes for each op and column.
#[derive(Clone, Debug)]
pub(crate) struct OptimisticCostTable {
    column_of: Vec<usize>,
    columns: usize,
    /// Row-major by op.
    costs: Vec<Time>,
}

impl OptimisticCostTable {
    /// The table of an instance in a direction of time, if transfers take their average.
    ///
    /// # Complexity
    /// O((ops + edges) · columns): the least over a successor's devices is either where the op is or the least of all
    /// plus the transfer.
    pub(crate) fn new(view: &impl View, instance: &Instance, transfer: AverageTransfer) -> Self {
        let (cluster, units) = (instance.cluster(), instance.units());
        let mut first_of: Vec<DeviceId> = Vec::new();
        let column_of: Vec<usize> = cluster
            .device_ids()
            .map(|id| {
                let same = |&other: &DeviceId| instance.runs_alike(other, id);
                first_of.iter().position(same).unwrap_or_else(|| {
                    first_of.push(id);
                    first_of.len() - 1
                })
            })
            .collect();
        let columns = first_of.len();
        let kinds: Vec<Kind> = first_of.iter().map(|&device| cluster.device(device).kind).collect();
        let mut costs: Vec<Time> = vec![0.0; view.op_count() * columns];
        // The cost of an op in each column with its own time.
        let mut from_start: Vec<Time> = vec![0.0; columns];
        for op in view.topological_order().rev() {
            let allowed = units.kinds(units.unit_of(op));
            let row = &costs[op.index() * columns..][..columns];
            let mut least = f64::INFINITY;
            for (column, total) in from_start.iter_mut().enumerate() {
                *total = match allowed.contains(kinds[column]) {
                    true => view.exec_time(op, first_of[column]) + row[column],
                    false => f64::INFINITY,
                };
                least = least.min(*total);
            }
            for (before, bytes) in view.before(op) {
                let elsewhere = least + transfer.time_of(bytes);
                let row = &mut costs[before.index() * columns..][..columns];
                for (cost, &here) in row.iter_mut().zip(&from_start) {
                    let best = if here < elsewhere { here } else { elsewhere };
                    *cost = if best > *cost { best } else { *cost };
                }
            }
        }
        Self { column_of, columns, costs }
    }

    /// The cost of an op on a device.
    #[inline]
    pub(crate) fn cost(&self, op: OpId, device: DeviceId) -> Time {
        self.costs[op.index() * self.columns + self.column_of[device.index()]]
    }

    /// The mean cost of each op over the devices of the kinds allowed to it.
    pub(crate) fn means(&self, instance: &Instance) -> Vec<Time> {
        let (cluster, units) = (instance.cluster(), instance.units());
        let mean = |op: OpId| {
            let unit = units.unit_of(op);
            let allowed = cluster.device_ids().filter(|&device| units.kind_allows(unit, cluster, device));
            let (count, sum) = allowed
                .map(|device| self.cost(op, device))
                .fold((0u32, 0.0), |(count, sum), cost| (count + 1, sum + cost));
            sum / f64::from(count)
        };
        instance.graph().op_ids().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, Device, GraphBuilder, Kind, Link, OpSpec};

    use super::super::instances;
    use super::super::view::Forward;
    use super::*;
    use crate::ranks::Average;

    fn table_of(instance: &Instance) -> OptimisticCostTable {
        let transfer = AverageTransfer::new(instance, Average::Time);
        OptimisticCostTable::new(&Forward::new(instance), instance, transfer)
    }

    #[test]
    fn the_published_row_of_the_first_op_is_reproduced() {
        let table = table_of(&instances::arabnejad());
        assert_eq!([0, 1, 2].map(|device| table.cost(OpId(0), DeviceId(device))), [64.0, 68.0, 86.0]);
    }

    #[test]
    fn a_successor_stays_where_the_op_is_or_goes_where_it_is_best() {
        let mut builder = GraphBuilder::default();
        let ops = [4.0, 12.0].map(|cost| builder.add_op(OpSpec::cost(cost), &[2]));
        builder.add_edge(ops[0], 0, ops[1]).unwrap();
        let device = |name: &str, speed| Device { name: name.into(), kind: Kind::Cpu, memory_bytes: None, speed };
        let devices = vec![device("slow", 1.0), device("fast", 4.0), device("also slow", 1.0)];
        let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.5 }).unwrap();
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let table = table_of(&instance);
        // From a slow device: a transfer of 2.5 and 3 on the fast one. On the fast device: 3.
        assert_eq!([0, 1, 2].map(|device| table.cost(ops[0], DeviceId(device))), [5.5, 3.0, 5.5]);
        assert_eq!(table.means(&instance), [14.0 / 3.0, 0.0]);
        assert_eq!(table.columns, 2);
    }
}
