//! placebench makes, places and judges dataflow graphs: on which device should each operation run, and how good is the
//! answer?
//!
//! This crate re-exports the rooms of the house; the command is built on them.
//!
//! - [`datasets`]: what a problem is, file formats, the catalogue of real graphs
//! - [`generator`]: makes graphs and clusters
//! - [`algorithms`]: placers, schedulers, lower bounds
//! - [`harness`]: simulator, validator, suite runner, result tables
//! - `execute_cuda`: executes on NVIDIA GPUs, with the feature `cuda`
//! - [`reports`]: tables, figures and findings in words

mod environment;

pub use environment::environment;
pub use placebench_algorithms as algorithms;
pub use placebench_datasets as datasets;
#[cfg(feature = "cuda")]
pub use placebench_execute_cuda as execute_cuda;
pub use placebench_generator as generator;
pub use placebench_harness as harness;
pub use placebench_reports as reports;
