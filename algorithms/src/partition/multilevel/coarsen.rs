//! Coarsening: clusters of strongly tied vertices become the vertices of a smaller graph, again and again.

use super::contract::contract;
use super::graph::{Graph, Weight};
use super::random::Random;
use crate::StopToken;

/// How vertices are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoarsenConfig {
    /// Coarsening ends at so many vertices, or where it stalls.
    pub(crate) target: usize,
    /// What a cluster may weigh.
    pub(crate) max_weight: i64,
    /// Vertices that may join in one step: 2 is a matching.
    pub(crate) max_members: u32,
    /// Whether ties count for the root of a cluster's weight. Where edges differ from the beginning their weights say enough;
    /// where they do not, large clusters attract by mere size.
    pub(crate) by_size: bool,
    /// Seed of the order in which vertices of similar degree are visited; in that of their numbers if `None`, which keeps
    /// neighbours in memory together.
    pub(crate) shuffle: Option<u64>,
}

/// A step of coarsening: the smaller graph, and which of its vertices each vertex of the larger became.
pub(crate) struct Level<W: Weight> {
    pub(crate) graph: Graph<'static, W>,
    pub(crate) cluster_of: Vec<u32>,
}

/// Coarsens until few vertices are left or little changes; finest level first. With `blocks`, only vertices of one block
/// join, and the blocks of the coarsest graph's vertices are answered as well.
pub(crate) fn coarsen<W: Weight>(
    graph: &Graph<'_, W>,
    config: &CoarsenConfig,
    blocks: Option<&[u32]>,
    stop: &StopToken,
) -> (Vec<Level<W>>, Option<Vec<u32>>) {
    let mut levels: Vec<Level<W>> = Vec::new();
    let mut blocks = blocks.map(<[u32]>::to_vec);
    loop {
        let current = levels.last().map_or(graph, |level| &level.graph);
        if current.len() <= config.target || stop.is_stopped() {
            break;
        }
        let clustering = Clustering::find(current, config, blocks.as_deref());
        if clustering.count as f64 > 0.95 * current.len() as f64 {
            break;
        }
        if let Some(blocks) = &mut blocks {
            let mut coarse = vec![0; clustering.count];
            for (vertex, &cluster) in clustering.cluster_of.iter().enumerate() {
                coarse[cluster as usize] = blocks[vertex];
            }
            *blocks = coarse;
        }
        let coarse = contract(current, &clustering.cluster_of, clustering.count);
        levels.push(Level { graph: coarse, cluster_of: clustering.cluster_of });
    }
    (levels, blocks)
}

/// Which cluster each vertex is in; clusters are numbered by their leaders.
struct Clustering {
    cluster_of: Vec<u32>,
    count: usize,
}

/// Clusters in the making. A cluster is named by the vertex that it began with.
struct Joining<'g, 'a, W: Weight> {
    graph: &'g Graph<'a, W>,
    config: &'g CoarsenConfig,
    blocks: Option<&'g [u32]>,
    leader: Vec<u32>,
    weight: Vec<W>,
    members: Vec<u8>,
}

impl Clustering {
    fn find<W: Weight>(graph: &Graph<'_, W>, config: &CoarsenConfig, blocks: Option<&[u32]>) -> Self {
        let count = graph.len();
        let weight = if graph.vertex_weights.is_empty() { vec![W::ONE; count] } else { graph.vertex_weights.to_vec() };
        let leader = (0..count as u32).collect();
        let mut joining = Joining { graph, config, blocks, leader, weight, members: vec![1; count] };
        joining.join_idle();
        let order = by_degree(graph, config.shuffle);
        if config.max_members == 2 {
            joining.match_pairs(&order)
        } else {
            joining.cluster(&order)
        }
        joining.join_over_two_hops(&order);
        joining.number()
    }
}

/// The vertices by the number of binary digits of their degree, since low degrees have least choice; then ascending or
/// shuffled.
fn by_degree<W: Weight>(graph: &Graph<'_, W>, shuffle: Option<u64>) -> Vec<u32> {
    let class = |vertex: u32| (usize::BITS - graph.degree(vertex).leading_zeros()) as usize;
    let mut starts = [0usize; 66];
    for vertex in 0..graph.len() as u32 {
        starts[class(vertex) + 1] += 1;
    }
    for class in 0..65 {
        starts[class + 1] += starts[class];
    }
    let mut order = vec![0; graph.len()];
    let mut vertices: Vec<u32> = Vec::new();
    if let Some(seed) = shuffle {
        vertices.extend(0..graph.len() as u32);
        Random::new(seed, graph.len() as u64).shuffle(&mut vertices);
    }
    for position in 0..graph.len() {
        let vertex = vertices.get(position).copied().unwrap_or(position as u32);
        let slot = &mut starts[class(vertex)];
        order[*slot] = vertex;
        *slot += 1;
    }
    order
}

impl<W: Weight> Joining<'_, '_, W> {
    fn is_single(&self, vertex: u32) -> bool {
        self.leader[vertex as usize] == vertex && self.members[vertex as usize] == 1
    }

    fn same_block(&self, a: u32, b: u32) -> bool {
        self.blocks.is_none_or(|blocks| blocks[a as usize] == blocks[b as usize])
    }

