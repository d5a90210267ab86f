//! Expert placement: a model's layers to devices in order.

use placebench_datasets::{Categories, DeviceId, Instance, OpId, UnitId};

use super::coarse::Vertices;
use super::coarse::cells::Cells;
use super::coarse::placing::VertexAssignment;
use super::coarse::workers::Workers;
use crate::fairness::{Assumption, Exception, Law};
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Puts whole layers on devices in order, as an expert does who knows the model.
///
/// With L layers and n devices, layer l goes to device ⌊l · min(n, L) / L⌋: as many devices as layers at most, neighbouring
/// layers together. In a model with layers `encoder_0`, `encoder_1`, … and `decoder_0`, … layer i of both goes to device
/// i mod n; layers of other names that begin with `encoder` or `decoder` (embeddings) go to the first device, all others
/// (attention, projection) to that of the last layer.
///
/// Layers are the graph's layer labels, in the order in which their first ops with inputs come by id. A graph without
/// labels is refused.
///
/// # Reference
/// C. Bahnmüller, *Improving Google's Open-Source Machine Learning System TensorFlow*, Master's thesis, University of
/// Stuttgart 2018, §5.2.2, says only that the expert placements are those known from the literature: for the RNN a layer a
/// device; for the NMT that of T. Luong, E. Brevdo, R. Zhao, *Neural Machine Translation (seq2seq) Tutorial*, 2017.
///
/// # Complexity
/// O(ops + edges + ops · devices where a layer's device is not feasible).
///
/// # Ties
/// Of labels equally frequent in a colocation group, the earliest layer. Of devices that hold equally many neighbours of an
/// unlabelled op, the one met first: of its edges, then of the other members'.
///
/// # Deviations
/// - An unlabelled op goes where most of its neighbours are that have been placed (labelled ones first, then in topological
///   order), or beside the first layer if it has none. A colocation group belongs to the layer that most of its
///   members name.
/// - B's devices are equal GPUs. Here they are, the fastest first and equally fast ones in the order of their ids, those
///   that need at most ten times as long as the fastest devices would and may run a tenth of the ops (so not CPUs beside
///   GPUs). What its layer's device may not run or has no memory for goes to the nearest device (by rate) that can.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expert;

impl Algorithm for Expert {
    const NAME: &str = "expert";
    const SUMMARY: &str = "whole layers to devices in order, as an expert on the model places them";
    const SOURCE: &str = "B §5.2.2";
    const ASSUMES: &[Assumption] =
        &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoMemory, Assumption::Layers];
    const EXCEPTIONS: &[Exception] = &[Exception::new(
        Law::RelabelledOps,
        "layers come in the order of their first ops' numbers, as the model was written",
    )];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for Expert {
    fn reads_order(&self) -> bool {
        true
    }

    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let layers = instance.graph().layers().filter(|layers| !layers.labels().is_empty()).ok_or_else(|| {
            PlaceError::Unsupported(
                "expert: the graph has no layer labels: give its ops a column 'layer', or choose a placer that needs none"
                    .to_owned(),
            )
        })?;
        let workers = Workers::new(instance);
        let devices = workers.by_speed();
        let positions = device_positions(layers, &layers_in_order(instance, layers), devices.len());
        let homes: Vec<DeviceId> = positions.into_iter().map(|position| devices[position]).collect();
        let first = devices.first().copied().unwrap_or_default();

        let vertices = Vertices::new(instance, Cells::None);
        let mut placing = Placing {
            instance,
            assignment: VertexAssignment::new(instance, &vertices, &workers),
            device_of: vec![None; instance.units().count()],
        };
        for (position, unit) in instance.units().ids().enumerate() {
            context.stop.check_at(position)?;
            if let Some(layer) = layer_of_unit(instance, layers, unit) {
                placing.put(unit, homes[layer])?;
            }
        }
        for (position, op) in instance.graph().topological_order().enumerate() {
            context.stop.check_at(position)?;
            let unit = instance.units().unit_of(op);
            if placing.device_of[unit.index()].is_none() {
                let home = placing.home_among_neighbours(unit).unwrap_or(first);
                placing.put(unit, home)?;
            }
        }
        Ok(Decision::placement(placing.assignment.finish()?))
    }
}

/// The numbers of the layers that ops have, by the first op of each that has inputs, or else by its first op.
///
/// An op without inputs tells nothing: placeholders of labels and masks come first in a graph, whatever layer reads them.
fn layers_in_order(instance: &Instance, layers: &Categories) -> Vec<usize> {
    let graph = instance.graph();
    let mut seen = vec![false; layers.labels().len()];
    let mut order = Vec::new();
    let ops_with_inputs = graph.op_ids().filter(|&op| graph.in_degree(op) > 0);
    for layer in ops_with_inputs.chain(graph.op_ids()).filter_map(|op| layers.number(op.index())) {
        if !std::mem::replace(&mut seen[layer], true) {
            order.push(layer);
        }
    }
    order
}

/// The position of each layer's device among `devices` of them, by layer number.
fn device_positions(layers: &Categories, order: &[usize], devices: usize) -> Vec<usize> {
    let labels = layers.labels();
    let mut positions = vec![0; labels.len()];
    let of = |family: &str| labels.iter().filter_map(|label| numbered(label, family)).max();
    match (of("encoder"), of("decoder")) {
        (Some(encoder), Some(decoder)) => {
            let last = encoder.max(decoder) % devices;
            for (position, label) in positions.iter_mut().zip(labels) {
                let stage = numbered(label, "encoder").or_else(|| numbered(label, "decoder"));
                let embedding = label.starts_with("encoder") || label.starts_with("decoder");
                *position = stage.map_or(if embedding { 0 } else { last }, |stage| stage % devices);
            }
        }
        _ => {
            let used = devices.min(order.len());
            for (place, &layer) in order.iter().enumerate() {
                positions[layer] = place * used / order.len();
            }
        }
    }
    positions
}

