//! List scheduling, as parts that combine: a [`Priority`] orders the ops, a [`Selection`] picks a device, an insertion
//! finds the slot there.
//!
//! The parts are in [`parts`]. A rank is turned into an order once ([`priority`]). Where the op of the highest priority comes first and its device
//! second ([`Pick::Op`]), one loop walks the ops, and the selections are in [`select`] and [`lookahead`]. Where the best
//! pair of a ready op and a device comes next ([`Pick::Pair`]), [`pairs`] keeps the pairs in heaps of [`queue`]. The
//! schedule in the making is in [`schedule`], the slots of a device in [`timeline`]; [`favourites`] solves the linear
//! program of SCT. What they see of an instance is a [`view`], as time runs or reversed: [`Sweep`](super::Sweep) has views of
//! its own.

mod favourites;
mod gaps;
#[cfg(test)]
#[path = "../../../tests/support/instances.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the crate's public face")]
mod instances;
mod lookahead;
mod oct;
mod pairs;
mod parts;
mod priority;
mod queue;
mod ready;
mod schedule;
mod select;
mod slot;
mod timeline;
mod view;
mod waits;

use placebench_datasets::{Instance, OpId};

pub use favourites::FavouriteChildren;
pub use parts::{ListScheduling, Pick, Selection};
pub use priority::Priority;

pub(crate) use oct::OptimisticCostTable;
pub(crate) use priority::by_descending_rank;
pub(crate) use ready::most_urgent_first;
pub(crate) use schedule::{Insertion, PartialSchedule, Select, planned_order};
pub(crate) use select::{EarliestFinish, FinishPlusCost};
pub(crate) use slot::Slot;
pub(crate) use view::View;

use crate::ranks::AverageTransfer;
use crate::{Assignment, Decision, PlaceContext, PlaceError, Placer};
use lookahead::Lookahead;
use parts::STOP_INTERVAL;
use priority::Ranked;
use select::{CriticalPathProcessor, EarliestStart, Fill};
use view::Forward;

impl ListScheduling {
    fn pick_ops(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let has_table = self.priority == Priority::OptimisticCost || self.selection == Selection::FinishPlusCost;
        let table = has_table.then(|| self.table(instance));
        let order = Ranked::new(instance, self.priority, self.average, table.as_ref()).order;
        let order = if self.priority.is_monotone() { order } else { most_urgent_first(instance.graph(), &order) };
        match (self.selection, &table) {
            (Selection::EarliestStart, _) => self.walk(instance, &order, EarliestStart, context),
            (Selection::FinishPlusCost, Some(table)) => self.walk(instance, &order, FinishPlusCost(table), context),
            (Selection::Lookahead, _) => {
                let lookahead = Lookahead::new(instance, &order, self.insertion, &context.stop);
                self.walk(instance, &order, lookahead, context)
            }
            (Selection::CriticalPath, _) => {
                self.walk(instance, &order, CriticalPathProcessor::new(instance, self.average), context)
            }
            (Selection::Fill, _) => self.walk(instance, &order, Fill::new(instance), context),
            _ => self.walk(instance, &order, EarliestFinish, context),
        }
    }

    fn table(&self, instance: &Instance) -> OptimisticCostTable {
        OptimisticCostTable::new(&Forward::new(instance), instance, AverageTransfer::new(instance, self.average))
    }

    fn assignment<'a>(&self, instance: &'a Instance) -> Assignment<'a> {
        if self.keeps_peaks { Assignment::within_peaks(instance) } else { Assignment::new(instance) }
    }

    fn walk<'a>(
        &self,
        instance: &'a Instance,
        order: &[OpId],
        mut selection: impl Select<Forward<'a>>,
        context: &PlaceContext,
    ) -> Result<Decision, PlaceError> {
        let mut schedule = PartialSchedule::new(instance, self.insertion, self.assignment(instance));
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
