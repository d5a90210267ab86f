//! The table of results as a data frame: what is filtered, grouped, joined and summarised with Polars' lazy expressions.

use std::collections::BTreeMap;

use polars::prelude::*;

use super::frame::values;
use super::{CellKey, Column, Row, Scenario};
use crate::execute::ExecutorName;
use crate::problem::Kinds;

/// The columns of a [`Scenario`].
pub const SCENARIO: [&str; 4] = ["graph", "cluster", "network", "executor"];

/// The columns of a [`CellKey`], in its order.
pub const CELL: [&str; 10] =
    ["suite", "graph", "cluster", "kinds", "network", "executor", "placer", "scheduler", "repetition", "seed"];

/// Rows as a data frame. Its columns are those of [`Row`], and three that follow from them:
///
/// - `row`: the number of the row, from 0;
/// - `placer_name`: the placer without its parameters, and without a name for print;
/// - `steps`: training steps of the graph, 1 unless [`Table::with_steps`] knows better.
///
/// Expressions over them: [`Metric::expr`](super::Metric::expr), [`Column::expr`], [`Filter::expr`](super::Filter::expr).
#[derive(Clone, Debug)]
pub struct Table {
    frame: DataFrame,
}

impl Table {
    /// The table of some rows, in their order.
    ///
    /// # Errors
    /// If Polars refuses the columns.
    pub fn new(rows: &[Row]) -> PolarsResult<Self> {
        let mut frame = Row::to_frame(rows)?.with_row_index("row".into(), None)?;
        let names: Vec<&str> = rows
            .iter()
            .map(|row| row.placer_spec.as_ref().unwrap_or(&row.placer))
            .map(|spec| spec.split('(').next().unwrap_or_default().trim())
            .collect();
        frame.with_column(polars::prelude::Column::new("placer_name".into(), names))?;
        frame.with_column(polars::prelude::Column::new("steps".into(), vec![1.0; rows.len()]))?;
        Ok(Self { frame })
    }

    /// The table with the number of training steps in each graph that consists of them.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn with_steps(&self, steps: &BTreeMap<String, f64>) -> PolarsResult<Self> {
        let graphs: Vec<&str> = steps.keys().map(String::as_str).collect();
        let known = df!("graph" => graphs, "steps" => steps.values().copied().collect::<Vec<f64>>())?;
        let joined = left_join(self.lazy().drop(by_name(["steps"], true, false)), known.lazy(), &["graph"]);
        Ok(Self { frame: joined.with_column(col("steps").fill_null(lit(1.0))).collect()? })
    }

    /// The data frame.
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// A query over the data frame.
    pub fn lazy(&self) -> LazyFrame {
        self.frame.clone().lazy()
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.frame.height()
    }

    /// The rows as structs, for code that handles one at a time.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn rows(&self) -> PolarsResult<Vec<Row>> {
        Row::from_frame(&self.frame)
    }

    /// The rows that pass, in their order.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn filter(&self, passes: Expr) -> PolarsResult<Self> {
        Ok(Self { frame: self.lazy().filter(passes).collect()? })
    }

    /// The placers in the order of the rows: each as tables print it, and its specification.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn placers(&self) -> PolarsResult<Vec<(String, String)>> {
        let spec = Column::PlacerSpec.expr().first().alias("spec");
        let frame = self.lazy().group_by_stable(["placer"]).agg([spec]).collect()?;
        Ok(values::<String>(&frame, "placer")?.into_iter().zip(values::<String>(&frame, "spec")?).collect())
    }

    /// The distinct values of a column, in the order of the rows.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn distinct(&self, column: Column) -> PolarsResult<Vec<String>> {
        self.distinct_values(column.expr())
    }

    /// The distinct texts of an expression, in the order of the rows.
    pub(crate) fn distinct_values(&self, texts: Expr) -> PolarsResult<Vec<String>> {
        let frame = self.lazy().group_by_stable([texts.alias("value")]).agg([len()]).collect()?;
        values(&frame, "value")
    }
}

/// Each row of `left`, in their order, with the columns of the row of `right` that agrees with it in the columns `by`;
/// nulls where there is none.
pub fn left_join(left: LazyFrame, right: LazyFrame, by: &[&str]) -> LazyFrame {
    let by: Vec<Expr> = by.iter().map(|&name| col(name)).collect();
    let args = JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Left) };
    left.join(right, by.clone(), by, args)
}

/// The scenarios of a data frame that has the columns [`SCENARIO`], one a row.
///
/// # Errors
/// If a column is missing.
pub fn scenarios(frame: &DataFrame) -> PolarsResult<Vec<Scenario>> {
    let [graphs, clusters, networks] = ["graph", "cluster", "network"].map(|name| values::<String>(frame, name));
    let zipped = graphs?.into_iter().zip(clusters?).zip(networks?).zip(values::<ExecutorName>(frame, "executor")?);
    let scenario = |(((graph, cluster), network), executor)| Scenario { graph, cluster, network, executor };
    Ok(zipped.map(scenario).collect())
}

/// The cells of a data frame that has the columns [`CELL`], one a row.
///
/// # Errors
/// If a column is missing.
pub fn cell_keys(frame: &DataFrame) -> PolarsResult<Vec<CellKey>> {
    let (scenarios, suites) = (scenarios(frame)?, values::<String>(frame, "suite")?);
    let kinds = values::<Kinds>(frame, "kinds")?;
    let (placers, schedulers) = (values::<String>(frame, "placer")?, values::<String>(frame, "scheduler")?);
    let (repetitions, seeds) = (values::<u32>(frame, "repetition")?, values::<u64>(frame, "seed")?);
    let names = scenarios.into_iter().zip(kinds).zip(suites).zip(placers).zip(schedulers);
    let key = |(((((scenario, kinds), suite), placer), scheduler), (repetition, seed)): (_, (u32, u64))| {
        let Scenario { graph, cluster, network, executor } = scenario;
        CellKey { suite, graph, cluster, kinds, network, executor, placer, scheduler, repetition, seed }
    };
    Ok(names.zip(repetitions.into_iter().zip(seeds)).map(key).collect())
}
