//! How the time and memory of a placer grow with the graph: leveled graphs as wide as L's graph 6, on 100 devices.
//!
//! ```sh
//! cargo run --release -p placebench-algorithms --example place_scale -- heft 100000 1000000
//! ```

#[path = "../benches/instances/mod.rs"]
mod instances;

use placebench_algorithms::{PlaceContext, registry};
use placebench_base::process::peak_rss_bytes;
use placebench_base::processor::process_time;

use instances::Leveled;

/// L's graph 6 has 27,500 ops in 500 levels.
const WIDTH: usize = 55;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let spec = arguments.next().ok_or("give a placer and numbers of ops, the least first")?.parse()?;
    let placer = registry::placer(&spec)?;
    println!(
        "{:>10} {:>10} {:>10} {:>12} {:>12} {:>16}",
        "ops", "edges", "CPU s", "GB before", "GB at most", "makespan"
    );
    for ops in arguments {
        let ops: usize = ops.parse()?;
        let instance =
            Leveled { levels: ops / WIDTH, width: WIDTH, connected: true, further_parents: 3.1 }.instance(100, 1);
        let (gigabytes, begun) = (|| peak_rss_bytes().unwrap_or(0) as f64 / 1e9, process_time());
        let before = gigabytes();
        let decision = placer.place(&instance, &PlaceContext::default())?;
        let makespan = decision.plan.map_or(f64::NAN, |plan| plan.makespan);
        let (ops, edges) = (instance.graph().op_count(), instance.graph().edge_count());
        let took = (process_time() - begun).as_secs_f64();
        println!("{ops:>10} {edges:>10} {took:>10.2} {before:>12.2} {:>12.2} {makespan:>16.6}", gigabytes());
    }
    Ok(())
}
