//! The catalogue is whole, measured and acyclic, and its README says what is in it.

use placebench_datasets::catalogue::{self, CatalogueEntry};
use placebench_datasets::{DataflowGraph, OpId, Properties};

fn provenance(entry: &CatalogueEntry, key: &str) -> u64 {
    let header = entry.header().unwrap();
    u64::try_from(header.provenance[key].as_integer().unwrap()).unwrap()
}

fn seconds(graph: &DataflowGraph, class: &str) -> f64 {
    let times = graph.measured_on(class).unwrap();
    graph.op_ids().filter_map(|op| times.of(op)).sum()
}

fn tensor_bytes(graph: &DataflowGraph) -> u64 {
    graph.op_ids().flat_map(|op| graph.outputs(op)).map(|tensor| graph.tensor_bytes(tensor)).sum()
}

fn memory_bytes(graph: &DataflowGraph) -> u64 {
    graph.op_ids().map(|op| graph.memory_bytes(op)).sum()
}

#[test]
fn sizes_and_memory_add_up_to_what_was_traced() {
    for entry in catalogue::entries() {
        let (_, graph) = entry.load().unwrap();
        // A constant of 4 bytes in `dynamic_rnn_whole` that nothing reads: the GraphDef has its size, the trace does not.
        let untraced = if entry.name == "dynamic_rnn_whole" { 4 } else { 0 };
        assert_eq!(tensor_bytes(&graph), provenance(entry, "tensor_bytes_total") + untraced, "{}", entry.name);
        assert_eq!(memory_bytes(&graph), provenance(entry, "memory_bytes_total"), "{}", entry.name);
    }
}

#[test]
fn the_property_sheets_beside_the_graphs_are_theirs() {
    for entry in catalogue::entries() {
        let (_, graph) = entry.load().unwrap();
        let path = format!("{}/catalogue/{}/properties.txt", env!("CARGO_MANIFEST_DIR"), entry.name);
        let sheet = std::fs::read_to_string(&path).unwrap();
        assert_eq!(sheet, Properties::of(&graph, None).to_string(), "{path}");
    }
}

#[test]
fn every_edge_goes_forward_and_every_op_is_measured_on_both_kinds_or_has_its_bytes() {
    for entry in catalogue::entries() {
        let (_, graph) = entry.load().unwrap();
        let position = graph.topological_positions();
        assert!(
            graph.edges().all(|(source, edge)| position[source.index()] < position[edge.op.index()]),
            "{}",
            entry.name
        );
        if graph.measured_times().is_empty() {
            assert!(graph.has_bytes_moved() && provenance(entry, "operations_total") > 0, "{}", entry.name);
            continue;
        }
        let [cpu, gpu] = ["cpu", "gpu"].map(|class| graph.measured_on(class).unwrap());
        for op in graph.op_ids() {
            assert!(gpu.of(op).is_some(), "{}: {}", entry.name, graph.label(op));
            let nanoseconds = cpu.of(op).unwrap() * 1e9;
            assert_eq!(graph.ops(op), nanoseconds, "{}: {}", entry.name, graph.label(op));
        }
    }
}

#[test]
fn most_of_every_step_has_a_layer() {
    for entry in catalogue::entries() {
        let (_, graph) = entry.load().unwrap();
        let layers = graph.layers().unwrap();
        let cost = |op: OpId| graph.measured_on("cpu").map_or(graph.ops(op), |times| times.of(op).unwrap_or_default());
        let labelled: f64 = graph.op_ids().filter(|op| layers.get(op.index()).is_some()).map(cost).sum();
        assert!(labelled > 0.95 * graph.op_ids().map(cost).sum::<f64>(), "{}", entry.name);
        assert!(layers.labels().len() > 1, "{}", entry.name);
    }
}

#[test]
fn the_table_of_the_readme_is_that_of_the_graphs() {
    let readme = include_str!("../catalogue/README.md");
    for entry in catalogue::entries() {
        let (_, graph) = entry.load().unwrap();
        let control = graph.control_edge_count();
        if graph.measured_times().is_empty() {
            let moved: f64 = graph.op_ids().filter_map(|op| graph.bytes_moved(op)).sum();
            let row = format!(
                "| {} | {} | {} | {} | {:.1} | {:.1} | {:.0} | {:.0} |",
                entry.name,
                graph.op_count(),
                graph.edge_count(),
                provenance(entry, "class_colocated"),
                memory_bytes(&graph) as f64 / 1e9,
                graph.op_ids().map(|op| graph.ops(op)).sum::<f64>() / 1e12,
                moved / 1e9,
                tensor_bytes(&graph) as f64 / 1e9,
            );
            assert!(readme.contains(&row), "the README lacks this row:\n{row}");
            continue;
        }
        let row = format!(
            "| {} | {} | {} + {control} | {} | {} in {} | {} | {:.1} | {:.1} | {:.3} | {:.4} |",
            entry.name,
            graph.op_count(),
            graph.edge_count() - control,
            provenance(entry, "class_colocated"),
            graph.colocation().colocated_op_count(),
            graph.colocation().group_count(),
            graph.layers().unwrap().labels().len(),
            tensor_bytes(&graph) as f64 / 1e6,
            memory_bytes(&graph) as f64 / 1e6,
            seconds(&graph, "cpu"),
            seconds(&graph, "gpu"),
        );
        assert!(readme.contains(&row), "the README lacks this row:\n{row}");
    }
}
