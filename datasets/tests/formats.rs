//! Laws of the table of formats: each format does what its line says, whatever the case of its extension.

use std::fs;
use std::path::{Path, PathBuf};

use placebench_datasets::format::undirected::{Undirected, read_undirected, write_undirected};
use placebench_datasets::format::{
    FORMATS, Format, Holds, LoopPolicy, Mark, ReadOption, ReadOptions, formats_taking, read_graph_with,
    undirected_format, write_graph,
};
use placebench_datasets::format::{GraphHeader, read_graph};
use placebench_datasets::{DataflowGraph, GraphBuilder, OpSpec};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphdef/bad").join(name)
}

/// The paths by which a format may be named: all extensions, in lower and upper case; or a folder.
fn paths(folder: &Path, format: &Format) -> Vec<PathBuf> {
    match format.mark {
        Mark::Folder(_) => vec![folder.join(format.name)],
        _ => {
            let both = |extension: &&str| [extension.to_lowercase(), extension.to_uppercase()];
            format
                .extensions()
                .iter()
                .flat_map(both)
                .map(|extension| folder.join("g").with_extension(extension))
                .collect()
        }
    }
}

/// Writes the cyclic graph a → b → c → a in a format that takes `--cycles`.
fn write_cyclic(path: &Path, format: &Format) {
    match format.name {
        "graphdef" => drop(fs::copy(fixture("cycle.pb"), path).unwrap()),
        "graphdef_text" => drop(fs::copy(fixture("cycle.pbtxt"), path).unwrap()),
        "extraction" => {
            fs::create_dir(path).unwrap();
            fs::copy(fixture("cycle.pb"), path.join("graph.pb")).unwrap();
            fs::write(path.join("ops.csv"), "name,layer,cpu_seconds,gpu_seconds,memory_bytes\n").unwrap();
            fs::write(path.join("tensors.csv"), "op,port,bytes\n").unwrap();
            fs::write(path.join("provenance.toml"), "").unwrap();
        }
        other => panic!("'{other}' takes --cycles: write a cyclic graph in it here"),
    }
}

/// Two ops with names, joined by a tensor.
fn small() -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec { name: Some("a"), ..OpSpec::cost(3.0) }, &[8]);
    let b = builder.add_op(OpSpec { name: Some("b"), ..OpSpec::cost(5.0) }, &[]);
    builder.add_edge(a, 0, b).unwrap();
    builder.build().unwrap()
}

#[test]
fn a_format_honours_the_cycle_policy_or_refuses_it() {
    let drop_cycles = ReadOptions { cycles: Some(LoopPolicy::Drop), ..ReadOptions::default() };
    let mut honoured = 0;
    for format in FORMATS {
        let Holds::Graph { read: Some(_), write } = format.holds else { continue };
        let folder = tempfile::tempdir().unwrap();
        for path in paths(folder.path(), format) {
            if format.options.contains(&ReadOption::Cycles) {
                write_cyclic(&path, format);
                assert!(read_graph(&path).unwrap_err().to_string().contains("has a cycle"), "{}", path.display());
                let file = read_graph_with(&path, &drop_cycles).unwrap();
                assert_eq!(file.graph.edge_count(), 2, "{}", path.display());
                assert!(file.report.unwrap().contains("1 edges dropped"), "{}", path.display());
                honoured += 1;
            } else {
                let Some(write) = write else { continue };
                write(&path, &GraphHeader::named("g"), &small()).unwrap();
                let message = read_graph_with(&path, &drop_cycles).unwrap_err().to_string();
                let expected = format!(
                    "{}: the format '{}' takes no --cycles: --cycles is for {}",
                    path.display(),
                    format.name,
                    formats_taking(ReadOption::Cycles)
                );
                assert_eq!(message, expected);
            }
        }
    }
    // .pb, .pbtxt and .prototxt in both cases, and the extractor's folder.
    assert_eq!(honoured, 7);
}

#[test]
fn an_option_that_no_format_would_hear_is_refused_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.csv");
    write_graph(&path, &GraphHeader::named("g"), &small()).unwrap();
    let apart = ReadOptions { no_references: true, ..ReadOptions::default() };
    let message = read_graph_with(&path, &apart).unwrap_err().to_string();
    assert!(message.contains("the format 'csv' takes no --no-references"), "{message}");
}

#[test]
fn a_graph_comes_back_by_any_extension_of_a_format_that_keeps_graphs() {
    for format in FORMATS {
        let Holds::Graph { read: Some(_), write: Some(_) } = format.holds else { continue };
        // tests/round_trip.rs is about what the others lack.
        if !format.losses(&GraphHeader::named("g"), &small()).is_empty() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        for path in paths(folder.path(), format) {
            write_graph(&path, &GraphHeader::named("g"), &small()).unwrap();
            assert_eq!(read_graph(&path).unwrap().1, small(), "{}", path.display());
        }
    }
}

#[test]
fn what_fits_a_format_of_undirected_graphs_is_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS.into_iter().filter(|format| format.is_undirected()) {
        let what = Undirected::of_dataflow(&small(), format).unwrap();
        for path in paths(folder.path(), format) {
            assert_eq!(undirected_format(&path).unwrap().name, format.name);
            write_undirected(&path, format, &what).unwrap();
            assert_eq!(read_undirected(&path, format, false).unwrap(), what, "{}", path.display());
        }
    }
}
