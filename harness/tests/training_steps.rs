//! Training steps against the closed forms of their exchanges, in bytes and under `one_port` in time.

use placebench_algorithms::schedulers::Fifo;
use placebench_algorithms::{PlaceContext, Spec, registry};
use placebench_datasets::{Cluster, Instance, Kind, Link, PlacedGraph};
use placebench_generator::training_steps::{
    Mixing, Sync, TrainingGraph, TrainingParams, generate_training, longest_period,
};
use placebench_harness::execute::simulate::{ContentionFree, NetworkModel, OnePort, simulate};
use placebench_harness::validator;
use proptest::prelude::*;

const SPEED: f64 = 1e9;

fn made(text: &str) -> (TrainingParams, TrainingGraph) {
    let params = TrainingParams::preset(text).expect("a preset").expect("valid parameters");
    let made = generate_training(&params).expect("a graph");
    (params, made)
}

/// Bytes moved, and the time beyond computation, on equal workers with equal links.
fn run(params: &TrainingParams, made: &TrainingGraph, link: Link, network: &'static dyn NetworkModel) -> (u64, f64) {
    let run = |link: Link| {
        let cluster = Cluster::uniform(params.device_count() as usize, Kind::Cpu, SPEED, link).unwrap();
        let instance = Instance::new(made.graph.clone(), cluster).unwrap();
        made.placement.check(&instance).expect("a feasible placement");
        let placed = PlacedGraph::new(&instance, &made.placement);
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        validator::validate(&instance, &made.placement, &timeline.records(&placed), network.demands())
            .expect("a valid timeline");
        let busy: f64 = timeline.busy_times(&placed).iter().sum();
        let workers = f64::from(params.worker_count());
        (placed.traffic_bytes(), timeline.makespan(), timeline.makespan() - busy / workers)
    };
    let (bytes, makespan, idle) = run(link);
    let (_, computation, _) = run(Link { rate: f64::INFINITY, latency: 0.0 });
    let communication = makespan - computation;
    // With equal workers that wait while they exchange, the idle time of a worker is the same thing. Parts of a model differ by
    // a value.
    if params.server_count() == 0 && params.split == 1 {
        assert!((idle - communication).abs() <= 1e-9 * makespan, "{idle} idle, {communication} for messages");
    }
    (bytes, communication)
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6 * expected.max(1e-9), "{found} instead of {expected}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_ring_moves_and_takes_what_its_formula_says(workers in 2u32..12, exchanges in 1u32..3, period in 1u32..4, rate in 1e6..1e9, latency in 0.0..1e-3) {
        let text = format!("training_steps(workers={workers}, period={period}, steps={})", exchanges * period);
        let (params, made) = made(&text);
        let (bytes, time) = run(&params, &made, Link { rate, latency }, &OnePort);
        let (p, n) = (u64::from(workers), params.values());
        prop_assert_eq!(bytes, u64::from(exchanges) * 2 * (p - 1) * n * 4);
        // A chunk is a whole number of values: the largest keeps the ring's step.
        let step = |values: u64| latency + (values * 4) as f64 / rate;
        let (least, most) = (step(n / p), step(n.div_ceil(p)));
        let hops = f64::from(exchanges * 2 * (workers - 1));
        prop_assert!(time >= hops * least * (1.0 - 1e-9) && time <= hops * most * (1.0 + 1e-9), "{time}");
    }

    #[test]
    fn gossip_sends_two_models_a_worker_and_takes_two_messages(workers in 2u32..14, exchanges in 1u32..12, rate in 1e6..1e9, latency in 0.0..1e-3) {
        let (params, made) = made(&format!("training_steps(workers={workers}, sync=gossip, steps={exchanges})"));
        let (bytes, time) = run(&params, &made, Link { rate, latency }, &OnePort);
        let model = params.values() * 4;
        prop_assert_eq!(bytes, u64::from(exchanges * workers) * 2 * model);
        assert_close(time, f64::from(exchanges) * 2.0 * (latency + model as f64 / rate));
    }

    #[test]
    fn recursive_doubling_takes_a_message_a_round_and_two_for_who_is_beyond_a_power_of_two(workers in 2u32..40, rate in 1e6..1e9, latency in 0.0..1e-3) {
        let (params, made) = made(&format!("training_steps(workers={workers}, sync=recursive_doubling)"));
        let (bytes, time) = run(&params, &made, Link { rate, latency }, &OnePort);
        let model = params.values() * 4;
        let rounds = workers.ilog2();
        let extra = workers - (1 << rounds);
        prop_assert_eq!(bytes, u64::from((rounds << rounds) + 2 * extra) * model);
        let messages = f64::from(rounds + if extra > 0 { 2 } else { 0 });
        assert_close(time, messages * (latency + model as f64 / rate));
    }

    #[test]
    fn all_gradients_and_weights_go_through_the_servers(workers in 1u32..12, servers in 1u32..5, rate in 1e6..1e9, latency in 0.0..1e-3) {
        let (params, made) = made(&format!("training_steps(workers={workers}, sync=parameter_server, servers={servers})"));
        let (bytes, time) = run(&params, &made, Link { rate, latency }, &OnePort);
        let model = params.values() * 4;
        prop_assert_eq!(bytes, 2 * u64::from(workers) * model);
        let through_one = f64::from(2 * workers) * (latency + model as f64 / f64::from(servers) / rate);
        match servers {
            1 => assert_close(time, through_one),
            _ => prop_assert!(time >= through_one * (1.0 - 1e-5), "{time} below {through_one}"),
        }
    }

    #[test]
    fn only_every_period_th_step_exchanges(workers in 2u32..9, period in 1u32..9, exchanges in 1u32..4, sync in prop::sample::select(vec!["ring_all_reduce", "recursive_doubling", "gossip", "parameter_server"])) {
        let bytes = |period: u32, steps: u32| {
            let (params, made) = made(&format!("training_steps(workers={workers}, sync={sync}, period={period}, steps={steps})"));
            let free = Link { rate: 1e6, latency: 0.0 };
            run(&params, &made, free, &ContentionFree)
        };
        let (whole, of_period) = (bytes(1, exchanges), bytes(period, exchanges * period));
        prop_assert_eq!(whole.0, of_period.0);
        assert_close(of_period.1, whole.1);
        // Steps after the last exchange send nothing.
        prop_assert_eq!(bytes(period, exchanges * period + period - 1).0, whole.0);
    }

    #[test]
    fn the_expert_puts_worker_i_on_device_i(workers in 1u32..9, steps in 1u32..4, sync in prop::sample::select(vec!["ring_all_reduce", "recursive_doubling", "gossip", "parameter_server"]), detail in prop::sample::select(vec!["step", "layer"])) {
        let (params, made) = made(&format!("training_steps(workers={workers}, sync={sync}, servers=2, steps={steps}, period=2, detail={detail})"));
        let cluster = Cluster::uniform(params.device_count() as usize, Kind::Cpu, SPEED, Link { rate: 1e6, latency: 0.0 }).unwrap();
        let instance = Instance::new(made.graph.clone(), cluster).unwrap();
        let expert = registry::placer(&"expert".parse::<Spec>().unwrap()).unwrap();
        let decision = expert.place(&instance, &PlaceContext::default()).unwrap();
        // Servers have nothing to do before the first exchange.
        if steps >= 2 {
            prop_assert_eq!(decision.placement, made.placement);
        }
        prop_assert!(instance.units().count() <= params.device_count() as usize);
    }
}

