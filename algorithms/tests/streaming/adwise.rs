//! ADWISE against its definition, with every edge of the window scored for every block before each assignment.

use std::collections::BTreeSet;

use placebench_algorithms::Algorithm;
use placebench_algorithms::partition::PartitionRequest;
use placebench_algorithms::partition::streaming::{Adwise, Budget, EdgePartitioner, Lambda, Window};
use placebench_datasets::stream::EdgeList;
use proptest::prelude::*;
use proptest::sample::select;

use super::{cut_list, of_edges};
use crate::support::rmat::rmat_distinct;

struct Model<'a> {
    edges: &'a [(u32, u32)],
    blocks: u32,
    capacity: u64,
    lambda: f64,
    adaptive_lambda: bool,
    sizes: Vec<u64>,
    on: Vec<BTreeSet<u32>>,
    degrees: Vec<u32>,
}

impl Model<'_> {
    fn most(&self) -> f64 {
        *self.sizes.iter().max().unwrap() as f64
    }

    fn least(&self) -> f64 {
        *self.sizes.iter().min().unwrap() as f64
    }

    fn score(&self, edge: usize, block: u32, window: &[usize]) -> f64 {
        let (u, v) = self.edges[edge];
        let largest = f64::from(*self.degrees.iter().max().unwrap());
        let balance = (self.most() - self.sizes[block as usize] as f64) / (self.most() - self.least() + 1.0);
        let replicas = |x: u32| {
            let psi = f64::from(self.degrees[x as usize]) / (2.0 * largest);
            if self.on[x as usize].contains(&block) { 2.0 - psi } else { 0.0 }
        };
        let mut neighbours = BTreeSet::new();
        for &other in window {
            let (a, b) = self.edges[other];
            if [u, v].contains(&a) {
                neighbours.insert(b);
            }
            if [u, v].contains(&b) {
                neighbours.insert(a);
            }
        }
        neighbours.remove(&u);
        neighbours.remove(&v);
        let there = neighbours.iter().filter(|&&x| self.on[x as usize].contains(&block)).count();
        let clustering = there as f64 / neighbours.len().max(1) as f64;
        self.lambda * balance + (replicas(u) + replicas(v)) + clustering
    }

    fn best_block(&self, edge: usize, window: &[usize]) -> (f64, u32) {
        let open = (0..self.blocks).filter(|&block| self.sizes[block as usize] < self.capacity);
        let scored = open.map(|block| (self.score(edge, block, window), self.sizes[block as usize], block));
        let better = |a: &(f64, u64, u32), b: &(f64, u64, u32)| b.0 > a.0 || (b.0 == a.0 && (b.1, b.2) < (a.1, a.2));
        let (score, _, block) = scored.reduce(|a, b| if better(&a, &b) { b } else { a }).unwrap();
        (score, block)
    }

    /// The ends of the edge that got a replica.
    fn assign(&mut self, edge: usize, block: u32, assigned: usize) -> Vec<u32> {
        self.sizes[block as usize] += 1;
        let (u, v) = self.edges[edge];
        let fresh = [u, v].into_iter().filter(|&x| self.on[x as usize].insert(block)).collect();
        if self.adaptive_lambda {
            let imbalance = (self.most() - self.least()) / self.most();
            let tolerated = f64::max(0.0, 1.0 - assigned as f64 / self.edges.len() as f64);
            self.lambda = (self.lambda + imbalance - tolerated).clamp(0.4, 5.0);
        }
        fresh
    }

    /// (edge, block) in the order of assignment with lazy traversal, and how often an edge was scored. `size` says how large
    /// the window is from the number of assignments, the last score and how often edges were scored for it.
    fn run(&mut self, threshold: f64, mut size: impl FnMut(usize, f64, u64) -> usize) -> (Vec<(u64, u32)>, u64) {
        struct Waiting {
            edge: usize,
            known: (f64, u32),
            candidate: bool,
            stale: bool,
        }
        let (mut window, mut next, mut order, mut scored): (Vec<Waiting>, _, Vec<(u64, u32)>, _) =
            (vec![], 0, vec![], 0);
        let mut wanted = size(0, 0.0, 0);
        while order.len() < self.edges.len() {
            let scored_before = scored;
            while window.len() < wanted && next < self.edges.len() {
                let (u, v) = self.edges[next];
                self.degrees[u as usize] += 1;
                self.degrees[v as usize] += 1;
                window.push(Waiting { edge: next, known: (0.0, 0), candidate: false, stale: true });
                next += 1;
            }
            let ids: Vec<usize> = window.iter().map(|waiting| waiting.edge).collect();
            let mut fresh = vec![false; window.len()];
            for everything in [false, true] {
                if everything && window.iter().any(|waiting| waiting.candidate) {
                    break;
                }
                for (waiting, fresh) in window.iter_mut().zip(&mut fresh) {
                    if !*fresh && (everything || waiting.candidate || waiting.stale) {
                        waiting.known = self.best_block(waiting.edge, &ids);
                        scored += 1;
                        *fresh = true;
                    }
                }
                let mean = window.iter().map(|waiting| waiting.known.0).sum::<f64>() / window.len() as f64;
                for (waiting, _) in window.iter_mut().zip(&fresh).filter(|(_, fresh)| **fresh) {
                    waiting.candidate = waiting.known.0 > mean + threshold;
                }
            }
            let any = window.iter().any(|waiting| waiting.candidate);
            let eligible = (0..window.len()).filter(|&at| window[at].candidate || !any);
            let before = |a: usize, b: usize| {
                let key = |at: usize| (window[at].known.0, std::cmp::Reverse(window[at].edge));
                key(a) > key(b)
            };
            let best = eligible.reduce(|a, b| if before(a, b) { a } else { b }).unwrap();
            let Waiting { edge, known: (score, block), .. } = window.remove(best);
            order.push((edge as u64, block));
            let replicated = self.assign(edge, block, order.len());
            for waiting in &mut window {
                let (a, b) = self.edges[waiting.edge];
                waiting.stale = replicated.contains(&a) || replicated.contains(&b);
            }
            wanted = size(order.len(), score, scored - scored_before);
        }
        (order, scored)
    }
}

