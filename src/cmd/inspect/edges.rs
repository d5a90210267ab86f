//! The property sheet of edges that need not fit into memory.

use std::path::Path;

use anyhow::anyhow;
use placebench::datasets::process::check_memory;
use placebench::datasets::stream::{EdgeFormat, EdgeParts, EdgeStream, open_edges};
use placebench::generator::{Streamed, Tally};

/// Whether edges are at a path: a file by its extension, a folder of parts by its manifest.
pub(super) fn are_at(path: &Path) -> bool {
    Streamed::is_at(path) || path.is_file() && EdgeFormat::of_path(path).is_some()
}

/// What the sheets of the parts say, and what one pass over the edges shows.
///
/// # Memory
/// 4 bytes a vertex.
pub(super) fn sheet(path: &Path) -> anyhow::Result<String> {
    let mut text = format!("{}\n", path.display());
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<16} {value}\n"));
    let range = |tally: &Tally| format!("{} to {}, mean {:.3}", tally.least, tally.largest, tally.mean());
    let mut known = None;
    if Streamed::is_at(path) {
        let graph = Streamed::open(path)?;
        let manifest = graph.manifest();
        let parts = manifest.parts;
        let Some(properties) = graph.properties()? else {
            let there = (1..=parts).filter(|&part| graph.is_finished(part)).count();
            return Err(anyhow!(
                "{}: has {there} of {parts} parts: 'placebench generate --stream' with its parameters makes the others",
                path.display()
            ));
        };
        line("parts", parts.to_string());
        line("seed", manifest.seed.to_string());
        line("sha256", properties.sha256.clone());
        known = Some(properties);
    }
    let mut stream: Box<dyn EdgeStream> = match EdgeFormat::of_path(path).filter(|_| path.is_file()) {
        Some(format) => open_edges(path, format)?,
        None => Box::new(EdgeParts::open(path)?),
    };
    let vertices = stream.vertex_count();
    check_memory(vertices as u64 * 4, || format!("counting the degrees of {vertices} vertices"))?;
    let (mut degrees, mut loops) = (vec![0u32; vertices], 0u64);
    while let Some(batch) = stream.next_edges()? {
        for &(a, b) in batch {
            loops += u64::from(a == b);
            for end in [a, b] {
                let degree = &mut degrees[end as usize];
                *degree = degree.saturating_add(1);
            }
        }
    }
    line("vertices", vertices.to_string());
    line("edges", stream.edge_count().to_string());
    line("self-loops", loops.to_string());
    line("isolated", degrees.iter().filter(|&&degree| degree == 0).count().to_string());
    let tally = Tally::of(degrees.into_iter().map(u64::from));
    line("degrees", range(&tally));
    if let Some(properties) = known {
        for (name, tally) in [
            ("levels spanned", &properties.spans),
            ("ops a level", &properties.level_sizes),
            ("ops a group", &properties.group_sizes),
        ] {
            if !tally.is_empty() {
                line(name, range(tally));
            }
        }
    }
    text.push_str("\nvertices by degree (from 64 on, up to twice the number)\n");
    for (first, count) in &tally.bins {
        text.push_str(&format!("  {first:>10} {count}\n"));
    }
    Ok(text)
}
