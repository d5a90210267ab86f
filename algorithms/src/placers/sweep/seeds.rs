//! The schedules that a search starts from.

use std::cmp::Reverse;

use super::passes::{Guide, by_upward_rank, list_pass, most_urgent_first, optimistic_costs};
use super::problem::{Memory, Problem};
use super::schedule::Schedule;
use placebench_datasets::{EdgeWeight, VertexWeight};

use crate::partition::streaming::Fennel;
use crate::partition::{Multilevel, Partitioner};
use crate::placers::{
    BatchSplit, ClusterLoad, Dfs, Dls, Etf, Expert, Lookahead, Mite, Partitioned, Peft, SingleDevice, WhitepaperGreedy,
};
use crate::ranks::{Average, average_exec_times};
use crate::{Algorithm, Decision, PlaceContext, PlaceError, Placer};

/// The most entries of an optimistic cost table: 16 bytes each while it is made.
const MOST_COSTS: usize = 1 << 24;

/// The most ops for which `etf`, `dls`, `lookahead`, `cluster_load` and `multilevel`, which are slow on large graphs, are asked.
const MOST_FOR_SLOW: usize = 200_000;

/// How a schedule to start from is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seed {
    /// HEFT in which ops without duration are not inserted.
    Timed,
    /// HEFT without insertion.
    Appended,
    /// HEFT that puts a colocation group where all its ops would finish first, one after the other behind those groups that are
    /// there already; only where there are groups.
    Grouped,
    /// HEFT on the reversed graph.
    ReverseHeft,
    /// PEFT on the reversed graph; not where its table would be too large.
    ReversePeft,
    /// PEFT; not where its table would be too large.
    Peft,
    /// All on one device, as far as it may run there.
    SingleDevice,
    WhitepaperGreedy,
    Etf,
    Dls,
    Lookahead,
    BatchSplit,
    Expert,
    Dfs,
    Mite,
    ClusterLoad,
    Fennel,
    Multilevel,
}

impl Seed {
    /// The cheapest first.
    pub(super) const ALL: &[Self] = &[
        Self::Timed,
        Self::SingleDevice,
        Self::WhitepaperGreedy,
        Self::Grouped,
        Self::ReverseHeft,
        Self::ReversePeft,
        Self::Peft,
        Self::Etf,
        Self::Appended,
        Self::Dls,
        Self::Lookahead,
    ];

    /// What few transfers leave a device for.
    pub(super) const SPARING: &[Self] =
        &[Self::BatchSplit, Self::Expert, Self::Dfs, Self::Mite, Self::Fennel, Self::ClusterLoad, Self::Multilevel];

    /// Whether it takes many times the time of HEFT.
    pub(super) fn is_slow(self) -> bool {
        matches!(self, Self::Dls | Self::Lookahead | Self::ClusterLoad | Self::Multilevel)
    }

    /// The seed's schedule.
    ///
    /// # Errors
    /// If it finds no room, or it is time to stop.
    pub(super) fn make(self, problem: &Problem<'_>, context: &PlaceContext) -> Result<Option<Schedule>, PlaceError> {
        let instance = problem.instance;
        if problem.ops > MOST_FOR_SLOW && (self == Self::Etf || self.is_slow()) {
            return Ok(None);
        }
        if problem.ops * problem.devices > MOST_COSTS && matches!(self, Self::Peft | Self::ReversePeft) {
            return Ok(None);
        }
        let outcome = match self {
            Self::SingleDevice => SingleDevice::with_defaults().place(instance, context),
            Self::WhitepaperGreedy => WhitepaperGreedy::with_defaults().place(instance, context),
            Self::BatchSplit => BatchSplit::with_defaults().place(instance, context),
            Self::Expert => Expert::with_defaults().place(instance, context),
            Self::Dfs => Dfs::with_defaults().place(instance, context),
            Self::Mite => Mite::with_defaults().place(instance, context),
            Self::ClusterLoad => ClusterLoad::with_defaults().place(instance, context),
            Self::Fennel => partitioned(Box::new(Fennel::with_defaults())).place(instance, context),
            Self::Multilevel => partitioned(Box::new(Multilevel::with_defaults())).place(instance, context),
            Self::Peft => Peft::with_defaults().place(instance, context),
            Self::Etf => Etf::with_defaults().place(instance, context),
            Self::Dls => Dls::with_defaults().place(instance, context),
            Self::Lookahead => Lookahead::with_defaults().place(instance, context),
            _ => return Ok(self.list(problem)),
        };
        match outcome {
            Ok(decision) => {
                Ok(Some(schedule_of(problem, &decision)).filter(|schedule| problem.holds(&schedule.devices)))
            }
            Err(PlaceError::Stopped) => Err(PlaceError::Stopped),
            Err(_) => Ok(None),
        }
    }

