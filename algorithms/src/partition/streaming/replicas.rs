//! In which blocks each vertex has edges.

use super::block_set::{blocks_of, words};

/// For each vertex the set of blocks in which it has edges: its replicas.
///
/// # Memory
/// 8 · ⌈blocks / 64⌉ bytes a vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicas {
    words: usize,
    sets: Vec<u64>,
}

impl Replicas {
    /// No replicas yet.
    pub(super) fn new(vertices: usize, blocks: u32) -> Self {
        let words = words(blocks).max(1);
        Self { words, sets: vec![0; vertices * words] }
    }

    #[inline]
    pub(super) fn word(&self, vertex: u32, index: usize) -> u64 {
        self.sets[vertex as usize * self.words + index]
    }

    /// Adds a replica; whether it is new.
    #[inline]
    pub(super) fn insert(&mut self, vertex: u32, block: usize) -> bool {
        let word = &mut self.sets[vertex as usize * self.words + block / 64];
        let before = *word;
        *word |= 1 << (block % 64);
        *word != before
    }

    fn set(&self, vertex: u32) -> &[u64] {
        &self.sets[vertex as usize * self.words..][..self.words]
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.sets.len() / self.words
    }

    /// The blocks in which a vertex has edges, ascending.
    pub fn of(&self, vertex: u32) -> impl Iterator<Item = u32> + '_ {
        blocks_of(self.set(vertex)).map(|block| block as u32)
    }

    /// Replicas of all vertices together.
    pub fn total(&self) -> u64 {
        self.sets.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Number of vertices that have edges.
    pub fn replicated_vertices(&self) -> u64 {
        self.sets.chunks(self.words).filter(|set| set.iter().any(|&word| word != 0)).count() as u64
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.sets.capacity() as u64 * 8
    }
}
