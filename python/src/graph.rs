//! The class `Graph`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use placebench::algorithms::StopToken;
use placebench::datasets::format::undirected::{Undirected, write_undirected};
use placebench::datasets::format::{self, DimSize, GraphHeader, LoopPolicy, ReadOptions, undirected_format};
use placebench::datasets::{Categories, DataflowGraph, GraphBuilder, KindSet, OpId, OpSpec, Properties};
use placebench::generator::{Chained, Passes};
use placebench::harness::problem::{GraphEntry, passed_header};
use pyo3::prelude::*;

use crate::array::{Array, Floats, Integers, numbers};
use crate::cluster::ClusterSource;
use crate::definition::table_of;
use crate::fault::fault;
use crate::interrupt::wait;

/// A dataflow graph: ops with costs and memory, the tensors that they make, and edges that carry them. It cannot be changed.
///
/// Arrays are NumPy's, read-only, and not copied unless their method says so.
#[pyclass(frozen, module = "placebench")]
pub(crate) struct Graph {
    pub(crate) header: GraphHeader,
    pub(crate) graph: Arc<DataflowGraph>,
}

/// A graph as functions take it: by name, as a table of a suite, or made already.
pub(crate) enum GraphSource {
    Entry(Box<GraphEntry>),
    Made(GraphHeader, Arc<DataflowGraph>),
}

impl GraphSource {
    /// What Python hands in.
    ///
    /// # Errors
    /// If it is no graph, or nothing has the name.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(graph) = object.cast::<Graph>() {
            let graph = graph.get();
            return Ok(Self::Made(graph.header.clone(), Arc::clone(&graph.graph)));
        }
        let text: PathBuf = object.extract().map_err(|_| {
            fault("a graph is a placebench.Graph, a name ('placebench list graphs'), a preset, or a path")
        })?;
        let text = text.to_str().ok_or_else(|| fault(format!("{}: is not Unicode", text.display())))?;
        Ok(Self::Entry(Box::new(GraphEntry::named(text).map_err(fault)?)))
    }
}

/// Reads or makes a graph of an entry without the GIL.
fn loaded(py: Python<'_>, entry: GraphEntry, seed: u64) -> PyResult<Graph> {
    let made = wait(py, &StopToken::default(), |_| Ok(()), move || entry.load(seed))?;
    let (header, graph) = made.map_err(fault)?;
    Ok(Graph { header, graph: Arc::new(graph) })
}

#[pymethods]
impl Graph {
    /// The graph of a name of the catalogue, a preset, or a file in any format that `placebench list formats` names.
    /// `cycles` ('reject', 'next_iteration', 'drop', 'unroll(8)'), `references`, `split` and `dims` are for formats that know them, as
    /// the options of `placebench convert`.
    #[staticmethod]
    #[pyo3(signature = (source, *, seed=0, cycles=None, references=true, split=None, dims=None))]
    fn load(
        py: Python<'_>,
        source: PathBuf,
        seed: u64,
        cycles: Option<&str>,
        references: bool,
        split: Option<PathBuf>,
        dims: Option<BTreeMap<String, u64>>,
    ) -> PyResult<Self> {
        let text = source.to_str().ok_or_else(|| fault(format!("{}: is not Unicode", source.display())))?;
        let entry = GraphEntry::named(text).map_err(fault)?;
        let cycles: Option<LoopPolicy> = cycles.map(str::parse).transpose().map_err(fault)?;
        let dims = dims.unwrap_or_default().into_iter().map(|(name, size)| DimSize { name, size }).collect();
        let options = ReadOptions { cycles, no_references: !references, split, dims };
        match entry.file.clone() {
            Some(path) => {
                let read = move || format::read_graph_with(path, &options);
                let file = wait(py, &StopToken::default(), |_| Ok(()), read)?.map_err(fault)?;
                let graph = Self { header: file.header, graph: Arc::new(file.graph) };
                graph.after(py, entry.passes).map(|(graph, _)| graph)
            }
            None if options.given().is_empty() => loaded(py, entry, seed),
            None => Err(fault(format!(
                "cycles, references, split and dims are for files, not for '{text}': leave them out"
            ))),
        }
    }

    /// The graph that a suite's `[[graph]]` table describes, as TOML.
    #[staticmethod]
    fn generate(py: Python<'_>, table: &str, seed: u64) -> PyResult<Self> {
        let entry: GraphEntry = table_of(table, "generate")?;
        entry.check().map_err(fault)?;
        loaded(py, entry, seed)
    }

