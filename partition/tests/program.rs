//! The program as a stranger meets it: exit codes, messages, files left behind. Its options are tested at large with the command
//! that has them as a verb.

use std::path::Path;
use std::process::{Command, Output};

/// Two triangles of heavy edges with a light one between them, and vertices of weights 1, 2, 3, 1, 2, 3.
const TRIANGLES: &str = "6 7 11\n1 2 9 3 9\n2 1 9 3 9\n3 1 9 2 9 4 1\n1 3 1 5 9 6 9\n2 4 9 6 9\n3 4 9 5 9\n";

fn partition(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_placebench-partition")).args(args).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command that succeeds says on standard output.
fn said(folder: &Path, args: &[&str]) -> String {
    let output = partition(folder, args);
    assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The value of a line of a report.
fn value<'a>(report: &'a str, name: &str) -> &'a str {
    let line = report.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{report}"));
    line[name.len()..].trim()
}

#[test]
fn a_graph_is_partitioned_and_judged_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("t.graph"), TRIANGLES).unwrap();
    let made = said(folder, &["t.graph", "-k", "2"]);
    assert_eq!((value(&made, "cut"), value(&made, "written to")), ("1 of 55", "t.graph.part.2"));
    let blocks = std::fs::read_to_string(folder.join("t.graph.part.2")).unwrap();
    assert!(["0\n0\n0\n1\n1\n1\n", "1\n1\n1\n0\n0\n0\n"].contains(&blocks.as_str()), "{blocks}");
    let judged = said(folder, &["t.graph", "--evaluate", "t.graph.part.2"]);
    for name in ["graph", "cut", "volume", "block weights", "imbalance", "feasible"] {
        assert_eq!(value(&made, name), value(&judged, name));
    }
}

#[test]
fn a_dataflow_graph_of_the_catalogue_has_the_same_partition_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let partition_on = |threads: &str| {
        let output = partition(folder, &["recurrent", "-k", "4", "--seed", "1", "--threads", threads, "-o", "-"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (blocks, report) = partition_on("1");
    assert_eq!(blocks.lines().count(), 2809, "a line for each op");
    assert_eq!(partition_on("2").0, blocks);
    std::fs::write(folder.join("p"), &blocks).unwrap();
    let judged = said(folder, &["recurrent", "--evaluate", "p"]);
    for name in ["cut", "traffic", "block graph", "imbalance"] {
        assert_eq!(value(&report, name), value(&judged, name));
    }
}

#[test]
fn what_is_wrong_is_one_line_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("t.graph"), TRIANGLES).unwrap();
    for (args, expected) in [
        (&["t.graph"][..], "-k is missing: say into how many blocks, as in -k 8"),
        (&["t.graph", "-k", "2", "-a", "multilevl"], "unknown partitioner 'multilevl': did you mean 'multilevel'?"),
        (&["recurent", "-k", "2"], "no file and no graph is named 'recurent': did you mean 'recurrent'?"),
        (&["0", "-k", "2"], "see 'placebench list graphs' and 'placebench list presets'"),
        (&["recurrent", "-k", "2", "-c", "laihc7"], "no file and no cluster is named 'laihc7': did you mean 'laich7'?"),
        (&["gone.graph", "-k", "2"], "gone.graph: no such file or directory"),
    ] {
        let output = partition(folder, args);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(expected), "{stderr}\n   lacks   {expected}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    assert_eq!(partition(folder, &["t.graph", "--seed", "x"]).status.code(), Some(2));
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "an error leaves nothing behind");
}

#[test]
fn the_help_says_what_it_is_and_names_every_partitioner() {
    let folder = tempfile::tempdir().unwrap();
    let help = said(folder.path(), &["--help"]);
    assert!(help.contains("Usage: placebench-partition") && help.contains("verb `partition`"), "{help}");
    for entry in placebench_algorithms::partition::registry::PARTITIONERS.iter() {
        assert!(help.contains(&format!("\n  {}", entry.name)), "{help}");
        let spec: placebench_algorithms::Spec = help
            .lines()
            .find_map(|line| line.trim().starts_with(&entry.name).then(|| line.trim().parse().unwrap()))
            .unwrap();
        assert!(placebench_algorithms::partition::registry::partitioner(&spec).is_ok(), "{}", entry.name);
    }
    assert_eq!(said(folder.path(), &["--version"]), format!("placebench-partition {}\n", env!("CARGO_PKG_VERSION")));
}
