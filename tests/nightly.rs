//! The nightly recipe of docs/nightly, night by night.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use placebench::harness::results::{Row, write_table};
use placebench::harness::runner::read_run;

const SUITE: &str = r#"
name = "tiny"
repetitions = 2
placers = ["heft", "hashing"]
schedulers = ["fifo"]

[[graph]]
catalogue = "convnet"
costs = "laich"

[[cluster]]
preset = "laich7"
"#;

struct Nights {
    folder: tempfile::TempDir,
}

impl Nights {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tiny.toml"), SUITE).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("state").join(name)
    }

    fn script(&self, args: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/nightly/nightly.sh");
        Command::new("sh")
            .arg(script)
            .args(args)
            .current_dir(self.folder.path())
            .env("PLACEBENCH", env!("CARGO_BIN_EXE_placebench"))
            // Tests run beside others: seconds say nothing here.
            .env("COMPARE_OPTIONS", "--ignore time")
            .env("KEEP", "3")
            .output()
            .unwrap()
    }

    /// A night with this exit code; returns what it said.
    fn night(&self, code: i32) -> String {
        // Run folders are named by the second.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        let output = self.script(&["tiny.toml", "state"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    }

    /// The run that a link names.
    fn target(&self, link: &str) -> String {
        let target = fs::read_link(self.path(link)).unwrap();
        target.file_name().unwrap().to_string_lossy().into_owned()
    }

    fn runs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("runs")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn alter(&self, run: &str, change: impl Fn(&mut Row)) {
        let folder = self.path("runs").join(run);
        let mut rows = read_run(&folder).unwrap();
        rows.iter_mut().for_each(change);
        write_table(&folder.join("results.parquet"), &rows).unwrap();
    }

    fn history(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("history.csv")).unwrap();
        text.lines().skip(1).map(str::to_owned).collect()
    }
}

#[test]
fn a_regression_fails_every_night_until_it_is_gone_or_accepted() {
    let nights = Nights::new();
    nights.night(0);
    nights.night(0);
    let runs = nights.runs();
    assert_eq!((nights.target("reference"), nights.target("good")), (runs[0].clone(), runs[1].clone()));
    assert_eq!(nights.history().len(), 2 * 2);
    assert!(fs::read_to_string(nights.path("trend.svg")).unwrap().contains("<svg"));
    assert!(
        fs::read_to_string(nights.path("report.md"))
            .unwrap()
            .starts_with("## No regression: 4 cells in both runs, 4 with")
    );

    // The last good run was better than what the build does: from then on every night is a regression.
    nights.alter(&runs[1], |row| {
        if row.placer == "heft" && row.repetition == 1 {
            row.makespan = row.makespan.map(|makespan| makespan / 1.25);
        }
    });
    let report = nights.night(1);
    assert!(report.contains("makespan ×1.2500") && report.contains("heft with fifo on convnet@laich7"), "{report}");
    assert!(!report.contains("hashing with"), "{report}");
    nights.night(1);
    assert_eq!(nights.target("good"), runs[1], "a bad run is not what the next one is compared with");
    assert_eq!(nights.history().len(), 4 * 2, "the history has the bad nights, too");

    assert_eq!(nights.script(&["--accept", "state"]).status.code(), Some(0));
    assert_eq!(nights.target("good"), *nights.runs().last().unwrap());
    nights.night(0);
    // Five runs were made, three are kept, and beside them the reference.
    assert!(nights.runs().contains(&runs[0]) && nights.runs().len() == 4, "{:?}", nights.runs());
}

