//! All partitioners by name, one line each.

use super::{Chunk, FiducciaMattheyses, Hashing, LevelSlabs, Metis, Multilevel, Partitioner, streaming};
use crate::registry::build;
use crate::{Entry, ParamSpec, Spec, SpecError};

/// All partitioners, in the order in which tables list them.
pub static PARTITIONERS: &[Entry<dyn Partitioner>] = &[
    Entry {
        name: "multilevel",
        summary: "coarsens, partitions the coarsest graph, and refines on the way back",
        source: "Hendrickson, Leland 1995; Karypis, Kumar 1998",
        params: &[
            ParamSpec { name: "preset", default: "default", doc: "time against quality: fast, default or quality" },
            ParamSpec {
                name: "coarsening",
                default: "clusters",
                doc: "clusters: by label propagation, or matching: in pairs of heavy edges",
            },
            ParamSpec {
                name: "objective",
                default: "cut",
                doc: "cut, or volume: each vertex's value sent once to each block that needs it",
            },
            ParamSpec {
                name: "acyclic",
                default: "false",
                doc: "true: every edge leads to the same or a later block, the vertices' numbers being a topological order",
            },
        ],
        build: |params| {
            let preset = params.get("preset", "fast, default or quality", |_| true)?;
            let acyclic = params.get("acyclic", "true or false", |_| true)?;
            let objective = params.get("objective", "cut or volume", |_| true)?;
            let coarsening = params.get("coarsening", "clusters or matching", |_| true)?;
            Ok(Box::new(Multilevel { preset, coarsening, objective, acyclic }))
        },
    },
    Entry {
        name: "fiduccia_mattheyses",
        summary: "moves single vertices, pass by pass, and back to each pass's best point",
        source: "Fiduccia, Mattheyses 1982; Sanchis 1989",
        params: &[
            ParamSpec {
                name: "scheme",
                default: "recursive",
                doc: "recursive: by bisections, or direct: all blocks at once",
            },
            ParamSpec { name: "passes", default: "20", doc: "passes at most, at least 1" },
        ],
        build: |params| {
            let scheme = params.get("scheme", "recursive or direct", |_| true)?;
            let passes = params.get("passes", "a whole number of at least 1", |&passes: &u32| passes >= 1)?;
            Ok(Box::new(FiducciaMattheyses { scheme, passes }))
        },
    },
    Entry {
        name: "metis",
        summary: "METIS 5.2.1, the outside reference",
        source: "Karypis, Kumar 1998",
        params: &[ParamSpec { name: "scheme", default: "kway", doc: "kway, or recursive: by recursive bisection" }],
        build: |params| {
            let scheme = params.get("scheme", "kway or recursive", |_| true)?;
            Ok(Box::new(Metis { scheme }))
        },
    },
    Entry {
        name: "chunk",
        summary: "equal contiguous ranges of an order",
        source: "control",
        params: &[ParamSpec { name: "order", default: "natural", doc: "natural, or degree: descending" }],
        build: |params| Ok(Box::new(Chunk { order: params.get("order", "natural or degree", |_| true)? })),
    },
    Entry {
        name: "level_slabs",
        summary: "the optimal contiguous split of the natural order",
        source: "Kernighan 1971",
        params: &[],
        build: |_| Ok(Box::new(LevelSlabs)),
    },
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
