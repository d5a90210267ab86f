//! Passes as users name them: as options, as parts of a name, in suites.

use std::path::Path;

use serde_json::Value;

use crate::common::{assert_one_line_error, placebench, text};

fn document(folder: &Path, args: &[&str]) -> Value {
    let output = placebench(folder, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_pass_is_an_option_or_a_part_of_the_name_and_the_row_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    let by_option = ["place", "convnet", "--pass", "prune", "--pass", "microbatch(4)", "--json"];
    let by_name = ["place", "convnet+prune+microbatch(m=4)", "--json"];
    let output = placebench(folder.path(), &by_option);
    let notes = text(&output.stderr);
    assert!(
        notes.starts_with("note: prune: ") && notes.contains("\nnote: microbatch(m=4): 4 micro-batches of "),
        "{notes}"
    );
    let (a, b) = (document(folder.path(), &by_option), document(folder.path(), &by_name));
    for column in ["graph", "passes", "makespan", "ops"] {
        assert_eq!(a["row"][column], b["row"][column], "{column}");
    }
    assert_eq!(a["row"]["graph"], "convnet+prune+microbatch(m=4)");
    assert_eq!(a["row"]["passes"], "prune+microbatch(m=4)");
    let plain = document(folder.path(), &["place", "convnet", "--json"]);
    assert_eq!(plain["row"]["passes"], Value::Null);
}

#[test]
fn a_suite_makes_a_graph_of_each_list_of_passes_and_is_filtered_by_them() {
    let folder = tempfile::tempdir().unwrap();
    let suite = r#"
        name = "passes"
        placers = ["heft"]
        schedulers = ["pct"]
        passes = [[], ["prune"], ["prune", "coarsen(groups)"]]
        [[graph]]
        catalogue = "convnet"
        [[graph]]
        preset = "pipeline(stages=2,micro_batches=1,schedule=free)"
        name = "steps"
        passes = ["microbatch(2)"]
        [[cluster]]
        preset = "gtx1080x4"
    "#;
    std::fs::write(folder.path().join("s.toml"), suite).unwrap();
    let output = placebench(folder.path(), &["run", "s.toml", "--out", "run", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = document(folder.path(), &["table", "run", "--json"]);
    let graphs = table.to_string();
    for name in [
        "convnet",
        "convnet+prune",
        "convnet+prune+coarsen(what=groups)",
        "steps+microbatch(m=2)",
        "steps+microbatch(m=2)+prune",
    ] {
        assert!(graphs.contains(&format!("\"{name},")), "{name} in {graphs}");
    }
    let filtered = placebench(folder.path(), &["table", "run", "--where", "passes=prune"]);
    let filtered = text(&filtered.stdout);
    assert!(filtered.contains("convnet+prune") && !filtered.contains("coarsen"), "{filtered}");
    let without = placebench(folder.path(), &["table", "run", "--where", "passes=none"]);
    let without = text(&without.stdout);
    assert!(without.contains("| convnet (") && !without.contains('+'), "{without}");
    let nowhere = placebench(folder.path(), &["table", "run", "--where", "passes=nosuch"]);
    assert_one_line_error(&nowhere, "no row has passes 'nosuch': use one of microbatch(m=2), ");
    // The run's own suite makes the same graphs again.
    let again = document(folder.path(), &["place", "convnet+prune", "--run", "run", "--json"]);
    assert_eq!(again["row"]["passes"], "prune");
}

#[test]
fn a_graph_that_was_made_with_passes_remembers_them_and_is_checked_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let family = "pipeline(stages=2,micro_batches=1,schedule=free)";
    for (what, out) in [(family, "p"), ("laich3", "l")] {
        let pass = if out == "p" { "replicate(2)" } else { "coarsen" };
        let made = placebench(folder.path(), &["generate", what, "--pass", pass, "--out", out]);
        assert!(made.status.success(), "{}", text(&made.stderr));
        let checked = placebench(folder.path(), &["generate", "--check", out]);
        assert!(checked.status.success(), "{}", text(&checked.stderr));
    }
    let header = std::fs::read_to_string(folder.path().join("p/graph.toml")).unwrap();
    assert!(header.contains("passes = \"replicate(n=2)\""), "{header}");
    let broken = header.replace("replicate(n=2)", "replicate(n=3)");
    std::fs::write(folder.path().join("p/graph.toml"), broken).unwrap();
    assert!(
        text(&placebench(folder.path(), &["generate", "--check", "p"]).stderr)
            .contains("is not the one that its parameters make")
    );
}

#[test]
fn convert_passes_files_and_names_and_says_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let first = placebench(folder.path(), &["convert", "gpt2+recompute", "a"]);
    assert!(text(&first.stdout).starts_with("recompute: "), "{}", text(&first.stdout));
    let whole = placebench(folder.path(), &["convert", "gpt2", "g"]);
    assert!(whole.status.success());
    let second = placebench(folder.path(), &["convert", "g", "b", "--pass", "recompute"]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    let sizes = |name: &str| document(folder.path(), &["inspect", name, "--json"])["properties"]["ops"].clone();
    assert_eq!(sizes("a"), sizes("b"));
    // What was converted is a graph by the name of its folder, which remembers what it was made by.
    let row = document(folder.path(), &["place", "a+compress", "--json"])["row"].clone();
    assert_eq!((&row["graph"], &row["passes"]), (&"a+compress".into(), &"compress".into()));
    assert_eq!(document(folder.path(), &["inspect", "a", "--json"])["provenance"]["passes"], "recompute");
}

#[test]
fn place_tells_what_each_pass_did_and_what_the_placement_is_worth_without_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["place", "convnet", "--pass", "cse", "--pass", "compress", "-n", "one_port", "--json"];
    let passed = document(folder.path(), &args)["passed"].clone();
    let lines: Vec<&str> = passed["lines"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(lines.len() == 2 && lines[0].starts_with("cse: ") && lines[1].starts_with("compress: "), "{lines:?}");
    let plain = document(folder.path(), &["place", "convnet+cse", "-n", "one_port", "--json"]);
    assert_eq!(passed["without"]["passes"], "compress");
    for metric in ["makespan", "traffic_bytes", "peak_memory_bytes"] {
        assert_eq!(passed["without"][metric], plain["row"][metric], "{metric}");
    }
    assert_eq!(plain["passed"]["without"], Value::Null);
    let told = text(&placebench(folder.path(), &args[..args.len() - 1]).stdout);
    assert!(told.contains("\nwithout         compress: makespan "), "{told}");
}

/// A graph's file may have a '+' in its name, and a name is the same however its numbers are written.
#[test]
fn names_with_passes_are_read_as_they_are_meant() {
    let folder = tempfile::tempdir().unwrap();
    assert!(placebench(folder.path(), &["convert", "convnet", "a+b.csv"]).status.success());
    let row = |graph: &str| document(folder.path(), &["place", graph, "--json"])["row"].clone();
    assert_eq!((&row("a+b.csv")["passes"], &row("a+b.csv+coarsen")["passes"]), (&Value::Null, &"coarsen".into()));
    assert_eq!(row("convnet+microbatch(+04)")["graph"], "convnet+microbatch(m=4)");
    assert!(placebench(folder.path(), &["convert", "gpt2+recompute+recompute", "twice"]).status.success());
}

#[test]
fn what_is_no_pass_or_no_graph_for_it_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let error = |args: &[&str], expected: &str| assert_one_line_error(&placebench(folder.path(), args), expected);
    error(&["place", "convnet", "--pass", "prunne"], "unknown pass 'prunne': did you mean 'prune'?");
    error(&["place", "convnet+prunne"], "unknown pass 'prunne': did you mean 'prune'?");
    error(&["place", "convnet", "--pass", "microbatch(x)"], "parameter 'm' is 'x'");
    error(&["place", "laich1", "--pass", "recompute"], "graph 'laich1': pass 'recompute': ");
    error(&["place", "convnett+prune"], "did you mean 'convnet'?");
    error(&["convert", "gtx1080x4", "c.toml", "--cluster", "--pass", "prune"], "--pass is for dataflow graphs");
    error(&["generate", "grid(side=4)", "--pass", "prune", "--out", "g.graph"], "--pass is for dataflow graphs");
    error(&["generate", "gtx1080x4", "--pass", "prune", "--out", "c.toml"], "--pass is for graphs");
    let streamed = ["generate", "gnm(vertices=100,edges=200)", "--stream", "--pass", "prune", "--out", "g.edges"];
    error(&streamed, "--pass changes a graph that is made whole");
    error(&["place", "convnet+"], "unknown pass ''");
    let late = "'cse': changes the graph before it is placed: give it before 'compress', which changes what is placed";
    error(&["place", "convnet+compress", "--pass", "cse"], late);
    error(&["convert", "convnet", "out", "--pass", "compress"], "pass 'compress' changes a graph that is placed");
    // A suite says so before anything runs.
    let suite = |passes: &str, own: &str, expected: &str| {
        let text = format!(
            "name = \"s\"\nplacers = [\"heft\"]\npasses = {passes}\n[[graph]]\ncatalogue = \"convnet\"\npasses = {own}\n\
             [[cluster]]\npreset = \"gtx1080x4\"\n"
        );
        std::fs::write(folder.path().join("s.toml"), text).unwrap();
        error(&["run", "s.toml"], expected);
    };
    suite("[[\"compress\", \"cse\"]]", "[]", &format!("s.toml:3: {late}"));
    suite("[\"cse\"]", "[\"compress\"]", &format!("s.toml: graph 'convnet': {late}"));
    suite("[\"compress\"]", "[\"compress\"]", "'compress': changes what is placed, and is given twice: give it once");
    suite("\"compress\"", "[]", "s.toml:3: give a list of passes, as in [\"prune\"], or a list of such lists");
    suite("[[], []]", "[]", "s.toml:3: list 2 of passes is there already: leave it out");
    error(&["place", "gpt2", "--pass", "replicate(4096)"], "pass 'replicate': a graph of about ");
}
