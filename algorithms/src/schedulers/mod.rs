//! The schedulers, one file each.

mod fifo;
mod queue;

pub use fifo::Fifo;
