//! How fast graphs of each family are made: the table of docs/GENERATORS.md.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release -p placebench-generator --example family_speed`

use std::error::Error;

use placebench_base::processor::process_time;
use placebench_generator::{Described, FAMILIES, described};

/// Parameters that make about a million edges; families that are not here are made with their defaults.
const LARGE: &[&str] = &[
    "leveled(levels=10000,nodes_per_level=[50,150],level_edges.count=900000,level_edges.limit=10,random_edges.count=100000)",
    "layered(nodes=20000,layers=50,probability=0.005)",
    "erdos_renyi(nodes=20000,probability=0.005)",
    "random_orders(nodes=20000)",
    "fan_in_fan_out(nodes=300000)",
    "series_parallel(nodes=500000)",
    "out_tree(nodes=1000000)",
    "in_tree(nodes=1000000)",
    "gauss(size=1000)",
    "lu(tiles=100)",
    "cholesky(tiles=130)",
    "fft(points=32768)",
    "stencil(side=1000,steps=334)",
    "wavefront(rows=700,columns=700)",
    "map_reduce(maps=1000,reduces=1000)",
    "montage(rows=200,columns=200)",
    "epigenomics(lanes=500,chunks=500)",
    "cybershake(ruptures=500,variations=500)",
    "rnn(layers=100,steps=1000)",
    "seq2seq(source=500,target=500)",
    "cnn(blocks=[5000,5000,5000])",
    "transformer(layers=500,heads=64)",
    "decoder(layers=100,steps=200)",
    "training_steps(workers=500)",
    "pipeline(stages=64,micro_batches=512)",
    "tensor_parallel(workers=64,layers=64)",
    "grid(side=1000)",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("| family | parameters | edges | M edges/s |\n|---|---|---|---|");
    for entry in FAMILIES.iter() {
        let is_family = |text: &&&str| text.split('(').next() == Some(entry.name);
        let text = LARGE.iter().find(is_family).map_or(entry.name, |text| *text);
        let params = described(text).ok_or_else(|| format!("no family '{text}'"))??;
        // One run may be short: repeat for a second or more.
        let (mut edges, mut runs) = (0, 0);
        let started = process_time();
        while runs == 0 || (process_time() - started).as_secs_f64() < 1.0 {
            edges = match &params {
                Described::Dataflow(params) => params.generate(1)?.edge_count(),
                Described::Undirected(params) => params.generate(1)?.edge_count(),
            };
            runs += 1;
        }
        let each = (process_time() - started).as_secs_f64() / f64::from(runs);
        let given = text.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
        println!("| {} | {given} | {edges} | {:.2} |", entry.name, edges as f64 / each / 1e6);
    }
    Ok(())
}
