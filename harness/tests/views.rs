//! What partitioners are told about a dataflow graph is what placements are judged by: the laws that tie both together.

use placebench_algorithms::partition::{Partition, quality};
use placebench_algorithms::schedulers::Fifo;
use placebench_algorithms::{PlaceContext, registry};
use placebench_datasets::{EdgeWeight, Numbers, PlacedGraph, Placement, Vertices, View, ViewOptions};
use placebench_harness::execute::simulate::{ContentionFree, simulate};
use placebench_harness::memory::MemoryUse;
use placebench_harness::metrics::Metrics;
use proptest::prelude::*;

use crate::support::random::{PLAIN, Variant, instance, shapes};

fn metrics(placed: &PlacedGraph<'_>) -> Metrics {
    let timeline = simulate(placed, &Fifo, None, &ContentionFree).unwrap();
    Metrics::new(placed, &timeline, &MemoryUse::new(placed, &timeline), None)
}

/// The partition of a view's vertices that a placement is: a block a device.
fn blocks(view: &View, placement: &Placement, devices: usize) -> Partition {
    let block_of_op: Vec<u32> = placement.devices().iter().map(|device| device.0).collect();
    let block_of = view.blocks_of_vertices(&block_of_op).unwrap();
    assert_eq!(view.blocks_of_ops(&block_of), block_of_op);
    Partition { blocks: devices as u32, block_of }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_cut_is_the_bytes_on_cut_edges_and_the_connectivity_is_the_traffic(
        shape in shapes(), relabelled: bool, units: bool
    ) {
        let (instance, placement) = instance(shape, Variant { relabelled, ..PLAIN });
        let placed = PlacedGraph::new(&instance, &placement);
        let metrics = metrics(&placed);
        let vertices = if units { Vertices::Units } else { Vertices::Ops };
        let options = ViewOptions { vertices, ..ViewOptions::default() };
        let view = View::of_instance(&instance, options).unwrap();
        let partition = blocks(&view, &placement, instance.cluster().device_count());
        prop_assert_eq!(quality::edge_cut(view.graph(), &partition), metrics.cut_bytes);
        let nets = view.hypergraph(instance.graph()).unwrap();
        prop_assert_eq!(quality::connectivity(&nets, &partition), placed.traffic_bytes());
        prop_assert!(quality::cut_nets(&nets, &partition) <= placed.traffic_bytes());
        prop_assert_eq!(nets.vertex_weights().map(Numbers::Wide), view.graph().vertex_weights());
        let counted = View::of_instance(&instance, ViewOptions { edge_weight: EdgeWeight::Count, ..options }).unwrap();
        prop_assert_eq!(quality::edge_cut(counted.graph(), &partition), metrics.cut_edges);
    }

    #[test]
    fn a_placer_that_partitions_says_how_much_was_repaired_and_others_say_nothing(shape in shapes()) {
        let (instance, _) = instance(shape, PLAIN);
        let decision = |name: &str| {
            let placer = registry::placer(&name.parse().unwrap()).unwrap();
            placer.place(&instance, &PlaceContext::with_seed(shape.seed)).ok()
        };
        if let Some(decision) = decision("hashing_blocks") {
            let moved = decision.repaired.unwrap();
            prop_assert!(moved <= instance.units().count() as u64);
            prop_assert_eq!(decision.placement.check(&instance), Ok(()));
        }
        prop_assert!(decision("hashing").is_none_or(|decision| decision.repaired.is_none()));
    }
}
