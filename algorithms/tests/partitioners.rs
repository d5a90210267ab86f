//! Laws that every partitioner obeys, on graphs that are easy, odd or planted.

use std::sync::Arc;

use placebench_algorithms::partition::{Partition, PartitionError, PartitionRequest, quality, registry};
use placebench_algorithms::{Spec, StopToken};
use placebench_datasets::{Hypergraph, UndirectedGraph, View, ViewOptions, catalogue};
use proptest::prelude::*;

/// Every entry with its defaults, and the variants that differ in more than effort.
fn specs() -> Vec<String> {
    let mut specs: Vec<String> = registry::PARTITIONERS.iter().map(|entry| entry.name.to_owned()).collect();
    specs.extend(
        [
            "multilevel(preset=fast)",
            "multilevel(preset=quality)",
            "multilevel(acyclic=true)",
            "multilevel(preset=fast,acyclic=true)",
            "multilevel(preset=quality,acyclic=true)",
            "multilevel(objective=connectivity)",
            "multilevel(objective=traffic,preset=quality)",
            "multilevel(coarsening=matching)",
            "fiduccia_mattheyses(scheme=direct)",
            "chunk(order=degree)",
            "metis(scheme=recursive)",
        ]
        .map(str::to_owned),
    );
    specs
}

fn partition(spec: &str, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
    let spec: Spec = spec.parse().expect("a spec");
    registry::partitioner(&spec).expect("a partitioner").partition(graph, request)
}

fn graph(vertices: usize, edges: &[(u32, u32)]) -> UndirectedGraph {
    UndirectedGraph::from_edges(vertices, edges.iter().map(|&(a, b)| (a, b, 1)), None).expect("edges between vertices")
}

fn grid(rows: u32, columns: u32) -> UndirectedGraph {
    let across = (0..rows).flat_map(|r| (1..columns).map(move |c| (r * columns + c - 1, r * columns + c)));
    let down = (1..rows).flat_map(|r| (0..columns).map(move |c| ((r - 1) * columns + c, r * columns + c)));
    graph((rows * columns) as usize, &across.chain(down).collect::<Vec<_>>())
}

fn path(vertices: u32) -> UndirectedGraph {
    graph(vertices as usize, &(1..vertices).map(|v| (v - 1, v)).collect::<Vec<_>>())
}

/// The undirected view of a graph of the catalogue.
fn of_catalogue(name: &str) -> UndirectedGraph {
    View::of_graph(&catalogue::load(name).unwrap().1, ViewOptions::default()).unwrap().graph().clone()
}

fn fits(graph: &UndirectedGraph, partition: &Partition, request: &PartitionRequest) -> bool {
    let total = graph.total_vertex_weight();
    quality::block_weights(graph, partition)
        .iter()
        .zip(0..)
        .all(|(&load, block)| load <= request.capacity(block, total))
}

/// METIS may exceed the imbalance, and refuses what it cannot do.
fn keeps_within(spec: &str) -> bool {
    !spec.starts_with("metis")
}

fn check(spec: &str, graph: &UndirectedGraph, request: &PartitionRequest) -> Option<Partition> {
    match partition(spec, graph, request) {
        Ok(partition) => {
            assert_eq!(partition.blocks, request.blocks, "{spec}");
            assert_eq!(partition.block_of.len(), graph.vertex_count(), "{spec}");
            assert!(partition.block_of.iter().all(|&block| block < request.blocks), "{spec}");
            Some(partition)
        }
        Err(PartitionError::Unsupported(_)) if spec.starts_with("metis") => None,
        Err(error) => panic!("{spec}: {error}"),
    }
}

fn odd_graphs() -> Vec<(&'static str, UndirectedGraph)> {
    let star: Vec<(u32, u32)> = (1..200).map(|leaf| (0, leaf)).collect();
    let complete: Vec<(u32, u32)> = (0..40).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    let islands: Vec<(u32, u32)> = (0..100).flat_map(|at| [(5 * at, 5 * at + 1), (5 * at + 1, 5 * at + 2)]).collect();
    vec![
        ("empty", graph(0, &[])),
        ("a single vertex", graph(1, &[])),
        ("no edges", graph(50, &[])),
        ("star", graph(200, &star)),
        ("complete", graph(40, &complete)),
        ("path", path(3000)),
        ("islands", graph(500, &islands)),
        ("grid", grid(40, 50)),
    ]
}

