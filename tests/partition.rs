//! `placebench partition` as a stranger meets it: reports, partitions, messages.

use crate::common::{assert_one_line_error, placebench, text};

/// Two triangles joined by an edge of weight 1; vertices weigh 1, 2 and 3.
const TRIANGLES: &str = "6 7 11\n1 2 9 3 9\n2 1 9 3 9\n3 1 9 2 9 4 1\n1 3 1 5 9 6 9\n2 4 9 6 9\n3 4 9 5 9\n";

/// The value of a line of a report.
fn value(report: &str, name: &str) -> String {
    let line = report.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{report}"));
    line[name.len()..].trim().to_owned()
}

#[test]
fn a_graph_is_partitioned_and_a_partition_judged() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.graph"), TRIANGLES).unwrap();
    std::fs::write(folder.path().join("best"), "0\n0\n0\n1\n1\n1\n").unwrap();
    let partition = |args: &[&str]| placebench(folder.path(), &[&["partition"], args].concat());
    let report = |args: &[&str]| {
        let output = partition(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let made = report(&["t.graph", "-k", "3", "-a", "hashing", "--seed", "5"]);
    assert_eq!((value(&made, "vertices"), value(&made, "edges")), ("6".to_owned(), "7".to_owned()));
    assert_eq!(value(&made, "written to"), "t.graph.part.3");
    let file = std::fs::read_to_string(folder.path().join("t.graph.part.3")).unwrap();
    assert_eq!(file.lines().count(), 6);
    // What it says of its own partition is what it says of the file, and the seed decides alone.
    let judged = report(&["t.graph", "--evaluate", "t.graph.part.3"]);
    for name in ["cut", "volume", "imbalance", "feasible", "block weights"] {
        assert_eq!(value(&made, name), value(&judged, name));
    }
    let printed = partition(&["t.graph", "-k", "3", "-a", "hashing", "--seed", "5", "-o", "-", "--threads", "1"]);
    assert_eq!(text(&printed.stdout), file);
    assert!(text(&printed.stderr).contains("imbalance"));

    let best = report(&["t.graph", "--evaluate", "best"]);
    assert_eq!((value(&best, "cut"), value(&best, "volume")), ("1 of 55".to_owned(), "2".to_owned()));
    assert_eq!(
        (value(&best, "imbalance"), value(&best, "feasible")),
        ("0.0000".to_owned(), "yes, within 0.03".to_owned())
    );
    let of_four = report(&["t.graph", "--evaluate", "best", "-k", "4"]);
    assert_eq!(value(&of_four, "feasible"), "no: block 0 weighs 6, more than the cap");
    assert_eq!(value(&of_four, "cap"), "4: (1 + 0.03) · 12 / 4, rounded up; the heaviest vertex weighs 3");
    // Nothing is within a cap that a vertex exceeds.
    let of_six = report(&["t.graph", "--evaluate", "best", "-k", "6"]);
    let reason = "no: block 0 weighs 6, more than the cap; no partition can be, since a vertex weighs more";
    let cap = "3: (1 + 0.03) · 12 / 6, rounded up; the heaviest vertex weighs 3";
    assert_eq!(
        (value(&of_six, "feasible"), value(&of_six, "cap")),
        ("no: block 0 weighs 6, more than the cap".to_owned(), cap.to_owned())
    );
    let of_seven = report(&["t.graph", "--evaluate", "best", "-k", "7"]);
    assert_eq!(value(&of_seven, "feasible"), reason);
    let plain = report(&["t.graph", "--evaluate", "best", "--edge-weight", "count"]);
    assert_eq!(value(&plain, "cut"), "1 of 7");
}

#[test]
fn more_blocks_than_vertices_are_answered_and_nothing_is_called_feasible_without_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let grid = ["generate", "grid(side=50)", "--out", "grid.graph"];
    assert!(placebench(folder.path(), &grid).status.success());
    for spec in ["multilevel", "multilevel(acyclic=true)", "fiduccia_mattheyses", "level_slabs", "metis"] {
        let output = placebench(folder.path(), &["partition", "grid.graph", "-k", "20000", "-a", spec]);
        assert!(output.status.success(), "{spec}: {}", text(&output.stderr));
        let report = text(&output.stdout);
        assert_eq!(value(&report, "imbalance"), "7.0000", "{spec}");
        assert_eq!(value(&report, "cap"), "1: (1 + 0.03) · 2500 / 20000, rounded up; the heaviest vertex weighs 1");
        let why = "yes, within the cap; the imbalance exceeds 0.03 because the cap is rounded up";
        assert_eq!(value(&report, "feasible"), why, "{spec}");
    }
}

