//! Executors in Python: the protocol, spoken by a driver that executes nothing.

#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output};

use crate::common::{assert_one_line_error, placebench, text};
use placebench::base::significant::bytes_text;
use placebench::harness::results::{Row, read_table};

/// A driver that answers as its first argument says.
const DRIVER: &str = r#"
import json, os, subprocess, sys, time
assert sys.argv[2:4] == ["-m", "placebench_extract"] and sys.argv[4] == "execute" and sys.argv[6] == "--problem", sys.argv
mode, name = sys.argv[1], sys.argv[5]
assert all(os.stat(path).st_mode & 0o077 == 0 for path in sys.argv[7::2]), "the token is for nobody else"
problems = [json.load(open(path)) for path in sys.argv[7::2]]
def say(event, **values):
    print(json.dumps({"event": event, **values}), flush=True)
if mode == "dies":
    print("Traceback: no such module", file=sys.stderr)
    sys.exit(3)
if mode == "killed":
    os.kill(os.getpid(), 9)
if mode == "hangs":
    sleeper = subprocess.Popen(["sleep", "600"])
    open("sleeper", "w").write(str(sleeper.pid))
    time.sleep(600)
if mode == "bad_json":
    print("hello")
    sys.exit(0)
if mode == "error":
    say("error", kind="memory", message="device 'gpu:0' has no memory left: use more devices")
    sys.exit(1)
gpu = {"name": "H100", "driver": "550.1", "clock_mhz": 1980}
say("ready", hardware={"model": "M", "cores": 2, "gpus": [gpu], "software": f"{name} 1.0", **({"transport": "tcp"} if mode == "slow" else {})})
if mode == "silent":
    sys.exit(0)
results = []
for problem in problems:
    n, moves = len(problem["graph_ops"]), problem["transfers"]
    assert problem["version"] == 1 and len(problem["token"]) == 64 and problem["hosts"] == [] and problem["traced"] == 3
    assert problem["transport"] == ("tcp" if mode == "slow" else "memory"), problem["transport"]
    assert problem["graph"] == "convnet" and problem["mode"] == "replay"
    assert sorted(op for ops in problem["order"] for op in ops) == list(range(n))
    assert all(problem["placement"][op] == device for device, ops in enumerate(problem["order"]) for op in ops)
    assert all(set(t) == {"source", "output", "from", "to", "bytes"} for t in moves)
    assert len(problem["devices"]) == 4 and problem["devices"][2]["kind"] == "gpu"
    if mode == "one_fails" and not moves:
        say("error", kind="kernel", message="op 7 is a fake")
        sys.exit(1)
    # One op after the other, in an order that all devices follow.
    preds = {}
    for line in open("edges.csv").read().split():
        a, b = map(int, line.split(","))
        preds.setdefault(b, []).append(a)
    queues, done, clock, ops = [list(ops) for ops in problem["order"]], set(), 0, [None] * n
    while len(done) < n:
        for queue in queues:
            while queue and all(p in done for p in preds.get(queue[0], [])):
                op = queue.pop(0)
                ops[op], clock = [clock, clock + 10], clock + 20
                done.add(op)
    transfers = [[ops[t["source"]][1], ops[t["source"]][1] + 5] for t in moves]
    if mode == "wrong_ops":
        ops = ops[1:]
    if mode == "early":
        transfers = [[0, 0] for _ in moves]
    results.append((ops, transfers, sum(t["bytes"] for t in moves)))
for kind, count in [("warm_up", problem["warm_up"]), ("measured", problem["repetitions"]), ("traced", 3)]:
    for index in range(count):
        for number in range(len(problems)):
            say("step", problem=number, kind=kind, index=index, makespan_us=1e6 + index, load_others=0.25)
for number, (ops, transfers, size) in enumerate(results):
    number += mode == "wrong_number"
    again = {"slow": {"slow": 2, "repeated": 7}, "again": {"slow": 0, "repeated": 3}}.get(mode, {})
    say("result", problem=number, **again, makespans_us=[1e6 * (1 + number) + i for i in range(problem["repetitions"])], ops=ops,
        transfers=transfers, bytes=size, checked="results equal")
"#;

/// Executes convnet with the driver in this mode.
fn drive(folder: &Path, mode: &str, args: &[&str]) -> Output {
    let execute = ["execute", "convnet", "-c", "gtx1080x2", "--executor", "jax", "-q"];
    with_driver(folder, mode).args(execute).args(args).output().unwrap()
}

