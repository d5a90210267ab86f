//! ADWISE: a window of edges; the best edge in it is assigned first.

mod instance;
mod reader;
mod score;
mod settings;
mod window;

use placebench_datasets::format::FormatError;
use placebench_datasets::stream::EdgeStream;

use super::{AssignedEdge, EdgePartitioner, StreamError, VertexCut};
use crate::partition::PartitionRequest;
use instance::{Instance, Part, Totals};
use reader::Reader;
use score::Shared;
pub use settings::{Adwise, Budget, Lambda, Window};

impl EdgePartitioner for Adwise {
    fn partition_edges(
        &self,
        stream: &mut dyn EdgeStream,
        request: &PartitionRequest,
        sink: &mut dyn FnMut(AssignedEdge) -> Result<(), FormatError>,
    ) -> Result<VertexCut, StreamError> {
        let z = self.spotlight.max(1);
        if z > request.blocks {
            let message =
                format!("a spotlight of {z} instances needs as many blocks, but there are {}", request.blocks);
            return Err(StreamError::Unsupported(message));
        }
        let edges = stream.edge_count();
        let mut shared = Shared::new(stream.vertex_count(), request.blocks);
        let mut reader = Reader::new(stream)?;
        let mut cut = Totals { edges_of_block: vec![0; request.blocks as usize], evaluations: 0, window_bytes: 0 };
        for index in 0..z {
            let blocks = first_block(request.blocks, z, index)..first_block(request.blocks, z, index + 1);
            let end = if index + 1 == z { edges } else { before(request, blocks.end, edges) };
            let part = Part { edges: end - before(request, blocks.start, edges), of: edges, blocks };
            let mut instance = Instance::new(self, request, &mut shared, part);
            instance.run(&mut reader, request, sink)?;
            instance.add_to(&mut cut);
        }
        Ok(VertexCut {
            edges_of_block: cut.edges_of_block,
            evaluations: Some(cut.evaluations),
            memory_bytes: shared.memory_bytes() + cut.window_bytes + reader.memory_bytes(),
            replicas: shared.replicas,
        })
    }
}

fn first_block(blocks: u32, instances: u32, index: u32) -> u32 {
    (u64::from(blocks) * u64::from(index) / u64::from(instances)) as u32
}

/// How many of the edges belong to the blocks before `block`.
fn before(request: &PartitionRequest, block: u32, edges: u64) -> u64 {
    match &request.shares {
        None => (u128::from(edges) * u128::from(block) / u128::from(request.blocks)) as u64,
        Some(shares) => {
            // The sum may come out a hair below a whole number, which the blocks behind have no room to make up for.
            let exact = shares[..block as usize].iter().sum::<f64>() * edges as f64;
            ((exact * (1.0 + 1e-12)) as u64).min(edges)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_get_the_edges_that_their_blocks_have_room_for() {
        let shares: Vec<f64> = [1.0, 4.0, 1.0, 4.0, 1.0, 4.0].map(|share| share / 15.0).to_vec();
        let request = PartitionRequest { shares: Some(shares), ..PartitionRequest::new(6, 0.0, 0) };
        let room = |blocks: std::ops::Range<u32>| blocks.map(|block| request.capacity(block, 240)).sum::<u64>();
        assert_eq!((before(&request, 3, 240), room(0..3), room(3..6)), (96, 96, 144));
        assert_eq!((before(&request, 0, 240), before(&request, 6, 240)), (0, 240));
    }
}
