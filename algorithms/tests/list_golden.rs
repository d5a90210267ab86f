//! List schedulers on the two instances of the literature.
//!
//! Published: HEFT 80 and CPOP 86 on `topcuoglu`, HEFT 133 and PEFT 122 with its table on `arabnejad`. The others come
//! from one independent implementation, and a second one in exact fractions, written for this comparison, agrees with all.
//! Those of MCP and of the combinations without a name come from the second alone.

mod support;

use placebench_datasets::Instance;

use support::instances::{arabnejad, topcuoglu};
use support::place;

fn makespan(spec: &str, instance: &Instance) -> f64 {
    place(spec, instance).unwrap().plan.unwrap().makespan
}

#[test]
fn the_makespans_of_the_literature_and_of_independent_implementations_are_reproduced() {
    let cases = [
        ("heft", 80.0, 133.0),
        ("cpop", 86.0, 167.0),
        ("peft", 85.0, 122.0),
        ("lookahead", 76.0, 127.0),
        ("etf", 93.0, 125.0),
        ("dls", 91.0, 134.0),
        ("mcp", 86.0, 127.0),
        ("list(priority=static_level,pick=pair,selection=earliest_finish)", 76.0, 122.0),
        ("list(priority=upward_rank,insertion=false)", 80.0, 133.0),
    ];
    for (spec, first, second) in cases {
        assert_eq!((makespan(spec, &topcuoglu()), makespan(spec, &arabnejad())), (first, second), "{spec}");
    }
}

#[test]
fn every_named_placer_is_its_combination() {
    let cases = [
        ("heft", "list"),
        ("cpop", "list(priority=upward_downward,selection=critical_path)"),
        ("peft", "list(priority=optimistic_cost,selection=finish_plus_cost)"),
        ("lookahead", "list(selection=lookahead)"),
        ("mcp", "list(priority=alap,selection=earliest_start)"),
        ("etf", "list(priority=static_level,pick=pair,selection=earliest_start)"),
        ("dls", "list(priority=median_level,pick=pair,selection=dynamic_level)"),
        ("m_topo", "list(priority=topological,selection=fill,insertion=false)"),
        ("m_etf", "list(priority=topological,pick=pair,selection=earliest_start)"),
        ("m_sct", "list(priority=topological,pick=pair,selection=favourite_child)"),
    ];
    for instance in [topcuoglu(), arabnejad()] {
        for (name, combination) in cases {
            assert_eq!(place(name, &instance), place(combination, &instance), "{name}");
        }
    }
}
