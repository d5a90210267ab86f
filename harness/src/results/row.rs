//! One row of a result table.

use std::borrow::Cow;

use polars::prelude::*;
use serde::{Deserialize, Serialize};

use super::columns::columns;
use super::frame::ColumnValue;
use super::grid::InstanceKey;
use super::{CellKey, ColumnInfo, Content, Predictions};
use crate::MeasuredTimeline;
use crate::execute::ExecutorName;
use crate::problem::Kinds;

/// Version of the columns below; it changes when one is renamed, removed or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Placed, simulated, validated.
    Ok,
    /// The placer found no feasible placement, or its placement needs more memory than the rule `peak` allows.
    Infeasible,
    /// The placer, the scheduler or the instance ended in an error.
    Error,
    /// The cell took more than the suite's time limit.
    TimedOut,
    /// The machine ended it, or did not let it begin, for want of memory or disk: a resumed run runs it again.
    Interrupted,
    /// The algorithm panicked.
    Panicked,
    /// The validator refused the placement or the timeline.
    Invalid,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Ok, Self::Infeasible, Self::Error, Self::TimedOut, Self::Interrupted, Self::Panicked, Self::Invalid];

    /// The status of this word; `None` if this version does not know it.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == word)
    }

    /// The word in the column `status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Infeasible => "infeasible",
            Self::Error => "error",
            Self::TimedOut => "timed_out",
            Self::Interrupted => "interrupted",
            Self::Panicked => "panicked",
            Self::Invalid => "invalid",
        }
    }
}

impl Row {
    /// Why it is the row of no run, whatever its cell: a status that there is not, a result without a makespan, or with a
    /// period below 0.
    pub fn fault(&self) -> Option<String> {
        match Status::named(&self.status) {
            None => Some(format!("there is no status '{}'", self.status)),
            Some(Status::Ok) if !self.makespan.is_some_and(|makespan| makespan.is_finite() && makespan >= 0.0) => {
                Some("it is ok, but its makespan is no number from 0 on".to_owned())
            }
            Some(Status::Ok) if self.period.is_some_and(|period| !(period.is_finite() && period >= 0.0)) => {
                Some("it is ok, but its period is no number from 0 on".to_owned())
            }
            Some(_) => None,
        }
    }
}

/// Whether an optional part of a declaration is there.
macro_rules! is_given {
    () => {
        false
    };
    ($given:ident) => {
        true
    };
}

/// Makes [`Row`] and its conversion from and to data frames from the list of columns.
macro_rules! row {
    ($(
        $(#[doc = $doc:literal])+
        $(#[serde($default:ident)])?
        $field:ident: $type:ty = $content:ident, $title:literal
            $(, metric($metric:ident, $short:literal, $better:ident))? $(, depends on $on:ident)?;
    )*) => {
        /// One cell: what was run, how it ended, and what was measured. Metrics are empty unless the status is `ok`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Row {
            $(
                $(#[doc = $doc])+
                $(#[serde($default)])?
                pub $field: $type,
            )*
            /// What each network model predicts for a measured placement and order, as columns of their own:
            /// `predicted_MODEL` and `prediction_error_MODEL`, which is predicted / measured makespan − 1.
            #[serde(flatten)]
            pub predictions: Predictions,
            /// What was measured, no column: on its way to the run folder, which keeps it in a file of its own.
            #[serde(skip)]
            pub timeline: Option<Box<MeasuredTimeline>>,
        }

        impl Row {
            /// All columns but those of [`Row::predictions`], in order.
            pub const ABOUT: &'static [ColumnInfo] = &[$(
                ColumnInfo {
                    name: Cow::Borrowed(stringify!($field)),
                    title: Cow::Borrowed($title),
                    type_name: <$type as ColumnValue>::NAME,
                    content: Content::$content,
                    is_measured: is_given!($($on)?),
                    came_later: is_given!($($default)?),
                    doc: concat!($($doc),+),
                },
            )*];

            /// Their names.
            pub const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),*];

            /// A data frame of rows, in their order.
            ///
            /// # Errors
            /// If Polars refuses the columns.
            pub fn to_frame(rows: &[Self]) -> PolarsResult<DataFrame> {
                let mut columns = vec![$(
                    <$type as ColumnValue>::column(
                        stringify!($field),
                        rows.iter().map(|row| row.$field.clone()).collect(),
                    ),
                )*];
                columns.extend(Predictions::to_columns(rows.iter().map(|row| &row.predictions)));
                DataFrame::new(rows.len(), columns)
            }

            /// The rows of a data frame; columns that the schema does not have are ignored.
            ///
            /// # Errors
            /// If a column is missing or of another type.
            pub fn from_frame(frame: &DataFrame) -> PolarsResult<Vec<Self>> {
                Self::check_columns(|name| frame.column(name).is_ok())?;
                let mut rows = vec![Self::default(); frame.height()];
                $(
                    if let Ok(column) = frame.column(stringify!($field)) {
                        for (row, value) in rows.iter_mut().zip(<$type as ColumnValue>::values(column)?) {
                            row.$field = value;
                        }
                    }
                )*
                for (row, predictions) in rows.iter_mut().zip(Predictions::from_frame(frame)?) {
                    row.predictions = predictions;
                }
                Ok(rows)
            }
        }
    };
}

