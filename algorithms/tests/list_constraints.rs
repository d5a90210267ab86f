//! Parts that do not go together, and graphs at the edge.

use placebench_algorithms::{PlaceContext, registry};
use placebench_datasets::{Cluster, GraphBuilder, Instance, Kind, Link};

fn refusal(spec: &str) -> String {
    registry::placer(&spec.parse().unwrap()).err().unwrap().to_string()
}

#[test]
fn parts_that_do_not_go_together_are_refused_with_what_would() {
    let cases = [
        ("list(pick=pair,insertion=true)", "'insertion' is 'true', but must be 'false' with pick=pair"),
        ("list(pick=pair,selection=lookahead)", "'pick' is 'pair', but must be 'op' with selection=lookahead"),
        ("list(selection=dynamic_level)", "'pick' is 'op', but must be 'pair' with selection=dynamic_level"),
        ("list(selection=favourite_child)", "'pick' is 'op', but must be 'pair' with selection=favourite_child"),
        (
            "list(priority=topological,pick=pair,selection=dynamic_level)",
            "'priority' is 'topological', but must be 'upward_rank', 'optimistic_cost', 'static_level' or 'median_level'",
        ),
        ("list(priority=urgency)", "must be upward_rank, upward_downward"),
        ("list(insertion=maybe)", "must be true, false or auto"),
        ("m_sct(threshold=0.6)", "must be a number above 0 and at most 0.5"),
        ("m_sct(window=0)", "must be a whole number of at least 1"),
    ];
    for (spec, part) in cases {
        assert!(refusal(spec).contains(part), "{spec}: {}", refusal(spec));
    }
}

#[test]
fn an_empty_graph_has_an_empty_plan() {
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(GraphBuilder::default().build().unwrap(), cluster).unwrap();
    for entry in registry::placers() {
        let placer = registry::placer(&entry.name.parse().unwrap()).unwrap();
        if placer.makes_plan() {
            let plan = placer.place(&instance, &PlaceContext::default()).unwrap().plan.unwrap();
            assert_eq!((plan.order.len(), plan.makespan), (0, 0.0), "{}", entry.name);
        }
    }
}
