//! Partitions of hypergraphs: judged from the definition, against all partitions, and against what graphs get.

use std::sync::Arc;

use placebench_algorithms::Spec;
use placebench_algorithms::partition::{Partition, PartitionRequest, quality, registry};
use placebench_datasets::{Hypergraph, SplitMix64, UndirectedGraph};
use proptest::prelude::*;

fn partition(spec: &str, nets: &Arc<Hypergraph>, blocks: u32, epsilon: f64) -> Partition {
    let graph = nets.to_graph().expect("small weights");
    let request = PartitionRequest { nets: Some(Arc::clone(nets)), ..PartitionRequest::new(blocks, epsilon, 1) };
    let spec: Spec = spec.parse().expect("a spec");
    registry::partitioner(&spec).expect("a partitioner").partition(&graph, &request).expect("a partition")
}

/// Random nets of 2 to `most` pins, with weights from 1 to 9.
fn random_nets(seed: u64, vertices: usize, count: usize, most: usize) -> Arc<Hypergraph> {
    let mut random = SplitMix64::new(seed);
    let (mut offsets, mut pins, mut weights) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..count {
        pins.extend((0..2 + random.below(most - 1)).map(|_| random.below(vertices) as u32));
        offsets.push(pins.len() as u64);
        weights.push(1 + random.below(9) as u64);
    }
    Arc::new(Hypergraph::from_nets(vertices, offsets, pins, Some(weights), None).expect("nets"))
}

/// The least connectivity of all partitions with at most `most` vertices in a block.
fn optimum(nets: &Hypergraph, blocks: u32, most: usize) -> u64 {
    let vertices = nets.vertex_count() as u32;
    let mut best = u64::MAX;
    for code in 0..u64::from(blocks).pow(vertices) {
        let digit = |at: u32| (code / u64::from(blocks).pow(at) % u64::from(blocks)) as u32;
        let block_of: Vec<u32> = (0..vertices).map(digit).collect();
        if (0..blocks).all(|block| block_of.iter().filter(|&&own| own == block).count() <= most) {
            best = best.min(quality::connectivity(nets, &Partition { blocks, block_of }));
        }
    }
    best
}

#[test]
fn small_hypergraphs_nearly_always_cost_as_little_as_any() {
    let (mut met, mut tried) = (0, 0);
    for seed in 0..30 {
        // Some with blocks that are all full, where single moves lead nowhere.
        for (vertices, blocks, most) in [(10, 2, 5), (9, 2, 5), (8, 3, 4), (8, 4, 3)] {
            let nets = random_nets(seed, vertices, 12, 5);
            // Room for no more than `most` vertices.
            let epsilon = most as f64 * f64::from(blocks) / vertices as f64 - 1.0;
            let found = partition("multilevel(preset=quality,objective=connectivity)", &nets, blocks, epsilon);
            let (cost, least) = (quality::connectivity(&nets, &found), optimum(&nets, blocks, most));
            assert!(cost >= least && cost <= least + least / 3, "{seed}, {blocks} blocks: {cost}, optimum {least}");
            (met, tried) = (met + u32::from(cost == least), tried + 1);
        }
    }
    assert!(met * 10 >= tried * 9, "{met} of {tried}");
}

