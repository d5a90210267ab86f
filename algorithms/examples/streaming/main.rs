//! Measures the streaming partitioners: the tables in `docs/STREAMING.md`.
//!
//! ```text
//! cargo build --release -p placebench-algorithms --example streaming
//! streaming quality                          on a recursive-matrix graph of 2^18 vertices and 2.1 M edges
//! streaming budget                           ADWISE's budget on a sorted stream of a smaller one
//! streaming write-edges FILE SCALE EDGES     a file of a recursive-matrix graph with 2^SCALE vertices
//! streaming write-rows FILE EDGE_FILE MIB    the same as rows, with so much memory for entries
//! streaming edges FILE BLOCKS SPEC           partitions the edges of a file
//! streaming rows FILE BLOCKS ldg|fennel      partitions the vertices of a file
//! ```
//!
//! Speeds are in edges a second of processor time, which other load on the machine changes less than the time that passes.

#[path = "../../tests/support/rmat.rs"]
mod rmat;

mod files;
mod quality;

use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["quality"] => quality::all(),
        ["budget"] => quality::budgets(),
        ["write-edges", file, scale, edges] => files::write_edges(file, scale.parse()?, edges.parse()?),
        ["write-rows", file, edges, mib] => files::write_rows(file, edges, mib.parse()?),
        ["edges", file, blocks, spec] => files::edges(file, blocks.parse()?, spec),
        ["rows", file, blocks, name] => files::rows(file, blocks.parse()?, name),
        _ => Err("see the beginning of examples/streaming/main.rs".into()),
    }
}
