//! `partition`, and the class `Partition`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant as Clock;

use placebench::algorithms::Spec;
use placebench::algorithms::partition::{NetWeight, PartitionError, PartitionRequest, Partitioner, quality, registry};
use placebench::datasets::format::undirected::{Undirected, read_undirected, write_partition};
use placebench::datasets::format::undirected_format;
use placebench::datasets::{Hypergraph, Instance, UndirectedGraph, View, ViewOptions};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{Array, Integers};
use crate::cluster::ClusterSource;
use crate::fault::fault;
use crate::graph::GraphSource;
use crate::interrupt::wait;

/// A partition of a graph into blocks, with what it is worth.
#[pyclass(frozen, module = "placebench")]
pub(crate) struct Partition {
    block_of: Vec<u32>,
    blocks: u32,
    cut: u64,
    volume: u64,
    traffic: Option<u64>,
    imbalance: f64,
    weights: Vec<u64>,
    acyclic: Option<bool>,
    seconds: f64,
}

#[pymethods]
impl Partition {
    /// The block of each op, or of each vertex of an undirected graph. Made anew.
    #[getter]
    fn block_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of(py, self.block_of.clone())
    }

    /// Number of blocks.
    #[getter]
    fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Weight of the edges between blocks.
    #[getter]
    fn cut(&self) -> u64 {
        self.cut
    }

    /// Communication volume: for each vertex the other blocks that have a neighbour of it, added up.
    #[getter]
    fn volume(&self) -> u64 {
        self.volume
    }

    /// Of a dataflow graph the bytes that move, each tensor once to each block that needs it; of a hypergraph its
    /// connectivity; None for other graphs.
    #[getter]
    fn traffic(&self) -> Option<u64> {
        self.traffic
    }

    /// How much the heaviest block weighs more than the mean: 0.03 is 3 %.
    #[getter]
    fn imbalance(&self) -> f64 {
        self.imbalance
    }

    /// The weight of each block.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of(py, self.weights.clone())
    }

    /// Whether the graph of blocks is acyclic; None unless it is a dataflow graph.
    #[getter]
    fn acyclic(&self) -> Option<bool> {
        self.acyclic
    }

    /// Seconds that partitioning took.
    #[getter]
    fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Writes the partition, one block a line, as METIS does.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        write_partition(path, &self.block_of).map_err(fault)
    }

    fn __len__(&self) -> usize {
        self.block_of.len()
    }

    fn __repr__(&self) -> String {
        let Self { blocks, cut, imbalance, .. } = self;
        format!("<placebench.Partition: {blocks} blocks, cut {cut}, imbalance {imbalance:.4}>")
    }
}

/// What is partitioned.
enum Seen {
    Undirected(Box<UndirectedGraph>, Option<Arc<Hypergraph>>),
    Dataflow(Arc<placebench::datasets::DataflowGraph>, Box<View>),
}

/// See `placebench.partition` in the package.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn partition(
    py: Python<'_>,
    graph: &Bound<'_, PyAny>,
    blocks: u32,
    algorithm: Option<&str>,
    epsilon: f64,
    seed: u64,
    vertices: &str,
    vertex_weight: Option<&str>,
    edge_weight: Option<&str>,
    cluster: Option<&Bound<'_, PyAny>>,
) -> PyResult<Partition> {
    let default = || registry::PARTITIONERS.first().map_or("", |entry| entry.name.as_str());
    let spec = algorithm.unwrap_or_else(default).parse::<Spec>().map_err(fault)?;
    let partitioner = registry::partitioner(&spec).map_err(fault)?;
    let request = PartitionRequest::new(blocks, epsilon, seed);
    request.check().map_err(fault)?;
    let given = vertices != "ops" || vertex_weight.is_some() || edge_weight.is_some() || cluster.is_some();
    let undirected = undirected(graph)?;
    if given && undirected.is_some() {
        let what = "vertices, vertex_weight, edge_weight and cluster are for dataflow graphs";
        return Err(fault(format!("{what}: leave them out")));
    }
    let read: Box<dyn FnOnce() -> Result<Seen, String> + Send> = match undirected {
        Some(read) => read,
        None => {
            fn word<T: std::str::FromStr<Err = String> + Default>(name: &str, text: Option<&str>) -> PyResult<T> {
                let parsed =
                    text.map(|text| text.parse().map_err(|error| fault(format!("{name} is '{text}': {error}"))));
                Ok(parsed.transpose()?.unwrap_or_default())
            }
            let options = ViewOptions {
                vertices: word("vertices", Some(vertices))?,
                vertex_weight: word("vertex_weight", vertex_weight)?,
                edge_weight: word("edge_weight", edge_weight)?,
            };
            let (graph, cluster) = (GraphSource::of(graph)?, cluster.map(ClusterSource::of).transpose()?);
            Box::new(move || dataflow(graph, cluster.as_ref(), options, seed))
        }
    };
    let stop = request.stop.clone();
    let work = move || judged(read()?, &*partitioner, &spec, &request);
    wait(py, &stop, |_| Ok(()), work)?.map_err(fault)
}

type Read = Box<dyn FnOnce() -> Result<Seen, String> + Send>;

