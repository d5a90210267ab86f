//! Answers of placers that saw ops and devices under drawn numbers, in the given ones.

use placebench_algorithms::{Decision, Plan, Task};
use placebench_datasets::{DeviceId, Instance, OpId, PlacedGraph, Placement, Renumbered, TransferId, splitmix64};

use crate::execute::OnlineRun;
use crate::timeline::Choice;

/// The seed of a numbering, from that of its repetition, which is that of the given numbers.
pub(crate) fn mixed(seed: u64, numbering: u32) -> u64 {
    if numbering == 0 { seed } else { splitmix64(splitmix64(seed) ^ u64::from(numbering)) }
}

/// A decision about the drawn numbers, in the given ones.
pub(crate) fn given_decision(drawn: &Renumbered, given: &Instance, decision: Decision) -> Decision {
    // What does not fit the graph or the cluster has no translation: it is refused later, as the placer said it.
    let (devices, count) = (decision.placement.devices(), given.cluster().device_count());
    if devices.len() != given.graph().op_count() || devices.iter().any(|device| device.index() >= count) {
        return decision;
    }
    let placement = drawn.given_placement(&decision.placement);
    let plan = decision.plan.map(|plan| {
        let has_transfers = plan.tasks.iter().any(|task| !matches!(task, Task::Op(_)));
        let transfers = match has_transfers {
            true => {
                let there = PlacedGraph::new(drawn.instance(), &decision.placement);
                drawn.given_transfers(&there, &PlacedGraph::new(given, &placement))
            }
            false => Vec::new(),
        };
        let transfer = |id: TransferId| transfers.get(id.index()).copied().unwrap_or(id);
        let task = |task| match task {
            Task::Op(op) => Task::Op(drawn.given_op(op)),
            Task::Send(id) => Task::Send(transfer(id)),
            Task::Receive(id) => Task::Receive(transfer(id)),
        };
        Plan { tasks: plan.tasks.into_iter().map(task).collect(), makespan: plan.makespan }
    });
    Decision { placement, plan, repaired: decision.repaired, scheduler: decision.scheduler }
}

/// A decision about the given numbers, in the drawn ones; of a plan the order of the ops.
pub(crate) fn drawn_decision(drawn: &Renumbered, given: &Instance, decision: Decision) -> Decision {
    let (devices, count) = (decision.placement.devices(), given.cluster().device_count());
    if devices.len() != given.graph().op_count() || devices.iter().any(|device| device.index() >= count) {
        return decision;
    }
    let mut there = vec![DeviceId::default(); count];
    (0..count).map(DeviceId::new).for_each(|device| there[drawn.given_device(device).index()] = device);
    let ops = drawn.instance().graph().op_ids();
    let placement = Placement::new(ops.map(|op| there[devices[drawn.given_op(op).index()].index()]).collect());
    let mut drawn_op = vec![OpId::default(); devices.len()];
    drawn.instance().graph().op_ids().for_each(|op| drawn_op[drawn.given_op(op).index()] = op);
    let plan = decision.plan.map(|plan| Plan::of_ops(plan.ops().map(|op| drawn_op[op.index()]), plan.makespan));
    Decision { placement, plan, repaired: decision.repaired, scheduler: decision.scheduler }
}

/// A run in which a placer chose devices under the drawn numbers, in the given ones.
pub(crate) fn given_run(drawn: &Renumbered, given: &Instance, run: OnlineRun) -> OnlineRun {
    let OnlineRun { placement: there, mut timeline } = run;
    let placement = drawn.given_placement(&there);
    let placed = PlacedGraph::new(given, &placement);
    let transfers = drawn.given_transfers(&PlacedGraph::new(drawn.instance(), &there), &placed);
    timeline.op_start = drawn.given_order(&timeline.op_start);
    timeline.op_finish = drawn.given_order(&timeline.op_finish);
    timeline.sends = by_transfer(&transfers, timeline.sends);
    timeline.receives = by_transfer(&transfers, timeline.receives);
    timeline.transfers = by_transfer(&transfers, timeline.transfers);
    let choice = |choice: Choice| Choice { device: drawn.given_device(choice.device), ..choice };
    timeline.choices = timeline.choices.map(|choices| choices.into_iter().map(choice).collect());
    OnlineRun { placement, timeline }
}

/// Values of transfers, or none, in the order of other ids.
fn by_transfer<T: Clone>(ids: &[TransferId], values: Vec<T>) -> Vec<T> {
    let mut moved = values.clone();
    ids.iter().zip(values).for_each(|(id, value)| moved[id.index()] = value);
    moved
}
