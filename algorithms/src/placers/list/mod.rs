//! List scheduling, as parts that combine: a [`Priority`] orders the ops, a [`Selection`] picks a device, an insertion
//! finds the slot there.
//!
//! A rank is turned into an order once ([`priority`]). Where the op of the highest priority comes first and its device
//! second ([`Pick::Op`]), one loop walks the ops, and the selections are in [`select`] and [`lookahead`]. Where the best
//! pair of a ready op and a device comes next ([`Pick::Pair`]), [`pairs`] keeps the pairs in heaps of [`queue`]. The
//! schedule in the making is in [`schedule`], the slots of a device in [`timeline`]; [`favourites`] solves the linear
//! program of SCT.

mod favourites;
mod gaps;
#[cfg(test)]
#[path = "../../../tests/support/instances.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the crate's public face")]
mod instances;
mod lookahead;
mod oct;
mod pairs;
mod priority;
mod queue;
mod ready;
mod schedule;
mod select;
mod timeline;

use std::str::FromStr;

use placebench_datasets::{Instance, OpId};

pub use favourites::FavouriteChildren;
pub use priority::Priority;

use crate::ranks::Average;
use crate::{Decision, PlaceContext, PlaceError, Placer, SpecError};
use lookahead::Lookahead;
use oct::OptimisticCostTable;
use priority::Ranked;
use ready::most_urgent_first;
use schedule::{PartialSchedule, Select};
use select::{CriticalPathProcessor, EarliestFinish, EarliestStart, Fill, FinishPlusCost};

/// Which device an op goes to, or which pair of an op and a device comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The earliest finish (HEFT; Min-Min as a pair).
    EarliestFinish,
    /// The earliest start (MCP; ETF as a pair).
    EarliestStart,
    /// The least sum of finish and optimistic cost (PEFT).
    FinishPlusCost,
    /// The earliest finish of the op's successors.
    Lookahead,
    /// One device for the critical path, the earliest finish for the others (CPOP).
    CriticalPath,
    /// One device after the other, each filled to its share of the memory (m-TOPO).
    Fill,
    /// The largest level less start plus advantage of the device (DLS); pairs only.
    DynamicLevel,
    /// The earliest start, where devices wait for the favourite child of their last op (m-SCT); pairs only.
    FavouriteChild,
}

impl Selection {
    /// All selections by the names that users write.
    pub const NAMES: [(&str, Self); 8] = [
        ("earliest_finish", Self::EarliestFinish),
        ("earliest_start", Self::EarliestStart),
        ("finish_plus_cost", Self::FinishPlusCost),
        ("lookahead", Self::Lookahead),
        ("critical_path", Self::CriticalPath),
        ("fill", Self::Fill),
        ("dynamic_level", Self::DynamicLevel),
        ("favourite_child", Self::FavouriteChild),
    ];
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        by_name(text, &Self::NAMES)
    }
}

/// What is picked in each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The ready op of the highest priority, then a device for it.
    Op,
    /// The best of all pairs of a ready op and a feasible device; the priority breaks ties.
    Pair,
}

impl FromStr for Pick {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        by_name(text, &[("op", Self::Op), ("pair", Self::Pair)])
    }
}

fn by_name<T: Copy>(text: &str, names: &[(&str, T)]) -> Result<T, String> {
    names.iter().find(|(name, _)| *name == text).map(|&(_, value)| value).ok_or_else(|| format!("unknown '{text}'"))
}

/// A list scheduler put together from its parts: every one of the literature here is one combination, and the other
/// combinations are its ablations.
///
/// | placer | priority | pick | selection | insertion |
/// |---|---|---|---|---|
/// | heft | upward_rank | op | earliest_finish | yes |
/// | cpop | upward_downward | op | critical_path | yes |
/// | peft | optimistic_cost | op | finish_plus_cost | yes |
/// | lookahead | upward_rank | op | lookahead | yes |
/// | mcp | alap | op | earliest_start | yes |
/// | etf | static_level | pair | earliest_start | no |
/// | dls | median_level | pair | dynamic_level | no |
/// | m_topo | topological | op | fill | no |
/// | m_etf | topological | pair | earliest_start | no |
/// | m_sct | topological | pair | favourite_child | no |
///
/// An op is ready when its predecessors are scheduled. Ops of equal priority go in topological order. Colocated ops
/// follow the first of them that is scheduled, for which the memory of the whole group must be there (L §4.3).
///
/// # Reference
/// Y.-K. Kwok, I. Ahmad, *Static Scheduling Algorithms for Allocating Directed Task Graphs to Multiprocessors*, ACM
/// Computing Surveys 31(4), 1999, 406–471, doi:10.1145/344588.344618, for list scheduling and its parts; the named
/// combinations cite their own.
///
/// # Complexity
/// With pick=op, O(edges · devices + ops · devices · log ops), lookahead excepted: see [`Lookahead`](super::Lookahead).
/// With pick=pair, O(edges · devices + ops · devices · log ops) too, and up to 40 bytes for each pair of a device and an
/// op that was ready when the device was busy.
///
/// # Ties
/// Of devices: the lowest id. Of pairs: the op of the higher priority, then the lowest device id.
///
/// # Deviations
/// Pairs come without insertion: with it, every reservation would change the start of every ready op on that device.
#[derive(Clone, Copy, Debug)]
pub struct ListScheduling {
    /// The order of the ops.
    pub priority: Priority,
    /// What is picked in each step.
    pub pick: Pick,
    /// The device.
    pub selection: Selection,
    /// Whether an op may go into a gap between others.
    pub insertion: bool,
    /// How costs that differ between devices are averaged.
    pub average: Average,
    /// How favourite children are found, for [`Selection::FavouriteChild`].
    pub favourites: FavouriteChildren,
}

