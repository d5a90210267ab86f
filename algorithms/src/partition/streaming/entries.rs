//! Streaming partitioners by name.

use std::str::FromStr;
use std::time::Duration;

use super::{
    Adwise, Budget, ByMasters, Dbh, DegreeSource, EdgePartitioner, Fennel, Greedy, Hdrf, Ldg, StreamOrder, Window,
};
use crate::partition::Partitioner;
use crate::registry::build;
use crate::{Entry, ParamSpec, Params, Spec, SpecError};

/// All partitioners of edges, in the order in which tables list them.
pub static EDGE_PARTITIONERS: &[Entry<dyn EdgePartitioner>] = &[
    Entry {
        name: "hdrf",
        summary: HDRF_SUMMARY,
        source: HDRF_SOURCE,
        params: &[LAMBDA, PARTIAL],
        build: |params| Ok(Box::new(hdrf(params)?)),
    },
    Entry {
        name: "dbh",
        summary: DBH_SUMMARY,
        source: DBH_SOURCE,
        params: &[KNOWN],
        build: |params| Ok(Box::new(Dbh { degrees: degrees(params)? })),
    },
    Entry {
        name: "greedy",
        summary: GREEDY_SUMMARY,
        source: GREEDY_SOURCE,
        params: &[PARTIAL],
        build: |params| Ok(Box::new(Greedy { degrees: degrees(params)? })),
    },
    Entry {
        name: "adwise",
        summary: ADWISE_SUMMARY,
        source: ADWISE_SOURCE,
        params: &[WINDOW, BUDGET, LATENCY, MAX_WINDOW, ADAPTIVE_LAMBDA, THRESHOLD, SPOTLIGHT],
        build: |params| Ok(Box::new(adwise(params)?)),
    },
];

/// Makes the partitioner of edges that a spec names.
///
/// # Errors
/// If no partitioner of edges has that name, or a parameter is unknown or out of range.
pub fn edge_partitioner(spec: &Spec) -> Result<Box<dyn EdgePartitioner>, SpecError> {
    build(spec, EDGE_PARTITIONERS, "partitioner of edges")
}

pub(in crate::partition) const LDG: Entry<dyn Partitioner> = Entry {
    name: "ldg",
    summary: "each vertex of a stream where most neighbours are, weighed by the room left",
    source: "Stanton, Kliot 2012",
    params: &[ORDER, PASSES],
    build: |params| Ok(Box::new(Ldg { order: order(params)?, passes: passes(params)? })),
};

pub(in crate::partition) const FENNEL: Entry<dyn Partitioner> = Entry {
    name: "fennel",
    summary: "each vertex of a stream where most neighbours are, less the marginal cost of the load",
    source: "Tsourakakis et al. 2014",
    params: &[
        ParamSpec { name: "gamma", default: "1.5", doc: "exponent of the cost of a load, at least 1" },
        ORDER,
        PASSES,
    ],
    build: |params| {
        let gamma = params.get("gamma", "a number of at least 1", |&gamma: &f64| gamma >= 1.0 && gamma.is_finite())?;
        Ok(Box::new(Fennel { gamma, order: order(params)?, passes: passes(params)? }))
    },
};

pub(in crate::partition) const HDRF: Entry<dyn Partitioner> = Entry {
    name: "hdrf",
    summary: HDRF_SUMMARY,
    source: HDRF_SOURCE,
    params: &[LAMBDA, PARTIAL, ORDER],
    build: |params| Ok(Box::new(ByMasters { edges: hdrf(params)?, order: order(params)? })),
};

pub(in crate::partition) const DBH: Entry<dyn Partitioner> = Entry {
    name: "dbh",
    summary: DBH_SUMMARY,
    source: DBH_SOURCE,
    params: &[KNOWN, ORDER],
    build: |params| Ok(Box::new(ByMasters { edges: Dbh { degrees: degrees(params)? }, order: order(params)? })),
};

pub(in crate::partition) const GREEDY: Entry<dyn Partitioner> = Entry {
    name: "greedy",
    summary: GREEDY_SUMMARY,
    source: GREEDY_SOURCE,
    params: &[PARTIAL, ORDER],
    build: |params| Ok(Box::new(ByMasters { edges: Greedy { degrees: degrees(params)? }, order: order(params)? })),
};

pub(in crate::partition) const ADWISE: Entry<dyn Partitioner> = Entry {
    name: "adwise",
    summary: ADWISE_SUMMARY,
    source: ADWISE_SOURCE,
    params: &[WINDOW, BUDGET, LATENCY, MAX_WINDOW, ADAPTIVE_LAMBDA, THRESHOLD, SPOTLIGHT, ORDER],
    build: |params| Ok(Box::new(ByMasters { edges: adwise(params)?, order: order(params)? })),
};

