//! By how much placers break laws on real graphs: measured, and held by a test.

use super::Law;

/// Placer, law, and by what factor the makespans of problems that the law calls equal typically differ: e to the root of the
/// mean square of ln(new / old), on the one of three graphs that it moves most. Measured on `convnet`, `llama_inference` and
/// `recurrent` on the cluster `gtx1080x4` with kinds `accelerators_only`, with costs as measured, in whole units, and with zeros,
/// under every network model; placers that have presets with `fast`. `sweep`, `improve` and `m_sct`, which take longest, are
/// measured on `convnet`, and with zeros on `llama_inference`. Where nothing stands the factor is below 1.01.
///
/// The size of [`Law::ScaledCosts`] is that of rounding: times 1000, on random problems. Times 1024 is exact everywhere.
///
/// Most of the others are ties: ops and devices that cost the same come in the order of their numbers. A suite with `numberings`
/// takes the mean over several.
pub const SIZES: &[(&str, Law, f64)] = &[
    ("adwise", Law::RelabelledOps, 1.20),
    ("batch_split", Law::RelabelledDevices, 1.05),
    ("batch_split", Law::RelabelledOps, 1.47),
    ("cats", Law::RelabelledDevices, 1.04),
    ("cats", Law::RelabelledOps, 1.04),
    ("chunk", Law::RelabelledOps, 1.13),
    ("cluster_cap", Law::RelabelledDevices, 1.03),
    ("cluster_cap", Law::RelabelledOps, 1.14),
    ("cluster_comm", Law::IsolatedOp, 1.03),
    ("cluster_comm", Law::RelabelledDevices, 1.05),
    ("cluster_comm", Law::RelabelledOps, 1.13),
    ("cluster_load", Law::RelabelledOps, 1.12),
    ("cola", Law::RelabelledDevices, 1.01),
    ("cola", Law::RelabelledOps, 1.18),
    ("cpath", Law::RelabelledDevices, 1.07),
    ("cpath", Law::RelabelledOps, 1.04),
    ("cpop", Law::RelabelledOps, 1.06),
    ("critical_path", Law::RelabelledOps, 1.12),
    ("dbh", Law::RelabelledOps, 1.14),
    ("dbh", Law::ScaledCosts, 1.01),
    ("dfs", Law::RelabelledDevices, 1.02),
    ("dfs", Law::RelabelledOps, 1.13),
    ("dheft", Law::RelabelledDevices, 1.01),
    ("dheft", Law::RelabelledOps, 1.30),
    ("dls", Law::RelabelledDevices, 1.01),
    ("dls", Law::RelabelledOps, 1.13),
    ("etf", Law::RelabelledDevices, 1.04),
    ("etf", Law::RelabelledOps, 1.13),
    ("expert", Law::RelabelledDevices, 1.01),
    ("expert", Law::RelabelledOps, 1.10),
    ("fennel", Law::RelabelledOps, 1.09),
    ("fiduccia_mattheyses", Law::IsolatedOp, 1.04),
    ("fiduccia_mattheyses", Law::RelabelledDevices, 1.01),
    ("fiduccia_mattheyses", Law::RelabelledOps, 1.06),
    ("greedy", Law::RelabelledOps, 1.13),
    ("hashing", Law::RelabelledDevices, 1.02),
    ("hashing", Law::RelabelledOps, 1.13),
    ("hashing_blocks", Law::IsolatedOp, 1.02),
    ("hashing_blocks", Law::RelabelledOps, 1.05),
    ("hdrf", Law::RelabelledDevices, 1.01),
    ("hdrf", Law::RelabelledOps, 1.14),
    ("heft", Law::RelabelledDevices, 1.01),
    ("heft", Law::RelabelledOps, 1.09),
    ("hybrid", Law::RelabelledDevices, 1.07),
    ("hybrid", Law::RelabelledOps, 1.04),
    ("improve", Law::IsolatedOp, 1.04),
    ("improve", Law::RelabelledDevices, 1.02),
    ("improve", Law::RelabelledOps, 1.05),
    ("improve", Law::ScaledCosts, 1.04),
    ("iterated_critical_path", Law::RelabelledDevices, 1.05),
    ("iterated_critical_path", Law::RelabelledOps, 1.05),
    ("ldg", Law::RelabelledOps, 1.16),
    ("level_slabs", Law::RelabelledOps, 1.15),
    ("list", Law::RelabelledDevices, 1.01),
    ("list", Law::RelabelledOps, 1.09),
    ("lookahead", Law::RelabelledDevices, 1.14),
    ("lookahead", Law::RelabelledOps, 1.08),
    ("m_etf", Law::RelabelledDevices, 1.02),
    ("m_etf", Law::RelabelledOps, 1.28),
    ("m_sct", Law::RelabelledOps, 1.15),
    ("m_topo", Law::RelabelledDevices, 1.01),
    ("m_topo", Law::RelabelledOps, 1.18),
    ("mcp", Law::RelabelledDevices, 1.01),
    ("mcp", Law::RelabelledOps, 1.09),
    ("metis", Law::IsolatedOp, 1.06),
    ("metis", Law::RelabelledOps, 1.05),
    ("mite", Law::RelabelledOps, 1.11),
    ("multilevel", Law::RelabelledDevices, 1.01),
    ("multilevel", Law::RelabelledOps, 1.07),
    ("peft", Law::RelabelledDevices, 1.02),
    ("peft", Law::RelabelledOps, 1.16),
    ("random", Law::RelabelledDevices, 1.02),
    ("random", Law::RelabelledOps, 1.09),
    ("scoring", Law::IsolatedOp, 1.15),
    ("scoring", Law::RelabelledOps, 1.43),
    ("sweep", Law::IsolatedOp, 1.01),
    ("sweep", Law::RelabelledDevices, 1.03),
    ("sweep", Law::RelabelledOps, 1.04),
    ("sweep", Law::ScaledCosts, 1.02),
    ("task_parallel", Law::RelabelledDevices, 1.06),
    ("task_parallel", Law::RelabelledOps, 1.15),
    ("whitepaper_greedy", Law::RelabelledOps, 1.07),
];

/// What [`SIZES`] says of a placer and a law.
pub fn size(placer: &str, law: Law) -> Option<f64> {
    SIZES.iter().find(|&&(name, of, _)| (name, of) == (placer, law)).map(|&(.., size)| size)
}
