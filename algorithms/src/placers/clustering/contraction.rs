//! Karger's random contraction: edges in random order, each making one supernode of its ends (B Alg. 4.4 and 4.5).

use placebench_datasets::SplitMix64;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::merging::Merging;
use super::roots::find;
use super::simple::Incidence;
use crate::placers::coarse::readings::Edges;

/// A weighted graph to contract. Vertices without an edge are kept apart: no contraction ever touches them.
#[derive(Clone, Debug)]
pub(super) struct Contractible {
    /// Ends of every edge, as positions in `connected`.
    edges: Vec<[u32; 2]>,
    /// Whether edges that become parallel count one by one.
    kind: Edges,
    /// Vertices with an edge, ascending, and their weights.
    connected: Vec<u32>,
    weights: Vec<u32>,
    /// Vertices without an edge by weight, then number, and their weights.
    isolated: Vec<u32>,
    isolated_weights: Vec<u32>,
}

impl Contractible {
    /// The graph of those weights and edges; no edge has two equal ends. All weights together are below 2³².
    ///
    /// # Complexity
    /// O(edges + vertices · log vertices).
    pub(super) fn new(weights: &[u64], edges: impl Iterator<Item = (u32, u32)>, kind: Edges) -> Self {
        let mut edges: Vec<[u32; 2]> = kind.of(edges).into_iter().map(|(from, to)| [from, to]).collect();
        let mut has_edge = vec![false; weights.len()];
        for &vertex in edges.iter().flatten() {
            has_edge[vertex as usize] = true;
        }
        let (connected, mut isolated): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&vertex| has_edge[vertex as usize]);
        isolated.sort_by_key(|&vertex| weights[vertex as usize]);
        let mut position_of = vec![0; weights.len()];
        for (position, &vertex) in connected.iter().enumerate() {
            position_of[vertex as usize] = position as u32;
        }
        for vertex in edges.iter_mut().flatten() {
            *vertex = position_of[*vertex as usize];
        }
        let weigh = |vertices: &[u32]| vertices.iter().map(|&vertex| weights[vertex as usize] as u32).collect();
        let (connected_weights, isolated_weights) = (weigh(&connected), weigh(&isolated));
        Self { edges, kind, connected, weights: connected_weights, isolated, isolated_weights }
    }

    /// Whether all trials are the same.
    pub(super) fn has_no_edges(&self) -> bool {
        self.edges.is_empty()
    }
}

/// When contraction stops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The number of supernodes to reach, isolated vertices counted.
    pub(super) supernodes: usize,
    /// No supernode becomes heavier than this.
    pub(super) heaviest: u64,
    /// The number of clusters at the end: the lightest are merged until no more are left.
    pub(super) clusters: usize,
}

/// Memory for one trial after the other.
#[derive(Clone, Debug)]
pub(super) struct Trial<'a> {
    graph: &'a Contractible,
    limits: Limits,
    edges: Vec<[u32; 2]>,
    parents: Vec<u32>,
    weights: Vec<u32>,
    incidence: Incidence,
    merging: Merging,
}

impl<'a> Trial<'a> {
    pub(super) fn new(graph: &'a Contractible, limits: Limits) -> Self {
        let (edges, parents, weights) = (Vec::new(), Vec::new(), Vec::new());
        Self { graph, limits, edges, parents, weights, incidence: Incidence::default(), merging: Merging::default() }
    }

    /// Contracts anew, as `seed` and the number of the trial say.
    ///
    /// # Complexity
    /// O(edges · α + supernodes · log supernodes); more with simple edges, see [`Incidence::draw`].
    pub(super) fn run(&mut self, seed: u64, trial: u32) {
        self.contract(&mut Pcg64Mcg::seed_from_u64(stream(seed, trial)));
        let roots = (0..self.parents.len() as u32).filter(|&vertex| self.parents[vertex as usize] == vertex);
        let weighted = roots.map(|root| (self.weights[root as usize], root));
        self.merging.run(&self.graph.isolated_weights, weighted, self.limits.clusters);
    }

    /// Contracts edges in random order until as few supernodes are left as wanted, or none can be contracted.
    fn contract(&mut self, random: &mut Pcg64Mcg) {
        let graph = self.graph;
        self.weights.clone_from(&graph.weights);
        self.parents.clear();
        self.parents.extend(0..graph.connected.len() as u32);
        let supernodes = graph.connected.len() + graph.isolated.len();
        match graph.kind {
            Edges::Parallel => self.contract_parallel(random, supernodes),
            Edges::Simple => self.contract_simple(random, supernodes),
        }
    }

