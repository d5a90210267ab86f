//! The schedules that a search starts from.

use std::cmp::Reverse;

use placebench_datasets::OpId;

use super::memory::Memory;
use super::passes::{WholeUnits, list_pass};
use super::problem::Problem;
use super::schedule::{Schedule, sorted_by};
use super::way::Way;
use crate::placers::list::{
    EarliestFinish, FinishPlusCost, Insertion, OptimisticCostTable, by_descending_rank, most_urgent_first,
};
use crate::ranks::{Average, average_exec_times, upward_ranks};
use crate::{Decision, PlaceContext, PlaceError, Placer, registry};

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
    /// A placer of the registry, with its parameters.
    Placer(&'static str),
}

/// Placers that are slow on large graphs, and so are not asked there.
const SLOW: &[&str] = &[
    "etf",
    "dls",
    "lookahead",
    "cluster_load",
    "multilevel",
    "fiduccia_mattheyses",
    "simulated_annealing",
    "cross_entropy",
];

impl Seed {
    /// The cheapest first.
    pub(super) const ALL: &[Self] = &[
        Self::Timed,
        Self::Placer("single_device"),
        Self::Placer("whitepaper_greedy"),
        Self::Grouped,
        Self::ReverseHeft,
        Self::ReversePeft,
        Self::Placer("peft"),
        Self::Placer("etf"),
        Self::Appended,
        Self::Placer("dls"),
        Self::Placer("lookahead"),
        Self::Placer("multilevel"),
        Self::Placer("fiduccia_mattheyses"),
    ];

    /// Placers that cause few transfers.
    pub(super) const SPARING: &[Self] = &[
        Self::Placer("batch_split"),
        Self::Placer("expert"),
        Self::Placer("dfs"),
        Self::Placer("mite"),
        Self::Placer("fennel"),
        Self::Placer("cluster_load"),
    ];

    /// The name of the placer that makes it.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Placer(spec) => spec.split('(').next(),
            _ => None,
        }
    }

    /// The seed's schedule; `None` if it finds no room, or would take too long or too much memory.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`].
    pub(super) fn make(self, problem: &Problem<'_>, context: &PlaceContext) -> Result<Option<Schedule>, PlaceError> {
        if self.is_too_costly(problem) {
            return Ok(None);
        }
        let Self::Placer(spec) = self else { return Ok(self.list(problem)) };
        let Some(placer) = spec.parse().ok().and_then(|spec| registry::placer(&spec).ok()) else { return Ok(None) };
        if placer.needs_objective() && context.objective.is_none() {
            return Ok(None);
        }
        match placer.place(problem.instance, context) {
            Ok(decision) => Ok(Some(schedule_of(problem, &decision)).filter(|schedule| holds(problem, schedule))),
            Err(PlaceError::Stopped) => Err(PlaceError::Stopped),
            Err(_) => Ok(None),
        }
    }

    fn is_too_costly(self, problem: &Problem<'_>) -> bool {
        let is_slow = self.name().is_some_and(|name| SLOW.contains(&name));
        let has_table = self == Self::ReversePeft || self.name() == Some("peft");
        (is_slow && problem.ops > MOST_FOR_SLOW) || (has_table && problem.ops * problem.devices > MOST_COSTS)
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

/// All placers of the registry that decide before the run and are not made of this search, or of a proof that may take for ever.
pub(in crate::placers) fn all_placers() -> Vec<Box<dyn Placer>> {
    const LEFT_OUT: [&str; 3] = ["sweep", "improve", "optimal"];
    let names = registry::placer_names().into_iter().filter(|name| !LEFT_OUT.contains(&&**name));
    let placers = names.filter_map(|name| registry::placer(&name.parse().ok()?).ok());
    placers.filter(|placer| placer.online().is_none()).collect()
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
