//! List scheduling, as three parts that combine: a priority orders the ops, a selection picks a device for the next op,
//! an insertion finds its slot there.
//!
//! [`priority`] has the orders, [`schedule`] the schedule in the making with the selections, [`timeline`] the slots.

pub(crate) mod priority;
pub(crate) mod schedule;
pub(crate) mod timeline;

mod gaps;
