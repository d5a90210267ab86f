//! All calls of the driver, against a driver made for the tests (`fake_libcuda.c`), each test in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use placebench_algorithms::{StopToken, schedulers::Fifo};
use placebench_datasets::{
    Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, PlacedGraph, Placement, splitmix64,
};
use placebench_execute_cuda::plan::order_of;
use placebench_execute_cuda::{CudaError, CudaExecutor, CudaOptions, CudaRun, Devices};
use placebench_harness::execute::simulate::{ContentionFree, simulate};
use placebench_harness::execute::{ExecutionError, Executor, Kernel, Order};
use placebench_harness::timeline::Interval;
use placebench_harness::validator::{Demands, validate};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::random::placed_instances;

/// Says to a process that it is the one with the driver.
const CHILD: &str = "PLACEBENCH_TEST_DRIVER";

/// A folder with the driver, and another one with cuBLAS beside it, compiled once.
fn driver_folder(cublas: bool) -> PathBuf {
    static FOLDERS: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    let build = || {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("driver-{}-{cublas}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        compile("fake_libcuda.c", &folder, "libcuda.so", &[]);
        if cublas {
            compile("fake_libcublas.c", &folder, "libcublas.so", &["-lcuda"]);
        }
        folder
    };
    FOLDERS[usize::from(cublas)].get_or_init(build).clone()
}

fn compile(source: &str, folder: &Path, library: &str, libraries: &[&str]) {
    let status = Command::new("cc")
        .args(["-std=c11", "-O1", "-shared", "-fPIC"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source))
        .arg("-o")
        .arg(folder.join(library))
        .arg("-L")
        .arg(folder)
        .args(libraries)
        .status();
    assert!(status.expect("a C compiler").success());
}

/// Runs `body` in a process of its own, in which the driver is loaded with these settings.
fn with_driver(test: &str, settings: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    run_child(test, &driver_folder(false), settings, body);
}

fn run_child(test: &str, folder: &Path, settings: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("driver::{test}"), "--nocapture", "--test-threads=1"])
        .env("LD_LIBRARY_PATH", folder)
        .env(CHILD, "1")
        .env("CUDA_DEVICE_MAX_CONNECTIONS", "32")
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{test} failed:\n{out}\n{err}");
}

/// a (1 ms) on device 0 sends 10,000 bytes to b (2 ms) on device 1.
fn chain(kind: Kind) -> (Instance, Placement) {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(1e-3), &[10_000]);
    let b = builder.add_op(OpSpec::cost(2e-3), &[]);
    builder.add_edge(a, 0, b).unwrap();
    let cluster = Cluster::uniform(2, kind, 1.0, Link { rate: 1e10, latency: 1e-6 }).unwrap();
    (Instance::new(builder.build().unwrap(), cluster).unwrap(), Placement::new(vec![DeviceId(0), DeviceId(1)]))
}

fn measure(options: CudaOptions, instance: &Instance, placement: &Placement) -> Result<CudaRun, CudaError> {
    let placed = PlacedGraph::new(instance, placement);
    let order = order_of(&placed, &simulate(&placed, &Fifo, None, &ContentionFree).unwrap());
    CudaExecutor::new(options)?.measure(&placed, &order, &StopToken::default())
}

fn measure_chain(options: CudaOptions) -> Result<CudaRun, CudaError> {
    let (instance, placement) = chain(Kind::Gpu);
    measure(options, &instance, &placement)
}

fn virtual_devices(count: usize) -> CudaOptions {
    CudaOptions { devices: Devices::Virtual(count), ..CudaOptions::default() }
}

fn assert_close(at: Interval, start: f64, end: f64) {
    assert!((at.start - start).abs() < 1e-9 && (at.end - end).abs() < 1e-9, "{at:?} is not {start}..{end}");
}

#[test]
fn virtual_devices_take_what_kernels_and_copies_take() {
    with_driver("virtual_devices_take_what_kernels_and_copies_take", &[], || {
        for graph in [false, true] {
            let run = measure_chain(CudaOptions { graph, ..virtual_devices(2) }).unwrap();
            assert_eq!(run.steps.len(), 9);
            for step in &run.steps {
                assert_close(step.ops[0], 0.0, 1e-3);
                assert_close(step.transfers[0], 1e-3, 1.002e-3);
                assert_close(step.ops[1], 1.002e-3, 3.002e-3);
                assert!((step.makespan() - 3.002e-3).abs() < 1e-9 && step.sends.is_empty());
            }
            assert!((run.timeline.makespan() - 3.002e-3).abs() < 1e-9);
        }
        let run = measure_chain(CudaOptions { seconds_per_unit: 2.0, ..virtual_devices(2) }).unwrap();
        assert!((run.steps[0].makespan() - 6.002e-3).abs() < 1e-9);
        assert!((run.timeline.makespan() - 3.001e-3).abs() < 1e-9);
    });
}

