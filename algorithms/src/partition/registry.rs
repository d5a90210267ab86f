//! All partitioners by name, one line each.

use super::{Hashing, Partitioner, streaming};
use crate::registry::build;
use crate::{Entry, Spec, SpecError};

/// All partitioners, in the order in which tables list them.
pub static PARTITIONERS: &[Entry<dyn Partitioner>] = &[
    streaming::entries::LDG,
    streaming::entries::FENNEL,
    streaming::entries::HDRF,
    streaming::entries::DBH,
    streaming::entries::GREEDY,
    streaming::entries::ADWISE,
    Entry {
        name: "hashing",
        summary: "vertices in random order, each to the least loaded block",
        source: "control",
        params: &[],
        build: |_| Ok(Box::new(Hashing)),
    },
];

/// Makes the partitioner that a spec names.
///
/// # Errors
/// If no partitioner has that name, or a parameter is unknown or out of range.
pub fn partitioner(spec: &Spec) -> Result<Box<dyn Partitioner>, SpecError> {
    build(spec, PARTITIONERS, "partitioner")
}
