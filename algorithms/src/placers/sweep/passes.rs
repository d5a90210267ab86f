//! List passes: the list scheduling of HEFT in either direction of time.

use placebench_datasets::{DeviceId, OpId, Time, UnitId};

use super::problem::Problem;
use super::schedule::Schedule;
use super::way::Way;
use crate::PlaceError;
use crate::placers::list::{Insertion, PartialSchedule, Select, planned_order};

/// Schedules the ops in the order given, a linear extension in this direction; the first op of a unit decides for all.
/// `None` if a unit finds no memory.
///
/// # Complexity
/// O(edges · devices + ops · devices · log ops).
pub(super) fn list_pass<'p>(
    way: Way<'p>,
    sequence: &[OpId],
    insertion: Insertion,
    mut selection: impl Select<Way<'p>>,
) -> Option<Schedule> {
    let problem = way.problem;
    let mut schedule = PartialSchedule::of(way, problem.instance, insertion, problem.assignment());
    for &op in sequence {
        schedule.schedule(op, &mut selection).ok()?;
    }
    let order = planned_order(sequence.iter().copied(), schedule.slots());
    let devices = schedule.slots().iter().map(|slot| slot.device.0).collect();
    Some(Schedule::new(way, devices, order.into_iter().map(|op| op.0).collect()))
}

/// Where all ops of the unit are done first, one after the other behind the other units of several ops that are there.
pub(super) struct WholeUnits {
    /// What units of several ops take together on each device.
    booked: Vec<Time>,
    /// What the unit at hand takes on each device.
    takes: Vec<Time>,
}

impl WholeUnits {
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        Self { booked: vec![0.0; problem.devices], takes: vec![0.0; problem.devices] }
    }
}

impl Select<Way<'_>> for WholeUnits {
    fn select(&mut self, schedule: &PartialSchedule<'_, Way<'_>>, op: OpId) -> Result<Option<DeviceId>, PlaceError> {
        let problem = schedule.view().problem;
        let unit = problem.units[op.index()];
        let members = problem.members(unit);
        if members.len() == 1 {
            return Ok(schedule.earliest_finish(UnitId(unit), |_| 0.0));
        }
        for &device in problem.allowed(unit) {
            self.takes[device as usize] = members.iter().map(|member| problem.exec(member.index(), device)).sum();
        }
        let (ready, exec) = (schedule.ready(), schedule.exec());
        let device = schedule.earliest_finish(UnitId(unit), |device| {
            let y = device.index();
            // What is booked, less what this op waits for anyway.
            (self.booked[y] - ready[y]).max(0.0) + self.takes[y] - exec[y]
        });
        if let Some(y) = device.map(DeviceId::index) {
            self.booked[y] += self.takes[y];
        }
        Ok(device)
    }
}