    /// Draws edges without replacement, which is what drawing among the edges that are left comes to: those inside a
    /// supernode, or too heavy to contract, stay so.
    fn contract_parallel(&mut self, random: &mut Pcg64Mcg, mut supernodes: usize) {
        self.edges.clone_from(&self.graph.edges);
        for next in 0..self.edges.len() {
            if supernodes <= self.limits.supernodes {
                break;
            }
            let drawn = random.random_range(next as u32..self.edges.len() as u32) as usize;
            self.edges.swap(next, drawn);
            let [a, b] = self.edges[next].map(|vertex| find(&mut self.parents, vertex));
            if a != b && self.merge(a, b).is_some() {
                supernodes -= 1;
            }
        }
    }

    /// Draws pairs of supernodes that share an edge; those that are too heavy to contract share it no more.
    fn contract_simple(&mut self, random: &mut Pcg64Mcg, mut supernodes: usize) {
        let edges = &self.graph.edges;
        self.incidence.reset(self.parents.len(), edges);
        while supernodes > self.limits.supernodes {
            let Some((edge, [a, b])) = self.incidence.draw(random, edges, &mut self.parents) else { break };
            self.incidence.remove(edge);
            if let Some((root, other)) = self.merge(a, b) {
                self.incidence.join(root, other);
                supernodes -= 1;
            }
        }
    }

    /// Makes one supernode of two, unless it would be too heavy: its root, and the one that is none any more.
    fn merge(&mut self, a: u32, b: u32) -> Option<(u32, u32)> {
        let together = u64::from(self.weights[a as usize]) + u64::from(self.weights[b as usize]);
        if together > self.limits.heaviest {
            return None;
        }
        let (root, other) = if self.weights[a as usize] >= self.weights[b as usize] { (a, b) } else { (b, a) };
        self.parents[other as usize] = root;
        self.weights[root as usize] = together as u32;
        Some((root, other))
    }

    /// The weight of the lightest cluster over that of the heaviest (B's LoadScore).
    pub(super) fn balance(&self) -> f64 {
        self.merging.balance()
    }

    /// How many edges run between clusters (the negative of B's CommScore).
    pub(super) fn cut(&mut self) -> usize {
        self.label_roots();
        let (parents, labels) = (&self.parents, &self.weights);
        let label = |vertex: u32| labels[parents[vertex as usize] as usize];
        self.graph.edges.iter().filter(|&&[a, b]| label(a) != label(b)).count()
    }

    /// The cluster of each vertex; clusters are numbered by their lowest vertex.
    pub(super) fn clusters(&mut self) -> Vec<u32> {
        self.label_roots();
        let graph = self.graph;
        let mut raw = vec![0; graph.connected.len() + graph.isolated.len()];
        for (position, &vertex) in graph.connected.iter().enumerate() {
            raw[vertex as usize] = self.weights[self.parents[position] as usize];
        }
        for (position, &vertex) in graph.isolated.iter().enumerate() {
            raw[vertex as usize] = self.merging.cluster_of_leaf(position as u32);
        }
        let mut numbers: Vec<Option<u32>> = vec![None; self.merging.node_count()];
        let mut count = 0;
        for label in &mut raw {
            let number = numbers[*label as usize].get_or_insert_with(|| {
                count += 1;
                count - 1
            });
            *label = *number;
        }
        raw
    }

    /// Points every vertex at its root, and puts the clusters of roots where their weights were, which no one asks for
    /// any more.
    fn label_roots(&mut self) {
        for vertex in 0..self.parents.len() as u32 {
            self.parents[vertex as usize] = find(&mut self.parents, vertex);
        }
        let first = self.graph.isolated.len() as u32;
        for (leaf, &root) in (first..).zip(self.merging.roots()) {
            self.weights[root as usize] = self.merging.cluster_of_leaf(leaf);
        }
    }
}

