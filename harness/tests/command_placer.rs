//! Placers that are programs: what they are given, what they may answer, and every way in which they can fail.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use placebench_algorithms::{ExternalFault, PlaceContext, PlaceError, Placer, StopToken};
use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, KindSet, Link, MemoryRule, OpId, OpSpec};
use placebench_harness::command_placer::{CommandPlacer, InstanceFormat, PlacerRequest, write_instance};
use placebench_harness::problem::{ClusterEntry, GraphEntry, Kinds, Problem};
use polars::prelude::*;

/// Four ops (1 and 2 are colocated, 3 needs a GPU), on `cpu`, `gpu0` and `gpu1` with memory for two outputs.
fn instance() -> Instance {
    let mut builder = GraphBuilder::default();
    let spec = |name: &'static str| OpSpec { name: Some(name), ..OpSpec::cost(8.0) };
    builder.add_op(OpSpec { times: &[("gpu", 0.5)], op_type: Some("Read, \"quoted\""), ..spec("in") }, &[5, 7]);
    builder.add_op(spec("left"), &[10]);
    builder.add_op(spec("right"), &[20]);
    builder.add_op(OpSpec { kinds: KindSet::only(Kind::Gpu), memory_bytes: 100, ..spec("out") }, &[]);
    builder.add_edge(OpId(0), 1, OpId(1)).unwrap();
    builder.add_edge(OpId(0), 0, OpId(2)).unwrap();
    builder.add_edge(OpId(2), 0, OpId(3)).unwrap();
    builder.add_control_edge(OpId(1), OpId(3)).unwrap();
    builder.colocate(OpId(1), OpId(2)).unwrap();
    let device = |name: &str, kind| Device { name: name.to_owned(), kind, memory_bytes: Some(150), speed: 2.0 };
    let devices = vec![device("cpu", Kind::Cpu), device("gpu0", Kind::Gpu), device("gpu1", Kind::Gpu)];
    let link = |from: placebench_datasets::DeviceId, _| Link { rate: f64::from(from.0 + 1), latency: 0.25 };
    let cluster = Cluster::new(devices, link).unwrap();
    let cluster = cluster.with_op_overheads(|device| f64::from(device.0) * 0.5).unwrap();
    let overheads = |from: placebench_datasets::DeviceId, to: placebench_datasets::DeviceId| {
        placebench_datasets::TransferOverheads::from_values([f64::from(from.0), 0.5, f64::from(to.0), 0.0])
    };
    let cluster = cluster.with_transfer_overheads(overheads).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

/// A placer that is a shell script; the instance's folder is its `$1`.
fn shell(script: &str) -> CommandPlacer {
    let command = ["sh", "-c", script, "placer"].map(str::to_owned).to_vec();
    CommandPlacer { name: "script".to_owned(), command, ..CommandPlacer::default() }
}

fn place(placer: &CommandPlacer) -> Result<Vec<u32>, PlaceError> {
    let decision = placer.place(&instance(), &PlaceContext::with_seed(7))?;
    Ok(decision.placement.devices().iter().map(|device| device.0).collect())
}

fn failure(placer: &CommandPlacer) -> (ExternalFault, String) {
    match place(placer) {
        Err(PlaceError::External { fault, message }) => (fault, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_gets_the_instance_and_answers_with_one_device_a_line() {
    let script = r#"
        test "$PLACEBENCH_SEED" = 7 || exit 10
        grep -q '"seed": 7' "$1/instance.json" || exit 11
        test "$(wc -l < "$1/ops.csv")" = 5 || exit 12
        echo progress >&2
        printf 'cpu\n1\r\ngpu0\n gpu1 \n'
    "#;
    assert_eq!(place(&shell(script)).unwrap(), [0, 1, 1, 2]);
}

#[test]
fn the_tables_have_all_that_a_placer_needs() {
    let folder = tempfile::tempdir().unwrap();
    let request = PlacerRequest { seed: u64::MAX, time_limit_seconds: Some(2.5), format: InstanceFormat::Csv };
    write_instance(folder.path(), &instance(), &request).unwrap();
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        text("ops.csv"),
        "id,name,type,layer,unit,kinds,ops,memory_bytes,cpu_time,gpu_time,tpu_time\n\
         0,in,\"Read, \"\"quoted\"\"\",,1,CPU|GPU|TPU,8.0,0,,0.5,\n\
         1,left,,,0,CPU|GPU|TPU,8.0,0,,,\n\
         2,right,,,0,CPU|GPU|TPU,8.0,0,,,\n\
         3,out,,,2,GPU,8.0,100,,,\n"
    );
    assert_eq!(text("units.csv"), "id,ops,kinds,demand_bytes\n0,2,CPU|GPU|TPU,42\n1,1,CPU|GPU|TPU,12\n2,1,GPU,120\n");
    assert_eq!(text("tensors.csv"), "id,producer,port,bytes\n0,0,0,5\n1,0,1,7\n2,1,0,10\n3,2,0,20\n");
    assert_eq!(text("edges.csv"), "source,target,tensor,bytes\n0,1,1,7\n0,2,0,5\n2,3,3,20\n1,3,,0\n");
    assert_eq!(
        text("devices.csv"),
        "id,name,kind,memory_bytes,speed,peak_limit_bytes,op_overhead,class\n0,cpu,CPU,150,2.0,150,0.0,cpu\n\
         1,gpu0,GPU,150,2.0,150,0.5,gpu\n2,gpu1,GPU,150,2.0,150,1.0,gpu\n"
    );
    assert_eq!(
        text("links.csv"),
        "from,to,rate,latency,send_overhead,send_overhead_per_byte,receive_overhead,receive_overhead_per_byte\n\
         0,1,1.0,0.25,0.0,0.5,1.0,0.0\n0,2,1.0,0.25,0.0,0.5,2.0,0.0\n1,0,2.0,0.25,1.0,0.5,0.0,0.0\n\
         1,2,2.0,0.25,1.0,0.5,2.0,0.0\n2,0,3.0,0.25,2.0,0.5,0.0,0.0\n2,1,3.0,0.25,2.0,0.5,1.0,0.0\n"
    );
    let facts: serde_json::Value = serde_json::from_str(&text("instance.json")).unwrap();
    assert_eq!((&facts["seed"], &facts["time_limit_seconds"]), (&u64::MAX.into(), &2.5.into()));
    assert_eq!(facts["memory"], "static");
    assert_eq!((&facts["ops"], &facts["units"], &facts["send_ops"]), (&4.into(), &3.into(), &0.0.into()));
}

#[test]
fn a_program_sees_narrowed_kinds_and_unlimited_memory_with_the_limit_of_the_peak() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = ClusterEntry {
        kinds: Some(Kinds::AcceleratorsOnly),
        memory: MemoryRule::Peak,
        ..ClusterEntry::named("gtx1080x1").unwrap()
    };
    let problem = Problem::new(&GraphEntry::named("lstm_lm").unwrap(), &cluster, 0).unwrap();
    let path = folder.path().join("instance");
    write_instance(&path, &problem.instance, &PlacerRequest::default()).unwrap();
    let text = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    let devices: Vec<String> = text("devices.csv").lines().skip(1).map(str::to_owned).collect();
    assert!(devices[0].starts_with("0,cpu0,CPU,,") && devices[0].ends_with(",384000000000,0.0,cpu"), "{}", devices[0]);
    assert!(devices[2].starts_with("2,gpu0,GPU,,") && devices[2].ends_with(",8589934592,0.0,gpu"), "{}", devices[2]);
    assert!(text("instance.json").contains("\"memory\": \"peak\""));
    // The ten ops that only a CPU can run stay there; everything else is for accelerators.
    let kinds = |sought: &str| text("ops.csv").lines().filter(|line| line.contains(sought)).count();
    assert_eq!((kinds(",CPU,"), kinds(",GPU|TPU,"), kinds(",CPU|GPU|TPU,")), (10, 4285, 0));
}

#[test]
fn parquet_has_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    for format in [InstanceFormat::Csv, InstanceFormat::Parquet] {
        let request = PlacerRequest { format, ..PlacerRequest::default() };
        let path = folder.path().join(if format == InstanceFormat::Csv { "csv" } else { "parquet" });
        write_instance(&path, &instance(), &request).unwrap();
    }
    for name in ["ops", "units", "tensors", "edges", "devices", "links"] {
        let csv = fs::read_to_string(folder.path().join("csv").join(name).with_extension("csv")).unwrap();
        let file = fs::File::open(folder.path().join("parquet").join(name).with_extension("parquet")).unwrap();
        let mut frame = ParquetReader::new(file).finish().unwrap();
        let mut text = Vec::new();
        CsvWriter::new(&mut text).finish(&mut frame).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), csv, "{name}");
    }
    let script = r#"test -s "$1/ops.parquet" && ! test -e "$1/ops.csv" && printf '1\n1\n1\n2\n'"#;
    let placer = CommandPlacer { format: InstanceFormat::Parquet, ..shell(script) };
    assert_eq!(place(&placer).unwrap(), [1, 1, 1, 2]);
}

