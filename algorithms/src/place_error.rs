//! Why a placer gave no placement.

use placebench_base::significant::bytes_text;
use placebench_datasets::{KindSet, MemoryRule};

/// Why a placer gave no placement.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlaceError {
    /// No device can take a unit beside what is placed already, under a memory rule that the placer sees.
    #[error(
        "no feasible device for {unit}: it needs {kinds} and {}, and the {allowed} device(s) of that kind have at most {} left; \
         {}",
        bytes_text(*.demand_bytes as f64),
        bytes_text(*.free_bytes as f64),
        remedy(*.rule)
    )]
    Infeasible {
        /// The op, or the first of its colocation group.
        unit: String,
        /// Kinds that the unit may run on.
        kinds: KindSet,
        /// What the unit demands.
        demand_bytes: u64,
        /// The rule that says what it demands: static, or peak for the placers that keep that.
        rule: MemoryRule,
        /// How many devices are of an allowed kind.
        allowed: usize,
        /// The most that one of them has left.
        free_bytes: u64,
    },
    /// A limit was reached, or the caller asked to stop.
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

/// What a memory rule counts, and what to do where that is too much.
fn remedy(rule: MemoryRule) -> &'static str {
    match rule {
        MemoryRule::Peak => {
            "the memory rule peak counts what is in memory at once: use more devices or devices with more memory, or choose the \
             rule unlimited"
        }
        MemoryRule::Static | MemoryRule::Unlimited => {
            "the memory rule static counts every tensor as if it were never freed: give devices more memory, or choose the rule \
             peak"
        }
    }
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
    /// The machine ended it, or did not let it begin, for want of memory or disk: that says nothing of the placer.
    Interrupted,
}
