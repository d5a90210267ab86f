//! Clusters of strongly connected vertices, by label propagation or heavy-edge matching.

use std::ops::Range;

use rayon::prelude::*;

use crate::partition::multilevel::pool::{Pool, written_zeros};
use crate::partition::multilevel::random::Random;
use crate::partition::multilevel::structure::Structure;

/// How vertices are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoarsenConfig {
    /// Coarsening ends at this many vertices, or when it stalls.
    pub(crate) target: usize,
    /// What a cluster may weigh.
    pub(crate) max_weight: i64,
    /// Vertices that may join in one step: 2 is a matching.
    pub(crate) max_members: u32,
    /// Whether ratings are divided by the root of the cluster's weight. If all edges are equal at first, large clusters would
    /// otherwise attract by mere size. If they are not, their weights say enough.
    pub(crate) by_size: bool,
    /// Seed of the order in which vertices of similar degree are visited; in that of their numbers if `None`, which keeps
    /// neighbours in memory together.
    pub(crate) shuffle: Option<u64>,
}

/// Which cluster each vertex is in; clusters are numbered by their leaders.
pub(crate) struct Clustering {
    pub(crate) cluster_of: Vec<u32>,
    pub(crate) count: usize,
}

/// Clusters in the making, of a range of vertices. A cluster is named by the vertex that it began with.
struct Joining<'g, S> {
    graph: &'g S,
    config: &'g CoarsenConfig,
    blocks: Option<&'g [u32]>,
    /// The first vertex of the range.
    first: u32,
    /// Of each vertex of the range.
    leader: &'g mut [u32],
    /// Of each cluster whose leader is in the range.
    weight: &'g mut [i64],
    members: &'g mut [u8],
}

/// Threads share the clustering of a graph with at least this many vertices.
const LARGE: usize = 50_000;
/// The ranges of vertices that they cluster concurrently.
const RANGES: usize = 16;
/// Of the vertices left after that, one in this many look for their favourite clusters concurrently.
const TURNS: usize = 11;
/// Vertices that a thread takes at a time.
const STRETCH: usize = 4096;
/// The same, if each takes long.
const FEW: usize = 512;

/// The cluster that a vertex would join.
struct Choice {
    vertex: u32,
    leader: u32,
}

/// Scratch space: the weight of a vertex's edges into each cluster, and the clusters for which that is not 0.
struct Ratings {
    weight_to: Vec<i64>,
    seen: Vec<u32>,
}

impl Ratings {
    fn new(clusters: usize) -> Self {
        Self { weight_to: written_zeros(clusters), seen: Vec::new() }
    }
}

impl Clustering {
    pub(crate) fn find<S: Structure>(graph: &S, config: &CoarsenConfig, blocks: Option<&[u32]>) -> Self {
        let count = graph.len();
        let mut weight: Vec<i64> = graph.vertices().map(|vertex| graph.weight(vertex)).collect();
        let mut leader: Vec<u32> = graph.vertices().collect();
        let mut members = vec![1; count];
        let pool = Pool::default();
        join_idle(graph, &mut leader, &mut members);
        let long = if count < LARGE { count.max(1) } else { count.div_ceil(RANGES) };
        let orders: Vec<Vec<u32>> = leader
            .par_chunks_mut(long)
            .zip(weight.par_chunks_mut(long))
            .zip(members.par_chunks_mut(long))
            .enumerate()
            .with_max_len(1)
            .map(|(at, ((leader, weight), members))| {
                let first = (at * long) as u32;
                let order = by_degree(graph, first..first + leader.len() as u32, config.shuffle);
                let mut joining = Joining { graph, config, blocks, first, leader, weight, members };
                // A neighbour may come with several nets, which only ratings add up.
                if config.max_members > 2 || graph.net_count() > 0 {
                    pool.with(|| Ratings::new(count), |ratings| joining.cluster(&order, ratings));
                } else {
                    joining.match_pairs(&order);
                }
                order
            })
            .collect();
        let order = orders.concat();
        let (leader, weight, members) = (&mut *leader, &mut *weight, &mut *members);
        let mut joining = Joining { graph, config, blocks, first: 0, leader, weight, members };
        if long < count {
            joining.cluster_across(&order, &pool);
        }
        joining.join_over_two_hops(&order);
        Self::numbered(joining.leader)
    }

