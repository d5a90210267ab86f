//! The repair step: makes the placement of an algorithm that knows no constraints feasible, and counts what it moved.

use placebench_datasets::{DeviceId, Instance, OpId, Placement, TensorId, Time, UnitId};

use super::load::{LoadedAssignment, Work};
use crate::{PlaceContext, PlaceError};

/// A feasible placement, and how much of it is repair.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// The placement.
    pub placement: Placement,
    /// Units that are not where they were wanted.
    pub moved: u64,
}

/// Puts each unit where it is wanted, as far as kinds and memory allow, and the others elsewhere.
///
/// First the units that may run where they are wanted take their places, those of the largest demand first, as long as
/// there is memory. Then each of the others, again by demand, goes to the feasible device where the time of what is there
/// already, its own, and that of the transfers with its neighbours is least. If one finds no place like that, all is done
/// once more with memory in mind: units by demand, each where it is wanted if there is memory, else on the feasible
/// device with the most memory left.
///
/// `wanted` has a device for each unit.
///
/// # Errors
/// [`PlaceError::Infeasible`] for a unit that finds no place either way, which does not prove that there is none;
/// [`PlaceError::Stopped`].
///
/// # Complexity
/// O(units · log units), and O(devices + edges of the unit · devices) for each unit that moves.
///
/// # Ties
/// Units of equal demand by id; devices of equal time or memory by id.
pub fn repair(instance: &Instance, wanted: &[DeviceId], context: &PlaceContext) -> Result<Repaired, PlaceError> {
    let units = instance.units();
    let mut order: Vec<UnitId> = units.ids().collect();
    order.sort_by_key(|&unit| std::cmp::Reverse(units.demand_bytes(unit)));
    let placed = match by_time(instance, wanted, &order, context) {
        Err(PlaceError::Infeasible { .. }) => by_memory(instance, wanted, &order, context)?,
        placed => placed?,
    };
    let moved = units.ids().filter(|&unit| placed.assignment().device_of_unit(unit) != Some(wanted[unit.index()]));
    Ok(Repaired { moved: moved.count() as u64, placement: placed.finish()? })
}

fn by_time<'a>(
    instance: &'a Instance,
    wanted: &[DeviceId],
    order: &[UnitId],
    context: &PlaceContext,
) -> Result<LoadedAssignment<'a>, PlaceError> {
    let mut placed = LoadedAssignment::new(instance);
    let mut displaced = Vec::new();
    for (position, &unit) in order.iter().enumerate() {
        context.stop.check_at(position)?;
        match placed.assignment().is_feasible(unit, wanted[unit.index()]) {
            true => placed.assign(unit, wanted[unit.index()]),
            false => displaced.push(unit),
        }
    }
    let mut neighbours = Neighbours::default();
    for (position, &unit) in displaced.iter().enumerate() {
        context.stop.check_at(position)?;
        neighbours
            .gather(instance, unit, |other| placed.assignment().device_of_unit(other).unwrap_or(wanted[other.index()]));
        let work = Work::of_unit(instance, unit);
        let mut best: Option<(Time, DeviceId)> = None;
        for device in placed.assignment().feasible_devices(unit) {
            let time = placed.exec_min_with(&work, device) + neighbours.communication_time(instance, device);
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, device));
            }
        }
        let (_, device) = best.ok_or_else(|| placed.assignment().infeasible(unit))?;
        placed.assign_work(unit, &work, device);
    }
    Ok(placed)
}

fn by_memory<'a>(
    instance: &'a Instance,
    wanted: &[DeviceId],
    order: &[UnitId],
    context: &PlaceContext,
) -> Result<LoadedAssignment<'a>, PlaceError> {
    let cluster = instance.cluster();
    let mut placed = LoadedAssignment::new(instance);
    for (position, &unit) in order.iter().enumerate() {
        context.stop.check_at(position)?;
        let left = |device: DeviceId| {
            let used = placed.assignment().used_bytes(device);
            cluster.device(device).memory_bytes.map_or(u64::MAX, |memory| memory.saturating_sub(used))
        };
        let device = match placed.assignment().is_feasible(unit, wanted[unit.index()]) {
            true => Some(wanted[unit.index()]),
            false => {
                let roomier = |a: DeviceId, b: DeviceId| if left(b) > left(a) { b } else { a };
                placed.assignment().feasible_devices(unit).reduce(roomier)
            }
        };
        let device = device.ok_or_else(|| placed.assignment().infeasible(unit))?;
        placed.assign(unit, device);
    }
    Ok(placed)
}

/// What a unit exchanges with devices, each tensor once a device.
#[derive(Default)]
struct Neighbours {
    /// Producer, tensor, device of the producer.
    incoming: Vec<(OpId, Option<TensorId>, DeviceId)>,
    /// Producer, tensor, device of the consumers.
    outgoing: Vec<(OpId, Option<TensorId>, DeviceId)>,
}

