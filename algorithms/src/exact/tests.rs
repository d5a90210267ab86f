//! Each search alone, and without a first schedule that might hide what it misses, against one that cuts nothing off.

use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec, Time};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::assigning::Assigning;
use super::incumbent::Incumbent;
use super::problem::Problem;
use super::search::{Progress, Search};
use super::state::{State, Step};

/// The least makespan of all that can be appended to a state.
fn plain(problem: &Problem, state: &State) -> Time {
    if state.done.count_ones() as usize == problem.ops {
        return state.free.iter().copied().fold(0.0, Time::max);
    }
    let mut least = f64::INFINITY;
    for op in (0..problem.ops).filter(|&op| state.is_ready(problem, op)) {
        for device in (0..problem.devices).filter(|&device| state.allows(problem, op, device)) {
            let mut child = state.clone();
            child.append(problem, Step { op, device });
            least = least.min(plain(problem, &child));
        }
    }
    least
}

/// Few different costs and sizes, often equal devices, groups, kinds, tight memory.
fn instance(rng: &mut Pcg64, most_ops: usize) -> Option<Instance> {
    // Ops that differ by their memory only, and little of it.
    let alike = rng.random_bool(0.3);
    let (equal, memory) = (rng.random_bool(0.5), alike || rng.random_bool(0.3));
    let costs = if alike { 1 } else { [2, 3, 30][rng.random_range(0..3)] };
    let sizes = if alike { 1 } else { [1, 2, 20][rng.random_range(0..3)] };
    let edges = if alike { 0.0 } else { rng.random_range(0.0..0.6) };
    let count = rng.random_range(2..=most_ops);
    let mut builder = GraphBuilder::default();
    for _ in 0..count {
        let kinds = if rng.random_bool(0.1) { KindSet::only(Kind::Gpu) } else { KindSet::ALL };
        let cost = f64::from(rng.random_range(0..costs) + u32::from(alike));
        let memory_bytes = rng.random_range(0..if alike { 10 } else { 3 });
        let spec = OpSpec { kinds, memory_bytes, ..OpSpec::cost(cost) };
        builder.add_op(spec, &[rng.random_range(0..sizes)]);
    }
    for target in 1..count {
        for source in (0..target).filter(|_| rng.random_bool(edges)).collect::<Vec<_>>() {
            builder.add_edge(OpId::new(source), 0, OpId::new(target)).ok()?;
        }
    }
    if rng.random_bool(0.3) {
        builder.colocate(OpId::new(0), OpId::new(rng.random_range(1..count))).ok()?;
    }
    let graph = builder.build().ok()?;
    let total: u64 = graph.op_ids().map(|op| graph.demand_bytes(op)).sum();
    let speed = |rng: &mut Pcg64| if equal { 1.0 } else { f64::from(rng.random_range(1..4u32)) };
    let device = |number: usize, rng: &mut Pcg64| Device {
        name: format!("d{number}"),
        kind: if number == 0 { Kind::Gpu } else { Kind::Cpu },
        memory_bytes: memory.then(|| rng.random_range(total / 3..=if alike { total / 2 + 1 } else { total + 1 })),
        speed: speed(rng),
    };
    let devices = (0..3).map(|number| device(number, rng)).collect();
    let latency = f64::from(rng.random_range(0..2u32));
    let mut link = |_, _| Link { rate: speed(rng), latency };
    Instance::new(graph, Cluster::new(devices, &mut link).ok()?).ok()
}

#[test]
fn each_search_alone_finds_what_one_without_pruning_finds() {
    let mut rng = Pcg64::seed_from_u64(7);
    let (mut feasible, mut infeasible) = (0, 0);
    while feasible < 3000 {
        let Some(instance) = instance(&mut rng, 5) else { continue };
        let problem = Problem::new(&instance).unwrap();
        let root = State::new(&problem);
        let expected = plain(&problem, &root);
        *if expected < f64::INFINITY { &mut feasible } else { &mut infeasible } += 1;

        // Bounds add in another order.
        let most = expected * (1.0 + 1e-12);
        let mut whole = Incumbent::default();
        let mut search = Search::new(&problem);
        search.begin(&root, &whole);
        // Interrupted all the time, which must make no difference.
        while search.run(&mut whole, 3) == Progress::Paused {
            assert!(search.bound_left().min(whole.cutoff()) <= most);
        }
        let mut placed = Incumbent::default();
        let mut assigning = Assigning::new(&problem);
        assigning.begin(&placed);
        while assigning.run(&mut placed, 3) == Progress::Paused {
            assert!(assigning.bound_left().min(placed.cutoff()) <= most);
        }
        for (name, incumbent) in [("by starts", whole), ("by placements", placed)] {
            let found = incumbent.best.map_or(f64::INFINITY, |(found, _)| found);
            assert!(
                found == expected || (found - expected).abs() <= 1e-11 * expected,
                "{name}: {found} instead of {expected}"
            );
        }
    }
    assert!(infeasible > 50, "{infeasible}");
}
