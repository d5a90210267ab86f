//! Suites: which graphs, clusters, placers, schedulers and network models to run, as TOML.

mod builtin;
mod cells;
mod definition;
mod placer_entry;
mod positions;
mod shard;

pub use placebench_algorithms::ONLINE;

pub use builtin::{BUILT_IN, BuiltIn};
pub use cells::{Cell, CellExecutor, CellGroup, PlanError, RunPlan};
pub use definition::{Suite, SuiteError};
pub use placer_entry::{FunctionPlacer, PlacerEntry};
pub use positions::Positions;
pub use shard::{Shard, ShardError};
