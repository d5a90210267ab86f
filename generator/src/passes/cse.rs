//! Ops that compute the same become one.

use std::collections::{HashMap, HashSet};

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::{Categories, DataflowGraph, GraphError, OpId};

use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::{Draft, Rewrite, refused_by};

/// Makes one op of all that have the same type, the same attributes and the same inputs: data in the same order, and the same set of
/// control inputs. Equal inputs make equal ops, which are equal inputs of others: ops are numbered by value in topological order.
///
/// Never merged are ops whose attributes are not known, ops with state, ops that draw random numbers, and ops that may not run on the
/// same devices: of other kinds, or of another colocation group.
///
/// # Complexity
/// O((ops + edges) · log ops).
///
/// # References
/// M. Abadi et al.: TensorFlow: large-scale machine learning on heterogeneous distributed systems, 2015, §5.1; C. Click: Global code
/// motion, global value numbering. PLDI 1995.
pub(super) struct Cse;

impl Pass for Cse {
    const NAME: &'static str = "cse";
    const SUMMARY: &'static str = "makes one op of those that compute the same of the same inputs";
    const SOURCE: &'static str = "Abadi et al. 2015, §5.1; Click 1995";
    const KEEPS: &'static [Kept] = &[Kept::Bytes, Kept::Results];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        let (Some(types), Some(attributes)) = (graph.op_types(), graph.attributes()) else {
            return Err(PassError::refused::<Self>(
                "the ops of the graph have no types or no attributes, which say what they compute: read the GraphDef that \
                 TensorFlow wrote, or extract the graph anew",
            ));
        };
        merged(graph, &first_of_value(graph, types, attributes)).map_err(refused_by::<Self>)
    }
}

/// Types that are never merged, all or part of their names: ops of TensorFlow with state or side effects, those that draw random
/// numbers, and those of its loops: where a graph without cycles is made of a loop, `Merge` lacks the input that comes back, and two
/// that differ may look equal.
///
/// All 640 ops that TensorFlow 2.15 registers as stateful, or with references, are among them, but for some, most of which only tests
/// or TPUs have; so are some pure ones with such a name.
const BEGINNINGS: [&str; 40] = [
    "AllToAll",
    "Case",
    "CheckNumerics",
    "CrossReplicaSum",
    "Custom",
    "Debug",
    "DeepCopy",
    "Delete",
    "Device",
    "DisableCopy",
    "Dummy",
    "Dump",
    "Empty",
    "Enter",
    "Exit",
    "If",
    "Import",
    "Load",
    "LoopCond",
    "Map",
    "Merge",
    "Multinomial",
    "NextIteration",
    "NoOp",
    "OrderedMap",
    "ParameterizedTruncatedNormal",
    "Placeholder",
    "Ref",
    "Remote",
    "SampleDistorted",
    "Scatter",
    "Sleep",
    "Stack",
    "Stateful",
    "Timestamp",
    "TruncatedNormal",
    "Var",
    "Write",
    "Xla",
    "_",
];
const PARTS: [&str; 53] = [
    "Accumulator",
    "Anonymous",
    "Apply",
    "Assert",
    "Assign",
    "Barrier",
    "BoostedTrees",
    "Cache",
    "CandidateSampler",
    "Checkpoint",
    "Collective",
    "CountUpTo",
    "Cudnn",
    "Dataset",
    "Distributed",
    "DTensor",
    "Embedding",
    "feed",
    "File",
    "GraphDefVersion",
    "GuaranteeConst",
    "Host",
    "Iterator",
    "Mutex",
    "Nccl",
    "NegTrain",
    "NonDeterministic",
    "Print",
    "PyFunc",
    "Queue",
    "Random",
    "Reader",
    "RecordInput",
    "Recv",
    "Resource",
    "Restore",
    "Rng",
    "Rpc",
    "Save",
    "Send",
    "Session",
    "Skipgram",
    "Stage",
    "Stats",
    "Summary",
    "Table",
    "TensorArray",
    "TensorsMap",
    "ThreadPool",
    "TPU",
    "Variable",
    "While",
    "callback",
];
/// Of JAX: arguments, the generator without a key, and what reads and writes references; all others but callbacks are functions of
/// their inputs. Of the families: arguments. Of ONNX: those that draw.
const WHOLE: [&str; 12] = [
    "Bernoulli",
    "Dropout",
    "Input",
    "Unstage",
    "addupdate",
    "custom_call",
    "get",
    "input",
    "parameter",
    "rng_uniform",
    "state",
    "swap",
];
/// Types of constants, whose value is an attribute, so that they may be merged though they take memory.
const CONSTANTS: [&str; 2] = ["Const", "constant"];

