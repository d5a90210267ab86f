//! The laws of fairness, for every placer of the registry: a change that should not matter must not change how good it looks.

mod real;

use std::collections::BTreeSet;

use placebench_algorithms::fairness::{Exception, Law};
use placebench_algorithms::{Placer, RegistryEntry, Scheduler, StopToken, registry};
use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, Link, OpSpec};
use placebench_harness::evaluate::Evaluator;
use placebench_harness::execute::simulate::{ContentionFree, NETWORK_MODELS, NetworkModel, Simulator};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use rayon::prelude::*;

use crate::support::brief::brief;
use crate::support::problem::{Problem, embedded, random};

/// A placer of the registry, with little to do where it searches.
struct Contender {
    name: &'static str,
    exceptions: &'static [Exception],
    placer: Box<dyn Placer>,
    scheduler: Box<dyn Scheduler>,
}

fn contenders() -> Vec<Contender> {
    let contender = |entry: &'static RegistryEntry<dyn Placer>| {
        let placer = brief(entry);
        let scheduler = if placer.makes_plan() { "static" } else { "pct" };
        let scheduler = registry::scheduler(&scheduler.parse().unwrap()).unwrap();
        Contender { name: &entry.name, exceptions: entry.exceptions, placer, scheduler }
    };
    registry::placers().map(contender).collect()
}

impl Contender {
    fn makespan(&self, instance: &Instance) -> f64 {
        self.makespan_under(instance, &ContentionFree)
    }

    fn makespan_under(&self, instance: &Instance, network: &'static dyn NetworkModel) -> f64 {
        let stop = StopToken::default();
        let evaluator = Evaluator { instance, reference: None, seed: 7, stop: &stop };
        let placed = evaluator.place(&*self.placer, network).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let evaluation = evaluator.execute(&placed, Some(&*self.scheduler), &Simulator::new(network));
        evaluation.unwrap_or_else(|error| panic!("{}: {error}", self.name)).metrics.makespan
    }
}

/// A random order of `count` things.
fn order(count: usize, rng: &mut Pcg64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(rng);
    order
}

/// Problems that a law says are as good as `problem`, each with the factor by which its times are longer.
fn variants(problem: &Problem, law: Law, orders: usize, rng: &mut Pcg64) -> Vec<(Problem, f64)> {
    let shuffled = |variant: &mut dyn FnMut() -> Problem| (0..orders).map(|_| (variant(), 1.0)).collect();
    match law {
        Law::RelabelledDevices => shuffled(&mut || problem.with_devices(&order(problem.device_count(), rng))),
        Law::RelabelledOps => shuffled(&mut || problem.with_ops(&order(problem.op_count(), rng))),
        Law::ScaledCosts => vec![(problem.scaled(1024), 1024.0), (problem.scaled(1000), 1000.0)],
        Law::UnusableDevice => [0, 2, problem.device_count()].map(|at| (problem.with_unusable_device(at), 1.0)).into(),
        Law::IsolatedOp => vec![(problem.with_isolated_op(), 1.0)],
        Law::DoubledMemory => vec![(problem.with_memory(2), 1.0)],
    }
}

/// The changed makespans over those before, in logarithms.
fn ratios(contender: &Contender, problems: &[Problem], law: Law, orders: usize) -> Vec<f64> {
    let mut rng = Pcg64::seed_from_u64(1);
    let mut ratios = Vec::new();
    for problem in problems {
        let before = contender.makespan(&problem.instance());
        for (variant, factor) in variants(problem, law, orders, &mut rng) {
            let after = contender.makespan(&variant.instance());
            if factor == 1024.0 {
                assert_eq!(after, before * factor, "{}: powers of two scale without rounding", contender.name);
            }
            ratios.push((after / (before * factor)).ln());
        }
    }
    ratios
}

/// Rounding may differ, or which of several equal choices comes first.
const ROUNDING: f64 = 1e-9;

/// By how much the geometric mean over relabellings may differ from 1: ties decide, now in favour and now against.
const TIES: f64 = 0.01;

fn mean(ratios: &[f64]) -> f64 {
    ratios.iter().sum::<f64>() / ratios.len().max(1) as f64
}

/// Whether ratios are those of a law that is kept.
fn is_kept(law: Law, ratios: &[f64]) -> bool {
    match law {
        Law::RelabelledDevices | Law::RelabelledOps => mean(ratios).abs() <= TIES,
        _ => ratios.iter().all(|ratio| ratio.abs() <= ROUNDING),
    }
}

