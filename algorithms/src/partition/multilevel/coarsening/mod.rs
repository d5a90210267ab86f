//! Coarsening: clusters of strongly connected vertices become the vertices of a smaller graph, again and again.

pub(crate) mod clustering;
pub(crate) mod communities;
pub(crate) mod contraction;
pub(crate) mod net_contraction;

use self::clustering::{Clustering, CoarsenConfig};
use super::structure::Structure;
use crate::StopToken;

/// A step of coarsening: the smaller graph, and which of its vertices each vertex of the larger became.
pub(crate) struct Level<S> {
    pub(crate) graph: S,
    pub(crate) cluster_of: Vec<u32>,
}

/// Coarsens until few vertices are left or little changes; finest level first. With `blocks`, only vertices of one block
/// join, and the blocks of the coarsest graph's vertices are answered as well.
pub(crate) fn coarsen<S: Structure>(
    graph: &S,
    config: &CoarsenConfig,
    blocks: Option<&[u32]>,
    stop: &StopToken,
) -> (Vec<Level<S>>, Option<Vec<u32>>) {
    let mut levels: Vec<Level<S>> = Vec::new();
    let mut blocks = blocks.map(<[u32]>::to_vec);
    loop {
        let current = levels.last().map_or(graph, |level| &level.graph);
        if current.len() <= config.target || stop.is_stopped() {
            break;
        }
        let clustering = Clustering::find(current, config, blocks.as_deref());
        if clustering.count as f64 > 0.95 * current.len() as f64 {
            break;
        }
        if let Some(blocks) = &mut blocks {
            let mut coarse = vec![0; clustering.count];
            for (vertex, &cluster) in clustering.cluster_of.iter().enumerate() {
                coarse[cluster as usize] = blocks[vertex];
            }
            *blocks = coarse;
        }
        let coarse = current.contract(&clustering.cluster_of, clustering.count);
        levels.push(Level { graph: coarse, cluster_of: clustering.cluster_of });
    }
    (levels, blocks)
}
