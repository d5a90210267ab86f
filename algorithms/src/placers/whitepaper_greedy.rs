//! The greedy placement of the TensorFlow whitepaper: simulate, and put each op where it would finish first.

use std::collections::VecDeque;

use placebench_datasets::{DeviceId, Instance, OpId, Time};

use crate::fairness::Assumption;
use crate::{Algorithm, Assignment, Decision, Params, PlaceContext, PlaceError, Placer, Plan, SpecError};

/// Walks through the graph from its sources and puts each op on the feasible device where it would finish earliest, the
/// transfer of its inputs included.
///
/// # Reference
/// M. Abadi et al., *TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed Systems*, arXiv:1603.04467,
/// 2016, §3.2.1.
///
/// # Complexity
/// O((ops + edges) · devices).
///
/// # Ties
/// First reached, first placed: the sources by id, then ops in the order in which their last input was placed; those that
/// one op makes ready by id. Of equal finish times, the device of the lowest id.
///
/// # Deviations
/// - The whitepaper gives no order and no cost function. Here a device executes its ops in the order in which they are
///   placed, an op starts when the device is free and all inputs have arrived, and transfers do not compete.
/// - The first op of a colocation group that is reached decides for the group, among the devices that all its members may
///   run on and that have memory for them all.
/// - Send ops are not planned for.
#[derive(Clone, Copy, Debug, Default)]
pub struct WhitepaperGreedy;

impl Algorithm for WhitepaperGreedy {
    const NAME: &str = "whitepaper_greedy";
    const SUMMARY: &str = "from the sources on, each op where it would finish first";
    const SOURCE: &str = "W §3.2.1";
    const ASSUMES: &[Assumption] = &[Assumption::NoMemory];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for WhitepaperGreedy {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let graph = instance.graph();
        let mut run = Run::new(instance);
        let mut waiting: Vec<u32> = graph.op_ids().map(|op| graph.in_degree(op) as u32).collect();
        let mut queue: VecDeque<OpId> = graph.op_ids().filter(|&op| graph.in_degree(op) == 0).collect();
        let mut ready = Vec::new();
        while let Some(op) = queue.pop_front() {
            context.stop.check_at(run.starts.len())?;
            run.place(op)?;
            ready.clear();
            for &next in graph.successor_ops(op) {
                waiting[next.index()] -= 1;
                if waiting[next.index()] == 0 {
                    ready.push(next);
                }
            }
            ready.sort_unstable();
            queue.extend(&ready);
        }
        run.finish()
    }

    fn makes_plan(&self) -> bool {
        true
    }
}

/// The simulated execution so far.
struct Run<'a> {
    instance: &'a Instance,
    assignment: Assignment<'a>,
    /// When each device has done what it has.
    free_at: Vec<Time>,
    finish: Vec<Time>,
    /// Ops as placed, with their starts.
    starts: Vec<(Time, OpId)>,
    /// For the op at hand: when its inputs are on each device.
    arrival: Vec<Time>,
}

impl<'a> Run<'a> {
    fn new(instance: &'a Instance) -> Self {
        let devices = instance.cluster().device_count();
        let ops = instance.graph().op_count();
        Self {
            instance,
            assignment: Assignment::new(instance),
            free_at: vec![0.0; devices],
            finish: vec![0.0; ops],
            starts: Vec::with_capacity(ops),
            arrival: vec![0.0; devices],
        }
    }

    fn place(&mut self, op: OpId) -> Result<(), PlaceError> {
        let unit = self.instance.units().unit_of(op);
        self.note_arrivals(op);
        let device = match self.assignment.device_of_unit(unit) {
            Some(device) => device,
            None => {
                let mut best: Option<(Time, DeviceId)> = None;
                for device in self.assignment.feasible_devices(unit) {
                    let finish = self.start(device) + self.instance.exec_time(op, device);
                    if best.is_none_or(|(least, _)| finish < least) {
                        best = Some((finish, device));
                    }
                }
                let (_, device) = best.ok_or_else(|| self.assignment.infeasible(unit))?;
                self.assignment.assign(unit, device);
                device
            }
        };
        let start = self.start(device);
        let finish = start + self.instance.exec_time(op, device);
        self.starts.push((start, op));
        self.finish[op.index()] = finish;
        self.free_at[device.index()] = finish;
        Ok(())
    }

