//! Each format that reads and writes dataflow graphs keeps all but what its line in the table says that it lacks.

use placebench_datasets::format::{
    Detail, FORMATS, Format, GraphHeader, Holds, Mark, Units, read_graph, read_graph_with, read_kinds, write_graph,
};
use placebench_datasets::{DataflowGraph, GraphBuilder, Kind, KindSet, Kinds, OpId, OpSpec};
use proptest::prelude::*;

/// An edge: producer, output port unless it is a control edge, consumer.
type PlainEdge = (usize, Option<usize>, usize);

#[derive(Clone, Default)]
struct PlainOp {
    ops: f64,
    memory_bytes: u64,
    kinds: KindSet,
    bytes_moved: Option<f64>,
    times: Vec<(String, f64)>,
    name: Option<String>,
    op_type: Option<String>,
    layer: Option<String>,
    attributes: Option<String>,
    group: Option<u32>,
    outputs: Vec<u64>,
}

/// A graph taken apart, so that parts can be forgotten.
struct Plain {
    ops: Vec<PlainOp>,
    edges: Vec<PlainEdge>,
}

impl Plain {
    fn of(graph: &DataflowGraph) -> Self {
        let ops = graph.op_ids().map(|op| PlainOp {
            ops: graph.ops(op),
            memory_bytes: graph.memory_bytes(op),
            kinds: graph.kinds(op),
            bytes_moved: graph.bytes_moved(op),
            times: graph
                .measured_times()
                .iter()
                .filter_map(|times| Some((times.class().to_owned(), times.of(op)?)))
                .collect(),
            name: graph.name(op).map(str::to_owned),
            op_type: graph.op_types().and_then(|types| types.get(op.index())).map(str::to_owned),
            layer: graph.layers().and_then(|layers| layers.get(op.index())).map(str::to_owned),
            attributes: graph.attributes().and_then(|texts| texts.get(op.index())).map(str::to_owned),
            group: graph.colocation().group_of(op).map(|group| group.0),
            outputs: graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect(),
        });
        let inputs = |op: OpId| {
            graph
                .predecessors(op)
                .map(move |edge| (edge.op.index(), edge.tensor.map(|tensor| graph.port(tensor)), op.index()))
        };
        Self { ops: ops.collect(), edges: graph.op_ids().flat_map(inputs).collect() }
    }

