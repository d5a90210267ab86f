//! What HDRF, DBH and greedy share: edges come one by one, and each goes to a block at once.

use placebench_datasets::format::FormatError;
use placebench_datasets::stream::EdgeStream;

use super::block_set::blocks_in;
use super::degrees::Degrees;
use super::error::{StreamError, check};
use super::loads::BlockLoads;
use super::{AssignedEdge, Replicas, VertexCut};
use crate::partition::PartitionRequest;

/// What a rule sees.
pub(super) struct State {
    pub(super) replicas: Replicas,
    pub(super) loads: BlockLoads,
    pub(super) degrees: Degrees,
}

/// Sends each edge of a stream to the block that `choose` names, or if that is full or none, to the least loaded with room.
pub(super) fn partition(
    stream: &mut dyn EdgeStream,
    request: &PartitionRequest,
    degrees: Degrees,
    sink: &mut dyn FnMut(AssignedEdge) -> Result<(), FormatError>,
    mut choose: impl FnMut(&mut State, u32, u32) -> Option<usize>,
) -> Result<VertexCut, StreamError> {
    let replicas = Replicas::new(stream.vertex_count(), request.blocks);
    let mut state = State { replicas, loads: BlockLoads::new(request, stream.edge_count()), degrees };
    let (mut edge, mut stream_bytes) = (0, 0);
    while let Some(edges) = stream.next_edges()? {
        check(&request.stop)?;
        for &(a, b) in edges {
            let chosen = choose(&mut state, a, b).filter(|&block| state.loads.has_room(block, 1));
            let block = chosen.unwrap_or_else(|| state.loads.least_with_room(1));
            state.replicas.insert(a, block);
            state.replicas.insert(b, block);
            state.loads.add(block, 1);
            sink(AssignedEdge { edge, ends: (a, b), block: block as u32 })?;
            edge += 1;
        }
        stream_bytes = stream_bytes.max(stream.memory_bytes());
    }
    let own = state.replicas.memory_bytes() + state.loads.memory_bytes() + state.degrees.memory_bytes();
    Ok(VertexCut {
        edges_of_block: state.loads.loads().to_vec(),
        replicas: state.replicas,
        evaluations: None,
        memory_bytes: own + stream_bytes,
    })
}

impl State {
    /// The least loaded block with room among those that `of` picks, a word at a time, from the replicas of two vertices;
    /// the lowest id among equals.
    #[inline]
    pub(super) fn least_of(&self, a: u32, b: u32, of: impl Fn(u64, u64) -> u64) -> Option<usize> {
        let (mut best, mut least) = (None, f64::INFINITY);
        for (index, open) in self.loads.open().iter().enumerate() {
            let word = of(self.replicas.word(a, index), self.replicas.word(b, index)) & open;
            for block in blocks_in(word, index) {
                let load = self.loads.relative(block);
                (best, least) = if load < least { (Some(block), load) } else { (best, least) };
            }
        }
        best
    }
}
