//! Compares partitioners on graphs of the generator and the catalogue: cut, imbalance, time, memory, and ratios to the first of them.
//!
//! ```text
//! cargo run --release -p placebench-algorithms --example partition_bench -- \
//!     --graphs grid,rgg --blocks 2,8 --seeds 1,2,3 --partitioners 'metis;multilevel' [--threads 1] [--write folder]
//! ```
//! Time is the processor time of the thread with `--threads 1`, else wall time. Memory is what the run added to the
//! process's resident set at its peak. `--write` stores the graphs in METIS's format instead, for other programs. The
//! comparison with other tools is `reports/partitioners/compare.py`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use placebench_algorithms::Spec;
use placebench_algorithms::partition::{Partition, Request, TopologicalView, quality, registry};
use placebench_datasets::{UndirectedGraph, catalogue};
use placebench_generator::{LeveledParams, RmatParams, generate_leveled, grid, random_geometric, rmat};

const GRAPHS: &str = "grid,rgg,rmat,rmat_core,laich3_88k,laich6_88k,laich2_1m,resnet50,nmt,transformer";

fn leveled(preset: &str, ops: f64) -> UndirectedGraph {
    let params = LeveledParams::preset(preset).expect("a preset");
    let factor = ops / params.nodes.expect("presets have a number of nodes") as f64;
    let made = generate_leveled(&params.scaled(factor), 1).expect("presets can be made");
    TopologicalView::new(&made.graph).expect("small weights").graph
}

fn make(name: &str) -> UndirectedGraph {
    let hubs = RmatParams::default();
    let made = match name {
        "grid" => grid(1000),
        "grid300" => grid(300),
        "rgg" => random_geometric(1 << 18, 15.0, 1),
        "rgg16" => random_geometric(1 << 16, 15.0, 1),
        "rmat" => rmat(&hubs, 1),
        "rmat_core" => rmat(&RmatParams { isolated: false, ..hubs }, 1),
        "rmat15" => rmat(&RmatParams { scale: 15, ..hubs }, 1),
        "laich3_88k" => Ok(leveled("laich3", 88_000.0)),
        "laich6_88k" => Ok(leveled("laich6", 88_000.0)),
        "laich2_1m" => Ok(leveled("laich2", 1_000_000.0)),
        "laich6_1m" => Ok(leveled("laich6", 1_000_000.0)),
        _ => {
            let (_, graph) = catalogue::load(name).expect("a graph of this program or of the catalogue");
            Ok(TopologicalView::new(&graph).expect("byte counts fit").graph)
        }
    };
    made.expect("parameters that make sense")
}

fn write_metis(graph: &UndirectedGraph, path: &str) {
    let mut text = format!("{} {} 011\n", graph.vertex_count(), graph.edge_count());
    for vertex in graph.vertices() {
        write!(text, "{}", graph.vertex_weight(vertex)).expect("a string");
        for (neighbour, weight) in graph.edges_of(vertex) {
            write!(text, " {} {weight}", neighbour + 1).expect("a string");
        }
        text.push('\n');
    }
    std::fs::write(path, text).expect("a writable folder");
}

/// Processor time of this thread in seconds, if the system reports it.
fn thread_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// A line of /proc/self/status in MiB.
fn status_mib(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// Whether the blocks, with every edge from the lower to the higher number, form no cycle.
fn is_acyclic(graph: &UndirectedGraph, partition: &Partition) -> bool {
    let blocks = partition.blocks as usize;
    let mut follows = vec![false; blocks * blocks];
    for vertex in graph.vertices() {
        for &later in graph.neighbours(vertex).iter().filter(|&&n| n > vertex) {
            let (a, b) = (partition.block_of[vertex as usize] as usize, partition.block_of[later as usize] as usize);
            follows[a * blocks + b] |= a != b;
        }
    }
    let mut left: Vec<usize> = (0..blocks).collect();
    loop {
        let before = left.len();
        let sources: Vec<usize> =
            left.iter().copied().filter(|&b| left.iter().all(|&a| !follows[a * blocks + b])).collect();
        left.retain(|block| !sources.contains(block));
        if left.is_empty() || left.len() == before {
            return left.is_empty();
        }
    }
}

fn main() {
    let mut options = BTreeMap::from([
        ("--graphs", GRAPHS.to_owned()),
        ("--blocks", "2,8,32,128".to_owned()),
        ("--seeds", "1,2,3".to_owned()),
        ("--partitioners", "metis;multilevel".to_owned()),
        ("--threads", "1".to_owned()),
        ("--epsilon", "0.03".to_owned()),
        ("--write", String::new()),
    ]);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().expect("a value after each option");
        *options.iter_mut().find(|(known, _)| **known == name).expect("a known option").1 = value;
    }
    let threads: usize = options["--threads"].parse().expect("a number of threads");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| run(&options, threads));
}

