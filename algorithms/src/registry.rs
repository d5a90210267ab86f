//! All algorithms by name, one line each.

use crate::spec::nearest;
use crate::{ParamSpec, Params, Placer, Scheduler, Spec, SpecError};
use crate::{placers, schedulers};

/// An algorithm that can be named in a suite or on the command line.
pub struct Entry<T: ?Sized> {
    /// Unique name.
    pub name: &'static str,
    /// One plain sentence.
    pub summary: &'static str,
    /// Where it comes from: short citation with section.
    pub source: &'static str,
    /// Parameters with their defaults.
    pub params: &'static [ParamSpec],
    /// Makes the algorithm from its parameters.
    pub build: fn(&Params) -> Result<Box<T>, SpecError>,
}

/// All placers, in the order in which tables list them.
pub static PLACERS: &[Entry<dyn Placer>] = &[
    Entry {
        name: "hashing",
        summary: "deals units out to devices in turn",
        source: "L §4.2",
        params: &[],
        build: |_| Ok(Box::new(placers::Hashing)),
    },
    Entry {
        name: "heft",
        summary: "by upward rank, on the device of the earliest finish, with insertion",
        source: "Topcuoglu et al. 2002, L §4.3",
        params: &[AVERAGE],
        build: |params| Ok(Box::new(placers::Heft { average: params.get("average", "time or speed", |_| true)? })),
    },
];

const AVERAGE: ParamSpec = ParamSpec {
    name: "average",
    default: "time",
    doc: "average cost of an op for the upward rank: time (mean of ops/speed) or speed (ops / mean speed, L Eq. 4.2)",
};

/// All schedulers, in the order in which tables list them.
pub static SCHEDULERS: &[Entry<dyn Scheduler>] = &[
    Entry {
        name: "fifo",
        summary: "first ready, first executed",
        source: "L §5.2",
        params: &[],
        build: |_| Ok(Box::new(schedulers::Fifo)),
    },
    Entry {
        name: "pct",
        summary: "longest path computation time first",
        source: "L §5.3",
        params: &[],
        build: |_| Ok(Box::new(schedulers::Pct)),
    },
    Entry {
        name: "msr",
        summary: "maximum successor rank first",
        source: "L §5.4",
        params: &[],
        build: |_| Ok(Box::new(schedulers::Msr)),
    },
    Entry {
        name: "static",
        summary: "the order of the placer's plan",
        source: "Topcuoglu et al. 2002",
        params: &[],
        build: |_| Ok(Box::new(schedulers::Static)),
    },
];

/// Makes the placer that a spec names.
///
/// # Errors
/// If no placer has that name, or a parameter is unknown or out of range.
pub fn placer(spec: &Spec) -> Result<Box<dyn Placer>, SpecError> {
    build(spec, PLACERS, "placer")
}

/// Makes the scheduler that a spec names.
///
/// # Errors
/// If no scheduler has that name, or a parameter is unknown or out of range.
pub fn scheduler(spec: &Spec) -> Result<Box<dyn Scheduler>, SpecError> {
    build(spec, SCHEDULERS, "scheduler")
}

fn build<T: ?Sized>(spec: &Spec, entries: &[Entry<T>], what: &'static str) -> Result<Box<T>, SpecError> {
    let entry = entries.iter().find(|entry| entry.name == spec.name).ok_or_else(|| SpecError::UnknownName {
        what,
        name: spec.name.clone(),
        nearest: nearest(&spec.name, entries.iter().map(|entry| entry.name)),
    })?;
    (entry.build)(&Params::resolve(spec, entry.params)?)
}
