//! FIFO: first ready, first executed.

use std::collections::VecDeque;

use placebench_datasets::{DeviceId, PlacedGraph};

use crate::{Algorithm, Params, Plan, Policy, Scheduler, SchedulerError, SimulationState, SpecError, Task};

/// Executes tasks in the order in which they became executable.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017, §5.2.
///
/// # Complexity
/// O(1) a decision.
///
/// # Ties
/// Tasks that become executable together: ops by id, then sends by id, then receives by id. If a task that takes no time starts, its instant has
/// another round of decisions. What becomes executable in the later round comes behind what was executable before, whatever
/// the ids.
///
/// # Deviations
/// None.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo;

impl Algorithm for Fifo {
    const NAME: &str = "fifo";
    const SUMMARY: &str = "first ready, first executed";
    const SOURCE: &str = "L §5.2";

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

struct Queues(Vec<VecDeque<Task>>);

impl Scheduler for Fifo {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        _: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        Ok(Box::new(Queues(vec![VecDeque::new(); placed.instance().cluster().device_count()])))
    }
}

impl Policy for Queues {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        self.0[device.index()].push_back(task);
    }

    fn next(&mut self, device: DeviceId, _: &SimulationState<'_>) -> Option<Task> {
        self.0[device.index()].pop_front()
    }
}
