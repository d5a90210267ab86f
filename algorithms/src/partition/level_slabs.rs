//! The optimal contiguous split of an order, by dynamic programming.

use placebench_datasets::UndirectedGraph;
use rayon::prelude::*;

use super::{Partition, PartitionError, Partitioner, Request};
use crate::{Algorithm, Params, SpecError, StopToken};

/// Cuts the natural order into contiguous ranges within their capacities, so that the weights of the edges across the borders
/// add up to as little as possible.
///
/// In a [`View`](placebench_datasets::View) the blocks form no cycle.
///
/// # Reference
/// The chains-on-chains split, here by cut: B. W. Kernighan: Optimal sequential partitions of graphs. Journal of the ACM 18
/// (1971), 34–40, doi:10.1145/321623.321627.
///
/// # Complexity
/// O(vertices · k + edges) time at worst; 16 bytes a vertex. A border lies only where the blocks before and behind it can
/// hold their weights, so that of n·k places about ε·n·k are looked at, with 4 bytes each.
///
/// # Ties
/// The earliest border.
///
/// # Deviations
/// As in the source an edge counts once for each border that it crosses, which is the cut where none spans a whole block.
/// Blocks keep their order if their shares differ. If no contiguous split keeps within the capacities (heavy vertices), all
/// capacities are raised by the smallest common factor found, to a thousandth, that permits one. Of more blocks than vertices
/// those of the largest capacities are used.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelSlabs;

impl Algorithm for LevelSlabs {
    const NAME: &str = "level_slabs";
    const SUMMARY: &str = "the optimal contiguous split of the natural order";
    const SOURCE: &str = "Kernighan 1971";

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Partitioner for LevelSlabs {
    fn partition(&self, graph: &UndirectedGraph, request: &Request) -> Result<Partition, PartitionError> {
        Self::split(graph, request, usize::MAX)
    }
}

impl LevelSlabs {
    /// The best split, if it takes a look at no more than `most` places for borders. Else blocks that are filled one after the
    /// other as far as possible.
    pub(crate) fn split(graph: &UndirectedGraph, request: &Request, most: usize) -> Result<Partition, PartitionError> {
        request.check()?;
        let total = graph.total_vertex_weight();
        let mut blocks: Vec<(u64, u32)> =
            (0..request.blocks).map(|block| (request.capacity(block, total), block)).collect();
        if blocks.len() > graph.vertex_count().max(1) {
            // The others would be empty.
            blocks.sort_by_key(|&(capacity, _)| std::cmp::Reverse(capacity));
            blocks.truncate(graph.vertex_count().max(1));
            blocks.sort_by_key(|&(_, block)| block);
        }
        let capacities: Vec<u64> = blocks.iter().map(|&(capacity, _)| capacity).collect();
        let borders = Line::new(graph).best(&capacities, most, &request.stop).ok_or(PartitionError::Stopped)?;
        let mut block_of = vec![0; graph.vertex_count()];
        for (&(_, block), pair) in blocks.iter().zip(borders.windows(2)) {
            block_of[pair[0]..pair[1]].fill(block);
        }
        Ok(Partition { blocks: request.blocks, block_of })
    }
}

/// Vertices that a thread deals with in one go.
const STRETCH: usize = 16_384;

/// A graph laid out on a line.
pub(crate) struct Line {
    /// Weight of the first vertices, for every number of them.
    pub(crate) before: Vec<u64>,
    /// Weight of the edges across the border behind the first vertices, for every number of them.
    pub(crate) across: Vec<u64>,
}

impl Line {
    fn new(graph: &UndirectedGraph) -> Self {
        let count = graph.vertex_count();
        // The first place has nothing before it.
        let (mut before, mut across) = (vec![0u64; count + 1], vec![0u64; count + 1]);
        let stretches = before[1..].par_chunks_mut(STRETCH).zip(across[1..].par_chunks_mut(STRETCH)).enumerate();
        // Sums within a stretch first. Those of edges may be negative: they wrap around, and back again.
        let sums = stretches.with_max_len(1).map(|(at, (before, across))| {
            let (mut weight, mut open) = (0u64, 0u64);
            let first = (at * STRETCH) as u32;
            for (vertex, (before, across)) in (first..).zip(before.iter_mut().zip(across)) {
                weight += graph.vertex_weight(vertex);
                *before = weight;
                for (neighbour, weight) in graph.edges_of(vertex) {
                    open = if neighbour > vertex { open.wrapping_add(weight) } else { open.wrapping_sub(weight) };
                }
                *across = open;
            }
            (weight, open)
        });
        let sums: Vec<(u64, u64)> = sums.collect();
        let sum_up = |sums: &mut (u64, u64), stretch: &(u64, u64)| {
            let so_far = *sums;
            *sums = (so_far.0 + stretch.0, so_far.1.wrapping_add(stretch.1));
            Some(so_far)
        };
        let firsts: Vec<(u64, u64)> = sums.iter().scan((0, 0), sum_up).collect();
        let stretches = before[1..].par_chunks_mut(STRETCH).zip(across[1..].par_chunks_mut(STRETCH)).zip(firsts);
        stretches.with_max_len(1).for_each(|((before, across), (weight, open))| {
            before.iter_mut().for_each(|sum| *sum += weight);
            across.iter_mut().for_each(|sum| *sum = sum.wrapping_add(open));
        });
        Self { before, across }
    }

