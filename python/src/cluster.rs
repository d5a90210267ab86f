//! The class `Cluster`.

use std::path::PathBuf;
use std::sync::Arc;

use placebench::datasets::{self, Device, DeviceId, Kind, Link, MemoryRule, format};
use placebench::harness::problem::{ClusterEntry, Kinds, ProblemError};
use pyo3::prelude::*;

use crate::array::Array;
use crate::fault::fault;

/// Devices, and what it takes to move bytes between them. It cannot be changed.
#[pyclass(frozen, module = "placebench")]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) cluster: Arc<datasets::Cluster>,
}

/// A cluster as functions take it: by name, or made already.
pub(crate) enum ClusterSource {
    Entry(Box<ClusterEntry>),
    Made(String, Arc<datasets::Cluster>),
}

impl ClusterSource {
    /// What Python hands in.
    ///
    /// # Errors
    /// If it is no cluster, or nothing has the name.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(cluster) = object.cast::<Cluster>() {
            let cluster = cluster.get();
            return Ok(Self::Made(cluster.name.clone(), Arc::clone(&cluster.cluster)));
        }
        let text: PathBuf = object.extract().map_err(|_| {
            fault("a cluster is a placebench.Cluster, a preset ('placebench list clusters'), or a path")
        })?;
        let text = text.to_str().ok_or_else(|| fault(format!("{}: is not Unicode", text.display())))?;
        Ok(Self::Entry(Box::new(ClusterEntry::named(text).map_err(fault)?)))
    }

    /// The name in tables.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Entry(entry) => entry.label(),
            Self::Made(name, _) => name.clone(),
        }
    }

    /// The cluster, or its first devices, for a seed.
    ///
    /// # Errors
    /// If it cannot be read, or has too few devices.
    pub(crate) fn load(&self, devices: Option<usize>, seed: u64) -> Result<Arc<datasets::Cluster>, ProblemError> {
        match self {
            Self::Entry(entry) => Ok(Arc::new(self.entry(entry, devices).load(seed)?)),
            Self::Made(_, cluster) => match devices {
                None => Ok(Arc::clone(cluster)),
                Some(wanted) if wanted == 0 || wanted > cluster.device_count() => {
                    Err(ProblemError::TooFewDevices { cluster: self.label(), devices: cluster.device_count(), wanted })
                }
                Some(wanted) => Ok(Arc::new(cluster.first_devices(wanted)?)),
            },
        }
    }

    fn entry(&self, entry: &ClusterEntry, devices: Option<usize>) -> ClusterEntry {
        ClusterEntry { devices, ..entry.clone() }
    }

    /// The entry with all that a placement says of it, if the cluster is not made yet.
    pub(crate) fn as_used(
        &self,
        devices: Option<usize>,
        kinds: Option<Kinds>,
        memory: MemoryRule,
    ) -> Option<ClusterEntry> {
        match self {
            Self::Entry(entry) => Some(ClusterEntry { kinds, memory, ..self.entry(entry, devices) }),
            Self::Made(..) => None,
        }
    }
}

#[pymethods]
impl Cluster {
    /// The cluster of a preset or a file, or its first `devices`.
    #[staticmethod]
    #[pyo3(signature = (source, *, devices=None, seed=0))]
    fn load(source: &Bound<'_, PyAny>, devices: Option<usize>, seed: u64) -> PyResult<Self> {
        let source = ClusterSource::of(source)?;
        Ok(Self { name: source.label(), cluster: source.load(devices, seed).map_err(fault)? })
    }

    /// Equal devices with equal links. `speed` is in operations a time unit, `rate` in bytes a time unit.
    #[staticmethod]
    #[pyo3(signature = (count, *, speed, rate, latency=0.0, kind="GPU", memory_bytes=None, name="uniform"))]
    fn uniform(
        count: usize,
        speed: f64,
        rate: f64,
        latency: f64,
        kind: &str,
        memory_bytes: Option<u64>,
        name: &str,
    ) -> PyResult<Self> {
        let kind: Kind = kind.parse().map_err(|error: String| fault(error))?;
        let device = |index| Device { name: format!("d{index}"), kind, memory_bytes, speed };
        let link = Link { rate, latency };
        let cluster = datasets::Cluster::new((0..count).map(device).collect(), |_, _| link).map_err(fault)?;
        Ok(Self { name: name.to_owned(), cluster: Arc::new(cluster) })
    }

    /// The name in tables.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The names of the devices.
    #[getter]
    fn devices(&self) -> Vec<&str> {
        self.cluster.devices().iter().map(|device| device.name.as_str()).collect()
    }

    /// The kind of each device: 'CPU', 'GPU' or 'TPU'.
    #[getter]
    fn kinds(&self) -> Vec<&'static str> {
        self.cluster.devices().iter().map(|device| device.kind.name()).collect()
    }

    /// The memory of each device in bytes; None is unlimited.
    #[getter]
    fn memory_bytes(&self) -> Vec<Option<u64>> {
        self.cluster.devices().iter().map(|device| device.memory_bytes).collect()
    }

    /// The speed of each device, in operations a time unit.
    #[getter]
    fn speeds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of(py, self.cluster.devices().iter().map(|device| device.speed).collect())
    }

    /// Bytes a time unit from each device (rows) to each other; infinite on the diagonal.
    #[getter]
    fn rates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.pairs(py, |from, to| if from == to { f64::INFINITY } else { self.cluster.link(from, to).rate })
    }

    /// Time until the first byte arrives, from each device (rows) to each other; 0 on the diagonal.
    #[getter]
    fn latencies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.pairs(py, |from, to| if from == to { 0.0 } else { self.cluster.link(from, to).latency })
    }

    /// Writes the cluster: `.toml`, or a folder's CSV, by the path's extension.
    #[pyo3(signature = (path, *, force=false))]
    fn save(&self, path: PathBuf, force: bool) -> PyResult<()> {
        if path.exists() && !force {
            return Err(fault(format!("{}: exists: force=True replaces it", path.display())));
        }
        format::write_cluster(&path, &self.cluster).map_err(fault)
    }

    fn __len__(&self) -> usize {
        self.cluster.device_count()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.cluster == other.cluster
    }

    fn __repr__(&self) -> String {
        format!("<placebench.Cluster '{}': {} devices>", self.name, self.cluster.device_count())
    }
}

impl Cluster {
    fn pairs<'py>(&self, py: Python<'py>, of: impl Fn(DeviceId, DeviceId) -> f64) -> PyResult<Bound<'py, PyAny>> {
        let ids = || self.cluster.device_ids();
        let all = ids().flat_map(|from| ids().map(move |to| (from, to))).map(|(from, to)| of(from, to));
        Array::rows(py, all.collect(), self.cluster.device_count())
    }
}
