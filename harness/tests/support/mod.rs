//! What the integration tests share: random instances, placers that do little, and a naive simulator to compare with.

pub(crate) mod brief;
pub(crate) mod naive;
pub(crate) mod problem;
pub(crate) mod random;
pub(crate) mod water_filling;
