//! The schedules that a search starts from.

use placebench_datasets::DeviceId;

use super::passes::{Guide, by_upward_rank, list_pass, most_urgent_first, optimistic_costs};
use super::problem::Problem;
use super::schedule::Schedule;
use crate::placers::{Dls, Lookahead, SingleDevice, WhitepaperGreedy};
use crate::ranks::{Average, average_exec_times};
use crate::{Algorithm, Assignment, Decision, PlaceContext, PlaceError, Placer};

/// The most entries of an optimistic cost table: 16 bytes each while it is made.
const MOST_COSTS: usize = 1 << 24;

/// The most ops for which `dls` and `lookahead`, which are slow on large graphs, are asked.
const MOST_FOR_SLOW: usize = 200_000;

/// How a schedule to start from is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seed {
    /// HEFT in which ops without duration are not inserted.
    Timed,
    /// HEFT without insertion.
    Appended,
    /// HEFT on the reversed graph.
    ReverseHeft,
    /// PEFT on the reversed graph; not where its table would be too large.
    ReversePeft,
    /// PEFT; not where its table would be too large.
    Peft,
    /// All on one device, as far as it may run there.
    SingleDevice,
    WhitepaperGreedy,
    Dls,
    Lookahead,
}

impl Seed {
    /// All of them.
    pub(super) const ALL: &[Self] = &[
        Self::Timed,
        Self::SingleDevice,
        Self::WhitepaperGreedy,
        Self::ReverseHeft,
        Self::ReversePeft,
        Self::Appended,
        Self::Peft,
        Self::Dls,
        Self::Lookahead,
    ];

    /// The seed's schedule.
    ///
    /// # Errors
    /// If it finds no room, or it is time to stop.
    pub(super) fn make(self, problem: &Problem<'_>, context: &PlaceContext) -> Result<Option<Schedule>, PlaceError> {
        let instance = problem.instance;
        let outcome = match self {
            Self::SingleDevice => SingleDevice::with_defaults().place(instance, context),
            Self::WhitepaperGreedy => WhitepaperGreedy::with_defaults().place(instance, context),
            Self::Dls | Self::Lookahead if problem.ops > MOST_FOR_SLOW => return Ok(None),
            Self::Dls => Dls::with_defaults().place(instance, context),
            Self::Lookahead => Lookahead::with_defaults().place(instance, context),
            _ => return Ok(self.list(problem)),
        };
        match outcome {
            Ok(decision) => Ok(Some(schedule_of(problem, &decision))),
            Err(PlaceError::Stopped) => Err(PlaceError::Stopped),
            Err(_) => Ok(None),
        }
    }

    fn list(self, problem: &Problem<'_>) -> Option<Schedule> {
        let mut topological: Vec<u32> = problem.instance.graph().topological_order().map(|op| op.0).collect();
        let is_reverse = matches!(self, Self::ReverseHeft | Self::ReversePeft);
        let way = if is_reverse { problem.backward() } else { problem.forward() };
        if is_reverse {
            topological.reverse();
        }
        let mut schedule = match self {
            Self::Peft | Self::ReversePeft if problem.ops * problem.devices > MOST_COSTS => return None,
            Self::Peft | Self::ReversePeft => {
                let (table, means) = optimistic_costs(way, &topological);
                let sequence = most_urgent_first(way, &means);
                list_pass(way, &sequence, &Guide::Table(&table), true)
            }
            _ => {
                let insertion = self != Self::Appended;
                let averages = average_exec_times(problem.instance, Average::Time);
                list_pass(way, &by_upward_rank(way, &averages, &topological), &Guide::None, insertion)
            }
        }?;
        if is_reverse {
            schedule.reverse();
        }
        Some(schedule)
    }
}

/// The schedule of a placer's decision: in the order of its plan, or else what has the longest path behind it first.
pub(super) fn schedule_of(problem: &Problem<'_>, decision: &Decision) -> Schedule {
    let devices = decision.placement.devices().iter().map(|device| device.0).collect();
    match &decision.plan {
        Some(plan) => Schedule::new(problem.forward(), devices, plan.order.iter().map(|op| op.0).collect()),
        None => Schedule::of_devices(problem, devices),
    }
}

/// Units by falling demand, each on the device with most memory left, for where nothing else fits.
pub(super) fn packed(problem: &Problem<'_>) -> Option<Schedule> {
    let units = problem.instance.units();
    let mut assignment = Assignment::new(problem.instance);
    let mut order: Vec<_> = units.ids().collect();
    order.sort_by_key(|&unit| (std::cmp::Reverse(units.demand_bytes(unit)), unit));
    for unit in order {
        let free = |device: DeviceId| {
            let memory = problem.instance.cluster().device(device).memory_bytes.unwrap_or(u64::MAX);
            (memory.saturating_sub(assignment.used_bytes(device)), std::cmp::Reverse(device))
        };
        let device = assignment.feasible_devices(unit).max_by_key(|&device| free(device))?;
        assignment.assign(unit, device);
    }
    let placement = assignment.finish().ok()?;
    Some(Schedule::of_devices(problem, placement.devices().iter().map(|device| device.0).collect()))
}
