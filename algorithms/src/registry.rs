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
        name: "random",
        summary: "each unit to a feasible device drawn at random",
        source: "control",
        params: &[],
        build: |_| Ok(Box::new(placers::Random)),
    },
    Entry {
        name: "reinforce",
        summary: "learns a distribution over devices for each group by policy gradients",
        source: "Mirhoseini et al. 2017, B §6.2",
        params: &[
            placers::Budget::EVALUATIONS,
            placers::Budget::GROUPS,
            placers::Prior::PARAM,
            ParamSpec { name: "samples", default: "10", doc: "placements drawn for each step of the policy, from 1" },
            ParamSpec { name: "rate", default: "100", doc: "learning rate, above 0 (tuned)" },
        ],
        build: |params| {
            let budget = placers::Budget::from_params(params)?;
            let samples = params.get("samples", "a whole number from 1", |&samples| samples > 0)?;
            let rate = params.get("rate", "a number above 0", |rate: &f64| *rate > 0.0 && rate.is_finite())?;
            let prior = params.get("prior", "speed or uniform", |_| true)?;
            Ok(Box::new(placers::Reinforce { budget, prior, samples, rate }))
        },
    },
    Entry {
        name: "cross_entropy",
        summary: "refits a distribution over devices for each group to the best samples",
        source: "Rubinstein 1999, Gao et al. 2018, B §6.2",
        params: &[
            placers::Budget::EVALUATIONS,
            placers::Budget::GROUPS,
            placers::Prior::PARAM,
            ParamSpec { name: "samples", default: "50", doc: "placements drawn for each refit, from 1 (tuned)" },
            ParamSpec { name: "elites", default: "0.1", doc: "share of them to refit to, above 0, at most 1 (tuned)" },
            ParamSpec {
                name: "smoothing",
                default: "0.7",
                doc: "weight of the elites against the former distribution, above 0, at most 1 (tuned)",
            },
        ],
        build: |params| {
            let share = |share: &f64| *share > 0.0 && *share <= 1.0;
            Ok(Box::new(placers::CrossEntropy {
                budget: placers::Budget::from_params(params)?,
                prior: params.get("prior", "speed or uniform", |_| true)?,
                samples: params.get("samples", "a whole number from 1", |&samples| samples > 0)?,
                elites: params.get("elites", "above 0 and at most 1", share)?,
                smoothing: params.get("smoothing", "above 0 and at most 1", share)?,
            }))
        },
    },
    Entry {
        name: "simulated_annealing",
        summary: "moves and swaps groups, accepting what is worse less and less",
        source: "Kirkpatrick et al. 1983, control",
        params: &[
            placers::Budget::EVALUATIONS,
            placers::Budget::GROUPS,
            placers::Prior::PARAM,
            ParamSpec { name: "batch", default: "2", doc: "moves judged at once from one state, from 1 (tuned)" },
            ParamSpec { name: "end", default: "0.001", doc: "last / first temperature, above 0, at most 1 (tuned)" },
        ],
        build: |params| {
            Ok(Box::new(placers::SimulatedAnnealing {
                budget: placers::Budget::from_params(params)?,
                prior: params.get("prior", "speed or uniform", |_| true)?,
                batch: params.get("batch", "a whole number from 1", |&batch| batch > 0)?,
                end: params.get("end", "above 0 and at most 1", |end: &f64| *end > 0.0 && *end <= 1.0)?,
            }))
        },
    },
    Entry {
        name: "cats",
        summary: "online: ops on the path of most ops to fast devices, others to slow ones",
        source: "Chronaki et al. 2015, L §8",
        params: &[STEAL],
        build: |params| Ok(Box::new(placers::Cats { steal: params.get("steal", "fast or both", |_| true)? })),
    },
    Entry {
        name: "cpath",
        summary: "online: ops on the path of most time to fast devices, others to slow ones",
        source: "Chronaki et al. 2017, L §8",
        params: &[STEAL],
        build: |params| Ok(Box::new(placers::Cpath { steal: params.get("steal", "fast or both", |_| true)? })),
    },
    Entry {
        name: "hybrid",
        summary: "online: critical by the number of ops behind, first by the time behind",
        source: "Chronaki et al. 2017, L §8",
        params: &[STEAL],
        build: |params| Ok(Box::new(placers::Hybrid { steal: params.get("steal", "fast or both", |_| true)? })),
    },
    Entry {
        name: "dheft",
        summary: "online: each ready op to the device where it will finish first",
        source: "Chronaki et al. 2015, L §8",
        params: &[],
        build: |_| Ok(Box::new(placers::Dheft)),
    },
];

const STEAL: ParamSpec = ParamSpec {
    name: "steal",
    default: "fast",
    doc: "who takes what is meant for others when nothing else is left: fast devices (fast), or slow ones too (both)",
};

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
