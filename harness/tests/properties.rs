//! Laws that every simulated run obeys, on random instances.

use placebench_algorithms::schedulers::Fifo;
use placebench_algorithms::{PlaceError, Placer, Plan, Scheduler, StopToken, bounds, registry};
use placebench_datasets::{Cluster, Device, DeviceId, Instance, Link, PlacedGraph, Placement, Time};
use placebench_harness::execute::simulate::{ContentionFree, LogGp, NETWORK_MODELS, NetworkModel, Simulator, simulate};
use placebench_harness::execute::{ExecutionError, Executor, Order};
use placebench_harness::memory::MemoryUse;
use placebench_harness::timeline::Timeline;
use placebench_harness::validator::{Violation, validate};
use proptest::prelude::*;
use proptest::sample;

use crate::support::naive;
use crate::support::random::{PLAIN, Variant, instance, shapes};

/// The placers that decide during the run, and one with other parameters.
fn online() -> Vec<Box<dyn Placer>> {
    let placers = registry::placer_names().into_iter().map(|name| registry::placer(&name.parse().unwrap()).unwrap());
    let stealing = registry::placer(&"cats(steal=both)".parse().unwrap()).unwrap();
    placers.chain([stealing]).filter(|placer| placer.online().is_some()).collect()
}

fn networks() -> impl Strategy<Value = &'static dyn NetworkModel> {
    prop::sample::select(NETWORK_MODELS.to_vec())
}

/// The models that the naive simulator knows. Those with rates that change have a reference in `tests/fair_share.rs`.
fn naive_networks() -> impl Strategy<Value = &'static dyn NetworkModel> {
    prop::sample::select(NETWORK_MODELS.into_iter().filter(|model| model.name() != "fair_share").collect::<Vec<_>>())
}

fn run(instance: &Instance, placement: &Placement, network: &'static dyn NetworkModel) -> Timeline {
    simulate(&PlacedGraph::new(instance, placement), &Fifo as &dyn Scheduler, None, network).unwrap()
}

/// The same instance with other device memories.
pub(crate) fn with_memory(instance: &Instance, memory_bytes: impl Fn(DeviceId) -> Option<u64>) -> Instance {
    let cluster = instance.cluster();
    let device = |id: DeviceId| Device { memory_bytes: memory_bytes(id), ..cluster.device(id).clone() };
    let limited = Cluster::new(cluster.device_ids().map(device).collect(), |from, to| cluster.link(from, to)).unwrap();
    let limited = limited.with_costs_of(cluster);
    Instance::new(instance.graph().clone(), limited).unwrap()
}

