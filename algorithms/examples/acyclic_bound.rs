//! A lower bound on the cut of acyclic halves of a leveled graph: it proves that they must cut more than other halves do.
//!
//! ```text
//! cargo run --release -p placebench-algorithms --example acyclic_bound -- [PRESET] [OPS]
//! ```
//! Let a half weigh at most the capacity. All ancestors of a vertex of the first half are in the first half. So a vertex
//! belongs to the second half in every acyclic partition if it and its ancestors weigh more than the capacity, and to the
//! first half if it and its descendants do. With these vertices fixed, the minimum cut among the others bounds the cut of
//! all acyclic halves from below. A multiplier λ on the weight that a half may not have makes the bound larger.

use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use placebench_algorithms::partition::{Coarsening, Multilevel, Objective, Preset};
use placebench_algorithms::partition::{PartitionRequest, Partitioner, quality};
use placebench_datasets::{UndirectedGraph, View, ViewOptions};
use placebench_generator::{LeveledParams, generate_leveled};

/// Tolerated imbalance.
const EPSILON: f64 = 0.03;

/// The capacity of an arc that must not be cut.
const UNLIMITED: u64 = u64::MAX / 8;

fn leveled(preset: &str, ops: f64) -> UndirectedGraph {
    let params = LeveledParams::preset(preset).expect("a preset");
    let factor = ops / params.nodes.expect("presets have a number of nodes") as f64;
    let made = generate_leveled(&params.scaled(factor), 1).expect("presets can be made");
    View::of_graph(&made.graph, ViewOptions::default()).expect("small weights").graph().clone()
}

/// For each vertex the half that it is in in every acyclic partition, if that is certain: 0 or 1.
fn forced(graph: &UndirectedGraph, capacity: u64) -> Vec<Option<usize>> {
    let mut forced = vec![None; graph.vertex_count()];
    for half in [1, 0] {
        let behind = |a: u32, b: u32| if half == 1 { a < b } else { a > b };
        let mut seen_by = vec![u32::MAX; graph.vertex_count()];
        let order: Vec<u32> = if half == 1 { graph.vertices().collect() } else { graph.vertices().rev().collect() };
        let mut before = 0;
        for vertex in order {
            before += graph.vertex_weight(vertex);
            if before <= capacity {
                continue;
            }
            let ancestors = |of: u32| graph.neighbours(of).iter().copied().filter(move |&n| behind(n, of));
            let mut weight = 0;
            let mut stack = vec![vertex];
            let certain = ancestors(vertex).any(|n| forced[n as usize] == Some(half));
            while let Some(next) = stack.pop().filter(|_| !certain && weight <= capacity) {
                weight += graph.vertex_weight(next);
                for n in ancestors(next) {
                    if std::mem::replace(&mut seen_by[n as usize], vertex) != vertex {
                        stack.push(n);
                    }
                }
            }
            if certain || weight > capacity {
                assert_eq!(forced[vertex as usize].replace(half), None, "no vertex belongs to both halves");
            }
        }
    }
    forced
}

/// Multiplied to weights, so that λ may be a fraction.
const PARTS: i64 = 64;