/// A view without some edges, or of units, has no order that all edges keep.
#[test]
fn blocks_in_the_order_of_the_dataflow_need_all_edges_and_ops() {
    let folder = tempfile::tempdir().unwrap();
    let acyclic = ["partition", "convnet", "-k", "3", "-a", "multilevel(acyclic=true)"];
    let partition = |more: &[&str]| placebench(folder.path(), &[&acyclic[..], more].concat());
    for refused in [&[][..], &["--vertices", "units", "--edge-weight", "count"]] {
        assert_one_line_error(&partition(refused), "blocks in the order of the dataflow need all edges");
    }
    let report = text(&partition(&["--edge-weight", "count"]).stdout);
    assert_eq!(value(&report, "block graph"), "acyclic");
}

/// Vertices without edges count if the file says that there are such.
#[test]
fn a_stream_has_as_many_vertices_as_its_file_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("e.edges"), "# vertices 10\n0 1\n1 2\n").unwrap();
    let made = placebench(at, &["partition", "e.edges", "-k", "2", "-a", "ldg", "--stream", "-o", "e.part"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert_eq!(std::fs::read_to_string(at.join("e.part")).unwrap().lines().count(), 10);
    assert!(placebench(at, &["partition", "e.edges", "-k", "2", "--evaluate", "e.part"]).status.success());
    for (file, says) in
        [("# vertices 2\n0 5\n", "'# vertices 2' says that they end before"), ("# vertices x\n", "no number")]
    {
        std::fs::write(at.join("e.edges"), file).unwrap();
        let refused = ["partition", "e.edges", "-k", "2", "-a", "ldg", "--stream", "-o", "-"];
        assert_one_line_error(&placebench(at, &refused), says);
    }
}

#[test]
fn a_dataflow_graph_is_partitioned_by_op_or_by_unit_and_travels_as_a_view() {
    let folder = tempfile::tempdir().unwrap();
    let partition = |args: &[&str]| placebench(folder.path(), &[&["partition"], args].concat());
    let made = partition(&["recurrent", "-k", "4", "--vertices", "units", "-a", "hashing"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let report = text(&made.stdout);
    let file = std::fs::read_to_string(folder.path().join("recurrent.part.4")).unwrap();
    assert_eq!(file.lines().count(), 2809, "a line for each op");
    assert!(value(&report, "traffic").contains("each tensor once"), "{report}");
    let by_op = text(&partition(&["recurrent", "--evaluate", "recurrent.part.4"]).stdout);
    let cut = |report: &str| value(report, "cut").split(" of ").next().unwrap_or_default().to_owned();
    assert_eq!(cut(&by_op), cut(&report), "edges within units are never cut");
    assert_eq!(value(&by_op, "traffic"), value(&report, "traffic"));

    for to in ["a.graph", "a.hgr", "a.mtx", "a.edges", "a.pbedges"] {
        let output = placebench(folder.path(), &["convert", "recurrent", to]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("2809 vertices"), "{}", text(&output.stdout));
        let report = partition(&[to, "-k", "4", "-o", "p"]);
        assert!(report.status.success(), "{}", text(&report.stderr));
        assert_eq!(value(&text(&report.stdout), "vertices"), "2809");
    }
    assert!(placebench(folder.path(), &["convert", "a.mtx", "b.graph"]).status.success());
    let back = placebench(folder.path(), &["convert", "a.hgr", "c.graph"]);
    assert_one_line_error(
        &back,
        "c.graph: the format 'metis' holds undirected graphs, and this is a hypergraph: use .hgr",
    );
    let in_time = partition(&["recurrent", "-k", "2", "-c", "gtx1080x4", "--edge-weight", "time", "-o", "p"]);
    assert!(in_time.status.success(), "{}", text(&in_time.stderr));
}

#[test]
fn a_partition_does_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let partition_on = |threads: &str| {
        let args = ["partition", "recurrent", "-k", "4", "--seed", "1", "--threads", threads, "-o", "-"];
        let output = placebench(folder.path(), &args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(partition_on("1"), partition_on("2"));
}

#[test]
fn metis_is_not_asked_to_bisect_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Two vertices as heavy as several blocks, ten light ones, eight that weigh nothing, in a ring.
    let weights = [&[4000, 2000][..], &[1; 10], &[0; 8]].concat();
    let row = |at: usize| format!("{} {} {}", weights[at], (at + 19) % 20 + 1, (at + 1) % 20 + 1);
    let rows: Vec<String> = (0..20).map(row).collect();
    std::fs::write(folder.path().join("ring.graph"), format!("20 20 010\n{}\n", rows.join("\n"))).unwrap();
    for scheme in ["kway", "recursive"] {
        for blocks in ["3", "8", "12"] {
            let algorithm = format!("metis(scheme={scheme})");
            let made =
                placebench(folder.path(), &["partition", "ring.graph", "-a", &algorithm, "-k", blocks, "-o", "b"]);
            let text = String::from_utf8_lossy(&made.stdout);
            assert!(made.status.success() && !text.contains("***"), "{scheme} {blocks}: {text}");
            let blocks: std::collections::BTreeSet<String> =
                std::fs::read_to_string(folder.path().join("b")).unwrap().lines().map(str::to_owned).collect();
            assert!(blocks.len() > 2);
        }
    }
}

#[test]
fn what_is_wrong_with_a_partition_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.graph"), TRIANGLES).unwrap();
    std::fs::write(folder.path().join("short"), "0\n0\n1\n").unwrap();
    std::fs::write(folder.path().join("high"), "0\n0\n0\n1\n7\n1\n").unwrap();
    for (args, expected) in [
        (&["t.graph", "-k", "0"][..], "-k is 0: ask for 1 to 16777215 blocks"),
        (&["t.graph"], "-k is missing: say into how many blocks, as in -k 8"),
        (&["t.graph", "-k", "2", "-e", "nan"], "--epsilon is NaN: it must be a number from 0"),
        (&["t.graph", "-k", "2", "-a", "hashin"], "unknown partitioner 'hashin': did you mean 'hashing'?"),
        (&["t.graph", "-k", "2", "-a", "hashing(x=1)"], "'hashing' has no parameter 'x'"),
        (&["t.graph", "-k", "2", "--format", "metsi"], "--format: unknown graph format 'metsi': did you mean 'metis'?"),
        (&["t.graph", "-k", "2", "--format", "mtx"], "t.graph:1: is no Matrix Market banner"),
        (&["gone.graph", "-k", "2"], "gone.graph: no such file or directory"),
        (&["recurent", "-k", "2"], "did you mean 'recurrent'?"),
        (&["t.graph", "--evaluate", "short"], "short:3: ends after 3 of 6 vertices"),
        (&["t.graph", "--evaluate", "high", "-k", "2"], "high:5: the block is 7: blocks are numbered from 0 to 1"),
        (&["t.graph", "--evaluate", "gone"], "gone: no such file or directory"),
        (&["t.graph", "-k", "2", "--vertices", "units"], "--vertices units is for dataflow graphs"),
        (&["t.graph", "-k", "2", "--edge-weight", "time"], "--edge-weight is 'time', and t.graph is read as metis"),
        (
            &["recurrent", "-k", "2", "--edge-weight", "time"],
            "recurrent: edges weighed by transfer time need a cluster",
        ),
        (&["recurrent", "-k", "2", "--vertex-weight", "mass"], "--vertex-weight is 'mass': write work, count, memory"),
        (&["t.graph", "-k", "2", "-o", "gone/p"], "gone/p: no such file or directory"),
    ] {
        assert_one_line_error(&placebench(folder.path(), &[&["partition"], args].concat()), expected);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "an error leaves nothing behind");
}

#[test]
fn a_stream_of_edges_is_divided_and_judged_again() {
    let folder = tempfile::tempdir().unwrap();
    // Two triangles that share vertex 2.
    std::fs::write(folder.path().join("g.txt"), "0 1\n1 2\n2 0\n2 3\n3 4\n4 2\n").unwrap();
    for algorithm in ["hdrf", "dbh", "greedy", "adwise"] {
        let run =
            placebench(folder.path(), &["partition", "--stream", "g.txt", "-k", "2", "-a", algorithm, "-o", "cut"]);
        let printed = text(&run.stdout);
        assert!(run.status.success(), "{}", text(&run.stderr));
        let judged = placebench(folder.path(), &["partition", "--stream", "g.txt", "-k", "2", "--evaluate", "cut"]);
        let judged = text(&judged.stdout);
        let figure = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        for name in ["replication", "block edges", "edge imbalance", "vertex imbalance"] {
            assert_eq!(figure(&printed, name), figure(&judged, name), "{algorithm}");
        }
        let in_memory = placebench(folder.path(), &["partition", "g.txt", "-k", "2", "-a", algorithm, "-o", "p"]);
        assert!(text(&in_memory.stdout).contains("\nreplication "), "{}", text(&in_memory.stdout));
    }
    // By hand: vertex 2 is in both blocks, the other four in one: 6 / 5.
    std::fs::write(folder.path().join("cut"), "2 0 0\n1 2 0\n0 1 0\n2 3 1\n3 4 1\n4 2 1\n").unwrap();
    let judged = placebench(folder.path(), &["partition", "--stream", "g.txt", "-k", "2", "--evaluate", "cut"]);
    assert!(text(&judged.stdout).contains("replication     1.2000:"), "{}", text(&judged.stdout));
    std::fs::write(folder.path().join("cut"), "0 1 0\n").unwrap();
    let other = placebench(folder.path(), &["partition", "--stream", "g.txt", "-k", "2", "--evaluate", "cut"]);
    assert!(text(&other.stderr).contains("cut: lacks the edge 1 2 of g.txt: use the part"), "{}", text(&other.stderr));
    for algorithm in ["ldg", "fennel(passes=2)"] {
        let run = placebench(folder.path(), &["partition", "--stream", "g.txt", "-k", "2", "-a", algorithm, "-o", "p"]);
        assert!(run.status.success(), "{}", text(&run.stderr));
        let judged = placebench(folder.path(), &["partition", "g.txt", "--evaluate", "p"]);
        let cut = |text: String| text.lines().find(|line| line.starts_with("cut")).unwrap().to_owned();
        assert_eq!(cut(text(&run.stdout)), cut(text(&judged.stdout)), "{algorithm}");
        let mut ends = [0.0_f64; 2];
        let blocks = std::fs::read_to_string(folder.path().join("p")).unwrap();
        blocks
            .lines()
            .zip([2.0, 2.0, 4.0, 2.0, 2.0])
            .for_each(|(block, degree)| ends[block.parse::<usize>().unwrap()] += degree);
        let imbalance = format!("\nedge imbalance  {:.4}, of edges", ends[0].max(ends[1]) / 6.0 - 1.0);
        assert!(text(&run.stdout).contains(&imbalance), "{}", text(&run.stdout));
    }
    // Compressed, and through standard output, which leaves the figures to standard error.
    let plain = std::fs::read(folder.path().join("p")).unwrap();
    for (algorithm, lines) in [("ldg", 5), ("fennel(passes=2)", 5), ("hdrf", 6)] {
        let run = placebench(folder.path(), &["partition", "--stream", "g.txt", "-k", "2", "-a", algorithm, "-o", "-"]);
        assert_eq!(text(&run.stdout).lines().count(), lines, "{}", text(&run.stderr));
        assert!(text(&run.stderr).contains("\npartitioned by  "), "{}", text(&run.stderr));
        assert!(algorithm != "fennel(passes=2)" || run.stdout == plain);
    }
    for packed in ["cut.gz", "cut.zst"] {
        let run = placebench(folder.path(), &["partition", "--stream", "g.txt", "-k", "2", "-a", "dbh", "-o", packed]);
        assert!(run.status.success(), "{}", text(&run.stderr));
        let judged = placebench(folder.path(), &["partition", "--stream", "g.txt", "-k", "2", "--evaluate", packed]);
        assert!(text(&judged.stdout).contains("\nreplication "), "{}", text(&judged.stderr));
    }
    let names =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        names.collect::<std::collections::BTreeSet<_>>(),
        ["cut", "cut.gz", "cut.zst", "g.txt", "p"].map(String::from).into()
    );
    for (args, expected) in [
        (&["-a", "multilevel"][..], "unknown partitioner of streams 'multilevel'"),
        (&[][..], "--stream needs a partitioner of streams: say which, as in -a ldg"),
        (&["-a", "ldg(order=bfs)"], "a file has an order of its own: leave out 'order'"),
        (
            &["-a", "hdrf", "--threads", "2"],
            "--threads is 2: --stream decides on one edge after the other, on one thread",
        ),
        (&["-a", "hdrf", "-o", "x.parquet"], "-o x.parquet: a partition is written as text"),
        (&["-a", "ldg", "-o", "x.pbedges.zst"], "-o x.pbedges.zst: a partition is written as text"),
    ] {
        let run = placebench(folder.path(), &[&["partition", "--stream", "g.txt", "-k", "2"], args].concat());
        assert_one_line_error(&run, expected);
    }
    let one = ["partition", "--stream", "g.txt", "-k2", "-a", "hdrf", "--threads=1", "-o", "cut"];
    let one = placebench(folder.path(), &one);
    assert!(one.status.success(), "{}", text(&one.stderr));
}

#[test]
fn an_edge_from_its_other_end_is_the_same_and_the_first_line_that_differs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("g.txt"), "0 1\n1 2\n2 0\n2 3\n3 4\n4 2\n").unwrap();
    let judge = |cut: &str| {
        std::fs::write(folder.path().join("cut"), cut).unwrap();
        placebench(folder.path(), &["partition", "--stream", "g.txt", "-k2", "--evaluate", "cut"])
    };
    let swapped = judge("0 2 0\n2 1 0\n1 0 0\n3 2 1\n4 3 1\n2 4 1\n");
    assert!(text(&swapped.stdout).contains("replication     1.2000:"), "{}", text(&swapped.stderr));
    let rest = "1 2 0\n0 1 0\n2 3 1";
    for (cut, expected) in [
        (format!("2 0 0\n{rest}\n3 0 1\n4 2 1\n"), "cut:5: g.txt has no edge 0 3: use the partition of this graph"),
        (format!("2 0 0\n{rest}\n3 2 1\n4 2 1\n"), "cut:4: the edge 2 3 is there more often than in g.txt (2 and 1)"),
        (format!("0 2 0\n{rest}\n4 2 1\n"), "cut: lacks the edge 3 4 of g.txt: use the partition of this graph"),
    ] {
        assert_one_line_error(&judge(&cut), expected);
    }
}

