//! The collection `scale`: three families of graphs, of 10⁴ to 10⁹ edges.

use placebench_generator::{Amount, GnmParams, LevelEdges, LeveledParams, RmatParams, StreamParams};

/// A graph of the collection.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleItem {
    /// Its name, as in `rmat_1e6`.
    pub name: String,
    /// Its family, as in the index.
    pub family: &'static str,
    /// What it is made from; the seed is 0.
    pub params: StreamParams,
}

/// The graphs with up to `largest` edges: for each power of ten from 10⁴ to 10⁹ a leveled graph with 10 edges an op in levels
/// of 100 ops, and a G(n, m) and an R-MAT graph of mean degree about 16.
pub fn scale_items(largest: u64) -> Vec<ScaleItem> {
    let sizes = (4..=9).map(|exponent| (exponent, 10u64.pow(exponent))).filter(|&(_, edges)| edges <= largest);
    sizes
        .flat_map(|(exponent, edges)| {
            let item =
                |family: &'static str, params| ScaleItem { name: format!("{family}_1e{exponent}"), family, params };
            let mut leveled = LeveledParams::new((edges / 1000) as u32, (50, 150));
            leveled.nodes = Some(edges / 10);
            leveled.level_edges =
                LevelEdges { amount: Amount::Count(edges / 10 * 9), limit: Some(10), ..LevelEdges::default() };
            leveled.random_edges = Amount::Count(edges / 10);
            let scale = (edges / 8).ilog2();
            let degree = 2.0 * edges as f64 / (1u64 << scale) as f64;
            [
                item("leveled", StreamParams::Leveled(Box::new(leveled))),
                item("gnm", StreamParams::Gnm(GnmParams { vertices: (edges / 8) as u32, edges, directed: false })),
                item("rmat", StreamParams::Rmat(RmatParams { scale, degree, ..RmatParams::default() })),
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use placebench_generator::EdgeChunks;

    #[test]
    fn every_graph_has_the_edges_of_its_name() {
        assert_eq!(scale_items(1_000_000_000).len(), 18);
        for item in scale_items(1_000_000) {
            let edges = item.params.graph(0).unwrap().edge_count();
            assert_eq!(edges, 10u64.pow(item.name[item.name.len() - 1..].parse().unwrap()), "{}", item.name);
        }
    }
}
