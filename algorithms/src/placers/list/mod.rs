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

use placebench_datasets::{Instance, OpId};

pub use favourites::FavouriteChildren;
pub use priority::Priority;

use crate::ranks::Average;
use crate::{Algorithm, Decision, Named, Params, PlaceContext, PlaceError, Placer, SpecError};
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

impl Named for Selection {
    const NAMES: &'static [(&'static str, Self)] = &[
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

/// What is picked in each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The ready op of the highest priority, then a device for it.
    Op,
    /// The best of all pairs of a ready op and a feasible device; the priority breaks ties.
    Pair,
}

impl Named for Pick {
    const NAMES: &'static [(&'static str, Self)] = &[("op", Self::Op), ("pair", Self::Pair)];
}

/// Whether ops may go into gaps, as users say it.
#[derive(Clone, Copy, PartialEq)]
enum Insertion {
    Yes,
    No,
    /// Yes if an op is picked first and then a device for it.
    Auto,
}

impl Named for Insertion {
    const NAMES: &'static [(&'static str, Self)] = &[("true", Self::Yes), ("false", Self::No), ("auto", Self::Auto)];
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

impl Algorithm for ListScheduling {
    const NAME: &str = "list";
    const SUMMARY: &str = "list scheduling from named parts: heft, cpop, peft and the others are combinations";
    const SOURCE: &str = "Kwok, Ahmad 1999";

    /// The defaults are HEFT's.
    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let priority = "order of the ops: upward_rank, upward_downward, optimistic_cost, static_level, median_level, alap, \
                        top_level or topological";
        let pick = "what is picked: the most urgent op, then a device; or the best pair of both";
        let selection = "the device: earliest_finish, earliest_start, and with pick=op finish_plus_cost, lookahead, \
                         critical_path or fill, with pick=pair dynamic_level or favourite_child";
        let insertion = "whether ops may go into gaps: true, false or auto (with pick=op)";
        let priority = params.word("priority", Priority::UpwardRank, priority)?;
        let pick = params.word("pick", Pick::Op, pick)?;
        let selection = params.word("selection", Selection::EarliestFinish, selection)?;
        let insertion = match params.word("insertion", Insertion::Auto, insertion)? {
            Insertion::Auto => pick == Pick::Op,
            insertion => insertion == Insertion::Yes,
        };
        let average = Average::param(params, Average::Time)?;
        // Only m_sct lets users choose these.
        let favourites = FavouriteChildren::params(&mut Params::none())?;
        let list = Self { priority, pick, selection, insertion, average, favourites };
        list.check()?;
        Ok(list)
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
        let name = self.selection.name();
        let bad = |param: &str, value: &str, expected: String| {
            Err(SpecError::BadValue {
                algorithm: Self::NAME.into(),
                param: param.into(),
                value: value.into(),
                expected,
            })
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
                return bad("priority", self.priority.name(), format!("{levels} with selection={name}"));
            }
            (Pick::Pair, _) => return bad("pick", "pair", format!("'op' with selection={name}")),
            (Pick::Op, _) => {}
        }
        if self.pick == Pick::Pair && self.insertion {
            return bad("insertion", "true", "'false' with pick=pair".into());
        }
        Ok(())
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