#[test]
fn little_traffic_moves_fewer_bytes_than_a_small_cut() {
    let folder = tempfile::tempdir().unwrap();
    let traffic = |algorithm: &str| {
        let arguments = ["partition", "nmt", "-k8", "--seed=1", "-a", algorithm, "-o", "p", "--json"];
        let run = placebench(folder.path(), &arguments);
        assert!(run.status.success(), "{}", text(&run.stderr));
        let answer: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        answer["traffic"].as_u64().unwrap()
    };
    assert!(traffic("multilevel(objective=traffic)") < traffic("multilevel"));
}

#[test]
fn a_hypergraph_is_cut_for_its_connectivity_and_judged_by_nets() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Four blocks of three, and two nets across.
    std::fs::write(at.join("h.hgr"), "6 12\n1 2 3\n4 5 6\n7 8 9\n10 11 12\n3 4\n1 5 9 12\n").unwrap();
    std::fs::write(at.join("p"), "0\n0\n0\n1\n1\n1\n2\n2\n2\n2\n2\n2\n").unwrap();
    let answer = |arguments: &[&str]| -> serde_json::Value {
        let run = placebench(at, &[&["partition"], arguments, &["--json"]].concat());
        assert!(run.status.success(), "{}", text(&run.stderr));
        serde_json::from_slice(&run.stdout).unwrap()
    };
    let judged = answer(&["h.hgr", "--evaluate", "p"]);
    let of = |key: &str| judged[key].as_u64().unwrap();
    // One net in two blocks, one in three.
    assert_eq!([of("connectivity"), of("cut_nets"), of("external_degrees")], [1 + 2, 2, 2 + 3]);
    let by = |arguments: &[&str]| answer(arguments)["algorithm"].as_str().unwrap().to_owned();
    assert_eq!(by(&["h.hgr", "-k2", "-o", "q"]), "multilevel(objective=connectivity)");
    assert_eq!(by(&["h.hgr", "-k2", "-o", "q", "--objective=cut"]), "multilevel(objective=cut)");
    let quality = by(&["h.hgr", "-k2", "-o", "q", "-a", "multilevel(preset=quality)"]);
    assert_eq!(quality, "multilevel(preset=quality,objective=connectivity)");
    assert_eq!(by(&["h.hgr", "-k2", "-o", "q", "-a", "multilevel(objective=cut)"]), "multilevel(objective=cut)");
    assert_eq!(by(&["convnet", "-k2", "-o", "q"]), "multilevel");
    assert!(placebench(at, &["convert", "nmt", "nmt.hgr"]).status.success());
    let connectivity =
        |more: &[&str]| answer(&[&["nmt.hgr", "-k8", "-o", "q"], more].concat())["connectivity"].as_u64();
    assert!(connectivity(&[]) < connectivity(&["--objective", "cut"]));
    // Tensors weigh bytes for traffic, and what edges weigh for connectivity.
    let traffic = |objective: &str| {
        let edges = "--edge-weight=count";
        answer(&["nmt", "-k8", "-o", "q", edges, "--objective", objective])["traffic"].as_u64()
    };
    assert!(traffic("traffic") < traffic("connectivity"));
    for (arguments, expected) in [
        (["-a", "metis", "--objective", "cut"], "--objective cut: metis has none: leave it out, or use multilevel"),
        (
            ["-a", "multilevel(objective=cut)", "--objective", "traffic"],
            "--objective traffic: multilevel(objective=cut) says what it minimises: leave one of both out",
        ),
        (
            ["--seed", "1", "--objective", "volume"],
            "parameter 'objective' is 'volume', but must be cut, connectivity or traffic",
        ),
    ] {
        let run = placebench(at, &[&["partition", "h.hgr", "-k2"][..], &arguments].concat());
        assert_one_line_error(&run, expected);
    }
}

