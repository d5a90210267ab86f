//! The ready queue of B's two traversals: vertices all of whose predecessors are placed, by upward rank.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::DeviceId;

use super::dag::VertexGraph;

/// Ready vertices, the highest rank first, then the lowest number; and where the others are.
#[derive(Clone, Debug)]
pub(in crate::placers) struct ReadyQueue<'a> {
    graph: &'a VertexGraph,
    ranks: Vec<u32>,
    /// Predecessors of each vertex that are not placed yet.
    waiting: Vec<u32>,
    heap: BinaryHeap<(u32, Reverse<u32>)>,
    device_of: Vec<Option<DeviceId>>,
}

impl<'a> ReadyQueue<'a> {
    /// The sources of the graph.
    pub(in crate::placers) fn new(graph: &'a VertexGraph) -> Self {
        let ranks = graph.hop_ranks();
        let count = ranks.len() as u32;
        let waiting: Vec<u32> = (0..count).map(|vertex| graph.predecessors(vertex).len() as u32).collect();
        let sources = (0..count).filter(|&vertex| waiting[vertex as usize] == 0);
        let heap = sources.map(|vertex| (ranks[vertex as usize], Reverse(vertex))).collect();
        Self { graph, ranks, waiting, heap, device_of: vec![None; count as usize] }
    }

    /// Takes the first `most` vertices out, or all if there are fewer: B's fringe.
    pub(in crate::placers) fn take(&mut self, most: usize, fringe: &mut Vec<u32>) {
        fringe.clear();
        while fringe.len() < most
            && let Some((_, Reverse(vertex))) = self.heap.pop()
        {
            fringe.push(vertex);
        }
    }

    /// Puts a vertex back that was not placed.
    pub(in crate::placers) fn put_back(&mut self, vertex: u32) {
        self.heap.push((self.ranks[vertex as usize], Reverse(vertex)));
    }

    /// Notes where a vertex is; its successors may become ready.
    pub(in crate::placers) fn placed(&mut self, vertex: u32, device: DeviceId) {
        self.device_of[vertex as usize] = Some(device);
        for &next in self.graph.successors(vertex) {
            self.waiting[next as usize] -= 1;
            if self.waiting[next as usize] == 0 {
                self.put_back(next);
            }
        }
    }

    /// Number of predecessors of a vertex.
    pub(in crate::placers) fn input_count(&self, vertex: u32) -> usize {
        self.graph.predecessors(vertex).len()
    }

    /// Counts, for a vertex taken out, its predecessors on each device into `counts`.
    pub(in crate::placers) fn count_inputs(&self, vertex: u32, counts: &mut [u32]) {
        counts.fill(0);
        for &before in self.graph.predecessors(vertex) {
            if let Some(device) = self.device_of[before as usize] {
                counts[device.index()] += 1;
            }
        }
    }
}
