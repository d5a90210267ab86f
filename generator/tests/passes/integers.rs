//! An interpreter of graphs that compute with whole numbers: what a pass keeps of results is seen by executing both graphs.

use std::collections::BTreeMap;

use placebench_datasets::{DataflowGraph, GraphBuilder, KindSet, OpId, OpSpec, TensorId};
use placebench_generator::Origin;
use proptest::prelude::*;

/// A number for each example of a batch, or one for all.
pub(super) type Value = Vec<i64>;

/// Examples in a batch.
pub(super) const BATCH: usize = 12;
/// Bytes of an example's number, and of a weight: more than what counts as small.
const EXAMPLE_BYTES: u64 = 100;
const WEIGHT_BYTES: u64 = 4_004;
/// Rows of a table, which several examples read, and bytes of a table and of the number of a row.
const ROWS: usize = 5;
const TABLE_BYTES: u64 = 30_030;
const NUMBER_BYTES: u64 = 8;

/// What the op of a type computes. `part` says which micro-batch an input reads: number and count.
fn compute(op_type: &str, op: OpId, inputs: &[Value], part: (usize, usize)) -> Value {
    let fold = |combine: fn(i64, i64) -> i64| {
        let length = inputs.iter().map(Vec::len).max().unwrap_or(1);
        let at = |value: &Value, index: usize| value[if value.len() == 1 { 0 } else { index }];
        (0..length).map(|index| inputs.iter().map(|value| at(value, index)).reduce(combine).unwrap_or(1)).collect()
    };
    let id = i64::from(op.0);
    match op_type {
        "input" => {
            let size = BATCH / part.1;
            (part.0 * size..(part.0 + 1) * size).map(|example| (example as i64 * 31 + 7) % 19 + id).collect()
        }
        "parameter" => vec![id % 7 + 2],
        "VariableV2" => (0..ROWS as i64).map(|row| id % 5 + 3 * row + 1).collect(),
        "numbers" => inputs[0].iter().map(|value| value.rem_euclid(ROWS as i64)).collect(),
        "lookup" => inputs[1].iter().map(|&number| inputs[0][number as usize]).collect(),
        // The first row of each number has the sum of all.
        "UnsortedSegmentSum" => {
            let (rows, numbers) = (&inputs[0], &inputs[1]);
            let is_first = |at: usize| !numbers[..at].contains(&numbers[at]);
            let equal = |at: usize| (0..numbers.len()).filter(move |&other| numbers[other] == numbers[at]);
            let sum = |at: usize| equal(at).fold(0, |sum: i64, other| sum.wrapping_add(rows[other]));
            (0..numbers.len()).map(|at| if is_first(at) { sum(at) } else { 0 }).collect()
        }
        "ScatterSub" => {
            let mut table = inputs[0].clone();
            assert_eq!(inputs[1].len(), inputs[2].len(), "a gradient for each number of a row");
            for (&number, row) in inputs[1].iter().zip(&inputs[2]) {
                table[number as usize] = table[number as usize].wrapping_sub(*row);
            }
            table
        }
        "ConcatV2" | "concatenate" => inputs.concat(),
        "mul" => fold(|a, b| a.wrapping_mul(b)),
        "matmul" => fold(|a, b| a.wrapping_mul(3).wrapping_add(b)),
        "Pack" => inputs[0].clone(),
        "Gather" => inputs.concat(),
        "add" | "AddN" | "Reduce" | "Aggregate" => fold(|a, b| a.wrapping_add(b)),
        "reduce_sum" => vec![fold(|a, b| a.wrapping_mul(b)).iter().fold(0, |sum, value| sum.wrapping_add(*value))],
        "update" => fold(|a, b| a.wrapping_sub(b)),
        other => panic!("no meaning of '{other}'"),
    }
}

fn op_type(graph: &DataflowGraph, op: OpId) -> &str {
    graph.op_types().and_then(|types| types.get(op.index())).unwrap()
}

