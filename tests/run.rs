//! `placebench run`: which cells run, when a run resumes, and what its exit code says.

use std::fs;
use std::path::Path;

use crate::common::{assert_one_line_error, placebench, text};

const SUITE: &str = r#"
name = "small"
placers = ["heft", "scoring(alpha=2)", "cats"]
schedulers = ["pct", "fifo"]

[[graph]]
file = "g.csv"

[[graph]]
name = "drawn"
leveled = { levels = 4, nodes_per_level = [2, 4] }

[[cluster]]
file = "c.toml"

[[cluster]]
preset = "laich7"

[[placer]]
name = "mine"
command = ["sh", "p.sh"]
"#;

const GRAPH: &str = "id,inputs,colocated,tensor_bytes,ops,kinds\n0,,,8,1000,\n1,0,,8,2000,\n2,0,,,3000,\n";

const CLUSTER: &str = r#"
[[device]]
name = "gpu"
count = 2
kind = "GPU"
speed = "14 TFLOPS"

[[device]]
name = "cpu"
kind = "CPU"
speed = "100 Gops/s"

[link]
rate = "12 GB/s"
"#;

const PROGRAM: &str = "awk 'NR > 1 { print 0 }' \"$1/ops.csv\"\n";

/// A folder with the suite and its files in `files/`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("files")).unwrap();
    for (name, content) in [("s.toml", SUITE), ("g.csv", GRAPH), ("c.toml", CLUSTER), ("p.sh", PROGRAM)] {
        fs::write(folder.path().join("files").join(name), content).unwrap();
    }
    folder
}

