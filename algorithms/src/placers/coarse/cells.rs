//! Recurrent cells by the names of ops: B §4.1 keeps the ops of an LSTM cell together.

use std::collections::HashMap;

use placebench_datasets::{Categories, DataflowGraph, Instance, KindSet, OpId, UnitId};

use crate::{Named, Params, SpecError};

/// Which ops of recurrent layers stay together (B §4.1: those of an LSTM cell).
///
/// Names and layer labels tell; a graph without them has no cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Only colocation groups stay together.
    None,
    /// The ops of a cell at one time step, told by the scope in their names (`lstm_0_3/…`), with their gradients.
    Step,
    /// The ops of a recurrent layer at all time steps: all that bear the label of a layer with a cell in it.
    Layer,
}

impl Named for Cells {
    const NAMES: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("step", Self::Step), ("layer", Self::Layer)];
}

impl Cells {
    /// The parameter `cells`.
    pub(in crate::placers) fn param(params: &mut Params) -> Result<Self, SpecError> {
        let doc = "which ops of LSTM and GRU layers stay together, told by names and layers: step (a cell at a time step), layer, \
                   or none";
        params.word("cells", Self::Step, doc)
    }
}

/// Parts of a scope's name that make it a recurrent cell, in lower case.
const CELL_WORDS: [&str; 3] = ["lstm", "gru", "rnn_cell"];

/// The scope of the cell that an op of that name belongs to: up to and with the first scope whose name holds a word of
/// [`CELL_WORDS`]. Gradients (`gradients/lm/lstm_0_3/mul_grad/Mul`) belong to the cell that they are the gradients of.
fn cell_scope(name: &str) -> Option<&str> {
    let forward = match name.split_once('/') {
        Some((first, rest)) if first.starts_with("gradients") => rest,
        _ => name,
    };
    let mut start = 0;
    // The last component is the op itself, not a scope.
    for (slash, _) in forward.match_indices('/') {
        let scope = forward[start..slash].to_ascii_lowercase();
        if CELL_WORDS.iter().any(|word| scope.contains(word)) {
            return Some(&forward[..slash]);
        }
        start = slash + 1;
    }
    None
}

/// What the ops of a cell have in common: scope and layer at one step, or the layer alone.
type Key<'a> = (Option<&'a str>, Option<usize>);

/// The key of an op's cell, if it is in one.
fn keys<'a>(graph: &'a DataflowGraph, cells: Cells) -> impl Fn(OpId) -> Option<Key<'a>> {
    let layer_of = move |op: OpId| graph.layers().and_then(|layers| layers.number(op.index()));
    let scope_of = move |op: OpId| graph.name(op).and_then(cell_scope);
    let mut recurrent = vec![false; graph.layers().map_or(0, |layers: &Categories| layers.labels().len())];
    if cells == Cells::Layer {
        for layer in graph.op_ids().filter(|&op| scope_of(op).is_some()).filter_map(layer_of) {
            recurrent[layer] = true;
        }
    }
    move |op| match cells {
        Cells::None => None,
        Cells::Step => scope_of(op).map(|scope| (Some(scope), layer_of(op))),
        Cells::Layer => layer_of(op).filter(|&layer| recurrent[layer]).map(|layer| (None, Some(layer))),
    }
}