    /// The borders of the best split, first and last included, within raised capacities if need be; `None` if stopped. If
    /// that would look at more than `most` places, those of blocks filled from the front.
    pub(crate) fn best(&self, capacities: &[u64], most: usize, stop: &StopToken) -> Option<Vec<usize>> {
        if stop.is_stopped() {
            return None;
        }
        let split = |capacities: &[u64]| {
            let (furthest, earliest) = (self.furthest(capacities), self.earliest(capacities));
            let places = |(&end, begin): (&usize, usize)| (end + 1).saturating_sub(begin);
            let begins = earliest[1..].iter().copied().chain([self.vertices()]);
            match furthest.iter().zip(begins).map(places).sum::<usize>() > most {
                true if furthest.last() != Some(&self.vertices()) => None,
                true => Some([0].into_iter().chain(furthest).collect()),
                false => self.split(capacities),
            }
        };
        let raised =
            || split(&self.least_raised(capacities)).expect("capacities raised until a split keeps within them");
        Some(split(capacities).unwrap_or_else(raised))
    }

    fn vertices(&self) -> usize {
        self.before.len() - 1
    }

    fn total(&self) -> u64 {
        self.before[self.vertices()]
    }

    /// Where blocks can end if they are filled as far as possible from the front.
    fn furthest(&self, capacities: &[u64]) -> Vec<usize> {
        let mut end = 0;
        let step = |cap: &u64| {
            let limit = self.before[end].saturating_add(*cap);
            end += self.before[end + 1..].partition_point(|&weight| weight <= limit);
            end
        };
        capacities.iter().map(step).collect()
    }

    /// Where blocks can begin if they are filled as far as possible from the back.
    fn earliest(&self, capacities: &[u64]) -> Vec<usize> {
        let mut begin = self.vertices();
        let step = |cap: &u64| {
            let limit = self.before[begin].saturating_sub(*cap);
            begin = self.before[..begin].partition_point(|&weight| weight < limit);
            begin
        };
        let mut begins: Vec<usize> = capacities.iter().rev().map(step).collect();
        begins.reverse();
        begins
    }

    /// The capacities, all raised by the least factor, to a thousandth, that permits a contiguous split; each as large as
    /// the whole where no factor does.
    fn least_raised(&self, capacities: &[u64]) -> Vec<u64> {
        let raised = |thousandths: u64| -> Vec<u64> {
            let raise =
                |&cap: &u64| (u128::from(cap) * u128::from(thousandths) / 1000).min(u128::from(u64::MAX)) as u64;
            capacities.iter().map(raise).collect()
        };
        let holds = |thousandths: u64| self.furthest(&raised(thousandths)).last() == Some(&self.vertices());
        let (mut low, mut high) = (1000, 2000);
        while !holds(high) {
            (low, high) = (high, high * 2);
            if high > 1 << 60 {
                return vec![self.total(); capacities.len()];
            }
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if holds(middle) { high = middle } else { low = middle }
        }
        raised(high)
    }

