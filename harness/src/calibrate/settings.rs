//! What is measured of a machine, and by whom.

use crate::execute::Transport;

/// What a driver measures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalibrateSettings {
    /// The executor: `threads`, or the driver `jax`, `torch` or `tensorflow`.
    pub driver: String,
    /// How the executors `threads`, `jax` and `torch` move tensors.
    pub transport: Transport,
    /// CPU devices, a core each.
    pub cpus: usize,
    /// GPUs.
    pub gpus: usize,
    /// Worker processes that were started by hand, one a device, as `address:port`; empty to start them here.
    pub hosts: Vec<String>,
    /// The graphs whose steps are measured: names of the catalogue, or folders of the extractor; empty for the driver's
    /// own choice.
    pub graphs: Vec<String>,
}
