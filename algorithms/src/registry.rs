//! All algorithms by name, one line each.

use placebench_datasets::nearest;

use crate::partition::Partitioner;
use crate::partition::registry::PARTITIONERS;
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
        name: "cpop",
        summary: "the critical path on one device, the rest by earliest finish",
        source: "Topcuoglu et al. 2002",
        params: &[AVERAGE],
        build: |params| Ok(Box::new(placers::Cpop { average: params.get("average", "time or speed", |_| true)? })),
    },
    Entry {
        name: "peft",
        summary: "by optimistic cost, on the device of the least finish plus optimistic cost",
        source: "Arabnejad, Barbosa 2014",
        params: &[AVERAGE],
        build: |params| Ok(Box::new(placers::Peft { average: params.get("average", "time or speed", |_| true)? })),
    },
    Entry {
        name: "lookahead",
        summary: "by upward rank, on the device from which the successors finish first",
        source: "Bittencourt et al. 2010",
        params: &[AVERAGE],
        build: |params| Ok(Box::new(placers::Lookahead { average: params.get("average", "time or speed", |_| true)? })),
    },
    Entry {
        name: "etf",
        summary: "the pair of a ready op and a device that starts first",
        source: "Hwang et al. 1989",
        params: &[AVERAGE],
        build: |params| Ok(Box::new(placers::Etf { average: params.get("average", "time or speed", |_| true)? })),
    },
    Entry {
        name: "dls",
        summary: "the pair of a ready op and a device of the largest dynamic level",
        source: "Sih, Lee 1993",
        params: &[],
        build: |_| Ok(Box::new(placers::Dls)),
    },
    Entry {
        name: "mcp",
        summary: "by latest start, on the device of the earliest start",
        source: "Wu, Gajski 1990",
        params: &[AVERAGE],
        build: |params| Ok(Box::new(placers::Mcp { average: params.get("average", "time or speed", |_| true)? })),
    },
    Entry {
        name: "m_topo",
        summary: "device after device filled in topological order to equal shares of memory",
        source: "Jeon et al. 2020",
        params: &[],
        build: |_| Ok(Box::new(placers::MTopo)),
    },
    Entry {
        name: "m_etf",
        summary: "ETF under memory limits",
        source: "Jeon et al. 2020",
        params: &[],
        build: |_| Ok(Box::new(placers::MEtf)),
    },
    Entry {
        name: "m_sct",
        summary: "ETF under memory limits, but devices wait for favourite children",
        source: "Jeon et al. 2020",
        params: &[THRESHOLD, WINDOW, AVERAGE],
        build: |params| {
            let average = params.get("average", "time or speed", |_| true)?;
            Ok(Box::new(placers::MSct { favourites: favourites(params)?, average }))
        },
    },
    Entry {
        name: "list",
        summary: "list scheduling from named parts: heft, cpop, peft and the others are combinations",
        source: "Kwok, Ahmad 1999",
        params: &[
            ParamSpec {
                name: "priority",
                default: "upward_rank",
                doc: "order of the ops: upward_rank, upward_downward, optimistic_cost, static_level, median_level, alap, top_level or topological",
            },
            ParamSpec {
                name: "pick",
                default: "op",
                doc: "what is picked: the most urgent op, then a device; or the best pair of both",
            },
            ParamSpec {
                name: "selection",
                default: "earliest_finish",
                doc: "the device: earliest_finish, earliest_start, and with pick=op finish_plus_cost, lookahead, critical_path or fill, \
                      with pick=pair dynamic_level or favourite_child",
            },
            ParamSpec {
                name: "insertion",
                default: "auto",
                doc: "whether ops may go into gaps: true, false or auto (with pick=op)",
            },
            AVERAGE,
        ],
        build: list_scheduling,
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
    Entry {
        name: "optimal",
        summary: "the proven optimum of small graphs, by branch and bound, with its schedule",
        source: "control",
        params: &[ParamSpec {
            name: "nodes",
            default: "20000000",
            doc: "nodes of the search tree after which it is given up, at least 1",
        }],
        build: |params| {
            let most_nodes = params.get("nodes", "a number of at least 1", |&nodes| nodes >= 1)?;
            Ok(Box::new(placers::Optimal { most_nodes }))
        },
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

const THRESHOLD: ParamSpec = ParamSpec {
    name: "threshold",
    default: "0.1",
    doc: "below this x of the linear program an edge leads to a favourite child; above 0, at most 0.5",
};

const WINDOW: ParamSpec = ParamSpec {
    name: "window",
    default: "500",
    doc: "most edges in one linear program, from 1 on; the time of one grows with the cube",
};

fn favourites(params: &Params) -> Result<placers::FavouriteChildren, SpecError> {
    let threshold =
        params.get("threshold", "above 0 and at most 0.5", |&threshold: &f64| threshold > 0.0 && threshold <= 0.5)?;
    let window = params.get("window", "a whole number from 1 on", |&window: &usize| window > 0)?;
    Ok(placers::FavouriteChildren { threshold, window })
}

fn list_scheduling(params: &Params) -> Result<Box<dyn Placer>, SpecError> {
    let names = |names: Vec<&str>| format!("one of {}", names.join(", "));
    let priorities = names(placers::Priority::NAMES.iter().map(|(name, _)| *name).collect());
    let selections = names(placers::Selection::NAMES.iter().map(|(name, _)| *name).collect());
    let pick = params.get("pick", "op or pair", |_| true)?;
    let insertion: String =
        params.get("insertion", "true, false or auto", |text: &String| matches!(&**text, "true" | "false" | "auto"))?;
    let list = placers::ListScheduling {
        priority: params.get("priority", &priorities, |_| true)?,
        pick,
        selection: params.get("selection", &selections, |_| true)?,
        insertion: if insertion == "auto" { pick == placers::Pick::Op } else { insertion == "true" },
        average: params.get("average", "time or speed", |_| true)?,
        favourites: placers::FavouriteChildren::default(),
    };
    list.check()?;
    Ok(Box::new(list))
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

/// What every placer that partitions takes besides the parameters of its partitioner.
pub const PARTITIONED_PARAMS: [ParamSpec; 3] = [
    ParamSpec { name: "epsilon", default: "0.03", doc: "by how much a block may exceed its device's share, from 0" },
    ParamSpec { name: "vertex_weight", default: "work", doc: "what a unit weighs: work, count (of ops) or memory" },
    ParamSpec { name: "edge_weight", default: "bytes", doc: "what an edge weighs: bytes, time or count" },
];

/// The partitioners as placers, by their names there: a partitioner's own name, with `_blocks` after it if a placer of
/// another kind has that name already.
pub fn partitioned_placers() -> impl Iterator<Item = (String, &'static Entry<dyn Partitioner>)> {
    PARTITIONERS.iter().map(|entry| {
        let taken = PLACERS.iter().any(|placer| placer.name == entry.name);
        (if taken { format!("{}_blocks", entry.name) } else { entry.name.to_owned() }, entry)
    })
}

/// The names of all placers, in the order in which tables list them: those of [`PLACERS`], then the partitioners.
pub fn placer_names() -> Vec<String> {
    let own = PLACERS.iter().map(|entry| entry.name.to_owned());
    own.chain(partitioned_placers().map(|(name, _)| name)).collect()
}

/// Makes the placer that a spec names: one of [`PLACERS`], or a partitioner as a placer.
///
/// # Errors
/// If no placer has that name, or a parameter is unknown or out of range.
pub fn placer(spec: &Spec) -> Result<Box<dyn Placer>, SpecError> {
    if PLACERS.iter().any(|entry| entry.name == spec.name) {
        return build(spec, PLACERS, "placer");
    }
    match partitioned_placers().find(|(name, _)| *name == spec.name) {
        Some((_, entry)) => partitioned(spec, entry),
        None => Err(SpecError::UnknownName {
            what: "placer",
            name: spec.name.clone(),
            nearest: nearest(&spec.name, placer_names().iter().map(String::as_str)),
        }),
    }
}

fn partitioned(spec: &Spec, entry: &Entry<dyn Partitioner>) -> Result<Box<dyn Placer>, SpecError> {
    let all: Vec<ParamSpec> = entry.params.iter().chain(&PARTITIONED_PARAMS).copied().collect();
    let params = Params::resolve(spec, &all)?;
    let epsilon = |epsilon: &f64| epsilon.is_finite() && *epsilon >= 0.0;
    Ok(Box::new(placers::Partitioned {
        partitioner: (entry.build)(&params)?,
        epsilon: params.get("epsilon", "a number from 0", epsilon)?,
        vertex_weight: params.get("vertex_weight", "work, count or memory", |_| true)?,
        edge_weight: params.get("edge_weight", "bytes, time or count", |_| true)?,
    }))
}

/// Makes the scheduler that a spec names.
///
/// # Errors
/// If no scheduler has that name, or a parameter is unknown or out of range.
pub fn scheduler(spec: &Spec) -> Result<Box<dyn Scheduler>, SpecError> {
    build(spec, SCHEDULERS, "scheduler")
}

pub(crate) fn build<T: ?Sized>(spec: &Spec, entries: &[Entry<T>], what: &'static str) -> Result<Box<T>, SpecError> {
    let entry = entries.iter().find(|entry| entry.name == spec.name).ok_or_else(|| SpecError::UnknownName {
        what,
        name: spec.name.clone(),
        nearest: nearest(&spec.name, entries.iter().map(|entry| entry.name)),
    })?;
    (entry.build)(&Params::resolve(spec, entry.params)?)
}
