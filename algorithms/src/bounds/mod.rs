//! Lower bounds on the makespan: no schedule of any feasible placement is shorter, whatever the network model.
//!
//! Each bound holds alone; its file says why. Memory limits and contention are not looked at, and that sends and receives keep
//! devices busy only where no placement avoids them: they only make schedules longer. Bounds are sums of floats, so one may exceed the makespan that it equals by
//! rounding, a relative error of about 1e-13.

mod colocated_work;
mod critical_path;
mod forced_together;
mod optimistic_cost;
mod total_work;

pub use colocated_work::colocated_work;
pub use critical_path::critical_path;
pub use forced_together::forced_together;
pub use optimistic_cost::{OptimisticCosts, optimistic_cost};
pub use total_work::total_work;

use placebench_datasets::{Instance, Time};

/// A lower bound on the makespan and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowerBound {
    /// The bound.
    pub value: Time,
    /// Its name: that of the function which computes it.
    pub name: &'static str,
}

/// All lower bounds.
///
/// # Complexity
/// That of [`forced_together`], the most expensive, which leaves large graphs out.
pub fn all(instance: &Instance) -> [LowerBound; 5] {
    let [path, cost, work, group] = quick(instance);
    [path, cost, work, group, LowerBound { value: forced_together(instance), name: "forced_together" }]
}

/// Those that take no longer than list scheduling.
///
/// # Complexity
/// That of the optimistic costs, the most expensive: O(edges · classes²), see [`OptimisticCosts`].
pub fn quick(instance: &Instance) -> [LowerBound; 4] {
    [
        LowerBound { value: critical_path(instance), name: "critical_path" },
        LowerBound { value: optimistic_cost(instance), name: "optimistic_cost" },
        LowerBound { value: total_work(instance), name: "total_work" },
        LowerBound { value: colocated_work(instance), name: "colocated_work" },
    ]
}

/// The largest lower bound; of equal ones the first of [`all`].
///
/// # Complexity
/// As [`all`].
pub fn best(instance: &Instance) -> LowerBound {
    largest(&all(instance))
}

/// The largest of those that take no longer than list scheduling, the first of equal ones.
///
/// # Complexity
/// As [`quick`].
pub fn best_quick(instance: &Instance) -> LowerBound {
    largest(&quick(instance))
}

/// The largest lower bound on the period, the time that one run of the graph keeps its busiest device busy: those bounds on the
/// makespan that follow from the work of devices alone.
///
/// # Complexity
/// That of [`total_work`] and [`colocated_work`].
pub fn period(instance: &Instance) -> LowerBound {
    let work = LowerBound { value: total_work(instance), name: "total_work" };
    let group = LowerBound { value: colocated_work(instance), name: "colocated_work" };
    largest(&[work, group])
}

fn largest(bounds: &[LowerBound]) -> LowerBound {
    let mut best = bounds[0];
    for &bound in bounds {
        if bound.value > best.value {
            best = bound;
        }
    }
    best
}

/// What the schedule length ratio divides the makespan by: the sum of the least costs of the ops on the critical path of
/// least costs. Transfers do not count, so it is the length of that path.
///
/// # Reference
/// H. Topcuoglu, S. Hariri, M.-Y. Wu, *Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous
/// Computing*, IEEE Transactions on Parallel and Distributed Systems 13(3), 2002, 260–274, doi:10.1109/71.993206, §6.1.
///
/// # Complexity
/// O(ops · kinds + edges).
pub fn slr_denominator(instance: &Instance) -> Time {
    critical_path(instance)
}