impl Default for ListScheduling {
    /// HEFT.
    fn default() -> Self {
        Self {
            priority: Priority::UpwardRank,
            pick: Pick::Op,
            selection: Selection::EarliestFinish,
            insertion: true,
            average: Average::Time,
            favourites: FavouriteChildren::default(),
        }
    }
}

/// Ops scheduled between two looks at the stop token.
const STOP_INTERVAL: usize = 1024;

impl ListScheduling {
    /// Whether the parts go together.
    ///
    /// # Errors
    /// [`SpecError::BadValue`] with the part that does not go with the others, and what it must be.
    pub fn check(&self) -> Result<(), SpecError> {
        let name = self.selection_name();
        let bad = |param: &str, value: &str, expected: String| {
            Err(SpecError::BadValue { algorithm: "list".into(), param: param.into(), value: value.into(), expected })
        };
        match (self.pick, self.selection) {
            (Pick::Op, Selection::DynamicLevel | Selection::FavouriteChild) => {
                return bad("pick", "op", format!("'pair' with selection={name}"));
            }
            (Pick::Pair, Selection::EarliestFinish | Selection::EarliestStart) => {}
            (Pick::Pair, Selection::FavouriteChild) => {}
            (Pick::Pair, Selection::DynamicLevel) if self.priority.is_level() => {}
            (Pick::Pair, Selection::DynamicLevel) => {
                let levels = "'upward_rank', 'optimistic_cost', 'static_level' or 'median_level'";
                return bad("priority", self.priority_name(), format!("{levels} with selection={name}"));
            }
            (Pick::Pair, _) => return bad("pick", "pair", format!("'op' with selection={name}")),
            (Pick::Op, _) => {}
        }
        if self.pick == Pick::Pair && self.insertion {
            return bad("insertion", "true", "'false' with pick=pair".into());
        }
        Ok(())
    }

    fn selection_name(&self) -> &'static str {
        Selection::NAMES.iter().find(|(_, value)| *value == self.selection).map_or("", |(name, _)| name)
    }

    fn priority_name(&self) -> &'static str {
        Priority::NAMES.iter().find(|(_, value)| *value == self.priority).map_or("", |(name, _)| name)
    }

    fn pick_ops(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let has_table = self.priority == Priority::OptimisticCost || self.selection == Selection::FinishPlusCost;
        let table = has_table.then(|| OptimisticCostTable::new(instance, self.average));
        let order = Ranked::new(instance, self.priority, self.average, table.as_ref()).order;
        let order = if self.priority.is_monotone() { order } else { most_urgent_first(instance.graph(), &order) };
        match (self.selection, &table) {
            (Selection::EarliestStart, _) => self.walk(instance, &order, EarliestStart, context),
            (Selection::FinishPlusCost, Some(table)) => self.walk(instance, &order, FinishPlusCost(table), context),
            (Selection::Lookahead, _) => {
                self.walk(instance, &order, Lookahead::new(instance, &order, self.insertion), context)
            }
            (Selection::CriticalPath, _) => {
                self.walk(instance, &order, CriticalPathProcessor::new(instance, self.average), context)
            }
            (Selection::Fill, _) => self.walk(instance, &order, Fill::new(instance), context),
            _ => self.walk(instance, &order, EarliestFinish, context),
        }
    }

    fn walk(
        &self,
        instance: &Instance,
        order: &[OpId],
        mut selection: impl Select,
        context: &PlaceContext,
    ) -> Result<Decision, PlaceError> {
        let mut schedule = PartialSchedule::new(instance, self.insertion);
        for ops in order.chunks(STOP_INTERVAL) {
            context.stop.check()?;
            for &op in ops {
                schedule.schedule(op, &mut selection)?;
            }
        }
        schedule.finish()
    }
}

impl Placer for ListScheduling {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        self.check().map_err(|error| PlaceError::Unsupported(error.to_string()))?;
        context.stop.check()?;
        match self.pick {
            Pick::Op => self.pick_ops(instance, context),
            Pick::Pair => pairs::schedule(self, instance, context),
        }
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