/// The seed of a trial: neighbouring trials share nothing.
fn stream(seed: u64, trial: u32) -> u64 {
    SplitMix64::new(seed).after(u64::from(trial)).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graphs() -> impl Strategy<Value = (Vec<u64>, Vec<(u32, u32)>)> {
        proptest::collection::vec(1u64..5, 1..25).prop_flat_map(|weights| {
            let count = weights.len() as u32;
            let edges = proptest::collection::vec((0..count, 0..count), 0..40);
            (Just(weights), edges.prop_map(|edges| edges.into_iter().filter(|(a, b)| a != b).collect()))
        })
    }

    fn kinds() -> impl Strategy<Value = Edges> {
        prop_oneof![Just(Edges::Parallel), Just(Edges::Simple)]
    }

    /// Weight of each cluster.
    fn sums(weights: &[u64], clusters: &[u32]) -> Vec<u64> {
        let count = clusters.iter().max().map_or(0, |&last| last as usize + 1);
        let mut sums = vec![0; count];
        for (&cluster, &weight) in clusters.iter().zip(weights) {
            sums[cluster as usize] += weight;
        }
        sums
    }

    proptest! {
        #[test]
        fn there_are_as_many_clusters_as_wanted_and_their_scores_are_those_of_a_recount(
            (weights, edges) in graphs(),
            clusters in 1usize..6,
            supernodes in 0usize..10,
            seed: u64,
            kind in kinds(),
        ) {
            let edges = kind.of(edges.into_iter());
            let graph = Contractible::new(&weights, edges.iter().copied(), kind);
            let limits = Limits { supernodes: supernodes.max(clusters), heaviest: u64::MAX, clusters };
            let mut trial = Trial::new(&graph, limits);
            // What one trial leaves behind must not reach the next.
            trial.run(seed, 1);
            trial.cut();
            trial.run(seed, 0);
            let (balance, cut, found) = (trial.balance(), trial.cut(), trial.clusters());
            let mut fresh = Trial::new(&graph, limits);
            fresh.run(seed, 0);
            prop_assert_eq!(&fresh.clusters(), &found);
            let sums = sums(&weights, &found);
            prop_assert_eq!(sums.len(), clusters.min(weights.len()));
            let ratio = *sums.iter().min().unwrap() as f64 / *sums.iter().max().unwrap() as f64;
            prop_assert_eq!(balance, ratio);
            prop_assert_eq!(cut, edges.iter().filter(|&&(a, b)| found[a as usize] != found[b as usize]).count());
        }

        #[test]
        fn contraction_alone_exceeds_the_cap_nowhere_and_stops_only_where_every_edge_would(
            (weights, edges) in graphs(),
            heaviest in 5u64..20,
            seed: u64,
            kind in kinds(),
        ) {
            let graph = Contractible::new(&weights, edges.iter().copied(), kind);
            let mut trial = Trial::new(&graph, Limits { supernodes: 1, heaviest, clusters: usize::MAX });
            trial.run(seed, 0);
            let found = trial.clusters();
            let sums = sums(&weights, &found);
            prop_assert!(sums.iter().all(|&sum| sum <= heaviest));
            for (a, b) in edges {
                let (a, b) = (found[a as usize] as usize, found[b as usize] as usize);
                prop_assert!(a == b || sums[a] + sums[b] > heaviest);
            }
        }
    }

    #[test]
    fn trials_differ_and_seeds_do() {
        let edges = (0..99u32).map(|op| (op, op + 1));
        let graph = Contractible::new(&[1; 100], edges, Edges::Parallel);
        let mut trial = Trial::new(&graph, Limits { supernodes: 2, heaviest: u64::MAX, clusters: 2 });
        let mut cuts = |seed, number| {
            trial.run(seed, number);
            trial.clusters().iter().position(|&cluster| cluster == 1)
        };
        // A chain in two is known by where it is cut.
        assert!((0..5).any(|number| cuts(0, number) != cuts(0, 5)));
        assert!((1..5).any(|seed| cuts(seed, 0) != cuts(0, 0)));
        assert_eq!(cuts(3, 7), cuts(3, 7));
    }

    #[test]
    fn simple_edges_stay_simple_and_parallel_ones_draw_more() {
        // 0, 1, 2 a triangle with 3 hanging on 2, in two. Simple: 3 is left alone after 0-1, 0-2 or 1-2 and then the one of
        // two edges that is left in the triangle: 3 · 1/4 · 1/2. Parallel: that one is two of three edges: 3 · 1/4 · 2/3.
        for (kind, share) in [(Edges::Simple, 0.375), (Edges::Parallel, 0.5)] {
            let edges = [(0, 1), (1, 2), (0, 2), (2, 3)];
            let graph = Contractible::new(&[1; 4], edges.into_iter(), kind);
            let mut trial = Trial::new(&graph, Limits { supernodes: 2, heaviest: u64::MAX, clusters: 2 });
            let mut alone = 0;
            for number in 0..20_000 {
                trial.run(0, number);
                alone += u32::from(trial.clusters() == [0, 0, 0, 1]);
            }
            // Ten standard deviations.
            assert!((f64::from(alone) / 20_000.0 - share).abs() < 0.035, "{kind:?}: {alone}");
        }
    }
}
