//! Options of those who read graphs from files.

use std::path::PathBuf;

use anyhow::bail;
use placebench::datasets::format::{DimSize, LoopPolicy, ReadOptions, formats_taking};

/// How a file of a graph is read.
#[derive(clap::Args)]
pub(super) struct ReadArgs {
    /// What to do with cycles in a GraphDef: reject, next_iteration (open TensorFlow's loops), drop (the last edge of
    /// each cycle), unroll(N) (N copies of each loop) [default: reject].
    #[arg(long)]
    cycles: Option<LoopPolicy>,

    /// Does not colocate the consumers of a reference with their variable.
    #[arg(long)]
    no_references: bool,

    /// An expert's split of a graph of dnn-partitioning: its processors become layers, so that the placer 'expert' can be
    /// compared with others.
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,

    /// Size of a named dimension of an ONNX model, as in batch=8; may be given several times.
    #[arg(long, value_name = "NAME=SIZE")]
    dim: Vec<DimSize>,
}

impl ReadArgs {
    /// As the readers take them.
    pub(super) fn options(&self) -> ReadOptions {
        ReadOptions {
            cycles: self.cycles,
            no_references: self.no_references,
            split: self.split.clone(),
            dims: self.dim.clone(),
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.options().given().is_empty()
    }

    /// Refuses them for an input that is no file of a dataflow graph.
    pub(super) fn refuse(&self, input: &str) -> anyhow::Result<()> {
        match self.options().given().first() {
            Some(&option) => bail!("{option} is for {}, not for {input}: leave it out", formats_taking(option)),
            None => Ok(()),
        }
    }
}
