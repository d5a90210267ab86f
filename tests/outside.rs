//! What outsiders found: answers over inputs, a disk that is full, rows that no run makes, pipes, options that say nothing.

use std::fs;
use std::path::Path;

use crate::common::{assert_one_line_error, placebench, text};

/// A folder with a graph, a cluster, a suite of both, and a run of it.
fn study() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let suite = "name = \"s\"\nplacers = [\"heft\", \"random\"]\nschedulers = [\"pct\"]\n\
                 [[graph]]\nfile = \"g.csv\"\n[[cluster]]\nfile = \"c.toml\"\n";
    fs::write(at.join("s.toml"), suite).unwrap();
    let cluster = "[[device]]\nname = \"a\"\nkind = \"CPU\"\nspeed = 1\n[[device]]\nname = \"b\"\nkind = \"CPU\"\nspeed = 2\n\n\
                   [link]\nrate = 1\n";
    fs::write(at.join("c.toml"), cluster).unwrap();
    for args in [
        &["generate", "leveled(levels=3,nodes_per_level=[2,3])", "--out", "g.csv"][..],
        &["convert", "g.csv", "g"],
        &["run", "s.toml", "--out", "r", "-q"],
    ] {
        let output = placebench(at, args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    }
    folder
}

fn refused(at: &Path, args: &[&str], says: &str) {
    assert_one_line_error(&placebench(at, args), says);
}

