//! placebench makes, places and judges dataflow graphs: on which device should each operation run, and how good is the
//! answer?
//!
//! Programs use the [`prelude`], whose names semantic versioning holds. The rooms of the house are internal: the command, the
//! Python package and the tests are built on them, and any version may change them.
//!
//! - `base`: names with parameters, text for people, what the operating system says
//! - `datasets`: what a problem is, file formats, the catalogue of real graphs
//! - `generator`: makes graphs and clusters
//! - `algorithms`: placers, schedulers, lower bounds
//! - `harness`: simulator, validator, suite runner, result tables
//! - `execute_cuda`: executes on NVIDIA GPUs, with the feature `cuda`
//! - `reports`: tables, figures and findings in words

// The command is written as a user of this library.
extern crate self as placebench;

mod cmd;
mod command;
mod environment;
mod interrupt;
mod output;
pub mod prelude;
mod progress;

#[doc(hidden)]
pub use command::command;
#[doc(hidden)]
pub use environment::environment;
#[doc(hidden)]
pub use placebench_algorithms as algorithms;
#[doc(hidden)]
pub use placebench_base as base;
#[doc(hidden)]
pub use placebench_datasets as datasets;
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use placebench_execute_cuda as execute_cuda;
#[doc(hidden)]
pub use placebench_generator as generator;
#[doc(hidden)]
pub use placebench_harness as harness;
#[doc(hidden)]
pub use placebench_reports as reports;
