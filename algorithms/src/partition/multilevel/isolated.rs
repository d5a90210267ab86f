//! Vertices without neighbours: set aside, and packed where there is room once all others have their blocks.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::{Numbers, UndirectedGraph};
use rayon::prelude::*;

use super::graph::{EARLIER, Graph, LATER, Scale, Weight};

/// The working graph of the vertices that are partitioned.
pub(crate) struct Split<'a, W: Weight> {
    pub(crate) graph: Graph<'a, W>,
    /// The original numbers of its vertices; `None` if it has all of them, those set aside without weight.
    pub(crate) kept: Option<Vec<u32>>,
    set_aside: Vec<u32>,
}

/// One vertex in so many set aside leaves the graph. Where there are fewer they stay, weighing nothing, and rows need not be
/// numbered anew, which would take a copy.
const FEW: usize = 8;

/// Sets aside the isolated vertices that weigh at most `light`: any of them finds room at the end. If `directed`, edges lead
/// from the lower to the higher number.
pub(crate) fn set_aside<W: Weight>(
    original: &UndirectedGraph,
    scale: Scale,
    light: u64,
    directed: bool,
) -> Split<'_, W> {
    let aside = |vertex: &u32| original.degree(*vertex) == 0 && original.vertex_weight(*vertex) <= light;
    let set_aside: Vec<u32> = (0..original.vertex_count() as u32).into_par_iter().filter(aside).collect();
    let edge_weights = scale.edges(original.edge_weights());
    let direction = |vertex: u32| {
        original.neighbours(vertex).iter().map(move |&neighbour| if neighbour > vertex { LATER } else { EARLIER })
    };
    let directions = if directed { original.vertices().flat_map(direction).collect() } else { Vec::new() };
    let weighted = original.vertex_weights().is_some();
    if set_aside.is_empty() || (weighted && set_aside.len() * FEW < original.vertex_count()) {
        let mut vertex_weights = scale.vertices::<W>(original.vertex_weights());
        for &vertex in &set_aside {
            vertex_weights.to_mut()[vertex as usize] = W::default();
        }
        let offsets = match original.offsets() {
            Numbers::Narrow(offsets) => Cow::Borrowed(offsets),
            Numbers::Wide(offsets) => offsets.iter().map(|&offset| offset as u32).collect(),
        };
        let graph = Graph {
            offsets,
            neighbours: Cow::Borrowed(original.all_neighbours()),
            edge_weights,
            vertex_weights,
            directions,
        };
        return Split { graph, kept: None, set_aside };
    }
    let kept: Vec<u32> = original.vertices().filter(|vertex| !aside(vertex)).collect();
    let mut number = vec![0u32; original.vertex_count()];
    for (new, &vertex) in kept.iter().enumerate() {
        number[vertex as usize] = new as u32;
    }
    let mut offsets = vec![0];
    // Those set aside have no entries.
    offsets.extend(kept.iter().map(|&vertex| original.offsets().at(vertex as usize + 1) as u32));
    let graph = Graph {
        offsets: offsets.into(),
        neighbours: original.all_neighbours().iter().map(|&neighbour| number[neighbour as usize]).collect(),
        edge_weights,
        vertex_weights: if weighted {
            kept.iter().map(|&vertex| W::narrow(scale.vertex(original.vertex_weight(vertex)))).collect()
        } else {
            Cow::Borrowed(&[])
        },
        directions,
    };
    Split { graph, kept: Some(kept), set_aside }
}

impl<W: Weight> Split<'_, W> {
    /// Blocks for the vertices of the working graph: one after the other where there is most room.
    pub(crate) fn fill(&self, caps: &[i64], order: &[u32]) -> Vec<u32> {
        let mut roomiest: BinaryHeap<(i64, Reverse<u32>)> = caps.iter().copied().zip((0..).map(Reverse)).collect();
        let mut block_of = vec![0; self.graph.len()];
        for &vertex in order {
            if let Some(mut top) = roomiest.peek_mut() {
                block_of[vertex as usize] = top.1.0;
                top.0 -= self.graph.weight(vertex);
            }
        }
        block_of
    }

    /// The blocks of all vertices: those set aside go, the heaviest first, where there is most room.
    pub(crate) fn complete(
        &self,
        original: &UndirectedGraph,
        scale: Scale,
        caps: &[i64],
        block_of: Vec<u32>,
    ) -> Vec<u32> {
        if self.set_aside.is_empty() {
            return block_of;
        }
        let mut room: Vec<i64> = caps.to_vec();
        for (vertex, &block) in (0..).zip(&block_of) {
            room[block as usize] -= self.graph.weight(vertex);
        }
        let mut complete = match &self.kept {
            None => block_of,
            Some(kept) => {
                let mut complete = vec![0; original.vertex_count()];
                for (&vertex, block) in kept.iter().zip(block_of) {
                    complete[vertex as usize] = block;
                }
                complete
            }
        };
        let mut roomiest: BinaryHeap<(i64, Reverse<u32>)> = room.into_iter().zip((0..).map(Reverse)).collect();
        let mut aside = self.set_aside.clone();
        aside.sort_by_key(|&vertex| Reverse(original.vertex_weight(vertex)));
        for vertex in aside {
            if let Some(mut top) = roomiest.peek_mut() {
                complete[vertex as usize] = top.1.0;
                top.0 -= scale.vertex(original.vertex_weight(vertex));
            }
        }
        complete
    }
}