    /// See `placebench.Graph.from_edges` in `_placebench.pyi`.
    #[staticmethod]
    #[pyo3(signature = (sources, targets, costs, *, output_bytes=None, edge_bytes=None, memory_bytes=None, kinds=None,
                        names=None, types=None, layers=None, attributes=None, colocated=None, name="graph"))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn from_edges(
        py: Python<'_>,
        sources: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        costs: &Bound<'_, PyAny>,
        output_bytes: Option<&Bound<'_, PyAny>>,
        edge_bytes: Option<&Bound<'_, PyAny>>,
        memory_bytes: Option<&Bound<'_, PyAny>>,
        kinds: Option<Vec<String>>,
        names: Option<Vec<String>>,
        types: Option<Vec<String>>,
        layers: Option<Vec<String>>,
        attributes: Option<Vec<Option<String>>>,
        colocated: Option<Vec<(u32, u32)>>,
        name: &str,
    ) -> PyResult<Self> {
        let costs = Floats::of("costs", costs)?;
        let costs = costs.get(py);
        let ops = costs.len();
        let (sources, targets) = (Integers::of("sources", sources)?, Integers::of("targets", targets)?);
        same_length("targets", targets.len(), sources.len(), "edge")?;
        let integers = |name: &str, object: Option<&Bound<'_, PyAny>>, length: usize, each: &str| {
            let Some(object) = object else { return Ok(None) };
            let given = Integers::of(name, object)?;
            same_length(name, given.len(), length, each)?;
            given
                .iter(py)
                .enumerate()
                .map(|(at, number)| whole(name, at, number))
                .collect::<PyResult<Vec<u64>>>()
                .map(Some)
        };
        let output_bytes = integers("output_bytes", output_bytes, ops, "op")?;
        let edge_bytes = integers("edge_bytes", edge_bytes, sources.len(), "edge")?;
        let memory_bytes = integers("memory_bytes", memory_bytes, ops, "op")?;
        if output_bytes.is_some() && edge_bytes.is_some() {
            return Err(fault(
                "give output_bytes (each op has one output) or edge_bytes (each edge has its own), not both",
            ));
        }
        for (name, column) in [("kinds", &kinds), ("names", &names), ("types", &types), ("layers", &layers)] {
            same_length(name, column.as_ref().map_or(ops, Vec::len), ops, "op")?;
        }
        same_length("attributes", attributes.as_ref().map_or(ops, Vec::len), ops, "op")?;
        let source_of = edge_ends("sources", &sources, ops, py)?;
        // The port of each edge: 0, or its rank among the edges of its source.
        let mut ports = vec![0; source_of.len()];
        let mut outputs: Vec<Vec<u64>> = Vec::new();
        if let Some(bytes) = &edge_bytes {
            outputs = vec![Vec::new(); ops];
            for ((port, &source), &bytes) in ports.iter_mut().zip(&source_of).zip(bytes) {
                *port = outputs[source.index()].len();
                outputs[source.index()].push(bytes);
            }
        }
        let mut builder = GraphBuilder::default();
        for (op, &cost) in costs.iter().enumerate() {
            let text = |column: &'_ Option<Vec<String>>| column.as_ref().map(|column| column[op].clone());
            let (kinds, name, op_type, layer) = (text(&kinds), text(&names), text(&types), text(&layers));
            // An empty text says nothing, as in the columns of files.
            let attributes =
                attributes.as_ref().and_then(|column| column[op].as_deref()).filter(|text| !text.is_empty());
            let kinds = kinds.map_or(Ok(KindSet::ALL), |kinds| kinds.parse());
            let spec = OpSpec {
                ops: cost,
                memory_bytes: memory_bytes.as_ref().map_or(0, |bytes| bytes[op]),
                kinds: kinds.map_err(|error: String| fault(format!("kinds: op {op}: {error}")))?,
                bytes_moved: None,
                times: &[],
                name: name.as_deref(),
                op_type: op_type.as_deref(),
                layer: layer.as_deref(),
                attributes,
            };
            match (&output_bytes, outputs.get(op)) {
                (Some(bytes), _) => builder.add_op(spec, &bytes[op..=op]),
                (None, Some(outputs)) => builder.add_op(spec, outputs),
                (None, None) => builder.add_op(spec, &[]),
            };
        }
        let carries = output_bytes.is_some() || edge_bytes.is_some();
        for ((source, target), port) in source_of.into_iter().zip(edge_ends("targets", &targets, ops, py)?).zip(ports) {
            match carries {
                true => builder.add_edge(source, port, target),
                false => builder.add_control_edge(source, target),
            }
            .map_err(fault)?;
        }
        for (a, b) in colocated.into_iter().flatten() {
            builder.colocate(OpId(a), OpId(b)).map_err(fault)?;
        }
        let graph = Arc::new(builder.build().map_err(fault)?);
        Ok(Self { header: GraphHeader::named(name), graph })
    }

    /// A short name, as tables show it.
    #[getter]
    fn name(&self) -> &str {
        &self.header.name
    }

    /// One line about the graph; may be empty.
    #[getter]
    fn title(&self) -> &str {
        &self.header.title
    }

    /// Number of ops; also `len(graph)`.
    #[getter]
    fn op_count(&self) -> usize {
        self.graph.op_count()
    }

    /// Number of edges, control edges included.
    #[getter]
    fn edge_count(&self) -> usize {
        self.graph.edge_count()
    }

    /// Number of tensors.
    #[getter]
    fn tensor_count(&self) -> usize {
        self.graph.tensor_count()
    }

    /// The cost of each op, in operations.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of_graph(py, &self.graph, DataflowGraph::all_ops)
    }

    /// The resident memory of each op.
    #[getter]
    fn memory_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of_graph(py, &self.graph, DataflowGraph::all_memory_bytes)
    }

    /// The size of each tensor.
    #[getter]
    fn tensor_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of_graph(py, &self.graph, DataflowGraph::all_tensor_bytes)
    }

    /// The op that produces each tensor.
    #[getter]
    fn producers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of_graph(py, &self.graph, |graph| numbers(graph.all_producers()))
    }

    /// Where the edges of each op begin in `targets`; the last entry is the number of edges.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of_graph(py, &self.graph, DataflowGraph::out_offsets)
    }

    /// The consumer of each edge, edges sorted by producer.
    #[getter]
    fn targets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of_graph(py, &self.graph, |graph| numbers(graph.out_targets()))
    }

    /// The producer of each edge: made anew, since the graph keeps `offsets`.
    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sources = self.graph.op_ids().flat_map(|op| std::iter::repeat_n(op.0, self.graph.out_degree(op)));
        Array::of(py, sources.collect())
    }

    /// The bytes that each edge moves between devices, 0 for control edges: made anew.
    #[getter]
    fn edge_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of(py, self.graph.edges().map(|(_, edge)| self.graph.edge_bytes(edge)).collect())
    }

    /// The names of ops, if the graph has names.
    #[getter]
    fn names(&self) -> Option<Vec<&str>> {
        self.graph.has_names().then(|| self.graph.op_ids().filter_map(|op| self.graph.name(op)).collect())
    }

    /// The types of ops, such as 'MatMul', if the graph has them.
    #[getter]
    fn types(&self) -> Option<Vec<Option<&str>>> {
        self.labels(self.graph.op_types())
    }

    /// The layers of ops, if the graph has them.
    #[getter]
    fn layers(&self) -> Option<Vec<Option<&str>>> {
        self.labels(self.graph.layers())
    }

    /// The attributes of ops, if the graph has them: ops of one type with equal ones compute the same function of their inputs.
    #[getter]
    fn attributes(&self) -> Option<Vec<Option<&str>>> {
        self.labels(self.graph.attributes())
    }

    /// The device kinds that each op may run on, as 'ALL' or 'CPU|GPU'.
    #[getter]
    fn kinds(&self) -> Vec<String> {
        self.graph.op_ids().map(|op| self.graph.kinds(op).to_string()).collect()
    }

    /// The measured time of each op on a class of devices ('gpu', 'h100', …; also 'GPU'), NaN where there is none: made anew.
    fn times<'py>(&self, py: Python<'py>, device_class: &str) -> PyResult<Bound<'py, PyAny>> {
        let measured = self.graph.measured_on(&device_class.to_lowercase());
        let time = |op| measured.and_then(|times| times.of(op)).unwrap_or(f64::NAN);
        let times = self.graph.op_ids().map(time);
        Array::of(py, times.collect())
    }

    /// What passes make of the graph, one after another: the new graph, for each of its ops the ops of this one that it comes from,
    /// and a line for each pass.
    #[pyo3(signature = (*passes))]
    fn passed(&self, py: Python<'_>, passes: Vec<String>) -> PyResult<(Self, Vec<Vec<u32>>, Vec<String>)> {
        let (graph, Chained { origin, lines, .. }) = self.after(py, Passes::new(passes).map_err(fault)?)?;
        let of = |op| origin.of(op).iter().map(|old| old.0).collect();
        let origins = graph.graph.op_ids().map(of).collect();
        Ok((graph, origins, lines))
    }

    /// The property sheet that `placebench inspect` prints; with a cluster the ratio of communication to computation, too.
    #[pyo3(signature = (cluster=None))]
    fn inspect(&self, cluster: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        let cluster = cluster.map(|cluster| ClusterSource::of(cluster)?.load(None, 0).map_err(fault)).transpose()?;
        Ok(Properties::of(&self.graph, cluster.as_deref()).to_string())
    }

    /// Writes the graph in the format of the path's extension, without one as a graph folder. Answers with what the format
    /// cannot hold; with `strict` that is an error. An existing file is replaced only with `force`.
    #[pyo3(signature = (path, *, strict=false, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, strict: bool, force: bool) -> PyResult<Vec<String>> {
        if path.exists() && !force {
            return Err(fault(format!("{}: exists: force=True replaces it", path.display())));
        }
        let undirected = undirected_format(&path);
        let of_graph = undirected.map_or_else(|| format::graph_format(&path), Ok).map_err(fault)?;
        let losses: Vec<String> = of_graph.losses(&self.header, &self.graph).iter().map(ToString::to_string).collect();
        if strict && !losses.is_empty() {
            return Err(fault(format!(
                "{}: the format '{}' loses {}: write another format, or leave out strict",
                path.display(),
                of_graph.name,
                losses.join(", ")
            )));
        }
        let (header, graph) = (self.header.clone(), Arc::clone(&self.graph));
        let write = move || -> Result<(), String> {
            match undirected {
                Some(format) => {
                    let view = Undirected::of_dataflow(&graph, format);
                    let view = view.map_err(|error| format!("{}: {error}", path.display()))?;
                    write_undirected(&path, format, &view).map_err(|error| error.to_string())
                }
                None => format::write_graph(&path, &header, &graph).map_err(|error| error.to_string()),
            }
        };
        wait(py, &StopToken::default(), |_| Ok(()), write)?.map_err(fault)?;
        Ok(losses)
    }

    fn __len__(&self) -> usize {
        self.graph.op_count()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.graph == other.graph
    }

    fn __repr__(&self) -> String {
        format!("<placebench.Graph '{}': {} ops, {} edges>", self.header.name, self.op_count(), self.edge_count())
    }
}

