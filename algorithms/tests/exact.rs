//! The exact solver on instances whose optimum is known.

mod support;

use placebench_algorithms::{StopToken, exact};
use placebench_datasets::Instance;

use support::instances::{arabnejad, topcuoglu};

fn optimum(instance: &Instance) -> f64 {
    let optimum = exact::solve(instance, 10_000_000, &StopToken::default()).unwrap();
    println!("{} nodes", optimum.nodes);
    optimum.makespan
}

#[test]
fn the_optima_of_the_published_instances_are_proven() {
    assert_eq!(optimum(&topcuoglu()), 73.0);
    assert_eq!(optimum(&arabnejad()), 113.0);
}