#[test]
fn clocks_of_two_gpus_are_brought_together() {
    with_driver("clocks_of_two_gpus_are_brought_together", &[("FAKE_GPUS", "2")], || {
        for graph in [false, true] {
            // The driver lets 2 µs pass when one GPU waits for another.
            let run = measure_chain(CudaOptions { graph, ..CudaOptions::default() }).unwrap();
            assert_close(run.steps[0].transfers[0], 1e-3, 1.002e-3);
            assert_close(run.steps[0].ops[1], 1.004e-3, 3.004e-3);
        }
        let executor = CudaExecutor::new(CudaOptions::default()).unwrap();
        assert_eq!(executor.hardware().to_string(), "Fake GPU 0; Fake GPU 1");
    });
}

#[test]
fn what_the_hardware_is_says_what_is_virtual_or_staged() {
    let settings = [("FAKE_GPUS", "2"), ("FAKE_PEER", "0")];
    with_driver("what_the_hardware_is_says_what_is_virtual_or_staged", &settings, || {
        let executor = CudaExecutor::new(virtual_devices(3)).unwrap();
        assert_eq!(executor.hardware().to_string(), "3 virtual devices on Fake GPU 0");
        let executor = CudaExecutor::new(virtual_devices(6)).unwrap();
        let text = "6 virtual devices on 32 hardware queues, fewer than streams, of Fake GPU 0";
        assert_eq!(executor.hardware().to_string(), text);
        let executor = CudaExecutor::new(CudaOptions::default()).unwrap();
        let ways = "; transfers from GPU 0 to 1 go through the host; transfers from GPU 1 to 0 go through the host";
        assert_eq!(executor.hardware().to_string(), format!("Fake GPU 0; Fake GPU 1{ways}"));
        assert!(measure_chain(CudaOptions::default()).is_ok());
    });
}

#[test]
fn random_graphs_run_validly_on_gpus_and_virtual_devices() {
    let settings = [("FAKE_GPUS", "4")];
    with_driver("random_graphs_run_validly_on_gpus_and_virtual_devices", &settings, || {
        let mut runner = TestRunner::deterministic();
        let once = CudaOptions { warm_ups: 0, repetitions: 2, seconds_per_unit: 1e-3, ..CudaOptions::default() };
        for round in 0..60 {
            let (instance, placement) = placed_instances().new_tree(&mut runner).unwrap().current();
            let placed = PlacedGraph::new(&instance, &placement);
            let devices = if round % 2 == 0 { Devices::Visible } else { Devices::Virtual(4) };
            let executor = CudaExecutor::new(CudaOptions { devices, graph: round % 4 < 2, ..once }).unwrap();
            let order = Order { scheduler: &Fifo, plan: None };
            let timeline = executor.execute(&placed, order, &StopToken::default()).unwrap();
            let measurement = timeline.measurement().unwrap();
            assert_eq!((measurement.makespans.len(), measurement.time_scale), (2, 1e-3));
            assert!(measurement.hardware.contains("Fake GPU 0"), "{measurement:?}");
            let ratio = measurement.least() / timeline.makespan();
            assert!((1.0 - 1e-9..1.0 + 1e-9).contains(&ratio), "{ratio}");
            assert_eq!(executor.demands(), Demands::Order);
            validate(&instance, &placement, &timeline.records(&placed), executor.demands()).unwrap();
            let lasts = |op| timeline.finish(op) - timeline.start(op) - placed.exec_time(op);
            assert!(instance.graph().op_ids().all(|op| lasts(op).abs() < 1e-4));
        }
    });
}