#[test]
fn a_folder_with_something_in_it_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis"), "years of work").unwrap();
    let error = write_instance(folder.path(), &instance(), &PlacerRequest::default()).unwrap_err();
    assert!(error.to_string().ends_with("the folder is not empty: choose another"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn every_failure_is_one_line_with_the_last_words_of_the_program() {
    use ExternalFault::{Failed, Infeasible, Invalid};
    let cases = [
        (
            "echo a >&2; echo 'KeyError: x' >&2; exit 1",
            Failed,
            "exited with code 1; the last line of its stderr: KeyError: x",
        ),
        ("exit 4", Failed, "exited with code 4; it wrote nothing to stderr"),
        (
            "echo none fits >&2; exit 3",
            Infeasible,
            "found no feasible placement (exit code 3); the last line of its stderr: none fits",
        ),
        ("echo bye >&2; kill -SEGV $$", Failed, "was ended by signal 11 (SIGSEGV); the last line of its stderr: bye"),
        ("cat \"$1/nothing\"", Failed, "INSTANCE/nothing"),
        (
            "printf 'cpu\\ncpu\\n'; echo half >&2",
            Failed,
            "wrote 2 line(s) to standard output, but the graph has 4 op(s): one device a line, in the order of ops; the last line of its stderr: half",
        ),
        ("printf 'cpu\\ncpu\\ncpu\\ncpu\\ngpu0\\n'", Failed, "wrote 5 line(s)"),
        (
            "printf 'cpu\\ngpu9\\ncpu\\ncpu\\n'",
            Failed,
            "wrote 'gpu9' in line 2 of standard output, which is no device: did you mean 'gpu0'?",
        ),
        (
            "printf 'cpu\\ncpu\\ncpu\\ncpu\\n'; echo done >&2",
            Invalid,
            "wrote a placement that is not feasible: op 'out' may run only on GPU, but is placed on 'cpu', a CPU; the last line of its stderr: done",
        ),
        (
            "printf 'cpu\\ncpu\\ngpu0\\ngpu0\\n'",
            Invalid,
            "op 'left' and op 'right' are colocated, but placed on 'cpu' and 'gpu0'",
        ),
        (
            "printf 'gpu0\\ngpu0\\ngpu0\\ngpu0\\n'",
            Invalid,
            "the ops on 'gpu0' demand 174 B, not below its memory of 150 B",
        ),
    ];
    for (script, fault, expected) in cases {
        let (found, message) = failure(&shell(script));
        assert_eq!(found, fault, "{message}");
        assert!(message.starts_with("the placer's program ") && !message.contains('\n'), "{message}");
        assert!(message.contains(expected), "{message}\n   lacks   {expected}");
    }
}

#[test]
fn a_program_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text"), "no program").unwrap();
    let placer = |program: &str| CommandPlacer {
        command: vec![program.to_owned()],
        directory: Some(folder.path().to_owned()),
        ..shell("")
    };
    let cases = [
        (placer("no-such-program"), "'no-such-program' was not found: a name without '/' is looked for in PATH"),
        (placer("./nothing"), "'./nothing' was not found"),
        (placer("./text"), "'./text' may not be executed: make it executable"),
        (
            CommandPlacer { directory: Some("no/such".into()), ..shell("") },
            "its working directory 'no/such' does not exist",
        ),
        (CommandPlacer { command: Vec::new(), ..shell("") }, "command: give a program"),
        (CommandPlacer { command: vec!["a\0b".to_owned()], ..shell("") }, "cannot be run"),
    ];
    for (placer, expected) in cases {
        let (fault, message) = failure(&placer);
        assert_eq!(fault, ExternalFault::Failed);
        assert!(message.contains(expected), "{message}\n   lacks   {expected}");
        assert!(!message.contains("stderr"), "what did not run said nothing: {message}");
    }
}

#[test]
fn a_program_and_its_arguments_are_found_from_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.sh"), "printf '0\\n1\\n1\\n2\\n'").unwrap();
    std::os::unix::fs::symlink("/bin/sh", folder.path().join("shell")).unwrap();
    for program in ["sh", "./shell"] {
        let command = vec![program.to_owned(), "mine.sh".to_owned()];
        let placer = CommandPlacer { command, directory: Some(folder.path().to_owned()), ..shell("") };
        assert_eq!(place(&placer).unwrap(), [0, 1, 1, 2]);
    }
}