/// The longest path with everything where it is placed: no run can be shorter.
fn longest_path(placed: &PlacedGraph<'_>) -> Time {
    let graph = placed.instance().graph();
    let mut ends: Vec<Time> = vec![0.0; graph.op_count()];
    for op in graph.topological_order() {
        let to = placed.device_of(op);
        let arrivals = graph.predecessors(op).map(|edge| {
            let from = placed.device_of(edge.op);
            let link = placed.instance().cluster().link(from, to);
            let moved = if from == to { 0.0 } else { link.latency + graph.edge_bytes(edge) as f64 / link.rate };
            ends[edge.op.index()] + moved
        });
        ends[op.index()] = arrivals.fold(0.0, Time::max) + placed.exec_time(op);
    }
    ends.into_iter().fold(0.0, Time::max)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_validator_accepts_every_run(
        shape in shapes(),
        network in networks(),
        relabelled: bool,
        scheduler in sample::select(registry::SCHEDULERS.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>()),
    ) {
        let (instance, placement) = instance(shape, Variant { relabelled, ..PLAIN });
        let placed = PlacedGraph::new(&instance, &placement);
        let scheduler = registry::scheduler(&scheduler.parse().unwrap()).unwrap();
        let plan = Plan::of_ops(instance.graph().topological_order(), 0.0);
        let timeline = simulate(&placed, &*scheduler, Some(&plan), network).unwrap();
        prop_assert_eq!(validate(&instance, &placement, &timeline.records(&placed), network.demands()), Ok(()));
    }

    #[test]
    fn the_validator_accepts_every_online_run_and_the_same_input_gives_the_same_run(
        shape in shapes(),
        network in networks(),
        relabelled: bool,
        limited: bool,
        placer: sample::Index,
    ) {
        let (mut instance, _) = instance(shape, Variant { relabelled, ..PLAIN });
        if !limited {
            instance = with_memory(&instance, |_| None);
        }
        let placers = online();
        let placer = &placers[placer.index(placers.len())];
        let simulator = Simulator::new(network);
        let run = || simulator.execute_online(&instance, placer.online().unwrap(), &StopToken::default());
        match run() {
            Ok(first) => {
                let placed = PlacedGraph::new(&instance, &first.placement);
                let records = first.timeline.records(&placed);
                prop_assert_eq!(validate(&instance, &first.placement, &records, network.demands()), Ok(()));
                let memory = MemoryUse::new(&placed, &first.timeline);
                for device in instance.cluster().device_ids() {
                    let limit = instance.cluster().device(device).memory_bytes;
                    prop_assert!(limit.is_none_or(|limit| memory.peak_bytes(device) <= limit));
                }
                prop_assert_eq!(Ok(first), run());
            }
            Err(error) => prop_assert!(
                limited && matches!(error, ExecutionError::Place(PlaceError::Infeasible { .. })),
                "{}", error
            ),
        }
    }

    #[test]
    fn the_naive_simulator_agrees_exactly(shape in shapes(), network in naive_networks(), relabelled: bool) {
        let (instance, placement) = instance(shape, Variant { relabelled, ..PLAIN });
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = run(&instance, &placement, network);
        prop_assert_eq!(timeline.records(&placed), naive::simulate(&instance, &placement, network, None));
    }

    #[test]
    fn no_run_is_shorter_than_the_longest_path(shape in shapes(), network in networks()) {
        let (instance, placement) = instance(shape, PLAIN);
        let bound = longest_path(&PlacedGraph::new(&instance, &placement));
        let makespan = run(&instance, &placement, network).makespan();
        prop_assert!(makespan >= bound * (1.0 - 1e-12), "{} < {}", makespan, bound);
    }

    #[test]
    fn no_run_is_shorter_than_a_lower_bound(shape in shapes(), network in networks()) {
        let (instance, placement) = instance(shape, PLAIN);
        let makespan = run(&instance, &placement, network).makespan();
        for bound in bounds::all(&instance) {
            prop_assert!(bound.value <= makespan * (1.0 + 1e-12), "{:?} exceeds {}", bound, makespan);
        }
    }

    /// Then nothing keeps an interface busy.
    #[test]
    fn where_rates_are_infinite_loggp_is_contention_free(shape in shapes()) {
        let (instance, placement) = instance(shape, PLAIN);
        let cluster = instance.cluster();
        let link = |from, to| Link { rate: f64::INFINITY, ..cluster.link(from, to) };
        let fast = Cluster::new(cluster.devices().to_vec(), link).unwrap().with_costs_of(cluster);
        let instance = Instance::new(instance.graph().clone(), fast).unwrap();
        let placed = PlacedGraph::new(&instance, &placement);
        let [loggp, free] = [&LogGp as &dyn NetworkModel, &ContentionFree].map(|network| run(&instance, &placement, network));
        prop_assert_eq!(loggp.records(&placed), free.records(&placed));
    }

    #[test]
    fn twice_as_fast_takes_half_the_time(shape in shapes(), network in networks()) {
        let (slow, placement) = instance(shape, PLAIN);
        let (fast, _) = instance(shape, Variant { faster: 2.0, ..PLAIN });
        let makespans = [slow, fast].map(|instance| run(&instance, &placement, network).makespan());
        // Halving is exact in binary, so no tolerance.
        prop_assert_eq!(makespans[0], 2.0 * makespans[1]);
    }

    #[test]
    fn on_one_device_the_makespan_is_the_total_work(shape in shapes(), network in networks()) {
        let (instance, _) = instance(shape, PLAIN);
        let everywhere = Placement::new(vec![DeviceId(0); shape.ops]);
        let work: Time = instance.graph().op_ids().map(|op| instance.exec_time(op, DeviceId(0))).sum();
        let makespan = run(&instance, &everywhere, network).makespan();
        prop_assert!((makespan - work).abs() <= 1e-12 * work, "{} != {}", makespan, work);
    }

    #[test]
    fn the_same_input_gives_the_same_timeline(shape in shapes(), network in networks()) {
        let (first, placement) = instance(shape, PLAIN);
        let (second, _) = instance(shape, PLAIN);
        prop_assert_eq!(run(&first, &placement, network), run(&second, &placement, network));
    }

    #[test]
    fn no_device_needs_more_memory_than_its_ops_demand(shape in shapes(), network in networks()) {
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let memory = MemoryUse::new(&placed, &run(&instance, &placement, network));
        let units = instance.units();
        for device in instance.cluster().device_ids() {
            let here = units.ids().filter(|&unit| placement.device_of(units.members(unit)[0]) == device);
            let demand: u64 = here.map(|unit| units.demand_bytes(unit)).sum();
            prop_assert!(memory.peak_bytes(device) <= demand);
            prop_assert!(memory.peak_bytes(device) >= memory.resident_bytes(device));
        }
    }

    /// With each device's memory at the peak that the tracker reports the validator finds no more in use, and with one byte
    /// less it finds exactly that much.
    #[test]
    fn the_memory_tracker_and_the_validator_agree(shape in shapes(), network in networks()) {
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = run(&instance, &placement, network);
        let records = timeline.records(&placed);
        let memory = MemoryUse::new(&placed, &timeline);
        let exact = with_memory(&instance, |device| Some(memory.peak_bytes(device)));
        let found = validate(&exact, &placement, &records, network.demands());
        prop_assert!(matches!(found, Ok(()) | Err(Violation::DemandTooLarge { .. })), "{:?}", found);
        for device in instance.cluster().device_ids().filter(|&device| memory.peak_bytes(device) > 0) {
            let peak = memory.peak_bytes(device);
            let tight = with_memory(&instance, |other| (other == device).then_some(peak - 1));
            match validate(&tight, &placement, &records, network.demands()) {
                Err(Violation::OutOfMemory { bytes, device: name, .. }) => {
                    prop_assert_eq!((bytes, name), (peak, instance.cluster().device(device).name.clone()));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn recorded_choices_change_nothing_and_add_up_to_the_mean(shape in shapes(), network in networks()) {
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let plain = run(&instance, &placement, network);
        let simulator = Simulator { record_choices: true, ..Simulator::new(network) };
        let order = Order { scheduler: &Fifo, plan: None };
        let recorded = simulator.execute(&placed, order, &StopToken::default()).unwrap();
        prop_assert_eq!(recorded.records(&placed), plain.records(&placed));
        let choices = recorded.choices().unwrap();
        let sends = placed.transfer_ids().filter(|&id| placed.send_time(id) > 0.0).count();
        let receives = placed.transfer_ids().filter(|&id| placed.receive_time(id) > 0.0).count();
        prop_assert_eq!(choices.len(), shape.ops + sends + receives);
        let sum: u64 = choices.iter().map(|choice| u64::from(choice.executable)).sum();
        prop_assert_eq!(plain.mean_executable(), Some(sum as f64 / choices.len() as f64));
    }
}
