//! Partitions graphs into blocks and judges partitions, as a command does.
//!
//! The program `placebench-partition` is this library and nothing else; the verb `partition` of the command `placebench` calls
//! it, too. [`Args`] are the options and [`execute`] does what they say.
//!
//! Other verbs share what any command needs: [`source`] finds graphs and clusters by the names that people give them,
//! [`output`] prints and ends with an exit code, [`interrupt`] listens for Ctrl-C.

mod command;
mod heap;
mod input;
pub mod interrupt;
pub mod output;
mod report;
pub mod source;

pub use command::{Args, execute};
