//! The definitions of LDG, Fennel, HDRF and greedy once more, as slowly as they read.

use placebench_algorithms::partition::PartitionRequest;
use placebench_datasets::UndirectedGraph;
use proptest::prelude::*;

use super::{cut_list, of_vertices};

/// Vertex by vertex in the order of ids, all blocks scored: (score, load, id) decides.
fn by_score(
    graph: &UndirectedGraph,
    request: &PartitionRequest,
    passes: u32,
    score: impl Fn(u64, u64, u64) -> f64,
) -> Vec<u32> {
    let total = graph.total_vertex_weight();
    let mut block_of = vec![None; graph.vertex_count()];
    for _ in 0..passes {
        let mut loads = vec![0u64; request.blocks as usize];
        for vertex in graph.vertices() {
            let weight = graph.vertex_weight(vertex);
            let room = |&block: &u32| loads[block as usize] + weight <= request.capacity(block, total);
            let affinity = |block: u32| {
                let there = graph.edges_of(vertex).filter(|&(n, _)| block_of[n as usize] == Some(block));
                there.map(|(_, weight)| weight).sum::<u64>()
            };
            let best = (0..request.blocks).filter(room).max_by(|&a, &b| {
                let load = |block: u32| loads[block as usize];
                let key = |block: u32| score(affinity(block), load(block), weight);
                key(a).total_cmp(&key(b)).then(load(b).cmp(&load(a))).then(b.cmp(&a))
            });
            let least = (0..request.blocks).min_by_key(|&block| loads[block as usize]).unwrap();
            let block = best.unwrap_or(least);
            block_of[vertex as usize] = Some(block);
            loads[block as usize] += weight;
        }
    }
    block_of.into_iter().flatten().collect()
}

/// Edge by edge; `choose` gets the replicas of the ends and the sizes, and answers with a preference for each block: the
/// highest wins, then the least size, then the id.
fn edge_by_edge(
    vertices: u32,
    edges: &[(u32, u32)],
    request: &PartitionRequest,
    mut prefer: impl FnMut((u32, u32), &[bool], &[bool], &[u64]) -> Vec<f64>,
) -> Vec<u32> {
    let blocks = request.blocks as usize;
    let mut on = vec![vec![false; blocks]; vertices as usize];
    let mut sizes = vec![0u64; blocks];
    let mut answer = Vec::new();
    for &(a, b) in edges {
        let preference = prefer((a, b), &on[a as usize], &on[b as usize], &sizes);
        let room = |&block: &usize| sizes[block] < request.capacity(block as u32, edges.len() as u64);
        let before = |&x: &usize, &y: &usize| {
            preference[x].total_cmp(&preference[y]).then(sizes[y].cmp(&sizes[x])).then(y.cmp(&x))
        };
        let block = (0..blocks).filter(room).max_by(before).unwrap();
        sizes[block] += 1;
        on[a as usize][block] = true;
        on[b as usize][block] = true;
        answer.push(block as u32);
    }
    answer
}

