//! Costs, sizes, speeds, rates and latencies of any magnitude: an instance is refused in one line, or every placer's row is
//! sound.

use placebench_algorithms::{StopToken, registry};
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, TransferOverheads,
};
use placebench_harness::evaluate::{Evaluator, Reference};
use placebench_harness::execute::simulate::{NETWORK_MODELS, Simulator};
use placebench_harness::results::{Row, Status};
use polars::prelude::DataType;
use proptest::prelude::*;
use proptest::sample::select;

/// Powers of ten that costs, times, speeds, rates and latencies are drawn from. With those beyond 70 there is no instance.
const BEYOND: [i32; 9] = [-300, -150, -71, -69, 0, 69, 71, 150, 300];
const LEGAL: [i32; 7] = [-69, -35, -9, 0, 9, 35, 69];

#[derive(Clone, Debug)]
struct Numbers {
    ops: Vec<f64>,
    times: Vec<Option<f64>>,
    bytes: Vec<u64>,
    memory: Vec<u64>,
    speeds: Vec<f64>,
    rates: Vec<f64>,
    latencies: Vec<f64>,
    send_ops: f64,
    overheads: Vec<f64>,
}

/// Numbers of these magnitudes; those that may be 0 or infinite are so now and then.
fn numbers(magnitudes: &'static [i32]) -> impl Strategy<Value = Numbers> {
    let power =
        move || (select(magnitudes), select(vec![1.0, 1.5, 3.0])).prop_map(|(power, by)| by * 10f64.powi(power));
    let powers = move || prop_oneof![2 => power().prop_map(|one| vec![one; 9]), 3 => prop::collection::vec(power(), 9)];
    let or_zero = move || {
        (powers(), any::<u16>()).prop_map(|(mut numbers, zeros)| {
            numbers
                .iter_mut()
                .enumerate()
                .filter(|(bit, _)| zeros >> bit & 1 == 1)
                .for_each(|(_, number)| *number = 0.0);
            numbers
        })
    };
    let bytes = || prop::collection::vec(select(vec![0, 1, 1 << 20, 1 << 40, 1 << 56, u64::MAX >> 8]), 9);
    let rates = prop_oneof![4 => powers(), 1 => Just(vec![f64::INFINITY; 9])];
    let times = prop::collection::vec(prop::option::of(power()), 9);
    let costs = (or_zero(), prop_oneof![2 => Just(vec![None; 9]), 1 => times], bytes(), bytes());
    let cluster = (powers(), rates, or_zero(), or_zero(), or_zero());
    (costs, cluster).prop_map(|((ops, times, bytes, memory), (speeds, rates, latencies, sends, overheads))| Numbers {
        ops,
        times,
        bytes,
        memory,
        speeds,
        rates,
        latencies,
        send_ops: sends[0],
        overheads,
    })
}

/// Two diamonds, one after the other, on two CPUs and a GPU.
fn instance(numbers: &Numbers) -> Result<Instance, String> {
    let mut builder = GraphBuilder::default();
    for op in 0..7 {
        let times: Vec<_> = numbers.times[op].map(|time| ("gpu", time)).into_iter().collect();
        let layer = Some(if op < 4 { "first" } else { "second" });
        let (ops, memory_bytes) = (numbers.ops[op], numbers.memory[op]);
        let spec = OpSpec { ops, memory_bytes, times: &times, layer, ..OpSpec::default() };
        builder.add_op(spec, &[numbers.bytes[op]]);
    }
    for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)] {
        builder.add_edge(OpId(from), 0, OpId(to)).unwrap();
    }
    let device = |device: usize| Device {
        name: format!("d{device}"),
        kind: if device == 1 { Kind::Gpu } else { Kind::Cpu },
        memory_bytes: None,
        speed: numbers.speeds[device],
    };
    let link = |from: DeviceId, to: DeviceId| {
        let pair = from.index() * 3 + to.index();
        Link { rate: numbers.rates[pair], latency: numbers.latencies[pair] }
    };
    let graph = builder.build().map_err(|error| error.to_string())?;
    let cluster = Cluster::new((0..3).map(device).collect(), link).map_err(|error| error.to_string())?;
    let cluster = cluster.with_send_ops(numbers.send_ops).map_err(|error| error.to_string())?;
    let cluster = cluster.with_op_overheads(|device| numbers.overheads[device.index()]).unwrap();
    let of_pair = |from: DeviceId, to: DeviceId| {
        TransferOverheads::from_values(std::array::from_fn(|at| {
            numbers.overheads[(from.index() + to.index() + at) % 9]
        }))
    };
    let cluster = cluster.with_transfer_overheads(of_pair).map_err(|error| error.to_string())?;
    Instance::new(graph, cluster).map_err(|error| error.to_string())
}