#[test]
fn no_answer_is_written_over_what_is_read_by_whatever_path() {
    let folder = study();
    let at = folder.path();
    let program = "python3 placer.py";
    fs::write(at.join("placer.py"), "print('a')").unwrap();
    fs::copy(at.join("s.toml"), at.join("s.csv")).unwrap();
    fs::create_dir(at.join("links")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../g.csv", at.join("links/g.csv")).unwrap();
    let ops = fs::read_dir(at.join("g")).unwrap().map(|file| file.unwrap().file_name());
    let ops = ops.map(|name| format!("g/{}", name.to_string_lossy())).find(|name| name.contains("ops")).unwrap();
    let kept = |path: &str| fs::read(at.join(path)).unwrap();
    let before: Vec<Vec<u8>> = ["g.csv", "s.csv", &ops, "placer.py"].map(kept).into();
    refused(at, &["run", "s.toml", "--out", "w", "--table", "g.csv"], "g.csv: is read, too: write to another file");
    refused(at, &["run", "s.csv", "--out", "w", "--table", "s.csv"], "s.csv: is read, too");
    refused(at, &["place", "g.csv", "-c", "c.toml", "--placement", "links/g.csv"], "links/g.csv: is read, too");
    refused(at, &["place", "g", "-c", "c.toml", "--timeline", &ops], "which is read: write to another file");
    let over_program = ["place", "g.csv", "-c", "c.toml", "--placer-command", program, "--placement", "placer.py"];
    refused(at, &over_program, "placer.py: is read, too");
    // A folder that a program gets is no file that is read.
    fs::write(at.join("first.sh"), "awk 'NR > 1 { print 0 }' \"$2/ops.csv\"").unwrap();
    let beside = ["place", "g.csv", "-c", "c.toml", "--placer-command", "sh first.sh .", "--placement", "beside.csv"];
    let output = placebench(at, &beside);
    assert!(output.status.success(), "{}", text(&output.stderr));
    refused(at, &["place", "g.csv", "-c", "c.toml", "--placement", "a.csv", "--timeline", "./a.csv"], "is named twice");
    refused(at, &["partition", "g", "-k", "2", "-o", "r/environment.toml"], "belongs to a run");
    assert!(placebench(at, &["convert", "g.csv", "w.graph"]).status.success());
    let graph = kept("w.graph");
    refused(at, &["partition", "w.graph", "-k", "2", "-o", "w.graph"], "w.graph: is read, too");
    assert_eq!(kept("w.graph"), graph);
    assert_eq!(["g.csv", "s.csv", &ops, "placer.py"].map(kept).to_vec(), before);
    // What is neither is written.
    assert!(placebench(at, &["partition", "w.graph", "-k", "2", "-o", "w.part"]).status.success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_figure_that_cannot_be_written_is_an_error() {
    let folder = study();
    let at = folder.path();
    fs::create_dir(at.join("f")).unwrap();
    // The name of the figure's data is taken by a folder.
    let names = text(&placebench(at, &["figure", "r", "--kind", "heat", "--json", "--out", "other"]).stdout);
    let name = names.split("other/").nth(1).and_then(|rest| rest.split('.').next()).unwrap();
    fs::create_dir_all(at.join(format!("f/{name}.csv/full"))).unwrap();
    for kind in [&["--kind", "heat"][..], &[]] {
        let output = placebench(at, &[&["figure", "r", "--out", "f"][..], kind].concat());
        assert!(!output.status.success(), "{}", text(&output.stdout));
        assert!(text(&output.stderr).starts_with(&format!("error: f/{name}.csv: ")), "{}", text(&output.stderr));
    }
}

/// Copies a run without its table, with a change to a line of the journal.
fn with_line(at: &Path, to: &str, change: impl Fn(&str) -> String) {
    fs::create_dir(at.join(to)).unwrap();
    for file in ["suite.toml", "environment.toml"] {
        fs::copy(at.join("r").join(file), at.join(to).join(file)).unwrap();
    }
    let journal = fs::read_to_string(at.join("r/cells.jsonl")).unwrap();
    let (first, rest) = journal.split_once('\n').unwrap();
    fs::write(at.join(to).join("cells.jsonl"), format!("{}\n{rest}", change(first))).unwrap();
}

#[test]
fn a_line_of_a_journal_that_no_run_writes_is_named_and_its_cell_runs_again() {
    let folder = study();
    let at = folder.path();
    let makespan = |line: &str, value: &str| {
        let (before, after) = line.split_once("\"makespan\":").unwrap();
        format!("{before}\"makespan\":{value}{}", &after[after.find(',').unwrap()..])
    };
    let changed = |line: &str, name: &str| match name {
        "status" => line.replace("\"status\":\"ok\"", "\"status\":\"fine\""),
        "negative" => makespan(line, "-3.0"),
        "missing" => makespan(line, "null"),
        _ => makespan(line, "\"NaN\""),
    };
    let cases = [
        ("status", "there is no status 'fine'"),
        ("negative", "its makespan is no number from 0 on"),
        ("missing", "its makespan is no number from 0 on"),
        ("type", "not a row ("),
    ];
    for (name, says) in cases {
        with_line(at, name, |line| changed(line, name));
        let output = placebench(at, &["run", "s.toml", "--out", name, "-q"]);
        let said = text(&output.stderr);
        assert!(
            output.status.success() && said.contains(says) && said.contains("its cell runs again"),
            "{name}: {said}"
        );
        assert!(said.contains("cells.jsonl:1: "), "{name}: {said}");
        let compared = placebench(at, &["compare", "r", name, "--ignore", "time", "--all-cells"]);
        assert!(compared.status.success(), "{name}: {}", text(&compared.stdout));
    }
}

#[test]
fn a_part_without_its_first_line_is_named_and_its_cells_run_again() {
    let folder = study();
    let at = folder.path();
    let suite = fs::read_to_string(at.join("s.toml")).unwrap();
    fs::write(at.join("s.toml"), format!("repetitions = 6\n{suite}")).unwrap();
    for more in [&["--out", "whole"][..], &["--out", "parts", "--shard", "1/2"]] {
        assert!(placebench(at, &[&["run", "s.toml", "-q"][..], more].concat()).status.success());
    }
    let parts = fs::read_dir(at.join("parts/parts")).unwrap().map(|file| file.unwrap().path());
    let part = parts.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "jsonl")).unwrap();
    let lines = fs::read_to_string(&part).unwrap();
    fs::write(&part, lines.split_once('\n').unwrap().1).unwrap();
    let output = placebench(at, &["run", "s.toml", "--out", "parts", "-q"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("none of "), "{said}");
    assert!(placebench(at, &["compare", "whole", "parts", "--ignore", "time", "--all-cells"]).status.success());
}

#[test]
fn every_verb_refuses_tables_with_rows_that_no_run_makes() {
    let folder = study();
    let at = folder.path();
    assert!(placebench(at, &["run", "s.toml", "--out", "t", "-q", "--table", "t.csv"]).status.success());
    let table = fs::read_to_string(at.join("t.csv")).unwrap();
    let makespans = ["inf", "-1", "NaN", ""].map(|value| ("makespan", value, "their makespan is no number from 0 on"));
    let others = [
        ("period", "-1", "1 rows are ok, but their period is no number from 0 on"),
        ("status", "okk", "there is no status 'okk'"),
    ];
    for (name, value, says) in makespans.into_iter().chain(others) {
        let column = table.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
        let row = |line: &str| {
            let mut cells: Vec<&str> = line.split(',').collect();
            cells[column] = value;
            cells.join(",")
        };
        let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
        lines[1] = row(&lines[1]);
        fs::write(at.join("bad.csv"), lines.join("\n")).unwrap();
        for args in [&["rank", "bad.csv"][..], &["compare", "t.csv", "bad.csv"], &["compare", "bad.csv", "t.csv"]] {
            let output = placebench(at, args);
            assert!(!output.status.success(), "{value}: {args:?}: {}", text(&output.stdout));
            let said = text(&output.stderr);
            assert!(said.contains(says), "{value}: {args:?}: {said}");
        }
    }
}

#[cfg(unix)]
#[test]
fn nobody_waits_for_a_pipe() {
    let folder = study();
    let at = folder.path();
    for name in ["p.csv", "p.toml", "p.json", "p.csv.gz", "p.graph"] {
        assert!(std::process::Command::new("mkfifo").arg(at.join(name)).status().unwrap().success());
    }
    let says = "is a pipe or a device";
    refused(at, &["run", "p.toml"], says);
    refused(at, &["inspect", "p.csv"], says);
    refused(at, &["inspect", "p.json"], says);
    refused(at, &["inspect", "p.csv.gz"], says);
    refused(at, &["place", "g.csv", "-c", "p.toml"], says);
    refused(at, &["partition", "p.graph", "-k", "2"], says);
    let output = placebench(at, &["rank", "p.csv"]);
    assert!(!output.status.success() && text(&output.stderr).contains(says), "{}", text(&output.stderr));
}

#[test]
fn an_option_that_would_say_nothing_is_refused() {
    let folder = study();
    let at = folder.path();
    for (args, says) in [
        (
            &["execute", "g.csv", "-c", "c.toml", "--executor", "simulate", "--kernel", "compute"][..],
            "--kernel: the executor simulate has no such setting",
        ),
        (&["figure", "r", "--format", "svg", "--dpi", "99"], "--dpi is for --format png"),
        (&["figure", "r", "--format", "png", "--outlines"], "--outlines is for --format svg"),
        (&["figure", "r", "--kind", "heat", "--cell", "g/heft/pct"], "--cell is for --kind gantt, load or executable"),
        (
            &["place", "g.csv", "-c", "c.toml", "--instance-format", "parquet"],
            "--instance-format is for a placer's program",
        ),
        (&["place", "g.csv", "-c", "c.toml", "--raw-csv"], "--raw-csv is about CSV"),
        (&["run", "s.toml", "--out", "x", "--raw-csv"], "--raw-csv is about CSV"),
        (&["table", "r", "--format", "tex", "--raw-csv"], "--raw-csv is about CSV"),
        (&["table", "r", "--format", "csv", "--label", "x"], "--label is what LaTeX calls the table"),
        (&["table", "r", "--format", "tex", "--label", "tab:ü"], "--label 'tab:ü': \\ref takes letters and digits"),
        (&["table", "r", "--format", "csv", "--out", "x.tex"], "x.tex: the ending says another format than --format"),
        (&["table", "r", "--out", "x.foo"], "x.foo: no table has this ending: use .md, .tex or .csv"),
        (&["table", "r", "--metric", "p95"], "r: no row has a value of p95: choose another --metric"),
        (
            &["figure", "r", "--kind", "heat", "--metric", "p95"],
            "r: no row has a value of p95: choose another --metric",
        ),
    ] {
        refused(at, args, says);
    }
    let output = placebench(at, &["place", "g.csv", "-c", "c.toml", "--seed=-1"]);
    assert!(text(&output.stderr).contains("no seed: write a whole number from 0 to"), "{}", text(&output.stderr));
    assert!(placebench(at, &["table", "r", "--out", "x.tex"]).status.success());
    assert!(fs::read_to_string(at.join("x.tex")).unwrap().contains("\\label{tab:r-makespan}"));
    fs::write(at.join("h.csv"), "date,commit,suite,placer\n").unwrap();
    let output = placebench(at, &["trend", "h.csv", "--reference", "r"]);
    assert!(!output.status.success() && text(&output.stderr).contains("--reference is what runs that are added are"));
}

/// `nohup` leaves HUP ignored: the run goes on when its terminal goes.
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_is_ignored_from_the_start_stays_ignored() {
    let folder = study();
    let at = folder.path();
    let suite = fs::read_to_string(at.join("s.toml")).unwrap();
    let program = "echo $PPID >pid.new; mv pid.new pid; until [ -e go ]; do sleep 0.02; done; awk 'NR > 1 { print 0 }' \"$1/ops.csv\"";
    fs::write(at.join("slow.sh"), program).unwrap();
    let own = suite.replace("placers = [\"heft\", \"random\"]", "placers = []")
        + "[[placer]]\nname = \"slow\"\ncommand = [\"sh\", \"slow.sh\"]\n";
    fs::write(at.join("own.toml"), own).unwrap();
    let mut child = std::process::Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" run own.toml --out own -q", env!("CARGO_BIN_EXE_placebench")])
        .current_dir(at)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !at.join("pid").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let hang_up = std::process::Command::new("kill").args(["-HUP", &child.id().to_string()]).status();
    assert!(hang_up.unwrap().success());
    std::thread::sleep(std::time::Duration::from_millis(300));
    fs::write(at.join("go"), "").unwrap();
    assert!(child.wait().unwrap().success(), "the hangup stopped the run");
}