    /// Numbers the clusters by their leaders.
    fn numbered(leader: &[u32]) -> Self {
        let firsts = (0..leader.len() as u32).into_par_iter().step_by(STRETCH);
        let leads = |(first, leaders): (u32, &[u32])| {
            (first..).zip(leaders).filter(|&(vertex, &leader)| vertex == leader).count()
        };
        let counts: Vec<usize> = firsts.zip(leader.par_chunks(STRETCH)).map(leads).collect();
        let mut count = 0;
        let before = |counted: &usize| {
            count += counted;
            (count - counted) as u32
        };
        let befores: Vec<u32> = counts.iter().map(before).collect();
        let mut number = vec![0u32; leader.len()];
        number.par_chunks_mut(STRETCH).zip(befores).enumerate().for_each(|(at, (numbers, mut next))| {
            for (vertex, number) in (at * STRETCH..).zip(numbers) {
                if leader[vertex] as usize == vertex {
                    *number = next;
                    next += 1;
                }
            }
        });
        let of = |&leader: &u32| number[leader as usize];
        Self { cluster_of: leader.par_iter().with_min_len(STRETCH).map(of).collect(), count }
    }
}

/// The vertices of a range by the number of binary digits of their degree, since low degrees have least choice; then
/// ascending or shuffled.
fn by_degree<S: Structure>(graph: &S, range: Range<u32>, shuffle: Option<u64>) -> Vec<u32> {
    let class = |vertex: u32| (usize::BITS - graph.degree(vertex).leading_zeros()) as usize;
    let mut starts = [0usize; 66];
    for vertex in range.clone() {
        starts[class(vertex) + 1] += 1;
    }
    for class in 0..65 {
        starts[class + 1] += starts[class];
    }
    let mut order = vec![0; range.len()];
    let mut place = |vertex: u32| {
        let slot = &mut starts[class(vertex)];
        order[*slot] = vertex;
        *slot += 1;
    };
    match shuffle {
        Some(seed) => {
            let mut vertices: Vec<u32> = range.clone().collect();
            Random::new(seed, graph.len() as u64 + u64::from(range.start)).shuffle(&mut vertices);
            vertices.into_iter().for_each(place);
        }
        None => range.for_each(&mut place),
    }
    order
}

/// Joins all vertices without edges and weight: they do not matter.
fn join_idle<S: Structure>(graph: &S, leader: &mut [u32], members: &mut [u8]) {
    let is_idle = |&vertex: &u32| graph.degree(vertex) == 0 && graph.weight(vertex) == 0;
    let idle: Vec<u32> = graph.vertices().filter(is_idle).collect();
    let Some((&first, others)) = idle.split_first() else { return };
    for &vertex in others {
        leader[vertex as usize] = first;
    }
    members[first as usize] = u8::MAX;
}