fn model<'a>(vertices: u32, edges: &'a [(u32, u32)], request: &PartitionRequest, lambda: Lambda) -> Model<'a> {
    Model {
        edges,
        blocks: request.blocks,
        capacity: request.capacity(0, edges.len() as u64),
        lambda: if let Lambda::Fixed(lambda) = lambda { lambda } else { 1.0 },
        adaptive_lambda: lambda == Lambda::Adaptive,
        sizes: vec![0; request.blocks as usize],
        on: vec![BTreeSet::new(); vertices as usize],
        degrees: vec![0; vertices as usize],
    }
}

fn decide(adwise: &Adwise, vertices: u32, edges: &[(u32, u32)], request: &PartitionRequest) -> (Vec<(u64, u32)>, u64) {
    let mut order = Vec::new();
    let mut stream = EdgeList::new(vertices, edges).unwrap();
    let cut = adwise.partition_edges(&mut stream, request, &mut |edge| {
        order.push((edge.edge, edge.block));
        Ok(())
    });
    (order, cut.unwrap().evaluations.unwrap())
}

fn lambdas() -> impl Strategy<Value = Lambda> {
    prop_oneof![Just(Lambda::Adaptive), Just(Lambda::Fixed(1.0)), Just(Lambda::Fixed(0.0)), Just(Lambda::Fixed(3.0))]
}

