//! Random families keep their distributions.

use placebench_datasets::{DataflowGraph, OpId};

use super::{graph, is_plausible, undirected};

/// Whether a number of successes is within four standard deviations of its mean.
fn is_binomial(successes: f64, trials: f64, probability: f64) -> bool {
    (successes - trials * probability).abs() <= 4.0 * (trials * probability * (1.0 - probability)).sqrt() + 1e-9
}

fn layer_of(graph: &DataflowGraph, op: OpId) -> u32 {
    let label = graph.layers().and_then(|layers| layers.get(op.index())).unwrap();
    label.strip_prefix("layer_").unwrap().parse().unwrap()
}

#[test]
fn layered_graphs_spread_ops_uniformly_and_draw_each_pair_with_the_probability() {
    let (n, k, p) = (2000, 8, 0.03);
    for adjacent in [false, true] {
        let graph = graph(&format!("layered(nodes={n},layers={k},probability={p},adjacent={adjacent})"), 5);
        let layers: Vec<u32> = graph.op_ids().map(|op| layer_of(&graph, op)).collect();
        let mut sizes = vec![0.0; k];
        layers.iter().for_each(|&layer| sizes[layer as usize] += 1.0);
        let mean = n as f64 / k as f64;
        assert!(is_plausible(sizes.iter().map(|size| (size - mean).powi(2) / mean).sum(), (k - 1) as f64), "{sizes:?}");
        let mut edges = vec![vec![0.0; k]; k];
        for (source, edge) in graph.edges() {
            edges[layers[source.index()] as usize][layers[edge.op.index()] as usize] += 1.0;
        }
        let mut chi_squared = 0.0;
        let mut freedom = 0.0;
        for from in 0..k {
            for to in 0..k {
                let has = from < to && (!adjacent || to == from + 1);
                let pairs = if has { sizes[from] * sizes[to] } else { 0.0 };
                assert!(has || edges[from][to] == 0.0);
                if has {
                    chi_squared += (edges[from][to] - pairs * p).powi(2) / (pairs * p * (1.0 - p));
                    freedom += 1.0;
                }
            }
        }
        assert!(is_plausible(chi_squared, freedom), "{chi_squared} with {freedom}");
    }
}

#[test]
fn erdos_renyi_in_degrees_are_binomial() {
    let (n, p) = (3000usize, 0.01);
    let graph = graph(&format!("erdos_renyi(nodes={n},probability={p})"), 2);
    let pairs = (n * (n - 1) / 2) as f64;
    assert!(is_binomial(graph.edge_count() as f64, pairs, p), "{}", graph.edge_count());
    let chi_squared: f64 = (500..n)
        .map(|op| {
            let variance = op as f64 * p * (1.0 - p);
            (graph.in_degree(OpId::new(op)) as f64 - op as f64 * p).powi(2) / variance
        })
        .sum();
    assert!(is_plausible(chi_squared, (n - 500) as f64), "{chi_squared}");
    assert_eq!(super::counts("erdos_renyi(nodes=50,probability=1)").1, 1225);
    assert_eq!(super::counts("erdos_renyi(nodes=50,probability=0)").1, 0);
}

/// For each op the set of ops before it.
fn closure(graph: &DataflowGraph) -> Vec<Vec<bool>> {
    let n = graph.op_count();
    let mut before = vec![vec![false; n]; n];
    for op in graph.op_ids() {
        for &source in graph.predecessor_ops(op) {
            let (head, tail) = before.split_at_mut(op.index());
            tail[0][source.index()] = true;
            for (mark, &known) in tail[0].iter_mut().zip(&head[source.index()]) {
                *mark |= known;
            }
        }
    }
    before
}

#[test]
fn random_orders_relate_pairs_as_often_as_permutations_agree_and_have_no_implied_edge() {
    let n = 120;
    for orders in 1..5 {
        let mut related = 0.0;
        for seed in 0..20 {
            let graph = graph(&format!("random_orders(nodes={n},orders={orders})"), seed);
            let before = closure(&graph);
            related += before.iter().flatten().filter(|&&before| before).count() as f64;
            for op in graph.op_ids() {
                let sources = graph.predecessor_ops(op);
                let implied = |&source: &OpId| sources.iter().any(|other| before[other.index()][source.index()]);
                assert!(!sources.iter().any(implied), "an edge into {op} is implied");
            }
        }
        let expected = 20.0 * (n * (n - 1) / 2) as f64 * f64::powi(2.0, 1 - orders);
        // Pairs depend on each other: the share is looser than a binomial one.
        assert!((related / expected - 1.0).abs() < 0.08, "{orders}: {related} of {expected}");
    }
    assert_eq!(super::counts("random_orders(nodes=30,orders=1)"), (30, 29));
}

#[test]
fn fans_keep_their_degrees_and_hold_together() {
    for (n, out, into) in [(1, 2, 1), (2, 2, 1), (500, 2, 1), (500, 4, 3), (3000, 9, 20)] {
        for seed in 0..5 {
            let graph = graph(&format!("fan_in_fan_out(nodes={n},most_out={out},most_in={into})"), seed);
            assert_eq!(graph.op_count(), n);
            for op in graph.op_ids() {
                assert!(graph.out_degree(op) <= out && graph.in_degree(op) <= into);
                assert!(op == OpId(0) || graph.in_degree(op) > 0, "one source");
                assert!(graph.predecessor_ops(op).is_sorted_by(|a, b| a < b), "no edge twice");
            }
        }
    }
    // Half of the fans go in: with fans of one to three, a third of those has each size.
    let graph = graph("fan_in_fan_out(nodes=20000,most_out=3,most_in=3)", 9);
    let fan_in = |size| {
        graph.op_ids().filter(|&op| super::class(&graph, op) == "FanIn" && graph.in_degree(op) == size).count() as f64
    };
    let sizes = [fan_in(1), fan_in(2), fan_in(3)];
    let total: f64 = sizes.iter().sum();
    assert!(sizes.iter().all(|&size| is_binomial(size, total, 1.0 / 3.0)), "{sizes:?}");
}

