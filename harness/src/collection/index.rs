//! The index of a collection: a row for each graph.

use placebench_datasets::Properties;
use polars::prelude::*;

use crate::problem::{GraphEntry, Kinds};
use crate::suite::{CellGroup, Suite};

/// What the index says of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexRow {
    /// Its name: that of its file without extension.
    pub name: String,
    /// The file or folder, relative to the collection.
    pub file: String,
    /// Format of the file.
    pub format: String,
    /// `catalogue`, `leveled`, `training_steps`, `gnm`, `rmat`.
    pub family: String,
    /// What it was made from, as TOML in one line.
    pub parameters: String,
    /// The seed.
    pub seed: u64,
    /// Number of ops or vertices.
    pub nodes: u64,
    /// Number of edges.
    pub edges: u64,
    /// Its properties, if it was in memory.
    pub properties: Option<Properties>,
    /// SHA-256 of the content: of a graph as `graph_sha256` has it, of one made part by part that of all digests.
    pub sha256: String,
}

/// The index as a data frame.
///
/// # Errors
/// If it cannot be made.
pub fn index_frame(rows: &[IndexRow]) -> PolarsResult<DataFrame> {
    let texts = |name: &str, value: fn(&IndexRow) -> &str| {
        Column::new(name.into(), rows.iter().map(|row| value(row).to_owned()).collect::<Vec<_>>())
    };
    let counts = |name: &str, value: fn(&IndexRow) -> u64| {
        Column::new(name.into(), rows.iter().map(value).collect::<Vec<u64>>())
    };
    let properties = |name: &str, value: fn(&Properties) -> Option<f64>| {
        let of_row = |row: &IndexRow| row.properties.as_ref().and_then(value);
        Column::new(name.into(), rows.iter().map(of_row).collect::<Vec<Option<f64>>>())
    };
    let sizes = |name: &str, value: fn(&Properties) -> usize| {
        let of_row = |row: &IndexRow| row.properties.as_ref().map(|properties| value(properties) as u64);
        Column::new(name.into(), rows.iter().map(of_row).collect::<Vec<Option<u64>>>())
    };
    DataFrame::new(
        rows.len(),
        vec![
            texts("name", |row| &row.name),
            texts("file", |row| &row.file),
            texts("format", |row| &row.format),
            texts("family", |row| &row.family),
            texts("parameters", |row| &row.parameters),
            counts("seed", |row| row.seed),
            counts("nodes", |row| row.nodes),
            counts("edges", |row| row.edges),
            sizes("tensors", |properties| properties.tensors),
            sizes("levels", |properties| properties.levels),
            sizes("max_width", |properties| properties.max_width),
            properties("density", |properties| properties.density),
            properties("degree_cv", |properties| properties.degree_cv),
            sizes("components", |properties| properties.components),
            sizes("isolated_nodes", |properties| properties.isolated_nodes),
            sizes("colocated_nodes", |properties| properties.colocated_nodes),
            sizes("groups", |properties| properties.groups),
            properties("total_ops", |properties| Some(properties.total_ops)),
            properties("total_tensor_bytes", |properties| Some(properties.total_tensor_bytes as f64)),
            properties("critical_path_ops", |properties| Some(properties.critical_path_ops)),
            properties("parallelism", |properties| properties.parallelism),
            texts("sha256", |row| &row.sha256),
        ],
    )
}

/// The names of a group's graph and cluster in the collection. A graph that differs by cluster has the cluster's name in its
/// own; both have the repetition if there are several.
pub fn item_name(suite: &Suite, group: &CellGroup) -> (String, String) {
    let (graph, cluster) = (&suite.graphs[group.graph], &suite.clusters[group.cluster]);
    let depends =
        graph.ccr.is_some() || suite.kinds(group.graph, group.cluster) != Kinds::default() || has_workers(graph);
    let repeated = graph.repetitions.unwrap_or(suite.repetitions) > 1;
    let numbered = |name: String| if repeated { format!("{name}-{:03}", group.repetition) } else { name };
    let name = match depends && suite.clusters.len() > 1 {
        true => format!("{}-on-{}", graph.label(), cluster.label()),
        false => graph.label(),
    };
    (numbered(name), numbered(cluster.label()))
}

/// Whether the number of workers follows from the cluster.
fn has_workers(graph: &GraphEntry) -> bool {
    use placebench_generator::GraphParams;
    matches!(graph.params(), Ok(Some(GraphParams::TrainingSteps(_))))
}
