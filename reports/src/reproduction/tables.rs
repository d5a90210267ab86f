//! Tables of the properties of graphs, and of a metric of graphs on clusters.

use placebench_generator::{GraphParams, generate_leveled};
use placebench_harness::results::{self, Column, Metric, Status};
use placebench_harness::statistics::mean;
use placebench_harness::suite::Suite;
use polars::prelude::{Expr, PolarsError, col, lit};

use super::{Figures, TableEntry, grouped};
use crate::export::{TextTable, number_text};

/// The properties of those of a table's graphs that the suite has, as the first repetition makes them.
///
/// # Errors
/// If a graph cannot be made.
pub(super) fn properties(entry: &TableEntry, suite: &Suite) -> Result<TextTable, String> {
    let mut table = TextTable::new([
        "graph",
        "nodes",
        "edges",
        "random edges",
        "level-based edges",
        "levels",
        "fewest nodes a level",
        "most nodes a level",
        "average node degree",
        "colocated nodes",
    ]);
    for name in &entry.graphs {
        // The run may be of a part of the suite.
        let Some(graph) = suite.graphs.iter().find(|graph| graph.label() == *name) else { continue };
        let params = graph.params().map_err(|error| error.to_string())?;
        if let Some(GraphParams::Leveled(params)) = params {
            let stats = generate_leveled(&params, suite.seed).map_err(|error| error.to_string())?.stats;
            let (random, levelled) = (stats.random_edges.to_string(), stats.level_edges.to_string());
            table.push([
                name.clone(),
                stats.nodes.to_string(),
                stats.edges.to_string(),
                random,
                levelled,
                stats.levels.to_string(),
                stats.least_nodes_per_level.to_string(),
                stats.most_nodes_per_level.to_string(),
                format!("{:.2}", stats.average_degree),
                stats.colocated_nodes.to_string(),
            ]);
            continue;
        }
        let (_, graph) = graph.load(suite.seed).map_err(|error| error.to_string())?;
        let (ops, edges) = (graph.op_count(), graph.edge_count());
        let colocated: usize = graph.colocation().groups().map(|(_, members)| members.len()).sum();
        let mut row = vec![name.clone(), ops.to_string(), edges.to_string()];
        row.resize(8, String::new());
        row.push(if ops == 0 {
            String::new()
        } else {
            number_text((edges as f64 / ops as f64 * 100.0).round() / 100.0)
        });
        row.push(colocated.to_string());
        table.push(row);
    }
    Ok(without_empty_columns(table))
}

/// A metric of a table's graphs on each cluster, or its ratio to that of the baseline; empty where there is none.
///
/// # Errors
/// If a number would mix cells.
pub(super) fn metric_table(
    figures: &Figures,
    entry: &TableEntry,
    metric: Metric,
    rows: &results::Table,
) -> Result<TextTable, String> {
    let polars = |error: PolarsError| error.to_string();
    let listed = entry.graphs.iter().map(|graph| col("graph").eq(lit(graph.as_str()))).reduce(Expr::or);
    let rows = rows.filter(listed.unwrap_or_else(|| lit(false))).map_err(polars)?;
    let clusters = rows.distinct(Column::Cluster).map_err(polars)?;
    let finished = rows.filter(col("status").eq(lit(Status::Ok.name()))).map_err(polars)?;
    let groups = grouped(&finished, &[Column::Graph, Column::Cluster], metric).map_err(polars)?;
    let value = |graph: &str, cluster: &str| -> Result<Option<f64>, String> {
        let Some(group) = groups.iter().find(|group| group.names == [graph, cluster]) else { return Ok(None) };
        if !group.is_one_cell {
            return Err(format!("{graph} on {cluster} is more than one cell"));
        }
        Ok(mean(group.values.iter().copied()))
    };
    let mut table =
        TextTable::new(std::iter::once("graph".to_owned()).chain(clusters.iter().map(|name| figures.label(name))));
    for graph in &entry.graphs {
        let mut row = vec![figures.label(graph)];
        for cluster in &clusters {
            let found = value(graph, cluster)?;
            let shown = match &entry.baseline {
                None => found,
                Some(baseline) => found.zip(value(baseline, cluster)?).map(|(found, baseline)| baseline / found),
            };
            row.push(shown.map_or_else(String::new, |value| three_digits(value * entry.scale)));
        }
        table.push(row);
    }
    Ok(table)
}