#[test]
fn odd_graphs_of_unit_weights_are_divided_within_capacity() {
    for (name, graph) in odd_graphs() {
        for blocks in [1, 2, 3, 8, 64] {
            for epsilon in [0.03, 0.2] {
                let request = PartitionRequest::new(blocks, epsilon, 7);
                for spec in specs() {
                    let Some(partition) = check(&spec, &graph, &request) else { continue };
                    assert!(!keeps_within(&spec) || fits(&graph, &partition, &request), "{spec} on {name}, {blocks}");
                }
            }
        }
    }
}

#[test]
fn zero_weights_and_huge_weights_are_no_trouble() {
    let edges = || (1..600u32).map(|v| (v / 2, v, if v % 7 == 0 { 0 } else { u64::MAX / 2000 }));
    let weights = [vec![0; 600], vec![u64::MAX / 700; 600], (0..600).map(|v| v % 3 * 1_000_000_007).collect()];
    for weights in weights {
        let graph = UndirectedGraph::from_edges(600, edges(), Some(weights)).unwrap();
        for blocks in [2, 7] {
            let request = PartitionRequest::new(blocks, 0.1, 1);
            for spec in specs() {
                let Some(partition) = check(&spec, &graph, &request) else { continue };
                let slabs_cannot = spec == "level_slabs" || spec.contains("acyclic") || spec.starts_with("chunk");
                let skip = !keeps_within(&spec) || slabs_cannot;
                assert!(skip || fits(&graph, &partition, &request), "{spec}, {blocks} blocks");
            }
        }
    }
}

#[test]
fn a_vertex_heavier_than_a_block_still_gets_one() {
    for weights in [vec![2], vec![1, 90, 1, 1]] {
        let count = weights.len();
        let edges = (1..count as u32).map(|v| (v - 1, v, 1));
        let graph = UndirectedGraph::from_edges(count, edges, Some(weights)).unwrap();
        for spec in specs() {
            check(&spec, &graph, &PartitionRequest::new(3, 0.2, 0));
        }
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let graph = path(10);
    let nonsense = [
        PartitionRequest { blocks: 0, ..PartitionRequest::new(1, 0.1, 0) },
        PartitionRequest::new(2, -0.1, 0),
        PartitionRequest::new(2, f64::NAN, 0),
        PartitionRequest { shares: Some(vec![1.0]), ..PartitionRequest::new(2, 0.1, 0) },
        PartitionRequest { shares: Some(vec![0.9, 0.9]), ..PartitionRequest::new(2, 0.1, 0) },
    ];
    for spec in specs() {
        for request in &nonsense {
            assert!(matches!(partition(&spec, &graph, request), Err(PartitionError::Unsupported(_))), "{spec}");
        }
    }
}

#[test]
fn shares_are_respected() {
    let graph = grid(60, 60);
    let request = PartitionRequest { shares: Some(vec![0.5, 0.3, 0.15, 0.05]), ..PartitionRequest::new(4, 0.03, 3) };
    for spec in specs().iter().filter(|spec| keeps_within(spec)) {
        let partition = check(spec, &graph, &request).expect("a partition");
        assert!(fits(&graph, &partition, &request), "{spec}");
    }
}

#[test]
fn planted_blocks_are_found() {
    // Eight blocks of 125, each a ring with chords; two edges between neighbours.
    let mut edges = Vec::new();
    for block in 0..8u32 {
        for at in 0..125 {
            for step in [1, 7, 31] {
                edges.push((block * 125 + at, block * 125 + (at + step) % 125));
            }
        }
        for at in [0, 60] {
            edges.push((block * 125 + at, (block + 1) % 8 * 125 + at + 1));
        }
    }
    // Numbered so that the numbers say nothing about the blocks.
    let number = |vertex: u32| (vertex * 387) % 1000;
    let edges: Vec<(u32, u32)> = edges.into_iter().map(|(a, b)| (number(a), number(b))).collect();
    let graph = graph(1000, &edges);
    for spec in ["multilevel", "multilevel(preset=quality)"] {
        for (blocks, cut) in [(2, 4), (8, 16)] {
            let partition = check(spec, &graph, &PartitionRequest::new(blocks, 0.03, 5)).unwrap();
            assert_eq!(quality::edge_cut(&graph, &partition), cut, "{spec}, {blocks} blocks");
        }
    }
}

#[test]
fn a_grid_is_halved_by_a_straight_line() {
    let graph = grid(64, 64);
    for spec in ["multilevel", "multilevel(preset=quality)", "level_slabs"] {
        let partition = check(spec, &graph, &PartitionRequest::new(2, 0.0, 2)).unwrap();
        assert_eq!(quality::edge_cut(&graph, &partition), 64, "{spec}");
    }
}

#[test]
fn hubs_share_blocks_where_that_cuts_less() {
    // A hundred hubs know each other and many leaves each, most leaves know one hub.
    let hubs = (0..100u32).flat_map(|a| (0..a).map(move |b| (a, b)));
    let leaves = (100..2000u32).map(|leaf| (leaf, leaf % 100));
    let graph = graph(4000, &hubs.chain(leaves).collect::<Vec<_>>());
    let request = PartitionRequest::new(2, 0.03, 1);
    let partition = check("multilevel", &graph, &request).unwrap();
    // Everything with an edge fits into one block: the other holds the isolated vertices.
    assert_eq!(quality::edge_cut(&graph, &partition), 0);
    assert!(fits(&graph, &partition, &request));
}

/// The partition, which must be the same on one thread and on some.
fn on_any_number_of_threads(
    spec: &str,
    graph: &UndirectedGraph,
    request: &PartitionRequest,
    some: &[usize],
) -> Partition {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| partition(spec, graph, request).unwrap())
    };
    let one = on(1);
    for &threads in some {
        assert_eq!(one, on(threads), "{spec} on {threads} threads");
    }
    one
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let graph = grid(100, 110);
    let request = PartitionRequest::new(12, 0.03, 11);
    for spec in specs() {
        on_any_number_of_threads(&spec, &graph, &request, &[2, 5]);
    }
}

