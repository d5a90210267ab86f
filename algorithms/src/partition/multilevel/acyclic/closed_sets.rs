//! Refinement of acyclic blocks by searches whose moves are those of closed sets.
//!
//! Where every edge must lead to the same or a later block, a vertex often cannot go to an earlier block that it has edges into,
//! since a predecessor is in between. Here it pulls along all that has to go before it (and on the way to a later block, all
//! that has to follow), if that is little. Searches from single vertices climb hills with such moves.

use crate::StopToken;
use crate::partition::multilevel::graph::{EARLIER, Graph, LATER};
use crate::partition::multilevel::refinement::gain_cache::{Change, GainUpdate, Target};
use crate::partition::multilevel::refinement::search::{Limits, Search, View};
use crate::partition::multilevel::structure::Structure;

/// How long to search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveConfig {
    /// The number of passes, at most. The first starts from all boundary vertices, the others where something has changed.
    pub(crate) rounds: u32,
    /// Moves without a new best after which a search ends.
    pub(crate) patience: u32,
    /// Vertices that move at once, at most.
    pub(crate) together: usize,
}

/// Vertices with more neighbours stay where they are: to look at one takes too long.
const MOST_NEIGHBOURS: usize = 1000;

/// Searches between questions whether to stop.
const STRIDE: usize = 1024;

/// A move of a vertex, and the vertices that go with it, to a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Move {
    /// By how much the cut would fall.
    gain: i64,
    /// What may still be added to the block afterwards.
    room: i64,
    to: u32,
}

/// A set of numbers that can be emptied in one step.
struct Marks {
    marked: Vec<u32>,
    now: u32,
}

impl Marks {
    fn new(count: usize) -> Self {
        Self { marked: vec![0; count], now: 0 }
    }

    fn clear(&mut self) {
        if self.now == u32::MAX {
            self.marked.fill(0);
            self.now = 0;
        }
        self.now += 1;
    }

    fn has(&self, number: u32) -> bool {
        self.marked[number as usize] == self.now
    }

    /// Returns whether the number is new.
    fn insert(&mut self, number: u32) -> bool {
        std::mem::replace(&mut self.marked[number as usize], self.now) != self.now
    }
}