/// The makespan on equal workers of speed 1 operation a second.
fn makespan(params: &TrainingParams, link: Link, network: &'static dyn NetworkModel) -> f64 {
    let made = generate_training(params).expect("a graph");
    let cluster = Cluster::uniform(params.device_count() as usize, Kind::Cpu, 1.0, link).unwrap();
    let instance = Instance::new(made.graph, cluster).unwrap();
    simulate(&PlacedGraph::new(&instance, &made.placement), &Fifo, None, network).unwrap().makespan()
}

/// What messages cost nothing.
const FREE: Link = Link { rate: f64::INFINITY, latency: 0.0 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The recurrence of the module's documentation, written anew from Ho et al. 2013.
    #[test]
    fn a_worker_is_never_more_than_its_staleness_ahead(workers in 1u32..7, exchanges in 1u32..9, period in 1u32..4, staleness in 0u32..6, straggler in 1.0..9.0) {
        let text = format!("training_steps(workers={workers}, sync=stale_synchronous, staleness={staleness}, period={period}, steps={}, straggler={straggler})", exchanges * period);
        let (params, _) = made(&text);
        let n = params.values() as f64;
        let ops: f64 = params.model_layers().iter().map(|layer| layer.forward_ops + layer.backward()).sum();
        let step = |step: u32, worker: u32| {
            let exchange = (step + 1).is_multiple_of(period);
            let slow = if step % workers == worker { straggler } else { 1.0 };
            (ops * f64::from(params.batch) + if exchange { 0.0 } else { 2.0 * n }) * slow
        };
        let mut brought: Vec<Vec<f64>> = Vec::new();
        let mut done = vec![0.0; workers as usize];
        for exchange in 0..exchanges {
            let steps = exchange * period..(exchange + 1) * period;
            let work = |worker: u32| steps.clone().map(|number| step(number, worker)).sum::<f64>();
            brought.push((0..workers).map(|worker| done[worker as usize] + work(worker)).collect());
            let awaited = exchange.checked_sub(staleness).map_or(0.0, |exchange| brought[exchange as usize].iter().copied().fold(0.0, f64::max));
            // An update follows on the worker.
            done = brought[exchange as usize].iter().map(|&brought| brought.max(awaited) + 2.0 * n).collect();
        }
        assert_close(makespan(&params, FREE, &ContentionFree), done.into_iter().fold(0.0, f64::max));
    }

    #[test]
    fn no_staleness_is_synchronous_and_much_of_it_waits_for_nobody(workers in 1u32..7, servers in 1u32..4, exchanges in 1u32..6, straggler in 1.0..9.0, rate in 1.0..1e3, port in any::<bool>()) {
        let network: &dyn NetworkModel = if port { &OnePort } else { &ContentionFree };
        let time = |sync: &str| {
            let (params, _) = made(&format!("training_steps(workers={workers}, servers={servers}, steps={exchanges}, straggler={straggler}, sync={sync})"));
            makespan(&params, Link { rate, latency: 0.0 }, network)
        };
        assert_close(time("stale_synchronous, staleness=0"), time("parameter_server"));
        assert_close(time(&format!("stale_synchronous, staleness={exchanges}")), time("asynchronous"));
        if !port {
            let times: Vec<f64> = (0..=exchanges).map(|staleness| time(&format!("stale_synchronous, staleness={staleness}"))).collect();
            prop_assert!(times.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "{times:?}");
        }
    }

    #[test]
    fn stale_and_asynchronous_workers_move_what_synchronous_ones_do(workers in 1u32..9, servers in 1u32..5, exchanges in 1u32..4, sync in prop::sample::select(vec!["asynchronous", "stale_synchronous"]), detail in prop::sample::select(vec!["step", "layer"])) {
        let (params, made) = made(&format!("training_steps(workers={workers}, sync={sync}, servers={servers}, steps={exchanges}, detail={detail})"));
        let (bytes, _) = run(&params, &made, Link { rate: 1e6, latency: 0.0 }, &ContentionFree);
        prop_assert_eq!(bytes, u64::from(exchanges) * 2 * u64::from(workers) * params.values() * 4);
    }

    #[test]
    fn gossip_sends_a_model_for_each_weight_of_another_in_its_matrix(workers in 1u32..9, exchanges in 1u32..4, shifts in prop::collection::vec((0usize..9, 0.1..1.0), 1..4), mixing in prop::sample::select(vec![Some(Mixing::Ring), Some(Mixing::Complete), None])) {
        let count = workers as usize;
        let mut params = TrainingParams { workers: Some(workers), sync: Sync::Gossip, steps: exchanges, ..TrainingParams::default() };
        match mixing {
            Some(mixing) => params.mixing = mixing,
            // A mean of permutations is doubly stochastic (Birkhoff).
            None => {
                let whole: f64 = shifts.iter().map(|(_, weight)| weight).sum();
                params.matrix = vec![vec![0.0; count]; count];
                for (row, worker) in params.matrix.iter_mut().zip(0..) {
                    shifts.iter().for_each(|(shift, weight)| row[(worker + shift) % count] += weight / whole);
                }
            }
        }
        let matrix = params.mixing_matrix(0);
        for line in 0..count {
            let (row, column): (f64, f64) = (matrix[line].iter().sum(), matrix.iter().map(|row| row[line]).sum());
            prop_assert!((row - 1.0).abs() < 1e-9 && (column - 1.0).abs() < 1e-9, "{matrix:?}");
        }
        let made = generate_training(&params).unwrap();
        let (bytes, _) = run(&params, &made, Link { rate: 1e6, latency: 0.0 }, &ContentionFree);
        let others = (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|&(i, j)| i != j && matrix[i][j] > 0.0).count();
        prop_assert_eq!(bytes, u64::from(exchanges) * others as u64 * params.values() * 4);
    }

    #[test]
    fn a_hybrid_sends_what_neurons_pass_on_within_groups_and_gradients_between_them(groups in 1u32..5, split in 1u32..6, steps in 1u32..3, batch in 1u32..9, sync in prop::sample::select(vec!["ring_all_reduce", "recursive_doubling", "gossip", "parameter_server"])) {
        let (params, made) = made(&format!("training_steps(workers={}, split={split}, detail=layer, steps={steps}, batch={batch}, sync={sync})", groups * split));
        let (bytes, _) = run(&params, &made, Link { rate: 1e6, latency: 0.0 }, &ContentionFree);
        let outputs: Vec<u64> = params.model_layers().iter().map(|layer| layer.outputs).collect();
        let (all, last) = (outputs.iter().sum::<u64>(), *outputs.last().unwrap());
        let within = u64::from(split - 1) * u64::from(batch) * 4 * (all + (all - last));
        let (c, m) = (u64::from(groups), params.values() * 4);
        let rounds = u64::from(groups.ilog2());
        let between = match sync {
            "ring_all_reduce" => 2 * (c - 1) * m,
            "recursive_doubling" => ((rounds << rounds) + 2 * (c - (1 << rounds))) * m,
            "gossip" if c == 1 => 0,
            _ => 2 * c * m,
        };
        prop_assert_eq!(bytes, u64::from(steps) * (c * within + between));
    }

    #[test]
    fn workers_that_share_a_model_compute_a_part_of_the_time(groups in 1u32..4, split in 1u32..6) {
        let time = |split: u32| {
            let (params, _) = made(&format!("training_steps(workers={}, split={split}, detail=layer)", groups * split));
            let ops: f64 = params.model_layers().iter().map(|layer| layer.forward_ops + layer.backward()).sum();
            let update = 2.0 * (params.values() as f64 / f64::from(split));
            (makespan(&params, FREE, &ContentionFree), ops * f64::from(params.batch) / f64::from(split) + update, update)
        };
        let (found, expected, update) = time(split);
        // Parts of the weights differ by a value a layer.
        prop_assert!((found - expected).abs() <= 1e-9 * expected + 12.0 + 1e-6 * update, "{found} instead of {expected}");
    }
}

