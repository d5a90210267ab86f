//! Edges a second of graphs made part by part, on one thread: `stream_speed [FILE.pbedges]`. Without a file, edges are made and
//! forgotten; with one, they are written and digested, and the file is removed.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use placebench_base::process::peak_rss_bytes;
use placebench_base::processor::thread_time;
use placebench_datasets::stream::EdgeFormat;
use placebench_generator::{
    Amount, ChunkScratch, EdgeChunks, GnmParams, LevelEdges, LeveledParams, RmatParams, Sheet, StreamParams, Streamed,
};

/// Edges of each graph.
const EDGES: u64 = 40_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    for (name, params) in graphs() {
        let (started, before) = (Instant::now(), thread_time());
        match &file {
            None => {
                let graph = params.graph(1)?;
                let (mut scratch, mut edges, mut sheet) = (ChunkScratch::default(), Vec::new(), Sheet::default());
                for chunk in 0..graph.chunk_count() {
                    edges.clear();
                    graph.append(chunk, &mut scratch, &mut edges, &mut sheet);
                }
            }
            Some(file) => {
                Streamed::file(params, 1, EdgeFormat::Binary, Path::new(file))?.make(1, 1)?;
                std::fs::remove_file(file)?;
                std::fs::remove_file(format!("{file}.toml"))?;
            }
        }
        let (seconds, processor) = (started.elapsed().as_secs_f64(), (thread_time() - before).as_secs_f64());
        println!(
            "{name:<16} {:6.1} M edges/s of processor time ({seconds:.2} s, {processor:.2} s of processor time)",
            EDGES as f64 / processor / 1e6
        );
    }
    println!("peak memory {} MB", peak_rss_bytes().unwrap_or(0) / 1_000_000);
    Ok(())
}

/// Graphs of 40 million edges, on 4 million vertices.
fn graphs() -> [(&'static str, StreamParams); 5] {
    let mut leveled = LeveledParams::new(40_000, (50, 150));
    leveled.level_edges =
        LevelEdges { amount: Amount::Count(EDGES / 10 * 9), limit: Some(10), ..LevelEdges::default() };
    leveled.random_edges = Amount::Count(EDGES / 10);
    let gnm = |directed| StreamParams::Gnm(GnmParams { vertices: 1 << 22, edges: EDGES, directed });
    let degree = 2.0 * EDGES as f64 / f64::from(1 << 22);
    let rmat = |directed| StreamParams::Rmat(RmatParams { scale: 22, degree, directed, ..RmatParams::default() });
    [
        ("gnm, directed", gnm(true)),
        ("gnm", gnm(false)),
        ("rmat, directed", rmat(true)),
        ("rmat", rmat(false)),
        ("leveled", StreamParams::Leveled(Box::new(leveled))),
    ]
}
