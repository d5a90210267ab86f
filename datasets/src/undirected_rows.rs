//! The rows of an undirected graph from its edges, made in the place where they stay.

use std::ops::Range;

use crate::UndirectedError;
use crate::numbers::NumberVec;

/// What to do with parallel edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parallel {
    /// Merge them into one with the sum of their weights.
    AddUp,
    /// Merge them into one of weight 1; for edges without weights.
    CountOnce,
}

/// Rows in compressed sparse form.
pub(crate) struct Rows {
    /// Where each row begins, and the end of the last.
    pub(crate) offsets: NumberVec,
    pub(crate) neighbours: Vec<u32>,
    /// Parallel to `neighbours`; `None` if all are 1.
    pub(crate) weights: Option<NumberVec>,
}

impl Rows {
    /// Each edge in the rows of both its ends, in the order in which edges come; self-loops are left out.
    pub(crate) fn scatter(
        vertices: usize,
        edges: impl Iterator<Item = (u32, u32, u64)> + Clone,
    ) -> Result<Self, UndirectedError> {
        if vertices > u32::MAX as usize {
            return Err(UndirectedError::TooManyVertices { vertices });
        }
        // One extra slot: the count of a vertex then becomes the end of the row before it.
        let mut offsets = NumberVec::zeros(vertices + 1, 0);
        let (mut entries, mut most, mut unit) = (0, 0, true);
        for (a, b, weight) in edges.clone() {
            for (vertex, neighbour) in [(a, b), (b, a)] {
                if neighbour as usize >= vertices {
                    return Err(UndirectedError::UnknownVertex { vertex, neighbour, vertices });
                }
                if a != b {
                    offsets.set(vertex as usize + 1, offsets.at(vertex as usize + 1) + 1);
                }
            }
            if a != b {
                entries += 2;
                (most, unit) = (weight.max(most), unit && weight == 1);
            }
        }
        for vertex in 0..vertices {
            offsets.set(vertex + 1, offsets.at(vertex) + offsets.at(vertex + 1));
        }
        let mut neighbours = vec![0; entries];
        let mut weights = (!unit).then(|| NumberVec::zeros(entries, most));
        // Each entry moves the start of its row on. After the last entry it is the end of the row.
        for (a, b, weight) in edges.filter(|(a, b, _)| a != b) {
            for (vertex, neighbour) in [(a, b), (b, a)] {
                let place = offsets.at(vertex as usize);
                neighbours[place as usize] = neighbour;
                if let Some(weights) = &mut weights {
                    weights.set(place as usize, weight);
                }
                offsets.set(vertex as usize, place + 1);
            }
        }
        for vertex in (0..vertices).rev() {
            offsets.set(vertex + 1, offsets.at(vertex));
        }
        offsets.set(0, 0);
        Ok(Self { offsets, neighbours, weights })
    }

    /// Sorts the neighbours of each row and merges those that are there twice.
    pub(crate) fn merged(mut self, parallel: Parallel) -> Result<Self, UndirectedError> {
        let mut row = Vec::new();
        let (mut begin, mut written) = (0, 0);
        for vertex in 0..self.offsets.len() - 1 {
            let end = self.offsets.at(vertex + 1) as usize;
            written = match self.weights {
                None => self.merge_plain(begin..end, written, parallel),
                Some(_) => self.merge_weighted(begin..end, written, &mut row)?,
            };
            begin = end;
            self.offsets.set(vertex + 1, written as u64);
        }
        self.neighbours.truncate(written);
        self.neighbours.shrink_to_fit();
        if let Some(weights) = &mut self.weights {
            weights.truncate(written);
            weights.shrink_to_fit();
        }
        Ok(self)
    }

    /// Merges a row whose edges weigh 1 and moves it to `to`, which is at or before its start. Returns its new end.
    fn merge_plain(&mut self, row: Range<usize>, to: usize, parallel: Parallel) -> usize {
        self.neighbours[row.clone()].sort_unstable();
        let mut end = to;
        for at in row {
            let neighbour = self.neighbours[at];
            if end > to && self.neighbours[end - 1] == neighbour {
                if parallel == Parallel::AddUp {
                    let ones = || NumberVec::Narrow(vec![1; self.neighbours.len()]);
                    let weights = self.weights.get_or_insert_with(ones);
                    weights.set(end - 1, weights.at(end - 1) + 1);
                }
            } else {
                self.neighbours[end] = neighbour;
                end += 1;
            }
        }
        end
    }

    /// As [`Rows::merge_plain`] for edges with weights; `scratch` is a buffer for the row.
    fn merge_weighted(
        &mut self,
        row: Range<usize>,
        to: usize,
        scratch: &mut Vec<(u32, u64)>,
    ) -> Result<usize, UndirectedError> {
        let Self { neighbours, weights: Some(weights), .. } = self else { return Ok(to) };
        scratch.clear();
        scratch.extend(row.map(|at| (neighbours[at], weights.at(at))));
        scratch.sort_unstable();
        let mut end = to;
        for &(neighbour, weight) in scratch.iter() {
            if end > to && neighbours[end - 1] == neighbour {
                let sum = weights.at(end - 1).checked_add(weight);
                weights.set(end - 1, sum.ok_or(UndirectedError::TotalOverflow { what: "edge" })?);
            } else {
                neighbours[end] = neighbour;
                weights.set(end, weight);
                end += 1;
            }
        }
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Numbers, UndirectedGraph};

    fn graph(vertices: usize, edges: &[(u32, u32, u64)]) -> UndirectedGraph {
        UndirectedGraph::from_edges(vertices, edges.iter().copied(), None).unwrap()
    }

    const LAST: u64 = u32::MAX as u64;

    #[test]
    fn sums_that_need_more_than_32_bits_are_right() {
        let edges = [(0, 1, 3), (1, 2, LAST), (2, 1, 1), (2, 3, LAST), (3, 0, 5), (0, 3, 0)];
        let made = graph(4, &edges);
        assert!(matches!(made.edge_weights(), Some(Numbers::Wide(_))));
        let expected = [(0, 1, 3), (0, 3, 5), (1, 2, LAST + 1), (2, 3, LAST)];
        assert_eq!(made.edges().collect::<Vec<_>>(), expected);
        let narrow = graph(4, &[(0, 1, 3), (2, 3, LAST)]);
        assert!(matches!(narrow.edge_weights(), Some(Numbers::Narrow(_))));
    }

    #[test]
    fn weights_of_loops_do_not_count() {
        let made = graph(3, &[(0, 0, u64::MAX), (0, 1, 1), (2, 2, 7)]);
        assert_eq!((made.edge_weights(), made.edges().collect::<Vec<_>>()), (None, vec![(0, 1, 1)]));
    }

    #[test]
    fn parallel_edges_without_weights_add_up_or_count_once() {
        let pairs = [(3, 2), (0, 1), (2, 3), (1, 2), (1, 0), (1, 0)];
        let summed = graph(4, &pairs.map(|(a, b)| (a, b, 1)));
        assert_eq!(summed.edges().collect::<Vec<_>>(), [(0, 1, 3), (1, 2, 1), (2, 3, 2)]);
        let once = UndirectedGraph::from_distinct_edges(4, pairs.into_iter()).unwrap();
        assert_eq!(once.edges().collect::<Vec<_>>(), [(0, 1, 1), (1, 2, 1), (2, 3, 1)]);
        assert_eq!((once.edge_weights(), once.offsets()), (None, Numbers::Wide(&[0, 1, 3, 5, 6])));
    }
}
