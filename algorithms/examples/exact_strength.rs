//! How long the exact solver takes on random instances of all shapes: `cargo run --release -p placebench-algorithms
//! --example exact_strength -- [OPS] [INSTANCES OF EACH SORT] [SHAPE]`.

use std::time::Instant;

use placebench_algorithms::{StopToken, exact};
use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const SHAPES: [&str; 9] =
    ["independent", "chain", "fork-join", "out-tree", "in-tree", "two levels", "layered", "sparse", "dense"];
const COSTS: [&str; 5] = ["1 to 100", "equal", "small", "some zero", "unrelated"];
const CLUSTERS: [&str; 2] = ["unequal", "equal"];
const CONSTRAINTS: [&str; 4] = ["none", "kinds", "groups", "memory"];
const CCRS: [f64; 5] = [0.1, 0.5, 1.0, 5.0, 10.0];

fn edges(shape: &str, n: usize, rng: &mut Pcg64) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    match shape {
        "independent" => {}
        "chain" => edges.extend((1..n).map(|op| (op - 1, op))),
        "fork-join" => edges.extend((1..n - 1).flat_map(|op| [(0, op), (op, n - 1)])),
        "out-tree" => edges.extend((1..n).map(|op| (rng.random_range(0..op), op))),
        "in-tree" => edges.extend((0..n - 1).map(|op| (op, rng.random_range(op + 1..n)))),
        "two levels" => {
            for source in 0..n / 2 {
                edges.extend((n / 2..n).filter(|_| rng.random_bool(0.4)).map(|target| (source, target)));
            }
        }
        "layered" => {
            for target in 3..n {
                let level = target / 3 * 3;
                edges.extend((level - 3..level).filter(|_| rng.random_bool(0.5)).map(|source| (source, target)));
            }
        }
        _ => {
            let probability = if shape == "dense" { 0.5 } else { 0.15 };
            for target in 1..n {
                edges.extend((0..target).filter(|_| rng.random_bool(probability)).map(|source| (source, target)));
            }
        }
    }
    edges
}

fn instance(n: usize, sort: [&str; 4], ccr: f64, seed: u64) -> Option<Instance> {
    let [shape, costs, cluster, constraint] = sort;
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut builder = GraphBuilder::default();
    // Bytes per time unit are 1000 on average, so that sizes can be whole numbers.
    let mean = match costs {
        "small" => 2.5,
        _ => 50.0,
    };
    for _ in 0..n {
        let ops = match costs {
            "equal" => 50.0,
            "small" => f64::from(rng.random_range(1..=4u32)),
            "some zero" if rng.random_bool(0.3) => 0.0,
            _ => f64::from(rng.random_range(1..=100u32)),
        };
        let times = match costs {
            "unrelated" => [(); 3].map(|()| Some(f64::from(rng.random_range(1..=100u32)))),
            _ => [None; 3],
        };
        let bytes = match costs {
            "equal" => (mean * ccr * 1000.0) as u64,
            _ => (mean * ccr * rng.random_range(20..1980) as f64) as u64,
        };
        let kinds = match constraint {
            "kinds" if rng.random_bool(0.3) => KindSet::only(Kind::ALL[rng.random_range(0..3)]),
            _ => KindSet::ALL,
        };
        builder.add_op(OpSpec { kinds, times, memory_bytes: rng.random_range(1..100), ..OpSpec::cost(ops) }, &[bytes]);
    }
    for (source, target) in edges(shape, n, &mut rng) {
        builder.add_edge(OpId::new(source), 0, OpId::new(target)).ok()?;
    }
    if constraint == "groups" {
        for _ in 0..n / 4 {
            let (a, b) = (rng.random_range(0..n), rng.random_range(0..n));
            builder.colocate(OpId::new(a), OpId::new(b)).ok()?;
        }
    }
    let graph = builder.build().ok()?;
    let is_equal = cluster == "equal";
    let total: u64 = graph.op_ids().map(|op| graph.demand_bytes(op)).sum();
    let devices = (0..3)
        .map(|device| {
            let share = rng.random_range(0.3..0.6);
            Device {
                name: format!("d{device}"),
                kind: Kind::ALL[device],
                memory_bytes: (constraint == "memory").then_some((total as f64 * share) as u64),
                speed: if is_equal { 1.0 } else { f64::from(rng.random_range(10..=100u32)) / 55.0 },
            }
        })
        .collect();
    let rates: Vec<f64> =
        (0..9).map(|_| if is_equal { 1000.0 } else { f64::from(rng.random_range(10..=60u32)) / 0.035 }).collect();
    let rate = |a: usize, b: usize| rates[a.min(b) * 3 + a.max(b)];
    let link = |a: placebench_datasets::DeviceId, b: placebench_datasets::DeviceId| Link {
        rate: rate(a.index(), b.index()),
        latency: 0.0,
    };
    Instance::new(graph, Cluster::new(devices, link).ok()?).ok()
}

fn main() {
    let only = std::env::args().nth(3);
    let mut args = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let (n, count) = (args.next().unwrap_or(12).max(4), args.next().unwrap_or(3));
    let mut all: Vec<(f64, u64, String)> = Vec::new();
    let mut unsolved = 0;
    for shape in SHAPES.into_iter().filter(|shape| only.as_deref().is_none_or(|only| only == *shape)) {
        let first = all.len();
        for costs in COSTS {
            for cluster in CLUSTERS {
                for constraint in CONSTRAINTS {
                    for ccr in CCRS {
                        for seed in 0..count as u64 {
                            let sort = [shape, costs, cluster, constraint];
                            let Some(instance) = instance(n, sort, ccr, seed) else { continue };
                            let started = Instant::now();
                            let outcome = exact::solve(&instance, 5_000_000, &StopToken::default());
                            let seconds = started.elapsed().as_secs_f64();
                            let nodes = match &outcome {
                                Ok(optimum) => optimum.nodes,
                                Err(error) => {
                                    let text = error.to_string();
                                    if text.contains("nodes") {
                                        unsolved += 1;
                                        println!("{sort:?} CCR {ccr} seed {seed}: {text}");
                                    }
                                    0
                                }
                            };
                            all.push((seconds, nodes, format!("{sort:?} CCR {ccr} seed {seed}")));
                        }
                    }
                }
            }
        }
        report(shape, &mut all[first..]);
    }
    report("all", &mut all);
    println!("{unsolved} not solved");
    for (seconds, nodes, name) in all.iter().rev().take(8) {
        println!("{seconds:8.3} s {nodes:9} nodes  {name}");
    }
}

fn report(name: &str, runs: &mut [(f64, u64, String)]) {
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |share: f64| &runs[((runs.len() - 1) as f64 * share) as usize];
    let mut nodes: Vec<u64> = runs.iter().map(|run| run.1).collect();
    nodes.sort_unstable();
    let nodes_at = |share: f64| nodes[((nodes.len() - 1) as f64 * share) as usize];
    println!(
        "{name:12} {:6} instances  ms: median {:8.3} p90 {:8.3} p99 {:9.3} max {:9.3}   nodes: median {} p90 {} p99 {} max {}",
        runs.len(),
        at(0.5).0 * 1e3,
        at(0.9).0 * 1e3,
        at(0.99).0 * 1e3,
        at(1.0).0 * 1e3,
        nodes_at(0.5),
        nodes_at(0.9),
        nodes_at(0.99),
        nodes_at(1.0),
    );
}
