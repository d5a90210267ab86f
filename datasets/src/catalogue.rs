//! The catalogue: real steps of models that come with the program, extracted from TensorFlow, JAX and PyTorch with
//! measured costs, or with operations and bytes.
//!
//! Every graph is a native folder under `datasets/catalogue/`, embedded whole. How they were made is in the README
//! there.

use placebench_base::{Listed, UnknownName};

use crate::DataflowGraph;
use crate::format::{FormatError, GraphHeader, NativeBytes};

/// A graph of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct CatalogueEntry {
    /// Unique name.
    pub name: &'static str,
    files: NativeBytes<'static>,
}

impl Listed for CatalogueEntry {
    const WHAT: &'static str = "graph of the catalogue";
    const LIST: &'static str = "graphs";

    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> &str {
        ""
    }
}

/// Why a graph of the catalogue cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// No graph has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// An embedded graph is broken, which a test rules out.
    #[error(transparent)]
    Format(#[from] FormatError),
}

macro_rules! entries {
    ($($name:literal),* $(,)?) => {
        &[$(CatalogueEntry {
            name: $name,
            files: NativeBytes {
                header: include_bytes!(concat!("../catalogue/", $name, "/graph.toml")),
                ops: include_bytes!(concat!("../catalogue/", $name, "/ops.parquet")),
                tensors: include_bytes!(concat!("../catalogue/", $name, "/tensors.parquet")),
                edges: include_bytes!(concat!("../catalogue/", $name, "/edges.parquet")),
            },
        }),*]
    };
}

static ENTRIES: &[CatalogueEntry] = entries![
    "convnet",
    "recurrent",
    "dynamic_rnn",
    "lstm_lm",
    "nmt",
    "resnet50",
    "transformer",
    "convnet_whole",
    "recurrent_whole",
    "dynamic_rnn_whole",
    "gpt2",
    "llama",
    "moe",
    "vit",
    "unet",
    "llama_inference",
    "seq2seq",
    "graph_network",
    "detector",
    "gpt2_xl",
    "llama3_8b",
    "llama3_70b_inference",
    "mixtral_8x7b",
    "vit_l",
    "stable_diffusion",
    "two_tower_criteo",
];

/// All graphs. From TensorFlow: training steps, then whole graphs with initialisation and evaluation. From JAX and
/// PyTorch: models with measured times. From JAX: those of published sizes, of which operations and bytes are known.
pub fn entries() -> &'static [CatalogueEntry] {
    ENTRIES
}

/// The graph of a name, with its header.
///
/// # Errors
/// If there is none of that name; the nearest is suggested.
///
/// # Example
/// ```
/// let (header, graph) = placebench_datasets::catalogue::load("convnet")?;
/// assert_eq!((header.name.as_str(), graph.op_count()), ("convnet", 225));
/// # Ok::<(), placebench_datasets::catalogue::CatalogueError>(())
/// ```
pub fn load(name: &str) -> Result<(GraphHeader, DataflowGraph), CatalogueError> {
    Ok(find(name)?.load()?)
}

/// The entry of a name.
///
/// # Errors
/// As [`load`].
pub fn find(name: &str) -> Result<&'static CatalogueEntry, UnknownName> {
    placebench_base::find(ENTRIES, name)
}

impl CatalogueEntry {
    /// The graph with its header.
    ///
    /// # Errors
    /// If the embedded files are broken, which a test rules out.
    pub fn load(&self) -> Result<(GraphHeader, DataflowGraph), FormatError> {
        self.files.read(self.path())
    }

    /// The header alone.
    ///
    /// # Errors
    /// As [`CatalogueEntry::load`].
    pub fn header(&self) -> Result<GraphHeader, FormatError> {
        self.files.read_header(self.path())
    }

    fn path(&self) -> String {
        format!("catalogue/{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kinds, OpId};

    #[test]
    fn every_graph_loads_and_is_what_its_provenance_says() {
        for entry in entries() {
            let (header, graph) = entry.load().unwrap();
            let count = |key: &str| header.provenance[key].as_integer().unwrap() as usize;
            assert_eq!((header.name.as_str(), header.kinds), (entry.name, Kinds::AcceleratorsOnly));
            assert_eq!(graph.op_count(), count("nodes"), "{}", entry.name);
            assert_eq!(graph.edge_count() - graph.control_edge_count(), count("data_edges"), "{}", entry.name);
            assert_eq!(graph.control_edge_count(), count("control_edges"), "{}", entry.name);
            assert!(graph.colocation().colocated_op_count() >= count("class_colocated"), "{}", entry.name);
            assert!(graph.layers().is_some() && graph.op_types().is_some() && graph.has_names());
            assert!(graph.attributes().is_some(), "{}", entry.name);
            if graph.measured_times().is_empty() {
                let sum = |of: fn(&DataflowGraph, OpId) -> f64| graph.op_ids().map(|op| of(&graph, op)).sum::<f64>();
                assert_eq!(sum(DataflowGraph::ops), count("operations_total") as f64, "{}", entry.name);
                let moved = sum(|graph, op| graph.bytes_moved(op).unwrap());
                assert_eq!(moved, count("bytes_moved_total") as f64, "{}", entry.name);
                continue;
            }
            let seconds = |class| {
                let times = graph.measured_on(class).unwrap();
                graph.op_ids().filter_map(|op| times.of(op)).sum::<f64>()
            };
            let total = |key: &str| header.provenance[key].as_float().unwrap();
            assert!((seconds("cpu") - total("cpu_seconds_total")).abs() < 1e-5, "{}", entry.name);
            assert!((seconds("gpu") - total("gpu_seconds_total")).abs() < 1e-5, "{}", entry.name);
        }
    }

    #[test]
    fn a_misspelt_name_suggests_the_nearest() {
        assert_eq!(
            load("dense").unwrap_err().to_string(),
            "unknown graph of the catalogue 'dense': see 'placebench list graphs'"
        );
        for (name, near) in [("resnet", "resnet50"), ("lstm", "lstm_lm"), ("nmtt", "nmt")] {
            assert!(load(name).unwrap_err().to_string().ends_with(&format!("did you mean '{near}'?")));
        }
    }
}
