//! Clusters as TOML, for people to write.
//!
//! ```toml
//! send_ops = 10                  # operations that a send op costs its sender; default 0
//! op_overhead = 0.05             # time units, or "5 us", that a device adds to each op; default 0
//! send_overhead = 0.02           # time units that a transfer takes of its sender, and
//! send_overhead_per_byte = 1e-6  # that each of its bytes does; default 0
//! receive_overhead = 0.03        # the same for its receiver
//! receive_overhead_per_byte = 0
//!
//! [[device]]
//! name = "cpu"
//! kind = "CPU"
//! speed = 10                     # operations per time unit, or "500 Gops/s"
//!
//! [[device]]
//! name = "gpu"                   # gpu0, gpu1, …
//! count = 2
//! kind = "GPU"
//! memory = "16 GiB"              # unlimited if left out
//! speed = 80
//! op_overhead = 0.1              # instead of the one for all devices
//! class = "gtx1080"              # whose measured times the devices have; default: cpu, gpu or tpu, as the kind
//! matrix_speed = 300             # operations per time unit of products of matrices and convolutions; default: speed
//! memory_bandwidth = 320         # bytes per time unit that ops read and write, or "320 GB/s"; default: no limit
//! reached = 0.6                  # the share of speed, matrix_speed and memory_bandwidth that ops reach; default 1
//!
//! [link]                         # every pair that no [[pair]] names
//! rate = 30                      # bytes per time unit, or "12 GB/s"
//! latency = 0.001                # time units, or "5 us"; default 0
//!
//! [[pair]]                       # the last line that names a pair counts
//! between = ["gpu", "gpu"]       # both ways; "gpu" stands for all of its devices
//! rate = 60
//!
//! [[pair]]
//! from = "gpu1"                  # one way
//! to = "cpu"
//! rate = 15
//!
//! [[overhead]]                   # the last line that names a pair counts; what it leaves out is as for all pairs
//! from = "gpu"                   # or between, as above
//! to = "gpu"
//! send_overhead = 0.01
//! ```
//!
//! Instead of `[link]` and `[[pair]]` there may be a topology, from which the rates follow (see [`crate::Topology`]):
//!
//! ```toml
//! [topology]
//! switches = ["host", "tor"]     # all that is no device
//!
//! [[topology.link]]
//! between = ["gpu", "host"]      # a link for each device of that line
//! rate = "16 GB/s"
//! latency = "1 us"
//! ```
//!
//! ```toml
//! [[topology.switch]]
//! name = "nvswitch"              # nvswitch0, nvswitch1, …
//! count = 4
//!
//! [[topology.link]]
//! between = ["gpu", "nvswitch"]  # of 32 GPUs and 4 switches the first eight GPUs with the first switch, and so on
//! spread = true
//! rate = "450 GB/s"
//!
//! [[topology.torus]]             # each device with the next in each dimension, and the last with the first
//! of = "tpu"                     # numbered by the last dimension first
//! shape = [4, 4]
//! rate = "50 GB/s"
//! ```
//!
//! The time of an op on a device is the one measured for the device's class, if the graph has one. Otherwise it is
//! max(operations / speed, bytes moved / memory_bandwidth), with `matrix_speed` for ops that matrix units do
//! ([`crate::is_matrix_op`]), where the graph says what its ops move and of which type they are. `op_overhead` is added to either.
//!
//! Quantities with units of time (`/s`, `us`) are for clusters whose time unit is the second.

mod read;
mod write;

pub use read::{parse_cluster_toml, read_cluster_toml};
pub use write::write_cluster_toml;

use super::entry::{Format, Holds, Mark};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "cluster_toml",
    mark: Mark::Extensions(&["toml"]),
    title: "devices and links, for people to write",
    lacks: &[],
    options: &[],
    holds: Holds::Cluster {
        read: |path| read_cluster_toml(path),
        write: Some(|path, cluster| write_cluster_toml(path, cluster)),
    },
};