/// A partition under change.
struct Mover<'p, 'a> {
    graph: &'p Graph<'a>,
    max_block_weights: &'p [i64],
    config: MoveConfig,
    block_of: &'p mut [u32],
    block_weights: Vec<i64>,
    /// Vertices that this pass, or the present search, has moved already.
    moved: Vec<bool>,
    /// The set looked at, and the best for the vertex looked at.
    set: Vec<u32>,
    best_set: Vec<u32>,
    in_set: Marks,
    blocks_seen: Marks,
    /// The vertices that the present search moved, and where they were; and where each of its moves ends in that list.
    log: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl Mover<'_, '_> {
    /// The best move of a vertex to a block that a neighbour is in. Its set is left in `best_set`.
    fn best_move(&mut self, vertex: u32) -> Option<Move> {
        let graph = self.graph;
        if graph.degree(vertex) > MOST_NEIGHBOURS {
            return None;
        }
        self.blocks_seen.clear();
        self.blocks_seen.insert(self.block_of[vertex as usize]);
        let mut best: Option<Move> = None;
        for &neighbour in graph.neighbours(vertex) {
            let to = self.block_of[neighbour as usize];
            if self.blocks_seen.insert(to)
                && let Some(next) = self.set_for(vertex, to)
                && best.is_none_or(|best| next > best)
            {
                best = Some(next);
                std::mem::swap(&mut self.set, &mut self.best_set);
            }
        }
        best
    }

    /// Collects the vertices that have to move if a vertex goes to a block. `None` if there are too many, or one has moved
    /// already, or the block has no room.
    fn set_for(&mut self, vertex: u32, to: u32) -> Option<Move> {
        let Self { graph, block_of, moved, in_set, set, .. } = self;
        let backwards = to < block_of[vertex as usize];
        let direction = if backwards { EARLIER } else { LATER };
        let mut room = self.max_block_weights[to as usize] - self.block_weights[to as usize] - graph.weight(vertex);
        set.clear();
        set.push(vertex);
        in_set.clear();
        in_set.insert(vertex);
        let mut next = 0;
        while let Some(&member) = set.get(next) {
            next += 1;
            for at in graph.row(member).filter(|&at| graph.directions[at] & direction != 0) {
                let other = graph.neighbours[at];
                let block = block_of[other as usize];
                let is_in_the_way = if backwards { block > to } else { block < to };
                if !is_in_the_way || !in_set.insert(other) {
                    continue;
                }
                let is_large = set.len() >= self.config.together || graph.degree(other) > MOST_NEIGHBOURS;
                if is_large || moved[other as usize] {
                    return None;
                }
                set.push(other);
                room -= graph.weight(other);
            }
        }
        if room < 0 {
            return None;
        }
        // Edges within the set are met from both ends.
        let (mut gain, mut within) = (0, 0);
        for &member in set.iter() {
            let own = block_of[member as usize];
            for (other, weight) in graph.edges(member) {
                let block = block_of[other as usize];
                if in_set.has(other) {
                    within += if block == own { 0 } else { weight };
                } else if block == own {
                    gain -= weight;
                } else if block == to {
                    gain += weight;
                }
            }
        }
        Some(Move { gain: gain + within / 2, room, to })
    }

    fn relocate(&mut self, vertex: u32, to: u32) -> u32 {
        let from = std::mem::replace(&mut self.block_of[vertex as usize], to);
        let weight = self.graph.weight(vertex);
        self.block_weights[from as usize] -= weight;
        self.block_weights[to as usize] += weight;
        from
    }

    /// One search from a vertex, undone back to the least cut. Returns by how much the cut fell.
    fn search(&mut self, seed: u32, search: &mut Search) -> i64 {
        search.clear(self.max_block_weights.len());
        self.log.clear();
        self.ends.clear();
        search.enqueue(seed, self.best_moves(seed));
        let found = search.run(self, Limits { patience: self.config.patience, least: 0 });
        let kept = if found.kept == 0 { 0 } else { self.ends[found.kept - 1] };
        while self.log.len() > kept
            && let Some((vertex, from)) = self.log.pop()
        {
            self.relocate(vertex, from);
            // Another search may take it elsewhere.
            self.moved[vertex as usize] = false;
        }
        found.gain
    }
}

/// Moves are those of closed sets; handles are the vertices.
impl View for Mover<'_, '_> {
    fn best_moves(&mut self, vertex: u32) -> (Option<Target>, Option<Target>) {
        (self.best_move(vertex).map(|found| Target { block: found.to, gain: found.gain }), None)
    }

    fn block(&self, vertex: u32) -> u32 {
        self.block_of[vertex as usize]
    }

    fn balances(&self, _: u32, _: u32) -> bool {
        false
    }

    fn has_moved(&self, vertex: u32) -> bool {
        self.moved[vertex as usize]
    }

    fn gain_update(&self, _: u32, _: Option<i64>, _: Option<Change>) -> GainUpdate {
        GainUpdate::Unknown
    }