/// The clocks of neighbouring GPUs drift apart by 25 µs a second, and steps take seconds.
#[test]
fn timelines_are_valid_where_clocks_drift() {
    let test = "timelines_are_valid_where_clocks_drift";
    for drift in ["25", "-25"] {
        with_driver(test, &[("FAKE_GPUS", "4"), ("FAKE_DRIFT_PPM", drift)], || {
            let mut runner = TestRunner::deterministic();
            let options = CudaOptions { warm_ups: 0, repetitions: 1, ..CudaOptions::default() };
            for _ in 0..60 {
                let (instance, placement) = placed_instances().new_tree(&mut runner).unwrap().current();
                let placed = PlacedGraph::new(&instance, &placement);
                let order = Order { scheduler: &Fifo, plan: None };
                let executor = CudaExecutor::new(options).unwrap();
                let timeline = executor.execute(&placed, order, &StopToken::default()).unwrap();
                validate(&instance, &placement, &timeline.records(&placed), executor.demands()).unwrap();
                // 75 µs a second, twice.
                let allowed = 150e-6 * timeline.makespan() + 1e-4;
                let lasts = |op| timeline.finish(op) - timeline.start(op) - placed.exec_time(op);
                assert!(instance.graph().op_ids().all(|op| lasts(op).abs() < allowed));
            }
        });
        if std::env::var_os(CHILD).is_some() {
            break;
        }
    }
}

/// Links that carry what the cluster says, between devices of one clock: what is measured is what the simulator predicts, or
/// later where several transfers of a pair follow each other.
#[test]
fn random_graphs_take_what_the_simulator_predicts() {
    let settings = [("FAKE_LATENCY_NS", "0"), ("FAKE_RATE", "0.001")];
    with_driver("random_graphs_take_what_the_simulator_predicts", &settings, || {
        let mut runner = TestRunner::deterministic();
        let options = CudaOptions { warm_ups: 0, repetitions: 1, seconds_per_unit: 1e-3, ..virtual_devices(4) };
        let mut equal = 0;
        for round in 0..100 {
            let (instance, placement) = placed_instances().new_tree(&mut runner).unwrap().current();
            let count = instance.cluster().device_count();
            let cluster = Cluster::uniform(count, Kind::Gpu, 1.0, Link { rate: 1000.0, latency: 0.0 }).unwrap();
            let cluster = cluster.with_send_ops(instance.cluster().send_ops()).unwrap();
            let instance = Instance::new(instance.graph().clone(), cluster).unwrap();
            let placed = PlacedGraph::new(&instance, &placement);
            let predicted = simulate(&placed, &Fifo, None, &ContentionFree).unwrap();
            let run = measure(CudaOptions { graph: round % 2 == 0, ..options }, &instance, &placement).unwrap();
            // A transfer that waits for another one of its pair may still be in time.
            let late = run.timeline.makespan() - predicted.makespan();
            assert!(late > -1e-3, "{} instead of {}", run.timeline.makespan(), predicted.makespan());
            let mut pairs: Vec<_> = placed.transfers().iter().map(|transfer| (transfer.from, transfer.to)).collect();
            pairs.sort_unstable();
            if pairs.windows(2).all(|pair| pair[0] != pair[1]) {
                // 1 ns is 1e-6 units, and times are 32-bit milliseconds.
                let is_close = |op| (run.timeline.start(op) - predicted.start(op)).abs() < 1e-3;
                assert!(instance.graph().op_ids().all(is_close));
                equal += 1;
            }
        }
        assert!(equal > 20, "{equal} of 100 graphs have no pair with two transfers");
    });
}

#[test]
fn transfers_that_move_nothing_are_found() {
    with_driver("transfers_that_move_nothing_are_found", &[("FAKE_CORRUPT", "1")], || {
        let error = measure_chain(virtual_devices(2)).unwrap_err();
        assert!(matches!(&error, CudaError::WrongData { op, faults: 2, .. } if op == "op 1"), "{error}");
    });
}

#[test]
fn too_little_memory_is_refused_before_anything_is_allocated() {
    let trace = std::env::temp_dir().join(format!("placebench-{}.trace", splitmix64(u64::from(std::process::id()))));
    let trace = std::env::var("FAKE_TRACE").map_or(trace, PathBuf::from);
    let settings = [("FAKE_MEMORY", "20000"), ("FAKE_TRACE", trace.to_str().unwrap())];
    with_driver("too_little_memory_is_refused_before_anything_is_allocated", &settings, || {
        let error = measure_chain(virtual_devices(2)).unwrap_err();
        assert_eq!(error, CudaError::OutOfMemory { gpu: 0, needed: 2 * 10_240, free: 20_000 });
        let calls = std::fs::read_to_string(&trace).unwrap();
        assert!(calls.contains("cuMemGetInfo") && !calls.contains("cuMemAlloc"));
        std::fs::remove_file(&trace).unwrap();
    });
}

