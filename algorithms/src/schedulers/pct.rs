//! PCT: longest path computation time first.

use std::cmp::Reverse;

use placebench_datasets::{DeviceId, PlacedGraph};

use super::path_times::PathTimes;
use super::queue::ReadyQueues;
use crate::total::Total;
use crate::{Algorithm, Params, Plan, Policy, Scheduler, SchedulerError, SimulationState, SpecError, Task};

/// Executes the task first behind which the longest path lies, counted in time on the devices where ops are placed,
/// transfers included.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017, §5.3,
/// Eq. 5.1.
///
/// # Complexity
/// O(ops + edges) to start, O(log ready tasks) a decision.
///
/// # Ties
/// Ops by id, then sends by id, then receives by id.
///
/// # Deviations
/// L gives no value for send nodes. Here sends and receives that take time count like nodes: their own time, for a send the
/// transfer, and the longest path behind; and the paths of ops lead through them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pct;

impl Algorithm for Pct {
    const NAME: &str = "pct";
    const SUMMARY: &str = "longest path computation time first, transfers included";
    const SOURCE: &str = "L §5.3";

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

struct LongestFirst<'a> {
    paths: PathTimes<'a>,
    queues: ReadyQueues<Reverse<Total>>,
}

impl Scheduler for Pct {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        _: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        let queues = ReadyQueues::new(placed.instance().cluster().device_count());
        Ok(Box::new(LongestFirst { paths: PathTimes::new(placed), queues }))
    }
}

impl Policy for LongestFirst<'_> {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        self.queues.push(device, Reverse(Total(self.paths.of(task))), task);
    }

    fn next(&mut self, device: DeviceId, _: &SimulationState<'_>) -> Option<Task> {
        self.queues.pop(device)
    }
}
