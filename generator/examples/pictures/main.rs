//! Draws a small graph of each family as SVG, the pictures of docs/GENERATORS.md; and a small graph before and after each pass, those
//! of docs/PASSES.md.
//!
//! `cargo run --release -p placebench-generator --example pictures -- docs/images/generators docs/images/passes`

mod layered;
mod spring;
mod step;
mod svg;

use std::error::Error;
use std::path::Path;

use placebench_generator::{Described, FAMILIES, GraphParams, PASSES, Passes, described};

/// Parameters that make a graph small enough to be seen; families that are not here are drawn with their defaults.
const SMALL: &[&str] = &[
    "leveled(levels=8,nodes_per_level=[2,7],level_edges.probability=0.2,level_edges.limit=2,random_edges.probability=0.01)",
    "layered(nodes=36,layers=7,probability=0.1)",
    "erdos_renyi(nodes=24,probability=0.12)",
    "random_orders(nodes=36)",
    "fan_in_fan_out(nodes=40)",
    "series_parallel(nodes=40)",
    "out_tree(nodes=31)",
    "in_tree(nodes=40,shape=random,degree=3)",
    "gauss(size=6)",
    "lu(tiles=4)",
    "cholesky(tiles=5)",
    "fft(points=8)",
    "stencil(side=9,steps=6)",
    "wavefront(rows=6,columns=7)",
    "map_reduce(maps=8,reduces=3,rounds=2)",
    "rnn(layers=3,steps=6)",
    "seq2seq(source=4,target=4)",
    "cnn(blocks=[1,2])",
    "transformer(layers=1,heads=2)",
    "decoder(layers=2,steps=3)",
    "training_steps(workers=4)",
    "pipeline(stages=3,micro_batches=4)",
    "tensor_parallel(workers=2)",
    "grid(side=8)",
    "random_geometric(vertices=120,degree=7)",
    "hyperbolic(vertices=120,degree=5)",
    "barabasi_albert(vertices=100,edges=2)",
    "planted_partition(vertices=100,blocks=4,inside=6,outside=0.5)",
    "gnm(vertices=100,edges=200)",
    "rmat(scale=7,degree=4,isolated=false)",
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give the folder to write to")?;
    std::fs::create_dir_all(&folder)?;
    for entry in FAMILIES.iter() {
        let is_family = |text: &&&str| text.split('(').next() == Some(entry.name);
        let text = SMALL.iter().find(is_family).map_or(entry.name, |text| *text);
        let drawing = match described(text).ok_or_else(|| format!("no family '{text}'"))?? {
            Described::Dataflow(params) => layered::draw(&params.generate(1)?, &mut Vec::new()),
            Described::Undirected(params) => spring::draw(&params.generate(1)?),
        };
        std::fs::write(Path::new(&folder).join(format!("{}.svg", entry.name)), drawing)?;
        println!("{:<18} {text}", entry.name);
    }
    std::env::args().nth(2).map_or(Ok(()), |folder| passes(Path::new(&folder)))
}

/// A pass with its parameters, and the graph that shows what it does; those of [`step`] show the others.
const SHOWN: &[(&str, &str)] = &[
    ("coarsen", "training_steps(workers=1)"),
    ("microbatch(m=3)", "pipeline(stages=3,micro_batches=1,schedule=free)"),
    ("replicate(n=3)", "training_steps(workers=1)"),
    ("recompute", "pipeline(stages=6,micro_batches=1,schedule=free)"),
];

/// A graph before and after each pass.
fn passes(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    for entry in PASSES.iter() {
        // A type has one colour before and after.
        let mut types = Vec::new();
        if entry.is_after_placement {
            let (instance, placement) = step::placed()?;
            std::fs::write(
                folder.join(format!("{}-before.svg", entry.name)),
                layered::draw_placed(instance.graph(), &placement, &mut types),
            )?;
            let pass = if entry.name == "compress" { "compress(least=0,cost=0.01)" } else { entry.name };
            let changed = Passes::new([pass])?.apply_placed(&instance, &placement)?;
            let graph = changed.instance.graph();
            std::fs::write(
                folder.join(format!("{}.svg", entry.name)),
                layered::draw_placed(graph, &changed.placement, &mut types),
            )?;
            println!("{}", changed.lines.concat());
            continue;
        }
        let is_pass = |(pass, _): &&(&str, &str)| pass.split('(').next() == Some(entry.name);
        let (pass, graph) = match SHOWN.iter().find(is_pass) {
            Some(&(pass, family)) => {
                let params = GraphParams::preset(family).ok_or_else(|| format!("no family '{family}'"))??;
                (pass, params.generate(1)?)
            }
            None if entry.name == "cse" => (entry.name, step::written_twice()?),
            None => (entry.name, step::step()?),
        };
        std::fs::write(folder.join(format!("{}-before.svg", entry.name)), layered::draw(&graph, &mut types))?;
        let passed = Passes::new([pass])?.apply(graph)?;
        std::fs::write(folder.join(format!("{}.svg", entry.name)), layered::draw(&passed.graph, &mut types))?;
        println!("{}", passed.lines.concat());
    }
    Ok(())
}
