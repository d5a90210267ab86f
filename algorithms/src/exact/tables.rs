//! The instance as dense tables over ops in topological order.

use placebench_datasets::{DeviceId, Instance, OpId, Time};

use super::memory::Memory;
use crate::PlaceError;

/// The most ops and the most devices that [`solve`](super::solve) takes: sets of them are words of 64 bits.
pub const MOST: usize = 64;

/// An edge as seen from one end; parallel edges are one, with the longer delay of each pair of devices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arc {
    /// The op at the other end.
    pub(super) op: usize,
    /// Time from the producer's end until the data is there, by sender · devices + receiver; if nothing has to wait.
    pub(super) delay: Vec<Time>,
}

/// What the instance says. Ops are numbered in topological order, and a table over ops and devices is row-major by op.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) ops: usize,
    pub(super) devices: usize,
    /// The id of each op.
    pub(super) ids: Vec<OpId>,
    /// Execution times; infinite where a unit may not run.
    pub(super) time: Vec<Time>,
    pub(super) inputs: Vec<Vec<Arc>>,
    pub(super) outputs: Vec<Vec<Arc>>,
    /// The assignment unit of each op.
    pub(super) unit: Vec<usize>,
    /// The members of each unit, as a set.
    pub(super) members: Vec<u64>,
    /// Demands and capacities; none if everything fits everywhere.
    pub(super) memory: Option<Memory>,
}

impl Tables {
    /// The tables of an instance.
    ///
    /// # Errors
    /// [`PlaceError::Unsupported`] for what the search cannot do.
    pub(super) fn new(instance: &Instance) -> Result<Self, PlaceError> {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let (ops, devices) = (graph.op_count(), cluster.device_count());
        let unsupported = |reason: String| Err(PlaceError::Unsupported(reason));
        if ops > MOST || devices > MOST {
            return unsupported(format!(
                "the optimum is only sought for up to {MOST} ops and {MOST} devices, and there are {ops} and {devices}: take \
                 a smaller instance"
            ));
        }
        let ids: Vec<OpId> = graph.topological_order().collect();
        let mut position = vec![0; ops];
        for (at, id) in ids.iter().enumerate() {
            position[id.index()] = at;
        }
        let mut time = vec![f64::INFINITY; ops * devices];
        for (op, &id) in ids.iter().enumerate() {
            for device in cluster.device_ids() {
                if units.kind_allows(units.unit_of(id), cluster, device) {
                    // Adding 0 turns -0 into 0: the order of the bits of times has to be that of the times.
                    let duration = instance.exec_time(id, device) + 0.0;
                    if !duration.is_finite() {
                        return unsupported(format!("{} takes no finite time", graph.label(id)));
                    }
                    time[op * devices + device.index()] = duration;
                }
            }
        }
        let mut inputs: Vec<Vec<Arc>> = vec![Vec::new(); ops];
        for (op, &id) in ids.iter().enumerate() {
            for edge in graph.predecessors(id) {
                let bytes = graph.edge_bytes(edge);
                let delay: Vec<Time> = (0..devices * devices)
                    .map(|pair| DeviceId::new(pair / devices))
                    .zip((0..devices * devices).map(|pair| DeviceId::new(pair % devices)))
                    .map(|(from, to)| match from == to {
                        true => 0.0,
                        false => {
                            let ends = cluster.send_time(bytes, from, to) + cluster.receive_time(bytes, from, to);
                            ends + cluster.transfer_time(bytes, from, to) + 0.0
                        }
                    })
                    .collect();
                if delay.iter().any(|delay| !delay.is_finite()) {
                    return unsupported(format!("the output of {} takes no finite time to move", graph.label(edge.op)));
                }
                let source = position[edge.op.index()];
                match inputs[op].iter_mut().find(|arc| arc.op == source) {
                    Some(arc) => arc.delay.iter_mut().zip(&delay).for_each(|(old, &new)| *old = old.max(new)),
                    None => inputs[op].push(Arc { op: source, delay }),
                }
            }
            inputs[op].sort_by_key(|arc| arc.op);
        }
        let mut outputs: Vec<Vec<Arc>> = vec![Vec::new(); ops];
        for (op, arcs) in inputs.iter().enumerate() {
            for arc in arcs {
                outputs[arc.op].push(Arc { op, delay: arc.delay.clone() });
            }
        }
        let unit: Vec<usize> = ids.iter().map(|&id| units.unit_of(id).index()).collect();
        let mut members = vec![0; units.count()];
        for (op, &unit) in unit.iter().enumerate() {
            members[unit] |= 1 << op;
        }
        Ok(Self { ops, devices, ids, time, inputs, outputs, unit, members, memory: Memory::new(instance) })
    }

    /// The time of an op on a device; infinite where it may not run.
    #[inline]
    pub(super) fn time(&self, op: usize, device: usize) -> Time {
        self.time[op * self.devices + device]
    }
}
