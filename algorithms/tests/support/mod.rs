//! Instances and helpers that several tests share.

#![allow(unreachable_pub, reason = "shared with tests beside the code and with benchmarks")]

pub mod instances;
pub mod random;
pub mod rmat;

use placebench_algorithms::{Decision, PlaceContext, PlaceError, registry};
use placebench_datasets::Instance;

/// What the placer of a spec decides.
pub fn place(spec: &str, instance: &Instance) -> Result<Decision, PlaceError> {
    registry::placer(&spec.parse().unwrap()).unwrap().place(instance, &PlaceContext::default())
}
