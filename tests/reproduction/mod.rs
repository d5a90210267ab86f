//! `placebench reproduce` from end to end: claims with their verdicts, figures and tables under the source's numbers.

mod overheads;

use std::path::Path;

use placebench::harness::runner::read_run;
use placebench::harness::suite::{BuiltIn, Suite};
use placebench::reports::{Checked, ClaimRatio, Claims, Part, SOURCES, claims_of, document, training_steps};

use crate::common::{placebench, text};

/// The row of the claims' table whose text contains `part`.
fn row<'a>(markdown: &'a str, part: &str) -> &'a str {
    markdown.lines().find(|line| line.starts_with("| ") && line.contains(part)).unwrap_or_else(|| panic!("{part}"))
}

/// A file of the documentation.
fn documentation(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A source's claims, and the groups that the documentation keeps of them.
fn documented(source: &str) -> (Claims, Checked) {
    let claims = claims_of(source).unwrap().unwrap();
    let file = format!("reproduction/{source}.tsv");
    let checked = Checked::from_tsv(&claims, &documentation(&file), &file).unwrap();
    (claims, checked)
}

/// Compares the groups of a run, which may be of a part of the suite, with those that the documentation keeps: all that
/// have as many rows there. There must be at least `least` rows.
fn same_groups(source: &str, run: &Path, least: usize) {
    let (claims, kept) = documented(source);
    let suite = Suite::read(&run.join("suite.toml")).unwrap();
    let found = Checked::new(&claims, &read_run(run).unwrap(), &training_steps(&suite)).unwrap();
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs();
    let same = |a: &ClaimRatio, b: &ClaimRatio| {
        let (low, high) = a.interval.unwrap_or((a.value, a.value));
        let (kept_low, kept_high) = b.interval.unwrap_or((b.value, b.value));
        near(a.value, b.value) && near(low, kept_low) && near(high, kept_high)
    };
    let mut compared = 0;
    for (reading, (found, kept)) in claims.readings.iter().zip(found.groups.iter().zip(&kept.groups)) {
        for (claim, (found, kept)) in claims.claims.iter().zip(found.iter().zip(kept)) {
            for group in found {
                let Some(kept) = kept.iter().find(|kept| (&kept.label, kept.rows) == (&group.label, group.rows)) else {
                    continue;
                };
                assert!(
                    same(group, kept),
                    "{source}, reading {}: {}: {group:?} is {kept:?} in docs/reproduction, which is out of date: run \
                     `placebench reproduce all --docs docs`",
                    reading.name,
                    claim.text
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= least, "only {compared} groups of {source} can be compared");
}

/// Runs some graphs of a source's suite on some clusters with one scheduler, and compares what comes out with the documentation.
fn part_is_as_documented(source: &str, scheduler: &str, graphs: &[&str], clusters: &[&str], least: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut suite = BuiltIn::find(source).unwrap().suite().unwrap();
    suite.clusters.retain(|cluster| clusters.contains(&cluster.label().as_str()));
    suite.graphs.retain(|graph| graphs.contains(&graph.label().as_str()));
    suite.schedulers = vec![scheduler.to_owned()];
    for graph in suite.graphs.iter_mut().filter_map(|graph| graph.clusters.as_mut()) {
        graph.retain(|cluster| clusters.contains(&cluster.as_str()));
    }
    std::fs::write(folder.path().join("part.toml"), suite.to_toml().unwrap()).unwrap();
    let output = placebench(folder.path(), &["run", "part.toml", "--out", "run", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    same_groups(source, &folder.path().join("run"), least);
}

#[test]
fn the_page_of_reproductions_is_what_the_command_makes_of_the_kept_groups() {
    let part = |name: &str| {
        let (claims, checked) = documented(name);
        let suite = BuiltIn::find(name).unwrap().suite().unwrap();
        Part::new(name, claims, checked, suite).unwrap()
    };
    let page = document(&SOURCES.map(part));
    let kept = documentation("REPRODUCTION.md");
    for (number, (kept, made)) in kept.lines().zip(page.lines()).enumerate() {
        assert_eq!(kept, made, "docs/REPRODUCTION.md:{}: run `placebench reproduce all --docs docs`", number + 1);
        assert!(made.starts_with('|') || made.chars().count() <= 120, "docs/REPRODUCTION.md:{}: too long", number + 1);
    }
    assert_eq!(kept.lines().count(), page.lines().count(), "run `placebench reproduce all --docs docs`");
}

#[test]
fn no_claim_is_refused_and_no_reason_is_idle() {
    for source in SOURCES {
        let (claims, checked) = documented(source);
        for (index, claim) in claims.claims.iter().enumerate() {
            let (number, text) = (index + 1, &claim.text);
            match (checked.passed_by(&claims, index), &claim.control_passes) {
                (Some(control), None) => {
                    panic!("{source} {number}: {control} passes '{text}': test something else, or say why")
                }
                (None, Some(reason)) => panic!("{source} {number}: no control passes '{text}': '{reason}' is idle"),
                _ => {}
            }
        }
    }
}

#[test]
fn a_part_of_laich_2017_comes_out_as_documented() {
    part_is_as_documented("laich2017", "pct", &["laich3", "convnet_whole"], &["laich100", "laich50"], 50);
}

#[test]
fn a_part_of_bahnmueller_2018_comes_out_as_documented() {
    part_is_as_documented("bahnmueller2018", "fifo", &["lstm_lm"], &["gtx1080x2_overheads4"], 50);
}

#[test]
fn the_document_is_about_every_source_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let output = placebench(folder.path(), &["reproduce", "all"]);
    let expected = "error: `reproduce all` writes the document of every source: say where with --docs DIR\n";
    assert_eq!(text(&output.stderr), expected);
    let output = placebench(folder.path(), &["reproduce", "tolstobrov", "--docs", "d"]);
    let expected = "error: --docs is about every source: write `reproduce all`, not `reproduce tolstobrov`\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn reproduce_tolstobrov_runs_the_suite_and_checks_its_claims() {
    let folder = tempfile::tempdir().unwrap();
    let output = placebench(folder.path(), &["reproduce", "tolstobrov", "--quiet", "--no-figures"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let markdown = text(&output.stdout);
    // With recursive doubling over ports, and not on a ring.
    let gossip = row(&markdown, "gossip speeds communication up 2 to 5 times (periods");
    assert!(gossip.contains("| 2 to 5 |") && gossip.trim_end().ends_with("| holds under some |"), "{gossip}");
    let forty = row(&markdown, "configuration 9 speeds communication up 40 times on average");
    assert!(forty.contains("| 30 to 50 on average | 40 |"), "{forty}");
    let accuracy = row(&markdown, "Local-SGD costs 2 to 4 % of accuracy");
    assert!(accuracy.trim_end().ends_with("| – |  |  |  | cannot be tested |"), "{accuracy}");
    assert!(markdown.contains("cannot be tested: placebench does not train"));
    assert!(!folder.path().join("runs/tolstobrov-1/figures").exists());

    // The ratios are those that the page was made from.
    same_groups("tolstobrov", &folder.path().join("runs/tolstobrov-1"), 100);

    // Claims come out the same from the rows alone, intervals included.
    let again = placebench(folder.path(), &["reproduce", "tolstobrov", "--run", "runs/tolstobrov-1", "--no-figures"]);
    assert_eq!(row(&text(&again.stdout), "2 to 5 times (periods"), row(&markdown, "2 to 5 times (periods"));
}

#[test]
fn figures_and_tables_have_the_numbers_of_the_source_and_accuracy_is_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut suite = BuiltIn::find("tolstobrov").unwrap().suite().unwrap();
    suite.clusters.retain(|cluster| cluster.label() == "t_slow32");
    std::fs::write(folder.path().join("part.toml"), suite.to_toml().unwrap()).unwrap();
    let output = placebench(folder.path(), &["run", "part.toml", "--out", "run", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = placebench(folder.path(), &["reproduce", "tolstobrov", "--run", "run"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let markdown = text(&output.stdout);
    assert!(markdown.contains("\n4 of 16 figures and tables made: run/figures\n"), "{markdown}");
    assert!(markdown.contains("\nFig. 9 (CIFAR-10: accuracy in the configurations, 60 workers) cannot be made: "));
    let figures = folder.path().join("run/figures");
    for network in ["contention_free", "one_port"] {
        for extension in ["svg", "png", "csv"] {
            let path = figures.join(format!("{network}/fig-19.{extension}"));
            assert!(std::fs::metadata(&path).unwrap().len() > 100, "{}", path.display());
        }
    }
    assert!(!figures.join("one_port/fig-9.svg").exists() && !figures.join("one_port/fig-10.svg").exists());
    let ratios = std::fs::read_to_string(figures.join("one_port/table-B.csv")).unwrap();
    let first: Vec<&str> = ratios.lines().take(2).collect();
    assert_eq!(first, ["graph,t_slow32", "1 (ring),1"]);
    // Local-SGD(32) exchanges once in 32 steps.
    assert!(ratios.lines().any(|line| line == "10 (ring),32"), "{ratios}");
    let list = std::fs::read_to_string(figures.join("README.md")).unwrap();
    assert!(list.contains("one_port/fig-19") && list.contains("cannot be made"), "{list}");
}

#[test]
fn timelines_and_executable_ops_are_made_of_a_part_of_a_suite_and_the_rest_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "name = \"laich2017\"\nplacers = [\"mite\"]\nschedulers = [\"pct\"]\n\
                 [[graph]]\npreset = \"laich3\"\n[[graph]]\ncatalogue = \"convnet_whole\"\ncosts = \"laich\"\n\
                 [[cluster]]\npreset = \"laich7\"\nsend_ops = 10\n";
    std::fs::write(folder.path().join("part.toml"), suite).unwrap();
    let output = placebench(folder.path(), &["run", "part.toml", "--out", "run", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = placebench(folder.path(), &["reproduce", "laich2017", "--run", "run"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let text = text(&output.stdout);
    assert!(text.contains("Fig. 7.1 (Execution time of"), "{text}");
    assert!(text.contains("cannot be made: the run has nothing of it"), "{text}");
    assert!(text.contains("- **1.** cannot be tested: the run has no rows to compare."), "{text}");
    let figures = folder.path().join("run/figures");
    assert!(figures.join("fig-7.7-laich3.svg").exists() && figures.join("fig-7.9b-mite.svg").exists());
    let executable = std::fs::read_to_string(figures.join("fig-7.10b-mite.csv")).unwrap();
    assert!(executable.starts_with("device,decision,"), "{executable}");
    let properties = std::fs::read_to_string(figures.join("table-7.1.csv")).unwrap();
    assert_eq!(properties.lines().nth(1), Some("laich3,7475,49510,0,49510,1000,5,10,6.62,263"), "{properties}");
}

#[test]
fn a_run_that_is_unfinished_is_judged_with_a_word_about_it() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "name = \"tolstobrov\"\nplacers = [\"expert\"]\nschedulers = [\"fifo\"]\n\
                 [[graph]]\nname = \"2\"\npreset = \"tolstobrov2(steps=1)\"\n\
                 [[cluster]]\npreset = \"t_fast16\"\n[[cluster]]\npreset = \"t_fast32\"\n";
    std::fs::write(folder.path().join("part.toml"), suite).unwrap();
    let output = placebench(folder.path(), &["run", "part.toml", "--out", "run", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = |name: &str| {
        let output = placebench(folder.path(), &["reproduce", "tolstobrov", "--run", name, "--no-figures"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(!said("run").contains("unfinished"));
    // The last cell and the table are gone.
    let journal = folder.path().join("run/cells.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    let kept = lines.trim_end().rsplit_once('\n').unwrap().0;
    std::fs::write(&journal, format!("{kept}\n")).unwrap();
    std::fs::remove_file(folder.path().join("run/results.parquet")).unwrap();
    assert!(said("run").contains("run: is unfinished: some of its cells are missing"), "{}", said("run"));
}

#[test]
fn a_source_that_does_not_exist_is_one_line_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let output = placebench(folder.path(), &["reproduce", "tolstobro"]);
    assert_eq!(text(&output.stderr), "error: unknown source 'tolstobro': did you mean 'tolstobrov'?\n");
}

#[test]
fn training_steps_can_be_generated_placed_and_made_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = placebench(folder.path(), &["generate", "training_steps(workers=4, sync=gossip)", "--out", "g"]);
    assert!(text(&output.stdout).starts_with("g: 16 ops, "), "{}", text(&output.stderr));
    let checked = placebench(folder.path(), &["generate", "--check", "g"]);
    assert_eq!(text(&checked.stdout), "g: the graph is what its parameters make\n", "{}", text(&checked.stderr));
    let placed = placebench(folder.path(), &["place", "g", "-c", "t_slow16", "--devices", "4", "-p", "expert"]);
    assert!(text(&placed.stdout).contains("4 used"), "{}", text(&placed.stdout));
    let parameters = placebench(folder.path(), &["generate", "--print-parameters", "tolstobrov9"]);
    assert!(parameters.stdout.starts_with(b"generator = \"training_steps\"\n"));
    std::fs::write(folder.path().join("p.toml"), &parameters.stdout).unwrap();
    let made = placebench(folder.path(), &["generate", "p.toml", "--out", "h"]);
    assert!(text(&made.stdout).starts_with("h: 9232 ops, 10752 edges\n"), "{}", text(&made.stderr));
    std::fs::write(folder.path().join("p.toml"), "generator = \"training_steps\"\nperiod = 0\n").unwrap();
    let wrong = placebench(folder.path(), &["generate", "p.toml", "--out", "i"]);
    assert_eq!(text(&wrong.stderr), "error: p.toml: `period` is 0, but must be in [1, 4294967295]\n");
}
