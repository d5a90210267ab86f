//! What is known of the vertices, and the score of an edge.

use super::super::block_set::{blocks_in, words};
use super::super::loads::BlockLoads;
use super::super::replicas::Replicas;
use super::window::{Heads, WindowEdges};

/// What the instances keep for each vertex, one after the other.
pub(super) struct Shared {
    pub(super) replicas: Replicas,
    pub(super) heads: Heads,
    /// Evaluations, and neighbours that they looked at: time passes with them.
    pub(super) work: u64,
    degrees: Vec<u32>,
    largest_degree: u32,
    /// In which evaluation a vertex was last met.
    met: Vec<u32>,
    evaluation: u32,
    /// Neighbours with a replica on each block; all 0 between two evaluations.
    neighbours_on: Vec<u32>,
    /// Blocks that a neighbour is on; empty between two evaluations.
    touched: Vec<u64>,
}

impl Shared {
    pub(super) fn new(vertices: usize, blocks: u32) -> Self {
        Self {
            replicas: Replicas::new(vertices, blocks),
            heads: Heads::new(vertices),
            work: 0,
            degrees: vec![0; vertices],
            largest_degree: 0,
            met: vec![0; vertices],
            evaluation: 0,
            neighbours_on: vec![0; blocks as usize],
            touched: vec![0; words(blocks)],
        }
    }

    /// Forgets the degrees, which are each instance's own. Replicas on its blocks are already.
    pub(super) fn forget_degrees(&mut self) {
        self.degrees.fill(0);
        self.largest_degree = 0;
    }

    pub(super) fn count_edge(&mut self, ends: (u32, u32)) {
        for vertex in [ends.0, ends.1] {
            let degree = &mut self.degrees[vertex as usize];
            *degree = degree.saturating_add(1);
            self.largest_degree = self.largest_degree.max(*degree);
        }
    }

    /// Whether `vertex` was not met yet in this evaluation.
    #[inline]
    fn meet(&mut self, vertex: u32) -> bool {
        std::mem::replace(&mut self.met[vertex as usize], self.evaluation) != self.evaluation
    }

    fn begin_evaluation(&mut self) {
        self.evaluation = self.evaluation.wrapping_add(1);
        if self.evaluation == 0 {
            self.met.fill(0);
            self.evaluation = 1;
        }
    }

    /// Counts on which open blocks the neighbours of two ends in the window are. Returns the number of neighbours.
    fn count_neighbours(&mut self, ends: (u32, u32), window: &WindowEdges, loads: &BlockLoads) -> u32 {
        self.begin_evaluation();
        self.work += 1;
        self.meet(ends.0);
        let different = self.meet(ends.1);
        let mut count = 0;
        for &end in &[ends.0, ends.1][..1 + usize::from(different)] {
            for (_, neighbour) in window.at(end, &self.heads) {
                self.work += 1;
                if std::mem::replace(&mut self.met[neighbour as usize], self.evaluation) == self.evaluation {
                    continue;
                }
                count += 1;
                for (index, open) in loads.open().iter().enumerate() {
                    let word = self.replicas.word(neighbour, index) & open;
                    self.touched[index] |= word;
                    blocks_in(word, index).for_each(|block| self.neighbours_on[block] += 1);
                }
            }
        }
        count
    }

    /// The best open block for an edge of the window, and its score there.
    ///
    /// Of the blocks where neither an end nor a neighbour has a replica, only the least loaded can be the best.
    pub(super) fn evaluate(
        &mut self,
        ends: (u32, u32),
        window: &WindowEdges,
        loads: &BlockLoads,
        lambda: f64,
    ) -> (f64, usize) {
        let neighbours = f64::from(self.count_neighbours(ends, window, loads).max(1));
        let largest = 2.0 * f64::from(self.largest_degree);
        let gain = |vertex: u32| 2.0 - f64::from(self.degrees[vertex as usize]) / largest;
        let gains = (gain(ends.0), gain(ends.1));
        let (most, span) = (loads.most(), loads.most() - loads.relative(loads.least()) + 1.0);
        let score = |block: usize, on: u32| {
            let has = |vertex| self.replicas.word(vertex, block / 64) >> (block % 64) & 1 != 0;
            let of = |vertex, gain| if has(vertex) { gain } else { 0.0 };
            let balance = (most - loads.relative(block)) / span;
            lambda * balance + (of(ends.0, gains.0) + of(ends.1, gains.1)) + f64::from(on) / neighbours
        };
        let mut best = loads.least_with_room(1);
        let mut best_score = score(best, self.neighbours_on[best]);
        for (index, open) in loads.open().iter().enumerate() {
            let of_ends = self.replicas.word(ends.0, index) | self.replicas.word(ends.1, index);
            let word = (std::mem::take(&mut self.touched[index]) | of_ends) & open;
            for block in blocks_in(word, index) {
                let found = score(block, self.neighbours_on[block]);
                let key = |block: usize| (loads.relative(block), block);
                if found > best_score || (found == best_score && key(block) < key(best)) {
                    (best, best_score) = (block, found);
                }
            }
            blocks_in(word, index).for_each(|block| self.neighbours_on[block] = 0);
        }
        (best_score, best)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let vertices = (self.degrees.capacity() + self.met.capacity()) * 4;
        let blocks = self.neighbours_on.capacity() * 4 + self.touched.capacity() * 8;
        self.replicas.memory_bytes() + self.heads.memory_bytes() + (vertices + blocks) as u64
    }
}