    fn forget(&mut self, detail: Detail) {
        let ops = &mut self.ops;
        match detail {
            Detail::Names => ops.iter_mut().for_each(|op| op.name = None),
            Detail::Types => ops.iter_mut().for_each(|op| op.op_type = None),
            Detail::Layers => ops.iter_mut().for_each(|op| op.layer = None),
            Detail::Attributes => ops.iter_mut().for_each(|op| op.attributes = None),
            Detail::Memory => ops.iter_mut().for_each(|op| op.memory_bytes = 0),
            Detail::Kinds => ops.iter_mut().for_each(|op| op.kinds = KindSet::ALL),
            Detail::Times => ops.iter_mut().for_each(|op| op.times.clear()),
            Detail::BytesMoved => ops.iter_mut().for_each(|op| op.bytes_moved = None),
            Detail::Colocation => ops.iter_mut().for_each(|op| op.group = None),
            Detail::Tensors => {
                ops.iter_mut().for_each(|op| op.outputs.clear());
                self.edges.iter_mut().for_each(|edge| edge.1 = None);
            }
            Detail::ControlEdges => {
                for edge in self.edges.iter_mut().filter(|edge| edge.1.is_none()) {
                    ops[edge.0].outputs.push(0);
                    edge.1 = Some(ops[edge.0].outputs.len() - 1);
                }
            }
            Detail::SharedTensors => {
                let mut seen = std::collections::HashSet::new();
                for edge in self.edges.iter_mut() {
                    let Some(port) = edge.1 else { continue };
                    if !seen.insert((edge.0, port)) {
                        let bytes = ops[edge.0].outputs[port];
                        ops[edge.0].outputs.push(bytes);
                        edge.1 = Some(ops[edge.0].outputs.len() - 1);
                    }
                }
            }
            Detail::UnusedTensors => {
                for (position, op) in ops.iter_mut().enumerate() {
                    for port in (0..op.outputs.len()).rev() {
                        if !self.edges.iter().any(|edge| edge.0 == position && edge.1 == Some(port)) {
                            op.outputs.remove(port);
                            let later = self.edges.iter_mut().filter(|edge| edge.0 == position);
                            later.for_each(|edge| edge.1 = edge.1.map(|own| own - usize::from(own > port)));
                        }
                    }
                }
            }
            Detail::ParallelEdges => {
                let mut kept: Vec<PlainEdge> = Vec::new();
                for &(source, port, target) in &self.edges {
                    match kept.iter_mut().find(|edge| edge.0 == source && edge.2 == target) {
                        None => kept.push((source, port, target)),
                        Some(first) => {
                            let more = port.map_or(0, |port| ops[source].outputs[port]);
                            let sum = first.1.map_or(0, |port| ops[source].outputs[port]).saturating_add(more);
                            ops[source].outputs.push(sum);
                            first.1 = Some(ops[source].outputs.len() - 1);
                        }
                    }
                }
                self.edges = kept;
            }
            Detail::RepeatedInputs => {
                let all = std::mem::take(&mut self.edges);
                let carried = |edge: &PlainEdge| all.iter().any(|e| e.0 == edge.0 && e.2 == edge.2 && e.1.is_some());
                for edge in &all {
                    if !(self.edges.contains(edge) || edge.1.is_none() && carried(edge)) {
                        self.edges.push(*edge);
                    }
                }
            }
            Detail::OutputOrder => {
                let mut outputs: Vec<Vec<u64>> = vec![Vec::new(); ops.len()];
                for edge in self.edges.iter_mut() {
                    let Some(port) = edge.1 else { continue };
                    outputs[edge.0].push(ops[edge.0].outputs[port]);
                    edge.1 = Some(outputs[edge.0].len() - 1);
                }
                ops.iter_mut().zip(outputs).for_each(|(op, outputs)| op.outputs = outputs);
            }
            Detail::InputOrder => self.edges.sort_by_key(|&(source, port, target)| (target, source, port)),
            Detail::Title | Detail::Licence | Detail::Units | Detail::Provenance | Detail::KindRule => {}
            other => panic!("say here how a graph forgets '{other}'"),
        }
    }

    fn graph(self) -> DataflowGraph {
        let mut builder = GraphBuilder::default();
        for op in &self.ops {
            let times: Vec<(&str, f64)> = op.times.iter().map(|(class, time)| (class.as_str(), *time)).collect();
            let spec = OpSpec {
                ops: op.ops,
                memory_bytes: op.memory_bytes,
                kinds: op.kinds,
                bytes_moved: op.bytes_moved,
                times: &times,
                name: op.name.as_deref(),
                op_type: op.op_type.as_deref(),
                layer: op.layer.as_deref(),
                attributes: op.attributes.as_deref(),
            };
            builder.add_op(spec, &op.outputs);
        }
        for group in self.ops.iter().filter_map(|op| op.group) {
            let members: Vec<usize> = (0..self.ops.len()).filter(|&op| self.ops[op].group == Some(group)).collect();
            builder.colocate(OpId::new(members[0]), OpId::new(members[members.len() - 1])).unwrap();
            members.windows(2).for_each(|pair| builder.colocate(OpId::new(pair[0]), OpId::new(pair[1])).unwrap());
        }
        for (source, port, target) in self.edges {
            match port {
                Some(port) => builder.add_edge(OpId::new(source), port, OpId::new(target)).unwrap(),
                None => builder.add_control_edge(OpId::new(source), OpId::new(target)).unwrap(),
            }
        }
        builder.build().unwrap()
    }
}