/// The number of a layer of a family: 3 of `encoder_3`.
fn numbered(label: &str, family: &str) -> Option<usize> {
    label.strip_prefix(family)?.strip_prefix('_')?.parse().ok()
}

/// The layer that most labelled members of a unit name.
fn layer_of_unit(instance: &Instance, layers: &Categories, unit: UnitId) -> Option<usize> {
    let mut named: Vec<usize> =
        instance.units().members(unit).iter().filter_map(|op| layers.number(op.index())).collect();
    named.sort_unstable();
    let runs = named.chunk_by(|a, b| a == b);
    // The last of the longest in reverse is the first.
    runs.rev().max_by_key(|run| run.len()).map(|run| run[0])
}

struct Placing<'a> {
    instance: &'a Instance,
    assignment: VertexAssignment<'a>,
    device_of: Vec<Option<DeviceId>>,
}

impl Placing<'_> {
    fn put(&mut self, unit: UnitId, home: DeviceId) -> Result<(), PlaceError> {
        self.device_of[unit.index()] = Some(self.assignment.put_near(unit, home)?);
        Ok(())
    }

    /// The device that most edges of the unit lead to.
    fn home_among_neighbours(&self, unit: UnitId) -> Option<DeviceId> {
        let (graph, units) = (self.instance.graph(), self.instance.units());
        let mut counts: Vec<(DeviceId, usize)> = Vec::new();
        let neighbours = |op: OpId| graph.predecessor_ops(op).iter().chain(graph.successor_ops(op));
        for &neighbour in units.members(unit).iter().flat_map(|&op| neighbours(op)) {
            if let Some(device) = self.device_of[units.unit_of(neighbour).index()] {
                match counts.iter_mut().find(|(known, _)| *known == device) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((device, 1)),
                }
            }
        }
        counts.into_iter().rev().max_by_key(|&(_, count)| count).map(|(device, _)| device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use placebench_datasets::{GraphBuilder, Kind, KindSet, OpSpec};

    /// A chain of ops with those labels; those named `cpu` need a CPU.
    fn chain(labels: &[Option<&str>], devices: usize) -> Instance {
        let mut builder = GraphBuilder::default();
        let ops: Vec<OpId> = labels
            .iter()
            .map(|&layer| {
                let kinds = if layer == Some("cpu") { KindSet::only(Kind::Cpu) } else { KindSet::ALL };
                builder.add_op(OpSpec { layer, kinds, ..OpSpec::cost(100.0) }, &[1])
            })
            .collect();
        for pair in ops.windows(2) {
            builder.add_edge(pair[0], 0, pair[1]).unwrap();
        }
        let mut kinds = vec![(Kind::Gpu, 100.0); devices];
        kinds.push((Kind::Cpu, 1.0));
        Instance::new(builder.build().unwrap(), example::cluster_of_kinds(&kinds)).unwrap()
    }

    fn place(labels: &[&str], devices: usize) -> Vec<u32> {
        let labels: Vec<_> = labels.iter().map(|&label| (!label.is_empty()).then_some(label)).collect();
        example::devices(&Expert.place(&chain(&labels, devices), &PlaceContext::default()).unwrap())
    }

    #[test]
    fn consecutive_layers_share_devices_and_none_is_split() {
        // The first op has no inputs: "softmax" is ordered by its second op, the last.
        let labels = ["softmax", "embedding", "lstm_0", "lstm_0", "lstm_1", "softmax"];
        assert_eq!(place(&labels, 2), [1, 0, 0, 0, 1, 1]);
        assert_eq!(place(&labels, 3), [2, 0, 0, 0, 1, 2]);
        assert_eq!(place(&labels, 8), [3, 0, 1, 1, 2, 3]);
    }

    #[test]
    fn layer_i_of_encoder_and_decoder_share_device_i_modulo_their_number() {
        let labels = [
            "encoder_embedding",
            "encoder_0",
            "encoder_1",
            "encoder_2",
            "decoder_embedding",
            "decoder_0",
            "decoder_1",
            "decoder_2",
            "attention",
            "projection",
        ];
        assert_eq!(place(&labels, 8), [0, 0, 1, 2, 0, 0, 1, 2, 2, 2]);
        assert_eq!(place(&labels, 2), [0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn unlabelled_ops_follow_their_neighbours_and_a_cpu_op_goes_to_the_cpu() {
        // Device 0: a, 1: b, 2: cpu. The unlabelled 2 lies between a and b and follows the first, its input; 4 follows b.
        assert_eq!(place(&["a", "a", "", "b", "", "cpu"], 3), [0, 0, 0, 1, 1, 3]);
        assert_eq!(place(&["", "", "a", "b"], 2), [0, 0, 0, 1]);
    }

    #[test]
    fn a_graph_without_labels_is_refused_with_a_reason() {
        let error = Expert.place(&chain(&[None, None], 2), &PlaceContext::default()).unwrap_err();
        assert!(error.to_string().contains("no layer labels"), "{error}");
    }
}
