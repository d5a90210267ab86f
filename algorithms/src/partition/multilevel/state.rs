//! The state of a refinement: who is in which block, what each block weighs, and how strongly the vertices near a
//! boundary are tied to the blocks around them.

use super::graph::{Graph, Weight};

/// A vertex without a row: all its neighbours were in its own block when that was last looked at.
const NO_ROW: u32 = u32::MAX;

/// One tie of a vertex: the weight of its edges into a block.
#[derive(Clone, Copy, Debug)]
struct Tie<W> {
    block: u32,
    weight: W,
}

/// A partition under change.
///
/// Rows of ties exist only for vertices that are or were at a boundary. The row of a vertex with at least as many
/// neighbours as there are blocks has a place for each block; any other lists the blocks that it is tied to.
pub(crate) struct State<'g, 'a, W: Weight> {
    pub(crate) graph: &'g Graph<'a, W>,
    /// What each block may weigh.
    pub(crate) caps: &'g [i64],
    pub(crate) block_of: Vec<u32>,
    /// What each block weighs.
    pub(crate) loads: Vec<i64>,
    row_start: Vec<u32>,
    row_len: Vec<u32>,
    ties: Vec<Tie<W>>,
}

/// A move that a vertex could make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) block: u32,
    /// By how much the cut would fall.
    pub(crate) gain: i64,
}

impl<'g, 'a, W: Weight> State<'g, 'a, W> {
    /// The state of a partition. Vertices that `maybe_boundary` denies must have no neighbour in another block.
    pub(crate) fn new(
        graph: &'g Graph<'a, W>,
        caps: &'g [i64],
        block_of: Vec<u32>,
        maybe_boundary: impl Fn(u32) -> bool,
    ) -> Self {
        let mut loads = vec![0; caps.len()];
        for vertex in 0..graph.len() as u32 {
            loads[block_of[vertex as usize] as usize] += graph.weight(vertex);
        }
        let count = graph.len();
        let mut state = Self {
            graph,
            caps,
            block_of,
            loads,
            row_start: vec![NO_ROW; count],
            row_len: vec![0; count],
            ties: Vec::new(),
        };
        for vertex in 0..count as u32 {
            if maybe_boundary(vertex) {
                let own = state.block_of[vertex as usize];
                if graph.neighbours(vertex).iter().any(|&n| state.block_of[n as usize] != own) {
                    state.make_row(vertex);
                }
            }
        }
        state
    }

    fn blocks(&self) -> usize {
        self.caps.len()
    }

    fn make_row(&mut self, vertex: u32) {
        let degree = self.graph.degree(vertex);
        let start = self.ties.len();
        self.row_start[vertex as usize] = start as u32;
        if degree >= self.blocks() {
            self.ties.extend((0..self.blocks() as u32).map(|block| Tie { block, weight: W::default() }));
            for (neighbour, weight) in self.graph.edges(vertex) {
                let tie = &mut self.ties[start + self.block_of[neighbour as usize] as usize];
                tie.weight = W::narrow(tie.weight.wide() + weight.wide());
            }
            self.row_len[vertex as usize] = self.blocks() as u32;
        } else {
            self.ties.resize(start + degree, Tie { block: 0, weight: W::default() });
            self.row_len[vertex as usize] = 0;
            for (neighbour, weight) in self.graph.edges(vertex) {
                self.strengthen(vertex, self.block_of[neighbour as usize], weight);
            }
        }
    }

    fn is_dense(&self, vertex: u32) -> bool {
        self.graph.degree(vertex) >= self.blocks()
    }

    #[inline]
    fn row(&self, vertex: u32) -> &[Tie<W>] {
        let start = self.row_start[vertex as usize] as usize;
        &self.ties[start..start + self.row_len[vertex as usize] as usize]
    }

    #[inline]
    fn strengthen(&mut self, vertex: u32, block: u32, weight: W) {
        if weight == W::default() {
            return;
        }
        let start = self.row_start[vertex as usize] as usize;
        if self.is_dense(vertex) {
            let tie = &mut self.ties[start + block as usize];
            tie.weight = W::narrow(tie.weight.wide() + weight.wide());
            return;
        }
        let len = self.row_len[vertex as usize] as usize;
        match self.ties[start..start + len].iter_mut().find(|tie| tie.block == block) {
            Some(tie) => tie.weight = W::narrow(tie.weight.wide() + weight.wide()),
            None => {
                self.ties[start + len] = Tie { block, weight };
                self.row_len[vertex as usize] += 1;
            }
        }
    }

    #[inline]
    fn weaken(&mut self, vertex: u32, block: u32, weight: W) {
        if weight == W::default() {
            return;
        }
        let start = self.row_start[vertex as usize] as usize;
        if self.is_dense(vertex) {
            let tie = &mut self.ties[start + block as usize];
            tie.weight = W::narrow(tie.weight.wide() - weight.wide());
            return;
        }
        let len = self.row_len[vertex as usize] as usize;
        let row = &mut self.ties[start..start + len];
        if let Some(at) = row.iter().position(|tie| tie.block == block) {
            let left = row[at].weight.wide() - weight.wide();
            if left == 0 {
                row[at] = row[len - 1];
                self.row_len[vertex as usize] -= 1;
            } else {
                row[at].weight = W::narrow(left);
            }
        }
    }

