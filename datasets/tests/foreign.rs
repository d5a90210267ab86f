//! Files as other tools write them: what a graph is read from them, and what is refused, with the line that a user sees.

use std::fs;

use placebench_datasets::format::{GraphHeader, ReadOptions, read_cluster, read_graph, read_graph_with, write_graph};
use placebench_datasets::{
    DataflowGraph, DeviceId, GraphBuilder, Instance, Kind, KindSet, OpId, OpSpec, processor_class,
};

fn read(name: &str, content: &str) -> (DataflowGraph, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let file = read_graph_with(&path, &ReadOptions::default()).unwrap();
    (file.graph, file.report)
}

fn fault(name: &str, content: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    read_graph(&path).unwrap_err().to_string().replace(&format!("{}/", folder.path().display()), "")
}

/// Source, bytes (none: a control edge) and target of each edge, by consumer.
fn edges(graph: &DataflowGraph) -> Vec<(u32, Option<u64>, u32)> {
    let of = |op: OpId| {
        graph.predecessors(op).map(move |edge| (edge.op.0, edge.tensor.map(|tensor| graph.tensor_bytes(tensor)), op.0))
    };
    graph.op_ids().flat_map(of).collect()
}

fn costs(graph: &DataflowGraph) -> Vec<f64> {
    graph.op_ids().map(|op| graph.ops(op)).collect()
}

#[test]
fn dot_of_simgrid_and_of_drawings() {
    let (graph, report) = read(
        "g.dot",
        "// SimGrid's\ndigraph G {\n root [size=\"1\"]; 1 [size=\"2e9\"]\n end [size=\"0\", label=<b>];\n\
         # a comment\n root -> 1 [size=\"1000\"]; 1 -> end\n}\n",
    );
    assert_eq!((costs(&graph), report), (vec![1.0, 2e9, 0.0], None));
    assert_eq!(edges(&graph), [(0, Some(1000), 1), (1, None, 2)]);
    assert_eq!(graph.name(OpId(2)), Some("end"));
    let (graph, report) = read(
        "g.gv",
        "strict digraph \"a\" + \"b\" { edge [weight=3] a:n -> {b c} -> d [style=bold] a -> b; \
         subgraph cluster_x { node [fillcolor=red, rate=1]; c; e } }",
    );
    assert_eq!(edges(&graph), [(0, Some(3), 1), (0, Some(3), 2), (1, Some(3), 3), (2, Some(3), 3)]);
    assert_eq!(graph.op_count(), 5);
    let report = report.unwrap();
    assert_eq!(report, "no node has a cost, so that every op costs 1; ignored values of nodes and edges: rate");
}

#[test]
fn node_link_json_of_old_and_new_networkx() {
    for key in ["edges", "links"] {
        let (graph, _) = read(
            "g.json",
            &format!(
                "{{\"directed\": true, \"multigraph\": false, \"graph\": {{}}, \"nodes\": [{{\"id\": \"x\", \"weight\": 2.5, \
                 \"pos\": [1, 2]}}, {{\"id\": 7, \"weight\": 1}}], \"{key}\": [{{\"source\": \"x\", \"target\": 7, \"weight\": 4.0}}]}}"
            ),
        );
        assert_eq!((costs(&graph), edges(&graph)), (vec![2.5, 1.0], vec![(0, Some(4), 1)]));
        assert_eq!(graph.name(OpId(1)), Some("7"));
    }
}

#[test]
fn graphml_with_defaults_of_keys() {
    let (graph, _) = read(
        "g.graphml",
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key id=\"w\" for=\"node\" attr.name=\"weight\"><default>4\
         </default></key><graph edgedefault=\"directed\"><node id=\"a\"/><node id=\"b\"><data key=\"w\">5</data></node>\
         <edge source=\"a\" target=\"b\"/></graph></graphml>",
    );
    assert_eq!((costs(&graph), edges(&graph)), (vec![4.0, 5.0], vec![(0, None, 1)]));
}