/// The undirected graph that Python hands in, to be read: a file, or arrays of edges.
fn undirected(graph: &Bound<'_, PyAny>) -> PyResult<Option<Read>> {
    let py = graph.py();
    if let Ok(arrays) = graph.cast::<PyTuple>() {
        let names = ["sources", "targets", "weights"];
        if !(2..=3).contains(&arrays.len()) {
            return Err(fault("edges are given as (sources, targets) or (sources, targets, weights)"));
        }
        let columns = arrays.iter().zip(names).map(|(array, name)| Integers::of(name, &array));
        let columns: Vec<Integers> = columns.collect::<PyResult<_>>()?;
        if let Some(at) = columns.iter().position(|column| column.len() != columns[0].len()) {
            let (found, expected) = (columns[at].len(), columns[0].len());
            return Err(fault(format!("{}: has {found} entries for {expected} edges", names[at])));
        }
        let mut numbers: Vec<Vec<u64>> = Vec::new();
        for (column, name) in columns.iter().zip(names) {
            let number = |(at, number): (usize, Result<u64, i64>)| match number {
                Ok(number) if name == "weights" || number < u64::from(u32::MAX) => Ok(number),
                Ok(number) => {
                    Err(fault(format!("{name}: entry {at} is {number}: vertices are numbered below 2^32 - 1")))
                }
                Err(number) => Err(fault(format!("{name}: entry {at} is {number}: it must not be negative"))),
            };
            numbers.push(column.iter(py).enumerate().map(number).collect::<PyResult<_>>()?);
        }
        return Ok(Some(Box::new(move || {
            let vertices = numbers[..2].iter().flatten().max().map_or(0, |&last| last as usize + 1);
            let weight = |edge: usize| numbers.get(2).map_or(1, |weights| weights[edge]);
            let ends = numbers[0].iter().zip(&numbers[1]).enumerate();
            let edges = ends.map(|(edge, (&a, &b))| (a as u32, b as u32, weight(edge)));
            let graph = UndirectedGraph::from_edges(vertices, edges, None).map_err(|error| error.to_string())?;
            Ok(Seen::Undirected(Box::new(graph), None))
        })));
    }
    let Ok(path) = graph.extract::<PathBuf>() else { return Ok(None) };
    let Some(format) = undirected_format(&path) else { return Ok(None) };
    Ok(Some(Box::new(move || {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        match read_undirected(Path::new(&path), format, false).map_err(|error| error.to_string())? {
            Undirected::Graph(graph) => Ok(Seen::Undirected(Box::new(graph), None)),
            Undirected::Hypergraph(nets) => {
                let graph = nets.to_graph().map_err(|error| named(&error))?;
                Ok(Seen::Undirected(Box::new(graph), Some(Arc::new(nets))))
            }
        }
    })))
}

/// The view of a dataflow graph.
fn dataflow(
    graph: GraphSource,
    cluster: Option<&ClusterSource>,
    options: ViewOptions,
    seed: u64,
) -> Result<Seen, String> {
    let graph = match graph {
        GraphSource::Made(_, graph) => graph,
        GraphSource::Entry(entry) => Arc::new(entry.load(seed).map_err(|error| error.to_string())?.1),
    };
    let view = match cluster {
        None => View::of_graph(&graph, options),
        Some(cluster) => {
            let cluster = cluster.load(None, seed).map_err(|error| error.to_string())?;
            let instance = Instance::new(Arc::clone(&graph), cluster).map_err(|error| error.to_string())?;
            View::of_instance(&instance, options)
        }
    };
    Ok(Seen::Dataflow(graph, Box::new(view.map_err(|error| error.to_string())?)))
}

/// Partitions, checks the answer, and measures it.
fn judged(
    seen: Seen,
    partitioner: &dyn Partitioner,
    spec: &Spec,
    request: &PartitionRequest,
) -> Result<Partition, String> {
    let (graph, nets) = match &seen {
        Seen::Undirected(graph, nets) => (&**graph, nets.clone()),
        Seen::Dataflow(dataflow, view) => {
            let nets = view.hypergraph(dataflow).map_err(|error| error.to_string())?;
            (view.graph(), Some(Arc::new(nets)))
        }
    };
    let wanted = match (&seen, partitioner.counts_nets()) {
        (Seen::Dataflow(dataflow, view), Some(NetWeight::Edge)) => {
            Some(Arc::new(view.nets(dataflow).map_err(|error| error.to_string())?))
        }
        _ => nets.clone(),
    };
    let request = &PartitionRequest { nets: wanted, ..request.clone() };
    let started = Clock::now();
    let found = partitioner.partition(graph, request).map_err(|error| match error {
        PartitionError::Stopped => error.to_string(),
        PartitionError::Unsupported(reason) => format!("{spec}: {reason}"),
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let is_sound = found.blocks == request.blocks
        && found.block_of.len() == graph.vertex_count()
        && found.block_of.iter().all(|&block| block < found.blocks);
    if !is_sound {
        return Err(format!("{spec}: answered with no partition of this graph, which is a mistake of the partitioner"));
    }
    let traffic = nets.as_ref().map(|nets| quality::connectivity(nets, &found));
    let (block_of, acyclic) = match &seen {
        Seen::Undirected(..) => (found.block_of.clone(), None),
        Seen::Dataflow(dataflow, view) => {
            let blocks = view.blocks_of_ops(&found.block_of);
            let acyclic = quality::is_acyclic(dataflow, &blocks, found.blocks);
            (blocks, Some(acyclic))
        }
    };
    Ok(Partition {
        blocks: found.blocks,
        cut: quality::edge_cut(graph, &found),
        volume: quality::communication_volume(graph, &found),
        traffic,
        imbalance: quality::imbalance(graph, &found),
        weights: quality::block_weights(graph, &found),
        acyclic,
        seconds,
        block_of,
    })
}