/// T §3.3.2 prints the matrix of neighbours.
#[test]
fn the_matrix_of_a_ring_is_the_printed_one_and_partners_walk_round_it() {
    let params =
        TrainingParams { workers: Some(6), sync: Sync::Gossip, mixing: Mixing::Ring, ..TrainingParams::default() };
    let third =
        |places: [usize; 3]| (0..6).map(|at| if places.contains(&at) { 1.0 / 3.0 } else { 0.0 }).collect::<Vec<f64>>();
    let printed =
        [third([0, 1, 5]), third([0, 1, 2]), third([1, 2, 3]), third([2, 3, 4]), third([3, 4, 5]), third([0, 4, 5])];
    assert_eq!(params.mixing_matrix(0), printed);
    assert_eq!(params.mixing_matrix(7), printed);
    let partners = TrainingParams { mixing: Mixing::Partners, ..params };
    assert_eq!(partners.mixing_matrix(0), printed);
    assert_eq!(partners.mixing_matrix(1)[0], third([0, 2, 4]));
    // Three places on, both partners are one worker.
    assert_eq!(partners.mixing_matrix(2)[0], [1.0 / 3.0, 0.0, 0.0, 2.0 / 3.0, 0.0, 0.0]);
    assert_eq!(partners.mixing_matrix(3), printed);
}