#[test]
fn a_hypergraph_of_patoh_is_partitioned_and_judged_like_one_of_hmetis() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // The same nets, numbered from 1 and from 0, with weights of nets and of vertices.
    std::fs::write(at.join("h.hgr"), "3 4 11\n5 1 2\n1 2 3\n5 3 4\n1\n2\n2\n1\n").unwrap();
    std::fs::write(at.join("h.u"), "% nets, then cells\n0 4 3 6 3\n5 0 1\n1 1 2\n5 2 3\n1 2 2 1\n").unwrap();
    let answer = |arguments: &[&str]| -> serde_json::Value {
        let run = placebench(at, &[&["partition"], arguments, &["--json"]].concat());
        assert!(run.status.success(), "{}", text(&run.stderr));
        let mut answer: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        for varies in ["graph", "read_seconds", "seconds", "processor_seconds", "peak_rss_bytes", "files"] {
            answer.as_object_mut().unwrap().remove(varies);
        }
        answer
    };
    let found = answer(&["h.u", "-k2", "-o", "p"]);
    assert_eq!((found["connectivity"].as_u64(), found["pins"].as_u64()), (Some(1), Some(6)));
    assert_eq!(found, answer(&["h.hgr", "-k2", "-o", "q"]));
    let judged = |file: &str| answer(&[file, "--evaluate", "p"]);
    assert_eq!((judged("h.u"), judged("h.u")["cut_nets"].as_u64()), (judged("h.hgr"), Some(1)));
    std::fs::rename(at.join("h.u"), at.join("plain")).unwrap();
    assert_eq!(answer(&["plain", "--format=patoh", "-k2", "-o", "p"]), found);
    std::fs::write(at.join("bad.u"), "0 4 3 6\n0 1\n1 4\n2 3\n").unwrap();
    let run = placebench(at, &["partition", "bad.u", "-k2"]);
    assert_one_line_error(&run, "bad.u:3: the net has the pin 4: vertices are numbered from 0 to 3");
}

