//! Communities: sets of vertices with more weight of edges inside than chance would put there.
//!
//! If few edges have nearly all weight, clusters that follow the heaviest edges soon reach from one part of a graph into the
//! next. No coarse vertex is then on the right side of the cut between them. Communities keep the parts apart from the start.

use super::contraction::contract;
use crate::StopToken;
use crate::partition::multilevel::graph::Graph;
use crate::partition::multilevel::structure::Structure;

/// Rounds of moves between communities of the same graph at most.
const ROUNDS: usize = 5;

/// A round in which fewer than one vertex in this many move is the last.
const FEW: usize = 10;

/// A community for each vertex, numbered from 0: those of large modularity that the Louvain method finds, visiting vertices
/// in the order of their numbers.
///
/// # Reference
/// V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal of
/// Statistical Mechanics 2008, P10008, doi:10.1088/1742-5468/2008/10/P10008. That coarsening should keep to them:
/// T. Heuer, S. Schlag: Improving coarsening schemes for hypergraph partitioning by exploiting community structure. SEA
/// 2017, doi:10.4230/LIPIcs.SEA.2017.21.
///
/// # Complexity
/// O(vertices + edges) a level. Each level has a fraction of the vertices of the one before.
pub(crate) fn communities(graph: &Graph<'_>, stop: &StopToken) -> Vec<u32> {
    let volume_of = |vertex: u32| graph.edges(vertex).map(|(_, weight)| weight as f64).sum();
    let mut volumes: Vec<f64> = (0..graph.len() as u32).map(volume_of).collect();
    let mut community_of: Vec<u32> = (0..graph.len() as u32).collect();
    let mut coarse: Option<Graph<'static>> = None;
    loop {
        let current = coarse.as_ref().unwrap_or(graph);
        let (joined, count) = numbered(Moving::new(current, &volumes).run(stop));
        if count == current.len() {
            return community_of;
        }
        let mut joint_volumes = vec![0.0; count];
        for (&community, volume) in joined.iter().zip(&volumes) {
            joint_volumes[community as usize] += volume;
        }
        volumes = joint_volumes;
        for community in &mut community_of {
            *community = joined[*community as usize];
        }
        coarse = Some(contract(current, &joined, count));
    }
}

/// Numbers communities by their first vertices, and counts them.
fn numbered(mut community_of: Vec<u32>) -> (Vec<u32>, usize) {
    let mut number: Vec<Option<u32>> = vec![None; community_of.len()];
    let mut count = 0;
    for community in &mut community_of {
        *community = *number[*community as usize].get_or_insert_with(|| {
            count += 1;
            count - 1
        });
    }
    (community_of, count as usize)
}

/// Vertices that look for a community; at first each is alone.
struct Moving<'g, 'a> {
    graph: &'g Graph<'a>,
    /// Of each vertex, the weight of all ends of edges at the vertices of the finest graph that it stands for.
    volumes: &'g [f64],
    community_of: Vec<u32>,
    /// Of each community.
    joint_volumes: Vec<f64>,
    /// Of the graph.
    total_volume: f64,
    /// Scratch space: the weight of a vertex's edges to each community, and to which it has any.
    weight_to: Vec<f64>,
    seen: Vec<u32>,
}

impl<'g, 'a> Moving<'g, 'a> {
    fn new(graph: &'g Graph<'a>, volumes: &'g [f64]) -> Self {
        Self {
            graph,
            volumes,
            community_of: (0..graph.len() as u32).collect(),
            joint_volumes: volumes.to_vec(),
            total_volume: volumes.iter().sum(),
            weight_to: vec![0.0; graph.len()],
            seen: Vec::new(),
        }
    }

    fn run(mut self, stop: &StopToken) -> Vec<u32> {
        for _ in 0..ROUNDS {
            let moves = (0..self.graph.len() as u32).filter(|&vertex| self.visit(vertex)).count();
            if moves * FEW < self.graph.len() || stop.is_stopped() {
                break;
            }
        }
        self.community_of
    }

    /// Moves a vertex to where modularity gains most, and says whether it moved.
    fn visit(&mut self, vertex: u32) -> bool {
        let own = self.community_of[vertex as usize];
        for (neighbour, weight) in self.graph.edges(vertex) {
            let community = self.community_of[neighbour as usize];
            let sum = &mut self.weight_to[community as usize];
            if *sum == 0.0 {
                self.seen.push(community);
            }
            *sum += weight as f64;
        }
        let volume = self.volumes[vertex as usize];
        let gain = |weight: f64, joint_volume: f64| weight - volume * joint_volume / self.total_volume;
        let mut best = (gain(self.weight_to[own as usize], self.joint_volumes[own as usize] - volume), own);
        for community in self.seen.drain(..) {
            let weight = std::mem::take(&mut self.weight_to[community as usize]);
            let gain = gain(weight, self.joint_volumes[community as usize]);
            if community != own && gain > best.0 {
                best = (gain, community);
            }
        }
        self.joint_volumes[own as usize] -= volume;
        self.joint_volumes[best.1 as usize] += volume;
        self.community_of[vertex as usize] = best.1;
        best.1 != own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(count: usize, edges: &[(u32, u32, u32)]) -> Graph<'static> {
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
        for &(a, b, weight) in edges {
            rows[a as usize].push((b, weight));
            rows[b as usize].push((a, weight));
        }
        Graph::of_rows(&rows)
    }

    #[test]
    fn rings_of_cliques_are_their_cliques_even_where_the_ring_is_heavier_than_an_edge() {
        let mut edges = Vec::new();
        for clique in 0..30u32 {
            let first = 6 * clique;
            for a in 0..6 {
                edges.extend((0..a).map(|b| (first + a, first + b, 10)));
            }
            edges.push((first + 5, (first + 6) % 180, 12));
        }
        let found = communities(&graph(180, &edges), &StopToken::default());
        let expected: Vec<u32> = (0..180).map(|vertex| found[vertex / 6 * 6]).collect();
        assert_eq!(found, expected);
        // Neighbouring cliques may share one, distant ones do not.
        assert!(found.iter().max() >= Some(&9));
    }

    #[test]
    fn vertices_without_edges_and_edges_without_weight_stay_alone() {
        let found = communities(&graph(5, &[(0, 1, 0), (2, 3, 1)]), &StopToken::default());
        assert_eq!(found, [0, 1, 2, 2, 3]);
        assert_eq!(communities(&graph(2, &[(0, 1, 0)]), &StopToken::default()), [0, 1]);
    }
}