    fn make_move(&mut self, _: u32, to: u32, mut changed: impl FnMut(&mut Self, u32, Option<Change>)) {
        let set = std::mem::take(&mut self.best_set);
        for &member in &set {
            let from = self.relocate(member, to);
            self.log.push((member, from));
            self.moved[member as usize] = true;
        }
        self.ends.push(self.log.len());
        let graph = self.graph;
        for &neighbour in set.iter().flat_map(|&member| graph.neighbours(member)) {
            if !self.moved[neighbour as usize] {
                changed(self, neighbour, None);
            }
        }
        self.best_set = set;
    }
}

/// Refinements of one and the same partition, between which others may change it.
#[derive(Default)]
pub(crate) struct ClosedSets {
    /// The blocks as the last one found them. Where they are still the same there is nothing to be found.
    seen: Vec<u32>,
}

impl ClosedSets {
    /// Lowers the cut; returns by how much. Every edge has to lead to the same or a later block, and does so afterwards; no
    /// block becomes heavier than it may be, or than it was.
    ///
    /// # Reference
    /// Localised searches: P. Sanders, C. Schulz: Engineering multilevel graph partitioning algorithms. ESA 2011,
    /// doi:10.1007/978-3-642-23719-5_40. Moves of single vertices between acyclic blocks: O. Moreira, M. Popp, C. Schulz: Graph
    /// partitioning with acyclicity constraints. SEA 2017, doi:10.4230/LIPIcs.SEA.2017.30. That vertices pull others along is
    /// an addition.
    ///
    /// # Complexity
    /// A pass: for each boundary vertex and up to `patience` moves after each gain, O(neighbours · blocks next to them) sets of
    /// at most `together` vertices.
    pub(crate) fn refine(
        &mut self,
        graph: &Graph<'_>,
        max_block_weights: &[i64],
        block_of: &mut [u32],
        config: &MoveConfig,
        stop: &StopToken,
    ) -> i64 {
        let count = graph.len();
        let block_weights = graph.block_weights(block_of, max_block_weights.len());
        let mut mover = Mover {
            graph,
            max_block_weights,
            config: *config,
            block_of,
            block_weights,
            moved: vec![false; count],
            set: Vec::new(),
            best_set: Vec::new(),
            in_set: Marks::new(count),
            blocks_seen: Marks::new(max_block_weights.len()),
            log: Vec::new(),
            ends: Vec::new(),
        };
        let mut search = Search::default();
        let mut total = 0;
        for _ in 0..config.rounds {
            let seeds = self.seeds(graph, mover.block_of);
            self.seen.clear();
            self.seen.extend_from_slice(mover.block_of);
            mover.moved.fill(false);
            let before = total;
            for seeds in seeds.chunks(STRIDE) {
                if stop.is_stopped() {
                    return total;
                }
                for &seed in seeds {
                    if !mover.moved[seed as usize] {
                        total += mover.search(seed, &mut search);
                    }
                }
            }
            if total == before {
                break;
            }
        }
        total
    }

    /// The boundary vertices that have changed since, or have a neighbour that has.
    fn seeds(&self, graph: &Graph<'_>, block_of: &[u32]) -> Vec<u32> {
        let has_changed = |vertex: u32| self.seen.get(vertex as usize) != Some(&block_of[vertex as usize]);
        let is_seed = |&vertex: &u32| {
            let near = graph.neighbours(vertex);
            near.iter().any(|&other| block_of[other as usize] != block_of[vertex as usize])
                && (has_changed(vertex) || near.iter().any(|&other| has_changed(other)))
        };
        (0..graph.len() as u32).filter(is_seed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::multilevel::random::Random;

    /// The graph of edges `(a, b, weight)`, each from the lower to the higher number.
    fn graph(count: u32, edges: &[(u32, u32, u32)]) -> Graph<'static> {
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count as usize];
        for &(a, b, weight) in edges {
            rows[a as usize].push((b, weight));
            rows[b as usize].push((a, weight));
        }
        let direction = |vertex: u32, other: u32| if other > vertex { LATER } else { EARLIER };
        let directions = |(vertex, row): (u32, &Vec<(u32, u32)>)| -> Vec<u8> {
            row.iter().map(|&(other, _)| direction(vertex, other)).collect()
        };
        Graph {
            vertex_weights: (0..count).map(|vertex| 1 + vertex % 3).collect::<Vec<u32>>().into(),
            directions: (0..).zip(&rows).flat_map(directions).collect(),
            ..Graph::of_rows(&rows)
        }
    }

