//! The six synthetic graphs of L Table 7.1.

use super::params::{Amount, ColocationParams, Decay, LevelEdges, LeveledParams};
use crate::costs::{Costs, KindProbabilities};

/// A row of L Table 7.1.
struct Row {
    nodes: u64,
    random_edges: u64,
    level_edges: u64,
    levels: u32,
    nodes_per_level: (u32, u32),
    limit: u32,
    colocated: u64,
}

const fn row(
    nodes: u64,
    [random_edges, level_edges]: [u64; 2],
    levels: u32,
    nodes_per_level: (u32, u32),
    limit: u32,
    colocated: u64,
) -> Row {
    Row { nodes, random_edges, level_edges, levels, nodes_per_level, limit, colocated }
}

const TABLE: [(&str, Row); 6] = [
    ("laich1", row(36319, [8003, 8073], 300, (50, 200), 20, 5200)),
    ("laich2", row(18168, [5015, 20133], 300, (20, 100), 20, 2762)),
    ("laich3", row(7475, [0, 49510], 1000, (5, 10), 3, 263)),
    ("laich4", row(9899, [21099, 21387], 200, (20, 80), 10, 1945)),
    ("laich5", row(10440, [23535, 23879], 200, (20, 80), 10, 4768)),
    ("laich6", row(26887, [53423, 53721], 500, (10, 100), 20, 4214)),
];

impl LeveledParams {
    /// Names of the presets.
    pub const PRESETS: [&'static str; 6] = ["laich1", "laich2", "laich3", "laich4", "laich5", "laich6"];

    /// The parameters of a synthetic graph of L Table 7.1, `laich1` to `laich6`; `None` if there is no such preset.
    ///
    /// Numbers of nodes, of edges of both sorts and of colocated nodes are L's exactly, for every seed; weights are
    /// uniform in 1..=100 as L's.
    ///
    /// # Deviations
    /// L gives no probabilities of kind constraints: here 10 % of the assignment units need a CPU, 10 % a GPU. Nor does
    /// L give sizes of colocation groups: see [`ColocationParams`].
    pub fn preset(name: &str) -> Option<Self> {
        let (_, row) = TABLE.iter().find(|(preset, _)| *preset == name)?;
        Some(Self {
            levels: row.levels,
            nodes_per_level: row.nodes_per_level,
            nodes: Some(row.nodes),
            reach_bounds: true,
            level_edges: LevelEdges {
                amount: Amount::Count(row.level_edges),
                limit: Some(row.limit),
                decay: Decay::None,
            },
            random_edges: Amount::Count(row.random_edges),
            costs: Costs::default(),
            correlation: 0.0,
            ccr: None,
            times: None,
            kinds: KindProbabilities { cpu: 0.1, gpu: 0.1, tpu: 0.0 },
            colocation: ColocationParams { nodes: row.colocated, ..ColocationParams::default() },
        })
    }

    /// The same graph with `factor` times the levels, nodes, edges and colocated nodes, rounded to integers. Each level
    /// keeps its size.
    pub fn scaled(&self, factor: f64) -> Self {
        let times = |count: u64| (count as f64 * factor).round() as u64;
        let amount = |amount| match amount {
            Amount::Count(count) => Amount::Count(times(count)),
            probability => probability,
        };
        Self {
            levels: times(u64::from(self.levels)).min(u64::from(u32::MAX)) as u32,
            nodes: self.nodes.map(times),
            level_edges: LevelEdges { amount: amount(self.level_edges.amount), ..self.level_edges },
            random_edges: amount(self.random_edges),
            colocation: ColocationParams { nodes: times(self.colocation.nodes), ..self.colocation },
            ..self.clone()
        }
    }
}
