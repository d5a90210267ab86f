//! File formats as a stranger meets them: what `convert` reads and writes, what it refuses, and what the documentation says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::keys::{compare, keys_of_table, paths};
use crate::common::{placebench, text};
use placebench::harness::collection::{Collection, best_known, index_frame};
use placebench::harness::results::{Predictions, Row};
use placebench::harness::shards::{ShardJob, Slurm};
use placebench::harness::suite::RunPlan;
use placebench::reports::{Claims, Figures};

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
    let section = section.split("\n### ").next().unwrap_or_default();
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
        ("convert", ".csv, .arrow, .feather, .ipc, .pb, .pbtxt, .prototxt, folder with graph.pb"),
        ("convert", ".graph, .metis, .mtx"),
        ("convert", "--cluster .toml, .csv"),
        ("partition", "metis, hmetis, patoh, mtx, dimacs, edges, binary"),
        ("partition", ".hgr, .hmetis, .u, .patoh"),
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

const DOCS: &str = include_str!("../docs/FORMATS.md");

/// The keys of the table that follows a text of docs/FORMATS.md.
fn table_after(text: &str) -> Vec<String> {
    keys_of_table(DOCS.split_once(text).unwrap_or_else(|| panic!("{text}")).1)
}

/// A TOML or JSON file, or the first line of one with an object a line.
fn read(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match path.extension().unwrap().to_str().unwrap() {
        "toml" => serde_json::to_value(toml::from_str::<toml::Table>(&text).unwrap()).unwrap(),
        "jsonl" => serde_json::from_str(text.lines().next().unwrap()).unwrap(),
        _ => serde_json::from_str(&text).unwrap(),
    }
}

#[test]
fn the_documentation_has_every_key_of_the_files_that_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let suite = "name = \"small\"\nplacers = [\"heft\"]\nexecutors = [\"threads\"]\n[execute]\nmean_op = \"100us\"\n\
                 repetitions = 1\nwarm_up = 1\n[[graph]]\nfile = \"c.csv\"\n[[cluster]]\npreset = \"gtx1080x2\"\n";
    fs::write(folder.join("s.toml"), suite).unwrap();
    for args in [
        &["convert", "convnet", "c.csv"][..],
        &["run", "s.toml", "-q", "--out", "r"],
        &["run", "s.toml", "-q", "--out", "shard", "--shard", "1/1"],
        &["generate", "laich3", "--ops", "100", "-o", "g"],
        &["generate", "laich3", "--ops", "20000", "--stream", "--shards", "2", "-o", "p"],
        &["generate", "gnm(vertices=50,edges=90)", "--stream", "-o", "e.pbedges"],
        &["dataset", "scale", "--largest=1e4", "--format=binary", "--out=d", "--shard=1/2"],
        &["place", "c.csv", "--placement", "placement.csv", "--timeline", "timeline.csv"],
    ] {
        let output = placebench(folder, args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    }
    let timeline = fs::read_dir(folder.join("r/timelines")).unwrap().next().unwrap().unwrap().path();
    let part = fs::read_dir(folder.join("shard/parts")).unwrap().map(|entry| entry.unwrap().path());
    let part = part.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let first_part = folder.join("p/edges-00001-of-00002.toml");
    let manifest = "`manifest.toml` of a generated graph;";
    let tallies = "`properties.toml` and `edges-I-of-N.toml`";
    let check = |table: &str, files: &[&Path]| {
        let mut found = BTreeSet::new();
        files.iter().for_each(|file| paths(&read(file), "", &mut found));
        compare(&format!("docs/FORMATS.md after {table}"), &table_after(table), &found, &[]);
    };
    check("`environment.toml` of a run folder:", &[&folder.join("r/environment.toml")]);
    check("a first line comes before:", &[&part]);
    check("`timelines/KEY.json`:", &[&timeline]);
    check(manifest, &[&folder.join("g/manifest.toml")]);
    check(tallies, &[&folder.join("p/properties.toml"), &first_part]);
    // Behind its first line a part has cells, as `cells.jsonl` has from the beginning.
    let part = fs::read_to_string(&part).unwrap();
    let cells: Vec<serde_json::Value> = part.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cells.len(), 1);
    let keys = cells[0].as_object().unwrap().keys().map(String::as_str);
    let (models, keys): (BTreeSet<&str>, BTreeSet<&str>) = keys.partition(|key| key.starts_with("predict"));
    assert!(!models.is_empty() && models.iter().all(|key| Predictions::columns().iter().any(|known| known == key)));
    let columns: BTreeSet<&str> = Row::COLUMNS.iter().copied().collect();
    assert_eq!(keys, columns);
    // What a launcher needs to go on.
    let job = folder.join("on-slurm");
    let job = ShardJob::of_run("/bin/placebench".into(), folder.into(), job, 2, String::new());
    Slurm::new(&job, &["--time=60".to_owned()]).unwrap();
    check("`jobs/slurm.toml`, with which", &[&job.jobs.join("slurm.toml")]);
    // The other files of streamed graphs have keys of these two.
    let sentence = DOCS.split_once(manifest).unwrap().1.split("\n\n").next().unwrap();
    for key in read(&folder.join("p/stream.toml")).as_object().unwrap().keys() {
        assert!(sentence.contains(&format!("`{key}`")), "stream.toml: {key}");
    }
    let single = read(&folder.join("e.pbedges.toml"));
    let mut keys: Vec<&String> = single.as_object().unwrap().keys().collect();
    keys.retain(|key| *key != "part");
    assert!(keys.iter().all(|key| sentence.contains(&format!("`{key}`"))), "{keys:?}");
    // A collection that is not complete.
    let sentence = DOCS.split_once("`recipe.toml`, with").unwrap().1.split(", and").next().unwrap();
    let documented: BTreeSet<&str> = sentence.split('`').skip(1).step_by(2).collect();
    let recipe = read(&folder.join("d/.work/recipe.toml"));
    assert!(documented.iter().eq(recipe.as_object().unwrap().keys()), "{documented:?} {recipe}");
    for (file, columns) in [("placement.csv", "`--placement` has"), ("timeline.csv", "`--timeline` has")] {
        let rest = DOCS.split_once(columns).unwrap().1;
        let header = fs::read_to_string(folder.join(file)).unwrap();
        for column in header.lines().next().unwrap().split(',') {
            assert!(rest.split("\n\n").next().unwrap().contains(&format!("`{column}`")), "{file}: {column}");
        }
    }
}