impl<S: Structure> Joining<'_, S> {
    fn has(&self, vertex: u32) -> bool {
        (vertex.wrapping_sub(self.first) as usize) < self.leader.len()
    }

    /// Which cluster a vertex is in; vertices outside the range are still alone.
    fn leader_of(&self, vertex: u32) -> u32 {
        self.leader.get(vertex.wrapping_sub(self.first) as usize).copied().unwrap_or(vertex)
    }

    /// Weight and members of a cluster.
    #[inline]
    fn weight_and_members(&self, leader: u32) -> (i64, u8) {
        let at = leader.wrapping_sub(self.first) as usize;
        match (self.weight.get(at), self.members.get(at)) {
            (Some(&weight), Some(&members)) => (weight, members),
            _ => (self.graph.weight(leader), 1),
        }
    }

    fn is_single(&self, vertex: u32) -> bool {
        self.leader_of(vertex) == vertex && self.weight_and_members(vertex).1 == 1
    }

    /// The vertices of an order that are single.
    fn singles(&self, order: &[u32]) -> Vec<u32> {
        let single = |vertices: &[u32]| -> Vec<u32> {
            vertices.iter().copied().filter(|&vertex| self.is_single(vertex)).collect()
        };
        order.par_chunks(STRETCH).with_max_len(1).map(single).collect::<Vec<_>>().concat()
    }

    fn same_block(&self, a: u32, b: u32) -> bool {
        self.blocks.is_none_or(|blocks| blocks[a as usize] == blocks[b as usize])
    }

    /// Whether a vertex of some weight may join a cluster.
    #[inline]
    fn fits(&self, weight: i64, leader: u32) -> bool {
        let (of_cluster, members) = self.weight_and_members(leader);
        self.takes(of_cluster, members, weight)
    }

    /// Whether a cluster of some weight and members has room for a vertex's weight.
    #[inline]
    fn takes(&self, of_cluster: i64, members: u8, weight: i64) -> bool {
        of_cluster + weight <= self.config.max_weight && u32::from(members) < self.config.max_members
    }

    /// Joins a vertex to a cluster, both in the range.
    fn join(&mut self, vertex: u32, leader: u32) {
        self.leader[(vertex - self.first) as usize] = leader;
        let at = (leader - self.first) as usize;
        self.weight[at] += self.graph.weight(vertex);
        self.members[at] += 1;
    }

    /// Heavy-edge matching: each vertex with the single neighbour of the largest edge weight for its own weight.
    fn match_pairs(&mut self, order: &[u32]) {
        for &vertex in order {
            if !self.is_single(vertex) {
                continue;
            }
            let own_weight = self.graph.weight(vertex);
            let mut best: Option<(u32, f64, f64)> = None;
            self.graph.for_each_tie(vertex, |neighbour, weight| {
                let is_free = self.has(neighbour) && self.is_single(neighbour);
                if is_free && self.fits(own_weight, neighbour) && self.same_block(vertex, neighbour) {
                    let size = self.graph.weight(neighbour).max(1) as f64;
                    let (rating, heft) = (weight as f64, if self.config.by_size { size.sqrt() } else { 1.0 });
                    if best.is_none_or(|(_, best_rating, best_heft)| rating * best_heft > best_rating * heft) {
                        best = Some((neighbour, rating, heft));
                    }
                }
            });
            if let Some((partner, ..)) = best {
                self.join(vertex, partner);
            }
        }
    }

    /// Label propagation, one pass: each single vertex joins the cluster of the best rating. A vertex that prefers a cluster
    /// outside the range waits.
    fn cluster(&mut self, order: &[u32], ratings: &mut Ratings) {
        for &vertex in order {
            if let Some(choice) = self.choice(vertex, ratings).filter(|choice| self.has(choice.leader)) {
                self.join(vertex, choice.leader);
            }
        }
    }

    /// Joins the vertices that are left, also across ranges. Threads find the favourite clusters of some vertices at a time. A
    /// vertex whose favourite has filled up looks again.
    fn cluster_across(&mut self, order: &[u32], pool: &Pool<Ratings>) {
        let left = self.singles(order);
        let new_ratings = || Ratings::new(self.graph.len());
        for turn in 0..TURNS {
            let vertices: Vec<u32> = left.iter().copied().skip(turn).step_by(TURNS).collect();
            let choose = |vertices: &[u32]| -> Vec<Choice> {
                let choices = |ratings: &mut Ratings| {
                    vertices.iter().filter_map(|&vertex| self.choice(vertex, ratings)).collect()
                };
                pool.with(new_ratings, choices)
            };
            let choices: Vec<Vec<Choice>> = vertices.par_chunks(FEW).with_max_len(1).map(choose).collect();
            for &Choice { vertex, leader } in choices.iter().flatten() {
                if self.leader_of(leader) != leader || !self.fits(self.graph.weight(vertex), leader) {
                    if let Some(choice) = pool.with(new_ratings, |ratings| self.choice(vertex, ratings)) {
                        self.join(vertex, choice.leader);
                    }
                } else if self.is_single(vertex) {
                    self.join(vertex, leader);
                }
            }
        }
    }

    /// The cluster with room of the best rating for a single vertex.
    fn choice(&self, vertex: u32, ratings: &mut Ratings) -> Option<Choice> {
        if !self.is_single(vertex) {
            return None;
        }
        let Ratings { weight_to, seen } = ratings;
        self.graph.for_each_tie(vertex, |neighbour, weight| {
            if self.same_block(vertex, neighbour) {
                let leader = self.leader_of(neighbour);
                let rating = &mut weight_to[leader as usize];
                if *rating == 0 {
                    seen.push(leader);
                }
                *rating += weight;
            }
        });
        let own_weight = self.graph.weight(vertex);
        let mut best: Option<(u32, f64, f64)> = None;
        for leader in seen.drain(..) {
            let rating = std::mem::take(&mut weight_to[leader as usize]);
            let (weight, members) = self.weight_and_members(leader);
            if self.takes(weight, members, own_weight) {
                let (rating, size) = (rating as f64, weight.max(1) as f64);
                let heft = if self.config.by_size { size.sqrt() } else { 1.0 };
                if best.is_none_or(|(_, best_rating, best_heft)| rating * best_heft > best_rating * heft) {
                    best = Some((leader, rating, heft));
                }
            }
        }
        best.map(|(leader, ..)| Choice { vertex, leader })
    }

    /// Joins vertices that are still alone and would have liked to join the same cluster, which had no room; and vertices
    /// without neighbours with each other.
    fn join_over_two_hops(&mut self, order: &[u32]) {
        let singles = self.singles(order);
        if singles.len() * 10 < order.len() {
            return;
        }
        let mut waiting: Vec<Option<u32>> = vec![None; self.graph.len()];
        let mut lonely: Option<u32> = None;
        for vertex in singles {
            if !self.is_single(vertex) {
                continue;
            }
            let mut favourite: Option<(u32, i64)> = None;
            self.graph.for_each_tie(vertex, |neighbour, weight| {
                if self.same_block(vertex, neighbour) && favourite.is_none_or(|(_, most)| weight > most) {
                    favourite = Some((self.leader_of(neighbour), weight));
                }
            });
            let place = match favourite {
                Some((leader, _)) => &mut waiting[leader as usize],
                None if self.graph.degree(vertex) == 0 => &mut lonely,
                None => continue,
            };
            match *place {
                Some(leader) if leader != vertex => {
                    if self.fits(self.graph.weight(vertex), leader) && self.same_block(vertex, leader) {
                        self.join(vertex, leader);
                    } else {
                        *place = Some(vertex);
                    }
                }
                _ => *place = Some(vertex),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::multilevel::graph::Graph;

    /// A ring, large enough for threads, in which one in a hundred is a hub that many far away prefer to their neighbours.
    fn ring(count: u32) -> Graph<'static> {
        let mut rows: Vec<Vec<(u32, u32)>> =
            (0..count).map(|v| vec![((v + 1) % count, 1), ((v + count - 1) % count, 1)]).collect();
        let mut random = Random::new(5, 5);
        for leaf in (0..count).filter(|vertex| vertex % 100 != 0 && vertex % 3 == 0) {
            let hub = 100 * random.below(count as usize / 100) as u32;
            if hub.abs_diff(leaf) > 1 {
                rows[leaf as usize].push((hub, 9));
                rows[hub as usize].push((leaf, 9));
            }
        }
        Graph::of_rows(&rows)
    }

    #[test]
    fn clusters_keep_their_bounds_and_blocks_on_any_number_of_threads() {
        let graph = ring(60_000);
        let blocks: Vec<u32> = (0..60_000).map(|vertex| vertex / 7 % 2).collect();
        for (max_members, by_size, shuffle) in [(8, true, None), (8, false, Some(3)), (2, false, None)] {
            let config = CoarsenConfig { target: 1, max_weight: 5, max_members, by_size, shuffle };
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                pool.install(|| Clustering::find(&graph, &config, Some(&blocks)))
            };
            let (one, three) = (on(1), on(3));
            assert_eq!(one.cluster_of, three.cluster_of);
            // Most find somebody, also across the ranges.
            assert!(one.count < 60_000 * 2 / 3, "{}", one.count);
            let mut members = vec![Vec::new(); one.count];
            for (vertex, &cluster) in one.cluster_of.iter().enumerate() {
                members[cluster as usize].push(vertex);
            }
            for members in members {
                assert!((1..=5.min(max_members as usize)).contains(&members.len()));
                assert!(members.iter().all(|&vertex| blocks[vertex] == blocks[members[0]]));
            }
        }
    }
}
