//! Nothing is lost, nothing hangs, and what is refused is refused in one line that a person understands.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{assert_one_line_error, placebench, text};

/// A suite of a folder of its own, with a relative graph file under two names of one file name, and a program.
const SUITE: &str = r#"
name = "own"
placers = ["heft", "random"]
[[placer]]
name = "mine"
command = ["sh", "mine.sh"]
[[graph]]
file = "g.csv"
name = "a/b"
[[graph]]
file = "g.csv"
name = "a:b"
[[cluster]]
preset = "tiny3"
"#;

const GRAPH: &str =
    "id,inputs,colocated,tensor_bytes,ops,memory_bytes,kinds\n0,,,6,26,41,ALL\n1,0,,88,50,87,ALL\n2,0,,8,5,8,ALL\n";

fn own_suite(folder: &Path, program: &str) {
    fs::create_dir(folder.join("s")).unwrap();
    fs::write(folder.join("s/own.toml"), SUITE).unwrap();
    fs::write(folder.join("s/g.csv"), GRAPH).unwrap();
    fs::write(folder.join("s/mine.sh"), program).unwrap();
}

const ALL_ON_ONE: &str = "printf 'cpu0\\ncpu0\\ncpu0\\n'";

#[test]
fn figures_of_a_run_with_files_and_programs_are_all_written_each_to_its_own_file() {
    let folder = tempfile::tempdir().unwrap();
    own_suite(folder.path(), ALL_ON_ONE);
    let output = placebench(folder.path(), &["run", "s/own.toml", "--out", "r", "-q"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = placebench(folder.path(), &["figure", "r"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let files: Vec<_> =
        fs::read_dir(folder.path().join("r/figures")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    for name in ["bars-makespan-a_b.svg", "bars-makespan-a_b-2.svg", "gantt-a_b-tiny3-heft-pct.svg"] {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    // One kind that fails takes no other with it.
    fs::remove_file(folder.path().join("s/g.csv")).unwrap();
    let output = placebench(folder.path(), &["figure", "r", "--kind", "gantt,bars", "--out", "f"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.starts_with("error: figure gantt: ") && said.contains("g.csv"), "{said}");
    assert!(folder.path().join("f/bars-makespan-a_b.svg").exists());
    let output = placebench(folder.path(), &["figure", "r", "--out", "all"]);
    assert!(output.status.success() && text(&output.stderr).starts_with("left out: figure gantt: "));
}

#[test]
fn what_does_not_fit_into_memory_is_refused_in_one_line_before_it_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let said = " of memory, and ";
    let grid = ["generate", "grid(side=65535)", "--out", "g.graph"];
    let within = |kibibytes: u32, args: &[&str]| {
        let mut command = Command::new("sh");
        let script = format!("ulimit -v {kibibytes}; exec {} \"$@\"", env!("CARGO_BIN_EXE_placebench"));
        command.args(["-c", &script, "sh"]).args(args).current_dir(folder.path()).output().unwrap()
    };
    // As on a machine of 8 GiB.
    let limited = |args: &[&str]| within(8 << 20, args);
    assert_one_line_error(&limited(&grid), said);
    assert_one_line_error(&limited(&["generate", "rmat(scale=31)", "--out", "g.graph"]), said);
    let geometric = ["generate", "random_geometric(vertices=4000000000)", "--out", "g.graph"];
    assert_one_line_error(&limited(&geometric), said);
    assert_one_line_error(&limited(&["generate", "laich1", "--ops", "3000000000", "--out", "g"]), said);
    assert_one_line_error(&limited(&["run", "--repetitions", "4294967295", "-q"]), "the suite's repetitions");
    let families = ["lu(tiles=100000)", "cholesky(tiles=4000000000)", "gauss(size=60000)", "layered(nodes=4000000000)"];
    let more = ["series_parallel", "out_tree", "in_tree", "fan_in_fan_out", "erdos_renyi"];
    let many = 1 << 20;
    let networks = [
        format!("transformer(layers={many}, heads=512)"),
        format!("transformer(layers={many}, experts=60000)"),
        format!("decoder(layers={many}, steps={many})"),
        format!("rnn(layers={many}, steps={many})"),
        format!("seq2seq(layers={many}, target={many})"),
        format!("pipeline(stages={many}, micro_batches={many})"),
        "tensor_parallel(workers=16384)".to_owned(),
    ];
    let families = families.map(str::to_owned).into_iter().chain(more.map(|name| format!("{name}(nodes=4000000000)")));
    for family in families.chain(networks) {
        let output = limited(&["generate", &family, "--out", "g.csv"]);
        let refused = text(&output.stderr);
        let is_refused = refused.contains(said) || refused.contains(": ids are 32-bit, so each must stay below");
        assert!(output.status.code() == Some(1) && refused.lines().count() == 1 && is_refused, "{family}: {refused}");
    }
    let search = "cross_entropy(samples=4000000000, budget=4000000000)";
    assert_one_line_error(&limited(&["place", "convnet", "-c", "gtx1080x2", "-p", search]), said);
    assert_one_line_error(&within(1 << 20, &["run", "--threads", "4096", "-q"]), "the stack of 4096 threads takes");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_damaged_table_of_results_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    own_suite(folder.path(), ALL_ON_ONE);
    assert!(placebench(folder.path(), &["run", "s/own.toml", "--out", "r", "-q"]).status.success());
    let table = folder.path().join("r/results.parquet");
    let good = fs::read(&table).unwrap();
    // Bytes of headers, of pages and of the footer, where lengths are.
    let step = good.len() / 40;
    for at in (4..good.len()).step_by(step) {
        let mut damaged = good.clone();
        damaged[at] ^= 0xff;
        damaged[(at + 1) % good.len()] ^= 0x7f;
        fs::write(&table, &damaged).unwrap();
        let output = placebench(folder.path(), &["table", "r"]);
        let said = text(&output.stderr);
        assert!(output.status.success() || output.status.code() == Some(1), "byte {at}: {said}");
        assert!(
            said.lines().count() <= 1 && !said.contains("panicked") && !said.contains("fault at"),
            "byte {at}: {said}"
        );
    }
}

#[test]
fn what_a_terminal_would_obey_is_shown_and_long_words_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let name = "\u{1b}[2Jgone";
    fs::write(folder.path().join("s.toml"), SUITE.replace("a/b", "\\u001b[2Jgone")).unwrap();
    fs::write(folder.path().join("g.csv"), GRAPH).unwrap();
    fs::write(folder.path().join("mine.sh"), ALL_ON_ONE).unwrap();
    let run = placebench(folder.path(), &["run", "s.toml", "--out", "r", "-q"]);
    assert!(run.status.success() && text(&run.stdout).contains("\\u{1b}[2Jgone"), "{}", text(&run.stdout));
    for args in [vec!["table", "r"], vec!["table", "r", "--format", "tex"], vec!["figure", "r"], vec!["place", name]] {
        let output = placebench(folder.path(), &args);
        for said in [text(&output.stdout), text(&output.stderr)] {
            assert!(!said.contains('\u{1b}'), "{args:?}: {said}");
        }
    }
    let long = "x".repeat(100_000);
    for args in
        [vec!["place", long.as_str()], vec!["run", &long], vec!["list", &long], vec!["place", "nmt", "-p", &long]]
    {
        let output = placebench(folder.path(), &args);
        assert!(!output.status.success() && output.stderr.len() < 2_000, "{}", output.stderr.len());
    }
}

#[test]
fn messages_name_the_place_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    let refused = |args: &[&str], expected: &str| assert_one_line_error(&placebench(folder.path(), args), expected);
    refused(&["generate", "laich1", "--out", "file/x"], "a part of this path is a file, not a folder");
    refused(&["inspect", "file/x"], "a part of this path is a file, not a folder");
    refused(&["run", "--out", "file/x", "-q"], "a part of this path is a file, not a folder");
    refused(&["place", "convnet", "-c", "laich7", "--devices", "99"], "has 7 devices, not 99: ask for 1 to 7");
    refused(&["place", "convnet", "-c", "laich7", "--devices", "0"], "has 7 devices, not 0: ask for 1 to 7");
    let limit = ["place", "resnet50", "-c", "gtx1080x4", "--memory", "unlimited", "--time-limit", "0.0001"];
    refused(&limit, "not done within the time limit of 0.0001 s");
    for args in [["partition", "convnet", "-k", "-3"], ["place", "convnet", "--seed", "-3"]] {
        let output = placebench(folder.path(), &args);
        assert!(text(&output.stderr).contains("invalid value '-3'"), "{}", text(&output.stderr));
    }
}

#[test]
fn no_file_is_written_over_another_and_what_is_named_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], expected: &str| assert_one_line_error(&placebench(folder.path(), args), expected);
    let run = ["run", "--where", "graph=lstm_lm placer=heft,random", "--quiet", "--out", "run"];
    assert!(placebench(folder.path(), &run).status.success());
    let before = fs::read(folder.path().join("run/results.parquet")).unwrap();
    refused(
        &["table", "run", "-f", "markdown", "-o", "run/results.parquet"],
        "run/results.parquet: belongs to a run: write to another file",
    );
    refused(&["report", "run", "--out", "run/suite.toml"], "run/suite.toml: belongs to a run");
    assert_eq!(fs::read(folder.path().join("run/results.parquet")).unwrap(), before);
    refused(&["place", "lstm_lm", "--placement", "a.csv", "--timeline", "a.csv"], "a.csv: is named twice");
    assert!(placebench(folder.path(), &["convert", "lstm_lm", "g.graphml"]).status.success());
    refused(&["place", "g.graphml", "--trace", "g.graphml"], "g.graphml: is read, too");
    refused(&["run", "--table", "nowhere/t.csv", "--out", "other"], "there is no folder nowhere: make it first");
    refused(
        &["place", "lstm_lm", "--trace", "nowhere/t.json"],
        "nowhere/t.json: there is no folder nowhere: make it first",
    );
    refused(&["place", "lstm_lm", "--timeline", "run"], "run: is a folder: write to a file");
    assert!(!folder.path().join("other").exists());
    let twice = placebench(folder.path(), &["rank", "run", "run"]);
    assert_eq!(text(&twice.stderr), "error: run: is named twice: name each run once\n");
    let twice = placebench(folder.path(), &["figure", "run", "--kind", "heat,heat", "--out", "f"]);
    assert!(text(&twice.stdout).ends_with("1 figure in f\n"), "{}", text(&twice.stdout));
    let unfinished = |args: &[&str]| text(&placebench(folder.path(), args).stderr).contains("run: is unfinished");
    assert!(!unfinished(&["table", "run"]) && !unfinished(&["rank", "run"]));
    fs::remove_file(folder.path().join("run/results.parquet")).unwrap();
    assert!(unfinished(&["table", "run"]) && unfinished(&["rank", "run"]));
    refused(&["place", "lstm", "--run", "run"], "the suite has no graph 'lstm': did you mean 'lstm_lm'?");
}

#[test]
fn the_command_alone_says_what_it_can_do_and_shells_and_man_know_its_verbs() {
    let folder = tempfile::tempdir().unwrap();
    let alone = placebench(folder.path(), &[]);
    assert!(alone.status.success());
    let said = text(&alone.stdout);
    assert!(said.lines().count() <= 10 && said.lines().all(|line| line.chars().count() <= 120), "{said}");
    assert!(said.contains("placebench run "), "{said}");
    for (args, expected) in [
        (&["completions", "bash"][..], "complete -F _placebench"),
        (&["completions", "zsh"], "#compdef placebench"),
        (&["man"], "placebench\\-run(1)"),
    ] {
        let output = placebench(folder.path(), args);
        assert!(output.status.success() && text(&output.stdout).contains(expected), "{}", text(&output.stdout));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn one_thing_is_listed_by_name_and_all_of_them_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let heft = text(&placebench(folder.path(), &["list", "placers", "heft"]).stdout);
    assert!(heft.starts_with("  heft ") && !heft.contains("peft") && heft.contains("Sources: L Laich 2017"), "{heft}");
    assert_one_line_error(&placebench(folder.path(), &["list", "placers", "hetf"]), "did you mean 'heft'?");
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&placebench(folder.path(), args).stdout).unwrap()
    };
    let all = json(&["list", "--json"]);
    assert!(all["graphs"].as_array().unwrap().iter().any(|graph| graph["name"] == "nmt"), "{all}");
    let one = json(&["list", "placers", "scoring", "--json"]);
    assert_eq!(one["placers"].as_array().unwrap().len(), 1);
    assert!(
        one["placers"][0]["details"].as_array().unwrap().iter().any(|detail| detail["name"] == "fringe=2"),
        "{one}"
    );
}

/// A running command that is killed in the end.
#[cfg(target_os = "linux")]
struct Running(std::process::Child);

#[cfg(target_os = "linux")]
impl Running {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
        command.args(args).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }

    fn end(mut self) -> Output {
        let status = self.0.wait().unwrap();
        let read = |pipe: Option<&mut dyn std::io::Read>| {
            let mut bytes = Vec::new();
            pipe.unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        };
        let stdout = read(self.0.stdout.as_mut().map(|pipe| pipe as &mut dyn std::io::Read));
        let stderr = read(self.0.stderr.as_mut().map(|pipe| pipe as &mut dyn std::io::Read));
        Output { status, stdout, stderr }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
fn until(met: impl Fn() -> bool) {
    while !met() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The process whose id a file holds runs.
#[cfg(target_os = "linux")]
fn runs(file: &Path) -> bool {
    let id = fs::read_to_string(file).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    stat.is_ok_and(|stat| !stat[stat.rfind(')').unwrap()..].starts_with(") Z"))
}

/// Starts a process in a session of its own that holds the pipes, then goes on with the rest.
#[cfg(target_os = "linux")]
fn with_escaped(rest: &str) -> String {
    format!(
        "setsid sh -c 'echo $$ >../escaped.new; mv ../escaped.new ../escaped; exec sleep 300' &\nwhile [ ! -e ../escaped ]; do sleep 0.02; done\n{rest}\n"
    )
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_program_leaves_in_a_session_of_its_own_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    own_suite(folder.path(), &with_escaped(ALL_ON_ONE));
    let args = ["run", "s/own.toml", "--out", "r", "-q", "--where", "placer=mine graph=a:b"];
    let output = placebench(folder.path(), &args);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(!runs(&folder.path().join("escaped")));
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_program_started_ends_when_placebench_is_killed_and_the_run_resumes() {
    let folder = tempfile::tempdir().unwrap();
    own_suite(folder.path(), &with_escaped("echo $$ >../own; sleep 300"));
    let args = ["run", "s/own.toml", "--out", "r", "-q", "--where", "placer=mine graph=a:b"];
    let running = Running::start(folder.path(), &args);
    let (own, escaped) = (folder.path().join("own"), folder.path().join("escaped"));
    until(|| own.exists() && escaped.exists());
    // A second process is refused as long as the first runs, and begins a run of its own where it may choose.
    assert_one_line_error(&placebench(folder.path(), &args), "another placebench is writing this run");
    running.signal("-KILL");
    running.end();
    until(|| !runs(&own) && !runs(&escaped));
    fs::write(folder.path().join("r/.results.parquet.4294967295-0.partial"), "half").unwrap();
    fs::write(folder.path().join("s/mine.sh"), ALL_ON_ONE).unwrap();
    let output = placebench(folder.path(), &args);
    assert!(
        text(&output.stderr).contains("has changed since this run began"),
        "the lock is gone: {}",
        text(&output.stderr)
    );
    assert!(placebench(folder.path(), &["table", "r"]).status.code() == Some(1), "no cell is done");
}

/// Runs the suite's own placer; answers with exit code, standard error, and the statuses of the rows that were kept.
#[cfg(target_os = "linux")]
fn kept(folder: &Path, args: &[&str]) -> (Option<i32>, String, Vec<String>) {
    let output = placebench(folder, args);
    (output.status.code(), text(&output.stderr), statuses(folder))
}

#[cfg(target_os = "linux")]
fn statuses(folder: &Path) -> Vec<String> {
    placebench::harness::runner::read_run(&folder.join("r")).unwrap().into_iter().map(|row| row.status).collect()
}

#[cfg(target_os = "linux")]
const OWN_RUN: [&str; 7] = ["run", "s/own.toml", "--out", "r", "-q", "--where", "placer=mine"];

#[cfg(target_os = "linux")]
#[test]
fn a_signal_to_the_whole_tree_leaves_no_row_and_the_run_resumes() {
    // Under nohup the run keeps ignoring that signal.
    let ignored = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    let is_hup_ignored = u64::from_str_radix(ignored, 16).unwrap() & 1 == 1;
    for (signal, delay) in [("-TERM", "0"), ("-INT", "0.1"), ("-HUP", "0.1")] {
        if signal == "-HUP" && is_hup_ignored {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        own_suite(
            folder.path(),
            "echo $$ >../own.new; mv ../own.new ../own; [ -e ../go ] || sleep 300; printf 'cpu0\\ncpu0\\ncpu0\\n'",
        );
        let running = Running::start(folder.path(), &OWN_RUN);
        until(|| folder.path().join("own").exists());
        // The program first: it dies before the run has heard of the signal. One shell sends both, so that on a busy machine,
        // too, the second comes long before the two seconds are over for which the run waits.
        let own = fs::read_to_string(folder.path().join("own")).unwrap();
        let both = format!("kill {signal} {}; sleep {delay}; kill {signal} {}", own.trim(), running.0.id());
        assert!(Command::new("sh").args(["-c", &both]).status().unwrap().success());
        let output = running.end();
        assert_eq!(output.status.code(), Some(130), "{signal}: {}", text(&output.stderr));
        assert_eq!(statuses(folder.path()), Vec::<String>::new(), "{signal}");
        fs::write(folder.path().join("go"), "").unwrap();
        let (code, said, statuses) = kept(folder.path(), &OWN_RUN);
        assert_eq!((code, statuses), (Some(0), vec!["ok".to_owned(); 2]), "{signal}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_system_kills_is_interrupted_and_the_same_command_runs_it_again() {
    let folder = tempfile::tempdir().unwrap();
    own_suite(folder.path(), "[ -e ../go ] || kill -KILL $$; printf 'cpu0\\ncpu0\\ncpu0\\n'");
    let (code, said, found) = kept(folder.path(), &OWN_RUN);
    assert_eq!((code, found), (Some(1), vec!["interrupted".to_owned(); 2]), "{said}");
    assert!(said.contains("r: the machine cut 2 of 2 cells short") && said.contains("memory_limit_mib"), "{said}");
    assert!(!folder.path().join("r/results.parquet").exists());
    fs::write(folder.path().join("go"), "").unwrap();
    let (code, said, found) = kept(folder.path(), &OWN_RUN);
    assert_eq!((code, found), (Some(0), vec!["ok".to_owned(); 2]), "{said}");
}

/// The program changes an input as an editor would while the run goes on.
#[cfg(target_os = "linux")]
#[test]
fn an_input_that_changes_while_the_run_goes_on_ends_it_with_its_name() {
    for file in ["g.csv", "mine.sh"] {
        let folder = tempfile::tempdir().unwrap();
        let change = format!("[ -e ../changed ] || {{ echo ' ' >>{file}; touch ../changed; }}");
        own_suite(folder.path(), &format!("{change}\nprintf 'cpu0\\ncpu0\\ncpu0\\n'"));
        let before = fs::read(folder.path().join("s").join(file)).unwrap();
        let (code, said, found) = kept(folder.path(), &OWN_RUN);
        assert_eq!((code, found.len()), (Some(1), 0), "{said}");
        assert!(said.starts_with(&format!("error: s/{file}: has changed while the run went on")), "{said}");
        // As it was, the run goes on.
        assert_one_line_error(
            &placebench(folder.path(), &OWN_RUN),
            &format!("s/{file} has changed since this run began"),
        );
        fs::write(folder.path().join("s").join(file), before).unwrap();
        let (code, said, found) = kept(folder.path(), &OWN_RUN);
        assert_eq!((code, found), (Some(0), vec!["ok".to_owned(); 2]), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_journal_that_is_damaged_in_the_middle_is_named_and_its_cell_runs_again() {
    let folder = tempfile::tempdir().unwrap();
    own_suite(folder.path(), ALL_ON_ONE);
    let args = ["run", "s/own.toml", "--out", "r", "-q"];
    assert!(placebench(folder.path(), &args).status.success());
    let journal = folder.path().join("r/cells.jsonl");
    let lines: Vec<String> = fs::read_to_string(&journal).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 6);
    let damaged = format!("{}\n{}\u{0}\u{0}\n{}\n", lines[0], &lines[1][..50], lines[2..].join("\n"));
    fs::write(&journal, damaged).unwrap();
    fs::remove_file(folder.path().join("r/results.parquet")).unwrap();
    let (code, said, found) = kept(folder.path(), &args);
    assert_eq!((code, found), (Some(0), vec!["ok".to_owned(); 6]), "{said}");
    assert!(said.contains("r/cells.jsonl:2: not a row (") && said.contains("its cell runs again"), "{said}");
    assert_eq!(fs::read_to_string(&journal).unwrap().lines().count(), 7);
}

#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_start_are_one_line_and_nothing_waits_for_them() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // The limit does not bind root, and another user's would count what else that user runs.
    let limited = |processes: usize, args: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60", "prlimit", &format!("--nproc={processes}")]);
        command.args(["setpriv", "--reuid=61234", "--regid=61234", "--clear-groups", env!("CARGO_BIN_EXE_placebench")]);
        command.args(args).current_dir(folder.path()).env_remove("RUST_BACKTRACE").output()
    };
    if !limited(1000, &["list", "suites"]).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: needs root, setpriv and prlimit");
        return;
    }
    let most = std::thread::available_parallelism().unwrap().get() + 12;
    for processes in 1..=most {
        let out = format!("r{processes}");
        let args = ["run", "--where", "placer=heft graph=convnet", "-q", "--out", &out];
        let output = limited(processes, &args).unwrap();
        let said = text(&output.stderr);
        // In a cell it is a row that says so.
        let is_line = said.lines().count() == 1 && said.starts_with("error: ") && !said.contains("fault at");
        let is_told = output.status.code() == Some(1) && is_line;
        assert!(output.status.success() || is_told, "{processes} processes: {:?} {said}", output.status);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_without_a_reader_ends_at_the_first_signal() {
    let folder = tempfile::tempdir().unwrap();
    own_suite(folder.path(), ALL_ON_ONE);
    assert!(Command::new("mkfifo").arg(folder.path().join("p.csv")).status().unwrap().success());
    let running = Running::start(folder.path(), &["run", "s/own.toml", "--out", "r", "-q", "--table", "p.csv"]);
    until(|| folder.path().join("r/results.parquet").exists());
    std::thread::sleep(Duration::from_millis(500));
    running.signal("-INT");
    let output = running.end();
    assert_eq!(output.status.code(), Some(130));
}
