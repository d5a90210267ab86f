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
