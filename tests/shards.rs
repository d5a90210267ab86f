//! `placebench run --shard` and `--launcher local`: whatever happens to shards, no cell is lost, none is there twice, and the
//! table is that of a run in one process.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{assert_one_line_error, placebench, text};
use placebench::harness::results::Row;
use placebench::harness::runner::read_run;

/// Twelve graphs of six cells. The program makes a graph take a quarter of a second: time to do something to a shard.
const SUITE: &str = include_str!("common/sharded.toml");

const SLOW: &str = include_str!("common/slow.sh");

/// The files in a folder, with what they hold.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    files
        .into_iter()
        .map(|(path, bytes)| (path.strip_prefix(folder).map_or(path.clone(), Path::to_owned), bytes))
        .collect()
}

/// A folder with the suite, and the table that one process makes of it.
fn study() -> (tempfile::TempDir, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), SUITE).unwrap();
    fs::write(folder.path().join("slow.sh"), SLOW).unwrap();
    let output = placebench(folder.path(), &["run", "s.toml", "-q", "--threads", "8", "--out", "whole"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = table(&folder.path().join("whole"));
    assert_eq!(rows.len(), 72);
    (folder, rows)
}

/// The rows of a complete run, without what depends on clock and machine.
fn table(run: &Path) -> Vec<Row> {
    assert!(run.join("results.parquet").exists(), "{} is not complete", run.display());
    let plain = |row: Row| {
        assert!(row.host.is_some() && row.processor.is_some());
        let (host, processor, commit) = (None, None, None);
        let (place_seconds, simulate_seconds, peak_rss_bytes) = (None, None, None);
        Row { place_seconds, simulate_seconds, peak_rss_bytes, host, processor, commit, ..row }
    };
    read_run(run).unwrap().into_iter().map(plain).collect()
}

fn start(folder: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_placebench"));
    command.args(args).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until something is there, however busy the machine is.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        sleep(Duration::from_millis(5));
    }
}

fn parts(run: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run.join("parts")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect()
}

/// Complete lines of all parts, headers not counted.
fn lines(run: &Path) -> usize {
    let lines = |path: &PathBuf| fs::read_to_string(path).unwrap().matches('\n').count().saturating_sub(1);
    parts(run).iter().map(lines).sum()
}