impl Graph {
    /// The graph that passes make of this one, and where its ops come from.
    fn after(&self, py: Python<'_>, passes: Passes) -> PyResult<(Self, Chained)> {
        let header = passed_header(self.header.clone(), &passes);
        let graph = DataflowGraph::clone(&self.graph);
        let made = wait(py, &StopToken::default(), |_| Ok(()), move || passes.apply(graph))?;
        let chained = made.map_err(fault)?;
        Ok((Self { header, graph: Arc::new(chained.graph.clone()) }, chained))
    }

    fn labels<'a>(&'a self, categories: Option<&'a Categories>) -> Option<Vec<Option<&'a str>>> {
        let categories = categories?;
        Some(self.graph.op_ids().map(|op| categories.get(op.index())).collect())
    }
}

/// Checks that a column has as many entries as there are ops or edges.
fn same_length(name: &str, found: usize, expected: usize, each: &str) -> PyResult<()> {
    match found == expected {
        true => Ok(()),
        false => Err(fault(format!("{name}: has {found} entries for {expected} {each}s: give one for each {each}"))),
    }
}

/// A whole number that is not negative.
fn whole(name: &str, at: usize, number: Result<u64, i64>) -> PyResult<u64> {
    number.map_err(|number| fault(format!("{name}: entry {at} is {number}: it must not be negative")))
}

/// The ops at one end of all edges.
fn edge_ends(name: &str, ends: &Integers, ops: usize, py: Python<'_>) -> PyResult<Vec<OpId>> {
    let end = |(at, number): (usize, Result<u64, i64>)| {
        let found = number.map_or_else(|negative| negative.to_string(), |number| number.to_string());
        match number {
            Ok(number) if number < ops as u64 => Ok(OpId(number as u32)),
            _ => Err(fault(format!("{name}: entry {at} is op {found}, but there are {ops} ops, from 0"))),
        }
    };
    ends.iter(py).enumerate().map(end).collect()
}