#[test]
fn nets_of_two_pins_cost_what_edges_do() {
    for seed in 0..5 {
        let nets = random_nets(seed, 600, 1500, 2);
        let graph = nets.to_graph().expect("small weights");
        let of_nets = partition("multilevel(objective=connectivity)", &nets, 4, 0.03);
        let of_edges = partition("multilevel", &nets, 4, 0.03);
        let cost = quality::connectivity(&nets, &of_nets);
        assert_eq!(cost, quality::edge_cut(&graph, &of_nets));
        assert!(cost <= quality::edge_cut(&graph, &of_edges), "seed {seed}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing_for_nets() {
    // A band of nets in an order that says nothing, and a few that reach far: large enough for all that threads share.
    let (vertices, mut random) = (60_000u32, SplitMix64::new(3));
    let name = |at: u32| (u64::from(at) * 23_003 % u64::from(vertices)) as u32;
    let (mut offsets, mut pins) = (vec![0], Vec::new());
    for at in 0..vertices {
        pins.extend([1, 2, 3, 150, 151].map(|step| name((at + step) % vertices)));
        if at % 50 == 0 {
            pins.push(random.below(vertices as usize) as u32);
        }
        offsets.push(pins.len() as u64);
    }
    let nets = Arc::new(Hypergraph::from_nets(vertices as usize, offsets, pins, None, None).expect("nets"));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| partition("multilevel(objective=connectivity)", &nets, 6, 0.03))
    };
    assert_eq!(on(1), on(3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_hypergraph_gets_blocks_that_fit_and_cost_no_more_than_those_of_its_graph(
        seed in any::<u64>(), vertices in 1usize..120, count in 0usize..200, most in 2usize..30, blocks in 1u32..9,
    ) {
        let nets = random_nets(seed, vertices, count, most);
        let of_edges = quality::connectivity(&nets, &partition("multilevel", &nets, blocks, 0.1));
        let capacity = PartitionRequest::new(blocks, 0.1, 1).capacity(0, vertices as u64);
        for objective in ["connectivity", "traffic"] {
            let found = partition(&format!("multilevel(objective={objective})"), &nets, blocks, 0.1);
            prop_assert_eq!(found.block_of.len(), vertices);
            let graph = UndirectedGraph::from_edges(vertices, std::iter::empty(), None).expect("no edges");
            let weights = quality::block_weights(&graph, &found);
            prop_assert!(weights.iter().all(|&weight| weight <= capacity), "{:?} of {}", weights, capacity);
            prop_assert!(quality::connectivity(&nets, &found) <= of_edges);
        }
    }
}

/// Tensors of random sizes, each made by a vertex and read by some of the next 30: the edges and the nets.
fn random_tensors(seed: u64, vertices: usize) -> (UndirectedGraph, Arc<Hypergraph>) {
    let mut random = SplitMix64::new(seed);
    let (mut edges, mut offsets, mut pins, mut weights) = (Vec::new(), vec![0], Vec::new(), Vec::new());
    for producer in 0..vertices - 1 {
        let mut readers: Vec<usize> = (0..1 + random.below(6)).map(|_| producer + 1 + random.below(30)).collect();
        readers.iter_mut().for_each(|reader| *reader = (*reader).min(vertices - 1));
        readers.sort_unstable();
        readers.dedup();
        let weight = 1 + random.below(100) as u64;
        edges.extend(readers.iter().map(|&reader| (producer as u32, reader as u32, weight)));
        pins.extend([producer].iter().chain(&readers).map(|&pin| pin as u32));
        offsets.push(pins.len() as u64);
        weights.push(weight);
    }
    let graph = UndirectedGraph::from_edges(vertices, edges.into_iter(), None).expect("a graph");
    (graph, Arc::new(Hypergraph::from_nets(vertices, offsets, pins, Some(weights), None).expect("nets")))
}

#[test]
fn acyclic_blocks_for_nets_cost_no_more_with_more_effort_and_no_more_than_slabs() {
    let mut fewer = 0;
    for (seed, vertices, blocks) in [(0, 80, 2), (1, 200, 4), (2, 700, 3), (3, 1500, 8), (4, 3000, 4)] {
        let (graph, nets) = random_tensors(seed, vertices);
        let request = PartitionRequest { nets: Some(Arc::clone(&nets)), ..PartitionRequest::new(blocks, 0.05, 1) };
        let cost = |spec: &str| {
            let spec: Spec = spec.parse().expect("a spec");
            let found =
                registry::partitioner(&spec).expect("a partitioner").partition(&graph, &request).expect("blocks");
            let most = request.capacity(0, graph.total_vertex_weight());
            assert!(quality::block_weights(&graph, &found).into_iter().all(|weight| weight <= most), "{spec} {seed}");
            for net in 0..nets.net_count() {
                let blocks: Vec<u32> = nets.pins(net).iter().map(|&pin| found.block_of[pin as usize]).collect();
                assert!(blocks.iter().all(|&block| block >= blocks[0]), "{spec} {seed}: a tensor goes back");
            }
            quality::connectivity(&nets, &found)
        };
        let presets = ["quality", "default", "fast"]
            .map(|preset| cost(&format!("multilevel(preset={preset},acyclic=true,objective=connectivity)")));
        assert!(presets.is_sorted(), "{seed}: {presets:?}");
        assert!(presets[2] <= cost("level_slabs"), "{seed}: {presets:?}");
        fewer += u32::from(presets[1] < cost("multilevel(acyclic=true)"));
    }
    assert!(fewer >= 4, "nets are counted, not edges");
}

#[test]
fn fiduccia_mattheyses_counts_nets_if_it_is_told_to() {
    for scheme in ["recursive", "direct"] {
        let mut sums = [0; 2];
        for seed in 0..8 {
            let (_, nets) = random_tensors(seed, 400);
            for (objective, sum) in ["cut", "connectivity"].into_iter().zip(&mut sums) {
                let spec = format!("fiduccia_mattheyses(scheme={scheme},objective={objective})");
                let found = partition(&spec, &nets, 4, 0.05);
                let mut sizes = [0; 4];
                found.block_of.iter().for_each(|&block| sizes[block as usize] += 1);
                assert!(sizes.iter().all(|&size| size <= 105), "{spec} {seed}: {sizes:?}");
                *sum += quality::connectivity(&nets, &found);
            }
        }
        assert!(sums[1] < sums[0], "{scheme}: {sums:?}");
    }
}