#[test]
fn a_stop_ends_a_run_that_is_on_its_way() {
    with_driver("a_stop_ends_a_run_that_is_on_its_way", &[("FAKE_BUSY", "2000"), ("FAKE_STRICT", "1")], || {
        let (instance, placement) = chain(Kind::Gpu);
        let placed = PlacedGraph::new(&instance, &placement);
        let executor = CudaExecutor::new(virtual_devices(2)).unwrap();
        let stop = StopToken::with_deadline(Instant::now() + Duration::from_millis(50));
        let order = Order { scheduler: &Fifo, plan: None };
        let error = executor.execute(&placed, order, &stop).unwrap_err();
        assert_eq!(error, ExecutionError::Interrupted { executor: "cuda", done: 0, runs: 11 });
        assert!(executor.execute(&placed, order, &StopToken::default()).is_ok());
    });
}

/// Ops of 1 µs in a chain; every tenth is on the other device.
fn short_ops(count: usize) -> (Instance, Placement) {
    let mut builder = GraphBuilder::default();
    let ops: Vec<_> = (0..count).map(|_| builder.add_op(OpSpec::cost(1e-6), &[1000])).collect();
    for pair in ops.windows(2) {
        builder.add_edge(pair[0], 0, pair[1]).unwrap();
    }
    let cluster = Cluster::uniform(2, Kind::Gpu, 1.0, Link { rate: 1e10, latency: 1e-6 }).unwrap();
    let placement = (0..count).map(|op| DeviceId(u32::from(op % 10 == 9))).collect();
    (Instance::new(builder.build().unwrap(), cluster).unwrap(), Placement::new(placement))
}

fn executed(options: CudaOptions, instance: &Instance, placement: &Placement) -> String {
    let placed = PlacedGraph::new(instance, placement);
    let order = Order { scheduler: &Fifo, plan: None };
    let timeline = CudaExecutor::new(options).unwrap().execute(&placed, order, &StopToken::default()).unwrap();
    timeline.measurement().unwrap().execution.clone()
}

/// The host takes 10 µs for each call, and an op 1 µs.
#[test]
fn short_ops_do_not_measure_the_host() {
    let settings = [("FAKE_CALL_NS", "10000"), ("FAKE_GPUS", "2")];
    with_driver("short_ops_do_not_measure_the_host", &settings, || {
        let (instance, placement) = short_ops(50);
        for devices in [Devices::Virtual(2), Devices::Visible] {
            // Transfers of 1000 bytes take 1.1 µs, and a GPU waits for another one for 2 µs.
            let crossings = 9.0 * (1.1e-6 + if devices == Devices::Visible { 2e-6 } else { 0.0 });
            let options = CudaOptions { devices, warm_ups: 0, ..CudaOptions::default() };
            let run = measure(options, &instance, &placement).unwrap();
            assert_eq!(run.held, Some(run.commands));
            // The first step loads kernels and is not held back: it takes what the host takes.
            assert!(run.steps[0].makespan() > 1e-3, "{}", run.steps[0].makespan());
            for step in &run.steps[1..] {
                assert!((step.makespan() - 50e-6 - crossings).abs() < 1e-9, "{}", step.makespan());
                assert!(!step.overdue);
            }
            let graph = measure(CudaOptions { graph: true, ..options }, &instance, &placement).unwrap();
            assert_eq!(graph.held, None);
            assert!((graph.steps[0].makespan() - run.steps[1].makespan()).abs() < 1e-9);
        }
        let text = executed(virtual_devices(2), &instance, &placement);
        let begin = "kernel wait, order replay, 95 commands a step, launched one by one, begun when all were issued, issued in ";
        assert!(text.starts_with(begin) && text.ends_with(" ms (median)"), "{text}");
        let text = executed(CudaOptions { graph: true, ..virtual_devices(2) }, &instance, &placement);
        assert!(text.contains("95 commands a step, launched as a CUDA graph, issued in "), "{text}");
    });
}

