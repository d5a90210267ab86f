//! Cuts and replication factors.

use placebench_algorithms::partition::registry::{self, edge_partitioner};
use placebench_algorithms::partition::{PartitionRequest, quality};
use placebench_base::processor::thread_time;
use placebench_datasets::UndirectedGraph;
use placebench_datasets::stream::EdgeList;

use crate::{Outcome, rmat};

const SCALE: u32 = 18;
const EDGES: usize = 2_100_000;
const BLOCKS: [u32; 2] = [8, 32];

pub(crate) fn all() -> Outcome {
    let edges = rmat::rmat_relabelled(SCALE, EDGES, 1);
    for (name, edges) in [("shuffled ids", &edges), ("ids as generated", &rmat::rmat_distinct(SCALE, EDGES, 1))] {
        let graph = UndirectedGraph::from_edges(1 << SCALE, edges.iter().map(|&(a, b)| (a, b, 1)), None)?;
        let isolated = graph.vertices().filter(|&vertex| graph.degree(vertex) == 0).count();
        println!("{name}, {isolated} of {} vertices isolated", graph.vertex_count());
        for algorithm in ["ldg", "fennel"] {
            for parameters in ["order=natural", "order=random", "order=bfs", "order=dfs", "passes=5"] {
                vertices(&format!("{algorithm}({parameters})"), &graph)?;
            }
        }
    }
    println!("edges in random order");
    let shuffled = rmat::shuffled(edges, 2);
    let cuts = ["hdrf", "hdrf(degrees=known)", "greedy", "greedy(degrees=known)", "dbh", "dbh(degrees=partial)"];
    let windows = ["adwise(window=1)", "adwise(window=10)", "adwise(window=100)", "adwise(budget=4)"];
    for spec in cuts.iter().chain(&windows).chain(&["adwise(window=10,spotlight=4)"]) {
        cut(spec, SCALE, &shuffled, &BLOCKS)?;
    }
    Ok(())
}

pub(crate) fn budgets() -> Outcome {
    let (scale, count) = (14, 200_000);
    let sorted = rmat::rmat_distinct(scale, count, 1);
    for (name, edges) in [("sorted", sorted.clone()), ("random", rmat::shuffled(sorted, 2))] {
        println!("{name} order");
        for budget in [1, 2, 4, 8, 16, 32, 64] {
            cut(&format!("adwise(budget={budget})"), scale, &edges, &BLOCKS)?;
        }
        for spec in [
            "adwise(window=1)",
            "adwise(window=10)",
            "adwise(window=100)",
            "adwise(window=10,threshold=-inf)",
            "adwise(window=100,threshold=-inf)",
            "hdrf",
        ] {
            cut(spec, scale, &edges, &BLOCKS)?;
        }
    }
    Ok(())
}

fn vertices(spec: &str, graph: &UndirectedGraph) -> Outcome {
    print!("{spec:36}");
    for blocks in BLOCKS {
        let partitioner = registry::partitioner(&spec.parse()?)?;
        let (partition, seconds) = timed(|| partitioner.partition(graph, &PartitionRequest::new(blocks, 0.03, 1)))?;
        let speed = EDGES as f64 / seconds / 1e6;
        let (cut, imbalance) = (quality::edge_cut(graph, &partition), quality::imbalance(graph, &partition));
        print!("{cut:>12} {imbalance:.4} {speed:>6.1} M/s");
    }
    println!();
    Ok(())
}

fn cut(spec: &str, scale: u32, edges: &[(u32, u32)], blocks: &[u32]) -> Outcome {
    print!("{spec:36}");
    for &blocks in blocks {
        let partitioner = edge_partitioner(&spec.parse()?)?;
        let mut stream = EdgeList::new(1 << scale, edges)?;
        let request = PartitionRequest::new(blocks, 0.03, 1);
        let (cut, seconds) = timed(|| partitioner.partition_edges(&mut stream, &request, &mut |_| Ok(())))?;
        let speed = edges.len() as f64 / seconds / 1e6;
        let evaluations =
            cut.evaluations.map_or(String::new(), |all| format!("{:.1}", all as f64 / edges.len() as f64));
        let (factor, imbalance) = (cut.replication_factor(), cut.edge_imbalance());
        print!("{factor:>9.3} {imbalance:.4} {evaluations:>5} {speed:>6.2} M/s");
    }
    println!();
    Ok(())
}

/// What `work` gives, and how long it takes on average if it is done for half a second.
fn timed<T, E>(mut work: impl FnMut() -> Result<T, E>) -> Result<(T, f64), E> {
    let before = thread_time();
    let mut times = 0.0;
    loop {
        let done = work()?;
        times += 1.0;
        let seconds = (thread_time() - before).as_secs_f64();
        if seconds >= 0.5 {
            return Ok((done, seconds / times));
        }
    }
}
