//! `placebench report`: what the page carries is what the run measured, and its commands repeat its cells.

use std::path::Path;
use std::process::Command;

use placebench::base::significant::time_text;
use placebench::harness::results::Row;
use serde_json::Value;

use crate::common::{placebench, text};

/// One graph that options of `place` can name, one that only the run can.
const SUITE: &str = r#"
name = "small"
title = "two graphs <b>&</b> three placers"
repetitions = 2
seed = 5
placers = ["heft(average=speed)", "random", "cats"]
schedulers = ["fifo", "pct", "static"]

[[graph]]
catalogue = "convnet"
clusters = ["gtx1080x4"]

[[graph]]
name = "it's drawn"
catalogue = "convnet"
costs = "laich"
clusters = ["far"]

[[cluster]]
preset = "gtx1080x4"
devices = 3
memory = "unlimited"

[[cluster]]
name = "far"
preset = "laich7"
send_ops = 10.0
"#;

fn run_small(folder: &Path) {
    std::fs::write(folder.join("small.toml"), SUITE).unwrap();
    let output = placebench(folder, &["run", "small.toml", "--quiet", "--table", "rows.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("placebench report runs/small-1"));
}

fn report(folder: &Path, args: &[&str]) -> String {
    let output = placebench(folder, &[&["report"], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The command of a row, joined from the parts as the page does it.
fn command(data: &Value, row: &Row) -> String {
    let part = |list: &str, name: &str| -> (Option<String>, String) {
        let list = data["commands"][list].as_array().unwrap();
        let part = list.iter().find(|part| part["name"] == name).unwrap();
        (part["alone"].as_str().map(str::to_owned), part["in_run"].as_str().unwrap().to_owned())
    };
    let parts = [part("graphs", &row.graph), part("clusters", &row.cluster), part("placers", &row.placer)];
    let alone: Option<Vec<String>> = parts.iter().map(|(alone, _)| alone.clone()).collect();
    let chooses = row.scheduler == "chosen" && data["commands"]["chooses_among_some"] == true;
    let words = alone.filter(|_| !chooses).unwrap_or_else(|| {
        let run = data["commands"]["run"].as_str().unwrap().to_owned();
        parts.into_iter().map(|(_, in_run)| in_run).chain([run]).collect()
    });
    let Row { scheduler, network, seed, .. } = row;
    format!("placebench place {} --scheduler {scheduler} --network {network} --seed {seed}", words.join(" "))
}

#[test]
fn the_command_of_every_cell_gives_its_makespan_again() {
    let folder = tempfile::tempdir().unwrap();
    run_small(folder.path());
    report(folder.path(), &["runs/small-1"]);
    let html = std::fs::read_to_string(folder.path().join("runs/small-1/report.html")).unwrap();
    let data = data(&html);
    let rows: Vec<Row> =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("rows.json")).unwrap()).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_placebench")).parent().unwrap();
    let path = std::env::join_paths(
        [bin.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    for row in &rows {
        let command = command(&data, row);
        assert_eq!(command.contains("--run"), row.graph != "convnet", "{command}");
        let output =
            Command::new("sh").args(["-c", &command]).env("PATH", &path).current_dir(folder.path()).output().unwrap();
        let printed = text(&output.stdout);
        let expected = time_text(row.makespan.unwrap(), &row.time_unit);
        let found = printed.lines().find_map(|line| line.strip_prefix("makespan")).map(str::trim);
        assert_eq!(found, Some(&*expected), "{command}\n{}", text(&output.stderr));
    }
}

#[test]
fn a_report_has_the_rows_and_a_timeline_of_each_placers_best_scheduler_and_is_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    run_small(folder.path());
    let said = report(folder.path(), &["runs/small-1/", "--out", "a.html"]);
    assert!(said.starts_with("a.html: ") && said.contains("6 timelines"), "{said}");
    report(folder.path(), &["runs/small-1", "--out", "b.html"]);
    let html = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(html == std::fs::read_to_string(folder.path().join("b.html")).unwrap(), "two reports of one run differ");
    assert!(html.contains("two graphs &lt;b&gt;&amp;&lt;/b&gt; three placers"));
    let data = data(&html);
    let rows: Vec<Row> =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("rows.json")).unwrap()).unwrap();
    assert_eq!(data["rows"], rows.len());
    for (row, timeline) in data["timelines"].as_object().unwrap() {
        let row = &rows[row.parse::<usize>().unwrap()];
        // Of the schedulers it is the one of the best mean over both repetitions.
        let mean = |scheduler: &str| {
            let is_own = |other: &&Row| (&other.graph, &other.placer) == (&row.graph, &row.placer);
            let own = rows.iter().filter(is_own).filter(|other| other.scheduler == scheduler);
            own.map(|other| other.makespan.unwrap()).sum::<f64>() / 2.0
        };
        let of_placer = rows.iter().filter(|other| (&other.graph, &other.placer) == (&row.graph, &row.placer));
        let least = of_placer.map(|other| mean(&other.scheduler)).fold(f64::INFINITY, f64::min);
        assert!(row.repetition == 0 && (mean(&row.scheduler) / least - 1.0).abs() < 1e-9, "{:?}", row.key());
        let devices = timeline["devices"].as_array().unwrap();
        assert_eq!(devices.len(), row.devices as usize);
        // All ops are on some device, and the devices are as busy as the row says.
        assert_eq!(devices.iter().map(|device| device[3].as_u64().unwrap()).sum::<u64>(), row.ops);
        let busy: f64 = devices.iter().map(|device| device[2].as_f64().unwrap()).sum();
        assert!((busy / devices.len() as f64 - row.utilization.unwrap()).abs() < 2e-3);
    }
    assert!(report(folder.path(), &["runs/small-1", "--timelines", "none"]).contains(" 0 timelines"));
}

#[test]
fn what_cannot_be_reported_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], expected: &str| {
        let output = placebench(folder.path(), args);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    };
    refused(&["report", "nowhere"], "nowhere: ");
    run_small(folder.path());
    refused(&["report", "runs/small-1", "--out", "nowhere/x.html"], "nowhere/x.html");
    std::fs::write(folder.path().join("mine.toml"), "name = \"mine\"").unwrap();
    refused(
        &["report", "runs/small-1", "--out", "mine.toml"],
        "mine.toml: exists and is no page: choose another --out",
    );
    assert_eq!(std::fs::read_to_string(folder.path().join("mine.toml")).unwrap(), "name = \"mine\"");
    refused(
        &["place", "nmt", "--run", "runs/small-1", "--cluster", "far"],
        "runs/small-1: the suite has no graph 'nmt': use one of convnet, it's drawn",
    );
    let broken = folder.path().join("runs/small-1/environment.toml");
    std::fs::write(&broken, "version = 1").unwrap();
    refused(&["report", "runs/small-1"], "environment.toml");
    std::fs::write(folder.path().join("runs/small-1/results.parquet"), "x").unwrap();
    refused(&["report", "runs/small-1"], "results.parquet");
}