#[test]
fn every_placer_keeps_every_law_of_fairness_but_for_the_exceptions_that_it_declares() {
    let small: Vec<Problem> = (0..16).map(|seed| random(seed, 6)).collect();
    let large: Vec<Problem> = (0..16).map(|seed| random(seed, 40)).collect();
    let embedded = [embedded("convnet")];
    let mut wrong = Vec::new();
    // Reasons that some placer needs, and those declared; partitioners share theirs.
    let (mut needed, mut given) = (BTreeSet::new(), BTreeSet::new());
    for contender in contenders() {
        for law in Law::ALL {
            // The optimum of larger graphs cannot be proven.
            let is_exact = contender.name == "optimal";
            let randomly: &[Problem] = if is_exact { &small } else { &large };
            let catalogued: &[Problem] = if is_exact { &[] } else { &embedded };
            if let Some(exception) = contender.exceptions.iter().find(|exception| exception.law == law) {
                given.insert((law, exception.reason));
                // One problem on which it is broken is enough.
                let differs = |problem: &Problem, orders: usize| {
                    let ratios = ratios(&contender, std::slice::from_ref(problem), law, orders);
                    ratios.iter().any(|ratio| ratio.abs() > ROUNDING)
                };
                let is_needed = randomly.iter().any(|problem| differs(problem, 4));
                if is_needed || catalogued.iter().any(|problem| differs(problem, 8)) {
                    needed.insert((law, exception.reason));
                }
                continue;
            }
            let (on_random, on_embedded) =
                (ratios(&contender, randomly, law, 4), ratios(&contender, catalogued, law, 8));
            if !(is_kept(law, &on_random) && is_kept(law, &on_embedded)) {
                wrong.push(format!(
                    "{} breaks '{}': geometric mean of new/old {:.4} on random problems, {:.4} on convnet",
                    contender.name,
                    law.name(),
                    mean(&on_random).exp(),
                    mean(&on_embedded).exp(),
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "repair the placer, or declare an exception with its reason:\n{}", wrong.join("\n"));
    assert_eq!(given, needed, "exceptions that no placer needs");
}

/// An op that costs nothing has an overhead, too, so that one more is no law there; and relabelling needs many problems.
#[test]
fn the_exact_laws_are_kept_where_ops_and_transfers_have_overheads() {
    let problems: Vec<Problem> = (0..4).map(|seed| random(seed, 24).with_overheads(seed)).collect();
    let mut wrong = Vec::new();
    for contender in contenders().iter().filter(|contender| contender.name != "optimal") {
        for law in [Law::ScaledCosts, Law::UnusableDevice, Law::DoubledMemory] {
            let declared = contender.exceptions.iter().any(|exception| exception.law == law);
            if !declared && !is_kept(law, &ratios(contender, &problems, law, 1)) {
                wrong.push(format!("{} breaks '{}'", contender.name, law.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A device that no op may run on carries nothing: it widens no port, and changes no mean that a partitioner weighs by.
#[test]
fn a_device_without_use_changes_nothing_under_any_network_model() {
    let problems: Vec<Problem> = (0..6).map(|seed| random(seed, 24)).collect();
    let left_out = ["optimal", "reinforce", "cross_entropy", "simulated_annealing"];
    let mut wrong = Vec::new();
    for contender in contenders().iter().filter(|contender| !left_out.contains(&contender.name)) {
        if contender.exceptions.iter().any(|exception| exception.law == Law::UnusableDevice) {
            continue;
        }
        for network in NETWORK_MODELS {
            for problem in &problems {
                let before = contender.makespan_under(&problem.instance(), network);
                let after = contender.makespan_under(&problem.with_unusable_device(0).instance(), network);
                if (after / before).ln().abs() > ROUNDING {
                    wrong.push(format!("{} under {}: {before}, then {after}", contender.name, network.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The embedded graphs beside convnet; left out are the searches, whose laws are those of their draws, and m_sct, whose linear
/// programs take as long as all others together.
#[test]
fn the_laws_are_kept_on_the_larger_embedded_graphs_too() {
    let graphs = ["recurrent", "dynamic_rnn", "lstm_lm", "resnet50", "transformer"].map(embedded);
    let left_out = ["optimal", "reinforce", "cross_entropy", "simulated_annealing", "m_sct"];
    let contenders: Vec<Contender> =
        contenders().into_iter().filter(|contender| !left_out.contains(&contender.name)).collect();
    let broken = |contender: &Contender| -> Vec<String> {
        let declared = |law| contender.exceptions.iter().any(|exception| exception.law == law);
        let broken = |law| {
            let ratios = ratios(contender, &graphs, law, 2);
            // Times 1000 rounds, and among thousands of ops rounding decides some tie. Times 1024 must be exact here, too.
            let kept = law == Law::ScaledCosts || is_kept(law, &ratios);
            (!kept).then(|| format!("{} breaks '{}': {:.4}", contender.name, law.name(), mean(&ratios).exp()))
        };
        Law::ALL.into_iter().filter(|&law| !declared(law)).filter_map(broken).collect()
    };
    let wrong: Vec<String> = contenders.par_iter().flat_map(broken).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_exception_has_a_reason_and_no_law_is_excepted_twice() {
    for entry in registry::placers() {
        for (at, exception) in entry.exceptions.iter().enumerate() {
            assert!(exception.reason.len() > 20, "{}", entry.name);
            assert!(entry.exceptions[..at].iter().all(|other| other.law != exception.law), "{}", entry.name);
        }
    }
}

/// One op of 100 on a CPU of speed 1, which is listed first, and a GPU of 50.
#[test]
fn the_first_op_goes_to_the_fast_device_whichever_is_listed_first() {
    let mut builder = GraphBuilder::default();
    builder.add_op(OpSpec { layer: Some("only"), ..OpSpec::cost(100.0) }, &[]);
    let device = |name: &str, kind, speed| Device { name: name.into(), kind, memory_bytes: None, speed };
    let devices = vec![device("slow", Kind::Cpu, 1.0), device("fast", Kind::Gpu, 50.0)];
    let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    for contender in contenders() {
        // They draw devices, or deal them out.
        if !["random", "hashing"].contains(&contender.name) {
            assert_eq!(contender.makespan(&instance), 2.0, "{}", contender.name);
        }
    }
}
