//! Executors in Python: the protocol, spoken by a driver that executes nothing.

#![cfg(unix)]

mod common;

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::{assert_one_line_error, placebench, text};
use placebench::datasets::significant::bytes_text;
use placebench::harness::results::read_table;

/// A driver that answers as its first argument says.
const DRIVER: &str = r#"
import json, os, subprocess, sys, time
assert sys.argv[2:4] == ["-m", "placebench_extract"] and sys.argv[4] == "execute" and sys.argv[6] == "--problem", sys.argv
mode, name = sys.argv[1], sys.argv[5]
assert os.stat(sys.argv[7]).st_mode & 0o077 == 0, "the token is for nobody else"
problem = json.load(open(sys.argv[7]))
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
say("ready", hardware={"model": "M", "cores": 2, "gpus": [gpu], "software": f"{name} 1.0"})
if mode == "silent":
    sys.exit(0)
n, moves = len(problem["graph_ops"]), problem["transfers"]
assert problem["version"] == 1 and len(problem["token"]) == 64 and problem["hosts"] == [] and problem["traced"] == 3
assert problem["graph"] == "convnet" and problem["mode"] == "replay"
assert sorted(op for ops in problem["order"] for op in ops) == list(range(n))
assert all(problem["placement"][op] == device for device, ops in enumerate(problem["order"]) for op in ops)
assert all(set(t) == {"source", "output", "from", "to", "bytes"} for t in moves)
assert len(problem["devices"]) == 4 and problem["devices"][2]["kind"] == "gpu"
# One op after the other, in an order that all devices follow.
preds = {}
position = {op: i for ops in problem["order"] for i, op in enumerate(ops)}
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
for kind, count in [("warm_up", problem["warm_up"]), ("measured", problem["repetitions"]), ("traced", 3)]:
    for index in range(count):
        say("step", kind=kind, index=index, makespan_us=1e6 + index, load_others=0.25)
say("result", makespans_us=[1e6 + i for i in range(problem["repetitions"])], ops=ops, transfers=transfers,
    bytes=sum(t["bytes"] for t in moves), checked="results equal")
"#;

/// Executes convnet with the driver in this mode.
fn drive(folder: &Path, mode: &str, args: &[&str]) -> Output {
    let (driver, python) = (folder.join("driver.py"), folder.join("python"));
    std::fs::write(&driver, DRIVER).unwrap();
    std::fs::write(&python, format!("#!/bin/sh\nexec python3 '{}' {mode} \"$@\"\n", driver.display())).unwrap();
    let status = Command::new("chmod").arg("+x").arg(&python).status().unwrap();
    assert!(status.success());
    let graph = placebench::datasets::catalogue::load("convnet").unwrap().1;
    let edges = graph.op_ids().flat_map(|op| graph.successor_ops(op).iter().map(move |to| format!("{op},{to}\n")));
    std::fs::write(folder.join("edges.csv"), edges.collect::<String>()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
    command.args(["execute", "convnet", "-c", "gtx1080x2", "--executor", "jax", "-q"]).args(args);
    command.env("PLACEBENCH_PYTHON", &python).current_dir(folder).output().unwrap()
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
    ] {
        assert_one_line_error(&drive(folder.path(), mode, &[]), expected);
    }
}

#[test]
fn a_driver_that_hangs_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    assert_one_line_error(&drive(folder.path(), "hangs", &["--time-limit", "3"]), "timed_out: jax: stopped after 0 of");
    assert!(started.elapsed() < Duration::from_secs(60));
    let sleeper = std::fs::read_to_string(folder.path().join("sleeper")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z"), "{stat}");
}