#[test]
fn what_is_broken_from_the_first_night_fails_every_night_until_it_is_repaired_or_accepted() {
    let nights = Nights::new();
    let placer = |exit: &str| {
        let suite = format!("{SUITE}\n[[placer]]\nname = \"mine\"\ncommand = [\"sh\", \"-c\", \"{exit}\"]\n");
        fs::write(nights.folder.path().join("tiny.toml"), suite).unwrap();
    };
    placer("exit 7");
    for _ in 0..2 {
        let report = nights.night(1);
        assert!(report.contains("broken: error: mine with fifo on convnet@laich7"), "{report}");
        assert!(report.contains("exited with code 7"), "{report}");
        assert!(!nights.path("good").exists());
    }
    assert_eq!(nights.script(&["--accept", "state"]).status.code(), Some(0));
    let accepted = nights.night(0);
    assert!(accepted.is_empty(), "{accepted}");
    // What was accepted is in the report, and no more. That no placement is feasible needs no acceptance.
    let report = fs::read_to_string(nights.path("report.md")).unwrap();
    assert!(report.contains("Cells without a result in both runs: 2"), "{report}");
    placer("exit 3");
    let nights = Nights { folder: nights.folder };
    fs::remove_dir_all(nights.folder.path().join("state")).unwrap();
    nights.night(0);
}

#[test]
fn a_night_that_a_crash_cut_short_goes_on_and_half_a_folder_is_dropped() {
    let nights = Nights::new();
    nights.night(0);
    let run = nights.path("runs").join(&nights.runs()[0]);
    fs::remove_file(run.join("results.parquet")).unwrap();
    let journal = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    let torn = journal.lines().next().unwrap().len() + 30;
    fs::write(run.join("cells.jsonl"), &journal[..torn]).unwrap();
    fs::create_dir(nights.path("runs/0-no-suite-yet")).unwrap();
    let said = nights.night(0);
    assert!(said.contains("0-no-suite-yet cannot go on, dropped"), "{said}");
    assert_eq!(nights.runs().len(), 1, "the unfinished run went on: {:?}", nights.runs());
    assert_eq!(read_run(&run).unwrap().len(), 4);

    // An unfinished run of another suite cannot go on.
    fs::remove_file(run.join("results.parquet")).unwrap();
    let suite = SUITE.replace("repetitions = 2", "repetitions = 3");
    fs::write(nights.folder.path().join("tiny.toml"), suite).unwrap();
    let said = nights.night(0);
    assert!(said.contains("cannot go on, dropped"), "{said}");
    assert_eq!(read_run(&nights.path("good")).unwrap().len(), 6);
}

/// A regression would pass unseen if the night were compared with itself.
#[test]
fn a_good_run_that_is_gone_ends_the_night() {
    let nightly = Nights::new();
    nightly.night(0);
    let good = nightly.path("good");
    let _ = std::fs::remove_file(&good);
    let said = nightly.night(2);
    assert!(said.contains("the good run of ") && said.contains("nightly.sh --accept"), "{said}");
    std::os::unix::fs::symlink("runs/gone", &good).unwrap();
    assert!(nightly.night(2).contains("is gone"));
    assert!(nightly.script(&["--accept", "state"]).status.success());
    nightly.night(0);
    let nowhere = nightly.script(&["--accept", "nowhere"]);
    assert_eq!((nowhere.status.code(), nightly.folder.path().join("nowhere").exists()), (Some(4), false));
    assert_eq!(nightly.script(&[]).status.code(), Some(4));
}

#[test]
fn what_cannot_run_or_compare_has_exit_codes_of_its_own() {
    let nights = Nights::new();
    let output = nights.script(&["no-such-suite", "state"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("the suite did not run: error: unknown suite"), "{said}");
    nights.night(0);

    let mut lock =
        Command::new("flock").arg("--no-fork").arg(nights.path(".lock")).args(["sleep", "30"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(nights.night(3).contains("another run is going on"));
    lock.kill().unwrap();
    lock.wait().unwrap();

    let run = nights.target("good");
    nights.alter(&run, |row| row.seed += 1000);
    let said = nights.night(2);
    assert!(said.contains("no cell in common: seed '1000' there, '0' here"), "{said}");
    assert!(said.contains("--accept"), "{said}");
    assert_eq!(nights.target("good"), run);
}