fn kill(pid: &str, signal: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

/// While it lives, no shard ends: the program of a placer waits.
struct Hold(PathBuf);

impl Hold {
    fn new(folder: &Path) -> Self {
        let path = folder.join("hold");
        fs::write(&path, "").unwrap();
        Self(path)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// The process that runs a shard of the run in a folder.
fn pid_of_shard(run: &Path, shard: &str) -> Option<String> {
    let run = fs::canonicalize(run).ok()?;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<String> = command.split(|&byte| byte == 0).map(text).collect();
        if words.iter().any(|word| Path::new(word) == run) && words.iter().any(|word| word == shard) {
            return entry.file_name().into_string().ok();
        }
    }
    None
}

#[test]
fn shards_run_by_hand_make_the_table_of_one_process() {
    let (folder, expected) = study();
    let run = folder.path().join("run");
    let shard = |shard: &str| placebench(folder.path(), &["run", "s.toml", "--out", "run", "--shard", shard]);
    for index in [3, 1] {
        let output = shard(&format!("{index}/3"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), format!("shard {index}/3: 24 cells: run\n"));
        assert!(!run.join("results.parquet").exists());
    }
    // An unfinished run is reported as far as it is.
    assert_eq!(read_run(&run).unwrap().len(), 48);
    let before = fs::read_to_string(run.join("parts/cells.1-of-3.1.jsonl")).unwrap();
    assert!(shard("1/3").status.success(), "a shard that is done has nothing left to do");
    assert_eq!(fs::read_to_string(run.join("parts/cells.1-of-3.2.jsonl")).unwrap().lines().count(), 1);
    assert_eq!(fs::read_to_string(run.join("parts/cells.1-of-3.1.jsonl")).unwrap(), before);
    // The last is cut off in the middle of a line, and the run goes on in one process.
    let output = shard("2/3");
    assert_eq!(text(&output.stdout), "shard 2/3: 24 cells; the last: the table is written: run\n");
    assert_eq!(table(&run), expected);
    fs::remove_file(run.join("results.parquet")).unwrap();
    let part = run.join("parts/cells.2-of-3.1.jsonl");
    let torn = fs::read_to_string(&part).unwrap();
    fs::write(&part, &torn[..torn.len() / 2]).unwrap();
    let output = placebench(folder.path(), &["run", "--resume", "run", "-q"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(fs::read_to_string(run.join("cells.jsonl")).unwrap().lines().count() >= 10);
    assert_eq!(table(&run), expected);
    let output = shard("2/3");
    assert!(output.status.success(), "a shard that is started after the run's end: {}", text(&output.stderr));
}

#[test]
fn the_same_shard_twice_at_once_and_one_killed_lose_nothing_and_double_nothing() {
    let (folder, expected) = study();
    let run = folder.path().join("run");
    let args = |shard| ["run", "s.toml", "--out", "run", "-q", "--threads", "1", "--shard", shard];
    // The folder is not there yet: all of them make it.
    let mut children: Vec<Child> = ["1/2", "1/2", "2/2", "2/2"].map(|shard| start(folder.path(), &args(shard))).into();
    wait_for(|| (parts(&run).len() == 4 && lines(&run) > 8).then_some(()));
    children[2].kill().unwrap();
    for (index, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.success(), index != 2, "{}", text(&output.stderr));
    }
    assert!(lines(&run) > 72, "no cell was run twice: the test says nothing");
    assert_eq!(table(&run), expected);
}

#[test]
fn a_shard_on_a_full_disk_fails_in_one_line_and_its_cells_are_run_elsewhere() {
    let (folder, expected) = study();
    let run = folder.path().join("run");
    // Files may have 8 blocks of 512 bytes: the write that goes beyond is cut short, then fails, as on a full disk.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" run s.toml --out run -q --threads 1 --shard 1/2";
    let output = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_placebench")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_one_line_error(&output, "error: run/parts/cells.1-of-2.1.jsonl: file too large");
    let part = fs::read_to_string(run.join("parts/cells.1-of-2.1.jsonl")).unwrap();
    assert!(!part.ends_with('\n'), "the last line is torn");
    for shard in ["1/2", "2/2"] {
        let output = placebench(folder.path(), &["run", "s.toml", "--out", "run", "-q", "--shard", shard]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(table(&run), expected);
}

#[test]
fn the_local_launcher_starts_a_killed_shard_again_and_makes_the_table_of_one_process() {
    let (folder, expected) = study();
    let run = folder.path().join("run");
    let args = ["run", "s.toml", "--out", "run", "--launcher", "local", "--shards", "4", "--threads", "2"];
    let hold = Hold::new(folder.path());
    let child = start(folder.path(), &args);
    let pid = wait_for(|| pid_of_shard(&run, "2/4"));
    // A shard that is killed before it has a part leaves the name of the first to the next attempt.
    wait_for(|| run.join("parts/cells.2-of-4.1.jsonl").exists().then_some(()));
    wait_for(|| (lines(&run) > 0).then_some(()));
    kill(&pid, "-9");
    drop(hold);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(table(&run), expected);
    assert!(run.join("parts/cells.2-of-4.2.jsonl").exists(), "the shard was not started again");
    assert!(text(&output.stderr).contains("72/72 cells"), "{}", text(&output.stderr));
}

#[test]
fn ctrl_c_stops_the_local_launcher_with_its_shards_and_the_run_goes_on_later_in_other_shards() {
    let (folder, expected) = study();
    let run = folder.path().join("run");
    let hold = Hold::new(folder.path());
    let child = start(folder.path(), &["run", "s.toml", "--out", "run", "-q", "--launcher", "local", "--shards", "3"]);
    wait_for(|| (lines(&run) > 0).then_some(()));
    kill(&child.id().to_string(), "-INT");
    let output = child.wait_with_output().unwrap();
    drop(hold);
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("to go on: placebench run --resume /"), "{}", text(&output.stderr));
    assert!((1..=3).all(|index| pid_of_shard(&run, &format!("{index}/3")).is_none()), "a shard goes on");
    let done = lines(&run);
    assert!(done > 0 && done < 72);
    let args = ["run", "--resume", "run", "-q", "--launcher", "local", "--shards", "5"];
    let output = placebench(folder.path(), &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(lines(&run), 72, "what was done is not done again");
    assert_eq!(table(&run), expected);
}

#[test]
fn a_shard_that_never_gets_anywhere_ends_the_run_with_its_last_words() {
    let (folder, _) = study();
    let seed = ["run", "s.toml", "--out", "run", "-q", "--shard", "1/2"];
    assert!(placebench(folder.path(), &seed).status.success());
    // No file may be longer than 512 bytes: not even the first line of a part can be written.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" run --resume run -q --launcher local --shards 2";
    let output = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_placebench")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    let expected = "error: shard 2 ended 3 times without finishing anything; it said: error: ";
    assert!(stderr.contains(expected) && stderr.contains("cells.2-of-2.3.jsonl: file too large"), "{stderr}");
    assert_eq!(lines(&folder.path().join("run")), 36);
}

#[test]
fn parts_of_another_commit_and_arguments_that_do_not_go_together_are_refused() {
    let (folder, _) = study();
    let run = folder.path().join("run");
    let shard = |shard: &str| placebench(folder.path(), &["run", "s.toml", "--out", "run", "-q", "--shard", shard]);
    assert!(shard("1/2").status.success());
    let part = run.join("parts/cells.1-of-2.1.jsonl");
    let other = fs::read_to_string(&part).unwrap().replacen("\"version\":\"", "\"version\":\"9", 1);
    fs::write(&part, other).unwrap();
    let expected =
        "parts/cells.1-of-2.1.jsonl: holds cells of another version of placebench: delete it to run them again";
    assert_one_line_error(&shard("1/2"), expected);
    assert_one_line_error(&placebench(folder.path(), &["run", "--resume", "run"]), expected);
    let environment = fs::read_to_string(run.join("environment.toml")).unwrap();
    fs::write(run.join("environment.toml"), environment.replacen("version = \"", "version = \"9", 1)).unwrap();
    assert_one_line_error(&shard("1/2"), "run: holds a run of another version of placebench");
    for (args, expected) in [
        (&["--shard", "3/2"][..], "'3/2' is no shard: write i/n with i from 1 to n, as in 3/8"),
        (&["--launcher", "slrum"], "unknown launcher 'slrum': did you mean 'slurm'?"),
        (&["--shards", "3"], "--launcher"),
        (&["--launcher", "local", "--shard", "1/2"], "cannot be used with"),
    ] {
        let output = placebench(folder.path(), &[&["run", "s.toml"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    let local = ["run", "s.toml", "-q", "--launcher", "local", "--", "--time=1"];
    assert_one_line_error(&placebench(folder.path(), &local), "options after -- are for --launcher slurm");
    let follow = placebench(folder.path(), &["run", "--follow", "run"]);
    assert_one_line_error(&follow, "run: holds a run of another version of placebench");
}

#[test]
fn the_number_of_shards_is_learnt_from_an_earlier_run() {
    let (folder, _) = study();
    let run = |args: &[&str]| placebench(folder.path(), &[&["run", "s.toml"], args].concat());
    let first = run(&["--launcher", "local", "--threads", "4"]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert!(text(&first.stderr).starts_with("shards: 8; nothing is known of how long"), "{}", text(&first.stderr));
    let second = run(&["--launcher", "local", "--threads", "4"]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    let expected = "shards: 1, of about";
    assert!(text(&second.stderr).starts_with(expected), "{}", text(&second.stderr));
    assert!(text(&second.stderr).contains("(by the rows in runs/sharded-1)"), "{}", text(&second.stderr));
}

#[test]
fn a_graph_is_made_in_shards_of_which_one_is_killed_and_is_the_graph_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let graph = ["generate", "gnm(vertices=1000000,edges=12000000)", "--stream", "--format", "binary", "--shards", "6"];
    let output = placebench(folder.path(), &[&graph[..], &["--out", "whole"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = files(&folder.path().join("whole"));
    assert!(expected.len() >= 13, "{:?}", expected.keys());
    let out = folder.path().join("parts");
    let on_launcher = [&graph[..], &["--out", "parts", "--threads", "2", "--launcher", "local"]].concat();
    let child = start(folder.path(), &on_launcher);
    let pid = wait_for(|| pid_of_shard(&out, "3/6"));
    // On a busy machine it may have ended by now.
    let _ended = Command::new("kill").args(["-9", &pid]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert!(output.status.success() && stderr.contains("6/6 parts"), "{stderr}");
    let made = files(&out);
    assert_eq!(made.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert!(made == expected, "other bytes");
    // What is lost later is made again by the same command.
    let part = expected.keys().find(|path| path.to_string_lossy().contains('4')).unwrap();
    fs::remove_file(out.join(part)).unwrap();
    let output = placebench(folder.path(), &on_launcher);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(files(&out) == expected, "other bytes");
}

#[test]
fn a_collection_is_made_in_shards_and_is_the_collection_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let collection = ["dataset", "scale", "--largest", "1e5", "--quiet", "--out"];
    for arguments in [&["whole"][..], &["parts", "--launcher", "local", "--shards", "3"]] {
        let output = placebench(folder.path(), &[&collection[..], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let [whole, parts] = ["whole", "parts"].map(|name| files(&folder.path().join(name)));
    assert_eq!(parts.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
    let differ: Vec<&PathBuf> = whole.keys().filter(|path| whole[*path] != parts[*path]).collect();
    assert!(differ.is_empty(), "{differ:?}");
    let slurm = [&collection[..], &["other", "--launcher", "local", "--partition", "p"]].concat();
    let output = placebench(folder.path(), &slurm);
    assert_one_line_error(&output, "--partition and options after -- are for --launcher slurm");
}