/// What a format can hold of a graph.
fn held(format: &Format, graph: &DataflowGraph) -> DataflowGraph {
    // Edges first lose what they carry, then become fewer, then tensors that nothing carries any more go.
    let order = [
        Detail::Tensors,
        Detail::RepeatedInputs,
        Detail::ControlEdges,
        Detail::ParallelEdges,
        Detail::SharedTensors,
        Detail::UnusedTensors,
        Detail::OutputOrder,
        Detail::InputOrder,
    ];
    let mut plain = Plain::of(graph);
    for detail in format.lacks.iter().filter(|detail| !order.contains(detail)) {
        plain.forget(*detail);
    }
    for detail in order.into_iter().filter(|detail| format.lacks.contains(detail)) {
        plain.forget(detail);
    }
    plain.graph()
}

/// Sizes that every format can count: a GraphDef's numbers end at 2^63.
fn with_smaller_sizes(graph: &DataflowGraph) -> DataflowGraph {
    let mut plain = Plain::of(graph);
    for op in &mut plain.ops {
        op.memory_bytes >>= 1;
        op.outputs.iter_mut().for_each(|bytes| *bytes >>= 1);
    }
    plain.graph()
}

/// A GraphDef gives every op a name and a type: tests/graphdef.rs says what comes back.
fn both_ways() -> impl Iterator<Item = &'static Format> {
    let both = |format: &&Format| {
        let both = matches!(format.holds, Holds::Graph { read: Some(_), write: Some(_) });
        both && !format.name.starts_with("graphdef")
    };
    FORMATS.into_iter().filter(both)
}