fn run(options: &BTreeMap<&str, String>, threads: usize) {
    let specs: Vec<Spec> = options["--partitioners"].split(';').map(|text| text.parse().expect("a spec")).collect();
    println!("graph\tk\tseed\tpartitioner\tcut\tvolume\timbalance\tfits\tacyclic\tseconds\tMiB");
    let mut totals: BTreeMap<(String, usize), Vec<[f64; 3]>> = BTreeMap::new();
    for name in options["--graphs"].split(',') {
        let graph = make(name);
        eprintln!("{name}: {} vertices, {} edges", graph.vertex_count(), graph.edge_count());
        if !options["--write"].is_empty() {
            write_metis(&graph, &format!("{}/{name}.graph", options["--write"]));
            continue;
        }
        for blocks in options["--blocks"].split(',').map(|text| text.parse::<u32>().expect("a number of blocks")) {
            for seed in options["--seeds"].split(',').map(|text| text.parse::<u64>().expect("a seed")) {
                let mut first = None;
                for (at, spec) in specs.iter().enumerate() {
                    let partitioner = registry::partitioner(spec).expect("a partitioner");
                    let request = Request::new(blocks, options["--epsilon"].parse().expect("an imbalance"), seed);
                    // Resets the peak of the resident set.
                    let _ = std::fs::write("/proc/self/clear_refs", "5");
                    let base = status_mib("VmRSS:");
                    let (cpu, wall) = (thread_seconds(), Instant::now());
                    let partition = match partitioner.partition(&graph, &request) {
                        Ok(partition) => partition,
                        Err(error) => {
                            eprintln!("{name} {blocks} {spec}: {error}");
                            continue;
                        }
                    };
                    let elapsed = wall.elapsed().as_secs_f64();
                    let seconds = match (threads, cpu, thread_seconds()) {
                        (1, Some(before), Some(after)) => after - before,
                        _ => elapsed,
                    };
                    let mib = status_mib("VmHWM:") - base;
                    let cut = quality::edge_cut(&graph, &partition);
                    let loads = quality::block_weights(&graph, &partition);
                    let total = graph.total_vertex_weight();
                    let fits = loads.iter().zip(0..).all(|(&load, block)| load <= request.capacity(block, total));
                    println!(
                        "{name}\t{blocks}\t{seed}\t{spec}\t{cut}\t{}\t{:.4}\t{fits}\t{}\t{seconds:.4}\t{mib:.0}",
                        quality::communication_volume(&graph, &partition),
                        quality::imbalance(&graph, &partition),
                        is_acyclic(&graph, &partition),
                    );
                    let row = [(cut + 1) as f64, seconds, mib.max(1.0)];
                    let base = *first.get_or_insert(row);
                    let ratios = [row[0] / base[0], row[1] / base[1], row[2] / base[2]];
                    for key in [format!("{name}\t{blocks}"), format!("{name}\tall"), "all\tall".to_owned()] {
                        totals.entry((key, at)).or_default().push(ratios);
                    }
                }
            }
        }
    }
    println!("\ngraph\tk\tpartitioner\tcut\ttime\tmemory\t(geometric means of ratios to {})", specs[0]);
    for ((key, at), ratios) in totals.iter().filter(|((_, at), _)| *at > 0) {
        let mean = |column: usize| (ratios.iter().map(|row| row[column].ln()).sum::<f64>() / ratios.len() as f64).exp();
        println!("{key}\t{}\t{:.3}\t{:.2}\t{:.2}", specs[*at], mean(0), mean(1), mean(2));
    }
}