/// Reduces edges in series and in parallel as long as there are any; one edge is left of a series-parallel graph
/// (Valdes, Tarjan, Lawler 1982).
fn is_series_parallel(graph: &DataflowGraph) -> bool {
    let n = graph.op_count();
    let mut edges: Vec<(usize, usize)> =
        graph.edges().map(|(source, edge)| (source.index(), edge.op.index())).collect();
    loop {
        edges.sort_unstable();
        edges.dedup();
        let inner = (1..n - 1).find(|&op| {
            edges.iter().filter(|edge| edge.1 == op).count() == 1
                && edges.iter().filter(|edge| edge.0 == op).count() == 1
        });
        let Some(op) = inner else { return edges == [(0, n - 1)] };
        let from = edges.iter().find(|edge| edge.1 == op).unwrap().0;
        let to = edges.iter().find(|edge| edge.0 == op).unwrap().1;
        edges.retain(|edge| edge.0 != op && edge.1 != op);
        edges.push((from, to));
    }
}

#[test]
fn series_parallel_graphs_reduce_to_an_edge() {
    for (n, parallel, branches) in [(2, 1.0, 2), (3, 1.0, 2), (40, 0.0, 2), (60, 0.5, 2), (90, 0.8, 5), (90, 1.0, 90)] {
        for seed in 0..8 {
            let graph = graph(&format!("series_parallel(nodes={n},parallel={parallel},branches={branches})"), seed);
            assert_eq!(graph.op_count(), n);
            assert!(is_series_parallel(&graph), "{n} {parallel} {branches}, seed {seed}");
            assert!(graph.op_ids().all(|op| graph.out_degree(op) <= branches));
            assert!(parallel > 0.0 || graph.edge_count() == n - 1);
        }
    }
    // The test itself tells others: the N that is forbidden in them.
    assert!(!is_series_parallel(&graph("fft(points=4)", 1)));
}

#[test]
fn random_recursive_trees_have_the_degrees_that_theory_gives() {
    // The share of vertices with k children tends to 2^-(k + 1).
    let graph = graph("out_tree(nodes=40000,degree=1000000,shape=random)", 3);
    for k in 0..6 {
        let found = graph.op_ids().filter(|&op| graph.out_degree(op) == k).count() as f64 / 40_000.0;
        assert!((found - f64::powi(0.5, k as i32 + 1)).abs() < 0.01, "{k}: {found}");
    }
}

#[test]
fn barabasi_albert_graphs_have_their_edges_and_a_cubic_tail() {
    let (n, m) = (60_000usize, 3usize);
    let graph = undirected(&format!("barabasi_albert(vertices={n},edges={m})"), 8);
    assert_eq!(graph.edge_count(), (m + 1) * m / 2 + (n - m - 1) * m);
    for k in [3usize, 4, 5, 8, 12] {
        let found = graph.vertices().filter(|&vertex| graph.degree(vertex) == k).count() as f64 / n as f64;
        let expected = (2 * m * (m + 1)) as f64 / (k * (k + 1) * (k + 2)) as f64;
        assert!((found / expected - 1.0).abs() < 0.08, "{k}: {found} instead of {expected}");
    }
    assert!(graph.vertices().map(|vertex| graph.degree(vertex)).max().unwrap() > 300, "hubs");
}

#[test]
fn a_planted_partition_has_the_edges_inside_and_between_that_were_asked_for() {
    for (n, k) in [(4000u32, 5u32), (1003, 7), (50, 50), (900, 1)] {
        let (inside, outside) = (if k == n { 0.0 } else { 9.0 }, if k == 1 { 0.0 } else { 4.0 });
        let text = format!("planted_partition(vertices={n},blocks={k},inside={inside},outside={outside})");
        let graph = undirected(&text, 6);
        let block = |vertex: u32| u64::from(vertex) * u64::from(k) / u64::from(n);
        let (mut own, mut other) = (0.0, 0.0);
        for a in 0..n {
            for &b in graph.neighbours(a).iter().filter(|&&b| b < a) {
                *(if block(a) == block(b) { &mut own } else { &mut other }) += 1.0;
            }
        }
        let sizes: Vec<f64> = (0..u64::from(k)).map(|at| (0..n).filter(|&v| block(v) == at).count() as f64).collect();
        assert!(sizes.iter().all(|size| (size - f64::from(n) / f64::from(k)).abs() <= 1.0), "{sizes:?}");
        let size = f64::from(n) / f64::from(k);
        let own_pairs: f64 = sizes.iter().map(|size| size * (size - 1.0) / 2.0).sum();
        let other_pairs = f64::from(n) * f64::from(n - 1) / 2.0 - own_pairs;
        assert!(k == n || is_binomial(own, own_pairs, inside / (size - 1.0)), "{text}: {own}");
        assert!(k == 1 || is_binomial(other, other_pairs, outside / (f64::from(n) - size)), "{text}: {other}");
    }
}
