//! PowerGraph's greedy vertex cut.

use placebench_datasets::format::FormatError;
use placebench_datasets::stream::EdgeStream;

use super::degrees::{DegreeSource, Degrees};
use super::{AssignedEdge, EdgePartitioner, StreamError, VertexCut, edge_pass};
use crate::partition::PartitionRequest;
use crate::{Algorithm, Params, SpecError};

/// Puts an edge in the least loaded block that replicates both of its ends, or else one of them.
///
/// 1. If both ends have replicas in a block, to such a block. 2. If both have replicas, but none in common, to one of the end
///    with the most edges still to come. 3. If only one has, to one of its. 4. Otherwise to any.
///
/// # Reference
/// J. Gonzalez, Y. Low, H. Gu, D. Bickson, C. Guestrin: PowerGraph: Distributed graph-parallel computation on natural graphs.
/// OSDI 2012, §5.2.1.
///
/// # Complexity
/// O(edges · (replicas of an end + blocks / 64 + log blocks)). 8 · ⌈blocks / 64⌉ + 4 bytes a vertex and 60 a block.
///
/// # Ties
/// In each rule the least loaded block, then the lowest id.
///
/// # Deviations
/// A stream does not know the edges to come: in rule 2 the blocks of both ends are then eligible, as in PowerGraph's own
/// code. With known degrees the rule is as printed, ends with as many edges to come sharing it. A full block, with
/// [`PartitionRequest::capacity`] of the edges, is not eligible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greedy {
    /// Whether rule 2 does without the number of edges to come, or knows it from reading the stream twice.
    pub degrees: DegreeSource,
}

impl Algorithm for Greedy {
    const NAME: &str = "greedy";
    const SUMMARY: &str = "vertex cut: each edge where both ends are, or else one, least loaded first";
    const SOURCE: &str = "Gonzalez et al. 2012, §5.2.1";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { degrees: DegreeSource::param(params, DegreeSource::Partial)? })
    }
}

impl EdgePartitioner for Greedy {
    fn partition_edges(
        &self,
        stream: &mut dyn EdgeStream,
        request: &PartitionRequest,
        sink: &mut dyn FnMut(AssignedEdge) -> Result<(), FormatError>,
    ) -> Result<VertexCut, StreamError> {
        let degrees = match self.degrees {
            DegreeSource::Known => Degrees::new(stream, DegreeSource::Known, &request.stop)?,
            DegreeSource::Partial => {
                stream.rewind()?;
                Degrees::none()
            }
        };
        edge_pass::partition(stream, request, degrees, sink, |state, a, b| {
            let (left_a, left_b) = state.degrees.left_of_ends(a, b);
            let of_both = || state.least_of(a, b, |a, b| a & b);
            let of_any = || state.least_of(a, b, |a, b| a | b);
            let of_busier = || match left_a.cmp(&left_b) {
                std::cmp::Ordering::Greater => state.least_of(a, a, |a, _| a),
                std::cmp::Ordering::Less => state.least_of(b, b, |b, _| b),
                std::cmp::Ordering::Equal => None,
            };
            of_both().or_else(of_busier).or_else(of_any)
        })
    }
}
