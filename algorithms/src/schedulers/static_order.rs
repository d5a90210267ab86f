//! Static: the placer's own order.

use std::collections::VecDeque;

use placebench_datasets::{DeviceId, OpId, PlacedGraph};

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
/// None among ops. Sends and receives in the order in which they became ready, then sends by id, then receives by id.
///
/// # Deviations
/// Plans do not contain sends and receives. Those that take time run as soon as their device is idle, before the next op.
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
    /// For each device, its ops that have not started, in the order of the plan.
    planned: Vec<VecDeque<OpId>>,
    is_ready: Vec<bool>,
    /// Sends and receives that are ready.
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
        for &op in &plan.order {
            planned[placed.device_of(op).index()].push_back(op);
        }
        let is_ready = vec![false; plan.order.len()];
        Ok(Box::new(PlannedOrder { planned, is_ready, others: vec![VecDeque::new(); devices] }))
    }

    fn needs_plan(&self) -> bool {
        true
    }
}

/// A plan that is no linear extension of the graph would leave devices waiting for each other for ever.
fn check(placed: &PlacedGraph<'_>, plan: &Plan) -> Result<(), SchedulerError> {
    let graph = placed.instance().graph();
    let mut is_listed = vec![false; graph.op_count()];
    let fault = |op: OpId, fault| Err(SchedulerError::BadPlan { op: graph.label(op), fault });
    for &op in &plan.order {
        match is_listed.get(op.index()) {
            None => return Err(SchedulerError::BadPlan { op: format!("op {op}"), fault: "is not in the graph" }),
            Some(true) => return fault(op, "is listed twice"),
            Some(false) => {}
        }
        if !graph.predecessor_ops(op).iter().all(|before| is_listed[before.index()]) {
            return fault(op, "is listed before one of its inputs");
        }
        is_listed[op.index()] = true;
    }
    match graph.op_ids().find(|op| !is_listed[op.index()]) {
        Some(op) => fault(op, "is not listed"),
        None => Ok(()),
    }
}

impl Policy for PlannedOrder {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        match task {
            Task::Op(op) => self.is_ready[op.index()] = true,
            Task::Send(_) | Task::Receive(_) => self.others[device.index()].push_back(task),
        }
    }

    fn next(&mut self, device: DeviceId, _: &SimulationState<'_>) -> Option<Task> {
        if let Some(task) = self.others[device.index()].pop_front() {
            return Some(task);
        }
        let planned = &mut self.planned[device.index()];
        let &op = planned.front().filter(|op| self.is_ready[op.index()])?;
        planned.pop_front();
        Some(Task::Op(op))
    }
}
