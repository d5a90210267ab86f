//! ADWISE: a window of edges; the best edge in it is assigned first.

mod instance;
mod reader;
mod score;
mod settings;
mod window;

use placebench_base::processor::thread_time;
use placebench_datasets::format::FormatError;
use placebench_datasets::stream::EdgeStream;

use super::{AssignedEdge, EdgePartitioner, StreamError, VertexCut};
use crate::partition::PartitionRequest;
use instance::{Clock, Instance, Part, Totals};
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
        let clock = |_| thread_time().as_secs_f64();
        self.partition_by(&clock, stream, request, sink)
    }
}

impl Adwise {
    /// Partitions with a clock for [`Budget::Latency`].
    fn partition_by(
        &self,
        clock: &Clock<'_>,
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
            let mut instance = Instance::new(self, request, &mut shared, part, clock);
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
    use std::cell::RefCell;

    use placebench_datasets::stream::EdgeList;

    use super::*;
    use crate::Algorithm;

    #[test]
    fn a_limit_of_time_is_spent_on_all_parts_of_the_stream() {
        // A long path, then three hubs, then the path goes on. On the path the window grows, since an edge has two
        // neighbours; at a hub, each evaluation looks at a thousand.
        let path = |from: u32| (from..from + 20_000).map(|at| (at, at + 1));
        let hubs = (50_000..50_003).flat_map(|hub| (0..1000).map(move |at| (hub, 20_000 + at)));
        let edges: Vec<(u32, u32)> = path(0).chain(hubs).chain(path(21_000)).collect();
        let request = PartitionRequest::new(8, 0.03, 0);
        for units_each in [100u32, 1000] {
            // A unit of work takes a microsecond.
            let now = RefCell::new(0.0);
            let clock = |work: u64| {
                *now.borrow_mut() = work as f64 * 1e-6;
                *now.borrow()
            };
            let limit = f64::from(units_each) * edges.len() as f64 * 1e-6;
            let budget = Budget::Latency(std::time::Duration::from_secs_f64(limit));
            let adwise = Adwise { window: Window::Adaptive { budget, max: 1024 }, ..Adwise::with_defaults() };
            let (mut assigned, mut times) = (0, Vec::new());
            let mut stream = EdgeList::new(50_003, &edges).unwrap();
            let cut = adwise.partition_by(&clock, &mut stream, &request, &mut |_| {
                assigned += 1;
                if assigned % (edges.len() / 5) == 0 {
                    times.push(*now.borrow() / limit);
                }
                Ok(())
            });
            let shares: Vec<f64> =
                times.iter().scan(0.0, |last, &time| Some(time - std::mem::replace(last, time))).collect();
            assert_eq!(cut.unwrap().edges_of_block.iter().sum::<u64>(), edges.len() as u64);
            assert!(shares.iter().all(|share| (0.05..0.4).contains(share)), "{units_each}: {shares:?}");
            assert!(times.iter().all(|&time| time < 1.05), "{units_each}: {times:?}");
        }
    }

    #[test]
    fn instances_get_the_edges_that_their_blocks_have_room_for() {
        let shares: Vec<f64> = [1.0, 4.0, 1.0, 4.0, 1.0, 4.0].map(|share| share / 15.0).to_vec();
        let request = PartitionRequest { shares: Some(shares), ..PartitionRequest::new(6, 0.0, 0) };
        let room = |blocks: std::ops::Range<u32>| blocks.map(|block| request.capacity(block, 240)).sum::<u64>();
        assert_eq!((before(&request, 3, 240), room(0..3), room(3..6)), (96, 96, 144));
        assert_eq!((before(&request, 0, 240), before(&request, 6, 240)), (0, 240));
    }
}
