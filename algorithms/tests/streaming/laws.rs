//! What holds for every streaming partitioner on every graph.

use std::collections::BTreeSet;

use placebench_algorithms::StopToken;
use placebench_algorithms::partition::registry::{EDGE_PARTITIONERS, edge_partitioner, partitioner};
use placebench_algorithms::partition::streaming::StreamError;
use placebench_algorithms::partition::{PartitionError, PartitionRequest, quality};
use placebench_datasets::UndirectedGraph;
use placebench_datasets::stream::EdgeList;
use proptest::prelude::*;

use super::{cut_list, of_edges, of_vertices};

const EDGES: [&str; 14] = [
    "hdrf",
    "hdrf(lambda=0)",
    "hdrf(lambda=5,degrees=known)",
    "dbh",
    "dbh(degrees=partial)",
    "greedy",
    "greedy(degrees=known)",
    "adwise",
    "adwise(window=1)",
    "adwise(window=7,lambda=1)",
    "adwise(budget=2,threshold=-inf)",
    "adwise(max_window=4,lambda=0)",
    "adwise(spotlight=2)",
    "adwise(budget=64,threshold=1)",
];

const VERTICES: [&str; 14] = [
    "ldg",
    "ldg(order=random)",
    "ldg(order=bfs,passes=3)",
    "ldg(order=dfs)",
    "fennel",
    "fennel(gamma=1)",
    "fennel(gamma=2.2,order=random)",
    "fennel(order=bfs)",
    "fennel(order=dfs,passes=4)",
    "hdrf",
    "hdrf(order=random)",
    "dbh(order=dfs)",
    "greedy(order=bfs)",
    "adwise(order=random)",
];

fn edge_lists() -> impl Strategy<Value = (u32, Vec<(u32, u32)>)> {
    (1u32..60).prop_flat_map(|vertices| {
        let edges = proptest::collection::vec((0..vertices, 0..vertices), 0..250);
        (Just(vertices), edges)
    })
}