#[test]
fn the_number_of_threads_changes_nothing_where_they_share_the_work() {
    // Large enough for ranges that are clustered at the same time, and so tangled that the boundary is large too.
    let graph = directed(70_000, 60_000, 3, |random| 1 + random % 4);
    for (spec, blocks) in [("multilevel(preset=fast)", 2), ("multilevel", 40)] {
        let request = PartitionRequest::new(blocks, 0.03, 7);
        let partition = on_any_number_of_threads(spec, &graph, &request, &[3]);
        assert!(fits(&graph, &partition, &request), "{spec}");
    }
    // Threads coarsen for all runs before they refine one each; one thread begins a run when it has finished the last.
    let (graph, request) = (grid(180, 160), PartitionRequest::new(6, 0.03, 7));
    let partition = on_any_number_of_threads("multilevel(preset=quality)", &graph, &request, &[2, 3]);
    assert!(fits(&graph, &partition, &request));
}

#[test]
fn seeds_make_a_difference_and_repeat() {
    let graph = grid(100, 100);
    let with = |seed| check("multilevel(preset=fast)", &graph, &PartitionRequest::new(9, 0.03, seed)).unwrap();
    assert_eq!(with(1), with(1));
    assert!((2..8).any(|seed| with(seed) != with(1)));
}

#[test]
fn the_slabs_of_training_steps_are_never_better_than_quality() {
    for name in ["resnet50", "transformer", "nmt"] {
        let graph = of_catalogue(name);
        for blocks in [2, 8] {
            let request = PartitionRequest::new(blocks, 0.03, 1);
            let slabs = check("level_slabs", &graph, &request).unwrap();
            let quality = check("multilevel(preset=quality)", &graph, &request).unwrap();
            if fits(&graph, &slabs, &request) {
                assert!(quality::edge_cut(&graph, &quality) <= quality::edge_cut(&graph, &slabs), "{name} {blocks}");
            }
        }
    }
}

#[test]
fn a_few_heavy_tensors_do_not_hide_the_halves_of_a_training_step() {
    let graph = of_catalogue("nmt");
    let cut = |spec: &str, seed| {
        let request = PartitionRequest::new(2, 0.03, seed);
        let partition = check(spec, &graph, &request).unwrap();
        assert!(fits(&graph, &partition, &request));
        quality::edge_cut(&graph, &partition)
    };
    let least = cut("multilevel(preset=quality)", 1);
    for seed in 1..=3 {
        assert!(cut("multilevel(preset=fast)", seed) <= 2 * least, "fast, seed {seed}");
        assert!(cut("multilevel", seed) <= least + least / 10, "default, seed {seed}");
    }
}