const HDRF_SUMMARY: &str = "vertex cut: each edge where its ends are, preferably that of lower degree";
const HDRF_SOURCE: &str = "Petroni et al. 2015";
const DBH_SUMMARY: &str = "vertex cut: each edge where its end of lower degree hashes to";
const DBH_SOURCE: &str = "Xie et al. 2014";
const GREEDY_SUMMARY: &str = "vertex cut: each edge where both ends are, or else one, least loaded first";
const GREEDY_SOURCE: &str = "Gonzalez et al. 2012, §5.2.1";
const ADWISE_SUMMARY: &str =
    "vertex cut: of a window of edges the best first, the window as large as the budget allows";
const ADWISE_SOURCE: &str = "Mayer et al. 2018, B §6.3.1";

const ORDER: ParamSpec =
    ParamSpec { name: "order", default: "natural", doc: "order of the stream: natural, random, bfs or dfs" };
const PASSES: ParamSpec = ParamSpec {
    name: "passes",
    default: "1",
    doc: "times that the stream is read, at least 1; later passes know where all neighbours were",
};
const LAMBDA: ParamSpec = ParamSpec { name: "lambda", default: "1", doc: "weight of balance, at least 0" };
const PARTIAL: ParamSpec = ParamSpec {
    name: "degrees",
    default: "partial",
    doc: "partial: what the stream has told so far, or known: from reading it beforehand",
};
const KNOWN: ParamSpec = ParamSpec {
    name: "degrees",
    default: "known",
    doc: "known: from reading the stream beforehand, or partial: what it has told so far",
};
const WINDOW: ParamSpec = ParamSpec {
    name: "window",
    default: "adaptive",
    doc: "edges that wait: adaptive, or a fixed number of at least 1",
};
const BUDGET: ParamSpec = ParamSpec {
    name: "budget",
    default: "16",
    doc: "evaluations of the score an edge for an adaptive window, at least 1",
};
const LATENCY: ParamSpec = ParamSpec {
    name: "latency",
    default: "none",
    doc: "seconds for the whole stream instead of the budget; the answer then depends on the machine",
};
const MAX_WINDOW: ParamSpec =
    ParamSpec { name: "max_window", default: "1024", doc: "largest size of an adaptive window, at least 1" };
const ADAPTIVE_LAMBDA: ParamSpec =
    ParamSpec { name: "lambda", default: "adaptive", doc: "weight of balance: adaptive, or a number of at least 0" };
const THRESHOLD: ParamSpec = ParamSpec {
    name: "threshold",
    default: "0.1",
    doc: "by how much a candidate's score exceeds the window's mean; -inf scores all edges anew each time",
};
const SPOTLIGHT: ParamSpec = ParamSpec {
    name: "spotlight",
    default: "1",
    doc: "instances, each with a part of the stream and of the blocks; at most as many as blocks",
};

fn order(params: &Params) -> Result<StreamOrder, SpecError> {
    params.get("order", "natural, random, bfs or dfs", |_| true)
}

fn passes(params: &Params) -> Result<u32, SpecError> {
    params.get("passes", "a whole number of at least 1", |&passes| passes >= 1)
}

fn degrees(params: &Params) -> Result<DegreeSource, SpecError> {
    params.get("degrees", "known or partial", |_| true)
}

fn hdrf(params: &Params) -> Result<Hdrf, SpecError> {
    let lambda = params.get("lambda", "a number of at least 0", |&lambda: &f64| lambda >= 0.0 && lambda.is_finite())?;
    Ok(Hdrf { lambda, degrees: degrees(params)? })
}

fn adwise(params: &Params) -> Result<Adwise, SpecError> {
    use super::Lambda;
    let at_least_one = "a whole number of at least 1";
    let valid = |window: &OrWord<usize>| window.0 != Some(0);
    let OrWord(window) = params.get("window", "adaptive, or a whole number of at least 1", valid)?;
    let valid = |latency: &OrWord<f64>| latency.0.is_none_or(|s| Duration::try_from_secs_f64(s).is_ok());
    let OrWord(latency) = params.get("latency", "none, or a number of seconds of at least 0", valid)?;
    let evaluations =
        params.get("budget", "a number of at least 1", |&budget: &f64| budget >= 1.0 && budget.is_finite())?;
    let budget = latency.map_or(Budget::Evaluations(evaluations), |s| Budget::Latency(Duration::from_secs_f64(s)));
    let max = params.get("max_window", at_least_one, |&max| max >= 1)?;
    let valid = |lambda: &Lambda| match *lambda {
        Lambda::Adaptive => true,
        Lambda::Fixed(lambda) => lambda >= 0.0 && lambda.is_finite(),
    };
    Ok(Adwise {
        window: window.map_or(Window::Adaptive { budget, max }, Window::Fixed),
        lambda: params.get("lambda", "adaptive, or a number of at least 0", valid)?,
        threshold: params.get("threshold", "a number, or -inf", |&threshold: &f64| threshold < f64::INFINITY)?,
        spotlight: params.get("spotlight", at_least_one, |&spotlight| spotlight >= 1)?,
    })
}

/// A number, or a word in place of one.
struct OrWord<T>(Option<T>);

impl<T: FromStr> FromStr for OrWord<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        if matches!(text, "adaptive" | "none") { Ok(Self(None)) } else { text.parse().map(|value| Self(Some(value))) }
    }
}
