//! Decides where ops run and in which order: placers, schedulers, lower bounds.
//!
//! One file an algorithm, one line in [`registry`] each. Nothing here simulates: a search-based placer gets its
//! objective from its caller.

mod assignment;
pub mod bounds;
pub mod exact;
mod online;
pub mod partition;
mod placer;
pub mod placers;
pub mod ranks;
pub mod registry;
mod scheduler;
pub mod schedulers;
mod spec;

pub use assignment::Assignment;
pub use online::{ONLINE, OnlinePlacer, OnlinePolicy, OnlineState};
pub use placer::{Decision, ExternalFault, Objective, PlaceContext, PlaceError, Placer, Plan, StopToken};
pub use registry::Entry;
pub use scheduler::{Policy, Scheduler, SchedulerError, SimulationState, Task};
pub use spec::{ParamSpec, Params, Spec, SpecError};