/// What each op of a graph computes, by its type. Copies of micro-batches read their part of the inputs.
pub(super) fn executed(graph: &DataflowGraph, parts: usize) -> Vec<Value> {
    let mut values = vec![Value::new(); graph.op_count()];
    for op in graph.topological_order() {
        let inputs: Vec<Value> = graph
            .predecessors(op)
            .filter(|edge| edge.tensor.is_some())
            .map(|edge| values[edge.op.index()].clone())
            .collect();
        let name = graph.name(op).unwrap();
        let copy = name.rsplit_once("micro_").or_else(|| name.rsplit_once("copy_"));
        let part = copy.map_or((0, 1), |(_, part)| (part.parse().unwrap(), parts));
        // Values come from the number in the name, which a pass does not change.
        let number = name.split('/').next().unwrap().parse().unwrap();
        values[op.index()] = compute(op_type(graph, op), OpId(number), &inputs, part);
    }
    values
}

/// What each old op that is still there computes in the new graph, where an op computes what its old ops do from what its
/// inputs hand on, and from nothing else.
///
/// # Panics
/// If an op needs a tensor that none of its inputs has.
pub(super) fn executed_as(old: &DataflowGraph, new: &DataflowGraph, origin: &Origin) -> BTreeMap<OpId, Value> {
    let mut values: BTreeMap<OpId, Value> = BTreeMap::new();
    let positions = old.topological_positions();
    for op in new.topological_order() {
        let mut own = origin.of(op).to_vec();
        own.sort_by_key(|old| positions[old.index()]);
        let sources: Vec<OpId> = new.predecessors(op).flat_map(|edge| origin.of(edge.op).to_vec()).collect();
        for member in own.clone() {
            for edge in old.predecessors(member) {
                assert!(own.contains(&edge.op) || sources.contains(&edge.op), "op {member} lost its input {}", edge.op);
            }
            let data = old.predecessors(member).filter(|edge| edge.tensor.is_some());
            let inputs: Vec<Value> = data.map(|edge| values[&edge.op].clone()).collect();
            values.insert(member, compute(op_type(old, member), member, &inputs, (0, 1)));
        }
    }
    values
}

/// A training step: an input, weights in groups with their updates, layers forward, gradients of the weights and of a table's rows.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// For each layer, the earlier values that it takes beside the last, whether it has a weight, and whether it is elementwise.
    pub(super) layers: Vec<(Vec<prop::sample::Index>, bool, bool)>,
    /// Whether the layers take rows of a table, which are updated, and whether equal rows are added up before.
    pub(super) table: Option<bool>,
    /// Whether gradients are scaled by the sum of all.
    pub(super) clipped: bool,
    /// Whether ops have measured times.
    pub(super) timed: bool,
    /// Control edges between ops, by their numbers.
    pub(super) control: Vec<(prop::sample::Index, prop::sample::Index)>,
}

pub(super) fn plans() -> impl Strategy<Value = Plan> {
    let index = any::<prop::sample::Index>;
    let layer = (prop::collection::vec(index(), 0..2), any::<bool>(), any::<bool>());
    let control = prop::collection::vec((index(), index()), 0..3);
    let flags = (any::<Option<bool>>(), any::<bool>(), any::<bool>());
    (prop::collection::vec(layer, 1..6), flags, control).prop_map(|(layers, (table, clipped, timed), control)| Plan {
        layers,
        table,
        clipped,
        timed,
        control,
    })
}

impl Plan {
    /// Weights and tables that a step updates.
    pub(super) fn updated(&self) -> usize {
        usize::from(self.table.is_some()) + self.layers.iter().filter(|(_, has_weight, _)| *has_weight).count()
    }

