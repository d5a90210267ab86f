//! The table of file formats. To add one, write its file and add a line here.

use super::entry::{Format, Holds};
use super::graphdef::{self, extraction};
use super::undirected::{dimacs, edges, hmetis, matrix_market, metis, partition, patoh};
use super::{
    arrow, cluster_toml, csv_cluster, csv_graph, dax, dnn_partitioning, dot, etc, gexf, graphml, hyperdag, native,
    node_link, onnx, saga, stg, wfformat,
};
use crate::stream::row_file;

/// All file formats. Reading, writing, the help of the command and its list of formats follow from these lines.
pub static FORMATS: [&Format; 32] = [
    &native::FORMAT,
    &csv_graph::FORMAT,
    &arrow::FORMAT,
    &graphdef::BINARY,
    &graphdef::TEXT,
    &extraction::FORMAT,
    &onnx::FORMAT,
    &wfformat::FORMAT,
    &saga::GRAPH,
    &dnn_partitioning::GRAPH,
    &node_link::FORMAT,
    &graphml::FORMAT,
    &gexf::FORMAT,
    &dot::FORMAT,
    &stg::FORMAT,
    &etc::GRAPH,
    &hyperdag::FORMAT,
    &dax::FORMAT,
    &cluster_toml::FORMAT,
    &csv_cluster::FORMAT,
    &saga::CLUSTER,
    &dnn_partitioning::CLUSTER,
    &etc::CLUSTER,
    &metis::FORMAT,
    &hmetis::FORMAT,
    &patoh::FORMAT,
    &matrix_market::FORMAT,
    &dimacs::FORMAT,
    &edges::TEXT,
    &edges::BINARY,
    &partition::FORMAT,
    &row_file::FORMAT,
];

/// A line for each format, as the command lists them: the name, and everything else that the table says.
pub fn listing() -> impl Iterator<Item = (&'static str, String)> {
    FORMATS.iter().map(|format| {
        let options: Vec<_> = format.options.iter().map(ToString::to_string).collect();
        let columns = [
            format.mark.to_string(),
            format!("{}: {}", format.holds, format.title),
            access(&format.holds).to_owned(),
            lacks(format),
            options.join(", "),
        ];
        let said: Vec<_> = columns.into_iter().filter(|column| !column.is_empty()).collect();
        (format.name, said.join("; "))
    })
}

/// What a format has no room for, or nothing.
fn lacks(format: &Format) -> String {
    let lacks: Vec<_> = format.lacks.iter().map(ToString::to_string).collect();
    if lacks.is_empty() { String::new() } else { format!("lacks {}", lacks.join(", ")) }
}

/// How paths show some formats, for the help of a command: `.csv, .pb, folder with graph.toml`.
pub fn format_marks(select: impl Fn(&Holds) -> bool) -> String {
    let marks = FORMATS.iter().filter(|format| select(&format.holds)).map(|format| format.mark.to_string());
    marks.collect::<Vec<_>>().join(", ")
}

/// The names of some formats, for the help of a command: `metis, mtx, dimacs`.
pub fn format_names(select: impl Fn(&Holds) -> bool) -> String {
    let names = FORMATS.iter().filter(|format| select(&format.holds)).map(|format| format.name);
    names.collect::<Vec<_>>().join(", ")
}

/// Whether a format is read, written or both.
fn access(holds: &Holds) -> &'static str {
    match holds {
        Holds::Graph { read: None, .. } => "written",
        Holds::Graph { write: None, .. } | Holds::Cluster { write: None, .. } => "read",
        _ => "read, written",
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Mark;
    use super::*;

    #[test]
    fn a_name_means_one_format_and_an_extension_one_of_each_content() {
        for (position, format) in FORMATS.iter().enumerate() {
            for other in &FORMATS[..position] {
                assert_ne!(format.name, other.name);
                let (Mark::Extensions(mine), Mark::Extensions(others)) = (&format.mark, &other.mark) else { continue };
                let shared = mine.iter().any(|extension| others.contains(extension));
                let same = format.holds.to_string() == other.holds.to_string()
                    || format.is_undirected() && other.is_undirected();
                assert!(!(shared && same), "{} and {} share an extension", format.name, other.name);
            }
        }
    }
}
