//! The schedulers, one file each.

mod fifo;
mod msr;
mod path_times;
mod pct;
mod queue;
mod static_order;
mod task_graph;

pub use fifo::Fifo;
pub use msr::Msr;
pub use pct::Pct;
pub use static_order::Static;
