//! A graph from its columns, edges grouped by consumer: the way in for readers of large files.

use crate::builder::check_names;
use crate::graph::{one_tensor_per_op, raw_tensor, tensors_named_as_ops};
use crate::measured_times::{MeasuredTimes, sorted};
use crate::transpose::out_edges;
use crate::{Categories, Colocation, DataflowGraph, GraphError, KindSet, NameTable, OpId};

/// The columns of a graph, in any order of ids. Readers fill them row by row, without a list of edges on the side.
#[derive(Debug, Default)]
pub(crate) struct GraphColumns {
    pub(crate) ops: Vec<f64>,
    pub(crate) memory_bytes: Vec<u64>,
    pub(crate) kinds: Vec<KindSet>,
    /// `op_count + 1` offsets into `tensor_bytes`.
    pub(crate) tensor_offsets: Vec<u32>,
    pub(crate) tensor_bytes: Vec<u64>,
    /// `op_count + 1` offsets into the two columns that follow.
    pub(crate) in_offsets: Vec<u32>,
    pub(crate) in_sources: Vec<OpId>,
    /// Raw tensors, control edges last in each row.
    pub(crate) in_tensors: Vec<u32>,
    pub(crate) colocation: Colocation,
    pub(crate) times: Vec<MeasuredTimes>,
    pub(crate) bytes_moved: Option<Vec<f64>>,
    pub(crate) names: Option<NameTable>,
    pub(crate) types: Option<Categories>,
    pub(crate) layers: Option<Categories>,
    pub(crate) attributes: Option<Categories>,
}

impl DataflowGraph {
    /// Makes a graph of columns that fit together: ascending offsets, ids in range, tensors that belong to their edge's
    /// source, control edges last in each row.
    ///
    /// # Errors
    /// A cycle, a negative or non-finite cost, contradictory kinds, missing or repeated names; too many ops or edges.
    ///
    /// # Complexity
    /// O(ops + edges · log degree); 8 bytes an edge beside the columns themselves, which become part of the graph.
    pub(crate) fn from_columns(columns: GraphColumns) -> Result<Self, GraphError> {
        let n = columns.ops.len();
        if n >= u32::MAX as usize || columns.in_sources.len() >= u32::MAX as usize {
            return Err(GraphError::TooLarge { ops: n, edges: columns.in_sources.len() });
        }
        if let Some(names) = &columns.names {
            check_names(names, n)?;
        }
        let mut tensor_producer = Vec::with_capacity(columns.tensor_bytes.len());
        for (op, ends) in columns.tensor_offsets.windows(2).enumerate() {
            tensor_producer.resize(tensor_producer.len() + (ends[1] - ends[0]) as usize, OpId(op as u32));
        }
        let (out_offsets, out_targets, out_tensors) = forward_rows(&columns);
        let mut graph = Self {
            ops: columns.ops,
            memory_bytes: columns.memory_bytes,
            kinds: columns.kinds,
            tensor_offsets: columns.tensor_offsets,
            tensor_bytes: columns.tensor_bytes,
            tensor_producer,
            out_offsets,
            out_targets,
            out_tensors,
            in_offsets: columns.in_offsets,
            in_sources: columns.in_sources,
            in_tensors: columns.in_tensors,
            topological: None,
            colocation: columns.colocation,
            times: sorted(columns.times),
            bytes_moved: columns.bytes_moved,
            names: columns.names.filter(|names| !names.is_empty()),
            types: columns.types.filter(|types| !types.labels().is_empty()),
            layers: columns.layers.filter(|layers| !layers.labels().is_empty()),
            attributes: columns.attributes.filter(|attributes| !attributes.labels().is_empty()),
        };
        graph.find_topological_order()?;
        graph.check_values()?;
        Ok(graph)
    }
}

/// Offsets, targets and raw tensors of the forward rows, each ascending by (tensor, consumer).
fn forward_rows(columns: &GraphColumns) -> (Vec<u32>, Vec<OpId>, Vec<u32>) {
    // Generated graphs, the largest, have one tensor for each op and ascending ids. For them there is a faster way.
    let is_plain = one_tensor_per_op(&columns.tensor_offsets) && !columns.in_tensors.contains(&raw_tensor(None));
    if let Some(Ok((offsets, targets))) = is_plain.then(|| out_edges(&columns.in_offsets, &columns.in_sources)) {
        let tensors = tensors_named_as_ops(&offsets);
        return (offsets, targets, tensors);
    }
    let n = columns.ops.len();
    let edge_count = columns.in_sources.len();
    let mut offsets = vec![0u32; n + 1];
    for source in &columns.in_sources {
        offsets[source.index() + 1] += 1;
    }
    for op in 0..n {
        offsets[op + 1] += offsets[op];
    }
    let mut cursor = offsets[..n].to_vec();
    let mut targets = vec![OpId(0); edge_count];
    let mut tensors = vec![0u32; edge_count];
    for (op, ends) in columns.in_offsets.windows(2).enumerate() {
        let row = ends[0] as usize..ends[1] as usize;
        for (source, &tensor) in columns.in_sources[row.clone()].iter().zip(&columns.in_tensors[row]) {
            let slot = &mut cursor[source.index()];
            targets[*slot as usize] = OpId(op as u32);
            tensors[*slot as usize] = tensor;
            *slot += 1;
        }
    }
    // Targets ascend already. Only rows with several tensors or with control edges still need sorting.
    let mut scratch = Vec::new();
    for ends in offsets.windows(2) {
        let row = ends[0] as usize..ends[1] as usize;
        if tensors[row.clone()].is_sorted() {
            continue;
        }
        scratch.clear();
        scratch.extend(tensors[row.clone()].iter().copied().zip(targets[row.clone()].iter().copied()));
        scratch.sort_unstable();
        for (slot, &(tensor, target)) in row.zip(&scratch) {
            tensors[slot] = tensor;
            targets[slot] = target;
        }
    }
    (offsets, targets, tensors)
}
