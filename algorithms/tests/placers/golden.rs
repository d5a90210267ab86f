//! One known result of every placer: its placement, and the makespan of its schedule if it makes one.
//!
//! The instances are the two of the literature. Published: HEFT 80 and CPOP 86 on `topcuoglu`, HEFT 133 and PEFT 122 with
//! its table on `arabnejad`. The other list schedulers, but for MCP and those that fill memories, agree with two
//! implementations written for this comparison alone. The rest guards against change: what each of them does is worked out
//! by hand on smaller instances, beside its code.
//!
//! Placers whose authors assume equal processors say nothing on equal starts; here those go to the device of the earliest
//! finish. An implementation that takes the lowest id instead finds 93 and 125 for ETF on these instances, whose processors
//! are not equal.
//!
//! A new placer gets a row here; the test prints it.

use std::sync::Arc;

use placebench_algorithms::{PlaceContext, Spec, registry};
use placebench_datasets::Instance;

use super::objective::TopologicalOrder;
use crate::support::instances::{arabnejad, topcuoglu};

/// Placer, result on `topcuoglu`, result on `arabnejad`.
#[rustfmt::skip]
const GOLDEN: &[(&str, &str, &str)] = &[
    ("optimal", "73 2201120111", "113 1110201020"),
    ("single_device", "0000000000", "1111111111"),
    ("random", "0210200112", "0210200112"),
    ("hashing", "0120120120", "0120120120"),
    ("batch_split", "0000111222", "0000111222"),
    ("iterated_critical_path", "1012221001", "0102220120"),
    ("critical_path", "2020102111", "1202120120"),
    ("dfs", "2222222222", "1111111111"),
    ("mite", "2222222222", "1111111111"),
    ("heft", "80 2021212011", "133 1012121020"),
    ("cpop", "86 1102120211", "167 0012011200"),
    ("peft", "85 1101200011", "122 0000210121"),
    ("lookahead", "76 2121022111", "127 1102120111"),
    ("etf", "99 2211021200", "134 1112020101"),
    ("dls", "91 2211020010", "134 1112020101"),
    ("mcp", "86 2202100021", "161 1021122112"),
    ("m_topo", "130 0000111112", "207 1111000002"),
    ("m_etf", "99 2211021200", "133 1112021202"),
    ("m_sct", "99 2211021200", "133 1112021202"),
    ("list", "80 2021212011", "133 1012121020"),
    ("expert", "0000111122", "1111000022"),
    ("pipeline_dp", "2200120011", "1212210020"),
    ("pipedream", "0002221111", "1112220000"),
    ("task_parallel", "0012021200", "1102120211"),
    ("scoring", "0000001001", "1111110110"),
    ("cluster_load", "0100120212", "1011021202"),
    ("cluster_comm", "0000111122", "1111000022"),
    ("cluster_cap", "1010211000", "0101200111"),
    ("cola", "2001220011", "1210210020"),
    ("whitepaper_greedy", "80 2201210011", "126 1112021000"),
    ("tensorflow_default", "0000000000", "0000000000"),
    ("reinforce", "2220002011", "0202110010"),
    ("cross_entropy", "2012101011", "1210102010"),
    ("simulated_annealing", "2210201011", "0100120010"),
    ("sweep", "73 2201120111", "113 1110201020"),
    ("improve", "73 2210201011", "113 1110201020"),
];

/// The makespan of the schedule, if there is one, and the device of each op.
fn result(spec: &Spec, instance: &Instance) -> String {
    let context = PlaceContext { objective: Some(Arc::new(TopologicalOrder::default())), ..PlaceContext::default() };
    let decision = registry::placer(spec).unwrap().place(instance, &context).unwrap();
    let makespan = decision.plan.map_or_else(String::new, |plan| format!("{} ", plan.makespan));
    let devices: String = decision.placement.devices().iter().map(|device| device.0.to_string()).collect();
    format!("{makespan}{devices}")
}

#[test]
fn every_placer_finds_what_it_is_known_to_find() {
    let mut wrong = Vec::new();
    for entry in registry::PLACERS.iter() {
        let spec = Spec { name: entry.name.clone(), params: Vec::new() };
        // What decides during the run has its known results where there is a simulator.
        if registry::placer(&spec).unwrap().online().is_some() {
            continue;
        }
        let (first, second) = (result(&spec, &topcuoglu()), result(&spec, &arabnejad()));
        if !GOLDEN.contains(&(entry.name.as_str(), first.as_str(), second.as_str())) {
            wrong.push(format!("    (\"{}\", \"{first}\", \"{second}\"),", entry.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "the rows of tests/placers/golden.rs that are missing or different:\n{}",
        wrong.join("\n")
    );
}