/// A script whose child writes to a file for as long as it lives.
fn with_heartbeat(path: &Path, rest: &str) -> String {
    let beat = format!("(while :; do echo x >> '{}'; sleep 0.02; done) &", path.display());
    format!("{beat} while ! test -s '{}'; do sleep 0.01; done; {rest}", path.display())
}

fn assert_no_heartbeat(path: &Path) {
    let length = || fs::metadata(path).unwrap().len();
    // What was on its way when the group was killed may still arrive.
    std::thread::sleep(Duration::from_millis(100));
    let before = length();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(length(), before, "something that the program started lives on");
}

#[test]
fn a_program_that_takes_too_long_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let beat = folder.path().join("beat");
    // What a child takes counts; a program that only waits has ten times as long.
    for rest in ["(while :; do :; done) & wait", "while :; do :; done", "sleep 1000"] {
        let script = with_heartbeat(&beat, &format!("echo 'step 12' >&2; {rest}"));
        let placer = CommandPlacer { time_limit_seconds: Some(0.3), ..shell(&script) };
        let (fault, message) = failure(&placer);
        assert_eq!(fault, ExternalFault::TimedOut);
        let expected = "the placer's program was killed: not done within 0.3 s of processor time, or 3 s by the clock; the last \
                        line of its stderr: step 12";
        assert_eq!(message, expected);
        assert_no_heartbeat(&beat);
        fs::remove_file(&beat).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_processor_time_of_a_program_counts_and_its_waiting_does_not() {
    let work = "i=0; while test $i -lt 200000; do i=$((i+1)); done";
    let answer = "printf '0\\n1\\n1\\n2\\n'";
    for (script, least) in [
        (format!("({work}); {work}; {answer}"), Duration::from_millis(20)),
        (format!("sleep 0.7; {answer}"), Duration::ZERO),
    ] {
        let context =
            PlaceContext { stop: StopToken::default().within(Duration::from_secs(100)), ..PlaceContext::default() };
        // A program that sleeps longer than its limit is in time.
        let placer = CommandPlacer { time_limit_seconds: (least == Duration::ZERO).then_some(0.5), ..shell(&script) };
        placer.place(&instance(), &context).unwrap();
        let spent = context.stop.spent();
        assert!(
            spent >= least && (least > Duration::ZERO || spent < Duration::from_millis(500)),
            "{script}: {spent:?}"
        );
    }
}

#[test]
fn a_program_that_dies_when_the_run_is_told_to_stop_has_no_result() {
    // Before the run has heard of it, and after.
    for delay in [Duration::from_millis(200), Duration::ZERO] {
        // HUP and INT are left out: who runs the tests may have them ignored, as nohup does.
        for script in ["kill -TERM $$", "sh -c 'kill -TERM $$'", "kill -KILL $$"] {
            let context = PlaceContext::default();
            let stop = context.stop.clone();
            let outcome = std::thread::scope(|scope| {
                let placing = scope.spawn(|| shell(script).place(&instance(), &context));
                std::thread::sleep(delay);
                stop.stop();
                placing.join().unwrap()
            });
            assert_eq!(outcome, Err(PlaceError::Stopped), "{script}");
        }
    }
}

#[test]
fn a_program_that_is_killed_or_told_to_end_is_interrupted_and_one_that_crashes_has_failed() {
    for script in ["kill -KILL $$", "sh -c 'kill -KILL $$'; exit $?"] {
        let (fault, message) = failure(&shell(script));
        assert_eq!(fault, ExternalFault::Interrupted, "{message}");
        assert!(message.contains("by the system, if it ran out of memory: memory_limit_mib"), "{message}");
    }
    let (fault, message) = failure(&shell("kill -TERM $$"));
    assert_eq!(fault, ExternalFault::Interrupted, "{message}");
    assert!(message.contains("was ended by signal 15 (SIGTERM): somebody told it to end"), "{message}");
    for script in ["kill -SEGV $$", "kill -ABRT $$"] {
        assert_eq!(failure(&shell(script)).0, ExternalFault::Failed);
    }
}

#[test]
fn the_callers_deadline_counts_too() {
    let context = PlaceContext {
        stop: StopToken::with_deadline(Instant::now() + Duration::from_millis(500)),
        ..PlaceContext::default()
    };
    match shell("sleep 1000").place(&instance(), &context) {
        Err(PlaceError::External { fault: ExternalFault::TimedOut, message }) => {
            assert!(message.contains("was killed: not done within the time limit"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_that_is_stopped_takes_its_programs_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let beat = folder.path().join("beat");
    let placer = shell(&with_heartbeat(&beat, "wait"));
    let context = PlaceContext::default();
    let stop = context.stop.clone();
    let outcome = std::thread::scope(|scope| {
        let placing = scope.spawn(|| placer.place(&instance(), &context));
        while !beat.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.stop();
        placing.join().unwrap()
    });
    assert_eq!(outcome, Err(PlaceError::Stopped));
    assert_no_heartbeat(&beat);
}

#[test]
fn what_a_program_leaves_running_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let beat = folder.path().join("beat");
    assert_eq!(place(&shell(&with_heartbeat(&beat, "printf '0\\n1\\n1\\n2\\n'"))).unwrap(), [0, 1, 1, 2]);
    assert_no_heartbeat(&beat);
}

#[test]
fn endless_output_is_cut_off() {
    let (fault, message) = failure(&shell("echo printing >&2; while :; do echo gpu0 gpu0 gpu0 gpu0 gpu0; done"));
    assert_eq!(fault, ExternalFault::Failed);
    assert!(message.contains("was killed: it wrote more than 65536 bytes to standard output"), "{message}");
    assert!(message.ends_with("printing"), "{message}");
}

#[test]
fn much_on_stderr_neither_blocks_nor_is_kept() {
    let script = "i=0; while test $i -lt 3000; do echo 'a line of a hundred characters or so, to fill the pipe more \
                  than once, and then some more' >&2; i=$((i+1)); done; printf '0\\n1\\n1\\n2\\n'";
    assert_eq!(place(&shell(script)).unwrap(), [0, 1, 1, 2]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_takes_too_much_memory_fails_and_the_limit_is_named() {
    let hog = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done";
    let placer = CommandPlacer { memory_limit_mib: Some(64), time_limit_seconds: Some(120.0), ..shell(hog) };
    let (fault, message) = failure(&placer);
    assert_eq!(fault, ExternalFault::Failed);
    assert!(message.contains("(with its memory limited to 64 MiB)"), "{message}");
    let modest = CommandPlacer { memory_limit_mib: Some(64), ..shell("printf '0\\n1\\n1\\n2\\n'") };
    assert_eq!(place(&modest).unwrap(), [0, 1, 1, 2]);
    let none = CommandPlacer { memory_limit_mib: Some(1 << 60), ..shell("printf '0\\n1\\n1\\n2\\n'") };
    assert_eq!(place(&none).unwrap(), [0, 1, 1, 2]);
}