    /// The sequence of HEFT.
    pub(super) fn by_rank(problem: &Problem<'_>) -> Vec<u32> {
        let topological: Vec<u32> = problem.instance.graph().topological_order().map(|op| op.0).collect();
        let averages = average_exec_times(problem.instance, Average::Time);
        by_upward_rank(problem.forward(), &averages, &topological)
    }

    fn list(self, problem: &Problem<'_>) -> Option<Schedule> {
        if self == Self::Grouped && problem.instance.units().group_count() == 0 {
            return None;
        }
        let mut topological: Vec<u32> = problem.instance.graph().topological_order().map(|op| op.0).collect();
        let is_reverse = matches!(self, Self::ReverseHeft | Self::ReversePeft);
        let way = if is_reverse { problem.backward() } else { problem.forward() };
        if is_reverse {
            topological.reverse();
        }
        let mut schedule = match self {
            Self::ReversePeft => {
                let (table, means) = optimistic_costs(way, &topological);
                let sequence = most_urgent_first(way, &means);
                list_pass(way, &sequence, &Guide::Table(&table), true)
            }
            _ => {
                let insertion = self != Self::Appended;
                let guide = if self == Self::Grouped { Guide::Groups } else { Guide::None };
                let averages = average_exec_times(problem.instance, Average::Time);
                list_pass(way, &by_upward_rank(way, &averages, &topological), &guide, insertion)
            }
        }?;
        if is_reverse {
            schedule.reverse();
        }
        Some(schedule)
    }
}

/// A partitioner as a placer, with the defaults of such placers.
fn partitioned(partitioner: Box<dyn Partitioner>) -> Partitioned {
    Partitioned { partitioner, epsilon: 0.03, vertex_weight: VertexWeight::Work, edge_weight: EdgeWeight::Bytes }
}

/// The schedule of a placer's decision: in the order of its plan, or else what has the longest path behind it first.
pub(super) fn schedule_of(problem: &Problem<'_>, decision: &Decision) -> Schedule {
    let devices = decision.placement.devices().iter().map(|device| device.0).collect();
    match &decision.plan {
        Some(plan) => Schedule::new(problem.forward(), devices, plan.ops().map(|op| op.0).collect()),
        None => Schedule::of_devices(problem, devices),
    }
}

/// Units by falling demand, each on the device with most memory left, for where nothing else fits.
pub(super) fn packed(problem: &Problem<'_>) -> Option<Schedule> {
    let mut memory = Memory::new(problem);
    let mut order: Vec<u32> = problem.instance.units().ids().map(|unit| unit.0).collect();
    order.sort_by_key(|&unit| (Reverse(problem.demand(unit)), unit));
    let mut devices = vec![0; problem.ops];
    for unit in order {
        let free = |device: u32| (problem.limit(device).saturating_sub(memory.used(device)), Reverse(device));
        let feasible = problem.allowed(unit).iter().copied().filter(|&device| memory.fits(problem, unit, device));
        let device = feasible.max_by_key(|&device| free(device))?;
        memory.claim(problem, unit, device);
        problem.members(unit).iter().for_each(|op| devices[op.index()] = device);
    }
    Some(Schedule::of_devices(problem, devices))
}
