//! Where and when an op runs.

use placebench_datasets::{DeviceId, Time};

/// Where and when an op runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Slot {
    pub(crate) device: DeviceId,
    pub(crate) start: Time,
    pub(crate) finish: Time,
}
