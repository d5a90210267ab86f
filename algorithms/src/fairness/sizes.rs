//! By how much placers break laws on a real graph: measured, and held by a test.

use super::Law;

/// Placer, law, and by what factor the makespans of problems that the law calls equal typically differ: e to the root of the
/// mean square of ln(new / old). Measured on `convnet` on the cluster `gtx1080x4` with kinds `accelerators_only`, with costs as
/// measured, in whole units, and with zeros, under every network model; placers that have presets with `fast`. Where nothing stands
/// the factor is below 1.01.
///
/// The size of [`Law::ScaledCosts`] is that of rounding: times 1000, on random problems. Times 1024 is exact everywhere.
///
/// Most of the others are ties: ops and devices that cost the same come in the order of their numbers. A suite with `numberings`
/// takes the mean over several.
pub const SIZES: &[(&str, Law, f64)] = &[
    ("adwise", Law::RelabelledOps, 1.20),
    ("batch_split", Law::RelabelledOps, 1.26),
    ("cats", Law::RelabelledOps, 1.04),
    ("chunk", Law::RelabelledOps, 1.04),
    ("cluster_cap", Law::RelabelledOps, 1.15),
    ("cluster_comm", Law::RelabelledOps, 1.12),
    ("cluster_load", Law::RelabelledOps, 1.03),
    ("cola", Law::RelabelledOps, 1.17),
    ("cpath", Law::RelabelledOps, 1.04),
    ("cpop", Law::RelabelledOps, 1.05),
    ("critical_path", Law::RelabelledOps, 1.15),
    ("dbh", Law::RelabelledOps, 1.11),
    ("dbh", Law::ScaledCosts, 1.01),
    ("dfs", Law::RelabelledDevices, 1.01),
    ("dfs", Law::RelabelledOps, 1.22),
    ("dheft", Law::RelabelledOps, 1.11),
    ("dls", Law::RelabelledOps, 1.14),
    ("etf", Law::RelabelledDevices, 1.03),
    ("etf", Law::RelabelledOps, 1.13),
    ("expert", Law::RelabelledOps, 1.09),
    ("fennel", Law::RelabelledOps, 1.12),
    ("fiduccia_mattheyses", Law::IsolatedOp, 1.03),
    ("fiduccia_mattheyses", Law::RelabelledDevices, 1.01),
    ("fiduccia_mattheyses", Law::RelabelledOps, 1.01),
    ("greedy", Law::RelabelledOps, 1.14),
    ("hashing", Law::RelabelledOps, 1.18),
    ("hashing_blocks", Law::RelabelledOps, 1.05),
    ("hdrf", Law::RelabelledDevices, 1.01),
    ("hdrf", Law::RelabelledOps, 1.16),
    ("heft", Law::RelabelledOps, 1.09),
    ("hybrid", Law::RelabelledOps, 1.04),
    ("improve", Law::IsolatedOp, 1.02),
    ("improve", Law::ScaledCosts, 1.02),
    ("improve", Law::RelabelledDevices, 1.01),
    ("iterated_critical_path", Law::RelabelledDevices, 1.04),
    ("iterated_critical_path", Law::RelabelledOps, 1.04),
    ("ldg", Law::RelabelledOps, 1.09),
    ("level_slabs", Law::RelabelledOps, 1.08),
    ("list", Law::RelabelledOps, 1.09),
    ("lookahead", Law::RelabelledDevices, 1.04),
    ("lookahead", Law::RelabelledOps, 1.09),
    ("m_etf", Law::RelabelledOps, 1.19),
    ("m_sct", Law::RelabelledOps, 1.22),
    ("m_topo", Law::RelabelledOps, 1.12),
    ("mcp", Law::RelabelledOps, 1.09),
    ("metis", Law::IsolatedOp, 1.04),
    ("metis", Law::RelabelledOps, 1.05),
    ("mite", Law::RelabelledOps, 1.06),
    ("multilevel", Law::RelabelledDevices, 1.01),
    ("multilevel", Law::RelabelledOps, 1.06),
    ("peft", Law::RelabelledOps, 1.18),
    ("random", Law::RelabelledDevices, 1.02),
    ("random", Law::RelabelledOps, 1.08),
    ("scoring", Law::IsolatedOp, 1.15),
    ("scoring", Law::RelabelledOps, 1.19),
    ("sweep", Law::RelabelledDevices, 1.02),
    ("sweep", Law::RelabelledOps, 1.03),
    ("task_parallel", Law::RelabelledOps, 1.15),
    ("whitepaper_greedy", Law::RelabelledOps, 1.06),
];

/// What [`SIZES`] says of a placer and a law.
pub fn size(placer: &str, law: Law) -> Option<f64> {
    SIZES.iter().find(|&&(name, of, _)| (name, of) == (placer, law)).map(|&(.., size)| size)
}