#[test]
fn a_workflow_of_wfcommons() {
    let (graph, report) = read(
        "w.json",
        r#"{"name": "blast", "schemaVersion": "1.6", "workflow": {"specification": {"tasks": [
            {"name": "split", "id": "split_1", "parents": [], "children": ["sum_1"], "inputFiles": ["in"], "outputFiles": ["a", "b"]},
            {"name": "sum", "id": "sum_1", "parents": ["split_1"], "children": ["end_1"], "inputFiles": ["b", "in"], "outputFiles": []},
            {"name": "end", "id": "end_1", "parents": ["sum_1"], "children": []}],
            "files": [{"id": "in", "sizeInBytes": 9}, {"id": "a", "sizeInBytes": 5}, {"id": "b", "sizeInBytes": 6}]},
            "execution": {"makespanInSeconds": 3, "executedAt": "2024-01-01T00:00:00Z", "tasks": [
            {"id": "end_1", "runtimeInSeconds": 0.5}, {"id": "split_1", "runtimeInSeconds": 1.25, "command": {"program": "cut"}},
            {"id": "sum_1", "runtimeInSeconds": 2}]}}}"#,
    );
    assert_eq!((costs(&graph), edges(&graph)), (vec![1.25, 2.0, 0.5], vec![(0, Some(6), 1), (1, None, 2)]));
    assert_eq!(graph.op_types().unwrap().get(0), Some("cut"));
    assert_eq!(graph.op_types().unwrap().get(1), Some("sum"));
    assert_eq!(report.unwrap(), "left out: 2 inputs from files that no task writes");
}

#[test]
fn a_workflow_with_any_names_has_ids_that_wfcommons_takes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.wf.json");
    for (name, id) in [("model/add:0", "model/add:0"), ("a sum", "1")] {
        let mut builder = GraphBuilder::default();
        let first = builder.add_op(OpSpec { name: Some("x"), ..OpSpec::cost(1.0) }, &[8]);
        let second = builder.add_op(OpSpec { name: Some(name), op_type: Some("Add"), ..OpSpec::cost(2.0) }, &[]);
        builder.add_edge(first, 0, second).unwrap();
        let graph = builder.build().unwrap();
        write_graph(&path, &GraphHeader::named("g"), &graph).unwrap();
        let file: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(file["schemaVersion"], "1.6");
        assert!(file.get("description").is_none(), "an empty one is no valid WfFormat");
        let task = &file["workflow"]["specification"]["tasks"][1];
        assert_eq!((task["id"].as_str(), task["name"].as_str()), (Some(id), Some("Add")));
        assert_eq!(task.get("opName").is_some(), id != name);
        assert_eq!(read_graph(&path).unwrap().1, graph);
    }
}

