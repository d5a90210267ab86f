//! Each search alone, and without a first schedule that might hide what it misses, against one that cuts nothing off.

use placebench_datasets::Time;
use proptest::prelude::*;

use super::assigning::Assigning;
use super::incumbent::Incumbent;
use super::problem::Problem;
use super::search::{Progress, Search};
use super::state::{State, Step};
use crate::random_instances::{Limits, instances};

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_search_alone_finds_what_one_without_pruning_finds(
        instance in instances(Limits { ops: 5, devices: 3, edges: 8, memory: true, exact: false })
    ) {
        let problem = Problem::new(&instance).unwrap();
        let root = State::new(&problem);
        let expected = plain(&problem, &root);

        // Bounds add in another order.
        let most = expected * (1.0 + 1e-12);
        let mut whole = Incumbent::default();
        let mut search = Search::new(&problem);
        search.begin(&root, &whole);
        // Interrupted all the time, which must make no difference.
        while search.run(&mut whole, 3) == Progress::Paused {
            prop_assert!(search.bound_left().min(whole.cutoff()) <= most);
        }
        let mut placed = Incumbent::default();
        let mut assigning = Assigning::new(&problem);
        assigning.begin(&placed);
        while assigning.run(&mut placed, 3) == Progress::Paused {
            prop_assert!(assigning.bound_left().min(placed.cutoff()) <= most);
        }
        for (name, incumbent) in [("by starts", whole), ("by placements", placed)] {
            let found = incumbent.best.map_or(f64::INFINITY, |(found, _)| found);
            let same = found == expected || (found - expected).abs() <= 1e-11 * expected;
            prop_assert!(same, "{name}: {found} instead of {expected}");
        }
    }
}