/// The cell of each unit, or `None` if there are no cells.
///
/// Units of one scope or layer and one set of kinds make a cell, so that a cell may run wherever each of its units may; an
/// op that needs a CPU does not drag the others there. A colocation group belongs to a cell if all its members do. A cell
/// of a single unit is none, nor is one that needs more memory than every device it may run on has.
///
/// # Complexity
/// O(ops + bytes of names).
pub(super) fn cells_of_units(instance: &Instance, cells: Cells) -> Option<Vec<Option<u32>>> {
    let (graph, units) = (instance.graph(), instance.units());
    if cells == Cells::None || !graph.has_names() {
        return None;
    }
    let key = keys(graph, cells);
    let mut numbers: HashMap<(Key<'_>, KindSet), u32> = HashMap::new();
    // Per cell: its units and what they claim.
    let mut totals: Vec<(usize, u64)> = Vec::new();
    let mut kinds: Vec<KindSet> = Vec::new();
    let mut cell_of: Vec<Option<u32>> = vec![None; units.count()];
    for unit in units.ids() {
        let members = units.members(unit);
        let Some(shared) = key(members[0]) else { continue };
        if members[1..].iter().any(|&op| key(op) != Some(shared)) {
            continue;
        }
        let number = *numbers.entry((shared, units.kinds(unit))).or_insert_with(|| {
            totals.push((0, 0));
            kinds.push(units.kinds(unit));
            totals.len() as u32 - 1
        });
        let (count, demand) = &mut totals[number as usize];
        *count += 1;
        *demand = demand.saturating_add(units.demand_bytes(unit));
        cell_of[unit.index()] = Some(number);
    }
    let fits = |cell: usize| {
        let (count, demand) = totals[cell];
        let room = |memory: Option<u64>| memory.is_none_or(|memory| demand == 0 || demand < memory);
        let mut devices = instance.cluster().devices().iter();
        count > 1 && devices.any(|device| kinds[cell].contains(device.kind) && room(device.memory_bytes))
    };
    let keep: Vec<bool> = (0..totals.len()).map(fits).collect();
    for unit in units.ids().map(UnitId::index) {
        cell_of[unit] = cell_of[unit].filter(|&cell| keep[cell as usize]);
    }
    keep.contains(&true).then_some(cell_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::coarse::Vertices;
    use crate::placers::example;
    use placebench_datasets::{GraphBuilder, Kind, OpSpec};

    #[test]
    fn names_tell_the_cell() {
        assert_eq!(cell_scope("lm/lstm_0_11/Sigmoid_2"), Some("lm/lstm_0_11"));
        assert_eq!(cell_scope("gradients/lm/lstm_0_11/mul_grad/Mul"), Some("lm/lstm_0_11"));
        assert_eq!(cell_scope("nmt/decoder/step_3/lstm_1/mul"), Some("nmt/decoder/step_3/lstm_1"));
        assert_eq!(cell_scope("rnn/GRUCell/add"), Some("rnn/GRUCell"));
        assert_eq!(cell_scope("lm/lstm_read"), None);
        assert_eq!(cell_scope("nmt/attention/MatMul"), None);
    }

    /// Two ops of a cell, one that needs a CPU, and one outside; 10 bytes each.
    fn instance(memory: Option<u64>) -> Instance {
        let mut builder = GraphBuilder::default();
        let spec = |name| OpSpec { name: Some(name), layer: Some("rnn"), memory_bytes: 10, ..OpSpec::cost(1.0) };
        builder.add_op(spec("lstm/a"), &[]);
        builder.add_op(spec("other/b"), &[]);
        builder.add_op(OpSpec { kinds: KindSet::only(Kind::Cpu), ..spec("lstm/c") }, &[]);
        builder.add_op(spec("gradients/lstm/d"), &[]);
        let cluster = example::cluster_with_memory(&[(1.0, memory), (1.0, memory)], 1.0);
        Instance::new(builder.build().unwrap(), cluster).unwrap()
    }

    #[test]
    fn a_cell_is_one_vertex_for_each_set_of_kinds() {
        assert_eq!(Vertices::new(&instance(None), Cells::Step).weights(), [2, 1, 1]);
        assert_eq!(Vertices::new(&instance(None), Cells::None).weights(), [1, 1, 1, 1]);
    }

    #[test]
    fn a_layer_with_a_cell_in_it_is_one_vertex_outside_the_cell_too() {
        assert_eq!(Vertices::new(&instance(None), Cells::Layer).weights(), [3, 1]);
    }

    #[test]
    fn a_cell_too_large_for_every_device_is_left_split() {
        assert_eq!(Vertices::new(&instance(Some(20)), Cells::Step).weights(), [1, 1, 1, 1]);
        assert_eq!(Vertices::new(&instance(Some(21)), Cells::Step).weights(), [2, 1, 1]);
    }
}
