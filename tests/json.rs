//! `--json`: every verb answers with one document, whose keys are those of docs/JSON.md.

#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::keys::{compare, keys_of_table, paths};
use crate::common::{placebench, text};
use placebench::harness::results::{Predictions, Row, write_table};
use placebench::harness::runner::read_run;
use serde_json::Value;

const SUITE: &str = r#"
name = "small"
placers = ["heft", "mite"]
repetitions = 3

[[graph]]
name = "a"
leveled = { levels = 4, nodes_per_level = [2, 4] }

[[graph]]
name = "b"
leveled = { levels = 6, nodes_per_level = [2, 4] }

[[cluster]]
preset = "laich7"
"#;

const FAILING: &str = "\n[[placer]]\nname = \"never\"\ncommand = [\"false\"]\n";

/// Keys that these runs cannot show: more than 100,000 changes, and intervals, which need values that vary.
const UNSEEN: [&str; 3] = [
    "quality[].more_changes",
    "claims[].verdicts[].groups[].interval[]",
    "claims[].verdicts[].groups[].joint_interval[]",
];

/// Tables of docs/JSON.md by section and number in it: the keys as they are written there.
fn documented() -> BTreeMap<(String, usize), Vec<String>> {
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/JSON.md")).unwrap();
    let mut tables: BTreeMap<(String, usize), Vec<String>> = BTreeMap::new();
    for section in docs.split("\n## ").skip(1) {
        let verb = section.split('`').nth(1).unwrap();
        for (number, table) in section.split("| key | meaning |\n|---|---|\n").skip(1).enumerate() {
            tables.insert((verb.to_owned(), number), keys_of_table(table));
        }
    }
    tables
}

/// Runs verbs in a folder, and keeps the paths of what they answer by table of the documentation.
struct Asked<'a> {
    folder: &'a Path,
    found: BTreeMap<(String, usize), BTreeSet<String>>,
}

impl Asked<'_> {
    /// The answer to a command, whose keys are those of a table.
    fn ask(&mut self, table: usize, code: i32, args: &[&str]) -> Value {
        let output = placebench(self.folder, &[args, &["--json"]].concat());
        self.answer(table, code, args, &output)
    }

    fn answer(&mut self, table: usize, code: i32, args: &[&str], output: &std::process::Output) -> Value {
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {}", text(&output.stdout)));
        let verb = if args[0] == "execute" { "place" } else { args[0] };
        paths(&answer, "", self.found.entry((verb.to_owned(), table)).or_default());
        answer
    }
}

