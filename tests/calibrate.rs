//! `placebench calibrate`, with a driver that makes its numbers up.

#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output};

use crate::common::{assert_one_line_error, text};
use placebench::datasets::{DeviceId, MemoryRule};
use placebench::harness::suite::{RunPlan, Suite};

/// A driver that says of every op that it takes 1 ms on the first device and 3 ms on the second.
const DRIVER: &str = include_str!("common/calibration.py");

fn calibrate(folder: &Path) -> Output {
    let ops = placebench::datasets::catalogue::load("llama_inference").unwrap().1.op_count();
    let python = folder.join("python");
    let driver = folder.join("driver.py");
    std::fs::write(&driver, DRIVER.replace("OPS", &ops.to_string())).unwrap();
    std::fs::write(&python, format!("#!/bin/sh\nexec python3 '{}' \"$@\"\n", driver.display())).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&python).status().unwrap().success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
    command.args(["calibrate", "--devices", "2", "--graph", "llama_inference", "--anyway", "-o", "machine.toml"]);
    command.env("PLACEBENCH_PYTHON", &python).current_dir(folder).output().unwrap()
}

#[test]
fn a_calibration_writes_a_cluster_graphs_with_times_and_the_suite_that_executes_them() {
    let folder = tempfile::tempdir().unwrap();
    let output = calibrate(folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("placebench run machine/reality.toml"), "{}", text(&output.stdout));
    let plan = RunPlan::new(Suite::read(&folder.path().join("machine/reality.toml")).unwrap()).unwrap();
    assert!(plan.cells.iter().all(|&cell| plan.executors[cell.executor].entry.name == "jax"));
    assert!(plan.cells.len() > 20);
    let cluster = &plan.suite.clusters[0];
    assert_eq!(cluster.memory, MemoryRule::Unlimited);
    let problem = plan.problem(&plan.groups[0]).unwrap();
    assert_eq!(problem.instance.time_unit(), "seconds");
    let (graph, cluster) = (problem.instance.graph(), problem.instance.cluster());
    let overheads = cluster.transfer_overheads(DeviceId(0), DeviceId(1));
    assert!((overheads.send - 1e-5).abs() < 1e-12 && (overheads.receive - 2e-5).abs() < 1e-12);
    assert!((cluster.op_overhead(DeviceId(0)) - 1e-6).abs() < 1e-12);
    assert!((cluster.link(DeviceId(0), DeviceId(1)).rate - 1e9).abs() < 1e3);
    // Ops have one time a kind: the mean over its devices.
    assert!(graph.op_ids().all(|op| graph.measured_on("cpu").unwrap().of(op) == Some(2e-3)));
    assert_one_line_error(&calibrate(folder.path()), "machine.toml: exists: --force replaces it");
}

#[test]
fn measurements_of_before_make_a_cluster_again_with_and_without_what_steps_add() {
    let folder = tempfile::tempdir().unwrap();
    assert!(calibrate(folder.path()).status.success());
    let again = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
        command.args(["calibrate"]).args(args).current_dir(folder.path()).output().unwrap()
    };
    let file = folder.path().join("machine.json");
    let mut measured: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    // Transfers take 50 µs of the sender and 2 ns a byte, and 70 µs of the receiver, in steps whose ops take 1 ms.
    let steps: Vec<_> = [(1, 9), (5, 2), (7, 7), (0, 4), (3, 0)]
        .into_iter()
        .flat_map(|(sends, receives)| [1e3, 1e6].map(|bytes| (f64::from(sends), f64::from(receives), bytes)))
        .flat_map(|(sends, receives, bytes)| {
            [(0, 1), (1, 0)].map(|(device, peer)| {
                serde_json::json!({
                    "device": device, "peer": peer, "sends": sends as u64, "sent_bytes": (sends * bytes) as u64,
                    "receives": receives as u64, "received_bytes": (receives * bytes) as u64,
                    "busy_seconds": 1e-3 + 5e-5 * sends + 2e-9 * sends * bytes + 7e-5 * receives, "op_seconds": 1e-3,
                })
            })
        })
        .collect();
    measured["steps"] = steps.into();
    std::fs::write(&file, measured.to_string()).unwrap();
    let ends = |name: &str| {
        let cluster = placebench::datasets::format::read_cluster(folder.path().join(name)).unwrap();
        let overheads = cluster.transfer_overheads(DeviceId(0), DeviceId(1));
        [overheads.send, overheads.send_per_byte, overheads.receive, overheads.receive_per_byte]
    };
    let output = again(&["--from", "machine.json", "-o", "steps.toml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("in steps of random graphs"), "{}", text(&output.stdout));
    for (found, made) in ends("steps.toml").into_iter().zip([5e-5, 2e-9, 7e-5, 0.0]) {
        assert!((found - made).abs() <= 1e-6 * made + 1e-15, "{found} is not {made}");
    }
    assert!(again(&["--from", "machine.json", "--alone", "-o", "alone.toml"]).status.success());
    assert_eq!(ends("alone.toml"), ends("machine.toml"));
    assert_one_line_error(&again(&["--from", "machine.json", "-o", "alone.toml"]), "alone.toml: exists");
    assert_one_line_error(&again(&["--from", "none.json", "-o", "new.toml"]), "none.json: no such file");
    // Before anything is measured: there is no such program.
    std::fs::create_dir(folder.path().join("taken.toml")).unwrap();
    std::fs::write(folder.path().join("own"), "").unwrap();
    for (out, message) in [
        ("none/new.toml", "none/new.toml: there is no folder none: make it first"),
        ("own/new.toml", "own/new.toml: own is no folder: write elsewhere"),
        ("taken.toml", "taken.toml: is a folder: write to a file"),
        ("own.toml", "own: the graphs go into a folder of this name, but it is a file"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
        command.args(["calibrate", "--force", "-o", out]).current_dir(folder.path()).env("PLACEBENCH_PYTHON", "/none");
        assert_one_line_error(&command.output().unwrap(), message);
    }
    std::fs::write(&file, "{\"devices\": 3}").unwrap();
    let unusable = again(&["--from", "machine.json", "-o", "new.toml"]);
    assert_one_line_error(&unusable, "machine.json: no measurements of 'placebench calibrate'");
    assert!(!folder.path().join("new.toml").exists());
}