    /// The borders of the best split, first and last included; `None` if none keeps within the capacities.
    fn split(&self, capacities: &[u64]) -> Option<Vec<usize>> {
        let furthest = self.furthest(capacities);
        if furthest.last() != Some(&self.vertices()) {
            return None;
        }
        let earliest = self.earliest(capacities);
        // The least cost with the block's end at each place of its window, and where it then begins.
        let mut begins: Vec<(usize, Vec<u32>)> = Vec::with_capacity(capacities.len());
        let (mut window, mut costs) = (0, vec![Some(0u64)]);
        for (block, &capacity) in capacities.iter().enumerate() {
            let low = earliest.get(block + 1).copied().unwrap_or(self.vertices());
            let places = (furthest[block] + 1).saturating_sub(low);
            let (mut next, mut from) = (Vec::with_capacity(places), Vec::with_capacity(places));
            // Candidates for the beginning, of ascending place and cost: the first is the best within reach.
            let mut queue: std::collections::VecDeque<(usize, u64)> = std::collections::VecDeque::new();
            let mut entering = window;
            for end in low..=furthest[block] {
                while entering < window + costs.len() && entering <= end {
                    if let Some(cost) = costs[entering - window] {
                        while queue.back().is_some_and(|&(_, last)| last > cost) {
                            queue.pop_back();
                        }
                        queue.push_back((entering, cost));
                    }
                    entering += 1;
                }
                while queue.front().is_some_and(|&(begin, _)| self.before[end] - self.before[begin] > capacity) {
                    queue.pop_front();
                }
                let best = queue.front().map(|&(begin, cost)| (cost.saturating_add(self.across[end]), begin));
                // An empty block adds no border.
                let empty = end.checked_sub(window).and_then(|at| *costs.get(at)?).map(|cost| (cost, end));
                let least = [best, empty].into_iter().flatten().min();
                next.push(least.map(|(cost, _)| cost));
                from.push(least.map_or(end, |(_, begin)| begin) as u32);
            }
            begins.push((low, from));
            (window, costs) = (low, next);
        }
        let mut borders = vec![self.vertices()];
        let mut end = self.vertices();
        for (low, from) in begins.iter().rev() {
            end = from[end - low] as usize;
            borders.push(end);
        }
        borders.reverse();
        debug_assert_eq!(borders[0], 0, "every place of a window can be reached");
        Some(borders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slabs(graph: &UndirectedGraph, blocks: u32, epsilon: f64) -> Vec<u32> {
        LevelSlabs.partition(graph, &Request::new(blocks, epsilon, 0)).unwrap().block_of
    }

    #[test]
    fn blocks_beyond_the_number_of_vertices_stay_empty() {
        // The best slabs of nine blocks are those of the three blocks that may weigh most; of equal ones, the earliest border.
        let graph = UndirectedGraph::from_edges(3, [(0, 1, 5), (1, 2, 1)].into_iter(), None).unwrap();
        let shares = Some(vec![0.05, 0.3, 0.0, 0.05, 0.25, 0.05, 0.25, 0.0, 0.05]);
        let request = Request { shares, ..Request::new(9, 0.4, 0) };
        assert_eq!(LevelSlabs.partition(&graph, &request).unwrap().block_of, [4, 4, 6]);
        assert_eq!(slabs(&graph, 1_000_000, 0.03), [0, 1, 2]);
    }

    #[test]
    fn where_the_best_split_takes_too_long_blocks_are_filled_from_the_front() {
        let weights = [9, 9, 1, 9, 9, 2, 9];
        let edges = (0..7).map(|at| (at, at + 1, weights[at as usize]));
        let graph = UndirectedGraph::from_edges(8, edges, None).unwrap();
        let split = |most| LevelSlabs::split(&graph, &Request::new(3, 0.2, 0), most).unwrap().block_of;
        assert_eq!(split(0), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(split(100), slabs(&graph, 3, 0.2));
    }

    #[test]
    fn borders_lie_where_least_crosses() {
        // A path of eight whose light edges are 2-3 and 5-6.
        let weights = [9, 9, 1, 9, 9, 2, 9];
        let edges = (0..7u32).map(|at| (at, at + 1, weights[at as usize]));
        let graph = UndirectedGraph::from_edges(8, edges, None).unwrap();
        assert_eq!(slabs(&graph, 3, 0.2), [0, 0, 0, 1, 1, 1, 2, 2]);
        assert_eq!(slabs(&graph, 1, 0.0), [0; 8]);
        // Without tolerance only the middle is left.
        assert_eq!(slabs(&graph, 2, 0.0), [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn every_split_of_a_small_graph_is_no_better() {
        let edges = [(0, 3, 2), (1, 4, 7), (2, 3, 5), (3, 4, 1), (4, 6, 3), (5, 6, 4), (2, 7, 1)];
        let graph = UndirectedGraph::from_edges(8, edges.into_iter(), Some(vec![1, 2, 1, 3, 1, 1, 2, 1])).unwrap();
        let line = Line::new(&graph);
        let request = Request::new(3, 0.3, 0);
        let capacity = request.capacity(0, graph.total_vertex_weight());
        let mut least = u64::MAX;
        for a in 0..=8 {
            for b in a..=8 {
                let within = [line.before[a], line.before[b] - line.before[a], line.total() - line.before[b]];
                if within.iter().all(|&weight| weight <= capacity) {
                    least = least.min(line.across[a] + if b > a { line.across[b] } else { 0 });
                }
            }
        }
        let found = slabs(&graph, 3, 0.3);
        let borders: Vec<usize> = (1..8).filter(|&at| found[at] != found[at - 1]).collect();
        assert_eq!(borders.iter().map(|&at| line.across[at]).sum::<u64>(), least);
    }

    #[test]
    fn capacities_are_raised_by_exactly_what_is_missing() {
        // 3003 is 3000 raised by a thousandth, which 1.001 · 3000 in floating point is not.
        let path = UndirectedGraph::from_edges(2, [(0, 1, 1)].into_iter(), Some(vec![3003, 2997])).unwrap();
        assert_eq!(slabs(&path, 2, 0.0), [0, 1]);
        assert_eq!(Line::new(&path).least_raised(&[3000, 3000]), [3003, 3003]);
        // No factor raises nothing.
        assert_eq!(Line::new(&path).least_raised(&[0, 0]), [6000, 6000]);
    }

    #[test]
    fn vertices_too_heavy_for_a_block_get_one_to_themselves() {
        let edges = [(0, 1, 1), (1, 2, 1)];
        let graph = UndirectedGraph::from_edges(3, edges.into_iter(), Some(vec![1, 100, 1])).unwrap();
        let found = slabs(&graph, 3, 0.0);
        assert_eq!(found.iter().filter(|&&block| block == found[1]).count(), 1);
        assert!(slabs(&UndirectedGraph::from_edges(0, [].into_iter(), None).unwrap(), 4, 0.0).is_empty());
    }

    #[test]
    fn sums_go_on_where_the_stretch_before_ended() {
        let count = 3 * STRETCH as u32 / 2;
        let edges = (1..count).flat_map(|v| [(v - 1, v, 1 + u64::from(v % 3)), (v / 2, v, u64::from(v % 5))]);
        let weights = (0..u64::from(count)).map(|vertex| vertex % 7).collect();
        let graph = UndirectedGraph::from_edges(count as usize, edges, Some(weights)).unwrap();
        let line = Line::new(&graph);
        let (mut before, mut across) = (0, 0);
        for place in 0..=count {
            let at = place as usize;
            assert_eq!((line.before[at], line.across[at]), (before, across), "{place}");
            if place < count {
                before += graph.vertex_weight(place);
                let open = |later: bool| {
                    let some = graph.edges_of(place).filter(move |&(other, _)| (other > place) == later);
                    some.map(|(_, weight)| weight).sum::<u64>()
                };
                across = across + open(true) - open(false);
            }
        }
        assert_eq!((before, across), (graph.total_vertex_weight(), 0));
    }
}
