//! Adds the attributes of ops to graphs that were extracted before there were any, and changes nothing else:
//! `cargo run -p placebench-datasets --example merge_attributes -- FOLDER… datasets/catalogue`.
//!
//! Each FOLDER has the `graph.pb` of a new extraction, and its name is that of the graph in the catalogue. The two must agree op by
//! op in names, types and inputs. Attributes are numbered: digests would take more room than most other columns.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use placebench_datasets::format::graphdef::{Encoding, read_graph_def};
use placebench_datasets::format::{FormatError, ReadOptions, read_native, write_native};
use placebench_datasets::{Categories, DataflowGraph, OpId, Properties};

fn main() -> ExitCode {
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let Some(catalogue) = folders.pop().filter(|_| !folders.is_empty()) else {
        eprintln!("usage: merge_attributes FOLDER… CATALOGUE");
        return ExitCode::FAILURE;
    };
    let mut code = ExitCode::SUCCESS;
    for folder in folders {
        if let Err(error) = merge(&folder, &catalogue) {
            eprintln!("{error}");
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn merge(folder: &Path, catalogue: &Path) -> Result<(), FormatError> {
    let options = ReadOptions { no_references: true, ..ReadOptions::default() };
    let (new, _) = read_graph_def(&folder.join("graph.pb"), Encoding::Binary, &options)?;
    let target = catalogue.join(folder.file_name().unwrap_or_default());
    let (header, old) = read_native(&target)?;
    if let Some(difference) = difference(&old, &new) {
        return Err(FormatError::file(folder, format!("is another graph than the catalogue's: {difference}")));
    }
    let graph = old.with_attributes(new.attributes().cloned()).map_err(|error| FormatError::file(folder, error))?;
    let graph = graph.with_numbered_attributes();
    write_native(&target, &header, &graph)?;
    // Writing replaces the folder as a whole.
    let sheet = target.join("properties.txt");
    std::fs::write(&sheet, Properties::of(&graph, None).to_string()).map_err(|error| FormatError::io(&sheet, error))?;
    let known = graph
        .attributes()
        .map_or(0, |attributes| graph.op_ids().filter(|op| attributes.get(op.index()).is_some()).count());
    println!("{}: {known} of {} ops have attributes", header.name, graph.op_count());
    Ok(())
}

fn label(labels: Option<&Categories>, op: OpId) -> Option<&str> {
    labels.and_then(|labels| labels.get(op.index()))
}

/// The first op in which two graphs differ.
fn difference(old: &DataflowGraph, new: &DataflowGraph) -> Option<String> {
    if old.op_count() != new.op_count() {
        return Some(format!("{} and {} ops", old.op_count(), new.op_count()));
    }
    let inputs = |graph: &DataflowGraph, op: OpId| -> Vec<(OpId, Option<usize>)> {
        graph.predecessors(op).map(|edge| (edge.op, edge.tensor.map(|tensor| graph.port(tensor)))).collect()
    };
    let differs = |&op: &OpId| {
        old.name(op) != new.name(op)
            || label(old.op_types(), op) != label(new.op_types(), op)
            || inputs(old, op) != inputs(new, op)
    };
    old.op_ids().find(differs).map(|op| old.label(op))
}
