//! Splits an element in two by a cut of small ratio: bytes across over the product of the two sides' weights.

use placebench_datasets::Instance;

use crate::placers::coarse::Vertices;

/// The least share of an element's weight that a side should have. Without it, cuts of least ratio peel graphs without
/// thin places unit by unit.
const LEAST_SHARE: f64 = 0.25;

/// How often to go over an element's units for moves that lower the ratio.
const REFINEMENTS: usize = 4;

/// The undirected graph of vertices, an edge weighing the bytes that it carries, with memory for splits.
#[derive(Clone, Debug)]
pub(super) struct Splitter {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
    bytes: Vec<f64>,
    /// The element at hand: which vertices are in it, and on which side they are.
    side: Vec<Side>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Outside,
    Left,
    Right,
}

/// A cut in the making.
#[derive(Clone, Copy, Debug)]
struct Cut {
    bytes: f64,
    left: f64,
    right: f64,
}

impl Cut {
    /// Whether neither side has less than [`LEAST_SHARE`] of the weight.
    fn is_balanced(self) -> bool {
        self.left.min(self.right) >= LEAST_SHARE * (self.left + self.right)
    }

    /// Balanced cuts before others; of these, the least ratio, then the most even sides; of the others the most even.
    fn is_better_than(self, other: Self) -> bool {
        let (even, other_even) = (self.left * self.right, other.left * other.right);
        if !(self.is_balanced() && other.is_balanced()) {
            return if self.is_balanced() != other.is_balanced() { self.is_balanced() } else { even > other_even };
        }
        let (ratio, other_ratio) = (self.bytes / even, other.bytes / other_even);
        ratio < other_ratio || (ratio == other_ratio && even > other_even)
    }
}

impl Splitter {
    /// # Complexity
    /// O(ops + edges).
    pub(super) fn new(instance: &Instance, vertices: &Vertices) -> Self {
        let graph = instance.graph();
        let edges = || {
            graph.edges().filter_map(|(from, edge)| {
                let (a, b) = (vertices.of_op(instance, from), vertices.of_op(instance, edge.op));
                (a != b).then(|| (a, b, graph.edge_bytes(edge) as f64))
            })
        };
        let mut offsets = vec![0u32; vertices.count() + 1];
        for (a, b, _) in edges() {
            offsets[a as usize + 1] += 1;
            offsets[b as usize + 1] += 1;
        }
        for vertex in 0..vertices.count() {
            offsets[vertex + 1] += offsets[vertex];
        }
        let ends = offsets[vertices.count()] as usize;
        let (mut neighbours, mut bytes) = (vec![0; ends], vec![0.0; ends]);
        let mut cursors = offsets.clone();
        for (a, b, size) in edges() {
            for (end, other) in [(a, b), (b, a)] {
                let slot = &mut cursors[end as usize];
                (neighbours[*slot as usize], bytes[*slot as usize]) = (other, size);
                *slot += 1;
            }
        }
        Self { offsets, neighbours, bytes, side: vec![Side::Outside; vertices.count()] }
    }

    /// Two parts of at least two vertices, neither empty, each in the order given; `weight` must not be negative.
    ///
    /// # Complexity
    /// O(vertices + edges of the element).
    pub(super) fn split(&mut self, element: &[u32], weight: impl Fn(u32) -> f64) -> (Vec<u32>, Vec<u32>) {
        let total: f64 = element.iter().map(|&vertex| weight(vertex)).sum();
        // A thousandth of the mean for each vertex, so that those without weight count for something.
        let least = if total > 0.0 { total / (1000.0 * element.len() as f64) } else { 1.0 };
        let weight = |vertex: u32| weight(vertex) + least;
        let (by_order, order_cut) = self.best_prefix(element, &weight);
        let breadth_first = self.breadth_first(element);
        let (by_breadth, breadth_cut) = self.best_prefix(&breadth_first, &weight);
        let (order, prefix, mut cut) = if breadth_cut.is_better_than(order_cut) {
            (&breadth_first[..], by_breadth, breadth_cut)
        } else {
            (element, by_order, order_cut)
        };
        self.set(&order[..prefix], Side::Left);
        self.set(&order[prefix..], Side::Right);
        for _ in 0..REFINEMENTS {
            if !self.refine(element, &weight, &mut cut) {
                break;
            }
        }
        let parts = element.iter().partition(|&&vertex| self.side[vertex as usize] == Side::Left);
        self.set(element, Side::Outside);
        parts
    }

    fn set(&mut self, vertices: &[u32], side: Side) {
        for &vertex in vertices {
            self.side[vertex as usize] = side;
        }
    }

    fn edges(&self, vertex: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize;
        self.neighbours[range.clone()].iter().copied().zip(self.bytes[range].iter().copied())
    }

    /// Bytes between a vertex and the left and the right side.
    fn pulls(&self, vertex: u32) -> (f64, f64) {
        let mut pulls = (0.0, 0.0);
        for (neighbour, bytes) in self.edges(vertex) {
            match self.side[neighbour as usize] {
                Side::Left => pulls.0 += bytes,
                Side::Right => pulls.1 += bytes,
                Side::Outside => {}
            }
        }
        pulls
    }

    /// The length of the prefix of an order that makes the best cut; not all of it, and not nothing.
    fn best_prefix(&mut self, order: &[u32], weight: &impl Fn(u32) -> f64) -> (usize, Cut) {
        self.set(order, Side::Right);
        let total: f64 = order.iter().map(|&vertex| weight(vertex)).sum();
        let mut cut = Cut { bytes: 0.0, left: 0.0, right: total };
        let mut best = (1, cut);
        for (position, &vertex) in order[..order.len() - 1].iter().enumerate() {
            let (left, right) = self.pulls(vertex);
            self.side[vertex as usize] = Side::Left;
            cut.bytes += right - left;
            cut.left += weight(vertex);
            cut.right -= weight(vertex);
            if cut.is_better_than(best.1) {
                best = (position + 1, cut);
            }
        }
        self.set(order, Side::Outside);
        best
    }

