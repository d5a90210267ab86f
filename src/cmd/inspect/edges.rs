//! The property sheet of edges that need not fit into memory.

use std::path::Path;

use anyhow::anyhow;
use placebench::base::process::check_memory;
use placebench::datasets::stream::{EdgeFormat, EdgeParts, EdgeStream, open_edges};
use placebench::generator::stream::StreamProperties;
use placebench::generator::{Streamed, Tally};
use serde::Serialize;

use crate::output::shown;

/// Whether edges are at a path: a file by its extension, a folder of parts by its manifest.
pub(super) fn are_at(path: &Path) -> bool {
    Streamed::is_at(path) || path.is_file() && EdgeFormat::of_path(path).is_some()
}

/// The property sheet of edges.
#[derive(Serialize)]
pub(super) struct Sheet {
    name: String,
    /// Of a folder of parts.
    parts: Option<u32>,
    seed: Option<u64>,
    sha256: Option<String>,
    nodes: usize,
    edges: u64,
    self_loops: u64,
    isolated_nodes: usize,
    degrees: Tally,
    /// How many levels an edge spans.
    spans: Option<Tally>,
    /// Ops a level.
    level_sizes: Option<Tally>,
    /// Ops a colocation group.
    group_sizes: Option<Tally>,
}

impl Sheet {
    /// What the sheets of the parts say, and what one pass over the edges shows.
    ///
    /// # Memory
    /// 4 bytes a vertex.
    pub(super) fn of(path: &Path) -> anyhow::Result<Self> {
        let (mut parts, mut seed, mut known) = (None, None, None);
        if Streamed::is_at(path) {
            let graph = Streamed::open(path)?;
            let manifest = graph.manifest();
            let Some(properties) = graph.properties()? else {
                let there = (1..=manifest.parts).filter(|&part| graph.is_finished(part)).count();
                return Err(anyhow!(
                    "{}: has {there} of {} parts: 'placebench generate --stream' with its parameters makes the others",
                    path.display(),
                    manifest.parts
                ));
            };
            (parts, seed, known) = (Some(manifest.parts), Some(manifest.seed), Some(properties));
        }
        let mut stream: Box<dyn EdgeStream> = match EdgeFormat::of_path(path).filter(|_| path.is_file()) {
            Some(format) => open_edges(path, format)?,
            None => Box::new(EdgeParts::open(path)?),
        };
        let nodes = stream.vertex_count();
        check_memory(&[(nodes as u64, 4)], || format!("counting the degrees of {nodes} vertices"))?;
        let (mut degrees, mut self_loops) = (vec![0u32; nodes], 0u64);
        while let Some(batch) = stream.next_edges()? {
            for &(a, b) in batch {
                self_loops += u64::from(a == b);
                for end in [a, b] {
                    let degree = &mut degrees[end as usize];
                    *degree = degree.saturating_add(1);
                }
            }
        }
        let of = |tally: fn(&StreamProperties) -> &Tally| {
            known.as_ref().map(tally).filter(|tally| !tally.is_empty()).cloned()
        };
        Ok(Self {
            name: shown(path),
            parts,
            seed,
            sha256: known.as_ref().map(|properties| properties.sha256.clone()),
            nodes,
            edges: stream.edge_count(),
            self_loops,
            isolated_nodes: degrees.iter().filter(|&&degree| degree == 0).count(),
            degrees: Tally::of(degrees.into_iter().map(u64::from)),
            spans: of(|properties| &properties.spans),
            level_sizes: of(|properties| &properties.level_sizes),
            group_sizes: of(|properties| &properties.group_sizes),
        })
    }

    /// A line for each property, then the numbers of vertices by degree.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n", self.name);
        let mut line = |name: &str, value: String| text.push_str(&format!("{name:<16} {value}\n"));
        let range = |tally: &Tally| format!("{} to {}, mean {:.3}", tally.least, tally.largest, tally.mean());
        if let (Some(parts), Some(seed), Some(sha256)) = (self.parts, self.seed, &self.sha256) {
            line("parts", parts.to_string());
            line("seed", seed.to_string());
            line("sha256", sha256.clone());
        }
        line("vertices", self.nodes.to_string());
        line("edges", self.edges.to_string());
        line("self-loops", self.self_loops.to_string());
        line("isolated", self.isolated_nodes.to_string());
        line("degrees", range(&self.degrees));
        for (name, tally) in
            [("levels spanned", &self.spans), ("ops a level", &self.level_sizes), ("ops a group", &self.group_sizes)]
        {
            if let Some(tally) = tally {
                line(name, range(tally));
            }
        }
        text.push_str("\nvertices by degree (from 64 on, up to twice the number)\n");
        for (first, count) in &self.degrees.bins {
            text.push_str(&format!("  {first:>10} {count}\n"));
        }
        text
    }
}
