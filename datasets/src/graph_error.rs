//! Why a graph cannot be built.

use crate::{KindSet, OpId};

/// Why a graph cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// An edge names an op that was never added.
    #[error("edge names op {op}, but there are only {count} ops")]
    UnknownOp {
        /// The id named.
        op: u32,
        /// How many ops there are.
        count: usize,
    },
    /// An edge names a tensor that was never added.
    #[error("edge names output {port} of {label}, which has {outputs} output(s)")]
    UnknownPort {
        /// The producer.
        label: String,
        /// The port named.
        port: usize,
        /// How many it has.
        outputs: usize,
    },
    /// The graph has a cycle.
    #[error("the graph has a cycle through {label}: remove an edge of it")]
    Cycle {
        /// An op on the cycle.
        op: OpId,
        /// Its name.
        label: String,
    },
    /// Colocated ops have no device kind in common.
    #[error(
        "{first_label} is colocated with {second_label}, but the first needs {first_kinds} and the second {second_kinds}"
    )]
    ContradictoryKinds {
        /// One op.
        first: OpId,
        /// Its name.
        first_label: String,
        /// Its kinds.
        first_kinds: KindSet,
        /// The other op.
        second: OpId,
        /// Its name.
        second_label: String,
        /// Its kinds.
        second_kinds: KindSet,
    },
    /// An op may run nowhere.
    #[error("{label} may run on no kind of device: give it at least one of CPU, GPU, TPU")]
    NoKind {
        /// The op.
        op: OpId,
        /// Its name.
        label: String,
    },
    /// A cost or a time is negative or no number.
    #[error("{label} costs {cost}: costs and times must be finite numbers ≥ 0")]
    BadCost {
        /// The op.
        op: OpId,
        /// Its name.
        label: String,
        /// The value.
        cost: f64,
    },
    /// Some ops say how many bytes they move and others do not.
    #[error("op {op} does not say how many bytes it moves, but others do: give every op 'bytes_moved' or none")]
    BytesMoved {
        /// The first op without.
        op: OpId,
    },
    /// A class of devices has a name that cannot be part of a column's name.
    #[error("'{class}' is no name for a class of devices: use lower-case letters, digits and '_'")]
    BadClass {
        /// The name.
        class: String,
    },
    /// Some ops have names and others do not, or two have the same.
    #[error("op {op}: either every op has a name of its own or none has ('{name}')")]
    Names {
        /// The op.
        op: OpId,
        /// The offending name, empty if missing.
        name: String,
    },
    /// More than 32-bit ids can count.
    #[error("{ops} ops and {edges} edges are more than 32-bit ids can count")]
    TooLarge {
        /// Number of ops.
        ops: usize,
        /// Number of edges.
        edges: usize,
    },
    /// Columns of different lengths, or offsets that run backwards.
    #[error("the columns of the graph do not fit together: their lengths or offsets differ")]
    ColumnLengths,
    /// An edge of a graph given in topological order runs backwards.
    #[error("edge from op {producer} to op {target}: sources must be smaller than targets here")]
    NotTopological {
        /// Producer.
        producer: OpId,
        /// Consumer.
        target: OpId,
    },
}

impl GraphError {
    /// The op at fault, for readers that know where each op stands in a file.
    pub fn op(&self) -> Option<OpId> {
        match self {
            Self::Cycle { op, .. }
            | Self::NoKind { op, .. }
            | Self::BadCost { op, .. }
            | Self::Names { op, .. }
            | Self::BytesMoved { op }
            | Self::ContradictoryKinds { first: op, .. }
            | Self::NotTopological { target: op, .. } => Some(*op),
            Self::UnknownOp { .. }
            | Self::UnknownPort { .. }
            | Self::BadClass { .. }
            | Self::TooLarge { .. }
            | Self::ColumnLengths => None,
        }
    }
}
