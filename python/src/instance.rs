//! The class `Instance`.

use std::sync::Arc;

use placebench::algorithms::StopToken;
use placebench::datasets::format::GraphHeader;
use placebench::datasets::{self, MemoryRule};
use placebench::generator::Passes;
use placebench::harness::problem::{Kinds, Problem, ProblemError, passed_header};
use pyo3::prelude::*;

use crate::array::Array;
use crate::cluster::{Cluster, ClusterSource};
use crate::fault::fault;
use crate::graph::{Graph, GraphSource};
use crate::interrupt::wait;

/// A graph on a cluster: what a placer gets.
#[pyclass(frozen, module = "placebench")]
pub(crate) struct Instance {
    pub(crate) problem: Problem,
    pub(crate) graph: String,
    pub(crate) cluster: String,
}

/// How a graph is put on a cluster.
#[derive(Clone)]
pub(crate) struct InstanceOptions {
    pub(crate) devices: Option<usize>,
    pub(crate) kinds: Option<Kinds>,
    pub(crate) memory: MemoryRule,
    pub(crate) seed: u64,
    /// Passes behind those of the graph.
    pub(crate) passes: Passes,
}

impl InstanceOptions {
    /// As Python gives them.
    ///
    /// # Errors
    /// If a word is unknown.
    pub(crate) fn of(devices: Option<usize>, kinds: Option<&str>, memory: &str, seed: u64) -> PyResult<Self> {
        let kinds = kinds.map(str::parse).transpose().map_err(fault)?;
        Ok(Self { devices, kinds, memory: memory.parse().map_err(fault)?, seed, passes: Passes::default() })
    }

    /// With passes as Python gives them.
    ///
    /// # Errors
    /// If there is no such pass, or they do not follow each other.
    pub(crate) fn with_passes(self, passes: Vec<String>) -> PyResult<Self> {
        Ok(Self { passes: Passes::new(passes).map_err(fault)?, ..self })
    }
}

impl Instance {
    /// A graph on a cluster. Both may have to be made.
    ///
    /// # Errors
    /// If one of them cannot be made, or they do not fit together.
    pub(crate) fn made(
        py: Python<'_>,
        graph: &Bound<'_, PyAny>,
        cluster: &Bound<'_, PyAny>,
        options: InstanceOptions,
    ) -> PyResult<Self> {
        let (graph, cluster) = (GraphSource::of(graph)?, ClusterSource::of(cluster)?);
        let label = cluster.label();
        let made = wait(py, &StopToken::default(), |_| Ok(()), move || problem(graph, &cluster, options))?;
        let (problem, graph) = made.map_err(fault)?;
        Ok(Self { problem, graph, cluster: label })
    }

    /// What a placer of a suite gets.
    pub(crate) fn of_suite(instance: &datasets::Instance) -> Self {
        // Narrowed already, as the suite says.
        let problem =
            Problem { instance: instance.clone(), kinds: Kinds::AsGiven, passes: Passes::default(), notes: Vec::new() };
        Self { problem, graph: "graph".into(), cluster: "cluster".into() }
    }
}

/// The graph on the cluster, and the name of the graph in tables.
fn problem(
    graph: GraphSource,
    cluster: &ClusterSource,
    options: InstanceOptions,
) -> Result<(Problem, String), ProblemError> {
    let InstanceOptions { devices, kinds, memory, seed, passes } = options;
    let (header, graph, name, lines) = match (graph, cluster.as_used(devices, kinds, memory)) {
        (GraphSource::Entry(graph), Some(cluster)) => {
            let graph = graph.with(&passes)?;
            return Ok((Problem::new(&graph, &cluster, seed)?, graph.label()));
        }
        (GraphSource::Entry(graph), None) => {
            let graph = graph.with(&passes)?;
            let devices = cluster.load(devices, seed)?.device_count();
            let (header, passed) = graph.for_devices(devices)?.passed_before_placement(seed)?;
            (header, Arc::new(passed.graph), graph.label(), passed.lines)
        }
        (GraphSource::Made(header, graph), _) => {
            let refused = |error| ProblemError::Pass { graph: header.name.clone(), error };
            let (graph, lines) = match passes.before_placement() {
                before if before.is_empty() => (graph, Vec::new()),
                before => {
                    let passed = before.apply(Arc::unwrap_or_clone(graph)).map_err(refused)?;
                    (Arc::new(passed.graph), passed.lines)
                }
            };
            let header = passed_header(header, &passes);
            (header.clone(), graph, header.name, lines)
        }
    };
    let cluster = cluster.load(devices, seed)?;
    let joined = Problem::of(&header, graph, Arc::unwrap_or_clone(cluster), kinds, memory)?;
    Ok((Problem { notes: lines, ..joined }, name))
}