fn name(format: &Format) -> String {
    match format.mark {
        Mark::Folder(_) => "g".to_owned(),
        _ => format!("g.{}", format.extensions()[0]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_graph_comes_back_without_what_the_format_lacks(graph in crate::common::graph()) {
        let folder = tempfile::tempdir().unwrap();
        let graph = with_smaller_sizes(&graph);
        for format in both_ways() {
            let path = folder.path().join(name(format));
            let held = held(format, &graph);
            let losses = format.losses(&GraphHeader::named("g"), &held);
            prop_assert!(losses.is_empty(), "{}: {:?} of {:?}", format.name, losses, held);
            write_graph(&path, &GraphHeader::named("g"), &held).unwrap();
            let back = read_graph(&path);
            prop_assert!(back.is_ok(), "{}: {:?}", format.name, back);
            let back = back.unwrap().1;
            prop_assert!(back == held, "{}: {}\n{:?}\n{:?}", format.name,
                std::fs::read_to_string(&path).unwrap_or_default(), held, back);
            // What the format lacks is dropped, and no more: writing the whole graph keeps the ops and their costs.
            write_graph(&path, &GraphHeader::named("g"), &graph).unwrap();
            let once = read_graph(&path).unwrap().1;
            prop_assert!(format.losses(&GraphHeader::named("g"), &once).is_empty(), "{}", format.name);
            prop_assert!(once == held, "{}\n{:?}\n{:?}", format.name, held, once);
        }
    }

    #[test]
    fn a_format_says_what_a_graph_loses_exactly_if_it_changes(graph in crate::common::graph()) {
        let header = GraphHeader::named("g");
        for format in both_ways() {
            let lost = !format.losses(&header, &graph).is_empty();
            prop_assert_eq!(lost, held(format, &graph) != graph, "{}", format.name);
        }
    }
}

#[test]
fn a_header_comes_back_where_the_format_keeps_it() {
    let header = GraphHeader {
        name: "a <b> & \"c\"".to_owned(),
        title: "one sentence, with \\ and \u{e4}".to_owned(),
        licence: "MIT".to_owned(),
        kinds: Kinds::AcceleratorsOnly,
        units: Units { ops: "flops".to_owned(), ..Units::default() },
        provenance: toml::from_str("tool = 'x'\nat = 2020-01-02T03:04:05Z\n[nested]\nlist = [1, 2.5]").unwrap(),
    };
    let graph = common_small();
    let folder = tempfile::tempdir().unwrap();
    let mut keep = 0;
    for format in both_ways().filter(|format| !format.lacks.contains(&Detail::Licence)) {
        let path = folder.path().join(name(format));
        write_graph(&path, &header, &graph).unwrap();
        assert_eq!(read_graph(&path).unwrap().0, header, "{}", format.name);
        assert_eq!(read_kinds(&path).unwrap(), header.kinds, "{}", format.name);
        keep += 1;
    }
    assert!(keep >= 4, "{keep}");
    let csv = FORMATS.into_iter().find(|format| format.name == "csv").unwrap();
    let losses: Vec<_> = csv.losses(&header, &graph).iter().map(ToString::to_string).collect();
    assert_eq!(losses, ["title", "licence", "units", "provenance", "rule of kinds"]);
    let metis = FORMATS.into_iter().find(|format| format.name == "metis").unwrap();
    let losses: Vec<_> = metis.losses(&GraphHeader::named("g"), &graph).iter().map(ToString::to_string).collect();
    assert_eq!(losses, ["direction (1 edge)", "device kinds (1 op)", "resident memory (1 op)", "names (2 ops)"]);
}

fn common_small() -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    let gpu = KindSet::only(Kind::Gpu);
    let a = builder.add_op(OpSpec { name: Some("a"), kinds: gpu, ..OpSpec::cost(3.0) }, &[8]);
    let b = builder.add_op(OpSpec { name: Some("b"), memory_bytes: 7, ..OpSpec::cost(5.0) }, &[]);
    builder.add_edge(a, 0, b).unwrap();
    builder.build().unwrap()
}

#[test]
fn any_file_may_be_compressed() {
    let folder = tempfile::tempdir().unwrap();
    for format in both_ways().filter(|format| !matches!(format.mark, Mark::Folder(_))) {
        let plain = folder.path().join(name(format));
        write_graph(&plain, &GraphHeader::named("g"), &common_small()).unwrap();
        let expected = read_graph(&plain).unwrap();
        for (extension, magic) in [("gz", &[0x1f, 0x8b][..]), ("ZST", &[0x28, 0xb5, 0x2f, 0xfd])] {
            let path = folder.path().join(format!("{}.{extension}", name(format)));
            write_graph(&path, &GraphHeader::named("g"), &common_small()).unwrap();
            assert!(std::fs::read(&path).unwrap().starts_with(magic), "{}", path.display());
            assert_eq!(read_graph(&path).unwrap(), expected, "{}", path.display());
            std::fs::write(&path, "not compressed").unwrap();
            let message = read_graph(&path).unwrap_err().to_string();
            assert!(message.contains("cannot be unpacked"), "{message}");
        }
    }
    let left = std::fs::read_dir(folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0, "no partial file stays");
}

#[test]
fn a_json_file_is_known_by_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    for format in both_ways().filter(|format| matches!(format.mark, Mark::Json(..))) {
        let path = folder.path().join(name(format));
        write_graph(&path, &GraphHeader::named("g"), &common_small()).unwrap();
        let plain = folder.path().join(format!("{}.json", format.name));
        std::fs::copy(&path, &plain).unwrap();
        assert_eq!(read_graph(&plain).unwrap().1, read_graph(&path).unwrap().1, "{}", format.name);
    }
    let other = folder.path().join("other.json");
    for (content, expected) in [
        ("{\"x\": 1}", "other.json: unknown graph format '.json': use .csv"),
        ("[1]", "other.json:1: invalid type: sequence, expected an object"),
        ("{\"nodes\": [", "other.json:1: EOF while parsing a list: write valid JSON"),
    ] {
        std::fs::write(&other, content).unwrap();
        let message = read_graph_with(&other, &Default::default()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}\n   lacks   {expected}");
    }
}
