//! The columns of a table that identify cells: what filters name, and what claims and figures group by.

use std::str::FromStr;

use placebench_base::did_you_mean;
use polars::prelude::*;
use serde::Deserialize;

/// A column that identifies cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// The suite.
    Suite,
    /// The graph.
    Graph,
    /// The passes that changed the graph.
    Passes,
    /// The cluster.
    Cluster,
    /// The placer, without its parameters and without a name for print.
    Placer,
    /// The placer with its parameters.
    PlacerSpec,
    /// The scheduler.
    Scheduler,
    /// Which kinds of devices ops may run on.
    Kinds,
    /// The network model.
    Network,
    /// The executor.
    Executor,
    /// The repetition.
    Repetition,
    /// The seed.
    Seed,
    /// The numbering.
    Numbering,
    /// How the cell ended.
    Status,
}

impl Column {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Suite,
        Self::Graph,
        Self::Passes,
        Self::Cluster,
        Self::Kinds,
        Self::Placer,
        Self::PlacerSpec,
        Self::Scheduler,
        Self::Network,
        Self::Executor,
        Self::Repetition,
        Self::Seed,
        Self::Numbering,
        Self::Status,
    ];

    /// What filters call the passes of a graph that no pass changed.
    pub const NO_PASSES: &str = "none";

    /// Its name in filters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Suite => "suite",
            Self::Graph => "graph",
            Self::Passes => "passes",
            Self::Cluster => "cluster",
            Self::Kinds => "kinds",
            Self::Placer => "placer",
            Self::PlacerSpec => "placer_spec",
            Self::Scheduler => "scheduler",
            Self::Network => "network",
            Self::Executor => "executor",
            Self::Repetition => "repetition",
            Self::Seed => "seed",
            Self::Numbering => "numbering",
            Self::Status => "status",
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        if self == Self::PlacerSpec { "placer" } else { self.name() }
    }

    /// Whether a cell has the value before it runs.
    pub fn is_known_before_the_run(self) -> bool {
        self != Self::Status
    }

    /// Its values in a table, as texts.
    pub fn expr(self) -> Expr {
        match self {
            Self::Placer => col("placer_name"),
            Self::Passes => col("passes").fill_null(lit(Self::NO_PASSES)),
            Self::PlacerSpec => coalesce(&[col("placer_spec"), col("placer")]),
            Self::Repetition | Self::Seed | Self::Numbering => col(self.name()).cast(DataType::String),
            other => col(other.name()),
        }
    }

    /// What a filter may call the values: a placer goes by its name, its whole specification or its name for print.
    pub(super) fn called(self) -> Vec<Expr> {
        match self {
            Self::Placer => vec![self.expr(), Self::PlacerSpec.expr(), col("placer")],
            _ => vec![self.expr()],
        }
    }

    /// The rows that have one of these values.
    pub(super) fn is_one_of(self, values: &[String]) -> Expr {
        let called = self.called();
        let all = called.iter().flat_map(|expr| values.iter().map(|value| expr.clone().eq(lit(value.as_str()))));
        all.reduce(Expr::or).unwrap_or_else(|| lit(false))
    }
}

impl FromStr for Column {
    type Err = UnknownColumn;

    fn from_str(name: &str) -> Result<Self, UnknownColumn> {
        let found = Self::ALL.into_iter().find(|column| column.name() == name);
        found.ok_or_else(|| UnknownColumn {
            name: name.to_owned(),
            remedy: did_you_mean(name, Self::ALL.map(Self::name)),
        })
    }
}

/// No column to filter by has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no column '{name}' to filter by: {remedy}")]
pub struct UnknownColumn {
    /// The name.
    pub name: String,
    /// What to write instead.
    pub remedy: String,
}
