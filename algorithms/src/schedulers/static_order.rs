//! Static: the placer's own order.

use std::collections::{HashSet, VecDeque};

use placebench_datasets::{DeviceId, PlacedGraph};

use crate::{Algorithm, Params, Plan, Policy, Scheduler, SchedulerError, SimulationState, SpecError, Task};

/// Executes the ops of each device strictly in the order of the placer's plan, idle while the next one is not ready.
///
/// # Reference
/// H. Topcuoglu, S. Hariri, M.-Y. Wu, *Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous
/// Computing*, IEEE Transactions on Parallel and Distributed Systems 13(3), 2002, 260–274, doi:10.1109/71.993206: what list
/// schedulers compute is a schedule, not just a placement.
///
/// # Complexity
/// O(ops + edges) to start, O(1) a decision.
///
/// # Ties
/// None among what the plan has. Other sends and receives in the order in which they became ready, then sends by id, then receives
/// by id.
///
/// # Deviations
/// Sends and receives that take time and are not in the plan run as soon as their device is idle, before what is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Static;

impl Algorithm for Static {
    const NAME: &str = "static";
    const SUMMARY: &str = "the order of the placer's plan";
    const SOURCE: &str = "Topcuoglu et al. 2002";

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

struct PlannedOrder {
    /// For each device, its planned tasks that have not started, in order.
    planned: Vec<VecDeque<Task>>,
    /// Ops that are ready.
    is_ready: Vec<bool>,
    /// Sends and receives that the plan has, and those of them that are ready.
    transfers: HashSet<Task>,
    ready_transfers: HashSet<Task>,
    /// Sends and receives that are ready and not planned.
    others: Vec<VecDeque<Task>>,
}

impl Scheduler for Static {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        plan: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        let plan = plan.ok_or(SchedulerError::NoPlan)?;
        check(placed, plan)?;
        let devices = placed.instance().cluster().device_count();
        let mut planned = vec![VecDeque::new(); devices];
        // Ops that only forward a tensor run by themselves.
        let forwards = |task: Task| matches!(task, Task::Op(op) if placed.instance().graph().forwards(op));
        for &task in plan.tasks.iter().filter(|&&task| !forwards(task)) {
            planned[device_of(placed, task).index()].push_back(task);
        }
        Ok(Box::new(PlannedOrder {
            planned,
            is_ready: vec![false; placed.instance().graph().op_count()],
            transfers: plan.tasks.iter().copied().filter(|task| !matches!(task, Task::Op(_))).collect(),
            ready_transfers: HashSet::new(),
            others: vec![VecDeque::new(); devices],
        }))
    }

    fn needs_plan(&self) -> bool {
        true
    }
}

/// Where a task runs.
fn device_of(placed: &PlacedGraph<'_>, task: Task) -> DeviceId {
    match task {
        Task::Op(op) => placed.device_of(op),
        Task::Send(transfer) => placed.transfer(transfer).from,
        Task::Receive(transfer) => placed.transfer(transfer).to,
    }
}

/// A plan that is no linear extension of the graph would leave devices waiting for each other for ever.
fn check(placed: &PlacedGraph<'_>, plan: &Plan) -> Result<(), SchedulerError> {
    let graph = placed.instance().graph();
    let mut is_listed = vec![false; graph.op_count()];
    let transfers = placed.transfer_count();
    let (mut has_sent, mut has_received) = (vec![false; transfers], vec![false; transfers]);
    let bad = |task: String, fault| Err(SchedulerError::BadPlan { task, fault });
    for &task in &plan.tasks {
        let (slot, comes_late, what) = match task {
            Task::Op(op) => match is_listed.get_mut(op.index()) {
                None => return bad(format!("op {op}"), "is not in the graph"),
                Some(slot) => (slot, false, graph.label(op)),
            },
            Task::Send(id) | Task::Receive(id) => {
                let is_send = matches!(task, Task::Send(_));
                let what = format!("the {} of transfer {id}", if is_send { "send" } else { "receive" });
                if id.index() >= transfers || !(if is_send { placed.has_send(id) } else { placed.has_receive(id) }) {
                    return bad(what, "is not in the placed graph");
                }
                let needed = is_listed[placed.transfer(id).source.index()];
                let consumers = placed.remote_consumers(id);
                let is_late = consumers.iter().any(|op| is_listed[op.index()]) || (is_send && has_received[id.index()]);
                if !needed {
                    return bad(what, "is listed before the op whose output it moves");
                }
                (if is_send { &mut has_sent[id.index()] } else { &mut has_received[id.index()] }, is_late, what)
            }
        };
        if std::mem::replace(slot, true) {
            return bad(what, "is listed twice");
        }
        if comes_late {
            return bad(what, "is listed after what waits for it");
        }
        if let Task::Op(op) = task
            && !graph.predecessor_ops(op).iter().all(|before| is_listed[before.index()])
        {
            return bad(what, "is listed before one of its inputs");
        }
    }
    match graph.op_ids().find(|op| !is_listed[op.index()]) {
        Some(op) => bad(graph.label(op), "is not listed"),
        None => Ok(()),
    }
}

impl Policy for PlannedOrder {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        match task {
            Task::Op(op) => self.is_ready[op.index()] = true,
            _ if self.transfers.contains(&task) => {
                self.ready_transfers.insert(task);
            }
            _ => self.others[device.index()].push_back(task),
        }
    }

    fn next(&mut self, device: DeviceId, _: &SimulationState<'_>) -> Option<Task> {
        if let Some(task) = self.others[device.index()].pop_front() {
            return Some(task);
        }
        let planned = &mut self.planned[device.index()];
        let is_ready = |task: &Task| match task {
            Task::Op(op) => self.is_ready[op.index()],
            Task::Send(_) | Task::Receive(_) => self.ready_transfers.contains(task),
        };
        if !is_ready(planned.front()?) {
            return None;
        }
        planned.pop_front()
    }
}