fn blocks_of(spec: &str, vertices: u32, edges: &[(u32, u32)], request: &PartitionRequest) -> Vec<u32> {
    cut_list(spec, vertices, edges, request).0.iter().map(|edge| edge.block).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn ldg_and_fennel_do_what_their_formulas_say(
        edges in proptest::collection::vec((0u32..40, 0u32..40, 0u64..4), 0..200),
        weights in proptest::option::of(proptest::collection::vec(0u64..4, 40)),
        blocks in prop_oneof![1u32..7, Just(70)],
        passes in 1u32..4,
    ) {
        let graph = UndirectedGraph::from_edges(40, edges.into_iter(), weights).unwrap();
        let request = PartitionRequest::new(blocks, 0.1, 0);
        let capacity = request.capacity(0, graph.total_vertex_weight()) as f64;
        let left = |load: u64| if capacity == 0.0 { 0.0 } else { 1.0 - load as f64 / capacity };
        let expected = by_score(&graph, &request, passes, |affinity, load, _| affinity as f64 * left(load));
        let found = of_vertices(&format!("ldg(passes={passes})")).partition(&graph, &request).unwrap();
        prop_assert_eq!(found.block_of, expected);

        let (n, m) = (graph.total_vertex_weight() as f64, graph.total_edge_weight() as f64);
        for gamma in [1.5, 2.0] {
            let alpha = if n == 0.0 { 0.0 } else { m * f64::from(blocks).powf(gamma - 1.0) / n.powf(gamma) };
            let marginal = |load: u64| match gamma {
                1.5 => alpha * gamma * (load as f64).sqrt(),
                _ => alpha * gamma * (load as f64).powf(gamma - 1.0),
            };
            let score = |affinity: u64, load: u64, weight: u64| affinity as f64 - weight as f64 * marginal(load);
            let expected = by_score(&graph, &request, passes, score);
            let found = of_vertices(&format!("fennel(passes={passes},gamma={gamma})")).partition(&graph, &request).unwrap();
            prop_assert_eq!(found.block_of, expected);
        }
    }

    #[test]
    fn hdrf_and_greedy_do_what_their_formulas_say(
        edges in proptest::collection::vec((0u32..30, 0u32..30), 0..300),
        blocks in prop_oneof![1u32..7, Just(70)],
        lambda in prop_oneof![Just(0.0), Just(0.7), Just(1.0), Just(4.0)],
    ) {
        let request = PartitionRequest::new(blocks, 0.05, 0);
        let mut degrees = [0u32; 30];
        let expected = edge_by_edge(30, &edges, &request, |(a, b), on_a, on_b, sizes| {
            degrees[a as usize] += 1;
            degrees[b as usize] += 1;
            let (of_a, of_b) = (f64::from(degrees[a as usize]), f64::from(degrees[b as usize]));
            let theta = |degree: f64| degree / (of_a + of_b);
            let most = *sizes.iter().max().unwrap() as f64;
            let least = *sizes.iter().min().unwrap() as f64;
            let score = |block: usize| {
                let gain = |on: &[bool], degree| if on[block] { 2.0 - theta(degree) } else { 0.0 };
                gain(on_a, of_a) + gain(on_b, of_b) + lambda / (1.0 + most - least) * (most - sizes[block] as f64)
            };
            (0..sizes.len()).map(score).collect()
        });
        prop_assert_eq!(blocks_of(&format!("hdrf(lambda={lambda})"), 30, &edges, &request), expected);

        // In both, in one, in none; a full block is skipped before the classes are compared, as in the algorithm.
        let expected = edge_by_edge(30, &edges, &request, |_, on_a, on_b, sizes| {
            let class = |block: usize| f64::from(u8::from(on_a[block]) + u8::from(on_b[block]));
            (0..sizes.len()).map(class).collect()
        });
        prop_assert_eq!(blocks_of("greedy", 30, &edges, &request), expected);
    }
}

#[test]
fn dbh_puts_all_edges_of_a_leaf_s_hub_where_the_leaf_hashes_to() {
    // A star's leaves have degree 1 and their edges go where they hash to; the hub is everywhere.
    let edges: Vec<(u32, u32)> = (1..2001).map(|leaf| (0, leaf)).collect();
    let request = PartitionRequest::new(4, 0.2, 9);
    let (_, cut) = cut_list("dbh", 2001, &edges, &request);
    assert_eq!((cut.replicas.of(0).count(), cut.replicas.total()), (4, 2004));
    // A second edge of each leaf, to a second hub, goes the same way.
    let both: Vec<(u32, u32)> = edges.iter().copied().chain((1..2001).map(|leaf| (leaf, 2001))).collect();
    let (assigned, cut) = cut_list("dbh", 2002, &both, &request);
    assert_eq!(cut.replicas.total(), 2008);
    assert!((0..2000).all(|at| assigned[at].block == assigned[at + 2000].block));
}

#[test]
fn greedy_with_known_degrees_follows_the_end_with_more_edges_to_come() {
    // Edges (0, 1) and (2, 3) part the blocks; then (0, 2): 0 has one edge to come, 2 none.
    let edges = [(0, 1), (2, 3), (0, 2), (0, 3)];
    let request = PartitionRequest::new(2, 1.0, 0);
    assert_eq!(blocks_of("greedy(degrees=known)", 4, &edges, &request)[..3], [0, 1, 0]);
    let other = [(0, 1), (2, 3), (0, 2), (2, 1)];
    assert_eq!(blocks_of("greedy(degrees=known)", 4, &other, &request)[..3], [0, 1, 1]);
}
