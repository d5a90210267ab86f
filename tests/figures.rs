//! Figures and tables of a run, through the command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::{assert_one_line_error, placebench, text};

const SUITE: &str = r#"
name = "small"
repetitions = 2
placers = ["random", "heft", "scoring(alpha=1)", "scoring(alpha=4)"]
schedulers = ["fifo", "pct"]

[[graph]]
catalogue = "convnet"

[[graph]]
catalogue = "recurrent"

[[cluster]]
preset = "gtx1080x2"
memory = "unlimited"

[[cluster]]
preset = "gtx1080x4"
memory = "unlimited"
"#;

/// A run on threads.
const MEASURED: &str = r#"
name = "measured"
placers = ["heft", "mite", "random"]
executors = ["threads"]

[execute]
mean_op = "100us"
repetitions = 3
warm_up = 1

[[graph]]
name = "small"
leveled = { levels = 4, nodes_per_level = [2, 4] }

[[cluster]]
preset = "gtx1080x2"
"#;

/// A run with passes.
const PASSED: &str = r#"
name = "passed"
placers = ["heft", "expert"]
passes = [[], ["coarsen"], ["coarsen", "fuse"]]

[[graph]]
catalogue = "convnet"

[[graph]]
catalogue = "recurrent"

[[cluster]]
preset = "gtx1080x2"
"#;