#[pymethods]
impl Instance {
    #[new]
    #[pyo3(signature = (graph, cluster, *, devices=None, kinds=None, memory="peak", seed=0))]
    fn new(
        py: Python<'_>,
        graph: &Bound<'_, PyAny>,
        cluster: &Bound<'_, PyAny>,
        devices: Option<usize>,
        kinds: Option<&str>,
        memory: &str,
        seed: u64,
    ) -> PyResult<Self> {
        Self::made(py, graph, cluster, InstanceOptions::of(devices, kinds, memory, seed)?)
    }

    /// The graph. Not copied.
    #[getter]
    fn graph(&self) -> Graph {
        Graph { header: GraphHeader::named(self.graph.clone()), graph: self.problem.instance.shared_graph() }
    }

    /// The cluster. Not copied. Its memory is unlimited unless the memory rule is 'static'; see `peak_limits`.
    #[getter]
    fn cluster(&self) -> Cluster {
        Cluster { name: self.cluster.clone(), cluster: self.problem.instance.shared_cluster() }
    }

    /// How memory limits placements: 'peak', 'static' or 'unlimited'.
    #[getter]
    fn memory_rule(&self) -> &'static str {
        self.problem.instance.memory_rule().name()
    }

    /// Bytes that may be in use at once on each device; None is unlimited.
    #[getter]
    fn peak_limits(&self) -> Vec<Option<u64>> {
        self.problem.instance.cluster().device_ids().map(|device| self.problem.instance.peak_limit(device)).collect()
    }

    /// The unit of times: 'seconds', or 'EU' for operations divided by operations a unit.
    #[getter]
    fn time_unit(&self) -> &str {
        self.problem.instance.time_unit()
    }

    /// The time that each op (rows) takes on each device: made anew.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (instance, devices) = (&self.problem.instance, self.problem.instance.cluster().device_ids());
        let ops = instance.graph().op_ids();
        let times = ops.flat_map(|op| devices.clone().map(move |device| instance.exec_time(op, device)));
        Array::rows(py, times.collect(), instance.cluster().device_count())
    }

    /// Whether each op (rows) may run on each device, as far as kinds say: made anew.
    #[getter]
    fn allowed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (units, cluster) = (self.problem.instance.units(), self.problem.instance.cluster());
        let allows = |(op, device)| u8::from(units.kind_allows(units.unit_of(op), cluster, device));
        let pairs =
            self.problem.instance.graph().op_ids().flat_map(|op| cluster.device_ids().map(move |device| (op, device)));
        Array::rows(py, pairs.map(allows).collect(), cluster.device_count())
    }

    /// The unit of each op: ops of one unit have to be on one device. Made anew.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let units = self.problem.instance.units();
        Array::of(py, self.problem.instance.graph().op_ids().map(|op| units.unit_of(op).0).collect())
    }

    /// The bytes that each unit claims on its device under the memory rule 'static': made anew.
    #[getter]
    fn demands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let units = self.problem.instance.units();
        Array::of(py, units.ids().map(|unit| units.demand_bytes(unit)).collect())
    }

    /// The ops in a topological order: made anew.
    #[getter]
    fn topological_order<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of(py, self.problem.instance.graph().topological_order().map(|op| op.0).collect())
    }

    fn __repr__(&self) -> String {
        let (graph, cluster) = (self.problem.instance.graph(), self.problem.instance.cluster());
        format!(
            "<placebench.Instance: {} ops on {} devices, memory rule {}>",
            graph.op_count(),
            cluster.device_count(),
            self.memory_rule()
        )
    }
}
