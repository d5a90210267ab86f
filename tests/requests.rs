//! A cell is the same cell, whoever asks for it: `run`, `place`, `execute`, or `place --run`.

use std::path::Path;

use crate::common::{placebench, text};
use placebench::harness::results::Row;
use serde_json::{Map, Value};

type Columns = Map<String, Value>;

/// A cluster with too little memory for the graph.
const TINY: &str = r#"
    [[device]]
    name = "gpu"
    kind = "GPU"
    memory = "4 KiB"
    speed = 1e9
    [[device]]
    name = "cpu"
    kind = "CPU"
    memory = "4 KiB"
    speed = 1e9
    [link]
    rate = 1e9
"#;

const SUITE: &str = r#"
    name = "same"
    seed = 7
    placers = ["etf", "cats", "random"]
    schedulers = ["pct", "msr"]
    networks = ["one_port"]
    executors = ["simulate", "threads"]
    noise = ["op=0.3,draws=20"]
    where = "executor=simulate,noise(op=0.3,draws=20) placer=etf,cats,random,HEFT"
    [execute]
    mean_op = "200us"
    repetitions = 3
    warm_up = 1
    [[graph]]
    catalogue = "convnet"
    [[cluster]]
    preset = "gtx1080x2"
    [[cluster]]
    file = "tiny.toml"
    memory = "static"
    [[placer]]
    name = "HEFT"
    placer = "heft(average=speed)"
"#;

fn answer(folder: &Path, args: &[&str]) -> Value {
    let output = placebench(folder, args);
    let printed = text(&output.stdout);
    serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{args:?}: {printed}{}", text(&output.stderr)))
}

fn columns(row: &Value) -> Columns {
    let mut row = row.as_object().unwrap().clone();
    row.remove("suite").unwrap();
    row
}

/// The columns that depend on the inputs alone.
fn without_clocks(mut row: Columns) -> Columns {
    Row::measured_columns().for_each(|column| drop(row.remove(column).unwrap()));
    row
}

/// The arguments that name a row's cell.
fn arguments(row: &Columns) -> Vec<String> {
    let value = |column: &str| row[column].as_str().map_or_else(|| row[column].to_string(), str::to_owned);
    let options = ["cluster", "placer", "scheduler", "network", "seed"];
    let options = options.iter().flat_map(|option| [format!("--{option}"), value(option)]);
    let executor = value("executor");
    let noise = executor.strip_prefix("noise(").and_then(|rest| rest.strip_suffix(')'));
    let noise = noise.into_iter().flat_map(|noise| ["--noise".to_owned(), noise.to_owned()]);
    std::iter::once(value("graph")).chain(options).chain(noise).collect()
}

/// What `execute` writes for a row's cell, a failure too.
fn executed(folder: &Path, row: &Columns, more: &[&str]) -> Columns {
    let arguments = arguments(row);
    let arguments = arguments.iter().map(String::as_str).chain(more.iter().copied());
    let args: Vec<&str> = ["execute", "--quiet", "--table", "row.json"].into_iter().chain(arguments).collect();
    let output = placebench(folder, &args);
    let table = std::fs::read_to_string(folder.join("row.json"));
    let table = table.unwrap_or_else(|_| panic!("{args:?}: {}", text(&output.stderr)));
    std::fs::remove_file(folder.join("row.json")).unwrap();
    columns(&serde_json::from_str::<Value>(&table).unwrap()[0])
}

#[test]
fn place_and_execute_answer_with_the_row_of_the_run_in_every_column_that_no_clock_sets() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("same.toml"), SUITE).unwrap();
    std::fs::write(folder.join("tiny.toml"), TINY).unwrap();
    let run = answer(folder, &["run", "same.toml", "--out", "run", "--full", "-q", "--json"]);
    let rows: Vec<Columns> = run["rows"].as_array().unwrap().iter().map(columns).collect();
    assert_eq!(
        rows.len(),
        28,
        "two schedulers for three placers, one run with cats, on two clusters, with and without noise"
    );
    let mut statuses: Vec<&str> = rows.iter().map(|row| row["status"].as_str().unwrap()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    assert_eq!(statuses, ["infeasible", "ok"]);
    assert!(rows.iter().any(|row| row["assumptions_broken"].is_string() && row["scheduler"] == "online"));
    for row in &rows {
        let is_tiny = row["cluster"] == "tiny";
        if row["placer"] == "HEFT" {
            // Only the run knows the name.
            if !is_tiny {
                let args: Vec<String> = arguments(row);
                let args = args.iter().map(String::as_str);
                let args: Vec<&str> = ["place", "--run", "run", "--json"].into_iter().chain(args).collect();
                let placed = columns(&answer(folder, &args)["row"]);
                assert_eq!(without_clocks(placed), without_clocks(row.clone()));
            }
            continue;
        }
        let mut named = row.clone();
        let mut more = vec!["--executor", "simulate"];
        if is_tiny {
            named["cluster"] = "tiny.toml".into();
            more.extend(["--memory", "static"]);
        }
        let mut found = executed(folder, &named, &more);
        found["cluster"] = row["cluster"].clone();
        assert!(found["host"].is_string() && found["processor"].is_string(), "{found:?}");
        assert_eq!(without_clocks(found), without_clocks(row.clone()));
        if !is_tiny {
            let args = arguments(row);
            let args: Vec<&str> = ["place", "--json"].into_iter().chain(args.iter().map(String::as_str)).collect();
            let placed = columns(&answer(folder, &args)["row"]);
            assert_eq!(without_clocks(placed), without_clocks(row.clone()));
        }
    }
}

