//! Decides where ops run and in which order: placers, schedulers, lower bounds.
//!
//! One file an algorithm, with its parameters declared beside its type ([`Algorithm`]), and one line in [`registry`]. Nothing here simulates: a search-based placer gets its
//! objective from its caller.

mod algorithm;
mod assignment;
pub mod bounds;
mod directed;
pub mod exact;
pub mod fairness;
mod memory;
mod online;
pub mod partition;
mod peak_demands;
pub mod period;
mod place_error;
mod placer;
pub mod placers;
#[cfg(test)]
#[path = "../tests/support/random.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the crate's public face")]
mod random_instances;
pub mod ranks;
pub mod registry;
mod scheduler;
pub mod schedulers;
mod stop;
mod total;

pub use algorithm::{Algorithm, RegistryEntry, Role};
pub use assignment::Assignment;
pub use directed::Directed;
pub use online::{ONLINE, OnlinePlacer, OnlinePolicy, OnlineState};
pub use place_error::{ExternalFault, PlaceError};
pub use placebench_base::params::{Named, Number, ParamSpec, Params, above, above_to};
pub use placebench_base::spec::{Spec, SpecError};
pub use placer::{Decision, Judgement, Objective, PlaceContext, Placer, Plan};
pub use scheduler::{Policy, Scheduler, SchedulerError, SimulationState, Task};
pub use stop::StopToken;
