//! `placebench reproduce` from end to end: claims with their verdicts, figures and tables under the source's numbers.

use std::path::Path;
use std::process::{Command, Output};

use placebench::harness::suite::BuiltIn;

fn placebench(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_placebench")).args(args).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The row of the claims' table whose text contains `part`.
fn row<'a>(markdown: &'a str, part: &str) -> &'a str {
    markdown.lines().find(|line| line.starts_with("| ") && line.contains(part)).unwrap_or_else(|| panic!("{part}"))
}

#[test]
fn reproduce_tolstobrov_runs_the_suite_and_checks_its_claims() {
    let folder = tempfile::tempdir().unwrap();
    let output = placebench(folder.path(), &["reproduce", "tolstobrov", "--quiet", "--no-figures"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let markdown = text(&output.stdout);
    let gossip = row(&markdown, "gossip speeds communication up 2 to 5 times (against recursive doubling, period 1)");
    assert!(gossip.trim_end().ends_with("| 6/6 | 12 | holds |"), "{gossip}");
    let gossip = row(&markdown, "gossip speeds communication up 2 to 5 times (against ring, period 1)");
    assert!(gossip.trim_end().ends_with("| 0/6 | 12 | does not hold |"), "{gossip}");
    let accuracy = row(&markdown, "Local-SGD costs 2 to 4 % of accuracy");
    assert!(accuracy.trim_end().ends_with("| 0 | cannot be tested |"), "{accuracy}");
    assert!(markdown.contains("cannot be tested: placebench does not train"));
    assert!(!folder.path().join("runs/tolstobrov-1/figures").exists());

    // Claims come out the same from the rows alone, intervals included.
    let again = placebench(folder.path(), &["reproduce", "tolstobrov", "--run", "runs/tolstobrov-1", "--no-figures"]);
    assert_eq!(row(&text(&again.stdout), "(against ring, period 16)"), row(&markdown, "(against ring, period 16)"));
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
                 [[graph]]\npreset = \"laich3\"\n[[graph]]\ncatalogue = \"convnet_whole\"\nweights = \"laich\"\n\
                 [[cluster]]\npreset = \"laich7\"\nsend_ops = 10\n";
    std::fs::write(folder.path().join("part.toml"), suite).unwrap();
    let output = placebench(folder.path(), &["run", "part.toml", "--out", "run", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = placebench(folder.path(), &["reproduce", "laich2017", "--run", "run"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let text = text(&output.stdout);
    assert!(text.contains("Fig. 7.1 (Execution time of"), "{text}");
    assert!(text.contains("cannot be made: the run has nothing of it"), "{text}");
    assert!(text.contains("1. cannot be tested: the run has no rows to compare."), "{text}");
    let figures = folder.path().join("run/figures");
    assert!(figures.join("fig-7.7-laich3.svg").exists() && figures.join("fig-7.9b-mite.svg").exists());
    let executable = std::fs::read_to_string(figures.join("fig-7.10b-mite.csv")).unwrap();
    assert!(executable.starts_with("device,decision,"), "{executable}");
    let properties = std::fs::read_to_string(figures.join("table-7.1.csv")).unwrap();
    assert_eq!(properties.lines().nth(1), Some("laich3,7475,49510,0,49510,1000,5,10,6.62,263"), "{properties}");
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
    assert!(text(&made.stdout).contains("16 workers"), "{}", text(&made.stderr));
    std::fs::write(folder.path().join("p.toml"), "generator = \"training_steps\"\nperiod = 0\n").unwrap();
    let wrong = placebench(folder.path(), &["generate", "p.toml", "--out", "i"]);
    assert_eq!(text(&wrong.stderr), "error: p.toml: `period` is 0, but must be in [1, 4294967295]\n");
}
