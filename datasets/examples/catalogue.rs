//! Makes the catalogue from what the extractor wrote:
//! `cargo run -p placebench-datasets --example catalogue -- FOLDER… datasets/catalogue`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use placebench_datasets::format::graphdef::read_extraction;
use placebench_datasets::format::{FormatError, GraphHeader, ReadOptions, Units, write_native};
use placebench_datasets::{Kinds, Properties};

fn main() -> ExitCode {
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let Some(catalogue) = folders.pop().filter(|_| !folders.is_empty()) else {
        eprintln!("usage: catalogue FOLDER… CATALOGUE");
        return ExitCode::FAILURE;
    };
    for folder in folders {
        if let Err(error) = convert(&folder, &catalogue) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn convert(folder: &Path, catalogue: &Path) -> Result<(), FormatError> {
    let mut extraction = read_extraction(folder, &ReadOptions::default())?;
    extraction.graph = extraction.graph.with_numbered_attributes();
    let text =
        |key: &str| extraction.provenance.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let is_measured = !extraction.graph.measured_times().is_empty();
    let unit = if is_measured { "nanoseconds on the traced CPU core" } else { "arithmetic operations" };
    let header = GraphHeader {
        name: text("name"),
        title: text("title"),
        licence: text("licence"),
        kinds: Kinds::AcceleratorsOnly,
        units: Units { ops: unit.to_owned(), ..Units::default() },
        provenance: extraction.provenance.clone(),
    };
    let target = catalogue.join(&header.name);
    write_native(&target, &header, &extraction.graph)?;
    let sheet = target.join("properties.txt");
    std::fs::write(&sheet, Properties::of(&extraction.graph, None).to_string())
        .map_err(|error| FormatError::io(&sheet, error))?;
    println!(
        "{}: {} ops, {} edges; {}",
        header.name,
        extraction.graph.op_count(),
        extraction.graph.edge_count(),
        extraction.report
    );
    Ok(())
}
