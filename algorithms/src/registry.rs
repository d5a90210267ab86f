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
    Entry {
        name: "batch_split",
        summary: "equal ranges by operations rank, the highest to the fastest device",
        source: "L §4.4",
        params: &[],
        build: |_| Ok(Box::new(placers::BatchSplit)),
    },
    Entry {
        name: "iterated_critical_path",
        summary: "longest path after longest path, each to the device with least assigned",
        source: "L §4.5",
        params: &[],
        build: |_| Ok(Box::new(placers::IteratedCriticalPath)),
    },
    Entry {
        name: "critical_path",
        summary: "the critical path to the fastest device, the rest where least is assigned",
        source: "L §4.6",
        params: &[ParamSpec {
            name: "average",
            default: "speed",
            doc: "averages in the upward ranks: speed (L Eq. 4.2) or time (Topcuoglu et al. 2002)",
        }],
        build: |params| {
            let average = params.get("average", "speed or time", |_| true)?;
            Ok(Box::new(placers::CriticalPath { average }))
        },
    },
    Entry {
        name: "mite",
        summary: "minimises memory, importance, traffic and execution time in one product",
        source: "L §4.7",
        params: &[],
        build: |_| Ok(Box::new(placers::Mite)),
    },
    Entry {
        name: "dfs",
        summary: "depth first from the critical path, minimising traffic and execution time",
        source: "L §4.8",
        params: &[],
        build: |_| Ok(Box::new(placers::Dfs)),
    },
    Entry {
        name: "single_device",
        summary: "everything that one device may run on that device",
        source: "B §5",
        params: &[ParamSpec {
            name: "device",
            default: "auto",
            doc: "a device's name or id, or auto: the one on which the graph takes least time",
        }],
        build: |params| {
            let device = params.get("device", "auto, or a device's name or id", |_| true)?;
            Ok(Box::new(placers::SingleDevice { device }))
        },
    },
    Entry {
        name: "task_parallel",
        summary: "ready ops of highest rank to different devices, each near its inputs",
        source: "B §4.2",
        params: &[CELLS],
        build: |params| Ok(Box::new(placers::TaskParallel { cells: cells(params)? })),
    },
    Entry {
        name: "scoring",
        summary: "highest weighted sum of a load score and a communication score",
        source: "B §4.3",
        params: &[
            ParamSpec {
                name: "alpha",
                default: "1",
                doc: "weight of the load score, >= 0 (B's tuned values: 1.1 on an RNN, 0.9 on an NMT model)",
            },
            ParamSpec { name: "beta", default: "1", doc: "weight of the communication score, >= 0" },
            ParamSpec {
                name: "fringe",
                default: "2",
                doc: "ready ops looked at together, in multiples of the number of devices (B: 2 in the text, 1 in Alg. 4.3)",
            },
            CELLS,
        ],
        build: |params| {
            let weight = |value: &f64| value.is_finite() && *value >= 0.0;
            Ok(Box::new(placers::Scoring {
                alpha: params.get("alpha", "a number >= 0", weight)?,
                beta: params.get("beta", "a number >= 0", weight)?,
                fringe: params.get("fringe", "a whole number >= 1", |&fringe| fringe >= 1)?,
                cells: cells(params)?,
            }))
        },
    },
    Entry {
        name: "cluster_load",
        summary: "random edge contraction to one cluster a device, the most even of many trials",
        source: "B §4.4, §5.6.1",
        params: &[TRIALS, CELLS],
        build: |params| Ok(Box::new(placers::ClusterLoad { trials: trials(params)?, cells: cells(params)? })),
    },
    Entry {
        name: "cluster_comm",
        summary: "random edge contraction to 100 clusters, the lightest merged, the fewest edges cut of many trials",
        source: "B §4.4, §5.6.2",
        params: &[
            TRIALS,
            ParamSpec {
                name: "supernodes",
                default: "100",
                doc: "number of supernodes at which contraction stops, if more than devices",
            },
            CELLS,
        ],
        build: |params| {
            Ok(Box::new(placers::ClusterComm {
                trials: trials(params)?,
                supernodes: params.get("supernodes", "a whole number >= 0", |_| true)?,
                cells: cells(params)?,
            }))
        },
    },
    Entry {
        name: "cluster_cap",
        summary: "random edge contraction to clusters of limited weight, the fewest edges cut of many trials",
        source: "B §4.4, §5.6.3",
        params: &[
            TRIALS,
            ParamSpec {
                name: "slack",
                default: "1.5",
                doc: "the most that a contracted cluster may weigh, in even shares, >= 1",
            },
            CELLS,
        ],
        build: |params| {
            Ok(Box::new(placers::ClusterCap {
                trials: trials(params)?,
                slack: params.get("slack", "a number >= 1", |slack: &f64| slack.is_finite() && *slack >= 1.0)?,
                cells: cells(params)?,
            }))
        },
    },
    Entry {
        name: "expert",
        summary: "whole layers to devices in order, as an expert on the model places them",
        source: "B §5.2.2",
        params: &[],
        build: |_| Ok(Box::new(placers::Expert)),
    },
    Entry {
        name: "whitepaper_greedy",
        summary: "from the sources on, each op where it would finish first",
        source: "W §3.2.1",
        params: &[],
        build: |_| Ok(Box::new(placers::WhitepaperGreedy)),
    },
    Entry {
        name: "tensorflow_default",
        summary: "the first GPU that supports an op, else the first CPU",
        source: "TensorFlow 2.15",
        params: &[],
        build: |_| Ok(Box::new(placers::TensorflowDefault)),
    },
    Entry {
        name: "cola",
        summary: "everything fused, then split by cuts of least ratio until it can be packed evenly",
        source: "Khandekar et al. 2009, L ch. 8",
        params: &[ParamSpec {
            name: "imbalance",
            default: "0.1",
            doc: "by what share the most loaded device may exceed an even load, > 0",
        }],
        build: |params| {
            let valid = |imbalance: &f64| imbalance.is_finite() && *imbalance > 0.0;
            Ok(Box::new(placers::Cola { imbalance: params.get("imbalance", "a number > 0", valid)? }))
        },
    },
    Entry {
        name: "random",
        summary: "each unit to a feasible device drawn at random",
        source: "control",
        params: &[],
        build: |_| Ok(Box::new(placers::Random)),
    },
];

const AVERAGE: ParamSpec = ParamSpec {
    name: "average",
    default: "time",
    doc: "average cost of an op for the upward rank: time (mean of ops/speed) or speed (ops / mean speed, L Eq. 4.2)",
};

const CELLS: ParamSpec = ParamSpec {
    name: "cells",
    default: "step",
    doc: "which ops of LSTM and GRU layers stay together, told by names and layers: step (a cell at a time step), layer, or none",
};

const TRIALS: ParamSpec =
    ParamSpec { name: "trials", default: "1000", doc: "random contractions to choose from, >= 1" };

fn cells(params: &Params) -> Result<placers::Cells, SpecError> {
    params.get("cells", "none, step or layer", |_| true)
}

fn trials(params: &Params) -> Result<u32, SpecError> {
    params.get("trials", "a whole number >= 1", |&trials| trials >= 1)
}

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
