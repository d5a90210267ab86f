//! Planted partitions.

use placebench_base::params::Params;
use placebench_base::process::check_memory;
use placebench_base::spec::SpecError;
use placebench_datasets::UndirectedGraph;
use rayon::prelude::*;

use super::skips::Skips;
use crate::random::{Purpose, stream};
use crate::{GeneratorError, UndirectedFamily};

/// Blocks of vertices of equal size, to one vertex; an edge within a block with one probability, between blocks with another.
/// The probabilities follow from the mean numbers of neighbours in the own block and in all others. Block b holds the
/// vertices from ⌈bn / k⌉ on.
///
/// # Reference
/// A. Condon, R. M. Karp: Algorithms for graph partitioning on the planted partition model. Random Structures & Algorithms 18(2),
/// 2001, 116–140.
///
/// # Complexity
/// O(vertices + edges); parallel over vertices.
pub(super) struct PlantedPartition {
    vertices: u32,
    blocks: u32,
    inside: f64,
    outside: f64,
}

impl UndirectedFamily for PlantedPartition {
    const NAME: &'static str = "planted_partition";
    const SUMMARY: &'static str = "blocks with more edges inside than between: a partition to be found again";
    const SOURCE: &'static str = "Condon, Karp 2001";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let read = Self {
            vertices: params.number("vertices", 100_000, 1..u32::MAX, "number of vertices")?,
            blocks: params.number("blocks", 16, 1.., "number of blocks")?,
            inside: params.number("inside", 12.0, 0.0.., "mean number of neighbours in the own block")?,
            outside: params.number("outside", 4.0, 0.0.., "mean number of neighbours in other blocks")?,
        };
        if read.blocks > read.vertices {
            return Err(params.refuse("blocks", read.blocks, format!("at most vertices={}", read.vertices)));
        }
        let size = f64::from(read.vertices) / f64::from(read.blocks);
        let (own, other) = (size - 1.0, f64::from(read.vertices) - size);
        if read.inside > own {
            return Err(params.refuse("inside", read.inside, format!("at most {own}, the others of a block")));
        }
        if read.outside > other {
            return Err(params.refuse(
                "outside",
                read.outside,
                format!("at most {other}, the vertices of other blocks"),
            ));
        }
        Ok(read)
    }

    fn generate(&self, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
        let (count, blocks) = (u64::from(self.vertices), u64::from(self.blocks));
        let edges = (f64::from(self.vertices) * (self.inside + self.outside) / 2.0) as u64;
        check_memory(&[(count, 16), (edges, 40)], || {
            format!("a planted partition of {count} vertices and {edges} edges")
        })?;
        let first = |block: u64| (block * count).div_ceil(blocks);
        let size = count as f64 / blocks as f64;
        let share = |neighbours: f64, of: f64| if of > 0.0 { neighbours / of } else { 0.0 };
        let (inside, outside) = (share(self.inside, size - 1.0), share(self.outside, count as f64 - size));
        // The earlier neighbours of a vertex: those of other blocks, then those of its own.
        let earlier = |vertex: u64| {
            let start = first(vertex * blocks / count);
            let mut rng = stream(seed, Purpose::Structure, vertex);
            let mut found: Vec<u64> = Skips::new(0..start, outside, &mut rng).collect();
            found.extend(Skips::new(start..vertex, inside, &mut rng));
            found.into_iter().map(move |other| (other as u32, vertex as u32, 1))
        };
        let edges: Vec<(u32, u32, u64)> = (0..count).into_par_iter().flat_map_iter(earlier).collect();
        Ok(UndirectedGraph::from_edges(count as usize, edges.into_iter(), None)?)
    }
}
