//! How little acyclic halves of a leveled graph can cut, and that this is more than halves with cycles do.
//!
//! Let the halves weigh at most the capacity. The ancestors of a vertex of the first half are in the first half: a vertex whose
//! ancestors, itself included, weigh more than the capacity belongs to the second half in every acyclic partition, and
//! likewise one with too heavy descendants to the first. With these fixed the minimum cut among the others, of any weight,
//! bounds all acyclic cuts from below; a multiplier λ on the weight that is missing makes the bound larger.

use placebench_datasets::UndirectedGraph;
use placebench_generator::{LeveledParams, generate_leveled};

use super::acyclic::max_flow::{Arc, Network, UNLIMITED};
use crate::partition::{Aim, Coarsening, Multilevel, Preset};
use crate::partition::{Partitioner, Request, TopologicalView, quality};

fn leveled(preset: &str, ops: f64) -> UndirectedGraph {
    let params = LeveledParams::preset(preset).unwrap();
    let factor = ops / params.nodes.unwrap() as f64;
    TopologicalView::new(&generate_leveled(&params.scaled(factor), 1).unwrap().graph).unwrap().graph
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
    let mut cost = vec![[0i64; 2]; graph.vertex_count()];
    let (mut arcs, mut constant) = (Vec::new(), 0);
    for vertex in graph.vertices() {
        let weight = lambda * graph.vertex_weight(vertex) as i64;
        match forced[vertex as usize] {
            Some(half) => constant += if half == 0 { weight } else { 0 },
            None => cost[vertex as usize][0] += weight,
        }
        for (later, weight) in graph.edges_of(vertex).filter(|&(n, _)| n > vertex) {
            let weight = weight as i64 * PARTS;
            match (forced[vertex as usize], forced[later as usize]) {
                (None, None) => arcs.push(Arc { ends: [vertex, later], there: weight, back: UNLIMITED }),
                (Some(0), Some(1)) => constant += weight,
                (Some(0), None) => cost[later as usize][1] += weight,
                (None, Some(1)) => cost[vertex as usize][0] += weight,
                _ => {}
            }
        }
    }
    constant += cost.iter().map(|cost| cost[0].min(cost[1])).sum::<i64>();
    let mut network = Network::new(&arcs, cost.iter().map(|cost| cost[1] - cost[0]).collect());
    let flow = network.maximise().expect("a limited flow");
    let first = network.source_side().into_iter().zip(forced).map(|(side, &forced)| side || forced == Some(0));
    let weight =
        first.zip(graph.vertices()).map(|(first, v)| if first { graph.vertex_weight(v) as i64 } else { 0 }).sum();
    (constant + flow, weight)
}

/// No acyclic halves within the imbalance cut less.
fn lower_bound(graph: &UndirectedGraph, epsilon: f64) -> i64 {
    let total = graph.total_vertex_weight();
    let most = Request::new(2, epsilon, 0).capacity(0, total);
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
    let multilevel = Multilevel { preset, coarsening: Coarsening::Clusters, aim: Aim::Cut, acyclic };
    let partition = multilevel.partition(graph, &Request::new(2, 0.03, 1)).unwrap();
    quality::edge_cut(graph, &partition) as i64
}

#[test]
fn the_bound_of_a_small_graph_is_below_the_optimum_and_above_nothing() {
    // Two chains that meet: 0 → 2 → 4 → 6, 1 → 3 → 5 → 6 and 6 → 7.
    let edges = [(0, 2, 5), (2, 4, 2), (4, 6, 5), (1, 3, 5), (3, 5, 3), (5, 6, 5), (6, 7, 9)];
    let graph = UndirectedGraph::from_edges(8, edges.into_iter(), None).unwrap();
    let (first, second) = (Some(0), Some(1));
    assert_eq!(forced(&graph, 4), [first, first, None, None, None, None, second, second]);
    // {0, 1, 2, 3} and the others.
    assert_eq!(lower_bound(&graph, 0.0), 5);
    assert_eq!(cut(&graph, Preset::Default, true), 5);
}

#[test]
fn acyclic_halves_of_a_graph_with_long_edges_must_cut_more_than_any_halves_need_to() {
    let graph = leveled("laich4", 10_000.0);
    let (bound, with_cycles) = (lower_bound(&graph, 0.03), cut(&graph, Preset::Default, false));
    let found = cut(&graph, Preset::Default, true);
    assert!(bound as f64 > 1.03 * with_cycles as f64, "{bound} {with_cycles}");
    assert!(bound <= found);
}

#[test]
#[ignore = "a minute"]
fn bounds_of_the_graphs_compared() {
    for name in ["laich3", "laich6"] {
        let graph = leveled(name, 88_000.0);
        let bound = lower_bound(&graph, 0.03);
        let cuts =
            [false, true].map(|acyclic| [Preset::Default, Preset::Quality].map(|preset| cut(&graph, preset, acyclic)));
        println!("{name}: bound {bound}; default and quality with cycles {:?}, acyclic {:?}", cuts[0], cuts[1]);
        assert!(cuts[1].into_iter().all(|acyclic| bound <= acyclic));
    }
}
