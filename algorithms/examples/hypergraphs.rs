//! Partitions hypergraphs and judges their connectivity, to compare with other partitioners.
//!
//! ```text
//! cargo run --release -p placebench-algorithms --example hypergraphs -- export nmt nmt.hgr
//! cargo run --release -p placebench-algorithms --example hypergraphs -- \
//!     8 1 'multilevel(objective=connectivity)' nmt.hgr
//! ```
//! The first writes the tensors of a graph of the catalogue as nets, with weights in 31 bits. The second partitions files
//! into 8 blocks with seed 1 and an imbalance of 3 %, and prints a line for each: name, blocks, seed, the sum of weight ·
//! (blocks of the net − 1), the imbalance, and processor seconds.

use std::path::Path;
use std::sync::Arc;

use placebench_algorithms::Spec;
use placebench_algorithms::partition::{PartitionRequest, quality, registry};
use placebench_base::processor::process_time;
use placebench_datasets::format::undirected::{read_hmetis, write_hmetis};
use placebench_datasets::{Hypergraph, View, ViewOptions, catalogue};

/// Tolerated imbalance.
const EPSILON: f64 = 0.03;

/// Weights divided by the least power of two for which all of them, rounded up, add up to less than 2^31.
fn narrow(weights: Option<&[u64]>, times: impl Fn(usize) -> u64) -> Option<Vec<u64>> {
    let weights = weights?;
    let shifted = |shift: u32| weights.iter().map(move |weight| weight.div_ceil(1 << shift));
    let sum = |shift: u32| shifted(shift).enumerate().map(|(at, weight)| u128::from(weight * times(at))).sum::<u128>();
    let shift = (0..63).find(|&shift| sum(shift) < 1 << 31)?;
    Some(shifted(shift).collect())
}

fn export(name: &str, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (_, graph) = catalogue::load(name)?;
    let nets = View::of_graph(&graph, ViewOptions::default())?.hypergraph(&graph)?;
    let (mut offsets, mut pins) = (vec![0], Vec::new());
    for net in 0..nets.net_count() {
        pins.extend_from_slice(nets.pins(net));
        offsets.push(pins.len() as u64);
    }
    let further = |net: usize| nets.pins(net).len() as u64 - 1;
    let (of_nets, of_vertices) = (narrow(nets.net_weights(), further), narrow(nets.vertex_weights(), |_| 1));
    Ok(write_hmetis(path, &Hypergraph::from_nets(nets.vertex_count(), offsets, pins, of_nets, of_vertices)?)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match given[..] {
        ["export", name, path] => export(name, path)?,
        [blocks, seed, spec, ref paths @ ..] => {
            let (blocks, seed, spec) = (blocks.parse()?, seed.parse()?, spec.parse::<Spec>()?);
            let partitioner = registry::partitioner(&spec)?;
            for path in paths {
                let nets = Arc::new(read_hmetis(path)?);
                let before = process_time();
                let graph = nets.to_graph()?;
                let request =
                    PartitionRequest { nets: Some(Arc::clone(&nets)), ..PartitionRequest::new(blocks, EPSILON, seed) };
                let found = partitioner.partition(&graph, &request)?;
                let seconds = (process_time() - before).as_secs_f64();
                let name = Path::new(path).file_stem().unwrap_or_default().display();
                let (km1, imbalance) = (quality::connectivity(&nets, &found), quality::imbalance(&graph, &found));
                println!("{name} {blocks} {seed} {km1} {imbalance:.4} {seconds:.2}");
            }
        }
        _ => return Err("see the first lines of this example".into()),
    }
    Ok(())
}
