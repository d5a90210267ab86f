//! What makes a cell: `run`, `place`, `execute`, the replay of a cell and Python ask with one [`CellRequest`], and rows are
//! made here alone.

mod cell;
mod given;
mod prepared;
mod scheduler;

pub use cell::{CellRequest, failed, silent};
pub use given::Given;
pub use prepared::{Answer, Prepared};
pub use scheduler::{CHOSEN, ChoiceError, ChosenScheduler, all_schedulers, choose_scheduler, named_scheduler};