impl Neighbours {
    fn gather(&mut self, instance: &Instance, unit: UnitId, device_of: impl Fn(UnitId) -> DeviceId) {
        let (graph, units) = (instance.graph(), instance.units());
        self.incoming.clear();
        self.outgoing.clear();
        for &op in units.members(unit) {
            for edge in graph.predecessors(op).filter(|edge| units.unit_of(edge.op) != unit) {
                self.incoming.push((edge.op, edge.tensor, device_of(units.unit_of(edge.op))));
            }
            for edge in graph.successors(op).filter(|edge| units.unit_of(edge.op) != unit) {
                self.outgoing.push((op, edge.tensor, device_of(units.unit_of(edge.op))));
            }
        }
        for list in [&mut self.incoming, &mut self.outgoing] {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// Time of all transfers with their overheads, one after the other, if the unit were on `device`.
    fn communication_time(&self, instance: &Instance, device: DeviceId) -> Time {
        let (graph, cluster) = (instance.graph(), instance.cluster());
        let bytes = |tensor: Option<TensorId>| tensor.map_or(0, |tensor| graph.tensor_bytes(tensor));
        let incoming =
            self.incoming.iter().map(|&(_, tensor, from)| cluster.communication_time(bytes(tensor), from, device));
        let outgoing =
            self.outgoing.iter().map(|&(_, tensor, to)| cluster.communication_time(bytes(tensor), device, to));
        incoming.sum::<Time>() + outgoing.sum::<Time>()
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, Device, Kind, KindSet, Link, OpSpec};

    use super::*;
    use crate::placers::example;

    fn repaired(instance: &Instance, wanted: &[u32]) -> Result<(Vec<u32>, u64), PlaceError> {
        let wanted: Vec<DeviceId> = wanted.iter().map(|&device| DeviceId(device)).collect();
        repair(instance, &wanted, &PlaceContext::default())
            .map(|repaired| (repaired.placement.devices().iter().map(|device| device.0).collect(), repaired.moved))
    }

    #[test]
    fn what_is_feasible_stays_and_what_may_not_run_there_moves_to_its_neighbours() {
        // op1 needs a GPU and reads 100 bytes of op0, which is on d1; d1 and d2 are GPUs, and d2 has nothing to do.
        let gpu = OpSpec { kinds: KindSet::only(Kind::Gpu), ..OpSpec::cost(1.0) };
        let graph = example::graph_of(&[OpSpec::cost(5.0), gpu], &[(0, 1, 100)], &[]);
        let cluster = example::cluster_of_kinds(&[(Kind::Cpu, 1.0), (Kind::Gpu, 1.0), (Kind::Gpu, 1.0)]);
        let instance = Instance::new(graph, cluster).unwrap();
        assert_eq!(repaired(&instance, &[1, 2]), Ok((vec![1, 2], 0)));
        assert_eq!(repaired(&instance, &[1, 0]), Ok((vec![1, 1], 1)));
        // With op0 on the CPU both GPUs are as far: the lower id.
        assert_eq!(repaired(&instance, &[0, 0]), Ok((vec![0, 1], 1)));
    }

    #[test]
    fn a_full_device_keeps_its_largest_units() {
        // Three ops of 4, 6 and 5 bytes wanted on d0, which holds less than 12.
        let op = |memory_bytes| OpSpec { memory_bytes, ..OpSpec::cost(1.0) };
        let graph = example::graph_of(&[op(4), op(6), op(5)], &[], &[]);
        let cluster = |other| example::cluster_with_memory(&[(1.0, Some(12)), (1.0, Some(other))], 1.0);
        let instance = Instance::new(graph.clone(), cluster(5)).unwrap();
        assert_eq!(repaired(&instance, &[0, 0, 0]), Ok((vec![1, 0, 0], 1)));
        let instance = Instance::new(graph, cluster(4)).unwrap();
        assert!(matches!(repaired(&instance, &[0, 0, 0]), Err(PlaceError::Infeasible { .. })));
    }

    #[test]
    fn where_time_leads_into_a_dead_end_memory_finds_the_way_out() {
        // op0 (6 bytes) may run on the CPU or the TPU, op1 (5 bytes) only on the TPU, which is fast and holds less than 8.
        // By time op0 goes to the TPU, where op1 then does not fit; by memory it goes to the CPU.
        let op = |memory_bytes, kinds: &[Kind]| OpSpec {
            memory_bytes,
            kinds: kinds.iter().copied().collect(),
            ..OpSpec::cost(1.0)
        };
        let specs = [op(6, &[Kind::Cpu, Kind::Tpu]), op(5, &[Kind::Tpu])];
        let devices = [(Kind::Gpu, 1.0, None), (Kind::Cpu, 1.0, Some(100)), (Kind::Tpu, 9.0, Some(8))];
        let device = |(id, (kind, speed, memory_bytes))| Device { name: format!("d{id}"), kind, memory_bytes, speed };
        let devices = devices.into_iter().enumerate().map(device).collect();
        let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
        let instance = Instance::new(example::graph_of(&specs, &[], &[]), cluster).unwrap();
        assert_eq!(repaired(&instance, &[0, 0]), Ok((vec![1, 2], 2)));
    }
}