/// T §3.3.1: I ≤ T^(1/4) / N^(3/4).
#[test]
fn the_longest_period_is_that_of_the_source() {
    assert_eq!(longest_period(10_000, 1), 10.0);
    assert_eq!(longest_period(1 << 20, 16), 4.0);
    assert!(longest_period(1_000_000, 256) < 1.0);
}

#[test]
fn sparsification_keeps_a_twentieth_of_the_values_and_doubles_each() {
    let link = Link { rate: 1e8, latency: 0.0 };
    let of = |text: &str| {
        let (params, made) = made(text);
        run(&params, &made, link, &OnePort)
    };
    let (dense, sparse) = (of("tolstobrov2(workers=10, steps=5)"), of("tolstobrov3(workers=10, steps=5)"));
    let kept = (0.05f64 * 545_098.0).ceil() as u64;
    assert_eq!(sparse.0, 5 * 10 * 2 * kept * 8);
    assert!((dense.0 as f64 / sparse.0 as f64 - 10.0).abs() < 1e-3);
    assert!((dense.1 / sparse.1 - 10.0).abs() < 1e-3);
}

#[test]
fn quantization_to_four_bits_takes_an_eighth_and_a_scale_a_message() {
    let (params, made) = made("training_steps(workers=4, compression=quantization)");
    let (bytes, _) = run(&params, &made, Link { rate: 1e8, latency: 0.0 }, &OnePort);
    let chunk = |number: u64| ((number + 1) * 545_098 / 4 - number * 545_098 / 4).div_ceil(2) + 4;
    assert_eq!(bytes, 6 * (0..4).map(chunk).sum::<u64>());
}

