//! The critical path of least costs.

use placebench_datasets::{Instance, Time};

/// The longest path when every op runs where it is fastest and nothing is transferred.
///
/// # Proof
/// The ops of a path run one after the other, each for at least its least time on a device of a kind that its unit
/// allows.
///
/// # Complexity
/// O(ops · kinds + edges).
pub fn critical_path(instance: &Instance) -> Time {
    let graph = instance.graph();
    let mut lengths = instance.min_exec_times();
    let mut longest: Time = 0.0;
    for op in graph.topological_order().rev() {
        let behind = graph.successor_ops(op).iter().map(|after| lengths[after.index()]).fold(0.0, f64::max);
        lengths[op.index()] += behind;
        longest = longest.max(lengths[op.index()]);
    }
    longest
}