#[test]
fn heavy_operations_fill_many_blocks_within_their_bounds() {
    for name in ["nmt", "lstm_lm"] {
        let graph = of_catalogue(name);
        for seed in 1..=5 {
            let request = PartitionRequest::new(32, 0.03, seed);
            let partition = check("multilevel(preset=fast)", &graph, &request).unwrap();
            assert!(fits(&graph, &partition, &request), "{name}, seed {seed}");
        }
    }
}

#[test]
fn little_traffic_between_vertices_is_no_more_than_with_a_small_cut() {
    let mut lowered = false;
    for name in ["transformer", "nmt"] {
        let graph = of_catalogue(name);
        let request = PartitionRequest::new(8, 0.1, 1);
        let volume = |spec| quality::communication_volume(&graph, &check(spec, &graph, &request).unwrap());
        let (low, usual) = (volume("multilevel(objective=traffic)"), volume("multilevel"));
        assert!(low <= usual, "{name}: {low} and {usual}");
        lowered |= low < usual;
    }
    assert!(lowered);
}

#[test]
fn little_traffic_of_tensors_moves_fewer_bytes_than_a_small_cut() {
    for (name, blocks) in [("nmt", 8), ("nmt", 4), ("transformer", 8), ("lstm_lm", 4)] {
        let (_, dataflow) = catalogue::load(name).unwrap();
        let view = View::of_graph(&dataflow, ViewOptions::default()).unwrap();
        let (graph, nets) = (view.graph(), Arc::new(view.hypergraph(&dataflow).unwrap()));
        let request = PartitionRequest { nets: Some(Arc::clone(&nets)), ..PartitionRequest::new(blocks, 0.03, 1) };
        let bytes = |objective: &str, more: &str| {
            let spec = &format!("multilevel({more}objective={objective})");
            let partition = check(spec, graph, &request).unwrap();
            assert!(more.contains("acyclic") || fits(graph, &partition, &request), "{spec}, {name}");
            (quality::connectivity(&nets, &partition), partition)
        };
        for more in ["", "acyclic=true,"] {
            let ((few, partition), (usual, _)) = (bytes("traffic", more), bytes("cut", more));
            // Acyclic blocks may leave no single vertex a way.
            assert!(
                few < usual || (few == usual && !more.is_empty()),
                "{name}, {blocks} blocks, {more} {few} and {usual} bytes"
            );
            assert!(more.is_empty() || is_monotone(graph, &partition), "{name}");
        }
    }
}

#[test]
fn nets_of_another_graph_are_refused() {
    let nets = Arc::new(Hypergraph::from_nets(3, vec![0, 2], vec![0, 2], None, None).unwrap());
    let request = PartitionRequest { nets: Some(nets), ..PartitionRequest::new(2, 0.1, 0) };
    assert!(partition("multilevel", &path(9), &request).is_ok(), "it does not look at them");
    let refused = partition("multilevel(objective=traffic)", &path(9), &request);
    assert!(matches!(refused, Err(PartitionError::Unsupported(reason)) if reason.starts_with("the nets have 3 vert")));
}

/// Whether every edge leads from the lower number to the same or a later block.
fn is_monotone(graph: &UndirectedGraph, partition: &Partition) -> bool {
    let block = |vertex: u32| partition.block_of[vertex as usize];
    graph.vertices().all(|v| graph.neighbours(v).iter().all(|&n| n < v || block(v) <= block(n)))
}

#[test]
fn acyclic_blocks_of_training_steps_form_no_cycle() {
    for name in ["convnet", "lstm_lm", "transformer"] {
        let graph = of_catalogue(name);
        for blocks in [2, 4, 8] {
            let partition = check("multilevel(acyclic=true)", &graph, &PartitionRequest::new(blocks, 0.1, 1)).unwrap();
            assert!(is_monotone(&graph, &partition), "{name} {blocks}");
        }
    }
}

const ACYCLIC: [&str; 3] =
    ["multilevel(acyclic=true)", "multilevel(preset=fast,acyclic=true)", "multilevel(preset=quality,acyclic=true)"];