/// What a placer refuses in one line because magnitudes differ by too much in one instance.
fn is_known_limit(placer: &str, error: &str) -> bool {
    placer == "m_sct" && error.contains("the linear program for favourite children has no solution")
}

/// What is wrong with the row of a placer on an instance, if anything.
fn fault(instance: &Instance, placer: &str, network: usize) -> Option<String> {
    let (reference, stop) = (Reference::new(instance), StopToken::default());
    let evaluator = Evaluator { instance, reference: Some(&reference), seed: 1, stop: &stop };
    let made = registry::placer(&placer.parse().unwrap()).unwrap();
    let scheduler = registry::scheduler(&"pct".parse().unwrap()).unwrap();
    let network = NETWORK_MODELS[network];
    let evaluation = evaluator
        .place(&*made, network)
        .and_then(|placed| evaluator.execute(&placed, Some(&*scheduler), &Simulator::new(network)));
    let bounded = Row { lower_bound: Some(reference.bound.value), ..Row::default() };
    let row = match evaluation {
        Ok(evaluation) => evaluation.row(bounded),
        Err(error) if is_known_limit(placer, &error.to_string()) => return None,
        Err(error) => return Some(format!("{}: {error}", error.status().name())),
    };
    assert_eq!(row.status(), Some(Status::Ok));
    let frame = Row::to_frame(&[row]).unwrap();
    let doubles = frame.columns().iter().filter(|column| column.dtype() == &DataType::Float64);
    let mut values = doubles.filter_map(|column| Some((column.name().to_string(), column.f64().unwrap().get(0)?)));
    values.find(|(_, value)| !value.is_finite()).map(|(name, value)| format!("{name} is {value}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_placer_makes_a_sound_row_of_what_is_no_refused_instance(
        numbers in prop_oneof![1 => numbers(&BEYOND), 4 => numbers(&LEGAL)],
        placer in select(registry::placer_names()),
        network in 0..NETWORK_MODELS.len(),
    ) {
        if let Ok(instance) = instance(&numbers) {
            prop_assert_eq!(fault(&instance, &placer, network), None, "{}", placer);
        }
    }
}

#[test]
fn every_placer_answers_at_both_limits_and_with_nothing_but_zeros() {
    for (number, bytes) in [(1e-70, 1), (1e70, 1 << 59), (0.0, 0)] {
        let one = |number: f64| vec![number; 9];
        let positive = if number > 0.0 { number } else { 1.0 };
        let numbers = Numbers {
            ops: one(number),
            times: vec![None; 9],
            bytes: vec![bytes; 9],
            memory: vec![0; 9],
            speeds: one(positive),
            rates: one(positive),
            latencies: one(number),
            send_ops: 0.0,
            overheads: one(number),
        };
        let instance = instance(&numbers).unwrap();
        for placer in registry::placer_names() {
            for network in 0..NETWORK_MODELS.len() {
                assert_eq!(fault(&instance, &placer, network), None, "{placer} with {number:e}");
            }
        }
    }
}