#[test]
fn the_documentation_has_every_key_that_readers_know() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let unknown = "nothing_that_exists_here = 1\n";
    // Readers of ours say 'use one of a, b', those of serde 'expected one of `a`, `b`'.
    let known = |error: &str| -> BTreeSet<String> {
        match error.split_once("use one of ") {
            Some((_, known)) => known.split(", ").map(|key| key.trim().to_owned()).collect(),
            None => {
                let (_, known) = error.split_once("expected").unwrap_or_else(|| panic!("{error}"));
                known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
            }
        }
    };
    // Clusters: what the reader takes in each table is in the two examples.
    let section = DOCS.split("\n## Cluster TOML\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let device = "[[device]]\nname = \"a\"\nkind = \"CPU\"\nspeed = 1\n";
    for (table, text) in [
        ("", format!("{unknown}{device}")),
        ("[[device]]", format!("{device}{unknown}")),
        ("[link]", format!("{device}[link]\nrate = 1\n{unknown}")),
        ("[[pair]]", format!("{device}[[pair]]\nrate = 1\n{unknown}")),
        ("[[overhead]]", format!("{device}[[overhead]]\n{unknown}")),
        ("[topology]", format!("{device}[topology]\nswitches = []\n{unknown}")),
        ("[[topology.link]]", format!("{device}[[topology.link]]\nbetween = [\"a\", \"a\"]\nrate = 1\n{unknown}")),
    ] {
        fs::write(folder.join("c.toml"), text).unwrap();
        let error = placebench::datasets::format::read_cluster(folder.join("c.toml")).unwrap_err().to_string();
        let of_table: String = match table {
            "" => section.to_owned(),
            _ => section.split(table).skip(1).map(|rest| rest.split("\n\n").next().unwrap()).collect(),
        };
        for key in known(&error) {
            let shown = [format!("{key} = "), format!("[{key}]"), format!("# or {key} = "), format!("{key}.")];
            let is_table = section.contains(&format!("[[{}.{key}]]", table.trim_matches(['[', ']'])));
            let is_shown = is_table || shown.iter().any(|shown| of_table.contains(shown));
            assert!(is_shown, "{table} {key} is not in docs/FORMATS.md");
        }
    }
    // Parameters of random clusters.
    let documented = table_after("Parameters of a random cluster");
    for (table, text) in
        [("", format!("devices = 2\n{unknown}")), ("kinds.", format!("devices = 2\n[kinds]\n{unknown}"))]
    {
        let error = placebench::generator::ClusterParams::from_toml(&text).unwrap_err().to_string();
        for key in known(&error) {
            let path = format!("{table}{key}");
            assert!(documented.iter().any(|own| *own == path || own.starts_with(&format!("{path}."))), "{path}");
        }
    }
    // What a calibration needs of a driver: without a key it is refused.
    let table = table_after("`machine.json`, which");
    let device = r#"{"name": "a", "kind": "cpu", "memory_bytes": null, "op_overhead_seconds": null}"#;
    let measured = format!(
        r#"{{"devices": [{device}], "equations": [{{"type": "t", "operations": 1, "step_seconds": {{"a": 1}}}}],
        "graphs": [{{"graph": "g", "ops": [0], "op_overhead_seconds": {{"a": 1}}}}],
        "transfers": [{{"from": 0, "to": 1, "bytes": 1, "sender_seconds": 1, "receiver_seconds": 1, "one_way_seconds": [1, 1]}}],
        "steps": [{{"device": 0, "peer": 1, "sends": 1, "sent_bytes": 1, "receives": 1, "received_bytes": 1,
            "busy_seconds": 2, "op_seconds": 1}}],
        "flows": [{{"pairs": [[0, 1]], "bytes": 1, "seconds": 1}}]}}"#
    );
    let measured: placebench::harness::calibrate::Measured = serde_json::from_str(&measured).unwrap();
    let mut found = BTreeSet::new();
    paths(&serde_json::to_value(&measured).unwrap(), "", &mut found);
    compare("the table of calibrations", &table, &found, &[]);
    // Claims and figures of sources: every key is in the example, in its table.
    let section = DOCS.split("\n## Claims and figures of sources\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let examples: Vec<&str> =
        section.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let claims = |text: &str| toml::from_str::<Claims>(text).unwrap_err().to_string();
    let figures = |text: &str| toml::from_str::<Figures>(text).unwrap_err().to_string();
    for (example, table, error) in [
        (examples[0], "", claims(unknown)),
        (examples[0], "[[dimension]]", claims(&format!("[[dimension]]\n{unknown}"))),
        (
            examples[0],
            "[[dimension.option]]",
            claims(&format!("[[dimension]]\nname = \"d\"\n[[dimension.option]]\n{unknown}")),
        ),
        (examples[0], "[[order]]", claims(&format!("[[order]]\n{unknown}"))),
        (examples[0], "[[claim]]", claims(&format!("[[claim]]\n{unknown}"))),
        (examples[1], "", figures(unknown)),
        (examples[1], "[[figure]]", figures(&format!("[[figure]]\n{unknown}"))),
        (
            examples[1],
            "[[figure.panels]]",
            figures(&format!("[[figure]]\nnumber = \"1\"\ncaption = \"c\"\n[[figure.panels]]\n{unknown}")),
        ),
        (examples[1], "[[table]]", figures(&format!("[[table]]\n{unknown}"))),
    ] {
        // Up to the head of the next table.
        let of_table = format!("\n{example}");
        let of_table = if table.is_empty() { &of_table } else { of_table.split_once(table).unwrap().1 };
        let of_table = of_table.split("\n[").next().unwrap();
        let known = known(&error);
        assert!(known.len() > 1, "{error}");
        for key in known {
            let tables = [
                format!("\n[[{key}]]"),
                format!("\n[{key}]"),
                format!("\n[[{}.{key}]]", table.trim_matches(['[', ']'])),
            ];
            let is_shown = of_table.contains(&format!("\n{key} = ")) || of_table.contains(&format!(": {key} = "));
            assert!(
                is_shown || tables.iter().any(|table| example.contains(table)),
                "{table} {key} is not in docs/FORMATS.md"
            );
        }
    }
    // Collections.
    let of_index = table_after("`index.csv` and `index.parquet` of a collection");
    assert_eq!(sorted(of_index), sorted(index_frame(&[]).unwrap().get_column_names()));
    let suite = Collection::named("optimality").unwrap().suite().unwrap().unwrap();
    let best = best_known(&RunPlan::new(suite).unwrap(), &[]).unwrap();
    assert_eq!(sorted(table_after("`best.csv` and `best.parquet` have")), sorted(best.get_column_names()));
}

fn sorted<T: ToString>(names: Vec<T>) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.sort();
    names
}
