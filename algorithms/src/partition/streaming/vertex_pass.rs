//! What LDG and Fennel share: vertices come one by one, and each goes to the block of the best score that has room.

use placebench_datasets::stream::{GraphRows, VertexRow, VertexStream};
use placebench_datasets::{Numbers, UndirectedGraph};

use super::block_set::{blocks_in, words};
use super::error::{StreamError, check};
use super::loads::BlockLoads;
use crate::partition::{Partition, PartitionRequest};
use crate::{Params, SpecError};

/// Vertices between two looks at the stop token.
const STOP_INTERVAL: usize = 1 << 14;

/// The parameter `passes`.
pub(super) fn passes(params: &mut Params) -> Result<u32, SpecError> {
    params.number("passes", 1, 1.., "times that the stream is read; later passes know where all neighbours were")
}

/// How a block is scored for a vertex.
pub(super) trait Rule {
    /// What a block's load contributes; computed once after each change of the load.
    fn term(&self, loads: &BlockLoads, block: usize) -> f64;

    /// Score of a block: `affinity` is the weight of the edges to it. Without edges to either of two blocks, the less
    /// loaded must score as least as high.
    fn score(&self, affinity: f64, weight: f64, term: f64) -> f64;
}

/// Streams vertices `passes` times. A vertex's neighbours count where they were put last, in this pass or the one before;
/// loads start anew in each pass.
///
/// # Complexity
/// O(vertices · log blocks + edges) a pass; 4 bytes a vertex and 40 a block.
pub(super) fn partition(
    stream: &mut (impl VertexStream + ?Sized),
    request: &PartitionRequest,
    passes: u32,
    rule: &impl Rule,
) -> Result<Partition, StreamError> {
    let mut state = State::new(stream.vertex_count(), request, stream.total_vertex_weight(), rule);
    for _ in 0..passes.max(1) {
        stream.rewind()?;
        state.clear(rule);
        let mut count = 0;
        while let Some(row) = stream.next_row()? {
            if count % STOP_INTERVAL == 0 {
                check(&request.stop)?;
            }
            count += 1;
            state.place(row, rule);
        }
        if count != stream.vertex_count() {
            let message = format!("the stream has {count} vertices instead of {}", stream.vertex_count());
            return Err(StreamError::Unsupported(message));
        }
    }
    Ok(Partition { blocks: request.blocks, block_of: state.block_of })
}

/// The rows of a graph in the order of a permutation, or the natural one.
pub(super) fn rows<'a>(graph: &'a UndirectedGraph, order: Option<&'a [u32]>) -> GraphRows<'a> {
    order.and_then(|order| GraphRows::ordered(graph, order)).unwrap_or_else(|| GraphRows::natural(graph))
}

struct State {
    /// The number of blocks stands for none yet.
    block_of: Vec<u32>,
    loads: BlockLoads,
    terms: Vec<f64>,
    /// Weight of the edges to each block, and at the end to vertices without one. All 0 between two vertices.
    affinity: Vec<u64>,
    /// The blocks whose affinity was touched.
    touched: Vec<u64>,
}

impl State {
    fn new(vertices: usize, request: &PartitionRequest, total_weight: u64, rule: &impl Rule) -> Self {
        let loads = BlockLoads::new(request, total_weight);
        let blocks = request.blocks as usize;
        Self {
            block_of: vec![request.blocks; vertices],
            terms: (0..blocks).map(|block| rule.term(&loads, block)).collect(),
            affinity: vec![0; blocks + 1],
            touched: vec![0; words(request.blocks + 1)],
            loads,
        }
    }

    fn clear(&mut self, rule: &impl Rule) {
        self.loads.clear();
        for block in 0..self.terms.len() {
            self.terms[block] = rule.term(&self.loads, block);
        }
    }

    #[inline]
    fn place(&mut self, row: VertexRow<'_>, rule: &impl Rule) {
        match row.edge_weights {
            None => row.neighbours.iter().for_each(|&neighbour| self.touch(neighbour, 1)),
            Some(Numbers::Narrow(weights)) => {
                let entries = row.neighbours.iter().zip(weights);
                entries.for_each(|(&neighbour, &weight)| self.touch(neighbour, weight.into()));
            }
            Some(Numbers::Wide(weights)) => {
                row.neighbours.iter().zip(weights).for_each(|(&neighbour, &weight)| self.touch(neighbour, weight));
            }
        }
        let block = self.best(row.weight, rule);
        self.block_of[row.vertex as usize] = block as u32;
        self.loads.add(block, row.weight);
        self.terms[block] = rule.term(&self.loads, block);
    }

    #[inline]
    fn touch(&mut self, neighbour: u32, weight: u64) {
        let block = self.block_of[neighbour as usize] as usize;
        self.affinity[block] += weight;
        self.touched[block / 64] |= 1 << (block % 64);
    }

    /// The block with room of the highest score, then of the least load, then of the lowest id. Of the blocks without an
    /// edge only the least loaded can be it.
    #[inline]
    fn best(&mut self, weight: u64, rule: &impl Rule) -> usize {
        let real_weight = weight as f64;
        let none = self.terms.len();
        self.affinity[none] = 0;
        self.touched[none / 64] &= !(1 << (none % 64));
        let mut best = self.loads.least_with_room(weight);
        let mut best_score = rule.score(self.affinity[best] as f64, real_weight, self.terms[best]);
        for index in 0..self.touched.len() {
            for block in blocks_in(std::mem::take(&mut self.touched[index]), index) {
                let affinity = std::mem::take(&mut self.affinity[block]) as f64;
                if block == best || !self.loads.has_room(block, weight) {
                    continue;
                }
                let score = rule.score(affinity, real_weight, self.terms[block]);
                let less_loaded = || {
                    let key = |block: usize| (self.loads.relative(block), block);
                    key(block) < key(best)
                };
                if score > best_score || (score == best_score && less_loaded()) {
                    (best, best_score) = (block, score);
                }
            }
        }
        best
    }
}
