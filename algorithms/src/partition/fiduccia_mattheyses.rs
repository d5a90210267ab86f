//! Fiduccia–Mattheyses on the graph itself, without levels.

use placebench_datasets::UndirectedGraph;

use super::multilevel::engine::{self, Scale, Weight};
use super::{Partition, PartitionError, Partitioner, Request};
use crate::{Algorithm, Named, Params, SpecError};

/// How [`FiducciaMattheyses`] comes to k blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FmScheme {
    /// From random blocks, moving vertices between all of them.
    Direct,
    /// By bisection, again and again.
    Recursive,
}

impl Named for FmScheme {
    const NAMES: &'static [(&'static str, Self)] = &[("recursive", Self::Recursive), ("direct", Self::Direct)];
}

/// Moves one vertex after the other to where the cut falls most or rises least, each once a pass; then back to the best
/// point of the pass; and again, until a pass gains nothing.
///
/// # Reference
/// C. M. Fiduccia, R. M. Mattheyses: A linear-time heuristic for improving network partitions. DAC 1982, 175–181,
/// doi:10.1145/800263.809204. With k blocks: L. A. Sanchis: Multiple-way network partitioning. IEEE Transactions on
/// Computers 38 (1989), 62–81, doi:10.1109/12.8730.
///
/// # Complexity
/// O(edges · log vertices) a pass; a pass looks at the blocks around a vertex at each change.
///
/// # Ties
/// Equal gains: the vertex whose gain changed last, as in the source. Equal blocks: most room, then the lowest number.
///
/// # Deviations
/// A heap takes the place of the buckets, since edges are weighted. Only vertices at a boundary can move. Blocks never exceed
/// their capacity, where the source tolerates one vertex. It begins with random blocks, each vertex in the one with most
/// room left; recursive bisections begin with greedy graph growing.
#[derive(Clone, Copy, Debug)]
pub struct FiducciaMattheyses {
    /// Directly into k blocks, or by bisections.
    pub scheme: FmScheme,
    /// Passes at most.
    pub passes: u32,
}

impl Algorithm for FiducciaMattheyses {
    const NAME: &str = "fiduccia_mattheyses";
    const SUMMARY: &str = "moves single vertices, pass by pass, and back to each pass's best point";
    const SOURCE: &str = "Fiduccia, Mattheyses 1982; Sanchis 1989";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let scheme = "recursive: by bisections, or direct: all blocks at once";
        Ok(Self {
            scheme: params.word("scheme", FmScheme::Recursive, scheme)?,
            passes: params.number("passes", 20, 1.., "passes at most")?,
        })
    }
}

impl Partitioner for FiducciaMattheyses {
    fn partition(&self, graph: &UndirectedGraph, request: &Request) -> Result<Partition, PartitionError> {
        request.check()?;
        let scale = Scale::of(graph);
        let block_of = match scale.is_narrow() {
            true => self.run::<u32>(graph, scale, request)?,
            false => self.run::<u64>(graph, scale, request)?,
        };
        if request.stop.is_stopped() {
            return Err(PartitionError::Stopped);
        }
        Ok(Partition { blocks: request.blocks, block_of })
    }
}

impl FiducciaMattheyses {
    fn run<W: Weight>(
        &self,
        graph: &UndirectedGraph,
        scale: Scale,
        request: &Request,
    ) -> Result<Vec<u32>, PartitionError> {
        match self.scheme {
            FmScheme::Direct => engine::flat::<W>(graph, scale, request, self.passes),
            FmScheme::Recursive => engine::flat_bisections::<W>(graph, scale, request, self.passes),
        }
    }
}