#[test]
fn place_run_lets_a_search_choose_among_the_schedulers_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let suite = r#"
        name = "few"
        placers = ["sweep(preset=fast)", "simulated_annealing(budget=40)"]
        schedulers = ["fifo", "msr"]
        networks = ["one_port"]
        [[graph]]
        name = "levels"
        leveled = { levels = 4, nodes_per_level = [3, 3] }
        [[cluster]]
        preset = "laich7"
        devices = 2
    "#;
    std::fs::write(folder.join("few.toml"), suite).unwrap();
    let run = answer(folder, &["run", "few.toml", "--out", "run", "--full", "-q", "--json"]);
    let rows: Vec<Columns> = run["rows"].as_array().unwrap().iter().map(columns).collect();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["scheduler"], "chosen");
        let args = arguments(&row);
        let args: Vec<&str> =
            ["place", "--run", "run", "--json"].into_iter().chain(args.iter().map(String::as_str)).collect();
        assert_eq!(without_clocks(columns(&answer(folder, &args)["row"])), without_clocks(row));
    }
}

#[test]
fn a_measured_cell_has_the_same_columns_in_a_run_and_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let suite = SUITE.replace(
        "executor=simulate,noise(op=0.3,draws=20) placer=etf,cats,random,HEFT",
        "executor=threads placer=etf scheduler=pct cluster=gtx1080x2",
    );
    std::fs::write(folder.join("same.toml"), suite).unwrap();
    std::fs::write(folder.join("tiny.toml"), TINY).unwrap();
    let run = answer(folder, &["run", "same.toml", "--out", "run", "--full", "-q", "--json"]);
    let [row] = &run["rows"].as_array().unwrap()[..] else { panic!("{run}") };
    let fast = ["--executor", "threads", "--mean-op", "200us", "--repetitions", "3", "--warm-up", "1"];
    let (row, found) = (columns(row), executed(folder, &columns(row), &fast));
    let filled = |row: &Columns| {
        row.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(filled(&found), filled(&row));
    for column in [
        "kinds",
        "memory",
        "scheduler",
        "executor",
        "status",
        "ops",
        "edges",
        "time_unit",
        "lower_bound",
        "bound",
        "hardware",
        "execution",
        "warm_ups",
        "repetitions",
        "assumptions_broken",
        "traffic_bytes",
        "planned_makespan",
        "speedup",
    ] {
        assert_eq!(found[column], row[column], "{column}");
    }
}

#[test]
fn place_alone_agrees_with_the_suite_default_whose_table_is_in_the_readme() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cells = "graph=dynamic_rnn,convnet placer=etf,heft,peft,tensorflow_default,dheft scheduler=pct,static,online numbering=0";
    let run = answer(folder, &["run", "default", "--where", cells, "--out", "run", "--full", "-q", "--json"]);
    let rows: Vec<Columns> = run["rows"].as_array().unwrap().iter().map(columns).collect();
    assert_eq!(rows.len(), 2 * (2 + 2 + 2 + 1 + 1), "three of the placers make a plan, one decides during the run");
    for row in rows {
        assert_eq!(row["kinds"], "accelerators_only");
        let [graph, placer, scheduler] = ["graph", "placer", "scheduler"].map(|column| row[column].as_str().unwrap());
        let args = ["place", graph, "--placer", placer, "--scheduler", scheduler, "--json"];
        assert_eq!(without_clocks(columns(&answer(folder, &args)["row"])), without_clocks(row.clone()));
    }
}