fn calibrate(folder: &Path) -> std::process::Output {
    let ops = placebench::datasets::catalogue::load("llama_inference").unwrap().1.op_count();
    let driver = include_str!("common/calibration.py").replace("OPS", &ops.to_string());
    fs::write(folder.join("driver.py"), driver).unwrap();
    fs::write(folder.join("python"), format!("#!/bin/sh\nexec python3 '{}/driver.py' \"$@\"\n", folder.display()))
        .unwrap();
    assert!(Command::new("chmod").arg("+x").arg(folder.join("python")).status().unwrap().success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
    command.args([
        "calibrate",
        "--devices",
        "2",
        "--graph",
        "llama_inference",
        "--anyway",
        "-o",
        "machine.toml",
        "--json",
    ]);
    command.env("PLACEBENCH_PYTHON", folder.join("python")).current_dir(folder).output().unwrap()
}

/// A run that is worse than another in every way that there is.
fn worsen(rows: &mut [Row]) {
    for row in rows.iter_mut() {
        row.place_seconds = row.place_seconds.map(|_| if row.placer == "heft" { 9.0 } else { 1.0 });
        row.simulate_seconds = row.simulate_seconds.map(|_| 9.0);
        row.makespan = row.makespan.map(|makespan| makespan * 1.5);
    }
    let failed = Row { status: "panicked".into(), error: Some("index 7".into()), makespan: None, ..rows[0].clone() };
    rows[0] = failed;
    rows[1].devices += 1;
    rows[2].seed += 100;
}

#[test]
fn every_verb_answers_with_one_document_of_the_keys_that_are_documented() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("s.toml"), SUITE).unwrap();
    fs::write(folder.join("f.toml"), format!("{SUITE}{FAILING}")).unwrap();
    let mut asked = Asked { folder, found: BTreeMap::new() };

    let answer = asked.ask(0, 0, &["run", "s.toml", "-q", "--out", "a"]);
    assert_eq!((&answer["cells"], &answer["ok"], &answer["common"]), (&12.into(), &12.into(), &2.into()));
    assert_eq!(answer["placers"][0]["mean_ratio"].as_f64().unwrap().min(1.0), 1.0);
    let answer = asked.ask(0, 0, &["run", "f.toml", "--out", "f", "--full", "--table", "f.csv"]);
    assert_eq!((&answer["failed"]["error"], &answer["files"]), (&6.into(), &Value::from(vec!["f.csv"])));
    assert_eq!(answer["rows"].as_array().unwrap().len(), 18);
    for (shard, complete) in [("1/2", false), ("2/2", true), ("2/2", true)] {
        let answer = asked.ask(1, 0, &["run", "s.toml", "-q", "--out", "shards", "--shard", shard]);
        assert_eq!((&answer["cells"], &answer["complete"]), (&6.into(), &complete.into()));
    }

    let answer =
        asked.ask(0, 0, &["place", "convnet", "--placement", "p.csv", "--timeline", "t.csv", "--numberings", "2"]);
    asked.ask(0, 0, &["place", "convnet+delay_receives"]);
    assert_eq!((&answer["row"]["graph"], &answer["row"]["ops"]), (&"convnet".into(), &225.into()));
    assert!(answer["row"]["makespan"].as_f64().unwrap() > 0.0 && folder.join("p.csv").exists());
    let fast = ["--mean-op", "200us", "--repetitions", "3", "--warm-up", "1"];
    let answer = asked.ask(0, 0, &[&["execute", "convnet", "-c", "gtx1080x2"], &fast[..]].concat());
    assert!(answer["row"]["predicted_one_port"].as_f64().unwrap() > 0.0);
    let output = calibrate(folder);
    asked.answer(0, 0, &["calibrate"], &output);

    asked.ask(0, 0, &["submit", "t.csv", "-g", "convnet", "--author", "a", "-p", "b", "--out", "known"]);
    asked.ask(0, 0, &["convert", "convnet", "c.hgr"]);
    asked.ask(0, 0, &["convert", "convnet", "c.stg"]);
    asked.ask(0, 0, &["convert", "c.stg", "c.csv"]);
    asked.ask(0, 0, &["convert", "convnet", "c.pbedges"]);
    asked.ask(0, 0, &["convert", "--cluster", "laich7", "l.csv"]);
    let answer = asked.ask(0, 0, &["partition", "convnet", "-k", "2"]);
    assert_eq!(answer["files"], Value::from(vec!["convnet.part.2"]));
    asked.ask(0, 0, &["partition", "convnet", "--evaluate", "convnet.part.2"]);
    asked.ask(0, 0, &["partition", "c.hgr", "-k", "2"]);
    for algorithm in ["ldg", "hdrf"] {
        asked.ask(0, 0, &["partition", "c.pbedges", "-k", "2", "--stream", "-a", algorithm, "-o", algorithm]);
    }
    asked.ask(0, 0, &["partition", "c.pbedges", "-k", "2", "--stream", "--evaluate", "hdrf"]);

    asked.ask(0, 0, &["generate", "laich3", "-o", "g", "--ops", "100"]);
    asked.ask(0, 0, &["generate", "cholesky(tiles=3)", "-o", "h"]);
    asked.ask(0, 0, &["generate", "gnm(vertices=50,edges=90)", "-o", "u.graph"]);
    asked.ask(0, 0, &["generate", "laich7", "-o", "k.toml"]);
    asked.ask(0, 0, &["generate", "laich3", "-o", "parts", "--ops", "20000", "--stream", "--shards", "2"]);
    asked.ask(1, 0, &["generate", "--check", "g"]);
    asked.ask(1, 0, &["generate", "--check", "parts"]);
    asked.ask(2, 0, &["generate", "laich3", "--describe"]);
    let parameters = placebench(folder, &["generate", "--print-parameters", "laich3", "--json"]);
    assert!(serde_json::from_slice::<Value>(&parameters.stdout).unwrap()["generator"].is_string());
    asked.ask(0, 0, &["inspect", "convnet", "-c", "gtx1080x2"]);
    asked.ask(1, 0, &["inspect", "parts"]);
    asked.ask(1, 0, &["inspect", "c.pbedges"]);
    asked.ask(0, 0, &["dataset", "scale", "--largest", "1e4", "--out", "d", "--shard", "1/2"]);
    asked.ask(0, 0, &["dataset", "scale", "--largest", "1e4", "--out", "d"]);
    asked.ask(1, 0, &["dataset", "verify", "d"]);
    fs::remove_file(folder.join("d/LICENSE")).unwrap();
    fs::write(folder.join("d/README.md"), "changed").unwrap();
    fs::write(folder.join("d/new"), "").unwrap();
    asked.ask(1, 1, &["dataset", "verify", "d"]);

    let answer = asked.ask(0, 0, &["table", "f"]);
    assert_eq!(answer["columns"].as_array().unwrap().len(), 6);
    assert!(answer["rows"][0].as_object().unwrap().contains_key("mean ratio to best"));
    asked.ask(0, 0, &["rank", "f", "--drop-failing", "0.5"]);
    let mut rows = read_run(&folder.join("a")).unwrap();
    rows.iter_mut().for_each(|row| row.place_seconds = Some(0.5));
    write_table(&folder.join("old.csv"), &rows).unwrap();
    worsen(&mut rows);
    write_table(&folder.join("worse.csv"), &rows).unwrap();
    let answer = asked.ask(0, 1, &["compare", "old.csv", "worse.csv", "--all-cells"]);
    assert_eq!(answer["is_regression"], true);
    asked.ask(0, 0, &["trend", "h.csv", "--add", "a"]);
    asked.ask(0, 0, &["cite", "a"]);
    asked.ask(0, 0, &["report", "a"]);
    asked.ask(0, 0, &["report", "a", "old.csv", "--out", "c.html"]);
    asked.ask(0, 0, &["figure", "a", "-k", "heat"]);
    asked.ask(0, 1, &["figure", "a", "-k", "scaling"]);
    let only = ["--where", "cluster=t_fast16"];
    assert!(placebench(folder, &[&["run", "tolstobrov", "-q", "--out", "t"], &only[..]].concat()).status.success());
    asked.ask(0, 0, &["reproduce", "tolstobrov", "--run", "t"]);
    asked.ask(0, 0, &["tutorial", "study"]);
    asked.ask(0, 0, &["list"]);

    let documented = documented();
    assert_eq!(documented.keys().collect::<Vec<_>>(), asked.found.keys().collect::<Vec<_>>());
    for (table, keys) in &documented {
        compare(&format!("docs/JSON.md, {table:?}"), keys, &asked.found[table], &UNSEEN);
    }
    let columns: BTreeSet<&str> = Row::COLUMNS.iter().copied().collect();
    let models = Predictions::columns();
    for path in asked.found[&("place".to_owned(), 0)].iter().filter_map(|path| path.strip_prefix("row.")) {
        assert!(columns.contains(path) || models.iter().any(|column| column == path), "row.{path} is no column");
    }
}