fn edge_lists() -> impl Strategy<Value = Vec<(u32, u32)>> {
    proptest::collection::vec((0u32..25, 0u32..25), 0..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn lazy_traversal_scores_again_what_it_says_and_no_more(
        edges in edge_lists(),
        blocks in prop_oneof![1u32..7, Just(70)],
        lambda in lambdas(),
        window in prop_oneof![Just(1usize), 2usize..20],
        // All edges are candidates, or nothing that scores of these graphs differ by.
        threshold in prop_oneof![Just(f64::NEG_INFINITY), select(vec![0.123_456_7, -0.123_456_7, 0.765_432_1])],
    ) {
        let request = PartitionRequest::new(blocks, 0.1, 0);
        let adwise = Adwise { window: Window::Fixed(window), lambda, threshold, spotlight: 1 };
        let found = decide(&adwise, 25, &edges, &request);
        prop_assert_eq!(found, model(25, &edges, &request, lambda).run(threshold, |_, _, _| window));
    }

    #[test]
    fn an_adaptive_window_grows_and_shrinks_as_defined(
        edges in edge_lists(),
        budget in prop_oneof![Just(1.0), Just(2.5), Just(6.0), Just(1000.0)],
        max in prop_oneof![Just(1usize), Just(8), Just(1000)],
    ) {
        let request = PartitionRequest::new(3, 0.1, 0);
        let window = Window::Adaptive { budget: Budget::Evaluations(budget), max };
        let adwise = Adwise { window, threshold: f64::NEG_INFINITY, ..Adwise::with_defaults() };
        let (order, _) = decide(&adwise, 25, &edges, &request);
        let (mut size, mut since, mut scores, mut spent, mut spent_before, mut mean_before) = (1, 0, 0.0, 0, 0, None);
        let mut sizes = Vec::new();
        let expected = model(25, &edges, &request, Lambda::Adaptive).run(f64::NEG_INFINITY, |assigned, score, scored| {
            if assigned > 0 {
                since += 1;
                scores += score;
                spent += scored;
            }
            if since == size {
                let mean = scores / since as f64;
                let left = budget * edges.len() as f64 - spent as f64;
                let to_come = (edges.len() - assigned) as f64;
                let within = (spent - spent_before) as f64 * to_come <= left * since as f64;
                let rises = mean_before.is_none_or(|before| mean >= before);
                size = match (within, rises) {
                    (true, true) => usize::min(2 * size, max),
                    (true, false) => size,
                    (false, _) => usize::max(size / 2, 1),
                };
                (since, scores, spent_before, mean_before) = (0, 0.0, spent, Some(mean));
            }
            sizes.push(size);
            size
        });
        prop_assert_eq!(order, expected.0, "{:?}", sizes);
    }

    #[test]
    fn a_spotlight_is_its_instances_one_by_one(edges in edge_lists(), z in 2u32..5) {
        // Six blocks in parts, and edges in proportion.
        let request = PartitionRequest::new(6, 0.1, 0);
        let m = edges.len() as u64;
        let adwise = Adwise { window: Window::Fixed(5), threshold: f64::NEG_INFINITY, spotlight: z, ..Adwise::with_defaults() };
        let (order, _) = decide(&adwise, 25, &edges, &request);
        let mut expected = Vec::new();
        for index in 0..z {
            let (first, last) = (6 * index / z, 6 * (index + 1) / z);
            let (start, end) = (m * u64::from(first) / 6, m * u64::from(last) / 6);
            let part = &edges[start as usize..end as usize];
            let mut alone = model(25, part, &PartitionRequest::new(last - first, 0.1, 0), Lambda::Adaptive);
            alone.capacity = request.capacity(0, m);
            let (order, _) = alone.run(f64::NEG_INFINITY, |_, _, _| 5);
            expected.extend(order.into_iter().map(|(edge, block)| (start + edge, first + block)));
        }
        prop_assert_eq!(order, expected);
    }
}

#[test]
fn quality_rises_with_the_budget_on_a_stream_with_locality() {
    let edges = rmat_distinct(11, 20_000, 5);
    let factor = |budget: u32| {
        let spec = format!("adwise(budget={budget})");
        cut_list(&spec, 1 << 11, &edges, &PartitionRequest::new(8, 0.03, 0)).1.replication_factor()
    };
    let factors = [1, 4, 16, 64].map(factor);
    assert!(factors.is_sorted_by(|a, b| a > b), "{factors:?}");
}

#[test]
fn the_budget_is_kept() {
    let edges = rmat_distinct(11, 20_000, 5);
    for budget in [1, 2, 10, 100] {
        let spec = format!("adwise(budget={budget})");
        let spent = cut_list(&spec, 1 << 11, &edges, &PartitionRequest::new(8, 0.03, 0)).1.evaluations.unwrap();
        // The last window before the budget runs out may exceed it: one of 1024 at most.
        assert!(spent as f64 <= f64::from(budget) * 20_000.0 * 1.05 + 1024.0, "{spent} evaluations");
    }
}

#[test]
fn lazy_traversal_scores_less_and_decides_nearly_as_well() {
    let edges = rmat_distinct(11, 20_000, 5);
    let run = |threshold: &str| {
        let spec = format!("adwise(window=32,threshold={threshold})");
        let cut = cut_list(&spec, 1 << 11, &edges, &PartitionRequest::new(8, 0.03, 0)).1;
        (cut.evaluations.unwrap(), cut.replication_factor())
    };
    let (all, best) = run("-inf");
    let (lazy, factor) = run("0.1");
    assert!(lazy * 2 < all, "{lazy} evaluations instead of {all}");
    assert!(factor < 1.05 * best, "replication factor {factor} instead of {best}");
}

#[test]
fn a_budget_of_time_ends_in_time() {
    let edges = rmat_distinct(11, 20_000, 5);
    let mut stream = EdgeList::new(1 << 11, &edges).unwrap();
    let request = PartitionRequest::new(8, 0.03, 0);
    let cut = of_edges("adwise(latency=0)").partition_edges(&mut stream, &request, &mut |_| Ok(())).unwrap();
    // Without any time the window stays at one edge.
    assert_eq!(cut.evaluations, Some(20_000));
    assert_eq!(cut.edges_of_block.iter().sum::<u64>(), 20_000);
}