    pub(super) fn graph(&self) -> DataflowGraph {
        let mut maker = Maker { timed: self.timed, ..Maker::default() };
        let batch = BATCH as u64 * EXAMPLE_BYTES;
        let mut values = vec![maker.op("input", 0, batch, &[])];
        let mut weights = Vec::new();
        let table = self.table.map(|adds_rows| {
            let numbers = maker.op("numbers", 0, BATCH as u64 * NUMBER_BYTES, &values);
            let table = maker.op("VariableV2", TABLE_BYTES, TABLE_BYTES, &[]);
            values.push(maker.op("lookup", 0, batch, &[table, numbers]));
            maker.builder.colocate(table, values[1]).unwrap();
            (table, numbers, adds_rows)
        });
        for (others, has_weight, is_elementwise) in &self.layers {
            let mut inputs = vec![values[values.len() - 1]];
            inputs.extend(others.iter().map(|index| *index.get(&values)));
            if *has_weight {
                let weight = maker.op("parameter", WEIGHT_BYTES, WEIGHT_BYTES, &[]);
                weights.push((weight, inputs[0]));
                inputs.push(weight);
            }
            values.push(maker.op(if *is_elementwise { "mul" } else { "matmul" }, 0, batch, &inputs));
        }
        let mut gradient = values[values.len() - 1];
        let mut gradients = Vec::new();
        for &(weight, activation) in weights.iter().rev() {
            gradients.push((weight, maker.op("reduce_sum", 0, WEIGHT_BYTES, &[activation, gradient])));
            gradient = maker.op("add", 0, batch, &[gradient, weight]);
        }
        // Not linear: it has to be done with the sums of gradients.
        let mut made: Vec<OpId> = gradients.iter().map(|&(_, made)| made).collect();
        let rows = table.map(|_| maker.op("matmul", 0, batch, &[gradient, values[0]]));
        made.extend(rows.filter(|_| self.clipped).map(|rows| maker.op("reduce_sum", 0, 4, &[rows, rows])));
        let norm = (self.clipped && !made.is_empty()).then(|| maker.op("add", 0, 4, &made));
        for (weight, made) in gradients {
            let scaled = maker.op("mul", 0, WEIGHT_BYTES, &[made, norm.unwrap_or(weight)]);
            let mean = maker.op("parameter", WEIGHT_BYTES, WEIGHT_BYTES, &[]);
            let new_mean = maker.op("add", 0, WEIGHT_BYTES, &[mean, scaled]);
            let update = maker.op("update", 0, WEIGHT_BYTES, &[weight, new_mean]);
            for op in [mean, new_mean, update] {
                maker.builder.colocate(weight, op).unwrap();
            }
        }
        if let Some(((table, numbers, adds_rows), mut rows)) = table.zip(rows) {
            if let Some(norm) = norm {
                rows = maker.op("mul", 0, batch, &[rows, norm]);
            }
            if adds_rows {
                let sum = maker.op("UnsortedSegmentSum", 0, batch, &[rows, numbers]);
                maker.builder.colocate(table, sum).unwrap();
                rows = maker.op("mul", 0, batch, &[sum, sum]);
                maker.builder.colocate(table, rows).unwrap();
            }
            let update = maker.op("ScatterSub", 0, TABLE_BYTES, &[table, numbers, rows]);
            maker.builder.colocate(table, update).unwrap();
        }
        let count = maker.builder.op_count();
        for (a, b) in &self.control {
            let (a, b) = (a.index(count), b.index(count));
            if a != b {
                maker.builder.add_control_edge(OpId::new(a.min(b)), OpId::new(a.max(b))).unwrap();
            }
        }
        maker.builder.build().unwrap()
    }
}

#[derive(Default)]
struct Maker {
    builder: GraphBuilder,
    timed: bool,
}

impl Maker {
    fn op(&mut self, op_type: &str, memory_bytes: u64, bytes: u64, inputs: &[OpId]) -> OpId {
        let number = self.builder.op_count();
        let (name, cost) = (number.to_string(), (number % 5 + 1) as f64 * 12.0);
        let times = [("cpu", cost), ("gpu", 2.0)];
        let kinds: KindSet = if number % 4 == 3 { "gpu".parse().unwrap() } else { KindSet::ALL };
        let spec = OpSpec {
            memory_bytes,
            kinds,
            times: if self.timed { &times } else { &[] },
            bytes_moved: Some(bytes as f64 * 3.0),
            name: Some(&name),
            op_type: Some(op_type),
            // All ops of a type compute the same function.
            attributes: Some("all"),
            ..OpSpec::cost(cost)
        };
        let op = self.builder.add_op(spec, &[bytes]);
        inputs.iter().for_each(|&input| self.builder.add_edge(input, 0, op).unwrap());
        op
    }
}

/// The bytes of a tensor's whole origin.
pub(super) fn sizes(graph: &DataflowGraph, ops: &[OpId]) -> Vec<u64> {
    ops.iter().flat_map(|&op| graph.outputs(op)).map(|tensor: TensorId| graph.tensor_bytes(tensor)).collect()
}
