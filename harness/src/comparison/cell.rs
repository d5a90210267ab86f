//! What identifies a cell across runs.

use std::fmt;

use serde::Serialize;

use crate::table::Row;

/// What identifies a cell across runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CellId {
    /// Name of the suite; empty if suites are not told apart.
    pub suite: String,
    /// Name of the graph.
    pub graph: String,
    /// Name of the cluster.
    pub cluster: String,
    /// The network model.
    pub network: String,
    /// The placer with its parameters.
    pub placer: String,
    /// The scheduler with its parameters.
    pub scheduler: String,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Seed of the repetition.
    pub seed: u64,
}

impl CellId {
    /// The identity of a row.
    pub fn of(row: &Row) -> Self {
        Self {
            suite: row.suite.clone(),
            graph: row.graph.clone(),
            cluster: row.cluster.clone(),
            network: row.network.clone(),
            placer: row.placer.clone(),
            scheduler: row.scheduler.clone(),
            repetition: row.repetition,
            seed: row.seed,
        }
    }

    /// The graph on the cluster under the network model.
    pub fn scenario(&self) -> String {
        format!("{}@{}/{}", self.graph, self.cluster, self.network)
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { placer, scheduler, repetition, seed, .. } = self;
        write!(f, "{placer} with {scheduler} on {}, repetition {repetition} (seed {seed})", self.scenario())
    }
}
