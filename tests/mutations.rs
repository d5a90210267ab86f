//! Damaged files: every reader answers ten thousand mutations of a good file with a value or with one line, never with a
//! panic. Ignored, since it takes minutes: `cargo test --test all -- --ignored mutations`.

use std::fs;
use std::path::Path;

use placebench::datasets::format::undirected::{Undirected, read_undirected, write_undirected};
use placebench::datasets::format::{
    FORMATS, GraphHeader, Holds, is_decoding, read_cluster, read_graph, write_cluster, write_graph,
};
use placebench::datasets::{DataflowGraph, GraphBuilder, OpId, OpSpec, SplitMix64};
use placebench::generator::cluster_preset;
use placebench::harness::results::{Row, read_table, write_table};
use placebench::harness::runner::read_run;
use placebench::harness::suite::{BUILT_IN, RunPlan, Suite};

const MUTATIONS: usize = 10_000;

/// Numbers and words on which parsers trip.
const TOKENS: [&str; 12] =
    ["-1", "4294967296", "1e309", "nan", "18446744073709551616", "\"", ",,", "\n", "[[", "\0", "\u{1b}", "{"];

/// One to four changes: a bit turned, bytes cut out, repeated, or replaced by a token.
fn mutated(good: &[u8], random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let mut below = |limit: usize| random.below(limit.max(1));
    for _ in 0..1 + below(4) {
        let at = below(bytes.len());
        let end = (at + 1 + below(8)).min(bytes.len());
        match below(4) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.extend_from_within(at..end),
            _ => drop(bytes.splice(at..end, TOKENS[below(TOKENS.len())].bytes())),
        }
    }
    bytes
}

/// Reads mutations of a file in its place; an error has to be one line.
fn attack<T>(path: &Path, read: impl Fn(&Path) -> Result<T, String>) {
    let good = fs::read(path).unwrap();
    assert!(read(path).is_ok(), "{} is good", path.display());
    let mut random = SplitMix64::new(7);
    for round in 0..MUTATIONS {
        let bytes = mutated(&good, &mut random);
        fs::write(path, &bytes).unwrap();
        if let Err(message) = read(path) {
            assert!(!message.is_empty() && !message.contains('\n'), "round {round} of {}: {message}", path.display());
        }
    }
    fs::write(path, good).unwrap();
}

fn said<T>(result: Result<T, impl std::fmt::Display>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// Says nothing of panics that readers of other libraries catch.
fn keep_decoders_quiet() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_decoding() {
            default(info);
        }
    }));
}

fn graph() -> (GraphHeader, DataflowGraph) {
    let mut builder = GraphBuilder::default();
    for op in 0..6 {
        builder.add_op(OpSpec::cost(f64::from(op)), &[8]);
    }
    for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)] {
        builder.add_edge(OpId(from), 0, OpId(to)).unwrap();
    }
    (GraphHeader::named("g"), builder.build().unwrap())
}

#[test]
#[ignore = "takes minutes; CI runs it with a limit of time"]
fn no_reader_of_a_graph_in_one_file_panics_on_ten_thousand_damaged_files() {
    keep_decoders_quiet();
    let (folder, (header, graph)) = (tempfile::tempdir().unwrap(), graph());
    for format in FORMATS {
        let (Holds::Graph { read: Some(_), write: Some(_) }, Some(extension)) =
            (&format.holds, format.extensions().first())
        else {
            continue;
        };
        let path = folder.path().join(format!("g.{extension}"));
        write_graph(&path, &header, &graph).unwrap();
        attack(&path, |path| said(read_graph(path)));
    }
}

#[test]
#[ignore = "takes minutes; CI runs it with a limit of time"]
fn no_other_reader_panics_on_ten_thousand_damaged_files() {
    keep_decoders_quiet();
    let (folder, (header, graph)) = (tempfile::tempdir().unwrap(), graph());
    let at = |name: &str| folder.path().join(name);
    write_graph(at("g"), &header, &graph).unwrap();
    for name in ["graph.toml", "ops.parquet", "tensors.parquet", "edges.parquet"] {
        attack(&at("g").join(name), |_| said(read_graph(at("g"))));
    }
    for name in ["c.toml", "c.csv"] {
        write_cluster(at(name), &cluster_preset("tiny3", 0).unwrap().unwrap()).unwrap();
        attack(&at(name), |path| said(read_cluster(path)));
    }
    for format in FORMATS.into_iter().filter(|format| format.is_undirected()) {
        let path = at(&format!("u.{}", format.extensions()[0]));
        write_undirected(&path, format, &Undirected::of_dataflow(&graph, format).unwrap()).unwrap();
        attack(&path, |path| said(read_undirected(path, format, false)));
    }
    let suite = BUILT_IN[0].suite().unwrap();
    fs::write(at("s.toml"), suite.to_toml().unwrap()).unwrap();
    attack(&at("s.toml"), |path| said(Suite::read(path)));
    let rows = vec![Row { graph: "g".into(), makespan: Some(0.1), status: "ok".into(), ..Row::default() }; 3];
    for name in ["t.csv", "t.json", "t.parquet"] {
        write_table(&at(name), &rows).unwrap();
        attack(&at(name), |path| said(read_table(path)));
    }
    // The journal of a run.
    fs::create_dir(at("run")).unwrap();
    fs::copy(at("s.toml"), at("run").join("suite.toml")).unwrap();
    let environment = "version = '0.1.0'\ncommit = 'c'\nstarted = 't'\nhost = 'h'\ncpu = 'p'\nthreads = 1\nplatform = 'l'\n\
                       optimized = false\nschema_version = 1\ncommand = []\n";
    fs::write(at("run").join("environment.toml"), environment).unwrap();
    let journal = at("run").join("cells.jsonl");
    let plan = RunPlan::new(suite).unwrap();
    let row = |&cell: &_| Row { makespan: Some(0.1), status: "ok".into(), ..plan.request(cell).blank_row() };
    let rows: Vec<Row> = plan.cells.iter().take(3).map(row).collect();
    let lines: Vec<String> = rows.iter().map(|row| serde_json::to_string(row).unwrap() + "\n").collect();
    fs::write(&journal, lines.concat()).unwrap();
    assert_eq!(read_run(&at("run")).unwrap().len(), 3);
    attack(&journal, |_| said(read_run(&at("run"))));
}
