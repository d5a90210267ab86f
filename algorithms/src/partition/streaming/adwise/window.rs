//! The edges that wait, the candidates among them, and which edges are neighbours.

use super::reader::NextEdge;

/// Ends a list.
const NONE: u32 = u32::MAX;

/// An edge that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Its place in the stream.
    pub(super) edge: u64,
    pub(super) ends: (u32, u32),
    /// Its score when last evaluated, on its best block then.
    pub(super) score: f64,
    pub(super) block: u32,
    /// In which step it was evaluated; 0 if never.
    pub(super) evaluated: u64,
    /// Whether it waits in the list of candidates or in that of the rest, and where.
    candidate: bool,
    at: u32,
}

/// The window: slots with stable numbers in two lists, and for each vertex a list of the slots at it.
#[derive(Debug)]
pub(super) struct WindowEdges {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    pub(super) candidates: Vec<u32>,
    pub(super) rest: Vec<u32>,
    /// Links of the lists of slots at a vertex. A node is 2 · slot for the first end, + 1 for the second.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// Sum of the scores of all that were ever evaluated.
    score_sum: f64,
}

/// For each vertex the first node of its list.
#[derive(Debug)]
pub(super) struct Heads(Vec<u32>);

impl Heads {
    pub(super) fn new(vertices: usize) -> Self {
        Self(vec![NONE; vertices])
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.0.capacity() as u64 * 4
    }
}

impl WindowEdges {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            vacant: Vec::new(),
            candidates: Vec::new(),
            rest: Vec::new(),
            next: Vec::new(),
            previous: Vec::new(),
            score_sum: 0.0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.candidates.len() + self.rest.len()
    }

    #[inline]
    pub(super) fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Mean of the scores when last evaluated.
    pub(super) fn mean(&self) -> f64 {
        self.score_sum / self.len() as f64
    }

    /// Adds an edge to the rest, not evaluated.
    pub(super) fn insert(&mut self, edge: NextEdge, heads: &mut Heads) -> u32 {
        let NextEdge { edge, ends } = edge;
        let at = self.rest.len() as u32;
        let new = Slot { edge, ends, score: 0.0, block: 0, evaluated: 0, candidate: false, at };
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.slots[slot as usize] = new;
                slot
            }
            None => {
                self.slots.push(new);
                self.next.extend([NONE; 2]);
                self.previous.extend([NONE; 2]);
                self.slots.len() as u32 - 1
            }
        };
        self.rest.push(slot);
        for (node, vertex) in [(2 * slot, ends.0), (2 * slot + 1, ends.1)] {
            let head = std::mem::replace(&mut heads.0[vertex as usize], node);
            self.next[node as usize] = head;
            self.previous[node as usize] = NONE;
            if head != NONE {
                self.previous[head as usize] = node;
            }
        }
        slot
    }

    /// Takes an edge out.
    pub(super) fn remove(&mut self, slot: u32, heads: &mut Heads) -> Slot {
        let taken = self.slots[slot as usize];
        self.unlist(slot);
        self.score_sum -= taken.score;
        for (node, vertex) in [(2 * slot, taken.ends.0), (2 * slot + 1, taken.ends.1)] {
            let (next, previous) = (self.next[node as usize], self.previous[node as usize]);
            if next != NONE {
                self.previous[next as usize] = previous;
            }
            match previous {
                NONE => heads.0[vertex as usize] = next,
                _ => self.next[previous as usize] = next,
            }
        }
        self.vacant.push(slot);
        taken
    }

    fn unlist(&mut self, slot: u32) {
        let Slot { candidate, at, .. } = self.slots[slot as usize];
        let list = if candidate { &mut self.candidates } else { &mut self.rest };
        list.swap_remove(at as usize);
        if let Some(&moved) = list.get(at as usize) {
            self.slots[moved as usize].at = at;
        }
    }

    /// Moves an edge to the candidates or to the rest.
    pub(super) fn set_candidate(&mut self, slot: u32, candidate: bool) {
        if self.slots[slot as usize].candidate == candidate {
            return;
        }
        self.unlist(slot);
        let list = if candidate { &mut self.candidates } else { &mut self.rest };
        self.slots[slot as usize].candidate = candidate;
        self.slots[slot as usize].at = list.len() as u32;
        list.push(slot);
    }

    pub(super) fn set_score(&mut self, slot: u32, score: f64, block: usize, step: u64) {
        let slot = &mut self.slots[slot as usize];
        self.score_sum += score - slot.score;
        (slot.score, slot.block, slot.evaluated) = (score, block as u32, step);
    }

    /// Adds the scores up anew, since additions and subtractions leave rounding errors.
    pub(super) fn sum_anew(&mut self) {
        self.score_sum = self.candidates.iter().chain(&self.rest).map(|&slot| self.slots[slot as usize].score).sum();
    }

    /// The slots at a vertex, each with its other end; one that joins a vertex to itself comes twice.
    #[inline]
    pub(super) fn at(&self, vertex: u32, heads: &Heads) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut node = heads.0[vertex as usize];
        std::iter::from_fn(move || {
            (node != NONE).then(|| {
                let (slot, second) = (node / 2, node % 2 == 1);
                let ends = self.slots[slot as usize].ends;
                node = self.next[node as usize];
                (slot, if second { ends.0 } else { ends.1 })
            })
        })
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let lists = self.vacant.capacity() + self.candidates.capacity() + self.rest.capacity();
        let links = self.next.capacity() + self.previous.capacity();
        (self.slots.capacity() * size_of::<Slot>() + (lists + links) * 4) as u64
    }
}