/// Random directed acyclic graphs, each edge from the lower to the higher number, none of whose vertices is isolated.
fn directed(vertices: u32, edges: usize, seed: u64, weights: impl Fn(u64) -> u64) -> UndirectedGraph {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let path = |vertex: u32| (vertex.saturating_sub(1 + vertex % 3), vertex);
    let mut list: Vec<(u32, u32, u64)> = (1..vertices).map(path).map(|(a, b)| (a, b, 1 + next(9))).collect();
    for _ in 0..edges {
        let (a, b) = (next(u64::from(vertices)) as u32, next(u64::from(vertices)) as u32);
        list.push((a, b, 1 + next(9)));
    }
    let weights = (0..vertices).map(|_| weights(next(1 << 20))).collect();
    UndirectedGraph::from_edges(vertices as usize, list.into_iter(), Some(weights)).unwrap()
}

/// The least cut of all partitions in which every edge leads to the same or a later block and no block is too heavy.
fn least_acyclic_cut(graph: &UndirectedGraph, request: &PartitionRequest) -> Option<u64> {
    let (count, blocks) = (graph.vertex_count(), request.blocks);
    let total = graph.total_vertex_weight();
    let mut least: Option<u64> = None;
    let mut partition = Partition { blocks, block_of: vec![0; count] };
    for mut number in 0..u64::from(blocks).pow(count as u32) {
        for block in &mut partition.block_of {
            *block = (number % u64::from(blocks)) as u32;
            number /= u64::from(blocks);
        }
        let loads = quality::block_weights(graph, &partition);
        let is_light = loads.iter().zip(0..).all(|(&load, block)| load <= request.capacity(block, total));
        if is_light && is_monotone(graph, &partition) {
            let cut = quality::edge_cut(graph, &partition);
            least = Some(least.map_or(cut, |least| least.min(cut)));
        }
    }
    least
}

#[test]
fn acyclic_blocks_of_small_graphs_cut_as_little_as_any() {
    let mut optimal = [0; 3];
    let mut cases = 0;
    for seed in 0..30u64 {
        for (vertices, blocks) in [(11, 2), (8, 3)] {
            let graph = directed(vertices, 2 + seed as usize % 12, seed, |random| 1 + random % 3);
            let request = PartitionRequest::new(blocks, 0.25, seed);
            let Some(least) = least_acyclic_cut(&graph, &request) else { continue };
            cases += 1;
            for (spec, optimal) in ACYCLIC.iter().zip(&mut optimal) {
                let found = check(spec, &graph, &request).unwrap();
                assert!(is_monotone(&graph, &found), "{spec} {seed}");
                if fits(&graph, &found, &request) {
                    let cut = quality::edge_cut(&graph, &found);
                    assert!(cut >= least, "{spec} {seed}: {cut} is less than the least, {least}");
                    *optimal += usize::from(cut == least);
                }
            }
        }
    }
    assert!(cases > 50, "{cases}");
    assert!(optimal[0] * 10 >= cases * 9 && optimal[2] * 10 >= cases * 9, "{optimal:?} of {cases}");
}

#[test]
fn acyclic_blocks_are_never_worse_than_slabs_whatever_the_weights() {
    let weights: [fn(u64) -> u64; 4] =
        [|_| 1, |random| random % 3, |random| if random % 50 == 0 { 1 << 45 } else { 1 }, |random| random << 30];
    for seed in 0..8u64 {
        let weights = weights[seed as usize % 4];
        let graph = directed(300 + 150 * seed as u32, 100 * seed as usize, seed, weights);
        for blocks in [2, 9] {
            let request = PartitionRequest::new(blocks, 0.05, seed);
            let total = graph.total_vertex_weight();
            let score = |partition: &Partition| {
                let loads = quality::block_weights(&graph, partition);
                let over = loads.iter().zip(0..).map(|(&load, b)| load.saturating_sub(request.capacity(b, total)));
                (over.sum::<u64>(), quality::edge_cut(&graph, partition))
            };
            let slabs = score(&check("level_slabs", &graph, &request).unwrap());
            for spec in ACYCLIC {
                let found = check(spec, &graph, &request).unwrap();
                assert!(is_monotone(&graph, &found), "{spec} {seed}");
                assert!(score(&found) <= slabs, "{spec} {seed} {blocks}: {:?} {slabs:?}", score(&found));
            }
        }
    }
}

#[test]
fn two_chains_are_taken_apart_where_no_slab_can() {
    // Two chains of 300, numbered in turns and tied only at their beginnings: a slab cuts both, a block a chain nothing but
    // the tie.
    let chains = (2..600u32).map(|vertex| (vertex - 2, vertex));
    let graph = graph(600, &chains.chain([(0, 1)]).collect::<Vec<_>>());
    let request = PartitionRequest::new(2, 0.0, 1);
    let cut = |spec| quality::edge_cut(&graph, &check(spec, &graph, &request).unwrap());
    assert_eq!((cut("level_slabs"), cut("multilevel(acyclic=true)")), (2, 1));
}

