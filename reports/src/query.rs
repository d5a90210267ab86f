//! The rows of a run as claims and figures query them: selected by columns, measured by metrics.

use std::collections::BTreeMap;

use placebench_generator::GraphParams;
use placebench_harness::results::{Metric, Row};
use placebench_harness::suite::Suite;
use serde::Deserialize;

/// The rows of a run, with what the suite says of its graphs.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The rows.
    pub rows: Vec<Row>,
    /// Training steps in each graph that consists of them.
    pub steps: BTreeMap<String, f64>,
}

impl Results {
    /// The rows of a run of a suite.
    pub fn new(rows: Vec<Row>, suite: &Suite) -> Self {
        let steps = suite.graphs.iter().filter_map(|entry| match entry.params() {
            Ok(Some(GraphParams::TrainingSteps(params))) => Some((entry.label(), f64::from(params.steps))),
            _ => None,
        });
        Self { rows, steps: steps.collect() }
    }

    /// The network models, in the order of the rows.
    pub fn networks(&self) -> Vec<String> {
        let mut networks: Vec<String> = Vec::new();
        for row in &self.rows {
            if !networks.contains(&row.network) {
                networks.push(row.network.clone());
            }
        }
        networks
    }

    /// The rows under one network model.
    pub fn under(&self, network: &str) -> Self {
        let rows = self.rows.iter().filter(|row| row.network == network).cloned().collect();
        Self { rows, steps: self.steps.clone() }
    }

    /// The rows of cells that ended well and are selected.
    pub fn select<'a>(&'a self, selection: &'a Selection) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |row| row.is_ok() && matches(row, selection))
    }

    /// A metric of a row, if it has it.
    pub fn value(&self, metric: Metric, row: &Row) -> Option<f64> {
        let steps = match metric {
            Metric::StepTime | Metric::CommunicationTime => self.steps.get(&row.graph).copied().unwrap_or(1.0),
            _ => 1.0,
        };
        Some(metric.value(row)? / steps)
    }
}

impl From<Vec<Row>> for Results {
    fn from(rows: Vec<Row>) -> Self {
        Self { rows, steps: BTreeMap::new() }
    }
}

/// Rows whose columns have one of the values given.
pub type Selection = BTreeMap<Column, Vec<String>>;

/// Whether all columns of the selection have one of their values in the row.
pub(crate) fn matches(row: &Row, selection: &Selection) -> bool {
    selection.iter().all(|(column, values)| values.contains(&column.of(row)))
}

/// A column that identifies cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// The graph.
    Graph,
    /// The cluster.
    Cluster,
    /// The placer, without its parameters.
    Placer,
    /// The placer as the suite writes it, parameters included.
    PlacerSpec,
    /// The scheduler.
    Scheduler,
    /// The network model.
    Network,
}

impl Column {
    /// The columns that tell a cell from all others.
    pub(crate) const ALL: [Self; 5] = [Self::Graph, Self::Cluster, Self::PlacerSpec, Self::Scheduler, Self::Network];

    /// The value in a row.
    pub fn of(self, row: &Row) -> String {
        match self {
            Self::Graph => row.graph.clone(),
            Self::Cluster => row.cluster.clone(),
            Self::Placer => row.placer.split('(').next().unwrap_or_default().to_owned(),
            Self::PlacerSpec => row.placer.clone(),
            Self::Scheduler => row.scheduler.clone(),
            Self::Network => row.network.clone(),
        }
    }

    /// The name, as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Cluster => "cluster",
            Self::Placer | Self::PlacerSpec => "placer",
            Self::Scheduler => "scheduler",
            Self::Network => "network",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communication_is_what_the_busiest_device_waits_and_is_counted_by_the_step() {
        // Four devices, of which the busiest is busy for 6 of 10 and all together for 12.
        let row = Row {
            graph: "g".into(),
            devices: 4,
            status: "ok".into(),
            load_imbalance: Some(2.0),
            makespan: Some(10.0),
            idle_time: Some(28.0),
            ..Row::default()
        };
        let mut results = Results::from(vec![row.clone()]);
        assert_eq!(results.value(Metric::CommunicationTime, &row), Some(4.0));
        results.steps.insert("g".into(), 5.0);
        assert_eq!(results.value(Metric::CommunicationTime, &row), Some(0.8));
        assert_eq!(results.value(Metric::StepTime, &row), Some(2.0));
        let busy = Row { idle_time: Some(20.0 + 1e-14), ..row };
        assert_eq!(results.value(Metric::CommunicationTime, &busy), Some(0.0));
    }

    #[test]
    fn steps_come_from_the_suite() {
        let suite = placebench_harness::suite::BuiltIn::find("tolstobrov").unwrap().suite().unwrap();
        let steps = Results::new(Vec::new(), &suite).steps;
        assert_eq!((steps["1_ring"], steps["7_doubling"], steps["9"]), (1.0, 16.0, 512.0));
    }
}