    const CONFIG: MoveConfig = MoveConfig { rounds: 9, patience: 9, together: 4 };

    #[test]
    fn the_gain_told_is_the_gain_had_and_blocks_stay_acyclic_and_within() {
        let (mut fell, mut rose) = (0, 0);
        for seed in 0..200 {
            let mut random = Random::new(seed, 1);
            let (count, blocks) = (20 + random.below(60) as u32, 2 + random.below(6));
            let edges: Vec<(u32, u32, u32)> = (0..2 * count)
                .map(|_| (random.below(count as usize) as u32, random.below(count as usize) as u32))
                .filter(|(a, b)| a != b)
                .map(|(a, b)| (a.min(b), a.max(b), 1 + (a * b) % 7))
                .collect();
            let graph = graph(count, &edges);
            let mut block_of: Vec<u32> = (0..count).map(|vertex| vertex * blocks as u32 / count).collect();
            let before = (graph.cut(&block_of), graph.block_weights(&block_of, blocks));
            // Some are too heavy to begin with.
            let max_block_weights: Vec<i64> = (0..blocks).map(|at| before.1[at] + 4 * (at as i64 % 3) - 2).collect();
            let gain =
                ClosedSets::default().refine(&graph, &max_block_weights, &mut block_of, &CONFIG, &StopToken::default());
            assert_eq!(graph.cut(&block_of), before.0 - gain, "seed {seed}");
            assert!(edges.iter().all(|&(a, b, _)| block_of[a as usize] <= block_of[b as usize]), "seed {seed}");
            let after = graph.block_weights(&block_of, blocks);
            assert!((0..blocks).all(|at| after[at] <= max_block_weights[at].max(before.1[at])), "seed {seed}");
            fell += u32::from(gain > 0);
            rose += u32::from(gain < 0);
        }
        assert_eq!(rose, 0);
        assert!(fell > 150, "{fell}");
    }

    /// 4 belongs to 0, but needs 2, which would rather stay with 3. Only block 0 has room.
    fn knot() -> (Graph<'static>, Vec<u32>, [i64; 3]) {
        (graph(6, &[(0, 1, 9), (0, 4, 12), (2, 3, 8), (2, 4, 5), (4, 5, 6)]), vec![0, 0, 1, 1, 2, 2], [8, 4, 5])
    }

    #[test]
    fn a_vertex_pulls_along_what_has_to_go_before_it() {
        let config = MoveConfig { patience: 0, together: 2, ..CONFIG };
        let (graph, mut block_of, max_block_weights) = knot();
        assert_eq!(
            ClosedSets::default().refine(&graph, &max_block_weights, &mut block_of, &config, &StopToken::default()),
            3
        );
        assert_eq!(block_of, [0, 0, 0, 1, 0, 2]);
        // No vertex gains anything alone.
        let (graph, mut block_of, max_block_weights) = knot();
        let alone = MoveConfig { together: 1, ..config };
        assert_eq!(
            ClosedSets::default().refine(&graph, &max_block_weights, &mut block_of, &alone, &StopToken::default()),
            0
        );
        assert_eq!(block_of, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn where_nothing_has_changed_nothing_is_looked_at() {
        let (graph, mut block_of, max_block_weights) = knot();
        let mut closed_sets = ClosedSets::default();
        assert_eq!(closed_sets.seeds(&graph, &block_of), [0, 2, 4]);
        let config = MoveConfig { patience: 0, together: 1, ..CONFIG };
        closed_sets.refine(&graph, &max_block_weights, &mut block_of, &config, &StopToken::default());
        assert!(closed_sets.seeds(&graph, &block_of).is_empty());
        // Someone else moves 3 to block 2: it and its neighbours are worth a look again.
        block_of[3] = 2;
        assert_eq!(closed_sets.seeds(&graph, &block_of), [2, 3]);
    }
}