#[test]
fn a_huge_imbalance_is_told_in_a_few_digits() {
    let folder = tempfile::tempdir().unwrap();
    let run = placebench(folder.path(), &["partition", "convnet", "-k2", "-e1e300", "-o", "p"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let report = text(&run.stdout);
    assert!(report.contains("within 1e300"), "{report}");
    assert!(report.lines().all(|line| line.len() < 160), "{report}");
}

#[test]
fn a_net_of_two_heavy_vertices_stays_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("pair.hgr"), "1 4 10\n1 2\n3\n3\n3\n3\n").unwrap();
    std::fs::write(at.join("two.hgr"), format!("1 2 10\n1 2\n{0}\n{0}\n", 1u64 << 50)).unwrap();
    let answer = |arguments: &[&str]| -> serde_json::Value {
        let run = placebench(at, &[&["partition"], arguments, &["-k2", "-o", "p", "--json"]].concat());
        assert!(run.status.success(), "{}", text(&run.stderr));
        serde_json::from_slice(&run.stdout).unwrap()
    };
    for seed in 0..3 {
        for preset in ["fast", "default", "quality"] {
            let spec = format!("multilevel(preset={preset},objective=connectivity)");
            let found = answer(&["pair.hgr", "-e0.3", "-a", &spec, "--seed", &seed.to_string()]);
            assert_eq!((found["connectivity"].as_u64(), found["feasible"].as_bool()), (Some(0), Some(true)), "{spec}");
        }
    }
    let found = answer(&["two.hgr", "-e0"]);
    assert_eq!((found["connectivity"].as_u64(), found["feasible"].as_bool()), (Some(1), Some(true)));
}

/// Weighed by bytes, edges without bytes are free to cut, but each costs a latency.
#[test]
fn a_partitioner_that_places_sees_what_an_edge_costs() {
    let folder = tempfile::tempdir().unwrap();
    let makespan = |placer: &str| {
        let run = placebench(folder.path(), &["place", "recurrent", "-c", "gtx1080x4", "-p", placer, "--json"]);
        assert!(run.status.success(), "{}", text(&run.stderr));
        let answer: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        answer["row"]["makespan"].as_f64().unwrap()
    };
    for placer in ["multilevel", "metis", "fiduccia_mattheyses"] {
        let (own, by_bytes) = (makespan(placer), makespan(&format!("{placer}(edge_weight=bytes,epsilon=0.03)")));
        assert!(2.0 * own < by_bytes, "{placer}: {own} s, and {by_bytes} s by bytes");
    }
}