/// A stream takes in 1024 commands, and then the host waits until one is executed.
#[test]
fn a_step_that_does_not_fit_the_queues_begins_before_all_is_issued() {
    let settings = [("FAKE_CALL_NS", "1000"), ("FAKE_QUEUE", "1024")];
    with_driver("a_step_that_does_not_fit_the_queues_begins_before_all_is_issued", &settings, || {
        let (instance, placement) = short_ops(3000);
        let run = measure(virtual_devices(2), &instance, &placement).unwrap();
        assert!(run.held.is_some_and(|held| (200..run.commands).contains(&held)), "{:?}", run.held);
        assert!(run.steps.iter().all(|step| !step.overdue));
        let text = executed(virtual_devices(2), &instance, &placement);
        let begin = format!("launched one by one, begun after {}, since queues", run.held.unwrap());
        assert!(text.contains(&begin) && !text.contains("before that"), "{text}");
    });
}

/// A queue that is shorter than this executor believes: the host would wait for good.
#[test]
fn a_gate_that_the_host_cannot_open_opens_by_itself() {
    let settings = [("FAKE_QUEUE", "20")];
    with_driver("a_gate_that_the_host_cannot_open_opens_by_itself", &settings, || {
        let (instance, placement) = short_ops(50);
        let run = measure(virtual_devices(2), &instance, &placement).unwrap();
        assert!(run.steps.iter().all(|step| step.overdue));
        let text = executed(virtual_devices(2), &instance, &placement);
        assert!(text.contains(", 9 steps begun before that, after 2 s, issued in "), "{text}");
    });
}

/// A transfer of the second step fails, while the gate is shut. The driver of the tests aborts if a gate's limit passes.
#[test]
fn a_step_that_cannot_be_issued_leaves_no_gate_shut() {
    let settings = [("FAKE_FAIL_AFTER", "cuMemcpyDtoDAsync_v2 1"), ("FAKE_STRICT", "1")];
    with_driver("a_step_that_cannot_be_issued_leaves_no_gate_shut", &settings, || {
        let executor = CudaExecutor::new(virtual_devices(2)).unwrap();
        let (instance, placement) = chain(Kind::Gpu);
        let placed = PlacedGraph::new(&instance, &placement);
        let order = order_of(&placed, &simulate(&placed, &Fifo, None, &ContentionFree).unwrap());
        let error = executor.measure(&placed, &order, &StopToken::default()).unwrap_err();
        assert_eq!(error.to_string(), "the CUDA driver could not issue a transfer: a fault of the tests");
        assert!(executor.measure(&placed, &order, &StopToken::default()).is_ok());
    });
}

#[test]
fn virtual_devices_without_enough_hardware_queues_are_refused() {
    let settings = [("CUDA_DEVICE_MAX_CONNECTIONS", "8")];
    with_driver("virtual_devices_without_enough_hardware_queues_are_refused", &settings, || {
        assert!(CudaExecutor::new(virtual_devices(2)).is_ok());
        let error = CudaExecutor::new(virtual_devices(4)).err().unwrap();
        let text = "4 virtual devices need 16 hardware queues, and the driver has 8: set the environment variable \
                    CUDA_DEVICE_MAX_CONNECTIONS=32";
        assert_eq!(error.to_string(), text);
    });
}

#[test]
fn clusters_that_do_not_fit_are_refused() {
    with_driver("clusters_that_do_not_fit_are_refused", &[], || {
        let error = measure_chain(CudaOptions::default()).unwrap_err();
        assert_eq!(error, CudaError::TooFewGpus { cluster: 2, gpus: 1 });
        assert_eq!(measure_chain(virtual_devices(1)).unwrap_err(), CudaError::TooFewVirtual { cluster: 2, asked: 1 });
        let (instance, placement) = chain(Kind::Cpu);
        let error = measure(CudaOptions::default(), &instance, &placement).unwrap_err();
        assert_eq!(error, CudaError::NotGpu { device: "d0".to_owned(), kind: Kind::Cpu });
        assert!(measure(virtual_devices(2), &instance, &placement).is_ok());
        let error = measure_chain(CudaOptions { seconds_per_unit: 1e7, ..virtual_devices(2) }).unwrap_err();
        assert_eq!(error, CudaError::TooLong { task: "op 0".to_owned(), seconds: 1e4, most: 3600.0 });
        let error = measure_chain(CudaOptions { kernel: Kernel::Compute, ..virtual_devices(2) }).map(|_| ());
        assert!(matches!(error, Err(CudaError::NoCublas | CudaError::Cublas(_))), "{error:?}");
    });
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for options in [
        CudaOptions { seconds_per_unit: 0.0, ..CudaOptions::default() },
        CudaOptions { seconds_per_unit: f64::NAN, ..CudaOptions::default() },
        CudaOptions { repetitions: 0, ..CudaOptions::default() },
        virtual_devices(0),
    ] {
        assert!(matches!(CudaExecutor::new(options), Err(CudaError::Options(_))), "{options:?}");
    }
}

