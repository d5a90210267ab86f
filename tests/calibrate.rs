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