#[test]
fn exchange_by_layers_moves_the_same_bytes_and_hides_time_behind_computation() {
    let link = Link { rate: 1e7, latency: 1e-5 };
    let of = |detail: &str| {
        let (params, made) = made(&format!("training_steps(workers=4, detail={detail})"));
        let cluster = Cluster::uniform(4, Kind::Cpu, SPEED, link).unwrap();
        let instance = Instance::new(made.graph.clone(), cluster).unwrap();
        let placed = PlacedGraph::new(&instance, &made.placement);
        let timeline = simulate(&placed, &Fifo, None, &OnePort).unwrap();
        let work: f64 = made.graph.op_ids().map(|op| made.graph.ops(op)).sum();
        (placed.traffic_bytes(), timeline.makespan(), work, params.values())
    };
    let (step, layer) = (of("step"), of("layer"));
    assert_eq!(step.0, layer.0);
    assert!((step.2 - layer.2).abs() < 1e-6 * step.2, "both details cost the same operations");
    assert!(layer.1 < step.1, "{} by layers, {} at the end", layer.1, step.1);
}

#[test]
fn training_steps_come_out_the_same_again() {
    let hash = |text: &str| placebench_generator::graph_sha256(&made(text).1.graph);
    assert_eq!(hash("tolstobrov3(workers=6)"), hash("tolstobrov3(workers=6)"));
    assert_ne!(hash("tolstobrov3(workers=6)"), hash("tolstobrov2(workers=6)"));
}

#[test]
fn gossip_goes_to_neighbours_first_and_to_farther_partners_with_every_exchange() {
    let (params, made) = made("training_steps(workers=7, sync=gossip, steps=5)");
    let cluster = Cluster::uniform(7, Kind::Cpu, SPEED, Link { rate: 1e6, latency: 0.0 }).unwrap();
    let instance = Instance::new(made.graph.clone(), cluster).unwrap();
    let placed = PlacedGraph::new(&instance, &made.placement);
    let mut partners = vec![Vec::new(); 5];
    for transfer in placed.transfers() {
        let name = made.graph.label(transfer.source);
        let step = (0..5).find(|step| name.contains(&format!("step_{step}/"))).expect("a step");
        let (from, to) = (transfer.from.0, transfer.to.0);
        partners[step].push((from, (to + 7 - from) % 7));
        assert_eq!(transfer.bytes, params.values() * 4);
    }
    for (step, mut found) in partners.into_iter().enumerate() {
        found.sort_unstable();
        let distance = step as u32 % 3 + 1;
        let expected: Vec<(u32, u32)> =
            (0..7).flat_map(|worker| [(worker, distance), (worker, 7 - distance)]).collect();
        assert_eq!(found, expected, "step {step}");
    }
}
