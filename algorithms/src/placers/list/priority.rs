//! Orders in which list schedulers take ops.

use placebench_datasets::{DataflowGraph, Instance, OpId, Time};

use super::oct::OptimisticCostTable;
use crate::ranks::{
    Average, AverageTransfer, average_exec_times, downward_ranks, median_exec_times, static_levels, upward_ranks,
};
use crate::{Directed, Named};

/// What makes an op urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The longest average path from the op, transfers included (HEFT), longest first.
    UpwardRank,
    /// The longest average path through the op (CPOP), longest first.
    UpwardDownward,
    /// The op's mean over devices in the optimistic cost table (PEFT), largest first.
    OptimisticCost,
    /// The longest average path from the op without transfers (ETF), longest first.
    StaticLevel,
    /// As static level, with the median over devices as an op's time (DLS).
    MedianLevel,
    /// The latest possible start (MCP), earliest first; equal ones by the earliest among their successors.
    Alap,
    /// The longest average path before the op, shortest first.
    TopLevel,
    /// The graph's topological order.
    Topological,
}

impl Named for Priority {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("upward_rank", Self::UpwardRank),
        ("upward_downward", Self::UpwardDownward),
        ("optimistic_cost", Self::OptimisticCost),
        ("static_level", Self::StaticLevel),
        ("median_level", Self::MedianLevel),
        ("alap", Self::Alap),
        ("top_level", Self::TopLevel),
        ("topological", Self::Topological),
    ];
}

impl Priority {
    /// Whether it is the time from an op to the end, which [`Selection::DynamicLevel`](super::Selection) can subtract
    /// from.
    pub(crate) fn is_level(self) -> bool {
        matches!(self, Self::UpwardRank | Self::OptimisticCost | Self::StaticLevel | Self::MedianLevel)
    }

    /// Whether the order is a linear extension of every graph.
    pub(super) fn is_monotone(self) -> bool {
        !matches!(self, Self::UpwardDownward | Self::OptimisticCost)
    }
}

/// What the parts of a list scheduler know before the first op is placed.
pub(super) struct Ranked {
    /// Average execution times; medians where the priority has medians.
    pub(super) exec: Vec<Time>,
    /// The rank that the priority goes by.
    pub(super) ranks: Vec<Time>,
    /// All ops, the most urgent first; equal ones in topological order.
    pub(super) order: Vec<OpId>,
}

impl Ranked {
    /// Ranks the ops. `table` is made if the priority or the selection needs it.
    ///
    /// # Complexity
    /// O(edges + ops · log ops).
    pub(super) fn new(
        instance: &Instance,
        priority: Priority,
        average: Average,
        table: Option<&OptimisticCostTable>,
    ) -> Self {
        let graph = instance.graph();
        let exec = match priority {
            Priority::MedianLevel => median_exec_times(instance),
            _ => average_exec_times(instance, average),
        };
        let transfer = AverageTransfer::new(instance, average);
        let ranks = match priority {
            Priority::UpwardRank | Priority::Alap => upward_ranks(graph, &exec, transfer),
            Priority::UpwardDownward => {
                let mut ranks = upward_ranks(graph, &exec, transfer);
                let before = downward_ranks(graph, &exec, transfer);
                ranks.iter_mut().zip(before).for_each(|(rank, before)| *rank += before);
                ranks
            }
            Priority::OptimisticCost => table.map_or_else(Vec::new, |table| table.means(instance)),
            Priority::StaticLevel | Priority::MedianLevel => static_levels(graph, &exec),
            Priority::TopLevel => downward_ranks(graph, &exec, transfer).into_iter().map(|rank| 0.0 - rank).collect(),
            Priority::Topological => Vec::new(),
        };
        let order = match priority {
            Priority::Topological => graph.topological_order().collect(),
            Priority::Alap => by_latest_start(graph, &ranks),
            _ => by_descending_rank(graph, &ranks),
        };
        Self { exec, ranks, order }
    }
}

/// The ops by rank, largest first; equal ranks in topological order.
///
/// For a rank that never grows along an edge, such as the upward rank, this is a linear extension of the graph: zero
/// costs make ranks equal, not larger.
///
/// # Complexity
/// O(ops · log ops).
pub(crate) fn by_descending_rank(graph: &impl Directed, ranks: &[Time]) -> Vec<OpId> {
    // The order is sorted together with its keys: looking each rank up at every comparison takes three times as long.
    let mut keyed: Vec<(Time, u32, OpId)> =
        graph.topological_order().enumerate().map(|(position, op)| (ranks[op.index()], position as u32, op)).collect();
    keyed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, _, op)| op).collect()
}

/// The ops by latest start, which is the critical path less the upward rank; equal ones by the earliest latest start
/// among their successors, then in topological order.
fn by_latest_start(graph: &DataflowGraph, upward: &[Time]) -> Vec<OpId> {
    let behind = |op: OpId| graph.successor_ops(op).iter().map(|after| upward[after.index()]).fold(0.0, Time::max);
    let mut keyed: Vec<(Time, Time, u32, OpId)> = graph
        .topological_order()
        .enumerate()
        .map(|(position, op)| (upward[op.index()], behind(op), position as u32, op))
        .collect();
    keyed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    keyed.into_iter().map(|(_, _, _, op)| op).collect()
}
