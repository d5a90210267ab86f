//! What identifies a cell: within a run, across runs, in figures and in reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::execute::ExecutorName;
use crate::problem::Kinds;

/// What identifies a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellKey {
    /// Name of the suite; empty if suites are not told apart.
    pub suite: String,
    /// Name of the graph.
    pub graph: String,
    /// Name of the cluster.
    pub cluster: String,
    /// Which kinds of devices ops may run on. A name of a cluster has one choice within a suite, but not across runs.
    pub kinds: Kinds,
    /// The network model.
    pub network: String,
    /// The executor.
    pub executor: ExecutorName,
    /// The placer, as tables print it.
    pub placer: String,
    /// The scheduler with its parameters.
    pub scheduler: String,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Seed of the repetition.
    pub seed: u64,
    /// Which numbers ops and devices have for the placer: those given if 0.
    #[serde(default)]
    pub numbering: u32,
}

impl CellKey {
    /// What a mark of a figure stands for: `graph|cluster|placer|scheduler`, and `|executor` unless it is the simulator;
    /// all repetitions. A figure shows one network model, which the mark leaves out.
    pub fn mark(&self) -> String {
        let mut parts = vec![self.graph.as_str(), &self.cluster, &self.placer, &self.scheduler];
        if !self.executor.is_simulator() {
            parts.push(self.executor.as_str());
        }
        parts.join("|")
    }
}

impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { graph, cluster, network, executor, placer, scheduler, repetition, seed, numbering, kinds, .. } =
            self;
        write!(f, "{placer} with {scheduler} on {graph}@{cluster}/{network}")?;
        if !executor.is_simulator() {
            write!(f, "/{executor}")?;
        }
        if *kinds != Kinds::AsGiven {
            write!(f, " ({kinds})")?;
        }
        write!(f, ", repetition {repetition} (seed {seed})")?;
        if *numbering > 0 { write!(f, ", numbering {numbering}") } else { Ok(()) }
    }
}
