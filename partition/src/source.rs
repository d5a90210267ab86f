//! Graphs and clusters as the command line names them: a name of the catalogue, a preset, or a path.

use std::path::Path;

use anyhow::{anyhow, bail};
use placebench_datasets::format::{self, Format, GraphHeader};
use placebench_datasets::{Cluster, DataflowGraph, catalogue, nearest};
use placebench_generator::{ClusterParams, GraphParams, cluster_preset};

/// The graph that `text` names: a catalogue name first, then a preset, then a path.
///
/// # Errors
/// If nothing has that name, with the nearest name that there is; if a file cannot be read.
pub fn graph(text: &str, seed: u64) -> anyhow::Result<(GraphHeader, DataflowGraph)> {
    if catalogue::entries().iter().any(|entry| entry.name == text) {
        return Ok(catalogue::load(text)?);
    }
    if let Some(params) = GraphParams::preset(text) {
        return Ok((GraphHeader::named(text), params.map_err(|error| anyhow!(error))?.generate(seed)?));
    }
    if Path::new(text).exists() {
        return Ok(format::read_graph(Path::new(text))?);
    }
    let names = catalogue::entries().iter().map(|entry| entry.name).chain(GraphParams::presets());
    unknown("graph", text, names, "graphs' and 'placebench list presets")
}

/// The cluster that `text` names: a preset, or a path.
///
/// # Errors
/// As [`graph`].
pub fn cluster(text: &str, seed: u64) -> anyhow::Result<Cluster> {
    if let Some(cluster) = cluster_preset(text, seed) {
        return Ok(cluster?);
    }
    if Path::new(text).exists() {
        return Ok(format::read_cluster(Path::new(text))?);
    }
    unknown("cluster", text, ClusterParams::PRESETS.into_iter(), "clusters")
}

/// The format of partitioners that a path tells by its extension.
pub fn undirected_format(text: &str) -> Option<&'static Format> {
    format::undirected_format(text)
}

fn unknown<'a, T>(what: &str, text: &str, names: impl Iterator<Item = &'a str>, list: &str) -> anyhow::Result<T> {
    match nearest(text, names) {
        Some(nearest) => bail!("no file and no {what} is named '{text}': did you mean '{nearest}'?"),
        None => bail!("no file and no {what} is named '{text}': see 'placebench list {list}'"),
    }
}