columns!(row);

impl Row {
    /// Columns that depend on the clock, the process or the machine, not on the inputs.
    pub fn measured_columns() -> impl Iterator<Item = &'static str> {
        Self::ABOUT.iter().filter(|column| column.is_measured).map(|column| &*column.name)
    }

    /// Refuses a table that lacks a column which the first tables of this version had.
    ///
    /// # Errors
    /// If it does.
    pub(super) fn check_columns(is_there: impl Fn(&str) -> bool) -> PolarsResult<()> {
        match Self::ABOUT.iter().find(|column| !column.came_later && !is_there(&column.name)) {
            Some(ColumnInfo { name, .. }) => {
                polars_bail!(ComputeError: "no column '{name}': no table of this version; run the suite again")
            }
            None => Ok(()),
        }
    }

    /// How the cell ended; `None` if the column holds a word that this version does not know.
    pub fn status(&self) -> Option<Status> {
        Status::named(&self.status)
    }

    /// Whether the cell was placed, simulated and validated.
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok.name()
    }

    /// What identifies the instance that the row is a draw of.
    pub fn instance(&self) -> InstanceKey {
        InstanceKey {
            suite: self.suite.clone(),
            graph: self.graph.clone(),
            cluster: self.cluster.clone(),
            kinds: self.kinds,
            memory: self.memory.clone().unwrap_or_default(),
            network: self.network.clone(),
            executor: self.executor.clone(),
        }
    }

    /// What identifies the cell.
    pub fn key(&self) -> CellKey {
        CellKey {
            suite: self.suite.clone(),
            graph: self.graph.clone(),
            cluster: self.cluster.clone(),
            kinds: self.kinds,
            network: self.network.clone(),
            executor: self.executor.clone(),
            placer: self.placer.clone(),
            scheduler: self.scheduler.clone(),
            repetition: self.repetition,
            seed: self.seed,
            numbering: self.numbering,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Vec<Row> {
        let ok = Row {
            suite: "s".into(),
            graph: "g".into(),
            placer: "HEFT".into(),
            placer_spec: Some("heft(average=speed)".into()),
            devices: 3,
            kinds: Kinds::AcceleratorsOnly,
            memory: Some("peak".into()),
            seed: u64::MAX,
            status: Status::Ok.name().into(),
            makespan: Some(0.1 + 0.2),
            traffic_bytes: Some(1 << 60),
            ..Row::default()
        };
        let failed =
            Row { status: Status::Panicked.name().into(), error: Some("why, \"then\"\nso".into()), ..Row::default() };
        vec![ok, failed]
    }

    fn later_columns() -> impl Iterator<Item = &'static str> {
        Row::ABOUT.iter().filter(|column| column.came_later).map(|column| &*column.name)
    }

    #[test]
    fn rows_survive_a_round_trip_through_a_frame() {
        let rows = example();
        let frame = Row::to_frame(&rows).unwrap();
        assert_eq!(frame.width(), Row::COLUMNS.len() + Predictions::columns().len());
        assert_eq!(Row::from_frame(&frame).unwrap(), rows);
    }

    #[test]
    fn a_row_survives_a_round_trip_through_a_line_of_json() {
        for row in example() {
            let line = serde_json::to_string(&row).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), row);
        }
    }

    #[test]
    fn an_older_frame_of_this_version_lacks_what_came_later() {
        let mut frame = Row::to_frame(&example()).unwrap();
        for column in later_columns() {
            frame.drop_in_place(column).unwrap();
        }
        let mut rows = example();
        rows[0] = Row { placer_spec: None, kinds: Kinds::AsGiven, memory: None, ..rows[0].clone() };
        assert_eq!(Row::from_frame(&frame).unwrap(), rows);
    }

    #[test]
    fn an_older_line_of_a_journal_lacks_what_came_later() {
        let row = example().remove(1);
        let mut line: serde_json::Value = serde_json::to_value(&row).unwrap();
        for column in later_columns() {
            line.as_object_mut().unwrap().remove(column).unwrap();
        }
        assert_eq!(serde_json::from_value::<Row>(line).unwrap(), row);
    }

    #[test]
    fn a_frame_without_a_column_is_refused_by_name() {
        let mut frame = Row::to_frame(&example()).unwrap();
        frame.drop_in_place("makespan").unwrap();
        assert!(Row::from_frame(&frame).unwrap_err().to_string().contains("makespan"));
    }
}