    fn start(&self, device: DeviceId) -> Time {
        self.free_at[device.index()].max(self.arrival[device.index()])
    }

    fn note_arrivals(&mut self, op: OpId) {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        self.arrival.fill(0.0);
        for edge in graph.predecessors(op) {
            let Some(from) = self.assignment.device_of(edge.op) else { continue };
            let finish = self.finish[edge.op.index()];
            cluster.raise_to_arrivals(finish, from, graph.edge_bytes(edge), &mut self.arrival);
        }
    }

    fn finish(mut self) -> Result<Decision, PlaceError> {
        // Stable: ops that start together stay in the order in which they were placed, inputs first.
        self.starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let order = self.starts.into_iter().map(|(_, op)| op);
        let makespan = self.free_at.into_iter().fold(0.0, Time::max);
        let plan = Some(Plan::of_ops(order, makespan));
        Ok(Decision { plan, ..Decision::placement(self.assignment.finish()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    fn place(instance: &Instance) -> Decision {
        WhitepaperGreedy.place(instance, &PlaceContext::default()).unwrap()
    }

    #[test]
    fn each_op_goes_where_it_would_finish_first_transfers_included() {
        // 0(4) ─2▶ 2(4), 0 ─2▶ 3(2), 1(2) ─6▶ 3; speeds 1, 2; rate 1.
        // 0: d0 4, d1 2: d1 (2). 1: d0 2, d1 3: d0 (2). Both placed: 2 was ready after 0, 3 after 1.
        // 2: d0 max(2, 2 + 2) + 4 = 8, d1 2 + 2 = 4: d1 (4). 3: d0 max(2, 4, 2) + 2 = 6; d1 max(4, 2, 8) + 1 = 9: d0 (6).
        let graph = example::graph(&[4.0, 2.0, 4.0, 2.0], &[(0, 2, 2), (0, 3, 2), (1, 3, 6)], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 2.0], 1.0)).unwrap();
        let decision = place(&instance);
        assert_eq!(example::devices(&decision), [1, 0, 1, 0]);
        let order = [0, 1, 2, 3].map(OpId).to_vec();
        assert_eq!(decision.plan, Some(Plan::of_ops(order, 6.0)));
    }

    #[test]
    fn the_first_of_a_group_decides_for_it() {
        // 0(1) alone, 1(10) and 3(1) a group, 2(6) alone. Sources in order: 0: d1 of speed 2 (0.5). 1: d0 10, d1 5.5: d1,
        // with 3. 2: d0 6, d1 8.5: d0. 3: must d1 though d0 is free no later: 5.5 + 0.5.
        let graph = example::graph(&[1.0, 10.0, 6.0, 1.0], &[], &[(1, 3)]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 2.0], 1.0)).unwrap();
        let decision = place(&instance);
        assert_eq!(example::devices(&decision), [1, 1, 0, 1]);
        assert_eq!(decision.plan.unwrap().makespan, 6.0);
    }

    #[test]
    fn ops_are_placed_in_the_order_in_which_they_become_ready() {
        // 1 ▶ 0 cannot be told by ids: 1 is the source, and makes 0 and 2 ready, placed in this order. Equal devices, free
        // transfers: 1 d0; 0 starts at 1 on either: d0 (2); 2 then finishes first on d1.
        let graph = example::graph(&[1.0; 3], &[(1, 2, 0), (1, 0, 0)], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        assert_eq!(example::devices(&place(&instance)), [0, 0, 1]);
    }
}