#[test]
fn a_driver_that_fails_ends_in_one_line() {
    let test = "a_driver_that_fails_ends_in_one_line";
    for (function, what) in [
        ("cuInit", "start"),
        ("cuModuleLoadData", "compile the kernels"),
        ("cuMemAlloc_v2", "allocate memory"),
        ("cuMemHostAlloc", "allocate memory of the host"),
        ("cuLaunchKernel", "hold a step back"),
        ("cuMemcpyDtoDAsync_v2", "issue a transfer"),
        ("cuStreamWaitEvent", "let a stream wait"),
        ("cuEventElapsedTime", "read a time"),
        ("cuGraphLaunch", "launch a captured step"),
        ("cuStreamEndCapture", "capture a step"),
    ] {
        with_driver(test, &[("FAKE_FAIL", function), ("WHAT", what)], || {
            let expected = std::env::var("WHAT").unwrap();
            let graph = expected.contains("captur");
            let error = measure_chain(CudaOptions { graph, ..virtual_devices(2) }).unwrap_err();
            let text = format!("the CUDA driver could not {expected}: a fault of the tests");
            assert_eq!(error.to_string(), text);
        });
        if std::env::var_os(CHILD).is_some() {
            break;
        }
    }
}

#[test]
fn an_old_driver_is_refused() {
    with_driver("an_old_driver_is_refused", &[("FAKE_VERSION", "11020")], || {
        let error = CudaExecutor::new(CudaOptions::default()).err().unwrap();
        let text = "the CUDA driver is too old (it is for CUDA 11.2): install one for CUDA 11.4 or later";
        assert_eq!(error.to_string(), text);
    });
}

#[test]
fn real_kernels_take_what_products_and_copies_take() {
    let test = "real_kernels_take_what_products_and_copies_take";
    let body = || {
        // a: 2 · 100³ operations, and writes 10,000 bytes; b: 1,000 operations, and reads as many.
        let mut builder = GraphBuilder::default();
        let a = builder.add_op(OpSpec::cost(2e6), &[10_000]);
        let b = builder.add_op(OpSpec::cost(2e3), &[]);
        builder.add_edge(a, 0, b).unwrap();
        let cluster = Cluster::uniform(2, Kind::Gpu, 1.0, Link { rate: 1e10, latency: 1e-6 }).unwrap();
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let placement = Placement::new(vec![DeviceId(0), DeviceId(1)]);
        for graph in [false, true] {
            let options = CudaOptions { kernel: Kernel::Compute, graph, ..virtual_devices(2) };
            let step = &measure(options, &instance, &placement).unwrap().steps[0];
            // 1 TFLOP/s; a copy of half of the bytes at 10 GB/s after 1 µs; the transfer.
            assert_close(step.ops[0], 0.0, 2e-6 + 1.5e-6);
            assert_close(step.transfers[0], 3.5e-6, 5.5e-6);
            assert_close(step.ops[1], 5.5e-6, 5.5e-6 + 2e-9 + 1.5e-6);
        }
    };
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    run_child(test, &driver_folder(true), &[], body);
}

#[test]
fn a_machine_without_gpu_is_refused() {
    with_driver("a_machine_without_gpu_is_refused", &[("FAKE_GPUS", "0")], || {
        assert_eq!(CudaExecutor::new(CudaOptions::default()).err(), Some(CudaError::NoGpu));
    });
}

#[test]
fn a_machine_without_driver_is_refused_in_one_line() {
    let nowhere = tempfile::tempdir().unwrap();
    run_child("a_machine_without_driver_is_refused_in_one_line", nowhere.path(), &[], || {
        match CudaExecutor::new(CudaOptions::default()).err() {
            Some(error @ CudaError::NoDriver) => assert_eq!(
                error.to_string(),
                "no CUDA driver was found (libcuda.so.1): install NVIDIA's driver, or use --executor threads"
            ),
            other => println!("this machine has a driver: {other:?}"),
        }
    });
}
