//! `placebench cite`: BibTeX of what a run used.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{assert_one_line_error, placebench, text};

fn bibtex(folder: &Path, args: &[&str]) -> String {
    let output = placebench(folder, &[&["cite"], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn keys(bibtex: &str) -> Vec<&str> {
    let entries = bibtex.lines().filter_map(|line| line.strip_prefix('@'));
    entries.map(|line| line.split_once('{').unwrap().1.trim_end_matches(',')).collect()
}

#[test]
fn a_run_is_cited_with_all_that_its_rows_used_each_work_once() {
    let folder = tempfile::tempdir().unwrap();
    let suite = r#"
        name = "s"
        placers = ["heft", "hashing", "improve(placer=metis,preset=fast)", "sweep(preset=fast)"]
        schedulers = ["fifo"]
        networks = ["contention_free", "one_port"]
        passes = [[], ["cse"]]
        [[graph]]
        catalogue = "convnet"
        [[cluster]]
        preset = "gtx1080x4"
        [[placer]]
        name = "own"
        command = ["false"]
    "#;
    std::fs::write(folder.path().join("s.toml"), suite).unwrap();
    let output = placebench(
        folder.path(),
        &["run", "s.toml", "--out", "run", "--quiet", "--where", "placer=heft,hashing,improve"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let bibtex = bibtex(folder.path(), &["run"]);
    let used: Vec<&str> = bibtex.lines().take_while(|line| line.starts_with("% ")).collect();
    assert_eq!(
        used,
        [
            "% tool placebench: placebench",
            "% graph convnet: laich2017, tensorflow",
            "% pass cse: abadi2015, click1995",
            "% placer heft: topcuoglu2002, laich2017",
            "% placer hashing: laich2017",
            "% placer improve: placebench",
            "% placer metis: karypis1998a, karypis1998b, metis",
            "% scheduler fifo: laich2017",
            "% network model contention_free: laich2017",
            "% network model one_port: beaumont2002a, beaumont2002b",
            "% executor simulate: placebench",
        ]
    );
    // Each work that is named has its entry, and no other.
    let named = used.iter().flat_map(|line| line.rsplit_once(": ").unwrap().1.split(", "));
    let named: BTreeSet<&str> = named.filter(|key| !key.contains(' ')).collect();
    assert_eq!(keys(&bibtex), named.into_iter().collect::<Vec<_>>());
}

#[test]
fn a_graph_is_cited_with_its_model_its_framework_and_its_passes() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(keys(&bibtex(folder.path(), &[])), ["placebench"]);
    let graph = bibtex(folder.path(), &["gpt2+microbatch(8)"]);
    assert_eq!(keys(&graph), ["huang2019", "jax2018", "placebench", "radford2019"]);
    assert_eq!(keys(&bibtex(folder.path(), &["laich3"])), ["laich2017", "placebench"]);
    assert_one_line_error(&placebench(folder.path(), &["cite", "gpt22"]), "did you mean 'gpt2'?");
    let undirected = bibtex(folder.path(), &["rmat(scale=8)"]);
    assert!(
        undirected.contains("% graph rmat(scale=8): ") && keys(&undirected).contains(&"placebench"),
        "{undirected}"
    );
    assert_one_line_error(&placebench(folder.path(), &["cite", "gnm(vertexes=9)"]), "vertexes");
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let error = placebench(folder.path(), &["cite", "empty"]);
    assert_one_line_error(&error, "empty: ");
    assert!(placebench(folder.path(), &["convert", "convnet", "own"]).status.success());
    assert_eq!(keys(&bibtex(folder.path(), &["own"])), ["placebench"]);
}
