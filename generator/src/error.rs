//! Why a graph or cluster cannot be generated.

use placebench_base::process::NotEnoughMemory;
use placebench_datasets::{ClusterError, GraphError, UndirectedError};

/// Why a graph or cluster cannot be generated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GeneratorError {
    /// A parameter's value makes no sense.
    #[error("`{param}` is {value}, but must be {expected}")]
    BadParam {
        /// The parameter, as files spell it.
        param: &'static str,
        /// The value given.
        value: String,
        /// What it must be.
        expected: String,
    },
    /// More edges are asked for than there are pairs of ops that may get one.
    #[error(
        "`{param}` asks for {asked} edges, but there are only {possible} pairs of ops for them: ask for fewer, or for \
         more or larger levels"
    )]
    TooManyEdges {
        /// The parameter, as files spell it.
        param: &'static str,
        /// Edges asked for.
        asked: u64,
        /// Pairs that may get one.
        possible: u64,
    },
    /// The graph does not fit 32-bit ids.
    #[error("the graph would have {ops} ops and {edges} edges: ids are 32-bit, so each must stay below {limit}", limit = u32::MAX)]
    TooLarge {
        /// Ops it would have.
        ops: u64,
        /// Edges it would have.
        edges: u64,
    },
    /// The graph does not fit into memory.
    #[error(transparent)]
    Memory(#[from] NotEnoughMemory),
    /// The graph was refused.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The cluster was refused.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A cluster file that is part of the program was refused.
    #[error("{0}")]
    ClusterFile(String),
    /// The undirected graph was refused.
    #[error(transparent)]
    Undirected(#[from] UndirectedError),
}

impl GeneratorError {
    pub(crate) fn bad(param: &'static str, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::BadParam { param, value: value.to_string(), expected: expected.into() }
    }
}

/// Checks that `value` is a probability.
pub(crate) fn check_probability(param: &'static str, value: f64) -> Result<(), GeneratorError> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(GeneratorError::bad(param, value, "a probability in [0, 1]"))
    }
}