#[test]
fn a_graph_and_a_network_of_saga_keep_their_times() {
    let text = r#"{"name": "fork", "task_graph": {"tasks": [{"name": "A", "cost": 0.5}, {"name": "B", "cost": 2}],
        "dependencies": [{"source": "A", "target": "B", "size": 0.25}]}, "network": {"nodes": [
        {"name": "0", "speed": 0.5}, {"name": "1", "speed": 2}], "edges": [{"source": "0", "target": "1", "speed": 0.125},
        {"source": "0", "target": "0", "speed": 1e9}]}}"#;
    let (graph, report) = read("fork.json", text);
    assert_eq!((costs(&graph), edges(&graph)), (vec![0.5, 2.0], vec![(0, Some(250_000), 1)]));
    assert!(report.unwrap().contains("1 is read as 1,000,000 bytes"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fork.json");
    fs::write(&path, text).unwrap();
    let cluster = read_cluster(&path).unwrap();
    assert_eq!(cluster.device(DeviceId(1)).speed, 2.0);
    // size / speed = 0.25 / 0.125.
    assert_eq!(cluster.transfer_time(250_000, DeviceId(1), DeviceId(0)), 2.0);
    fs::write(&path, text.replace("\"target\": \"1\"", "\"target\": \"0\"")).unwrap();
    let message = read_cluster(&path).unwrap_err().to_string();
    assert!(message.ends_with("network: there is no edge between '0' and '1': join every pair of nodes"), "{message}");
}

#[test]
fn stg_without_its_dummies_and_a_hyperdag_with_comments() {
    let (graph, _) = read("g.stg", "  3\n 0 0 0\n 1 5 1 0\n 2 6 1 1\n 3 7 2 1 2\n 4 0 1 3\n# CCR 1\n");
    assert_eq!((costs(&graph), edges(&graph)), (vec![5.0, 6.0, 7.0], vec![(0, None, 1), (0, None, 2), (1, None, 2)]));
    let (graph, _) =
        read("g.hdag", "%%MatrixMarket\n% c\n2 3 5 x\n0 8 3 % big\n1\n0 30\n1 50\n2\n1 1\n0 0\n0 1\n0 2\n1 2\n");
    assert_eq!(
        (costs(&graph), edges(&graph)),
        (vec![30.0, 50.0, 1.0], vec![(0, Some(8), 1), (0, Some(8), 2), (1, Some(1), 2)])
    );
}

/// The example of HEFT: ten tasks, three processors (Topcuoglu et al. 2002, fig. 2).
const ETC: &str = "#critical\n0.0\n#tasks\n0: 14, 16, 9\n1: 13, 19, 18\n2: 11,13,19\n3:13 ,8,17\n4: 12,13,10\n5: 13,16,9\n\
    6: 7,15,11\n7: 5,11,14\n8: 18,12,20\n9: 21,7,16\n#edges\n0: 0, 1, 18\n1: 0, 2, 12\n2: 0, 3, 9\n3: 0, 4, 11\n4: 0, 5, 14\n\
    5: 1, 7, 19\n6: 1, 8, 16\n7: 2, 6, 23\n8: 3, 7, 27\n9: 3, 8, 23\n10: 4, 8, 13\n11: 5, 7, 15\n12: 6, 9, 17\n13: 7, 9, 11\n\
    14: 8, 9, 13\n";

/// What each op takes on `p1`, `p2`, ….
fn times(graph: &DataflowGraph, processors: usize) -> Vec<Vec<Option<f64>>> {
    let classes: Vec<String> = (0..processors).map(processor_class).collect();
    let time = |class: &String, op| graph.measured_on(class).and_then(|times| times.of(op));
    graph.op_ids().map(|op| classes.iter().map(|class| time(class, op)).collect()).collect()
}

#[test]
fn matrices_of_times_are_read_as_graph_and_as_processors() {
    let (graph, report) = read("heft.dag", ETC);
    assert_eq!((graph.op_count(), graph.edge_count(), report), (10, 15, None));
    assert_eq!(times(&graph, 3)[..2], [[14.0, 16.0, 9.0].map(Some), [13.0, 19.0, 18.0].map(Some)]);
    assert_eq!((graph.ops(OpId(0)), edges(&graph)[7]), (13.0, (3, Some(27), 7)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heft.dag");
    fs::write(&path, ETC).unwrap();
    let cluster = read_cluster(&path).unwrap();
    let classes: Vec<&str> = cluster.device_ids().map(|device| cluster.class(device)).collect();
    assert_eq!((classes, cluster.transfer_time(27, DeviceId(0), DeviceId(2))), (vec!["p1", "p2", "p3"], 27.0));
    // A broken transfer time, in graph and cluster alike.
    let broken = ETC.replace("0, 1, 18", "0, 1, 0.529266");
    let (graph, report) = read("heft.dag", &broken);
    assert!(report.unwrap().contains("1 is read as 1,000,000 bytes"));
    fs::write(&path, &broken).unwrap();
    let cluster = read_cluster(&path).unwrap();
    for (bytes, time) in [(edges(&graph)[0].1, 0.529266), (edges(&graph)[7].1, 27.0)] {
        assert_eq!(cluster.transfer_time(bytes.unwrap(), DeviceId(1), DeviceId(0)), time);
    }

    let stg = "3 2 \n0 0 0 0\n1 5 9.5 1 0\n2 6 2 1 1\n3 7 1 2 1 2\n4 0 0 1 3\n";
    let (graph, report) = read("g.stg", stg);
    assert_eq!(
        (times(&graph, 2), report),
        (vec![vec![Some(5.0), Some(9.5)], [6.0, 2.0].map(Some).into(), [7.0, 1.0].map(Some).into()], None)
    );
    assert_eq!((costs(&graph), edges(&graph)), (vec![7.25, 4.0, 4.0], vec![(0, None, 1), (0, None, 2), (1, None, 2)]));
    let (graph, report) = read("g.stg", "3 8\n0 0 0\n1 5 1 0\n2 6 1 1\n3 7 2 1 2\n4 0 1 3\n");
    assert_eq!((costs(&graph), graph.measured_times().len()), (vec![5.0, 6.0, 7.0], 0));
    assert_eq!(report.unwrap(), "each task has one time: the 8 processors of the first line are not read");

    let saga = r#"{"task_graph": {"tasks": [{"name": "A", "cost": {"slow": 4, "Fast": 1.5}}, {"name": "B", "cost": 2}],
        "dependencies": [{"source": "A", "target": "B", "size": 8}]}, "network": {"nodes": [
        {"name": "Fast", "speed": 2}, {"name": "slow", "speed": 1}], "edges": [{"source": "Fast", "target": "slow", "speed": 4}]}}"#;
    let (graph, _) = read("g.saga.json", saga);
    assert_eq!(times(&graph, 2), [vec![Some(1.5), Some(4.0)], vec![None, None]]);
    let path = folder.path().join("g.saga.json");
    fs::write(&path, saga).unwrap();
    let instance = Instance::new(graph, read_cluster(&path).unwrap()).unwrap();
    let time = |op, device| instance.exec_time(OpId(op), DeviceId(device));
    assert_eq!([time(0, 0), time(0, 1), time(1, 0), time(1, 1)], [1.5, 4.0, 1.0, 2.0]);
}

const DNN: &str = r#"{"maxSizePerFPGA": 1024.0, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
    {"name": "a", "id": 5, "supportedOnFpga": 1, "cpuLatency": 6, "fpgaLatency": 0.5, "isBackwardNode": 0, "colorClass": 1, "size": 10},
    {"name": "b", "id": 9, "supportedOnFpga": false, "cpuLatency": 3, "fpgaLatency": 0, "isBackwardNode": false, "size": 0.0},
    {"name": "a grad", "id": 7, "supportedOnFpga": true, "cpuLatency": 1, "fpgaLatency": 1, "isBackwardNode": 1, "colorClass": 1, "size": 1}],
    "edges": [{"sourceId": 5, "destId": 9, "cost": 0.5, "size": 99}, {"sourceId": 9, "destId": 7, "cost": 0}]}"#;