fn requests() -> impl Strategy<Value = PartitionRequest> {
    let blocks = prop_oneof![2u32..9, Just(64), Just(65), Just(130)];
    let shares = proptest::option::of(1u32..5);
    (blocks, prop_oneof![Just(0.0), Just(0.03), Just(0.5)], any::<u64>(), shares).prop_map(
        |(blocks, epsilon, seed, step)| {
            // Shares 1, 1 + step, 1, 1 + step and so on, in proportion.
            let raw = step.map(|step| (0..blocks).map(|block| f64::from(1 + step * (block % 2))).collect::<Vec<_>>());
            let shares = raw.map(|raw| raw.iter().map(|share| share / raw.iter().sum::<f64>()).collect());
            PartitionRequest { shares, ..PartitionRequest::new(blocks, epsilon, seed) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_edge_gets_one_block_within_capacity_and_the_cut_is_what_the_edges_say(
        (vertices, edges) in edge_lists(),
        request in requests(),
    ) {
        for spec in EDGES {
            let (assigned, cut) = cut_list(spec, vertices, &edges, &request);
            let mut seen = vec![false; edges.len()];
            let mut sizes = vec![0u64; request.blocks as usize];
            let mut sets = vec![BTreeSet::new(); vertices as usize];
            for edge in &assigned {
                prop_assert!(!std::mem::replace(&mut seen[edge.edge as usize], true), "{spec}");
                prop_assert_eq!(edge.ends, edges[edge.edge as usize], "{}", spec);
                sizes[edge.block as usize] += 1;
                sets[edge.ends.0 as usize].insert(edge.block);
                sets[edge.ends.1 as usize].insert(edge.block);
            }
            prop_assert!(seen.iter().all(|&seen| seen), "{spec}");
            for block in 0..request.blocks {
                prop_assert!(sizes[block as usize] <= request.capacity(block, edges.len() as u64), "{spec}: {sizes:?}");
            }
            for vertex in 0..vertices {
                prop_assert!(cut.replicas.of(vertex).eq(sets[vertex as usize].iter().copied()), "{spec}");
            }
            let replicated = sets.iter().filter(|set| !set.is_empty()).count();
            let replicas: usize = sets.iter().map(BTreeSet::len).sum();
            let factor = if replicated == 0 { 1.0 } else { replicas as f64 / replicated as f64 };
            prop_assert_eq!(cut.replication_factor(), factor, "{}", spec);
            let largest = *sizes.iter().max().unwrap() as f64 * f64::from(request.blocks);
            let imbalance = if edges.is_empty() { 0.0 } else { largest / edges.len() as f64 - 1.0 };
            prop_assert_eq!(cut.edge_imbalance(), imbalance, "{}", spec);
            prop_assert_eq!(&cut.edges_of_block, &sizes, "{}", spec);
            prop_assert_eq!(cut_list(spec, vertices, &edges, &request), (assigned, cut), "{}", spec);
        }
    }

    #[test]
    fn every_vertex_gets_a_block_within_capacity_and_the_seed_decides(
        (vertices, edges) in edge_lists(),
        request in requests(),
        weights in proptest::collection::vec(0u64..5, 60),
    ) {
        let edges = || edges.iter().enumerate().map(|(at, &(a, b))| (a, b, at as u64 % 4));
        let weights = &weights[..vertices as usize];
        let zero_one: Vec<u64> = weights.iter().map(|&weight| weight.min(1)).collect();
        for weights in [None, Some(zero_one), Some(weights.to_vec()), Some(vec![0; vertices as usize])] {
            let graph = UndirectedGraph::from_edges(vertices as usize, edges(), weights).unwrap();
            let total = graph.total_vertex_weight();
            let heaviest = graph.vertices().map(|vertex| graph.vertex_weight(vertex)).max().unwrap_or(0);
            for spec in VERTICES {
                let partition = of_vertices(spec).partition(&graph, &request).unwrap();
                prop_assert_eq!((partition.blocks, partition.block_of.len()), (request.blocks, vertices as usize));
                prop_assert!(partition.block_of.iter().all(|&block| block < request.blocks), "{spec}");
                for (block, weight) in quality::block_weights(&graph, &partition).into_iter().enumerate() {
                    let capacity = request.capacity(block as u32, total);
                    // Weights above 1 may leave no room anywhere: then the least loaded block gets one more.
                    let slack = if heaviest > 1 { heaviest } else { 0 };
                    prop_assert!(weight <= capacity + slack, "{spec}: {weight} of {capacity}");
                }
                let again = of_vertices(spec).partition(&graph, &request).unwrap();
                prop_assert_eq!(again, partition, "{}", spec);
            }
        }
    }
}

#[test]
fn graphs_without_vertices_or_edges_are_no_trouble() {
    for spec in EDGES {
        for (vertices, edges) in [(0, vec![]), (5, vec![]), (1, vec![(0, 0); 9])] {
            let (assigned, cut) = cut_list(spec, vertices, &edges, &PartitionRequest::new(3, 0.0, 1));
            assert_eq!((assigned.len(), cut.replicas.vertex_count()), (edges.len(), vertices as usize), "{spec}");
            assert_eq!(cut.replication_factor(), if edges.is_empty() { 1.0 } else { 3.0 }, "{spec}");
        }
    }
    for spec in VERTICES {
        for vertices in [0, 1, 7] {
            let graph = UndirectedGraph::from_edges(vertices, [].into_iter(), None).unwrap();
            let partition = of_vertices(spec).partition(&graph, &PartitionRequest::new(3, 0.0, 1)).unwrap();
            let weights = quality::block_weights(&graph, &partition);
            assert!(weights.iter().all(|&weight| weight <= vertices.div_ceil(3) as u64), "{spec}");
        }
    }
}

#[test]
fn components_that_fit_are_not_cut() {
    // Four cliques of eight in four blocks, one after the other in the stream.
    let clique = |first: u32| (0..8).flat_map(move |a| (0..a).map(move |b| (first + a, first + b)));
    let edges: Vec<(u32, u32)> = (0..4).flat_map(|index| clique(8 * index)).collect();
    let graph = UndirectedGraph::from_edges(32, edges.iter().map(|&(a, b)| (a, b, 1)), None).unwrap();
    for spec in ["ldg", "ldg(order=bfs)", "ldg(order=dfs,passes=2)"] {
        let partition = of_vertices(spec).partition(&graph, &PartitionRequest::new(4, 0.0, 0)).unwrap();
        assert_eq!(quality::edge_cut(&graph, &partition), 0, "{spec}");
    }
    for spec in ["hdrf(lambda=0.5)", "greedy"] {
        assert_eq!(cut_list(spec, 32, &edges, &PartitionRequest::new(4, 0.0, 0)).1.replication_factor(), 1.0, "{spec}");
    }
}

#[test]
fn restreaming_a_random_order_cuts_less() {
    let side = 60;
    let right = (0..side * side).filter(|v| v % side + 1 < side).map(|v| (v, v + 1, 1));
    let down = (0..side * (side - 1)).map(|v| (v, v + side, 1));
    let grid = UndirectedGraph::from_edges((side * side) as usize, right.chain(down), None).unwrap();
    for name in ["ldg", "fennel"] {
        let cut = |passes: u32| {
            let spec = format!("{name}(order=random,passes={passes})");
            quality::edge_cut(&grid, &of_vertices(&spec).partition(&grid, &PartitionRequest::new(8, 0.03, 3)).unwrap())
        };
        assert!(cut(10) * 3 < cut(1) * 2, "{name}: {} after one pass, {} after ten", cut(1), cut(10));
    }
}

#[test]
fn who_is_asked_to_stop_stops() {
    let stop = StopToken::default();
    stop.stop();
    let request = PartitionRequest { stop, ..PartitionRequest::new(2, 0.1, 0) };
    let graph = UndirectedGraph::from_edges(3, [(0, 1, 1)].into_iter(), None).unwrap();
    for spec in VERTICES {
        let answer = of_vertices(spec).partition(&graph, &request);
        assert_eq!(answer, Err(PartitionError::Stopped), "{spec}");
    }
    for entry in EDGE_PARTITIONERS.iter() {
        let mut edges = EdgeList::new(3, &[(0, 1)]).unwrap();
        let answer = of_edges(&entry.name).partition_edges(&mut edges, &request, &mut |_| Ok(()));
        assert!(matches!(answer, Err(StreamError::Stopped)), "{}", entry.name);
    }
}

#[test]
fn wrong_parameters_are_refused() {
    for spec in ["ldg(order=dps)", "ldg(passes=0)", "fennel(gamma=0.5)", "fennel(gamma=inf)", "hdrf(lambda=-1)"] {
        assert!(partitioner(&spec.parse().unwrap()).is_err(), "{spec}");
    }
    for parameter in
        ["window=0", "window=x", "budget=0", "lambda=-1", "lambda=nan", "threshold=nan", "spotlight=0", "latency=-1"]
    {
        let spec = format!("adwise({parameter})");
        let built = edge_partitioner(&spec.parse().unwrap());
        assert!(built.is_err(), "{spec}");
    }
    let mut edges = EdgeList::new(3, &[(0, 1)]).unwrap();
    let wide =
        of_edges("adwise(spotlight=4)").partition_edges(&mut edges, &PartitionRequest::new(3, 0.0, 0), &mut |_| Ok(()));
    assert!(wide.unwrap_err().to_string().contains("needs as many blocks, but there are 3"));
}