    /// Whether the vertex has an edge of some weight into another block.
    #[inline]
    pub(crate) fn is_boundary(&self, vertex: u32) -> bool {
        if self.row_start[vertex as usize] == NO_ROW {
            return false;
        }
        let own = self.block_of[vertex as usize];
        self.row(vertex).iter().any(|tie| tie.block != own && tie.weight != W::default())
    }

    /// The vertices with an edge of some weight into another block, ascending.
    pub(crate) fn boundary(&self) -> Vec<u32> {
        (0..self.graph.len() as u32).filter(|&vertex| self.is_boundary(vertex)).collect()
    }

    /// The block that the vertex is tied to most, of those with room for it; then the one with most room, then the lowest.
    #[inline]
    pub(crate) fn best_target(&self, vertex: u32) -> Option<Target> {
        self.targets(vertex).0
    }

    /// As [`State::best_target`]; and, if a block without room would lower the cut by more, the one that would most.
    #[inline]
    pub(crate) fn targets(&self, vertex: u32) -> (Option<Target>, Option<Target>) {
        if self.row_start[vertex as usize] == NO_ROW {
            return (None, None);
        }
        let own = self.block_of[vertex as usize];
        let weight = self.graph.weight(vertex);
        let (first_block, last_block) = self.graph.window(vertex, &self.block_of);
        let mut tie_to_own = 0;
        // Tie, room left, block.
        let mut best: Option<(i64, i64, u32)> = None;
        let mut full: Option<(i64, u32)> = None;
        for tie in self.row(vertex) {
            let strength = tie.weight.wide();
            if tie.block == own {
                tie_to_own = strength;
                continue;
            }
            if strength == 0
                || best.is_some_and(|(most, ..)| strength < most)
                || tie.block < first_block
                || tie.block > last_block
            {
                continue;
            }
            let room = self.caps[tie.block as usize] - self.loads[tie.block as usize] - weight;
            if room < 0 {
                if full.is_none_or(|(most, _)| strength > most) {
                    full = Some((strength, tie.block));
                }
                continue;
            }
            let better = match best {
                None => true,
                Some((most, most_room, block)) => {
                    (strength, room, std::cmp::Reverse(tie.block)) > (most, most_room, std::cmp::Reverse(block))
                }
            };
            if better {
                best = Some((strength, room, tie.block));
            }
        }
        let full = full.filter(|&(most, _)| best.is_none_or(|(strength, ..)| most > strength));
        let target = |strength: i64, block: u32| Target { block, gain: strength - tie_to_own };
        (
            best.map(|(strength, _, block)| target(strength, block)),
            full.map(|(strength, block)| target(strength, block)),
        )
    }

    /// The weight of the vertex's edges into a block.
    pub(crate) fn tie_to(&self, vertex: u32, block: u32) -> i64 {
        if self.row_start[vertex as usize] == NO_ROW {
            let inside = self.block_of[vertex as usize] == block;
            return if inside { self.graph.edges(vertex).map(|(_, weight)| weight.wide()).sum() } else { 0 };
        }
        self.row(vertex).iter().find(|tie| tie.block == block).map_or(0, |tie| tie.weight.wide())
    }

    /// The blocks into which the vertex has edges of some weight.
    pub(crate) fn tied_blocks(&self, vertex: u32) -> impl Iterator<Item = u32> + '_ {
        let row = if self.row_start[vertex as usize] == NO_ROW { &[] } else { self.row(vertex) };
        row.iter().filter(|tie| tie.weight != W::default()).map(|tie| tie.block)
    }

    /// Moves a vertex and tells its neighbours, then calls `changed` for each of them.
    #[inline]
    pub(crate) fn relocate(&mut self, vertex: u32, to: u32, mut changed: impl FnMut(&Self, u32)) {
        let from = std::mem::replace(&mut self.block_of[vertex as usize], to);
        let weight = self.graph.weight(vertex);
        self.loads[from as usize] -= weight;
        self.loads[to as usize] += weight;
        let graph = self.graph;
        for (neighbour, weight) in graph.edges(vertex) {
            if self.row_start[neighbour as usize] == NO_ROW {
                self.make_row(neighbour);
            } else {
                self.weaken(neighbour, from, weight);
                self.strengthen(neighbour, to, weight);
            }
            changed(self, neighbour);
        }
        if self.row_start[vertex as usize] == NO_ROW {
            self.make_row(vertex);
        }
    }

    /// Sum of the weights of the edges between blocks.
    pub(crate) fn cut(&self) -> i64 {
        let foreign = |vertex: u32| {
            let own = self.block_of[vertex as usize];
            self.row(vertex).iter().filter(move |tie| tie.block != own).map(|tie| tie.weight.wide()).sum::<i64>()
        };
        (0..self.graph.len() as u32).filter(|&v| self.row_start[v as usize] != NO_ROW).map(foreign).sum::<i64>() / 2
    }

    /// By how much blocks exceed what they may weigh, added up.
    pub(crate) fn overload(&self) -> i64 {
        self.loads.iter().zip(self.caps).map(|(&load, &cap)| (load - cap).max(0)).sum()
    }

    /// Ends the refinement.
    pub(crate) fn finish(self) -> Refined {
        let boundary = (0..self.graph.len() as u32).map(|vertex| self.is_boundary(vertex)).collect();
        Refined { block_of: self.block_of, boundary }
    }
}

/// What a refinement leaves behind for the next finer graph.
pub(crate) struct Refined {
    pub(crate) block_of: Vec<u32>,
    /// Whether each vertex has an edge of some weight into another block.
    pub(crate) boundary: Vec<bool>,
}