#[test]
fn whoever_is_told_to_stop_stops() {
    let graph = grid(50, 50);
    let stop = StopToken::default();
    stop.stop();
    let request = PartitionRequest { stop, ..PartitionRequest::new(4, 0.03, 1) };
    for spec in ["multilevel", "multilevel(acyclic=true)", "fiduccia_mattheyses", "level_slabs"] {
        assert_eq!(partition(spec, &graph, &request), Err(PartitionError::Stopped), "{spec}");
    }
}

fn weighted_graphs() -> impl Strategy<Value = UndirectedGraph> {
    (1usize..120).prop_flat_map(|vertices| {
        let end = 0..vertices as u32;
        let edges = prop::collection::vec((end.clone(), end, 0u64..20), 0..400);
        let weights = prop::collection::vec(0u64..10, vertices);
        (edges, weights).prop_map(move |(edges, weights)| {
            UndirectedGraph::from_edges(vertices, edges.into_iter(), Some(weights)).expect("edges between vertices")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_graph_gets_a_block_for_every_vertex_and_acyclic_ones_stay_so(
        graph in weighted_graphs(), blocks in 1u32..12, seed in 0u64..100,
    ) {
        let request = PartitionRequest::new(blocks, 0.2, seed);
        for spec in specs() {
            let Some(partition) = check(&spec, &graph, &request) else { continue };
            if spec.contains("acyclic") || spec == "level_slabs" {
                let isolated_or_monotone = is_monotone(&graph, &partition);
                prop_assert!(isolated_or_monotone, "{spec}");
            }
        }
    }
}

/// In a process of its own, [`metis_writes_nothing_to_standard_output`] calls METIS and prints nothing else.
const CHILD: &str = "PLACEBENCH_TEST_CALLS_METIS";

/// Small graphs and shares that differ up to fiftyfold: where METIS is left with sides that have no vertices.
fn call_metis_where_sides_are_left_empty() {
    let mut state = 1u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for case in 0..600 {
        let (count, blocks) = (2 + below(60), 2 + below(12));
        let parents: Vec<(u32, u32)> = (1..count).map(|v| (below(v) as u32, v as u32)).collect();
        let edges: Vec<(u32, u32)> =
            if case % 3 == 0 { (1..count as u32).map(|v| (v - 1, v)).collect() } else { parents };
        let weights = (case % 2 == 0).then(|| (0..count).map(|_| [0, 1, 1, 10, 1000][below(5)]).chain([1]).collect());
        let edges = edges.into_iter().map(|(a, b)| (a, b, 1)).chain([(0, count as u32, 1)]);
        let graph = UndirectedGraph::from_edges(count + 1, edges, weights).expect("edges between vertices");
        let speeds: Vec<f64> = (0..blocks).map(|_| [1.0, 1.0, 8.0, 50.0][below(4)]).collect();
        let shares = (case % 5 > 0).then(|| speeds.iter().map(|speed| speed / speeds.iter().sum::<f64>()).collect());
        let request = PartitionRequest { shares, ..PartitionRequest::new(blocks as u32, 0.03, case) };
        for spec in ["metis", "metis(scheme=recursive)"] {
            if let Err(error) = partition(spec, &graph, &request) {
                panic!(
                    "{spec}, case {case}: {error}, {blocks} blocks, {:?} {:?}",
                    request.shares,
                    graph.vertices().map(|v| graph.vertex_weight(v)).collect::<Vec<_>>()
                );
            }
        }
    }
}

#[test]
fn metis_writes_nothing_to_standard_output() {
    if std::env::var_os(CHILD).is_some() {
        return call_metis_where_sides_are_left_empty();
    }
    let tests = std::env::current_exe().expect("this program");
    let this = ["--exact", "partitioners::metis_writes_nothing_to_standard_output", "--nocapture", "--test-threads=1"];
    let output = std::process::Command::new(tests).args(this).env(CHILD, "1").output().expect("a child");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    // What the test harness says, and nothing of METIS's.
    assert!(printed.contains("1 passed") && !printed.contains("***"), "{printed}");
}
