//! The command as a stranger meets it: exit codes, messages, files left behind.

use std::path::Path;
use std::process::{Command, Output};

fn placebench(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_placebench")).args(args).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One line on standard error, nothing on standard output, exit code 1.
fn assert_one_line_error(output: &Output, expected: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.contains(expected), "{stderr}\n   lacks   {expected}");
    assert!(output.stdout.is_empty());
}

const SMALL: &str = r#"
name = "small"
repetitions = 2
placers = ["heft", "mite", "random"]
schedulers = ["fifo", "pct", "msr", "static"]
networks = ["contention_free", "one_port"]

[[graph]]
catalogue = "convnet"

[[cluster]]
preset = "laich7"
"#;

fn small_suite(folder: &Path) {
    std::fs::write(folder.join("small.toml"), SMALL).unwrap();
}

/// The table of a run without the columns that depend on the clock.
fn stable_table(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let stable = |row: &serde_json::Value| {
        let mut row = row.as_object().unwrap().clone();
        for column in placebench::harness::table::Row::MEASURED_COLUMNS {
            row.remove(column);
        }
        serde_json::Value::Object(row).to_string()
    };
    rows.iter().map(stable).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_misspelt_suite_or_file_is_one_line_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    assert_one_line_error(&placebench(folder.path(), &["run", "laich2071"]), "did you mean 'laich2017'?");
    assert_one_line_error(&placebench(folder.path(), &["run", "nothing.toml"]), "nothing.toml: no such file");
    assert_one_line_error(
        &placebench(folder.path(), &["run", "default", "--table", "x.xls"]),
        "x.xls: unknown kind of table",
    );
    std::fs::write(folder.path().join("s.toml"), SMALL.replace("mite", "mites")).unwrap();
    assert_one_line_error(&placebench(folder.path(), &["run", "s.toml"]), "s.toml");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "an error leaves nothing behind");
}

#[test]
fn a_run_gives_the_same_rows_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    small_suite(folder.path());
    let mut tables = Vec::new();
    for threads in ["1", "2", "5"] {
        let (out, table) = (format!("run-{threads}"), format!("t{threads}.json"));
        let output = placebench(
            folder.path(),
            &["run", "small.toml", "--threads", threads, "--out", &out, "--table", &table, "-q"],
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
        tables.push(stable_table(&folder.path().join(table)));
    }
    // Two repetitions, two networks; heft has all four schedulers, the others all but static.
    assert_eq!(tables[0].lines().count(), 2 * 2 * (4 + 3 + 3));
    assert!(tables[0].lines().all(|row| row.contains(r#""status":"ok""#)), "{}", tables[0]);
    assert!(tables.iter().all(|table| *table == tables[0]));
}

#[test]
fn an_interrupted_run_resumes_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    small_suite(folder.path());
    let args = ["run", "small.toml", "--out", "run", "--table", "whole.json", "-q"];
    assert!(placebench(folder.path(), &args).status.success());
    let whole = stable_table(&folder.path().join("whole.json"));
    let again = placebench(folder.path(), &args);
    assert_one_line_error(&again, "holds a complete run of this suite");
    // As a crash leaves it: no table, and a journal that ends in the middle of a line.
    std::fs::remove_file(folder.path().join("run/results.parquet")).unwrap();
    let journal = folder.path().join("run/cells.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    let kept: Vec<&str> = lines.lines().take(7).collect();
    std::fs::write(&journal, format!("{}\n{}", kept.join("\n"), &lines[..40])).unwrap();
    let output = placebench(folder.path(), &["run", "small.toml", "--out", "run", "--table", "resumed.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("7/40 cells"), "{}", text(&output.stderr));
    assert_eq!(stable_table(&folder.path().join("resumed.json")), whole);
}

#[test]
fn what_can_be_named_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let listing = text(&placebench(folder.path(), &["list"]).stdout);
    for name in [
        "lstm_lm",
        "laich6",
        "gtx1080x8",
        "iterated_critical_path",
        "average=time",
        "msr",
        "laich2017",
        "one_port",
        ".pbtxt",
    ] {
        assert!(listing.contains(name), "{name} is not in\n{listing}");
    }
    let placers = text(&placebench(folder.path(), &["list", "placers"]).stdout);
    assert!(placers.contains("heft") && !placers.contains("laich6"));
}