/// The least of cut · [`PARTS`] + λ · (weight of the first half), of all acyclic halves in which the forced vertices are
/// where they must be; and the weight of the first half there.
fn least(graph: &UndirectedGraph, forced: &[Option<usize>], lambda: i64) -> (i64, i64) {
    // What each vertex costs in the first and in the second half.
    let mut cost = vec![[0i64; 2]; graph.vertex_count()];
    let mut network = DiGraph::<(), u64>::new();
    for _ in 0..graph.vertex_count() + 2 {
        network.add_node(());
    }
    let node = |vertex: u32| NodeIndex::new(vertex as usize);
    let [source, sink] = [0, 1].map(|at| NodeIndex::new(graph.vertex_count() + at));
    let mut constant = 0;
    for vertex in graph.vertices() {
        let weight = lambda * graph.vertex_weight(vertex) as i64;
        match forced[vertex as usize] {
            Some(half) => constant += if half == 0 { weight } else { 0 },
            None => cost[vertex as usize][0] += weight,
        }
        for (later, weight) in graph.edges_of(vertex).filter(|&(n, _)| n > vertex) {
            let weight = weight as i64 * PARTS;
            match (forced[vertex as usize], forced[later as usize]) {
                (None, None) => {
                    network.add_edge(node(vertex), node(later), weight as u64);
                    network.add_edge(node(later), node(vertex), UNLIMITED);
                }
                (Some(0), Some(1)) => constant += weight,
                (Some(0), None) => cost[later as usize][1] += weight,
                (None, Some(1)) => cost[vertex as usize][0] += weight,
                _ => {}
            }
        }
    }
    for (vertex, [first, second]) in (0..).zip(&cost) {
        constant += first.min(second);
        if second > first {
            network.add_edge(source, node(vertex), (second - first) as u64);
        } else if first > second {
            network.add_edge(node(vertex), sink, (first - second) as u64);
        }
    }
    let (flow, flows) = dinics(&network, source, sink);
    let reached = reached_from(source, &network, &flows);
    let is_first = |&vertex: &u32| reached[vertex as usize] || forced[vertex as usize] == Some(0);
    let weight = graph.vertices().filter(is_first).map(|vertex| graph.vertex_weight(vertex) as i64).sum();
    (constant + flow as i64, weight)
}

/// The nodes that more flow could reach: the first side of the minimum cut.
fn reached_from(source: NodeIndex, network: &DiGraph<(), u64>, flows: &[u64]) -> Vec<bool> {
    let mut reached = vec![false; network.node_count()];
    reached[source.index()] = true;
    let mut stack = vec![source];
    while let Some(node) = stack.pop() {
        let forth = network.edges(node).filter(|arc| flows[arc.id().index()] < *arc.weight()).map(|arc| arc.target());
        let back = network.edges_directed(node, petgraph::Direction::Incoming);
        let back = back.filter(|arc| flows[arc.id().index()] > 0).map(|arc| arc.source());
        for next in forth.chain(back) {
            if !std::mem::replace(&mut reached[next.index()], true) {
                stack.push(next);
            }
        }
    }
    reached
}

/// No acyclic halves within the imbalance cut less.
fn lower_bound(graph: &UndirectedGraph) -> i64 {
    let total = graph.total_vertex_weight();
    let most = PartitionRequest::new(2, EPSILON, 0).capacity(0, total);
    let forced = forced(graph, most);
    let (most, fewest) = (most as i64, (total - most) as i64);
    let (mut low, mut high) = (-20 * PARTS, 20 * PARTS);
    let mut bound = 0;
    while low < high {
        let lambda = (low + high).div_euclid(2);
        let (value, weight) = least(graph, &forced, lambda);
        let asked = if lambda >= 0 { most } else { fewest };
        bound = bound.max((value - lambda * asked).div_euclid(PARTS));
        if weight > asked { low = lambda + 1 } else { high = lambda }
    }
    bound
}

fn cut(graph: &UndirectedGraph, preset: Preset, acyclic: bool) -> i64 {
    let multilevel = Multilevel { preset, coarsening: Coarsening::Clusters, objective: Objective::Cut, acyclic };
    let partition = multilevel.partition(graph, &PartitionRequest::new(2, EPSILON, 1)).expect("halves");
    quality::edge_cut(graph, &partition) as i64
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let preset = arguments.next().unwrap_or_else(|| "laich4".to_owned());
    let ops = arguments.next().map_or(10_000.0, |text| text.parse().expect("a number of ops"));
    let graph = leveled(&preset, ops);
    let bound = lower_bound(&graph);
    println!("{preset} of {ops} ops, imbalance {EPSILON}: acyclic halves cut at least {bound}");
    for (name, preset) in [("default", Preset::Default), ("quality", Preset::Quality)] {
        let (free, acyclic) = (cut(&graph, preset, false), cut(&graph, preset, true));
        println!("{name}: {acyclic} if acyclic, {free} if not; the bound is {:.3} of that", bound as f64 / free as f64);
        assert!(bound <= acyclic, "a bound above a cut that was found is wrong");
    }
}
