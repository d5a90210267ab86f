//! Why a placer gave no placement.

use placebench_datasets::KindSet;

/// Why a placer gave no placement.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlaceError {
    /// No device can take a unit beside what is placed already, under the one memory rule that placers see
    /// ([`MemoryRule::Static`](placebench_datasets::MemoryRule::Static)).
    #[error(
        "no feasible device for {unit}: it needs {kinds} and {demand_bytes} bytes, and the {allowed} device(s) of that \
         kind have at most {free_bytes} bytes left; the memory rule static counts every tensor as if it were never freed: \
         give devices more memory, or choose the rule peak"
    )]
    Infeasible {
        /// The op, or the first of its colocation group.
        unit: String,
        /// Kinds that the unit may run on.
        kinds: KindSet,
        /// What the unit demands.
        demand_bytes: u64,
        /// How many devices are of an allowed kind.
        allowed: usize,
        /// The most that one of them has left.
        free_bytes: u64,
    },
    /// The deadline passed, or the caller asked to stop.
    #[error("stopped before it had placed all ops")]
    Stopped,
    /// The placer cannot handle such an instance at all.
    #[error("{0}")]
    Unsupported(String),
    /// A placer outside this process gave no placement.
    #[error("{message}")]
    External {
        /// What sort of failure it is.
        fault: ExternalFault,
        /// What happened, in one line.
        message: String,
    },
}

/// How a placer outside this process failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalFault {
    /// It did not start, crashed, or answered with something that is no placement.
    Failed,
    /// It says that it found no feasible placement.
    Infeasible,
    /// It took longer than it may.
    TimedOut,
    /// Its placement violates a constraint of the instance.
    Invalid,
}