#[test]
fn a_suite_that_this_version_does_not_know_still_has_a_report() {
    let folder = tempfile::tempdir().unwrap();
    run_small(folder.path());
    let suite = folder.path().join("runs/small-1/suite.toml");
    let text = std::fs::read_to_string(&suite).unwrap().replace("\"cats\"", "\"dogs\"");
    std::fs::write(&suite, text).unwrap();
    assert!(report(folder.path(), &["runs/small-1"]).contains(" 0 timelines"));
    let html = std::fs::read_to_string(folder.path().join("runs/small-1/report.html")).unwrap();
    assert!(html.contains("this version of placebench cannot read it") && html.contains("dogs"));
    assert_eq!(data(&html)["commands"], Value::Null);
}

#[test]
fn several_runs_are_one_page_of_what_changed_since_the_first() {
    let folder = tempfile::tempdir().unwrap();
    run_small(folder.path());
    let slower =
        SUITE.replace("seed = 5", "seed = 5\ntitle = \"again\"").replacen("title = \"two", "analysis = \"two", 1);
    std::fs::write(folder.path().join("small.toml"), slower).unwrap();
    let output = placebench(folder.path(), &["run", "small.toml", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = report(folder.path(), &["runs/small-1", "runs/small-2"]);
    assert!(said.starts_with("runs/small-2/comparison.html: ") && said.contains("2 runs compared"), "{said}");
    let html = std::fs::read_to_string(folder.path().join("runs/small-2/comparison.html")).unwrap();
    assert!(html.contains("3 placers the same in every cell of every run") && !html.contains("{{"), "{html}");
    report(folder.path(), &["rows.json", "runs/small-2", "--where", "placer=random", "--out", "c.html"]);
    let html = std::fs::read_to_string(folder.path().join("c.html")).unwrap();
    assert!(html.contains("against rows.json") && html.contains("1 placer the same"), "{html}");
    let refused = |args: &[&str], expected: &str| {
        let output = placebench(folder.path(), &[&["report"], args].concat());
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.lines().count() == 1 && error.contains(expected), "{error}");
    };
    refused(&["runs/small-1", "runs/small-2", "--timelines", "all"], "--timelines is about one run");
    refused(&["runs/small-1", "rows.json"], "--out");
    refused(&["runs/small-1", "nowhere"], "nowhere: ");
}