/// A number with three significant digits.
fn three_digits(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return number_text(value);
    }
    let unit = 10f64.powi(value.abs().log10().floor() as i32 - 2);
    number_text((value / unit).round() * unit)
}

fn without_empty_columns(table: TextTable) -> TextTable {
    let kept: Vec<usize> =
        (0..table.header.len()).filter(|&column| table.rows.iter().any(|row| !row[column].is_empty())).collect();
    let pick = |row: &[String]| kept.iter().map(|&column| row[column].clone()).collect::<Vec<_>>();
    let mut result = TextTable::new(pick(&table.header));
    table.rows.iter().for_each(|row| result.push(pick(row)));
    result
}

#[cfg(test)]
mod tests {
    use placebench_harness::results::Row;
    use placebench_harness::suite::BuiltIn;

    use super::*;

    fn made(graphs: &[&str]) -> TextTable {
        let suite = BuiltIn::find("laich2017").unwrap().suite().unwrap();
        let graphs = graphs.iter().map(|&graph| graph.to_owned()).collect();
        properties(&entry(graphs, None), &suite).unwrap()
    }

    fn entry(graphs: Vec<String>, metric: Option<Metric>) -> TableEntry {
        TableEntry {
            number: "1".into(),
            caption: String::new(),
            graphs,
            metric,
            scale: 1.0,
            baseline: None,
            printed: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn a_printed_table_has_the_sources_number_in_brackets_where_ours_differs() {
        let suite = BuiltIn::find("laich2017").unwrap().suite().unwrap();
        let printed = crate::reproduction::printed_tables("laich2017", &suite).unwrap();
        let [(first, synthetic), (_, extracted)] = printed.as_slice() else { panic!("{printed:?}") };
        assert_eq!(first, "Table 7.1, Properties of six synthetic graphs");
        assert_eq!(synthetic.rows[2], "laich3 7475 49510 0 49510 1000 5 10 6.62 263".split(' ').collect::<Vec<_>>());
        assert!(extracted.rows[0][1].ends_with(" (347)"), "{extracted:?}");
        assert_eq!(crate::reproduction::printed_tables("tolstobrov", &suite).unwrap(), []);
    }

    #[test]
    fn a_metric_stands_by_cluster_as_it_is_or_in_relation_to_a_baseline() {
        let row = |graph: &str, cluster: &str, makespan| Row {
            graph: graph.into(),
            cluster: cluster.into(),
            status: "ok".into(),
            makespan,
            ..Row::default()
        };
        let rows = vec![row("a", "c", Some(12.3456)), row("b", "c", Some(3.0)), row("b", "d", Some(5.0))];
        let figures: Figures = toml::from_str("suite = 's'\n[labels]\nb = 'B'").unwrap();
        let mut entry = entry(vec!["a".into(), "b".into()], Some(Metric::Makespan));
        let results = results::Table::new(&rows).unwrap();
        let made = |entry: &TableEntry| metric_table(&figures, entry, Metric::Makespan, &results).unwrap();
        assert_eq!(made(&entry).header, ["graph", "c", "d"]);
        assert_eq!(made(&entry).rows, [["a", "12.3", ""], ["B", "3", "5"]]);
        entry.baseline = Some("a".into());
        assert_eq!(made(&entry).rows, [["a", "1", ""], ["B", "4.12", ""]]);
    }

    #[test]
    fn leveled_graphs_show_their_levels_and_extracted_ones_what_they_have() {
        let leveled = made(&["laich3"]);
        assert_eq!(leveled.rows[0][..6], ["laich3", "7475", "49510", "0", "49510", "1000"]);
        let extracted = made(&["convnet_whole"]);
        assert_eq!(extracted.header, ["graph", "nodes", "edges", "average node degree", "colocated nodes"]);
    }
}
