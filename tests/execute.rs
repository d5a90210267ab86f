//! `placebench execute`: placements that really run, and what happens when they cannot.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::{assert_one_line_error, placebench, text};
use placebench::harness::results::{Row, read_table};

/// Short enough for a test, and far below what is accurate.
const FAST: [&str; 6] = ["--mean-op", "200us", "--repetitions", "3", "--warm-up", "1"];

/// Runs that take minutes.
const LONG: [&str; 4] = ["--mean-op", "2ms", "--repetitions", "500"];

fn execute(folder: &Path, args: &[&str]) -> Output {
    placebench(folder, &[&["execute", "convnet", "-c", "gtx1080x2"], args].concat())
}

fn row(folder: &Path, args: &[&str]) -> (Output, Row) {
    let output = execute(folder, &[args, &["--table", "row.json"]].concat());
    let mut rows = read_table(&folder.join("row.json")).unwrap();
    assert_eq!(rows.len(), 1);
    (output, rows.remove(0))
}

#[test]
fn a_placement_is_executed_measured_and_compared_with_predictions_over_memory_and_over_sockets() {
    let folder = tempfile::tempdir().unwrap();
    for transport in ["memory", "tcp"] {
        let (output, row) = row(folder.path(), &[&FAST[..], &["--transport", transport]].concat());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{err}");
        assert!(err.starts_with("4 runs, about "), "{err}");
        for expected in ["measured on", "by contention_free", "by one_port", "by fair_share", "3 after 1 to warm up"] {
            assert!(out.contains(expected), "{out}\n   lacks   {expected}");
        }
        assert_eq!((row.executor.as_str(), row.status.as_str()), ("threads", "ok"));
        assert_eq!((row.warm_ups, row.repetitions), (Some(1), Some(3)));
        let (least, median, largest) = (row.makespan_least, row.makespan, row.makespan_largest);
        assert!(least <= median && median <= largest && least > Some(0.0), "{least:?} {median:?} {largest:?}");
        assert!(row.execution.unwrap().contains(&format!("transport {transport}")));
        for (model, prediction) in row.predictions.iter() {
            let (predicted, error) = (prediction.makespan.unwrap(), prediction.error.unwrap());
            assert!((error - (predicted / median.unwrap() - 1.0)).abs() < 1e-12, "{model}");
        }
        // Nobody is faster than the critical path; how much slower depends on what else the machine does.
        let free = row.predictions.get("contention_free").unwrap();
        assert!(free.error.unwrap() < 0.001, "{free:?}");
    }
}

