//! Clusters by what a suite or a command line says of them.

use std::path::{Path, PathBuf};

use placebench_base::nearest;
use placebench_datasets::{Cluster, ClusterError, Kinds, MemoryRule, Time, format};
use placebench_generator::{ClusterParams, cluster_preset};
use serde::{Deserialize, Serialize};

use super::error::ProblemError;
use super::graph::{is_there, stem};

/// A cluster and how it is used: exactly one of `preset` and `file` says where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterEntry {
    /// Name in tables; by default that of the preset or file.
    #[serde(default)]
    pub name: Option<String>,
    /// A preset of the generator (`placebench list clusters`).
    #[serde(default)]
    pub preset: Option<String>,
    /// A cluster file, TOML or CSV.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// How many devices to take, from the first; by default all.
    #[serde(default)]
    pub devices: Option<usize>,
    /// Which of the kinds of devices that an op has kernels for it may run on; by default as the graph says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Kinds>,
    /// How the devices' memory limits placements; by default the peak of the run has to fit.
    #[serde(default)]
    pub memory: MemoryRule,
    /// What a send costs its sender, in operations; overrides the cluster's own.
    #[serde(default)]
    pub send_ops: Option<f64>,
    /// What ops and transfers take beside what the source of the cluster says; by default nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overheads: Option<AddedOverheads>,
}

/// What a runtime system adds to ops and transfers, in time units of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedOverheads {
    /// Time that every device adds to each op.
    #[serde(default)]
    pub op: Time,
    /// Latency that is added to every transfer between devices. The cluster's topology is not kept.
    #[serde(default)]
    pub transfer: Time,
}

impl AddedOverheads {
    /// The cluster with these overheads.
    ///
    /// # Errors
    /// If one is negative or not finite.
    fn add_to(self, cluster: &Cluster) -> Result<Cluster, ProblemError> {
        for (name, value) in [("op", self.op), ("transfer", self.transfer)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(ProblemError::BadOverhead { name, value });
            }
        }
        let later = cluster.with_added_latency(self.transfer)?;
        Ok(later.with_op_overheads(|device| cluster.op_overhead(device) + self.op)?)
    }
}

impl ClusterEntry {
    /// The cluster that a person names: a preset first, then a path.
    ///
    /// # Errors
    /// If there is none, with the nearest name that there is.
    pub fn named(text: &str) -> Result<Self, ProblemError> {
        let named = Self { name: Some(text.to_owned()), ..Self::default() };
        if cluster_preset(text, 0).is_some() {
            Ok(Self { preset: Some(text.to_owned()), ..named })
        } else if is_there(Path::new(text)) {
            Ok(Self { file: Some(text.into()), ..named })
        } else {
            let nearest = nearest(text, ClusterParams::PRESETS);
            Err(ProblemError::Unknown { what: "cluster", name: text.to_owned(), nearest, list: "clusters" })
        }
    }

    /// The name in tables.
    pub fn label(&self) -> String {
        let base = self.name.clone().or_else(|| self.preset.clone()).or_else(|| self.file.as_deref().map(stem));
        base.unwrap_or_default()
    }

    /// Whether the preset exists, and the numbers make sense as far as they can be judged without the file.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self) -> Result<(), ProblemError> {
        if self.devices == Some(0) {
            return Err(ClusterError::Empty.into());
        }
        if let Some(send_ops) = self.send_ops.filter(|send_ops| !(send_ops.is_finite() && *send_ops >= 0.0)) {
            return Err(ClusterError::BadSendOps(send_ops).into());
        }
        match self.preset.as_deref().map(|name| preset(name, 0)).transpose()? {
            Some(cluster) => self.as_used(cluster).map(drop),
            None => Ok(()),
        }
    }

    /// Whether a cluster has as many devices as the entry takes.
    fn check_devices(&self, cluster: &Cluster) -> Result<(), ProblemError> {
        let devices = cluster.device_count();
        match self.devices {
            Some(wanted) if wanted == 0 || wanted > devices => {
                Err(ProblemError::TooFewDevices { cluster: self.label(), devices, wanted })
            }
            _ => Ok(()),
        }
    }

    /// The cluster for a seed. Its memory is as its source says, whatever the rule.
    ///
    /// # Errors
    /// If it does not exist, cannot be read, or has too few devices.
    pub fn load(&self, seed: u64) -> Result<Cluster, ProblemError> {
        self.as_used(match &self.file {
            Some(path) => format::read_cluster(path)?,
            None => preset(self.preset.as_deref().unwrap_or_default(), seed)?,
        })
    }

    /// The part of the source's cluster that is used, with what the entry changes.
    fn as_used(&self, mut cluster: Cluster) -> Result<Cluster, ProblemError> {
        self.check_devices(&cluster)?;
        if let Some(wanted) = self.devices {
            cluster = cluster.first_devices(wanted)?;
        }
        if let Some(overheads) = self.overheads {
            cluster = overheads.add_to(&cluster)?;
        }
        match self.send_ops {
            None => Ok(cluster),
            Some(send_ops) => Ok(cluster.with_send_ops(send_ops)?),
        }
    }
}

/// The cluster of a preset for a seed.
fn preset(name: &str, seed: u64) -> Result<Cluster, ProblemError> {
    match cluster_preset(name, seed) {
        Some(cluster) => Ok(cluster?),
        None => Err(ProblemError::UnknownPreset {
            what: "cluster",
            name: name.to_owned(),
            nearest: nearest(name, ClusterParams::PRESETS),
        }),
    }
}
