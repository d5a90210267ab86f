//! The options with which a user may read a graph. Each format says which of them it takes.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

/// What to do with the cycles of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopPolicy {
    /// Refuse the graph and name a node on the cycle.
    #[default]
    Reject,
    /// Drop the edges from `NextIteration` nodes into `Merge` nodes and no others. These edges close the loops of
    /// TensorFlow, so one pass through each loop is left. Other cycles are refused; TensorFlow makes none.
    NextIteration,
    /// Search depth first, and drop each edge that closes a cycle (B §4.1).
    Drop,
    /// Make as many copies of each loop, one for each iteration: an edge that closed the loop leads from one copy to the next.
    /// A loop in a loop is unrolled in each copy of the outer one. Cycles that are no loops of TensorFlow are unrolled, too: what
    /// [`LoopPolicy::Drop`] drops leads to the next copy.
    Unroll(NonZeroU32),
}

impl FromStr for LoopPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "reject" => Ok(Self::Reject),
            "next_iteration" => Ok(Self::NextIteration),
            "drop" => Ok(Self::Drop),
            text => {
                let times = text.strip_prefix("unroll(").and_then(|rest| rest.strip_suffix(')'));
                let times = times.and_then(|times| times.trim().parse().ok());
                times.map(Self::Unroll).ok_or_else(|| {
                    let expected =
                        "expected reject, next_iteration, drop or unroll(N), where N is a number of iterations from 1";
                    format!("unknown cycle policy '{text}': {expected}")
                })
            }
        }
    }
}

/// The size of a named dimension: `batch=8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimSize {
    /// The name, as the file has it.
    pub name: String,
    /// Its size.
    pub size: u64,
}

impl FromStr for DimSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
        let size = named.and_then(|(name, size)| Some(Self { name: name.to_owned(), size: size.parse().ok()? }));
        size.ok_or_else(|| format!("'{text}' is no size of a dimension: write NAME=SIZE, as in batch=8"))
    }
}

/// How to read a graph. The default suits every format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// What to do with cycles; `None` is [`LoopPolicy::Reject`].
    pub cycles: Option<LoopPolicy>,
    /// Leaves the consumers of a reference or a resource handle free to run on another device than its variable.
    /// TensorFlow's own placer keeps them together. `loc:@` classes stay colocated.
    pub no_references: bool,
    /// An expert's split, whose processors become layer labels.
    pub split: Option<PathBuf>,
    /// Sizes of named dimensions.
    pub dims: Vec<DimSize>,
}

impl ReadOptions {
    /// The options that a user has set.
    pub fn given(&self) -> Vec<ReadOption> {
        // All fields are named, so that a new one cannot be forgotten here.
        let Self { cycles, no_references, split, dims } = self;
        let set = [
            (ReadOption::Cycles, cycles.is_some()),
            (ReadOption::NoReferences, *no_references),
            (ReadOption::Split, split.is_some()),
            (ReadOption::Dim, !dims.is_empty()),
        ];
        set.into_iter().filter(|&(_, given)| given).map(|(option, _)| option).collect()
    }
}

/// The name of one of the [`ReadOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOption {
    /// [`ReadOptions::cycles`].
    Cycles,
    /// [`ReadOptions::no_references`].
    NoReferences,
    /// [`ReadOptions::split`].
    Split,
    /// [`ReadOptions::dims`].
    Dim,
}

impl fmt::Display for ReadOption {
    /// As the command spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cycles => "--cycles",
            Self::NoReferences => "--no-references",
            Self::Split => "--split",
            Self::Dim => "--dim",
        })
    }
}
