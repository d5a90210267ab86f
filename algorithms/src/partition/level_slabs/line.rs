//! A graph laid out on a line, and how far blocks reach on it.

use placebench_datasets::UndirectedGraph;
use rayon::prelude::*;

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
    /// # Complexity
    /// O(vertices + edges), in parallel: sums within stretches first, then what lies before each stretch.
    pub(super) fn new(graph: &UndirectedGraph) -> Self {
        let count = graph.vertex_count();
        // The first place has nothing before it.
        let (mut before, mut across) = (vec![0u64; count + 1], vec![0u64; count + 1]);
        let stretches = before[1..].par_chunks_mut(STRETCH).zip(across[1..].par_chunks_mut(STRETCH)).enumerate();
        let sums = stretches
            .with_max_len(1)
            .map(|(at, (before, across))| sum_stretch(graph, (at * STRETCH) as u32, before, across));
        let sums: Vec<Sums> = sums.collect();
        let so_far = sums.iter().scan(Sums::default(), |sums, stretch| {
            let so_far = *sums;
            *sums = so_far.plus(*stretch);
            Some(so_far)
        });
        let so_far: Vec<Sums> = so_far.collect();
        let stretches = before[1..].par_chunks_mut(STRETCH).zip(across[1..].par_chunks_mut(STRETCH)).zip(so_far);
        stretches.with_max_len(1).for_each(|((before, across), so_far)| {
            before.iter_mut().for_each(|sum| *sum += so_far.before);
            across.iter_mut().for_each(|sum| *sum = sum.wrapping_add(so_far.across));
        });
        Self { before, across }
    }

    pub(super) fn vertices(&self) -> usize {
        self.before.len() - 1
    }

    pub(super) fn total(&self) -> u64 {
        self.before[self.vertices()]
    }

    /// Where blocks can end if they are filled as far as possible from the front.
    pub(super) fn furthest(&self, capacities: &[u64]) -> Vec<usize> {
        let mut end = 0;
        let step = |cap: &u64| {
            let limit = self.before[end].saturating_add(*cap);
            end += self.before[end + 1..].partition_point(|&weight| weight <= limit);
            end
        };
        capacities.iter().map(step).collect()
    }

    /// Where blocks can begin if they are filled as far as possible from the back.
    pub(super) fn earliest(&self, capacities: &[u64]) -> Vec<usize> {
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
    pub(super) fn least_raised(&self, capacities: &[u64]) -> Vec<u64> {
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
}

/// The weight of vertices, and of edges that are open behind them.
#[derive(Clone, Copy, Default)]
struct Sums {
    before: u64,
    /// Within a stretch it may be negative: it wraps around, and back again.
    across: u64,
}

impl Sums {
    fn plus(self, other: Self) -> Self {
        Self { before: self.before + other.before, across: self.across.wrapping_add(other.across) }
    }
}

/// Writes the sums within a stretch that begins at a vertex, and returns the last of them.
fn sum_stretch(graph: &UndirectedGraph, first: u32, before: &mut [u64], across: &mut [u64]) -> Sums {
    let mut sums = Sums::default();
    for (vertex, (before, across)) in (first..).zip(before.iter_mut().zip(across)) {
        sums.before += graph.vertex_weight(vertex);
        for (neighbour, weight) in graph.edges_of(vertex) {
            let opens = neighbour > vertex;
            sums.across = if opens { sums.across.wrapping_add(weight) } else { sums.across.wrapping_sub(weight) };
        }
        (*before, *across) = (sums.before, sums.across);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_raised_by_exactly_what_is_missing() {
        // 3003 is 3000 raised by a thousandth, which 1.001 · 3000 in floating point is not.
        let path = UndirectedGraph::from_edges(2, [(0, 1, 1)].into_iter(), Some(vec![3003, 2997])).unwrap();
        assert_eq!(Line::new(&path).least_raised(&[3000, 3000]), [3003, 3003]);
        // No factor raises nothing.
        assert_eq!(Line::new(&path).least_raised(&[0, 0]), [6000, 6000]);
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
