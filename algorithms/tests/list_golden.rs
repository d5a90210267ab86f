//! Combinations of list scheduling's parts on the two instances of the literature: those that have a name of their own, and
//! two that have none, whose makespans come from an implementation in exact fractions, written for this comparison; and HEFT
//! on large instances. What the named ones find on the instances of the literature is in `placers/golden.rs`.

use placebench_datasets::Instance;

use crate::support::instances::{arabnejad, from_text, topcuoglu};
use crate::support::place;

fn makespan(spec: &str, instance: &Instance) -> f64 {
    place(spec, instance).unwrap().plan.unwrap().makespan
}

#[test]
fn combinations_without_a_name_find_what_an_independent_implementation_finds() {
    let cases = [
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

#[test]
fn heft_finds_the_makespans_of_an_independent_implementation_on_large_instances() {
    for (text, digits, expected) in [
        (include_str!("data/l1k-het.txt"), 2, "45.70"),
        (include_str!("data/l1k-uni.txt"), 2, "63.17"),
        (include_str!("data/l1k-hom.txt"), 1, "91.5"),
    ] {
        let found = makespan("heft", &from_text(text));
        assert_eq!(format!("{found:.digits$}"), expected);
    }
}
