//! What executors are made from, and whom they tell how they go on.

use std::sync::Arc;

use super::settings::ExecuteSettings;
use super::simulate::{NetworkModel, Noise};
use crate::problem::GraphEntry;

/// What an executor is made from.
#[derive(Clone)]
pub struct Setup<'a> {
    /// The network model of the cell: of the simulation, or of the one that gives a measured run its order.
    pub network: &'static dyn NetworkModel,
    /// By how much costs vary in a simulation.
    pub noise: Option<Noise>,
    /// Seed of what the executor draws.
    pub seed: u64,
    /// How executors that measure run.
    pub settings: &'a ExecuteSettings,
    /// Where the graph comes from, for executors that run its real ops.
    pub graph: &'a GraphEntry,
    /// The unit of the instance's times.
    pub time_unit: &'a str,
    /// Hears how an executor that measures goes on.
    pub notify: Notify,
}

impl Setup<'_> {
    /// Refuses a graph whose times are no seconds.
    ///
    /// # Errors
    /// One line.
    pub fn check_seconds(&self) -> Result<(), String> {
        match self.time_unit {
            "seconds" => Ok(()),
            unit => Err(format!(
                "graph '{}' has times in {unit}, which do not compare with measured seconds: use a graph with measured times",
                self.graph.label()
            )),
        }
    }
}

/// Hears how an execution goes on.
pub type Notify = Arc<dyn Fn(Progress) + Send + Sync>;

/// How far an execution is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// It begins, and will take about this many seconds.
    Begin {
        /// Runs to come, warm-ups included.
        runs: u32,
        /// Seconds that they will take, if it is known.
        seconds: Option<f64>,
    },
    /// A run ended.
    Run,
}