/// Whether ops of a type compute nothing but a function of their inputs.
fn is_function(op_type: &str) -> bool {
    let has_state = WHOLE.contains(&op_type)
        || BEGINNINGS.iter().any(|text| op_type.starts_with(text))
        || PARTS.iter().any(|text| op_type.contains(text));
    // Random numbers that follow from a seed among the inputs.
    op_type.starts_with("Stateless") || !has_state
}

/// For each op the first in topological order that computes the same: often itself.
fn first_of_value(graph: &DataflowGraph, types: &Categories, attributes: &Categories) -> Vec<OpId> {
    let is_function: Vec<bool> = types.labels().iter().map(|op_type| is_function(op_type)).collect();
    let mut first: Vec<OpId> = graph.op_ids().collect();
    let mut known: HashMap<Vec<u64>, OpId> = HashMap::new();
    for op in graph.topological_order() {
        let (Some(op_type), Some(attribute)) = (types.number(op.index()), attributes.number(op.index())) else {
            continue;
        };
        let holds_memory = graph.memory_bytes(op) > 0 || graph.outputs_are_resident(op);
        let is_constant = CONSTANTS.contains(&types.labels()[op_type].as_str());
        if !is_function[op_type] || (holds_memory && !is_constant) {
            continue;
        }
        // What must be equal. Each list begins with its length, so that no two ops give the same numbers otherwise.
        let group = graph.colocation().group_of(op).map_or(0, |group| u64::from(group.0) + 1);
        let mut value = vec![op_type as u64, attribute as u64, u64::from(graph.kinds(op).bits()), group];
        let data = || graph.predecessors(op).filter_map(|edge| Some((edge.op, edge.tensor?)));
        value.push(data().count() as u64);
        for (source, tensor) in data() {
            value.extend([u64::from(first[source.index()].0), graph.port(tensor) as u64]);
        }
        let control = graph.predecessors(op).filter(|edge| edge.tensor.is_none());
        let mut control: Vec<u64> = control.map(|edge| u64::from(first[edge.op.index()].0)).collect();
        control.sort_unstable();
        control.dedup();
        value.extend(control);
        first[op.index()] = *known.entry(value).or_insert(op);
    }
    first
}

/// The graph in which the first op of each value stands for all.
fn merged(graph: &DataflowGraph, first: &[OpId]) -> Result<Passed, GraphError> {
    let is_first = |op: OpId| first[op.index()] == op;
    let mut members: Vec<Vec<OpId>> = vec![Vec::new(); graph.op_count()];
    graph.op_ids().for_each(|op| members[first[op.index()].index()].push(op));
    let mut rewrite = Rewrite::new(graph);
    let mut new = vec![OpId(0); graph.op_count()];
    let mut left_bytes = 0u128;
    for op in graph.op_ids().filter(|&op| is_first(op)) {
        let from = std::mem::take(&mut members[op.index()]);
        let mut draft = Draft::of(graph, op);
        // A reader knows the outputs that something reads, and not always their sizes: those of equal ops are the same.
        for &other in &from {
            draft.outputs.resize(draft.outputs.len().max(graph.outputs(other).len()), 0);
            for (bytes, tensor) in draft.outputs.iter_mut().zip(graph.outputs(other)) {
                *bytes = graph.tensor_bytes(tensor).max(*bytes);
            }
        }
        left_bytes += draft.outputs.iter().map(|&bytes| u128::from(bytes)).sum::<u128>();
        new[op.index()] = rewrite.add(Draft { from, ..draft });
    }
    let stands_for = |op: OpId| new[first[op.index()].index()];
    let mut waits_for = HashSet::new();
    for op in graph.op_ids().filter(|&op| is_first(op)) {
        waits_for.clear();
        for edge in graph.predecessors(op) {
            let source = stands_for(edge.op);
            match edge.tensor {
                Some(tensor) => rewrite.builder.add_edge(source, graph.port(tensor), stands_for(op))?,
                None if waits_for.insert(source) => rewrite.builder.add_control_edge(source, stands_for(op))?,
                None => {}
            }
        }
    }
    rewrite.colocate(|op| [stands_for(op)])?;
    let dropped = || graph.op_ids().filter(|&op| !is_first(op));
    let operations = dropped().fold(0.0, |sum, op| sum + graph.ops(op));
    let tensors = graph.op_ids().flat_map(|op| graph.outputs(op));
    let bytes = tensors.map(|tensor| u128::from(graph.tensor_bytes(tensor))).sum::<u128>();
    let (all, left) = (graph.op_count(), graph.op_count() - dropped().count());
    // An output that the first op takes over may be longer than those that are gone.
    let saved = bytes.saturating_sub(left_bytes);
    rewrite.finish(format!("{all} ops became {left}, {operations} operations and {saved} bytes less are made"))
}