    fn fits(&self, vertex: u32, leader: u32) -> bool {
        self.weight[leader as usize].wide() + self.graph.weight(vertex) <= self.config.max_weight
            && u32::from(self.members[leader as usize]) < self.config.max_members
    }

    fn join(&mut self, vertex: u32, leader: u32) {
        self.leader[vertex as usize] = leader;
        let sum = &mut self.weight[leader as usize];
        *sum = W::narrow(sum.wide() + self.graph.weight(vertex));
        self.members[leader as usize] += 1;
    }

    /// Joins all vertices without edges and weight, which are of no consequence.
    fn join_idle(&mut self) {
        let is_idle = |&vertex: &u32| self.graph.degree(vertex) == 0 && self.graph.weight(vertex) == 0;
        let idle: Vec<u32> = (0..self.graph.len() as u32).filter(is_idle).collect();
        let Some((&first, others)) = idle.split_first() else { return };
        for &vertex in others {
            self.leader[vertex as usize] = first;
        }
        self.members[first as usize] = u8::MAX;
    }

    /// Heavy-edge matching: each vertex with the single neighbour of the largest edge weight for its own weight.
    fn match_pairs(&mut self, order: &[u32]) {
        for &vertex in order {
            if !self.is_single(vertex) {
                continue;
            }
            let mut best: Option<(u32, f64, f64)> = None;
            for (neighbour, weight) in self.graph.edges(vertex) {
                if self.is_single(neighbour) && self.fits(vertex, neighbour) && self.same_block(vertex, neighbour) {
                    let size = self.graph.weight(neighbour).max(1) as f64;
                    let (tie, heft) = (weight.wide() as f64, if self.config.by_size { size.sqrt() } else { 1.0 });
                    if best.is_none_or(|(_, best_tie, best_heft)| tie * best_heft > best_tie * heft) {
                        best = Some((neighbour, tie, heft));
                    }
                }
            }
            if let Some((partner, ..)) = best {
                self.join(vertex, partner);
            }
        }
    }

    /// Label propagation, one pass: each single vertex joins the cluster that it is tied to most, for its size if
    /// that counts.
    fn cluster(&mut self, order: &[u32]) {
        let mut tie_to = vec![W::default(); self.graph.len()];
        let mut seen: Vec<u32> = Vec::new();
        for &vertex in order {
            if !self.is_single(vertex) {
                continue;
            }
            for (neighbour, weight) in self.graph.edges(vertex) {
                if self.same_block(vertex, neighbour) {
                    let leader = self.leader[neighbour as usize];
                    let tie = &mut tie_to[leader as usize];
                    if *tie == W::default() {
                        seen.push(leader);
                    }
                    *tie = W::narrow(tie.wide() + weight.wide());
                }
            }
            let mut best: Option<(u32, f64, f64)> = None;
            for leader in seen.drain(..) {
                let tie = std::mem::take(&mut tie_to[leader as usize]).wide() as f64;
                if self.fits(vertex, leader) {
                    let size = self.weight[leader as usize].wide().max(1) as f64;
                    let heft = if self.config.by_size { size.sqrt() } else { 1.0 };
                    if best.is_none_or(|(_, best_tie, best_heft)| tie * best_heft > best_tie * heft) {
                        best = Some((leader, tie, heft));
                    }
                }
            }
            if let Some((leader, ..)) = best {
                self.join(vertex, leader);
            }
        }
    }

    /// Joins vertices that are still alone and would have liked to join the same cluster, which had no room; and vertices
    /// without neighbours with each other.
    fn join_over_two_hops(&mut self, order: &[u32]) {
        let singles = order.iter().filter(|&&vertex| self.is_single(vertex)).count();
        if singles * 10 < order.len() {
            return;
        }
        let mut waiting: Vec<Option<u32>> = vec![None; self.graph.len()];
        let mut lonely: Option<u32> = None;
        for &vertex in order {
            if !self.is_single(vertex) {
                continue;
            }
            let mut favourite: Option<(u32, i64)> = None;
            for (neighbour, weight) in self.graph.edges(vertex) {
                if self.same_block(vertex, neighbour) && favourite.is_none_or(|(_, most)| weight.wide() > most) {
                    favourite = Some((self.leader[neighbour as usize], weight.wide()));
                }
            }
            let place = match favourite {
                Some((leader, _)) => &mut waiting[leader as usize],
                None if self.graph.degree(vertex) == 0 => &mut lonely,
                None => continue,
            };
            match *place {
                Some(leader) if leader != vertex => {
                    if self.fits(vertex, leader) && self.same_block(vertex, leader) {
                        self.join(vertex, leader);
                    } else {
                        *place = Some(vertex);
                    }
                }
                _ => *place = Some(vertex),
            }
        }
    }

    fn number(self) -> Clustering {
        let mut number = vec![0u32; self.leader.len()];
        let mut count = 0;
        for (vertex, &leader) in self.leader.iter().enumerate() {
            if leader as usize == vertex {
                number[vertex] = count;
                count += 1;
            }
        }
        let cluster_of = self.leader.iter().map(|&leader| number[leader as usize]).collect();
        Clustering { cluster_of, count: count as usize }
    }
}
