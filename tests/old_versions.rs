//! What 0.1 wrote is read: `tests/data/v0.1` was made by its commit f6fbdb4, and has what that version printed of it.

use std::fs;
use std::path::{Path, PathBuf};

use placebench::harness::runner::read_run;
use serde_json::Value;

use crate::common::{placebench, text};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v0.1")
}

/// Runs the command in a folder, and answers with what it printed.
fn said(folder: &Path, args: &[&str]) -> String {
    let output = placebench(folder, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A copy, since verbs write into run folders.
fn copied(name: &str, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(data().join(name)).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn a_run_of_0_1_is_read_whole() {
    let printed: Vec<Value> = serde_json::from_slice(&fs::read(data().join("rows.json")).unwrap()).unwrap();
    let rows = read_run(&data().join("run")).unwrap();
    assert_eq!((rows.len(), printed.len()), (88, 88));
    for (row, printed) in rows.iter().zip(&printed) {
        let texts =
            [("graph", &row.graph), ("placer", &row.placer), ("scheduler", &row.scheduler), ("network", &row.network)];
        for (key, value) in texts.into_iter().chain([("status", &row.status)]) {
            assert_eq!(printed[key], **value);
        }
        assert_eq!(printed["repetition"].as_u64(), Some(row.repetition.into()));
        assert_eq!(printed["makespan"].as_f64(), row.makespan);
    }
}

#[test]
fn every_verb_that_reads_runs_reads_one_of_0_1() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    copied("run", &folder.join("old"));
    let table = said(folder, &["table", "old", "--format", "csv"]);
    assert!(table.starts_with("placer,") && table.contains("\nheft,"), "{table}");
    said(folder, &["rank", "old"]);
    said(folder, &["figure", "old", "--out", "figures"]);
    said(folder, &["report", "old", "--out", "old.html"]);
    said(folder, &["trend", "history.csv", "--add", "old"]);
    assert!(said(folder, &["cite", "old"]).contains("topcuoglu"), "HEFT is among its placers");
    // Its suite runs again, and what it computed is what is computed now.
    said(folder, &["run", "old/suite.toml", "--out", "new", "--quiet"]);
    let compared = said(folder, &["compare", "old", "new", "--ignore", "time"]);
    assert!(compared.contains("the same in all 88 cells, bit by bit"), "{compared}");
    let place = ["place", "convnet", "--run", "old", "-c", "gtx1080x2", "-p", "heft", "-s", "pct", "--json"];
    let placed: Value = serde_json::from_str(&said(folder, &place)).unwrap();
    assert!(placed["row"]["makespan"].as_f64().unwrap() > 0.0);
}

#[test]
fn graphs_and_clusters_of_0_1_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| data().join(name).to_str().unwrap().to_owned();
    for graph in ["graph", "graph.csv", "graph.wf.json", "graph.onnx"] {
        let now: Value = serde_json::from_str(&said(folder.path(), &["inspect", &at(graph), "--json"])).unwrap();
        assert_eq!(["nodes", "edges"].map(|key| now[key].as_u64()), [Some(60), Some(397)], "{graph}");
    }
    said(folder.path(), &["generate", "--check", &at("graph")]);
    let cluster = at("cluster.toml");
    let placed = said(folder.path(), &["place", &at("graph"), "-c", &cluster, "-p", "heft"]);
    assert!(placed.contains("7 devices"), "{placed}");
    let cut = said(folder.path(), &["partition", &at("edges.pbedges"), "-k", "2"]);
    assert!(cut.contains("cut"), "{cut}");
}
