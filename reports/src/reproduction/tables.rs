//! Tables of the properties of graphs.

use placebench_generator::{GraphParams, generate_leveled};
use placebench_harness::suite::{Suite, load_graph};

use super::TableEntry;
use crate::export::{Table, number_text};

/// The properties of a table's graphs, as the first repetition makes them.
///
/// # Errors
/// If a graph is not in the suite or cannot be made.
pub(super) fn properties(entry: &TableEntry, suite: &Suite) -> Result<Table, String> {
    let mut table = Table::new([
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
        let graph = suite.graphs.iter().find(|graph| graph.label() == *name);
        let graph = graph.ok_or_else(|| format!("the suite has no graph '{name}'"))?;
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
        let (_, graph) = load_graph(graph, suite.seed).map_err(|error| error.to_string())?;
        let (ops, edges) = (graph.op_count(), graph.edge_count());
        let colocated: usize = graph.colocation().groups().map(|(_, members)| members.len()).sum();
        let mut row = vec![name.clone(), ops.to_string(), edges.to_string()];
        row.resize(8, String::new());
        row.push(if ops == 0 { String::new() } else { number_text((edges as f64 / ops as f64 * 100.0).round() / 100.0) });
        row.push(colocated.to_string());
        table.push(row);
    }
    Ok(without_empty_columns(table))
}

fn without_empty_columns(table: Table) -> Table {
    let kept: Vec<usize> =
        (0..table.header.len()).filter(|&column| table.rows.iter().any(|row| !row[column].is_empty())).collect();
    let pick = |row: &[String]| kept.iter().map(|&column| row[column].clone()).collect::<Vec<_>>();
    let mut result = Table::new(pick(&table.header));
    table.rows.iter().for_each(|row| result.push(pick(row)));
    result
}

#[cfg(test)]
mod tests {
    use placebench_harness::suite::BuiltIn;

    use super::*;

    fn made(graphs: &[&str]) -> Table {
        let suite = BuiltIn::find("laich2017").unwrap().suite().unwrap();
        let graphs = graphs.iter().map(|&graph| graph.to_owned()).collect();
        properties(&TableEntry { number: "1".into(), caption: String::new(), graphs }, &suite).unwrap()
    }

    #[test]
    fn leveled_graphs_show_their_levels_and_extracted_ones_what_they_have() {
        let leveled = made(&["laich3"]);
        assert_eq!(leveled.rows[0][..6], ["laich3", "7475", "49510", "0", "49510", "1000"]);
        let extracted = made(&["convnet_whole"]);
        assert_eq!(extracted.header, ["graph", "nodes", "edges", "average node degree", "colocated nodes"]);
    }
}