#[test]
fn a_network_of_dnn_partitioning_with_its_machine_and_its_split() {
    let folder = tempfile::tempdir().unwrap();
    let (path, split) = (folder.path().join("d.json"), folder.path().join("split.json"));
    fs::write(&path, DNN).unwrap();
    fs::write(
        &split,
        r#"{"fpgas": [{"nodes": [5]}, {"nodes": []}], "cpus": [{"load": 0, "nodes": [9]}], "maxLoad": -1}"#,
    )
    .unwrap();
    let options = ReadOptions { split: Some(split.clone()), ..ReadOptions::default() };
    let graph = read_graph_with(&path, &options).unwrap().graph;
    assert_eq!(graph.kinds(OpId(1)), KindSet::only(Kind::Cpu));
    let times = graph.measured_times().iter().map(|times| (times.class(), times.of(OpId(0))));
    assert_eq!(times.collect::<Vec<_>>(), [("cpu", Some(6.0)), ("gpu", Some(0.5))]);
    assert_eq!(graph.colocation().group_of(OpId(0)), graph.colocation().group_of(OpId(2)));
    let layer = |op| graph.layers().unwrap().get(op);
    assert_eq!([layer(0), layer(1), layer(2)], [Some("fpga0"), Some("cpu0"), Some("fpga0")]);
    let cluster = read_cluster(&path).unwrap();
    assert_eq!(cluster.device_count(), 3);
    let (_, bytes, _) = edges(&graph)[0];
    let (host, first, second) = (DeviceId(2), DeviceId(0), DeviceId(1));
    assert_eq!(cluster.transfer_time(bytes.unwrap(), first, host), 0.5);
    assert_eq!(cluster.transfer_time(bytes.unwrap(), first, second), 1.0, "through the host");
    fs::write(&split, r#"{"fpgas": [{"nodes": [5]}], "cpus": []}"#).unwrap();
    let message = read_graph_with(&path, &options).unwrap_err().to_string();
    assert!(message.ends_with("split.json: node 9: is on no processor: add it to 'fpgas' or 'cpus'"), "{message}");
}

const DAX: &str = r#"<?xml version="1.0"?>
<adag xmlns="http://www.griphyn.org/chimera/DAX" version="1.10" count="1" index="0" name="test" jobCount="3">
  <job id="ID00000" namespace="SIPHT" name="mProject" version="1.0" runtime="13.59">
    <uses file="raw.fits" link="input" register="false" transfer="false" type="data" size="4222080"/>
    <uses file="a.fits" link="output" size="4167312"/>
  </job>
  <job id="ID00001" name="mDiffFit" runtime="10.5"><uses file="a.fits" link="input" size="1"/></job>
  <job id="ID00002" name="mAdd" runtime="1e2"><uses name="a.fits" link="input"/></job>
  <child ref="ID00001"><parent ref="ID00000"/></child>
  <child ref="ID00002"><parent ref="ID00000"/><parent ref="ID00001"/></child>
</adag>"#;

#[test]
fn a_workflow_of_pegasus() {
    let (graph, report) = read("g.dax", DAX);
    assert_eq!(costs(&graph), [13.59, 10.5, 100.0]);
    assert_eq!(edges(&graph), [(0, Some(4_167_312), 1), (0, Some(4_167_312), 2), (1, None, 2)]);
    assert_eq!(graph.tensor_count(), 1, "both jobs read one file");
    assert!(!graph.has_names() && graph.op_types().unwrap().get(2) == Some("mAdd"));
    assert_eq!(report.unwrap(), "left out: 1 input from files that no job writes");
    let (named, _) = read("g.dax", &DAX.replace("ID00001", "fit"));
    assert_eq!((named.name(OpId(0)), named.name(OpId(1))), (Some("ID00000"), Some("fit")));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let graphml = |content: &str| {
        format!("<graphml>\n<graph edgedefault=\"directed\">\n<node id=\"a\"/>\n{content}\n</graph>\n</graphml>")
    };
    let hdag = |rest: &str| format!("1 2 2\n0 1\n0 1\n1 1\n{rest}");
    let node_link =
        |nodes: &str, edges: &str| format!("{{\"directed\": true, \"nodes\": [{nodes}],\n\"edges\": [{edges}]}}");
    let saga = |tasks: &str, dependencies: &str| {
        format!("{{\"task_graph\": {{\"tasks\": [{tasks}],\n\"dependencies\": [{dependencies}]}}}}")
    };
    let wf = |task: &str, run: &str| {
        format!(
            "{{\"schemaVersion\": \"1.5\", \"workflow\": {{\"specification\": {{\"tasks\": [{{\"id\": \"a\", \"name\": \"a\"{task}}}]}},\n\
             \"execution\": {{\"tasks\": [{run}]}}}}}}"
        )
    };
    let mut wrong = Vec::new();
    for (name, content, expected) in [
        ("g.dot", "graph { a -- b }".to_owned(), "g.dot:1: the graph is undirected: write a digraph"),
        (
            "g.dot",
            "digraph {\na -> b [size=x]\n}".into(),
            "g.dot: edge 'a' -> 'b': size is 'x': write a whole number of bytes; multiply all sizes by one factor if they are broken",
        ),
        (
            "g.dot",
            "digraph {\na [size=1]; b\n}".into(),
            "g.dot: node 'b': has no cost, but others have: give every node 'ops', or none",
        ),
        ("g.dot", "digraph {\na -> \"b".into(), "g.dot:2: the text has no end: close it with a double quote"),
        ("g.dot", "digraph {\na -> \n}".into(), "g.dot:3: found '}': expected a node, an edge or '}'"),
        ("g.dot", "digraph {\na -> a\n}".into(), "g.dot: the graph has a cycle through op 'a': remove an edge of it"),
        (
            "g.dot",
            format!("digraph {}", "{".repeat(500)),
            "g.dot:1: subgraphs are nested deeper than 100: flatten them",
        ),
        (
            "g.nx.json",
            "{\"nodes\": [], \"edges\": []}".into(),
            "g.nx.json: directed: the graph is undirected: write a directed graph, with \"directed\": true",
        ),
        (
            "g.nx.json",
            node_link("{\"id\": 1}", "{\"source\": 1, \"target\": 2}"),
            "g.nx.json: edge '1' -> '2': there is no node '2': add it",
        ),
        (
            "g.nx.json",
            node_link("{\"id\": 1}, {\"id\": \"1\"}", ""),
            "g.nx.json: node '1': comes twice: give every node an id of its own",
        ),
        ("g.nx.json", node_link("{\"name\": 1}", ""), "g.nx.json: node 0: has no 'id': add it, a text or a number"),
        (
            "g.nx.json",
            node_link("{\"id\": 0, \"kinds\": \"NPU\"}", ""),
            "g.nx.json: node '0': kinds is 'NPU': write ALL, or some of CPU, GPU, TPU joined by '|'",
        ),
        ("g.nx.json", node_link("{\"id\": [0]}", ""), "g.nx.json: node 0: has no 'id': add it, a text or a number"),
        ("g.nx.json", node_link("{\"id\": 0, \"ops\": [1]}", ""), "g.nx.json: node '0': ops is '[1]': write a number"),
        (
            "g.nx.json",
            node_link("{\"id\": 0, \"ops\": -1}", ""),
            "g.nx.json: op 0 costs -1: costs and times must be finite numbers ≥ 0",
        ),
        (
            "g.nx.json",
            node_link("{\"id\": 0, \"outputs\": \"4\"}, {\"id\": 1}", "{\"source\": 0, \"target\": 1, \"bytes\": 4}"),
            "g.nx.json: edge '0' -> '1': names no port, but its source lists 'outputs': add 'port'",
        ),
        (
            "g.nx.json",
            node_link("{\"id\": 0, \"outputs\": \"4\"}, {\"id\": 1}", "{\"source\": 0, \"target\": 1, \"port\": 1}"),
            "g.nx.json: edge '0' -> '1': edge names output 1 of op 0, which has 1 output(s): correct 'port' or 'outputs'",
        ),
        (
            "g.graphml",
            "<graphml>\n<graph>".into(),
            "g.graphml:1: the root node was opened but never closed: write well-formed XML",
        ),
        ("g.graphml", "<x/>".into(), "g.graphml:1: the outermost element is <x>: a GraphML file has <graphml>"),
        ("g.graphml", graphml("<edge source=\"a\"/>"), "g.graphml:4: <edge> has no 'target': add the attribute"),
        (
            "g.graphml",
            graphml("<edge source=\"a\" target=\"a\" directed=\"false\"/>"),
            "g.graphml:4: the edge is undirected: write a directed graph, with edgedefault=\"directed\"",
        ),
        (
            "g.graphml",
            graphml("<node id=\"b\"><data key=\"k\">1</data></node>"),
            "g.graphml:4: there is no key 'k': declare it with <key>",
        ),
        ("g.graphml", graphml("<hyperedge/>"), "g.graphml:4: is a hyperedge: write edges with two ends"),
        ("g.stg", "".into(), "g.stg: is empty: begin with the number of tasks"),
        (
            "g.stg",
            "1\n0 0 0\n1 5 1\n2 0 1 1".into(),
            "g.stg:3: promises 1 predecessors, but has 0: correct the third number",
        ),
        ("g.stg", "1\n0 0 0\n1 fast 0\n2 0 1 1".into(), "g.stg:3: the time is 'fast': write a finite number ≥ 0"),
        ("g.stg", "2\n0 0 0\n2 5 0".into(), "g.stg:3: the task is 2 where 1 is due: number the tasks 0, 1, 2, …"),
        (
            "g.stg",
            "9\n0 0 0\n".into(),
            "g.stg:2: has 1 tasks, but the first line promises 9: correct the number of tasks in the first line",
        ),
        (
            "g.stg",
            "1\n0 4 0\n1 5 0\n2 0 1 1".into(),
            "g.stg:2: the dummy task has time 4: the first and the last task of a file take no time",
        ),
        ("g.stg", "1\n0 0 0\n1 5 1 7\n2 0 1 1".into(), "g.stg:3: there is no task 7: tasks are numbered from 0 to 2"),
        ("g.hdag", "%\n".into(), "g.hdag: has no line of sizes: write the numbers of hyperedges, nodes and pins"),
        ("g.hdag", hdag("0 0\n"), "g.hdag:5: the file ends here, but its header promises 2 pins: correct the header"),
        ("g.hdag", hdag("0 0\n0 2\n"), "g.hdag:6: there is no node 2: nodes are numbered from 0 to 1"),
        ("g.hdag", hdag("1 0\n0 1\n"), "g.hdag:5: there is no hyperedge 1: hyperedges are numbered from 0 to 0"),
        ("g.hdag", hdag("0 0\n0 1\n0 1\n"), "g.hdag:7: follows the last pin: correct the number of pins"),
        (
            "g.hdag",
            "1 99999999999 2\n".into(),
            "g.hdag:1: 99999999999 vertices are more than 32-bit ids can name: correct the sizes",
        ),
        (
            "g.stg",
            "1 2 3\n".into(),
            "g.stg:1: has '3' after the number of processors: write the number of tasks, and with a time for each processor their number",
        ),
        ("g.stg", "1 0\n0 1 0\n".into(), "g.stg:1: has 0 processors: write how many times each task has"),
        ("g.stg", "1 2\n0 1 2 0\n0 0\n".into(), "g.stg:3: the task is 0 where 1 is due: number the tasks 0, 1, 2, …"),
        (
            "g.stg",
            "1 2\n0 1 2 1\n".into(),
            "g.stg:2: promises 1 predecessors, but has 0: correct the number after the 2 times",
        ),
        (
            "g.dag",
            "#tasks\n0: 1, 2\n1: 3\n".into(),
            "g.dag:3: has 1 times where 2 are due: give each task one time for each processor",
        ),
        ("g.dag", "#tasks\n1: 1, 2\n".into(), "g.dag:2: is number 1 where 0 is due: count from 0: 0, 1, 2, …"),
        ("g.dag", "#tasks\n0: 1, -2\n".into(), "g.dag:2: has '-2': write a finite number ≥ 0"),
        (
            "g.dag",
            "#tasks\n0: 1\n#edges\n0: 0, 1, 5\n".into(),
            "g.dag:4: there is no task 1: an edge joins two tasks of the part #tasks, which comes first",
        ),
        (
            "g.dag",
            "#tasks\n0: 1\n#edges\n0: 0, 0\n".into(),
            "g.dag:4: has 2 numbers after the colon: write: number: source, target, transfer time",
        ),
        ("g.dag", "#jobs\n".into(), "g.dag:1: has '#jobs': the parts of a file are #critical, #tasks and #edges"),
        (
            "g.dag",
            "x\n".into(),
            "g.dag: has no tasks: add a line '#tasks', and a line for each task: number: time, time, …",
        ),
        (
            "g.saga.json",
            saga("{\"name\": \"A\", \"cost\": {\"n\": 1}}", ""),
            "g.saga.json: task 'A': has a cost on 'n', which is no node of the network: add it to 'network'",
        ),
        (
            "g.saga.json",
            saga("{\"name\": \"A\", \"cost\": \"1\"}", ""),
            "g.saga.json:1: a cost that is a number, or an object with a time for each node: docs/FORMATS.md says what the format has there",
        ),
        (
            "g.saga.json",
            saga("{\"name\": \"A\"}", ""),
            "g.saga.json:1: missing field `cost`: docs/FORMATS.md says what the format has there",
        ),
        (
            "g.saga.json",
            saga("{\"name\": \"A\", \"cost\": -2}", ""),
            "g.saga.json: task 'A': its cost is -2: write a finite number ≥ 0",
        ),
        (
            "g.saga.json",
            saga("", "{\"source\": \"A\", \"target\": \"B\", \"size\": 1}"),
            "g.saga.json: dependency 'A' -> 'B': there is no task 'A': add it",
        ),
        ("g.wf.json", wf("", ""), "g.wf.json: task 'a': has no runtime: add it to workflow.execution.tasks"),
        (
            "g.wf.json",
            wf("", "{\"id\": \"a\", \"runtimeInSeconds\": -1}"),
            "g.wf.json: task 'a': its runtimeInSeconds is -1: write a finite number ≥ 0",
        ),
        (
            "g.wf.json",
            wf(", \"outputFiles\": [\"f\"]", "{\"id\": \"a\", \"runtimeInSeconds\": 1}"),
            "g.wf.json: task 'a': writes the file 'f', which has no size: add it to workflow.specification.files",
        ),
        (
            "g.wf.json",
            wf(", \"parents\": [\"b\"]", "{\"id\": \"a\", \"runtimeInSeconds\": 1}"),
            "g.wf.json: task 'a': its parent 'b' does not exist: add the task, or drop the parent",
        ),
        (
            "g.wf.json",
            "{\"schemaVersion\": \"1.4\", \"workflow\": {\"specification\": {\"tasks\": []}}}".into(),
            "g.wf.json: schemaVersion: the version of the schema is '1.4': convert it to 1.6 with WfCommons",
        ),
        (
            "g.dnn.json",
            DNN.replace("\"sourceId\": 9", "\"sourceId\": 5"),
            "g.dnn.json: edge 5 -> 7: costs something else than other edges of its source: give all edges of a source the same cost: they move the same output",
        ),
        ("g.dax", "<dag/>".into(), "g.dax:1: the outermost element is <dag>: a DAX file has <adag>"),
        ("g.dax", DAX.replace(" runtime=\"10.5\"", ""), "g.dax:7: <job> has no 'runtime': add the attribute"),
        ("g.dax", DAX.replace("10.5", "-1"), "g.dax:7: the runtime is '-1': write a finite number ≥ 0"),
        ("g.dax", DAX.replace("4167312", "1.5"), "g.dax:5: the size is '1.5': write whole bytes"),
        (
            "g.dax",
            DAX.replace("id=\"ID00001\"", "id=\"ID00000\""),
            "g.dax:7: job 'ID00000' comes twice: give every job an id of its own",
        ),
        (
            "g.dax",
            DAX.replace("link=\"input\" size=\"1\"", "link=\"output\" size=\"1\""),
            "g.dax:7: the file 'a.fits' is written by job 'ID00000', too: give every file one writer",
        ),
        (
            "g.dax",
            DAX.replace("<parent ref=\"ID00001\"", "<parent ref=\"ID00009\""),
            "g.dax:10: there is no job 'ID00009': add the job, or drop the dependency",
        ),
        (
            "g.dnn.json",
            DNN.replace("\"id\": 9", "\"id\": 5"),
            "g.dnn.json: node 5: comes twice: give every node an id of its own",
        ),
    ] {
        let found = fault(name, &content);
        if found != expected {
            wrong.push(format!("found    {found}\nexpected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