fn rows(path: &Path) -> Vec<serde_json::Value> {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Makes a complete run look as if it had been stopped before its last cells.
fn interrupt(run: &Path) {
    fs::remove_file(run.join("results.parquet")).unwrap();
    let journal = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    let kept: Vec<&str> = journal.lines().take(2).collect();
    fs::write(run.join("cells.jsonl"), kept.join("\n") + "\n").unwrap();
}

#[test]
fn a_filter_runs_the_cells_that_match_and_is_part_of_the_run() {
    let folder = folder();
    let run = |more: &[&str]| placebench(folder.path(), &[&["run", "files/s.toml", "-q"], more].concat());
    let filter = ["--where", "graph=drawn cluster=laich7", "--where", "placer=heft,scoring scheduler=pct"];
    let output = run(&[&["--out", "run", "--table", "t.json"], &filter[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let ran: Vec<(String, String)> = rows(&folder.path().join("t.json"))
        .iter()
        .map(|row| [&row["placer"], &row["scheduler"]].map(|value| value.as_str().unwrap().to_owned()).into())
        .collect();
    assert_eq!(ran, [("heft", "pct"), ("scoring(alpha=2)", "pct")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    let suite = fs::read_to_string(folder.path().join("run/suite.toml")).unwrap();
    let line = "where = \"graph=drawn cluster=laich7 placer=heft,scoring scheduler=pct\"\n";
    assert!(suite.contains(line), "{suite}");
    // The suite as run is a suite file: it runs the same cells.
    fs::write(folder.path().join("files/again.toml"), suite.replace("files/", "").replace("\"files\"", "\".\""))
        .unwrap();
    let again = placebench(folder.path(), &["run", "files/again.toml", "-q", "--table", "u.json", "--out", "again"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert_eq!(rows(&folder.path().join("u.json")).len(), 2);

    interrupt(&folder.path().join("run"));
    let other = run(&["--out", "run", "--where", "graph=drawn"]);
    assert_one_line_error(&other, "run: holds a run of another suite, or an earlier state of this one");
    assert_one_line_error(&run(&["--out", "run"]), "run: holds a run of another suite");
    let resumed = run(&[&["--out", "run", "--table", "t.json"], &filter[..]].concat());
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    assert_eq!(rows(&folder.path().join("t.json")).len(), 2);
}

#[test]
fn a_filter_that_fits_no_cell_or_needs_results_is_refused_before_anything_is_written() {
    let folder = folder();
    for (filter, expected) in [
        ("graph=drawm", "error: where: no row has graph 'drawm': did you mean 'drawn'?"),
        ("placer=cats scheduler=pct", "error: where: no row has all of 'placer=cats scheduler=pct'"),
        (
            "status=ok",
            "error: where: status is known only when a cell has run: use one of suite, graph, passes, cluster, kinds, placer",
        ),
    ] {
        assert_one_line_error(&placebench(folder.path(), &["run", "files/s.toml", "--where", filter]), expected);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "an error leaves nothing behind");
}

#[test]
fn a_run_whose_graph_cluster_or_program_changed_does_not_resume() {
    let folder = folder();
    // Without --out the latest unfinished run is found and refused, too.
    for out in [&["--out", "runs/small-1"][..], &[]] {
        let run = |more: &[&str]| placebench(folder.path(), &[&["run", "files/s.toml", "-q"], more].concat());
        let _ = fs::remove_dir_all(folder.path().join("runs"));
        assert!(run(&["--out", "runs/small-1"]).status.success());
        interrupt(&folder.path().join("runs/small-1"));
        for (name, content) in [("g.csv", GRAPH), ("c.toml", CLUSTER), ("p.sh", PROGRAM)] {
            let file = folder.path().join("files").join(name);
            fs::write(&file, format!("{content}\n")).unwrap();
            let expected = format!(
                "error: runs/small-1: files/{name} has changed since this run began: restore it, or start a new run \
                 with --fresh or another --out"
            );
            assert_one_line_error(&run(out), &expected);
            fs::write(&file, content).unwrap();
        }
        let resumed = run(out);
        assert!(resumed.status.success(), "{}", text(&resumed.stderr));
        assert!(folder.path().join("runs/small-1/results.parquet").exists());
    }
}

#[test]
fn a_run_that_was_begun_anew_is_not_held_up_by_the_unfinished_one_before() {
    let folder = folder();
    let run = |more: &[&str]| placebench(folder.path(), &[&["run", "files/s.toml", "-q"], more].concat());
    assert!(run(&[]).status.success());
    interrupt(&folder.path().join("runs/small-1"));
    fs::write(folder.path().join("files/g.csv"), format!("{GRAPH}\n")).unwrap();
    for (args, number) in [(&["--fresh"][..], 2), (&[], 3)] {
        let output = run(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(folder.path().join(format!("runs/small-{number}/results.parquet")).exists());
    }
}

#[test]
fn a_run_that_did_not_record_its_files_does_not_resume_and_one_without_files_does() {
    let folder = folder();
    let run =
        |filter: &str| placebench(folder.path(), &["run", "files/s.toml", "--out", "run", "-q", "--where", filter]);
    let forget = || {
        let path = folder.path().join("run/environment.toml");
        let environment = fs::read_to_string(&path).unwrap();
        fs::write(&path, environment.split("[inputs]").next().unwrap()).unwrap();
        interrupt(&folder.path().join("run"));
    };
    assert!(run("placer=heft").status.success());
    forget();
    assert_one_line_error(&run("placer=heft"), "run: files/c.toml was not recorded when this run began");
    fs::remove_dir_all(folder.path().join("run")).unwrap();
    let without_files = "graph=drawn cluster=laich7 placer=heft,scoring,cats";
    assert!(run(without_files).status.success());
    assert!(!fs::read_to_string(folder.path().join("run/environment.toml")).unwrap().contains("[inputs]"));
    forget();
    let resumed = run(without_files);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
}

#[test]
fn a_run_fails_if_every_cell_fails_and_the_help_lists_the_exit_codes() {
    let folder = folder();
    let run = |suite: &str| {
        fs::write(folder.path().join("files/s.toml"), suite).unwrap();
        let _ = fs::remove_dir_all(folder.path().join("run"));
        placebench(folder.path(), &["run", "files/s.toml", "--out", "run", "-q"])
    };
    let broken = |suite: &str| suite.replace("[\"sh\", \"p.sh\"]", "[\"sh\", \"-c\", \"exit 1\"]");
    let some = run(&broken(SUITE));
    assert_eq!((some.status.code(), text(&some.stderr).as_str()), (Some(0), ""));
    let all = run(&broken(SUITE).replace("placers = [\"heft\", \"scoring(alpha=2)\", \"cats\"]", ""));
    assert_eq!(all.status.code(), Some(1));
    assert_eq!(text(&all.stderr), "error: all 8 cells failed: the reasons are under 'Failed cells'\n");
    assert!(text(&all.stdout).contains("Failed cells\n"), "{}", text(&all.stdout));
    assert!(folder.path().join("run/results.parquet").exists(), "the run is complete all the same");
    let help = text(&placebench(folder.path(), &["run", "--help"]).stdout);
    let codes = help.split_once("Exit codes:\n").unwrap().1;
    for code in ["  0    ", "  1    every cell failed", "  2    ", "  130  "] {
        assert!(codes.contains(code), "{help}");
    }
}

#[test]
fn placers_without_cells_are_named_and_a_suite_without_any_is_refused() {
    let folder = folder();
    let suite = |placers: &str| {
        let lists = SUITE.split_once("schedulers").unwrap().1.split_once('\n').unwrap().1;
        let program = lists.find("[[placer]]").unwrap();
        let text = format!("name = \"small\"\nplacers = {placers}\nschedulers = [\"static\"]\n{}", &lists[..program]);
        fs::write(folder.path().join("files/s.toml"), text).unwrap();
        placebench(folder.path(), &["run", "files/s.toml", "--out", "run", "-q"])
    };
    let refused = suite("[\"scoring\", \"hashing\"]");
    assert_one_line_error(&refused, "the suite has no cells: its placers make no plans");
    assert!(!folder.path().join("run").exists());
    let some = suite("[\"heft\", \"hashing\"]");
    assert!(some.status.success() && text(&some.stderr).contains("follows one (add another, such as pct): hashing"));
}

#[test]
fn times_of_a_graph_in_operations_on_a_cluster_in_tflops_are_readable() {
    let folder = folder();
    let filter = ["--where", "graph=g cluster=c"];
    let args = [&["run", "files/s.toml", "--out", "run", "-q", "--full", "--table", "t.json"], &filter[..]].concat();
    let output = placebench(folder.path(), &args);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for row in rows(&folder.path().join("t.json")) {
        let makespan = row["makespan"].as_f64().unwrap();
        assert!(
            makespan > 0.0 && makespan < 1e-6 && printed.contains(&format!("{:.0} ps", makespan * 1e12)),
            "{printed}"
        );
    }
    let place = ["place", "files/g.csv", "--cluster", "files/c.toml"];
    for printed in [printed, text(&placebench(folder.path(), &place).stdout)] {
        assert!(printed.contains(" ps") && !printed.contains(" 0.000000"), "{printed}");
    }
    let table = text(&placebench(folder.path(), &["table", "run"]).stdout);
    assert!(table.contains("ps") && !table.contains("0.0000"), "{table}");
}

#[test]
fn what_no_number_can_hold_is_refused_with_the_op_or_device() {
    let folder = folder();
    let place = || placebench(folder.path(), &["place", "files/g.csv", "--cluster", "files/c.toml"]);
    fs::write(folder.path().join("files/g.csv"), GRAPH.replace("2000", "1e300")).unwrap();
    assert_one_line_error(
        &place(),
        "the cost of op 1 is 1e300: costs, times, speeds, rates and latencies go from 1e-70 to",
    );
    fs::write(folder.path().join("files/g.csv"), GRAPH).unwrap();
    fs::write(folder.path().join("files/c.toml"), CLUSTER.replace("\"100 Gops/s\"", "1e-300")).unwrap();
    assert_one_line_error(&place(), "the speed of device 'cpu' is 1e-300");
    // In a run it is a row that says so, for every cell of the cluster, and the others run.
    let run = placebench(folder.path(), &["run", "files/s.toml", "--out", "run", "-q"]);
    assert_eq!(run.status.code(), Some(0));
    assert!(text(&run.stdout).contains("error: the speed of device 'cpu' is 1e-300"), "{}", text(&run.stdout));
}

#[test]
fn what_a_graph_or_cluster_cannot_be_is_refused_when_it_is_read() {
    let folder = folder();
    let write = |name: &str, content: &str| fs::write(folder.path().join("files").join(name), content).unwrap();
    let place = || placebench(folder.path(), &["place", "files/g.csv", "--cluster", "files/c.toml"]);
    let run = || placebench(folder.path(), &["run", "files/s.toml", "--out", "run", "-q"]);
    for send_ops in ["-1", "inf", "nan"] {
        write("c.toml", &format!("\nsend_ops = {send_ops}\n{CLUSTER}"));
        assert_one_line_error(&place(), &format!("files/c.toml:2: send_ops is {}", send_ops.replace("nan", "NaN")));
        write("s.toml", &format!("{SUITE}[[cluster]]\nname = \"n\"\npreset = \"laich7\"\nsend_ops = {send_ops}\n"));
        assert_one_line_error(&run(), "files/s.toml: cluster 'n': send_ops is");
    }
    write("s.toml", &SUITE.replace("preset = \"laich7\"", "preset = \"laich7\"\ndevices = 0"));
    assert_one_line_error(&run(), "files/s.toml: cluster 'laich7': a cluster needs at least one device");
    write("c.toml", &CLUSTER.replace("count = 2", "count = 0"));
    assert_one_line_error(&place(), "files/c.toml:4: 0 devices named 'gpu': a cluster has 1 to 10000 devices");
    write("c.toml", CLUSTER);
    write("g.csv", &GRAPH[..GRAPH.find('\n').unwrap() + 1]);
    assert_one_line_error(&place(), "files/g.csv:1: no row follows the header: add a row for each op");
    write("g.pbtxt", "versions { producer: 22 }\n");
    let empty = placebench(folder.path(), &["inspect", "files/g.pbtxt"]);
    assert_one_line_error(&empty, "files/g.pbtxt: the file has no node");
}

#[test]
fn kinds_with_more_figures_than_anybody_looks_at_are_drawn_only_if_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let graph =
        |index| format!("[[graph]]\nname = \"g{index}\"\nleveled = {{ levels = 2, nodes_per_level = [1, 2] }}\n");
    let graphs: String = (0..201).map(graph).collect();
    let suite = "name = \"many\"\nplacers = [\"heft\"]\nschedulers = [\"pct\"]\n[[cluster]]\npreset = \"tiny3\"\n";
    fs::write(folder.path().join("s.toml"), format!("{suite}{graphs}")).unwrap();
    let run = placebench(folder.path(), &["run", "s.toml", "--out", "run", "-q"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let figures = |args: &[&str]| {
        let output = placebench(folder.path(), &[&["figure", "run"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let files = fs::read_dir(folder.path().join("run/figures")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        (names.filter(|name| name.starts_with("bars-") && name.ends_with(".svg")).count(), text(&output.stderr))
    };
    let (bars, said) = figures(&[]);
    let expected = "left out: figure bars: it would be 201 figures: draw them with --kind bars\n";
    assert!(bars == 0 && said.contains(expected), "{bars} bars: {said}");
    assert_eq!(figures(&["--kind", "bars"]), (201, String::new()));
}