#[test]
fn what_fails_says_nothing_on_standard_output_and_what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (args, code, reason) in [
        (&["place", "nowhere", "--json"][..], 1, "nowhere"),
        (&["compare", "x.csv", "y.csv", "--json"], 2, "x.csv"),
        (&["partition", "convnet", "-k", "2", "-o", "-", "--json"], 1, "both want standard output"),
        (&["completions", "bash", "--json"], 2, "unexpected argument '--json'"),
        (&["man", "--json"], 2, "unexpected argument '--json'"),
        (&["execute-worker", "--json"], 2, "unexpected argument '--json'"),
        (&["rank", "x.csv", "--format", "tex", "--json"], 2, "cannot be used with"),
        (&["list", "placers", "--markdown", "--json"], 2, "cannot be used with"),
        (&["table", "x", "-o", "f.md", "--json"], 2, "cannot be used with"),
    ] {
        let output = placebench(folder.path(), args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
        assert!(output.stdout.is_empty() && message.contains(reason), "{args:?}: {message}");
    }
}

#[test]
fn csv_is_safe_for_spreadsheets_unless_asked_otherwise_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let graph = "id,inputs,colocated,tensor_bytes,ops,name\n0,,,8,1000,\"=HYPERLINK(\"\"x\"\")\"\n1,0,,8,2000,@b\n";
    fs::write(folder.join("g.csv"), graph).unwrap();
    let suite = "name = \"s\"\nplacers = [\"heft\", \"mite\"]\n[[graph]]\nfile = \"g.csv\"\nname = \"=1+1\"\n\
                 [[cluster]]\npreset = \"laich7\"\n";
    fs::write(folder.join("s.toml"), suite).unwrap();
    let run = |args: &[&str]| {
        let output = placebench(folder, args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    run(&["place", "g.csv", "-c", "laich7", "--placement", "p.csv", "--timeline", "t.csv"]);
    assert!(
        read("p.csv").contains("0,\"'=HYPERLINK(\"\"x\"\")\",") && read("p.csv").contains("1,'@b,"),
        "{}",
        read("p.csv")
    );
    assert!(read("t.csv").contains("op,1,'@b,"), "{}", read("t.csv"));
    run(&["place", "g.csv", "-c", "laich7", "--placement", "p.csv", "--raw-csv"]);
    assert!(read("p.csv").contains("1,@b,"), "{}", read("p.csv"));
    run(&["run", "s.toml", "-q", "--out", "r", "--table", "r.csv"]);
    assert!(read("r.csv").contains("s,'=1+1,"), "{}", read("r.csv"));
    assert!(run(&["table", "r", "-f", "csv"]).starts_with("placer,'=1+1 "));
    assert!(run(&["table", "r", "-f", "csv", "--raw-csv"]).starts_with("placer,=1+1 "));
    let same = run(&["compare", "r", "r.csv", "--all-cells", "--json"]);
    let same: Value = serde_json::from_str(&same).unwrap();
    assert_eq!((&same["compared"], &same["is_regression"]), (&2.into(), &false.into()), "{same}");
}

#[test]
fn graphs_are_listed_with_their_sizes_and_what_tells_them_apart() {
    let folder = tempfile::tempdir().unwrap();
    let listed = text(&placebench(folder.path(), &["list", "graphs"]).stdout);
    let line =
        |name: &str| listed.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap().to_owned();
    assert!(line("convnet").contains(" 225 ops    380 edges   238 MB  Convolutional"), "{}", line("convnet"));
    let answer = placebench(folder.path(), &["list", "graphs", "--json"]).stdout;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let graphs = answer["graphs"].as_array().unwrap();
    let titles: BTreeSet<&str> = graphs.iter().map(|graph| graph["description"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), graphs.len(), "two graphs have one description");
}
