//! Machines of today, as cluster files that say where each number comes from.

use placebench_datasets::Cluster;
use placebench_datasets::format::parse_cluster_toml;

use crate::error::GeneratorError;

/// A cluster file that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct ClusterFile {
    /// The name of the preset.
    pub name: &'static str,
    /// What it is, for lists.
    pub summary: &'static str,
    /// The file, whose first lines are comments on its sources.
    pub text: &'static str,
}

/// The machines of today, the common ones first.
pub static CLUSTER_FILES: [ClusterFile; 9] = [
    ClusterFile {
        name: "h100x8",
        summary: "a DGX H100: eight GPUs behind NVSwitches",
        text: include_str!("today/h100x8.toml"),
    },
    ClusterFile {
        name: "a100x8",
        summary: "a DGX A100: eight GPUs behind NVSwitches",
        text: include_str!("today/a100x8.toml"),
    },
    ClusterFile {
        name: "h100x8x4",
        summary: "four DGX H100, a port of 400 Gb/s for each GPU",
        text: include_str!("today/h100x8x4.toml"),
    },
    ClusterFile {
        name: "gb200_nvl72",
        summary: "a rack of 72 Blackwell GPUs in one NVLink domain",
        text: include_str!("today/gb200_nvl72.toml"),
    },
    ClusterFile {
        name: "rtx4090x4",
        summary: "a workstation: four GPUs that meet in the host's memory",
        text: include_str!("today/rtx4090x4.toml"),
    },
    ClusterFile {
        name: "tpu_v5e_4x4",
        summary: "sixteen TPU v5e in a 2-D torus",
        text: include_str!("today/tpu_v5e_4x4.toml"),
    },
    ClusterFile {
        name: "tpu_v5p_4x4x4",
        summary: "a cube of 64 TPU v5p in a 3-D torus",
        text: include_str!("today/tpu_v5p_4x4x4.toml"),
    },
    ClusterFile {
        name: "mixed_generations",
        summary: "a host each of V100, A100 and H100",
        text: include_str!("today/mixed_generations.toml"),
    },
    ClusterFile {
        name: "edge",
        summary: "a Jetson and two Raspberry Pi on Wi-Fi",
        text: include_str!("today/edge.toml"),
    },
];

impl ClusterFile {
    /// The cluster that the file describes.
    ///
    /// # Errors
    /// None for the files that there are: a test reads them all.
    pub fn cluster(&self) -> Result<Cluster, GeneratorError> {
        let cluster = parse_cluster_toml(format!("{}.toml", self.name), self.text);
        cluster.map_err(|error| GeneratorError::ClusterFile(error.to_string()))
    }
}
