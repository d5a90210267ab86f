//! File formats as a stranger meets them: what `convert` reads and writes, what it refuses, and what the documentation says.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{placebench, text};

/// A GraphDef of three nodes in a ring.
fn ring(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/tests/graphdef/bad").join(name)
}

const TAKERS: &str = "graphdef (.pb), graphdef_text (.pbtxt, .prototxt), extraction (folder with graph.pb)";

#[test]
fn cycles_are_dropped_whatever_the_extension_and_its_case() {
    let folder = tempfile::tempdir().unwrap();
    for (fixture, name) in [
        ("cycle.pb", "a.pb"),
        ("cycle.pb", "a.PB"),
        ("cycle.pbtxt", "a.pbtxt"),
        ("cycle.pbtxt", "a.PBTXT"),
        ("cycle.pbtxt", "a.prototxt"),
        ("cycle.pbtxt", "a.ProtoTxt"),
    ] {
        fs::copy(ring(fixture), folder.path().join(name)).unwrap();
        let refused = placebench(folder.path(), &["convert", name, "new.csv"]);
        assert!(text(&refused.stderr).contains("has a cycle through op 'a'"), "{name}: {}", text(&refused.stderr));
        for (out, size) in [("out.csv", "3 ops, 2 edges"), ("out.graph", "3 vertices")] {
            let opened = placebench(folder.path(), &["convert", name, out, "--cycles", "drop", "--force"]);
            assert!(opened.status.success(), "{name}: {}", text(&opened.stderr));
            let printed = text(&opened.stdout);
            assert!(printed.contains("1 edges dropped") && printed.contains(size), "{name}: {printed}");
        }
    }
}

#[test]
fn an_option_that_an_input_does_not_take_is_refused_with_those_that_do() {
    let folder = tempfile::tempdir().unwrap();
    for (input, output) in [("convnet", "g.csv"), ("convnet", "g"), ("convnet", "g.graph")] {
        assert!(placebench(folder.path(), &["convert", input, output]).status.success());
    }
    for option in [&["--cycles", "drop"][..], &["--no-references"]] {
        for (args, refusal) in [
            (&["g.csv", "h.dot"][..], "g.csv: the format 'csv' takes no"),
            (&["g", "h.dot"], "g: the format 'folder' takes no"),
            (&["g.csv", "h.mtx"], "g.csv: the format 'csv' takes no"),
            (&["g.graph", "h.mtx"], "not for 'g.graph': leave it out"),
            (&["convnet", "h.dot"], "not for 'convnet': leave it out"),
            (&["laich3", "h.dot"], "not for 'laich3': leave it out"),
            (&["--cluster", "laich7", "h.toml"], "not for a cluster: leave it out"),
        ] {
            let output = placebench(folder.path(), &[&["convert"], args, option].concat());
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{message}");
            assert!(message.contains(refusal), "{message}\n   lacks   {refusal}");
            assert!(message.contains(&format!("{} is for {TAKERS}", option[0])), "{message}");
        }
    }
    let left = fs::read_dir(folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('h'));
    assert_eq!(left.count(), 0, "a refusal leaves nothing behind");
}

#[test]
fn a_misspelt_extension_is_answered_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    for (name, near) in [("g.pbtx", "pbtxt"), ("g.prototext", "prototxt"), ("g.cvs", "csv")] {
        fs::write(folder.path().join(name), "").unwrap();
        let message = text(&placebench(folder.path(), &["inspect", name]).stderr);
        assert!(message.contains(&format!("did you mean '.{near}'?")), "{message}");
    }
    for (output, near) in [("h.dott", "dot"), ("h.grpah", "graph"), ("h.PBTXTT", "pbtxt")] {
        let message = text(&placebench(folder.path(), &["convert", "convnet", output]).stderr);
        assert!(message.contains(&format!("did you mean '.{near}'?")), "{message}");
    }
}

#[test]
fn the_documentation_has_the_table_that_the_command_prints() {
    let folder = tempfile::tempdir().unwrap();
    let listed = text(&placebench(folder.path(), &["list", "formats"]).stdout);
    let listed: Vec<String> = listed.lines().map(words).collect();
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/FORMATS.md")).unwrap();
    let section =
        docs.split("\n## ").find(|section| section.starts_with("File formats\n")).expect("the section is there");
    // A row's cells are joined as the command joins them; empty ones are left out.
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let documented: Vec<String> = rows
        .map(|row| {
            let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [name, mark, holds, title, access, lacks, options] = cells.as_slice() else { panic!("{row}") };
            let lacks = if lacks.is_empty() { String::new() } else { format!("lacks {lacks}") };
            let cells = [*mark, &format!("{holds}: {title}"), access, &lacks, options];
            let said: Vec<_> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
            words(&format!("{name} {}", said.join("; ")).replace('`', ""))
        })
        .collect();
    let expected: Vec<String> = listed.iter().map(|line| line.replace('`', "")).collect();
    assert_eq!(documented, expected);
    assert!(expected.len() > 10);
}

fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_help_of_the_verbs_names_every_format_they_read_or_write() {
    let folder = tempfile::tempdir().unwrap();
    let help = |verb: &str| words(&text(&placebench(folder.path(), &[verb, "--help"]).stdout));
    for (verb, expected) in [
        ("convert", ".csv, .pb, .pbtxt, .prototxt, folder with graph.pb"),
        ("convert", ".graph, .metis, .mtx"),
        ("convert", "--cluster .toml, .csv"),
        ("partition", "metis, hmetis, mtx, dimacs, edges, binary"),
        ("partition", ".hgr, .hmetis"),
        ("generate", "metis, mtx, dimacs, edges, binary"),
        ("generate", ".gexf, .dot, .gv"),
    ] {
        assert!(help(verb).contains(expected), "{verb} lacks {expected}:\n{}", help(verb));
    }
}

#[test]
fn convert_names_what_the_target_loses_and_strict_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| placebench(folder.path(), args);
    let lenient = run(&["convert", "convnet", "g.stg"]);
    let message = text(&lenient.stderr);
    assert!(lenient.status.success(), "{message}");
    assert!(message.starts_with("g.stg: the format 'stg' loses title"), "{message}");
    assert!(message.contains("measured times (") && message.contains("colocation ("), "{message}");
    let strict = run(&["convert", "convnet", "h.stg", "--strict"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(text(&strict.stderr).contains("leave out --strict"), "{}", text(&strict.stderr));
    assert!(!folder.path().join("h.stg").exists());
    let whole = run(&["convert", "convnet", "g.graphml.zst", "--strict"]);
    assert!(whole.status.success() && whole.stderr.is_empty(), "{}", text(&whole.stderr));
    let back = run(&["convert", "g.graphml.zst", "back.nx.json", "--strict"]);
    assert!(back.status.success(), "{}", text(&back.stderr));
    let first = run(&["convert", "convnet", "plain.nx.json", "--strict"]);
    assert!(first.status.success());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("back.nx.json"), read("plain.nx.json"), "GraphML and its compression keep everything");
}

/// Every key that a table of a suite may have stands in the example of docs/FORMATS.md, in its table.
#[test]
fn the_example_of_a_suite_shows_every_key() {
    const TEXT: &str = include_str!("../docs/FORMATS.md");
    let example = TEXT.split("## Suites").nth(1).unwrap().split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let whole =
        "name = \"a\"\nplacers = [\"heft\"]\n[[graph]]\ncatalogue = \"nmt\"\n[[cluster]]\npreset = \"laich7\"\n";
    let unknown = "nothing_that_exists_here = 1\n";
    let tables = [
        ("", format!("{unknown}{whole}")),
        ("[execute]", format!("{whole}[execute]\n{unknown}")),
        ("[[graph]]", whole.replace("catalogue", &format!("{unknown}catalogue"))),
        ("[[cluster]]", whole.replace("preset", &format!("{unknown}preset"))),
        ("[[placer]]", format!("{whole}[[placer]]\n{unknown}")),
    ];
    for (table, text) in tables {
        let error = placebench::harness::suite::Suite::parse(&text, "s.toml").unwrap_err().to_string();
        let (_, known) = error.split_once("expected one of ").unwrap_or_else(|| panic!("{table}: {error}"));
        let of_table: String = match table {
            "" => example.lines().take_while(|line| !line.starts_with('[')).collect::<Vec<_>>().join("\n"),
            _ => example.split(table).skip(1).collect(),
        };
        // What 'costs' was called once is refused with its new name.
        for key in known.split('`').skip(1).step_by(2).filter(|&key| key != "weights") {
            let shown = [format!("{key} = "), format!("[{key}]"), format!("[graph.{key}]")];
            let place = if matches!(key, "graph" | "cluster" | "placer" | "execute") { example } else { &of_table };
            assert!(shown.iter().any(|shown| place.contains(shown)), "{table} {key} is not in docs/FORMATS.md");
        }
    }
}