/// The command with the driver in this mode.
fn with_driver(folder: &Path, mode: &str) -> Command {
    let (driver, python) = (folder.join("driver.py"), folder.join("python"));
    std::fs::write(&driver, DRIVER).unwrap();
    std::fs::write(&python, format!("#!/bin/sh\nexec python3 '{}' {mode} \"$@\"\n", driver.display())).unwrap();
    let status = Command::new("chmod").arg("+x").arg(&python).status().unwrap();
    assert!(status.success());
    let graph = placebench::datasets::catalogue::load("convnet").unwrap().1;
    let edges = graph.op_ids().flat_map(|op| graph.successor_ops(op).iter().map(move |to| format!("{op},{to}\n")));
    std::fs::write(folder.join("edges.csv"), edges.collect::<String>()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
    command.env("PLACEBENCH_PYTHON", &python).current_dir(folder);
    command
}

#[test]
fn what_a_driver_measures_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let output = drive(folder.path(), "answers", &["--repetitions", "5", "--table", "t.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let row = read_table(&folder.path().join("t.json")).unwrap().remove(0);
    assert_eq!((row.executor.as_str(), row.is_ok()), ("jax", true));
    assert_eq!(row.hardware.as_deref(), Some("M, 2 cores; H100, driver 550.1, 1980 MHz"));
    let moved = bytes_text(row.traffic_bytes.unwrap() as f64);
    assert_eq!(row.execution, Some(format!("jax 1.0, order replay, {moved} moved, results equal")));
    let times = (row.makespan_least, row.makespan, row.makespan_largest);
    assert_eq!(times, (Some(1.0), Some(1.000002), Some(1.000004)));
    assert_eq!((row.other_load, row.time_scale, row.repetitions), (Some(0.25), Some(1.0), Some(5)));
    assert!(row.predictions.get("one_port").unwrap().makespan.unwrap() > 0.0);
}

/// How tensors move, and steps on slow cores, are part of how a placement was executed.
#[test]
fn a_row_says_how_tensors_moved_and_what_ran_on_slow_cores() {
    let cases: [(&str, &[&str], [&str; 2]); 2] = [
        (
            "slow",
            &["--transport", "tcp"],
            ["order replay, transport tcp, ", "moved, 2 of 9 steps on a slow core, 7 run again, "],
        ),
        ("again", &[], ["order replay, ", "moved, 3 steps run again since a core was slow, results equal"]),
    ];
    for (mode, args, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = drive(folder.path(), mode, &[args, &["--table", "t.json"]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let execution = read_table(&folder.path().join("t.json")).unwrap().remove(0).execution.unwrap();
        assert!(expected.iter().all(|part| execution.contains(part)), "{execution}");
    }
}

/// A suite whose three placements take turns, with the driver in this mode.
fn rounds(mode: &str) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let suite = r#"
        name = "rounds"
        placers = ["single_device", "heft", "random"]
        schedulers = ["pct"]
        executors = ["simulate", "jax"]
        [[graph]]
        catalogue = "convnet"
        [[cluster]]
        preset = "gtx1080x2"
    "#;
    std::fs::write(folder.path().join("rounds.toml"), suite).unwrap();
    let output = with_driver(folder.path(), mode).args(["run", "rounds.toml", "-q", "--out", "r"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = read_table(&folder.path().join("r/results.parquet")).unwrap();
    rows.into_iter().filter(|row| row.executor.as_str() == "jax").collect()
}

#[test]
fn placements_of_one_graph_take_turns_in_one_run_of_the_driver() {
    let rows = rounds("answers");
    let makespans: Vec<_> = rows.iter().map(|row| (row.placer.as_str(), row.makespan)).collect();
    let expected = [("single_device", 1.000004), ("heft", 2.000004), ("random", 3.000004)];
    assert_eq!(makespans, expected.map(|(placer, makespan)| (placer, Some(makespan))));
    for row in rows {
        let execution = row.execution.unwrap();
        assert!(execution.contains("order replay, in turns with 2 others, "), "{execution}");
    }
}

#[test]
fn where_one_of_several_fails_the_others_are_measured_alone() {
    let rows = rounds("one_fails");
    assert_eq!(rows[0].error.as_deref(), Some("jax: kernel: op 7 is a fake"));
    for row in &rows[1..] {
        assert_eq!((row.is_ok(), row.makespan), (true, Some(1.000004)), "{:?}", row.error);
        assert!(!row.execution.as_ref().unwrap().contains("in turns"));
    }
}

#[test]
fn a_graph_without_real_ops_has_nothing_to_drive() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["execute", "laich1", "-c", "laich7", "--executor", "jax"];
    assert_one_line_error(&placebench(folder.path(), &args), "jax: graph 'laich1' has times in EU");
}

#[test]
fn a_driver_that_fails_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (mode, expected) in [
        ("dies", "jax: the driver ended with exit code 3: Traceback: no such module"),
        ("killed", "jax: the driver was killed by signal 9"),
        ("bad_json", "jax: line 1 of the driver's output is no event: "),
        ("error", "jax: memory: device 'gpu:0' has no memory left: use more devices"),
        ("silent", "jax: the driver ended without a result"),
        ("wrong_ops", "jax: the driver's result has 224 ops, not 225"),
        ("early", "transfer"),
        ("wrong_number", "jax: line 16 of the driver's output is of problem 1; there are 1"),
    ] {
        assert_one_line_error(&drive(folder.path(), mode, &[]), expected);
    }
}

#[test]
fn a_driver_that_hangs_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    assert_one_line_error(
        &drive(folder.path(), "hangs", &["--time-limit", "3"]),
        "not done within the time limit of 3 s: jax: stopped after 0 of",
    );
    let sleeper = std::fs::read_to_string(folder.path().join("sleeper")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z"), "{stat}");
}
