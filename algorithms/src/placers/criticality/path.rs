//! The critical path, as far as it is known while ops become ready.

use placebench_datasets::{DataflowGraph, OpId};

/// A critical path that grows op by op.
pub(super) struct CriticalPath {
    /// How long the way from each op to the end is.
    levels: Vec<f64>,
    /// Its end so far.
    last: Option<Last>,
}

/// The end of the critical path so far.
#[derive(Clone, Copy)]
struct Last {
    op: OpId,
    level: f64,
    /// The largest level of its successors.
    next_level: f64,
}

impl CriticalPath {
    /// No op yet. Levels are never negative.
    pub(super) fn new(levels: Vec<f64>) -> Self {
        Self { levels, last: None }
    }

    /// How long the way from an op to the end is.
    pub(super) fn level(&self, op: OpId) -> f64 {
        self.levels[op.index()]
    }

    /// Takes an op that becomes ready as the new end if it continues the path, or starts one that is as long; whether it does.
    pub(super) fn extend(&mut self, graph: &DataflowGraph, op: OpId) -> bool {
        let level = self.level(op);
        let is_critical = self.last.is_none_or(|last| {
            level >= last.level || (level >= last.next_level && graph.predecessor_ops(op).contains(&last.op))
        });
        if is_critical {
            let next_level = graph.successor_ops(op).iter().map(|&after| self.level(after)).fold(0.0, f64::max);
            self.last = Some(Last { op, level, next_level });
        }
        is_critical
    }
}
