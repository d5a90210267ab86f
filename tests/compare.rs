//! `compare`, `rank` and `trend` as a nightly job and its owner meet them.

use std::path::Path;

use placebench::harness::results::{Row, write_table};
use placebench::harness::runner::read_run;

use crate::common::{placebench, text};

const SUITE: &str = r#"
name = "tiny"
repetitions = 3
placers = ["heft", "mite", "hashing"]
schedulers = ["fifo", "pct", "static"]

[[graph]]
catalogue = "convnet"
costs = "laich"

[[cluster]]
preset = "laich7"
"#;

/// A folder with two runs of one suite, `a` and `b`, and the rows of `a`.
fn two_runs() -> (tempfile::TempDir, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tiny.toml"), SUITE).unwrap();
    for run in ["a", "b"] {
        let output = placebench(folder.path(), &["run", "tiny.toml", "--out", run, "--quiet"]);
        assert!(output.status.success(), "{output:?}");
    }
    let rows = read_run(&folder.path().join("a")).unwrap();
    assert!(rows.len() == 21 && rows.iter().all(Row::is_ok));
    (folder, rows)
}

/// Standard output of a command with this exit code and nothing on standard error.
fn said(folder: &Path, code: i32, args: &[&str]) -> String {
    let output = placebench(folder, args);
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(code), ""), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// One line on standard error, nothing on standard output, exit code 2.
fn assert_refused(folder: &Path, args: &[&str], expected: &str) {
    let output = placebench(folder, args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty() && stderr.starts_with("error: ") && stderr.contains(expected), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn two_runs_of_one_build_are_equal_and_a_regression_is_named_in_every_format() {
    let (folder, mut rows) = two_runs();
    let folder = folder.path();
    let text = said(folder, 0, &["compare", "a", "b", "--ignore", "time"]);
    assert!(text.starts_with("No regression: 21 cells in both runs, 21 with a result in both."), "{text}");
    assert!(text.contains("the same in all 21 cells, bit by bit"), "{text}");

    for row in rows.iter_mut().filter(|row| row.placer == "mite" && row.scheduler == "pct") {
        row.makespan = row.makespan.map(|makespan| makespan * 1.5);
        row.time_unit = "EU".into();
    }
    rows[0] = Row { status: "panicked".into(), error: Some("index 7".into()), makespan: None, ..rows[0].clone() };
    for table in ["worse.parquet", "worse.csv", "worse.json"] {
        write_table(&folder.join(table), &rows).unwrap();
        let text = said(folder, 1, &["compare", "a", table, "--ignore", "time"]);
        // One status, one mean, three cells, the gravest first.
        let lines: Vec<&str> = text.lines().skip_while(|line| *line != "Regressions").collect();
        assert!(text.contains("(worse) on the mean; 5 regressions: 21 cells"), "{text}");
        assert!(lines[1].starts_with("status: ok → panicked: heft with fifo on convnet@laich7"), "{text}");
        assert!(lines[1].ends_with("(index 7)"), "{text}");
        // The other scheduler was 20 % behind: now it is the best.
        assert!(lines[2].starts_with("makespan ×1.1989: mite, mean over "), "{text}");
        assert!(lines[3].starts_with("makespan ×1.5000 (") && lines[3].contains("mite with pct on convnet"), "{text}");
    }
    let text = said(folder, 1, &["compare", "a", "worse.csv", "--ignore", "time", "--limit", "2"]);
    assert!(text.contains("… and 3 more (use --all)"), "{text}");
    let text = said(folder, 1, &["compare", "a", "worse.csv", "--ignore", "time", "--format", "markdown"]);
    assert!(text.starts_with("## makespan ×1.0623") && text.contains("| mite "), "{text}");
    let json = said(folder, 1, &["compare", "a", "worse.csv", "--json", "--ignore", "time"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["is_regression"], &json["compared"]), (&true.into(), &20.into()));
    assert_eq!(json["regressions"][0]["regression"], "status");
    // The other way round it is an improvement, and limits can be loosened.
    said(folder, 0, &["compare", "worse.csv", "a", "--ignore", "time"]);
    rows[0] = read_run(&folder.join("a")).unwrap().remove(0);
    write_table(&folder.join("slow.csv"), &rows).unwrap();
    said(folder, 1, &["compare", "a", "slow.csv", "--ignore", "time", "--max-cell", "1.6"]);
    said(folder, 0, &["compare", "a", "slow.csv", "--ignore", "time", "--max-cell", "inf", "--max-mean", "1.3"]);
}

#[test]
fn a_placer_that_got_twice_as_slow_is_told_from_noise() {
    let (folder, mut rows) = two_runs();
    let folder = folder.path();
    // What the clock said is replaced by a quiet machine's: one part in a hundred.
    let quiet = |rows: &mut [Row], phase: u32| {
        for row in rows {
            let noise = 1.0 + 0.01 * f64::from((row.repetition * 7 + phase) % 3);
            row.place_seconds = Some(0.02 * noise);
            row.simulate_seconds = Some(0.01 * noise);
        }
    };
    quiet(&mut rows, 0);
    write_table(&folder.join("old.csv"), &rows).unwrap();
    quiet(&mut rows, 1);
    write_table(&folder.join("new.csv"), &rows).unwrap();
    let text = said(folder, 0, &["compare", "old.csv", "new.csv"]);
    assert!(text.contains("within noise"), "{text}");
    for row in rows.iter_mut().filter(|row| row.placer == "hashing") {
        row.place_seconds = row.place_seconds.map(|seconds| seconds * 2.1);
    }
    write_table(&folder.join("slow.csv"), &rows).unwrap();
    let text = said(folder, 1, &["compare", "old.csv", "slow.csv"]);
    assert!(text.starts_with("2 regressions") && text.contains("): hashing on convnet@laich7"), "{text}");
    assert!(!text.contains("): mite"), "{text}");
    said(folder, 0, &["compare", "old.csv", "slow.csv", "--ignore", "time"]);
    said(folder, 0, &["compare", "old.csv", "slow.csv", "--max-time", "3", "--max-cell-time", "3"]);
}

#[test]
fn what_does_not_compare_is_one_line_and_exit_code_two() {
    let (folder, rows) = two_runs();
    let folder = folder.path();
    assert_refused(folder, &["compare", "a", "nothing"], "nothing: no such file or folder");
    assert_refused(folder, &["compare", "a", "tiny.toml"], "tiny.toml: unknown kind of table");
    std::fs::create_dir(folder.join("empty")).unwrap();
    assert_refused(folder, &["compare", "empty", "a"], "empty: is not a run folder");
    let twice = [rows.clone(), rows.clone()].concat();
    write_table(&folder.join("twice.csv"), &twice).unwrap();
    assert_refused(folder, &["compare", "a", "twice.csv"], "more than one row for heft with fifo");
    let other: Vec<Row> = rows.iter().map(|row| Row { graph: "x".into(), ..row.clone() }).collect();
    write_table(&folder.join("other.csv"), &other).unwrap();
    assert_refused(folder, &["compare", "a", "other.csv"], "graph 'convnet' there, 'x' here");
    let environment = folder.join("b/environment.toml");
    let text = std::fs::read_to_string(&environment).unwrap();
    std::fs::write(&environment, text.replace("schema_version = 1", "schema_version = 99")).unwrap();
    assert_refused(folder, &["compare", "a", "b"], "b: has version 99 of the tables' columns");
    std::fs::write(&environment, text.replace("threads = ", "threads = 7")).unwrap();
    let warned = said(folder, 0, &["compare", "a", "b", "--ignore", "time"]);
    assert!(warned.contains("warning: times may differ for another reason (threads: "), "{warned}");
    // A number that a run lacks is not equal.
    let period = |rows: &[Row], lacks: usize| -> Vec<Row> {
        let row = |(index, row): (usize, &Row)| Row { period: row.period.filter(|_| index >= lacks), ..row.clone() };
        rows.iter().enumerate().map(row).collect()
    };
    write_table(&folder.join("lacks.csv"), &period(&rows, rows.len())).unwrap();
    for runs in [["a", "lacks.csv"], ["lacks.csv", "a"]] {
        let args = ["compare", runs[0], runs[1], "--ignore", "time", "--metrics", "makespan,period"];
        assert_refused(folder, &args, "lacks.csv: no compared cell has a period: leave it out");
        assert_refused(folder, &[&args[..], &["--json"]].concat(), "no compared cell has a period");
        said(folder, 0, &args[..5]);
    }
    write_table(&folder.join("some.csv"), &period(&rows, 2)).unwrap();
    let some = said(folder, 0, &["compare", "a", "some.csv", "--ignore", "time", "--metrics", "period"]);
    assert!(some.contains("warning: 2 cells are ok in both runs, but have a period only in a"), "{some}");
    for wrong in [["--max-cell", "0.9"], ["--metrics", "beauty"], ["--limit", "0"], ["--ignore", "graph"]] {
        let output = placebench(folder, &["compare", "a", "b", wrong[0], wrong[1]]);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_ranking_comes_in_several_formats_and_says_what_it_left_out() {
    let (folder, mut rows) = two_runs();
    let folder = folder.path();
    let text = said(folder, 0, &["rank", "a"]);
    assert!(text.contains("over 1 of 1 instance,") && text.contains("over 3 drawn graphs"), "{text}");
    assert_eq!(text, said(folder, 0, &["rank", "b"]), "the bootstrap is the same every time");
    for (format, expected) in [("markdown", "| placer"), ("tex", "\\begin{tabular}{l"), ("csv", "placer,mean,low")] {
        let text = said(folder, 0, &["rank", "a", "--format", format]);
        assert!(text.contains(expected) && text.contains("hashing"), "{format}: {text}");
    }
    let text = said(folder, 0, &["rank", "a", "--by", "scheduler", "--where", "placer=heft"]);
    assert!(text.contains("pct") && !text.contains("\nstatic 1"), "{text}");
    assert!(said(folder, 0, &["rank", "a", "--by", "pair"]).contains("heft + static"));
    for row in rows.iter_mut().filter(|row| row.placer == "mite") {
        *row = Row { status: "infeasible".into(), makespan: None, ..row.clone() };
    }
    write_table(&folder.join("fails.csv"), &rows).unwrap();
    assert_refused(folder, &["rank", "fails.csv", "--drop-failing", "1"], "mite lacks a result on 1 of 1");
    let text = said(folder, 0, &["rank", "fails.csv"]);
    assert!(text.contains("dropped: mite on 1 of 1 (1 infeasible)"), "{text}");
    for row in rows.iter_mut() {
        *row = Row { traffic_bytes: Some(u64::from(row.placer != "heft")), ..row.clone() };
    }
    write_table(&folder.join("traffic.csv"), &rows).unwrap();
    let zeros = ["rank", "traffic.csv", "-m", "traffic"];
    assert_refused(folder, &zeros, "the best traffic_bytes is 0 on every instance");
    for row in rows.iter_mut() {
        *row = Row { status: "infeasible".into(), makespan: None, traffic_bytes: None, ..row.clone() };
    }
    write_table(&folder.join("none.csv"), &rows).unwrap();
    assert_refused(folder, &["rank", "none.csv"], "no cell has a makespan: use another --metric");
    assert_refused(folder, &["rank", "none.csv", "-m", "traffic"], "no cell has a traffic_bytes");
    assert_refused(folder, &["rank", "a", "a"], "a: is named twice: name each run once");
    assert_refused(folder, &["rank", "a", "--where", "graph=x"], "no row has graph 'x': use one of convnet");
}

#[test]
fn a_filter_means_the_same_in_compare_and_rank_and_refuses_what_no_row_has() {
    let (folder, mut rows) = two_runs();
    let folder = folder.path();
    for row in rows.iter_mut().filter(|row| row.placer == "mite") {
        row.makespan = row.makespan.map(|makespan| makespan * 2.0);
    }
    write_table(&folder.join("worse.csv"), &rows).unwrap();
    let compare = |code: i32, filter: &str| {
        said(folder, code, &["compare", "a", "worse.csv", "--ignore", "time", "--where", filter])
    };
    assert!(compare(0, "placer=heft,hashing scheduler=pct").starts_with("No regression: 6 cells"));
    assert!(compare(1, "placer=mite").starts_with("makespan ×2.0000 (worse) on the mean; 7 regressions: 6 cells"));
    let ranks = said(folder, 0, &["rank", "a", "--where", "placer=heft,mite", "--metric", "traffic"]);
    assert!(!ranks.contains("hashing"), "{ranks}");
    assert_eq!(ranks, said(folder, 0, &["rank", "a", "--where", "placer=heft,mite", "-m", "traffic_bytes"]));
    for (filter, told) in [("placer=hefft", "did you mean 'heft'?"), ("placr=heft", "did you mean 'placer'?")] {
        let output = placebench(folder, &["rank", "a", "--where", filter]);
        let stderr = text(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(told), "{stderr}");
    }
}

#[test]
fn a_trend_grows_by_a_run_a_night_and_is_drawn() {
    let (folder, mut rows) = two_runs();
    let folder = folder.path();
    said(folder, 0, &["trend", "h.csv", "--add", "a"]);
    for row in rows.iter_mut().filter(|row| row.placer == "mite") {
        row.makespan = row.makespan.map(|makespan| makespan * 1.1);
    }
    write_table(&folder.join("b/results.parquet"), &rows).unwrap();
    let environment = folder.join("b/environment.toml");
    let later = std::fs::read_to_string(&environment).unwrap().replace("started = \"2", "started = \"3");
    std::fs::write(&environment, later).unwrap();
    for _ in 0..2 {
        let text = said(folder, 0, &["trend", "h.csv", "--add", "b", "--reference", "a", "--figure", "t.svg"]);
        assert!(text.starts_with("tiny: makespan_ratio over 2 runs"), "{text}");
        assert!(text.contains("mite") && text.contains("▁█ 1.0000 1.0000 1.1000 1.0000 1.1000"), "{text}");
        assert!(text.contains("2 placers the same in all runs"), "{text}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("h.csv")).unwrap().lines().count(), 1 + 2 * 3);
    assert!(std::fs::read_to_string(folder.join("t.svg")).unwrap().contains("<svg"));
    said(folder, 0, &["trend", "h.csv", "--figure", "t.png", "--metric", "gap", "--last", "1"]);
    assert!(std::fs::read(folder.join("t.png")).unwrap().starts_with(b"\x89PNG"));
    // A folder of runs has the same trend as their history.
    let whole = said(folder, 0, &["trend", ".", "--format", "csv"]);
    assert_eq!(whole, said(folder, 0, &["trend", "h.csv", "--format", "csv"]));
    assert_refused(folder, &["trend", "none.csv"], "none.csv: no such history: --add makes it");
    assert_refused(folder, &["trend", "tiny.toml"], "neither a folder of runs nor a history in .csv");
    assert_refused(folder, &["trend", "h.csv", "--figure", "t.gif"], "unknown kind of figure");
    std::fs::remove_file(folder.join("b/results.parquet")).unwrap();
    assert_refused(folder, &["trend", "h.csv", "--add", "b"], "b: is unfinished");
}