#[test]
fn a_trace_shows_each_device_measured_above_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let output = execute(folder.path(), &[&FAST[..], &["--placer", "hashing", "--trace", "t.json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let trace: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |event: &&serde_json::Value| event["name"] == "process_name";
    let name = |event: &serde_json::Value| event["args"]["name"].as_str().unwrap().to_owned();
    let mut names: Vec<(u64, String)> =
        events.iter().filter(named).map(|event| (event["pid"].as_u64().unwrap(), name(event))).collect();
    names.sort();
    assert_eq!(names.len(), 8);
    for pair in names.chunks(2) {
        assert!(
            pair[0].1.ends_with("), measured") && pair[1].1.ends_with("), predicted by contention_free"),
            "{pair:?}"
        );
    }
    let ops = |process: u64| events.iter().filter(|e| e["cat"] == "op" && e["pid"] == process).count();
    assert!((0..4).all(|device| ops(2 * device) == ops(2 * device + 1)));
    assert_eq!((0..8).map(ops).sum::<usize>(), 450);
}

#[test]
fn sends_that_cost_something_are_tasks_of_the_sender() {
    let folder = tempfile::tempdir().unwrap();
    let suite = r#"
name = "sends"
placers = ["hashing"]
schedulers = ["fifo"]
executors = ["simulate", "threads"]

[execute]
mean_op = "100 us"
repetitions = 1
warm_up = 1

[[graph]]
catalogue = "convnet"

[[cluster]]
preset = "gtx1080x2"
send_ops = 10000.0
"#;
    std::fs::write(folder.path().join("sends.toml"), suite).unwrap();
    let output = placebench(folder.path(), &["run", "sends.toml", "--out", "run", "-q", "--table", "t.csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = read_table(&folder.path().join("t.csv")).unwrap();
    assert!(rows.iter().all(Row::is_ok));
    let names: Vec<&str> = rows.iter().map(|row| row.executor.as_str()).collect();
    assert_eq!(names, ["simulate", "threads"]);
    // The order is that of the simulated run, so that its makespan is what its network model predicts.
    let predicted = rows[1].predictions.get("contention_free").unwrap().makespan.unwrap();
    assert!((predicted / rows[0].makespan.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(rows[0].predictions.get("contention_free").unwrap().makespan, None);
    assert_eq!(rows[0].traffic_bytes, rows[1].traffic_bytes);
}

#[test]
fn what_cannot_be_executed_is_one_line_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], expected: &str| assert_one_line_error(&execute(folder.path(), args), expected);
    refused(&["--repetitions", "0"], "--repetitions: must be from 1 to 1000000");
    refused(&["--warm-up", "0"], "--warm-up: must be");
    refused(&["--placer", "cats"], "needs a placement before the run");
    refused(&["--order", "dynamic", "--transport", "tcp"], "the order dynamic needs the transport memory");
    refused(&["--hosts", "127.0.0.1:1"], "hosts need the transport tcp");
    refused(&["--transport", "tcp", "--hosts", "127.0.0.1:1", "-q"], "1 hosts are given for 4 devices");
    refused(
        &["--transport", "tcp", "--hosts", "slurm"],
        "--hosts slurm: SLURM_JOB_NODELIST is not set: run this in an",
    );
    refused(&["--time-limit", "0.5", "--mean-op", "1 s"], "left of the time limit: use fewer repetitions");
    refused(&["--table", "t.xls"], "t.xls: unknown kind of table");
    for args in [&["--virtual", "2"][..], &["--launch", "graph"]] {
        let remedy = "the executor threads has no such setting: leave it out, or use --executor cuda";
        refused(args, &format!("{}: {remedy}", args[0]));
    }
    for (executor, args, others) in [
        ("jax", &["--kernel", "compute"][..], "threads, cuda"),
        ("torch", &["--mean-op", "1ms"], "threads"),
        ("tensorflow", &["--transport", "tcp"], "threads, jax, torch"),
        ("simulate", &["--repetitions", "3"], "threads, jax, torch, tensorflow, cuda"),
        ("cuda", &["--oversubscribe"], "threads"),
    ] {
        let remedy = format!("the executor {executor} has no such setting: leave it out, or use --executor {others}");
        refused(&[&["--executor", executor], args].concat(), &format!("{}: {remedy}", args[0]));
    }
    #[cfg(not(feature = "cuda"))]
    refused(
        &["--executor", "cuda"],
        "cuda: this placebench was built without it: build it with 'cargo build --release",
    );
    #[cfg(feature = "cuda")]
    {
        refused(&["--executor", "cuda", "--order", "dynamic"], "cuda: the order dynamic is not possible on GPUs");
        refused(&["--executor", "cuda", "--hosts", "127.0.0.1:1"], "cuda: it uses the GPUs of this host alone");
        let driver = ["libcuda.so.1", "libcuda.so"].iter().any(|name| {
            ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"].iter().any(|at| Path::new(at).join(name).exists())
        });
        if !driver {
            refused(&["--executor", "cuda", "--virtual", "4"], "cuda: no CUDA driver was found (libcuda.so.1)");
        }
    }
    let compute = ["execute", "convnet", "-c", "t_fast210", "--kernel", "compute"];
    assert_one_line_error(
        &placebench(folder.path(), &compute),
        "needs an idle core a device, and there are 210 devices",
    );
    for (args, expected) in [
        (["--executor", "thread"], "did you mean 'threads'?"),
        (["--mean-op", "3"], "write a number and s, ms or us"),
        (["--transport", "tpc"], "did you mean 'tcp'?"),
        (["--launch", "grap"], "did you mean 'graph'?"),
    ] {
        let output = execute(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}

#[test]
fn a_run_that_would_take_too_long_is_a_row_and_the_suite_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let suite = r#"
name = "late"
time_limit_seconds = 20
placers = ["heft", "single_device"]
schedulers = ["pct"]
executors = ["threads", "simulate"]
execute = { mean_op = "1 s", repetitions = 100 }

[[graph]]
catalogue = "convnet"

[[cluster]]
preset = "gtx1080x2"
"#;
    std::fs::write(folder.path().join("late.toml"), suite).unwrap();
    let output = placebench(folder.path(), &["run", "late.toml", "--out", "run", "-q", "--table", "t.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = read_table(&folder.path().join("t.json")).unwrap();
    let status: Vec<(&str, &str)> = rows.iter().map(|row| (row.executor.as_str(), row.status.as_str())).collect();
    assert_eq!(status, [("threads", "error"), ("simulate", "ok"), ("threads", "error"), ("simulate", "ok")]);
    assert!(rows[0].error.as_ref().unwrap().contains("left of the time limit"), "{:?}", rows[0].error);
}

/// A command that runs until something happens to it.
struct Running {
    child: Child,
}

impl Running {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
        command.args(["execute", "convnet", "-c", "gtx1080x2"]).args(args).args(LONG).current_dir(folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It says how long it will take before it begins.
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        assert!(line.starts_with("502 runs"), "{line}");
        child.stderr = Some(stderr.into_inner());
        Self { child }
    }

    /// The processes that it started, as soon as there are `count`.
    fn children(&self, count: usize) -> Vec<u32> {
        let id = self.child.id();
        loop {
            let list = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
            let children: Vec<u32> = list.split_whitespace().map(|id| id.parse().unwrap()).collect();
            if children.len() == count {
                return children;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(id: u32, signal: &str) {
        assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
    }

    /// How it ended, and what it said; nothing that it started is left.
    fn end(self, children: &[u32]) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().unwrap();
        for child in children {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z"), "process {child} is left: {stat}");
        }
        (output.status.code(), text(&output.stderr))
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_it_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    for (transport, processes) in [("memory", 0), ("tcp", 4)] {
        let running = Running::start(folder.path(), &["--transport", transport]);
        let children = running.children(processes);
        Running::signal(running.child.id(), "-INT");
        let (code, said) = running.end(&children);
        assert_eq!(code, Some(130), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_dies_or_hangs_is_one_line_and_nothing_is_left_running() {
    let folder = tempfile::tempdir().unwrap();
    for (signal, expected) in [("-KILL", "it died"), ("-STOP", "no answer within")] {
        let running = Running::start(folder.path(), &["--transport", "tcp"]);
        let children = running.children(4);
        // The run has begun by then.
        std::thread::sleep(Duration::from_secs(4));
        Running::signal(children[2], signal);
        let (code, said) = running.end(&children);
        assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
        assert!(said.starts_with("error: threads: device '") && said.contains(expected), "{said}");
    }
}

#[test]
fn processes_that_were_started_by_hand_need_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let worker = |token: &str, listen: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
        command.args(["execute-worker", "--once", "--listen", listen]).env("PLACEBENCH_TOKEN", token);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (child, line.trim().strip_prefix("listening ").unwrap().to_owned())
    };
    let run = |token: &str, hosts: &[String]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
        command.args(["execute", "convnet", "-c", "gtx1080x2", "--transport", "tcp", "--hosts", &hosts.join(",")]);
        command.args(FAST).arg("-q").env("PLACEBENCH_TOKEN", token).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let ended = |run: Child| run.wait_with_output().unwrap();
    let token = "a token of this test";
    let (mut children, mut addresses): (Vec<Child>, Vec<String>) = (0..3).map(|_| worker(token, "127.0.0.1:0")).unzip();
    // The port of the fourth is free now; its process starts when it is called already.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    addresses.insert(0, free.clone());
    assert_one_line_error(&ended(run("short", &addresses)), "hosts need a token of at least 16 characters");
    let running = run(token, &addresses);
    std::thread::sleep(Duration::from_millis(300));
    children.push(worker("another token of this test", &free).0);
    assert_one_line_error(&ended(running), "does not know the token of this run");
    let mut stranger = children.pop().unwrap();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    let running = run(token, &addresses);
    std::thread::sleep(Duration::from_millis(300));
    children.push(worker(token, &free).0);
    let output = ended(running);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_run_keeps_what_measured_cells_did_when_and_figures_and_reports_show_it_above_the_prediction() {
    let folder = tempfile::tempdir().unwrap();
    let suite = r#"
name = "kept"
placers = ["hashing"]
schedulers = ["fifo"]
executors = ["simulate", "threads"]
repetitions = 2
execute = { mean_op = "100 us", repetitions = 2, warm_up = 1 }

[[graph]]
catalogue = "convnet"

[[cluster]]
preset = "gtx1080x2"
send_ops = 10000.0
"#;
    std::fs::write(folder.path().join("kept.toml"), suite).unwrap();
    let command = |args: &[&str]| {
        let output = placebench(folder.path(), args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    command(&["run", "kept.toml", "--out", "run", "-q"]);
    let files: Vec<_> = std::fs::read_dir(folder.path().join("run/timelines")).unwrap().map(|f| f.unwrap()).collect();
    assert_eq!(files.len(), 1, "one measured cell in its first repetition");

    command(&["figure", "run", "--kind", "gantt", "--cell", "convnet/hashing/fifo/threads"]);
    let name = "run/figures/gantt-convnet-gtx1080x2-hashing-fifo-threads.csv";
    let csv = std::fs::read_to_string(folder.path().join(name)).unwrap();
    let count = |run: &str, what: &str| {
        csv.lines().filter(|line| line.starts_with(run) && line.contains(&format!(",{what},"))).count()
    };
    assert!(csv.starts_with("run,device,task,what,layer,start_"), "{csv}");
    assert_eq!((count("measured: ", "op"), count("predicted by contention_free: ", "op")), (225, 225));
    assert!(count("measured: ", "send") > 0);
    assert_eq!(count("measured: ", "send"), count("predicted by contention_free: ", "send"));

    let page = |folder: &Path| {
        command(&["report", "run"]);
        let html = std::fs::read_to_string(folder.join("run/report.html")).unwrap();
        let (_, data) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
        serde_json::from_str::<serde_json::Value>(data.split_once("</script>").unwrap().0).unwrap()
    };
    // Rows are in the suite's order: both executors of the first repetition come first.
    let data = page(folder.path());
    let (simulated, measured) = (&data["timelines"]["0"], &data["timelines"]["1"]);
    assert_eq!(measured["measured"]["devices"].as_array().unwrap().len(), 4, "{measured}");
    assert!(measured["predicted"]["bins"] == measured["measured"]["bins"] && measured["span"].as_f64().unwrap() > 0.0);
    assert!(simulated["devices"].is_array() && simulated["measured"].is_null());

    std::fs::remove_file(files[0].path()).unwrap();
    let data = page(folder.path());
    assert!(data["refused"]["1"].as_str().unwrap().contains("keeps no measured timeline"), "{}", data["refused"]);
    let output = placebench(folder.path(), &["figure", "run", "-k", "gantt", "--cell", "convnet/hashing/fifo/threads"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("keeps no measured timeline"), "{}", text(&output.stderr));
}

/// What docs/examples/gpu.sh would run on a machine with GPUs: nobody has one here, so its commands are read.
#[test]
fn the_script_for_gpus_says_what_it_would_run() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/gpu.sh");
    let folder = tempfile::tempdir().unwrap();
    let commands = |gpus: &str| {
        let output = std::process::Command::new("bash")
            .args([script, "--dry-run", "out"])
            .env("GPUS", gpus)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        text(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let two = commands("2");
    for part in [
        "nvidia-smi: nvidia-smi",
        "--executor cuda --virtual 4 --launch commands --kernel wait",
        "--executor cuda --virtual 4 --launch graph --kernel compute",
        "--cluster out/gpus2.toml --placer heft --executor cuda --launch graph",
        "calibrate --executor torch --devices 0 --gpus 2",
        "calibrate --executor jax --devices 1 --gpus 2",
        "run out/jax-gpus/reality.toml",
        "tar -czf out.tar.gz out",
    ] {
        assert!(two.iter().any(|line| line.contains(part)), "no command has {part}: {two:#?}");
    }
    assert!(!commands("1").iter().any(|line| line.contains("gpus1.toml")), "one GPU is no two devices");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was run or written");
}
