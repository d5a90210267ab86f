//! Graphs and clusters as the command line names them: a name of the catalogue, a preset, or a path.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::nearest;
use placebench::datasets::format::{self, GraphHeader, write_whole};
use placebench::datasets::{Cluster, DataflowGraph, catalogue};
use placebench::generator::{ClusterParams, GraphParams, cluster_preset};
use placebench::harness::suite::read_cluster;

/// The graph that `text` names: a catalogue name first, then a preset, then a path.
pub(super) fn graph(text: &str, seed: u64) -> anyhow::Result<(GraphHeader, DataflowGraph)> {
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
pub(super) fn cluster(text: &str, seed: u64) -> anyhow::Result<Cluster> {
    if let Some(cluster) = cluster_preset(text, seed) {
        return Ok(cluster?);
    }
    if Path::new(text).exists() {
        return Ok(read_cluster(Path::new(text))?);
    }
    unknown("cluster", text, ClusterParams::PRESETS.into_iter(), "clusters")
}

fn unknown<'a, T>(what: &str, text: &str, names: impl Iterator<Item = &'a str>, list: &str) -> anyhow::Result<T> {
    match nearest(text, names) {
        Some(nearest) => bail!("no file and no {what} is named '{text}': did you mean '{nearest}'?"),
        None => bail!("no file and no {what} is named '{text}': see 'placebench list {list}'"),
    }
}

/// Writes a file beside its place, then moves it there, so that nobody meets half of it.
pub(super) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut std::io::BufWriter<std::fs::File>) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    write_whole(path, |error| error, write).with_context(|| path.display().to_string())
}
