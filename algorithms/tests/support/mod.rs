//! Instances and helpers that several tests share.

#![allow(dead_code, unreachable_pub, reason = "each test uses its own part")]

pub mod instances;
pub mod random;

use placebench_algorithms::{Decision, PlaceContext, PlaceError, registry};
use placebench_datasets::Instance;

/// What the placer of a spec decides.
pub fn place(spec: &str, instance: &Instance) -> Result<Decision, PlaceError> {
    registry::placer(&spec.parse().unwrap()).unwrap().place(instance, &PlaceContext::default())
}