    /// The element breadth first, each of its components from the vertex that a search from its first vertex meets last.
    fn breadth_first(&mut self, element: &[u32]) -> Vec<u32> {
        // Right: not seen. Left: seen by the search for the far end. Outside: in the order.
        self.set(element, Side::Right);
        let mut order: Vec<u32> = Vec::with_capacity(element.len());
        let mut queue: Vec<u32> = Vec::new();
        for &start in element {
            if self.side[start as usize] != Side::Right {
                continue;
            }
            queue.clear();
            self.search(start, Side::Right, Side::Left, &mut queue);
            let far = queue.last().copied().unwrap_or(start);
            self.search(far, Side::Left, Side::Outside, &mut order);
        }
        order
    }

    /// Appends what can be reached from `start` over vertices marked `from`, and marks it `to`.
    fn search(&mut self, start: u32, from: Side, to: Side, order: &mut Vec<u32>) {
        let mut next = order.len();
        order.push(start);
        self.side[start as usize] = to;
        while next < order.len() {
            let vertex = order[next] as usize;
            next += 1;
            for edge in self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize {
                let neighbour = self.neighbours[edge];
                if self.side[neighbour as usize] == from {
                    self.side[neighbour as usize] = to;
                    order.push(neighbour);
                }
            }
        }
    }

    /// Moves single vertices to the other side where that makes the cut better, once in order. Tells whether any moved.
    fn refine(&mut self, element: &[u32], weight: &impl Fn(u32) -> f64, cut: &mut Cut) -> bool {
        let mut moved = false;
        let mut left_count = element.iter().filter(|&&vertex| self.side[vertex as usize] == Side::Left).count();
        for &vertex in element {
            let (left, right) = self.pulls(vertex);
            let weight = weight(vertex);
            let is_left = self.side[vertex as usize] == Side::Left;
            let (to, change, sign) =
                if is_left { (Side::Right, left - right, -1.0) } else { (Side::Left, right - left, 1.0) };
            let leaves_a_side = if is_left { left_count > 1 } else { left_count + 1 < element.len() };
            let after =
                Cut { bytes: cut.bytes + change, left: cut.left + sign * weight, right: cut.right - sign * weight };
            // Only what lies on the border, so that rounding in weights moves nothing without reason.
            if leaves_a_side && change < 0.0 && after.is_better_than(*cut) {
                self.side[vertex as usize] = to;
                left_count = if is_left { left_count - 1 } else { left_count + 1 };
                *cut = after;
                moved = true;
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::coarse::cells::Cells;
    use crate::placers::example;
    use proptest::prelude::*;

    fn splitter(op_count: usize, edges: &[(u32, u32, u64)]) -> Splitter {
        let graph = example::graph(&vec![1.0; op_count], edges, &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0], 1.0)).unwrap();
        Splitter::new(&instance, &Vertices::new(&instance, Cells::None))
    }

    #[test]
    fn components_are_kept_whole_where_that_is_even() {
        // Two chains, 0 ▶ 2 ▶ 4 and 1 ▶ 3 ▶ 5: the topological order mixes them, breadth first does not.
        let mut splitter = splitter(6, &[(0, 2, 5), (2, 4, 5), (1, 3, 5), (3, 5, 5)]);
        let (left, right) = splitter.split(&[0, 1, 2, 3, 4, 5], |_| 1.0);
        assert_eq!((left, right), (vec![0, 2, 4], vec![1, 3, 5]));
    }

    #[test]
    fn what_lies_outside_the_element_does_not_count() {
        // 0 ▶ 1 ▶ 2 ▶ 3: of the element {2, 3} one edge is left.
        let mut splitter = splitter(4, &[(0, 1, 3), (1, 2, 1), (2, 3, 3)]);
        assert_eq!(splitter.split(&[0, 1, 2, 3], |_| 1.0), (vec![0, 1], vec![2, 3]));
        assert_eq!(splitter.split(&[2, 3], |_| 0.0), (vec![2], vec![3]));
    }

    proptest! {
        #[test]
        fn refinement_keeps_count_of_the_cut_and_neither_side_is_empty(
            edges in proptest::collection::vec((0u32..12, 0u32..12, 0u64..9), 0..30),
            weights in proptest::collection::vec(0u32..4, 12),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b, _)| a < b).collect();
            let mut splitter = splitter(12, &edges);
            let element: Vec<u32> = (1..12).collect();
            let (left, right) = splitter.split(&element, |vertex| f64::from(weights[vertex as usize]));
            prop_assert!(!left.is_empty() && !right.is_empty());
            let mut all = [left, right].concat();
            all.sort_unstable();
            prop_assert_eq!(all, element.clone());
            // A cut counted on the way is the cut counted anew.
            let weight = |_: u32| 1.0;
            let (prefix, mut cut) = splitter.best_prefix(&element, &weight);
            splitter.set(&element[..prefix], Side::Left);
            splitter.set(&element[prefix..], Side::Right);
            splitter.refine(&element, &weight, &mut cut);
            let bytes: f64 = element.iter().filter(|&&vertex| splitter.side[vertex as usize] == Side::Left)
                .map(|&vertex| splitter.pulls(vertex).1).sum();
            prop_assert_eq!(cut.bytes, bytes);
        }
    }
}
