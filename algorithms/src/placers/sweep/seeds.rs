//! The schedules that a search starts from.

use std::cmp::Reverse;

use placebench_datasets::{EdgeWeight, OpId, VertexWeight};

use super::memory::Memory;
use super::passes::{WholeUnits, list_pass};
use super::problem::Problem;
use super::schedule::{Schedule, sorted_by};
use super::way::Way;
use crate::partition::streaming::Fennel;
use crate::partition::{Multilevel, Partitioner};
use crate::placers::list::{
    EarliestFinish, FinishPlusCost, Insertion, OptimisticCostTable, by_descending_rank, most_urgent_first,
};
use crate::placers::{
    BatchSplit, ClusterLoad, Dfs, Dls, Etf, Expert, Lookahead, Mite, Partitioned, Peft, SingleDevice, WhitepaperGreedy,
};
use crate::ranks::{Average, average_exec_times, upward_ranks};
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

    /// Placers that cause few transfers.
    pub(super) const SPARING: &[Self] =
        &[Self::BatchSplit, Self::Expert, Self::Dfs, Self::Mite, Self::Fennel, Self::ClusterLoad, Self::Multilevel];

    /// Whether it takes many times the time of HEFT.
    pub(super) fn is_slow(self) -> bool {
        matches!(self, Self::Dls | Self::Lookahead | Self::ClusterLoad | Self::Multilevel)
    }

    /// The seed's schedule; `None` if it finds no room, or would take too long or too much memory.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`].
    pub(super) fn make(self, problem: &Problem<'_>, context: &PlaceContext) -> Result<Option<Schedule>, PlaceError> {
        if self.is_too_costly(problem) {
            return Ok(None);
        }
        let Some(placer) = self.placer() else { return Ok(self.list(problem)) };
        match placer.place(problem.instance, context) {
            Ok(decision) => Ok(Some(schedule_of(problem, &decision)).filter(|schedule| holds(problem, schedule))),
            Err(PlaceError::Stopped) => Err(PlaceError::Stopped),
            Err(_) => Ok(None),
        }
    }

    fn is_too_costly(self, problem: &Problem<'_>) -> bool {
        let is_slow = self == Self::Etf || self.is_slow();
        let has_table = matches!(self, Self::Peft | Self::ReversePeft);
        (is_slow && problem.ops > MOST_FOR_SLOW) || (has_table && problem.ops * problem.devices > MOST_COSTS)
    }

    /// The placer that makes it, unless it is a list pass of the search's own.
    fn placer(self) -> Option<Box<dyn Placer>> {
        Some(match self {
            Self::Timed | Self::Appended | Self::Grouped | Self::ReverseHeft | Self::ReversePeft => return None,
            Self::Peft => Box::new(Peft::with_defaults()),
            Self::SingleDevice => Box::new(SingleDevice::with_defaults()),
            Self::WhitepaperGreedy => Box::new(WhitepaperGreedy::with_defaults()),
            Self::Etf => Box::new(Etf::with_defaults()),
            Self::Dls => Box::new(Dls::with_defaults()),
            Self::Lookahead => Box::new(Lookahead::with_defaults()),
            Self::BatchSplit => Box::new(BatchSplit::with_defaults()),
            Self::Expert => Box::new(Expert::with_defaults()),
            Self::Dfs => Box::new(Dfs::with_defaults()),
            Self::Mite => Box::new(Mite::with_defaults()),
            Self::ClusterLoad => Box::new(ClusterLoad::with_defaults()),
            Self::Fennel => Box::new(partitioned(Box::new(Fennel::with_defaults()))),
            Self::Multilevel => Box::new(partitioned(Box::new(Multilevel::with_defaults()))),
        })
    }

    /// The list pass that makes it.
    fn list(self, problem: &Problem<'_>) -> Option<Schedule> {
        let (forward, backward) = (problem.forward(), problem.backward());
        match self {
            Self::Appended => list_pass(forward, &by_upward_rank(forward), Insertion::None, EarliestFinish),
            Self::Grouped if problem.instance.units().group_count() == 0 => None,
            Self::Grouped => list_pass(forward, &by_upward_rank(forward), Insertion::Timed, WholeUnits::new(problem)),
            Self::ReverseHeft => {
                let sequence = by_upward_rank(backward);
                list_pass(backward, &sequence, Insertion::Timed, EarliestFinish).map(Schedule::reversed)
            }
            Self::ReversePeft => peft(backward).map(Schedule::reversed),
            _ => list_pass(forward, &by_upward_rank(forward), Insertion::Timed, EarliestFinish),
        }
    }
}

/// The ops of this direction by upward rank, as HEFT takes them.
pub(super) fn by_upward_rank(way: Way<'_>) -> Vec<OpId> {
    let exec = average_exec_times(way.problem.instance, Average::Time);
    by_descending_rank(&way, &upward_ranks(&way, &exec, way.problem.average))
}

/// PEFT in this direction. Ties among ranks: the lowest id.
fn peft(way: Way<'_>) -> Option<Schedule> {
    let problem = way.problem;
    let table = OptimisticCostTable::new(&way, problem.instance, problem.average);
    let ranks = table.means(problem.instance);
    let by_rank = sorted_by(0..problem.ops as u32, |op| -ranks[op as usize]);
    let by_rank: Vec<OpId> = by_rank.into_iter().map(OpId).collect();
    list_pass(way, &most_urgent_first(&way, &by_rank), Insertion::Timed, FinishPlusCost(&table))
}

/// A partitioner as a placer that keeps balance, and what crosses blocks small.
fn partitioned(partitioner: Box<dyn Partitioner>) -> Partitioned {
    Partitioned { partitioner, epsilon: 0.03, vertex_weight: VertexWeight::Work, edge_weight: EdgeWeight::Bytes }
}

/// Whether all units of a schedule find memory.
pub(super) fn holds(problem: &Problem<'_>, schedule: &Schedule) -> bool {
    Memory::of(problem, &schedule.devices).is_within_limits(problem)
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