fn run(folder: &Path) {
    std::fs::write(folder.join("small.toml"), SUITE).unwrap();
    let output = placebench(folder, &["run", "small.toml", "--quiet", "--out", "run"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn names(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_run_gives_every_kind_of_figure_with_its_data_beside_it_and_the_same_bytes_again() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let output = placebench(folder.path(), &["figure", "run", "--format", "svg,png,pdf,tex", "--dpi", "72"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let figures = folder.path().join("run/figures");
    let files = names(&figures);
    for kind in [
        "bars",
        "clusters",
        "heat",
        "profile",
        "pareto",
        "ranks",
        "scaling",
        "sweep",
        "gantt",
        "load",
        "executable",
        "colocation",
    ] {
        let own: Vec<&String> = files.iter().filter(|file| file.starts_with(kind)).collect();
        assert!(own.len() >= 5 && own.len().is_multiple_of(5), "{kind}: {own:?}");
    }
    for file in files.iter().filter(|file| file.ends_with(".svg")) {
        let svg = std::fs::read_to_string(figures.join(file)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains("data-key="), "{file}");
        // What marks mean is said where there are some, and only there.
        let (marks, is_noted) = (svg.matches('°').count(), svg.contains("The authors assume"));
        assert!(if is_noted { marks > 1 } else { marks == 0 }, "{file}: {marks} marks, explained: {is_noted}");
        let is_marked =
            !["sweep", "gantt", "load", "executable", "colocation"].iter().any(|kind| file.starts_with(kind));
        assert_eq!(is_noted, is_marked, "{file}");
        let stem = file.trim_end_matches(".svg");
        for kind in ["csv", "png", "pdf", "tex"] {
            assert!(files.contains(&format!("{stem}.{kind}")), "{stem}");
        }
    }
    let bars = std::fs::read_to_string(figures.join("bars-makespan-convnet_gtx1080x2.csv")).unwrap();
    assert!(bars.starts_with("placer,scheduler,makespan_seconds,standard_deviation,count\n"), "{bars}");
    assert_eq!(bars.lines().count(), 1 + 4 * 2);
    let again =
        placebench(folder.path(), &["figure", "run", "--format", "svg,png,pdf,tex", "--dpi", "72", "--out", "again"]);
    assert!(again.status.success());
    for file in &files {
        let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
        assert_eq!(read(&figures), read(&folder.path().join("again")), "{file}");
    }
}

/// Whether a column is as documented: words in capitals stand for any.
fn is_column(column: &str, documented: &str) -> bool {
    let parts: Vec<&str> = documented.split('_').collect();
    let Some(wild) = parts.iter().position(|part| part.chars().all(|c| c.is_ascii_uppercase())) else {
        return column == documented;
    };
    let (before, after) = (parts[..wild].concat(), parts[wild + 1..].concat());
    let bare = column.replace('_', "");
    bare.len() > before.len() + after.len() && bare.starts_with(&before) && bare.ends_with(&after)
}

#[test]
fn the_documentation_has_the_columns_of_the_data_of_every_kind() {
    let docs = include_str!("../docs/FIGURES.md");
    let section = docs.split_once("## Data beside a figure\n").unwrap().1.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `")).map(|row| {
        let words: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        (words[0], words[1..].to_vec())
    });
    let documented: BTreeMap<&str, Vec<&str>> = rows.collect();
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    std::fs::write(folder.path().join("measured.toml"), MEASURED).unwrap();
    std::fs::write(folder.path().join("passed.toml"), PASSED).unwrap();
    for args in [
        &["run", "measured.toml", "-q", "--out", "measured"][..],
        &["run", "passed.toml", "-q", "--out", "passed"],
        &["figure", "passed", "--kind", "passes", "--out", "f"],
        &["figure", "run", "--out", "f"],
        &["figure", "measured", "--kind", "prediction,gantt", "--out", "f"],
    ] {
        let output = placebench(folder.path(), args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    }
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in names(&folder.path().join("f")).iter().filter(|file| file.ends_with(".csv")) {
        let kind = *documented.keys().find(|kind| file.starts_with(**kind)).unwrap_or_else(|| panic!("{file}"));
        let data = std::fs::read_to_string(folder.path().join("f").join(file)).unwrap();
        let mut free = documented[kind].clone();
        for column in data.lines().next().unwrap().split(',') {
            let exact = free.iter().position(|known| *known == column);
            let place = exact.or_else(|| free.iter().position(|known| is_column(column, known)));
            let place = place.unwrap_or_else(|| panic!("{kind}: '{column}' is not in docs/FIGURES.md"));
            seen.entry(kind).or_default().insert(free.remove(place));
        }
    }
    for (kind, columns) in &documented {
        let unseen: Vec<_> =
            columns.iter().filter(|&column| !seen[kind].contains(column) && *column != "op_type").collect();
        assert!(unseen.is_empty(), "{kind}: no data have {unseen:?}");
    }
    assert_eq!(documented.len(), placebench::reports::FigureKind::all().count());
}

#[test]
fn a_cell_is_shown_by_name_and_mistakes_are_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let figure = |args: &[&str]| {
        let output = placebench(folder.path(), &[&["figure", "run", "--out", "f"], args].concat());
        (output.status.success(), text(&output.stderr))
    };
    let cell = ["--kind", "gantt", "--cell", "recurrent@gtx1080x4/heft/pct"];
    assert_eq!(figure(&cell), (true, String::new()));
    let expected = ["csv", "svg"].map(|kind| format!("gantt-recurrent-gtx1080x4-heft-pct.{kind}"));
    assert_eq!(names(&folder.path().join("f")), expected.into());
    assert_eq!(figure(&[&cell[..], &["--outlines"]].concat()), (true, String::new()));
    let outlined = std::fs::read_to_string(folder.path().join("f/gantt-recurrent-gtx1080x4-heft-pct.svg")).unwrap();
    assert!(!outlined.contains("<text") && outlined.contains("<path"));
    for (args, told) in [
        (["--kind", "gantt", "--cell", "recurrent/hft/pct"], "did you mean 'recurrent/heft/pct'?"),
        (["--kind", "bars", "--metric", "speed"], "unknown metric 'speed': did you mean 'speedup'?"),
        (["--kind", "pie", "--metric", "slr"], "invalid value 'pie'"),
    ] {
        let (ok, error) = figure(&args);
        assert!(!ok && error.contains(told), "{error}");
    }
    let output = placebench(folder.path(), &["figure", "small.toml"]);
    let error = text(&output.stderr);
    assert!(!output.status.success() && error.lines().count() == 1 && error.contains("not a run folder"), "{error}");
}

#[test]
fn a_named_cell_is_of_the_rows_that_count() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "name = \"two\"\nplacers = [\"heft\"]\nschedulers = [\"pct\"]\nnetworks = [\"contention_free\", \"one_port\"]\n\
                 [[graph]]\nname = \"g\"\nleveled = { levels = 3, nodes_per_level = [3, 3] }\n\
                 [[graph]]\nname = \"h, i\"\nleveled = { levels = 3, nodes_per_level = [3, 3] }\n[[cluster]]\npreset = \"laich7\"\n";
    std::fs::write(folder.path().join("two.toml"), suite).unwrap();
    let asked = |args: &[&str]| placebench(folder.path(), args);
    assert!(asked(&["run", "two.toml", "--out", "two", "-q"]).status.success());
    let gantt = |filter: &str| {
        asked(&["figure", "two", "-k", "gantt", "--cell", "g/heft/pct", "--out", "f", "--where", filter])
    };
    for network in ["one_port", "contention_free"] {
        let drawn = gantt(&format!("network={network}"));
        assert!(
            text(&drawn.stdout).contains(&format!(", {network}.")),
            "{}{}",
            text(&drawn.stdout),
            text(&drawn.stderr)
        );
    }
    let refused = gantt("graph=\"h, i\"");
    let error = text(&refused.stderr);
    assert!(!refused.status.success() && error.contains("no row that counts is of its instance"), "{error}");
    let empty = asked(&["compare", "two", "two", "--where", "graph=h"]);
    assert!(text(&empty.stderr).contains("use one of g, \"h, i\""), "{}", text(&empty.stderr));
    assert!(asked(&["run", "two.toml", "--out", "one", "-q", "--where", "network=one_port"]).status.success());
    let apart = asked(&["compare", "two", "one", "--where", "network=contention_free"]);
    assert!(text(&apart.stderr).contains("one has no row that counts here"), "{}", text(&apart.stderr));
}

#[test]
fn without_a_name_the_cell_is_the_tables_best_whatever_a_single_numbering_says() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "name = \"lucky\"\nplacers = [\"random\", \"hashing\"]\nschedulers = [\"pct\"]\nnumberings = 12\n\
                 [[graph]]\nname = \"g\"\nleveled = { levels = 3, nodes_per_level = [3, 3] }\n[[cluster]]\npreset = \"laich7\"\n";
    std::fs::write(folder.path().join("lucky.toml"), suite).unwrap();
    let document = |args: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&placebench(folder.path(), args).stdout).unwrap()
    };
    let rows = document(&["run", "lucky.toml", "--out", "run", "--full", "-q", "--json"])["rows"].take();
    let makespan = |row: &serde_json::Value| row["makespan"].as_f64().unwrap();
    let rows = rows.as_array().unwrap();
    let least = rows.iter().min_by(|a, b| makespan(a).total_cmp(&makespan(b))).unwrap();
    let mean = |placer: &str| rows.iter().filter(|row| row["placer"] == placer).map(makespan).sum::<f64>();
    let (best, other) = if mean("random") < mean("hashing") { ("random", "hashing") } else { ("hashing", "random") };
    assert_eq!(least["placer"], other, "a case that tells the two apart");
    assert!(placebench(folder.path(), &["figure", "run", "--kind", "gantt", "--out", "f"]).status.success());
    let expected = ["csv", "svg"].map(|kind| format!("gantt-g-laich7-{best}-pct.{kind}"));
    assert_eq!(names(&folder.path().join("f")), expected.into());
}

#[test]
fn figures_tables_and_reports_are_of_the_rows_that_a_filter_lets_pass() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let only = ["--where", "placer=heft,random cluster=gtx1080x4"];
    let output = placebench(folder.path(), &[&["table", "run", "--format", "csv"], &only[..]].concat());
    let table = text(&output.stdout);
    assert!(table.starts_with("placer,convnet (ms),\"convnet (ms), standard deviation\",recurrent ("), "{table}");
    assert_eq!(table.lines().count(), 1 + 2);
    let output = placebench(folder.path(), &[&["figure", "run", "--kind", "bars", "--out", "f"], &only[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(names(&folder.path().join("f")).len(), 2 * 2);
    let report = ["report", "run", "--timelines", "none", "--out", "r.html"];
    let output = placebench(folder.path(), &[&report[..], &only[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let html = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(html.contains("16 cells where cluster=gtx1080x4 placer=heft,random, none failed"));
    let output = placebench(folder.path(), &["table", "run", "--where", "graph=convent"]);
    assert!(text(&output.stderr).contains("no row has graph 'convent': did you mean 'convnet'?"));
}

#[test]
fn a_table_of_a_run_is_markdown_latex_or_csv() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let table = |format: &str| {
        let output = placebench(folder.path(), &["table", "run", "--format", format, "--metric", "slr"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let markdown = table("markdown");
    assert_eq!(markdown.lines().filter(|line| line.starts_with('|')).count(), 2 + 4);
    assert!(markdown.starts_with("| placer") && markdown.contains("| heft"), "{markdown}");
    let note = markdown.lines().last().unwrap();
    assert!(note.starts_with("° The authors assume") && markdown.contains("° |"), "{markdown}");
    let latex = table("tex");
    assert!(latex.contains("$^\\circ$ The authors assume"), "{latex}");
    assert!(latex.contains("\\toprule") && latex.contains("convnet@gtx1080x2"), "{latex}");
    assert!(latex.contains("\\label{tab:run-slr}") && latex.contains("\\textbf{"), "{latex}");
    assert!(table("csv").starts_with("placer,convnet@gtx1080x2,"));
}

#[test]
fn a_table_shows_the_columns_that_fit_a_page_and_says_what_stands_beside_a_mean() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let table = |args: &[&str]| {
        let output = placebench(folder.path(), &[&["table", "run"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    // The columns alone are chosen: the means are those of the whole table.
    let cells = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let whole = cells(&table(&["--format", "csv", "--spread", "none"]));
    let chosen = cells(&table(&["--format", "csv", "--spread", "none", "--columns", "mean,recurrent@gtx1080x4"]));
    let at = |name: &str| whole[0].iter().position(|column| column.starts_with(name)).unwrap();
    let expected: Vec<Vec<String>> = whole
        .iter()
        .map(|row| [0, at("mean ratio"), at("recurrent@gtx1080x4")].map(|column| row[column].clone()).to_vec())
        .collect();
    assert_eq!(chosen, expected);
    let said = "± is the standard deviation over the repetitions of an instance";
    assert!(table(&[]).contains(said) && !table(&["--spread", "none"]).contains('±'));
    assert!(!table(&["--columns", "mean"]).contains('±'));
    assert!(table(&["--spread", "range"]).contains("In brackets: the least and the largest value"));
    let wide = table(&["--format", "tex", "--wide"]);
    assert!(wide.starts_with("\\begin{table*}") && wide.ends_with("\\end{table*}\n"), "{wide}");
    assert!(wide.contains("$\\pm$ is the standard deviation over the repetitions"), "{wide}");
    // The word of 0.1 is understood.
    assert_eq!(table(&["--format", "latex"]), table(&["--format", "tex"]));
    let refused: [(&[&str], &str); 3] = [
        (
            &["--columns", "convnet@gtx1080x3"],
            "the table has no column 'convnet@gtx1080x3': did you mean 'convnet@gtx1080x",
        ),
        (&["--columns", "mean,mean"], "the column 'mean' is named twice"),
        (&["--wide"], "--wide is for LaTeX"),
    ];
    for (args, expected) in refused {
        assert_one_line_error(&placebench(folder.path(), &[&["table", "run"], args].concat()), expected);
    }
}

/// The devices' loads and the period are those of the answer.
#[test]
fn a_placement_for_the_period_is_drawn_with_what_keeps_it_busy() {
    let folder = tempfile::tempdir().unwrap();
    let place = |arguments: &[&str]| {
        let given = ["place", "gpt2_xl", "-c", "h100x8", "-p", "expert", "-n", "one_port"];
        placebench(folder.path(), &[&given, arguments].concat())
    };
    let output = place(&["--objective", "period", "--figure", "load.svg"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("period, which expert does not heed\n") && said.contains(", due to "), "{said}");
    let svg = std::fs::read_to_string(folder.path().join("load.svg")).unwrap();
    assert!(svg.contains("period ") && svg.contains("data-key=\"gpu7|") && svg.contains("the port out of 'gpu"));
    let gantt = place(&["--figure", "gantt.svg"]);
    assert!(gantt.status.success() && !text(&gantt.stdout).contains("period, which"));
    let wrong = place(&["--figure", "load.jpg"]);
    assert_eq!(text(&wrong.stderr), "error: load.jpg: a figure's name ends with .svg, .png, .pdf or .tex\n");
    assert!(!folder.path().join("load.jpg").exists());
}

/// Costs in nanoseconds of a processor say nothing of devices that count operations; a class without times is named.
#[test]
fn times_that_a_cluster_cannot_use_are_refused_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = placebench(folder.path(), &["place", "resnet50", "-c", "h100x8"]);
    let said = text(&refused.stderr);
    assert!(!refused.status.success() && said.contains("its ops cost nanoseconds on the traced CPU core"), "{said}");
    assert!(said.contains("class h100") && said.contains("gtx1080x4") && said.lines().count() == 1, "{said}");
    let noted = placebench(folder.path(), &["place", "cholesky(tiles=3,times=cvb(0.5),machines=2)", "-c", "h100x8"]);
    let said = text(&noted.stderr);
    assert!(
        noted.status.success() && said.starts_with("note: the graph has measured times for devices of class p1, p2")
    );
    assert!(said.contains("none for class h100, xeon_8480c"), "{said}");
    let suite = "name = \"noted\"\nplacers = [\"heft\"]\n[[graph]]\npreset = \"cholesky(tiles=3,times=cvb(0.5),machines=2)\"\n\
                 [[cluster]]\npreset = \"h100x8\"\n";
    std::fs::write(folder.path().join("noted.toml"), suite).unwrap();
    let run = placebench(folder.path(), &["run", "noted.toml", "--out", "r"]);
    assert!(text(&run.stderr).contains("note: ") && text(&run.stderr).contains("class h100"), "{}", text(&run.stderr));
}
