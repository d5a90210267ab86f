//! Label propagation refinement: every boundary vertex moves to the block that it is most connected to, if that helps.

use rayon::prelude::*;

use super::gain_cache::Target;
use super::partitioned_graph::PartitionedGraph;
use crate::partition::multilevel::structure::Structure;

/// Threads look for the moves of this many vertices, then make them, then go on.
const AT_ONCE: usize = 16_384;
/// Vertices that a thread takes at a time.
const STRETCH: usize = 1024;

/// Where a vertex moves: to where the cut falls, or to a lighter block at the same cut.
fn wish<S: Structure>(partition: &PartitionedGraph<'_, S>, vertex: u32) -> Option<Target> {
    let target = partition.best_move(vertex)?;
    (target.gain > 0 || (target.gain == 0 && partition.balances(vertex, target.block))).then_some(target)
}

/// Passes over the boundary until one moves nothing. Moves without gain are made where they level the blocks out.
/// The cut never rises. Returns by how much it fell.
pub(crate) fn propagate<S: Structure>(partition: &mut PartitionedGraph<'_, S>, rounds: u32) -> i64 {
    let mut total = 0;
    let mut next = partition.boundary();
    let mut queued = vec![false; partition.graph.len()];
    for _ in 0..rounds {
        let now = std::mem::take(&mut next);
        if now.is_empty() {
            break;
        }
        for some in now.chunks(AT_ONCE) {
            for &vertex in some {
                queued[vertex as usize] = false;
            }
            for vertex in who_moves(partition, some) {
                // What moved before may have changed it.
                let Some(target) = wish(partition, vertex) else { continue };
                total += target.gain;
                partition.relocate(vertex, target.block, |_, neighbour, _| {
                    if !std::mem::replace(&mut queued[neighbour as usize], true) {
                        next.push(neighbour);
                    }
                });
            }
        }
    }
    total
}

/// The vertices that would move; all of a few, since threads would cost more.
fn who_moves<S: Structure>(partition: &PartitionedGraph<'_, S>, vertices: &[u32]) -> Vec<u32> {
    if vertices.len() <= STRETCH {
        return vertices.to_vec();
    }
    let moving = |vertices: &[u32]| -> Vec<u32> {
        vertices.iter().copied().filter(|&vertex| wish(partition, vertex).is_some()).collect()
    };
    vertices.par_chunks(STRETCH).with_max_len(1).map(moving).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::multilevel::graph::Graph;

    /// A ladder of 6000 vertices whose edges weigh 1 to 5, and whose order says nothing about who is near whom.
    fn ladder() -> Graph<'static> {
        let count = 6000u32;
        let row = |vertex: u32| {
            // 2791 undoes 2311.
            let others = [1, 2, count - 1, count - 2].map(|step| (vertex * 2311 + step) % count * 2791 % count);
            others.map(|other| (other, 1 + (vertex + other) * 7919 % 5)).to_vec()
        };
        Graph::of_rows(&(0..count).map(row).collect::<Vec<_>>())
    }

    #[test]
    fn many_vertices_move_to_where_the_cut_falls_on_any_number_of_threads() {
        let graph = ladder();
        let max_block_weights = [2200; 3];
        let start: Vec<u32> = (0..6000).map(|vertex| vertex * 31 % 17 % 3).collect();
        let found = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| {
                let mut partition = PartitionedGraph::new(&graph, &max_block_weights, start.clone(), |_| true);
                let gained = propagate(&mut partition, 3);
                assert_eq!(graph.cut(&start) - gained, graph.cut(&partition.block_of));
                assert!(gained > graph.cut(&start) / 10 && partition.overload() == 0);
                partition.block_of
            })
        });
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn rounds_go_on_until_nobody_wants_to_move() {
        let graph = ladder();
        let max_block_weights = [6000; 3];
        let after = |rounds: u32| {
            let start = (0..6000).map(|vertex| vertex * 31 % 17 % 3).collect();
            let mut partition = PartitionedGraph::new(&graph, &max_block_weights, start, |_| true);
            propagate(&mut partition, rounds);
            (0..6000).filter(|&vertex| wish(&partition, vertex).is_some()).count()
        };
        let (one, many) = (after(1), after(1000));
        assert!(one > 100 && many == 0, "{one} {many}");
    }
}
