//! One row of a result table.

use polars::prelude::*;
use serde::{Deserialize, Serialize};

use super::frame::ColumnValue;
use super::{CellKey, Predictions};
use crate::MeasuredTimeline;
use crate::execute::ExecutorName;
use crate::problem::Kinds;

/// Version of the columns below; it changes when one is renamed, removed or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Columns that came after the first tables of this version were written: where they are missing, they are empty, or what
/// all tables had before.
pub(super) const ADDED_COLUMNS: [&str; 19] = [
    "placer_spec",
    "repaired",
    "kinds",
    "memory",
    "assumptions_broken",
    "executor",
    "hardware",
    "execution",
    "other_load",
    "warm_ups",
    "repetitions",
    "makespan_least",
    "makespan_largest",
    "makespan_odd",
    "makespan_even",
    "time_scale",
    "host",
    "processor",
    "commit",
];

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Placed, simulated, validated.
    Ok,
    /// The placer found no feasible placement, or its placement needs more memory than the rule `peak` allows.
    Infeasible,
    /// The placer, the scheduler or the instance ended in an error.
    Error,
    /// The cell took longer than the suite's time limit.
    TimedOut,
    /// The algorithm panicked.
    Panicked,
    /// The validator refused the placement or the timeline.
    Invalid,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Ok, Self::Infeasible, Self::Error, Self::TimedOut, Self::Panicked, Self::Invalid];

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
            Self::Panicked => "panicked",
            Self::Invalid => "invalid",
        }
    }
}

/// Declares [`Row`] and its conversion from and to data frames from one list of columns.
macro_rules! row {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// One cell: what was run, how it ended, and what was measured. Metrics are empty unless the status is `ok`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Row {
            $($(#[$doc])* pub $field: $type,)*
            /// What each network model predicts for a measured placement and order, as columns of their own:
            /// `predicted_MODEL` and `prediction_error_MODEL`, which is predicted / measured makespan − 1.
            #[serde(flatten)]
            pub predictions: Predictions,
            /// What was measured, no column: on its way to the run folder, which keeps it in a file of its own.
            #[serde(skip)]
            pub timeline: Option<Box<MeasuredTimeline>>,
        }

        impl Row {
            /// The names of all columns but those of [`Row::predictions`], in order.
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
                let mut rows = vec![Self::default(); frame.height()];
                $(
                    match frame.column(stringify!($field)) {
                        Ok(column) => {
                            for (row, value) in rows.iter_mut().zip(<$type as ColumnValue>::values(column)?) {
                                row.$field = value;
                            }
                        }
                        Err(_) if ADDED_COLUMNS.contains(&stringify!($field)) => {}
                        Err(_) => {
                            let name = stringify!($field);
                            polars_bail!(ComputeError: "no column '{name}': no table of this version; run the suite again")
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

row! {
    /// Name of the suite.
    suite: String,
    /// Name of the graph in the suite.
    graph: String,
    /// Name of the cluster in the suite.
    cluster: String,
    /// Number of devices of the cluster.
    devices: u32,
    /// Which kinds of devices ops may run on: `as_given` or `accelerators_only`; makespans under different ones do not
    /// compare.
    #[serde(default)]
    kinds: Kinds,
    /// How memory limits placements: `static`, `peak` or `unlimited`; empty in older tables.
    memory: Option<String>,
    /// The placer: the name that the suite gives it, else its name with the parameters given.
    placer: String,
    /// The placer with the parameters given, where `placer` is a name for print; else empty.
    placer_spec: Option<String>,
    /// The scheduler with the parameters given.
    scheduler: String,
    /// The network model; makespans under different models do not compare.
    network: String,
    /// What executed the placement: `simulate`, or an executor that measures; makespans of different ones do not compare.
    #[serde(default)]
    executor: ExecutorName,
    /// Repetition, from 0.
    repetition: u32,
    /// Seed of this repetition: graphs, costs and placers draw from it.
    seed: u64,
    /// How the cell ended: `ok`, `infeasible`, `error`, `timed_out`, `panicked`, `invalid`.
    status: String,
    /// One line that says why, unless `ok`.
    error: Option<String>,
    /// Ops of the graph.
    ops: u64,
    /// Edges of the graph.
    edges: u64,
    /// Unit of the row's times: that of the graph's measured times (`seconds`), or `EU`, L's execution units.
    time_unit: String,
    /// When the last device finishes, in the row's time unit (L Eq. 2.1); the median of the repetitions if measured.
    makespan: Option<f64>,
    /// The least makespan of the repetitions, if measured.
    makespan_least: Option<f64>,
    /// The largest makespan of the repetitions, if measured.
    makespan_largest: Option<f64>,
    /// The median makespan of the first, third, … repetition, if several were measured.
    makespan_odd: Option<f64>,
    /// The median makespan of the second, fourth, … repetition, if several were measured.
    makespan_even: Option<f64>,
    /// Real seconds that one of the row's time units took, if measured.
    time_scale: Option<f64>,
    /// Makespan / sum of least costs over the critical path of least costs (Topcuoglu et al. 2002).
    slr: Option<f64>,
    /// Makespan of `single_device` with `pct` on the same graph, cluster, kinds, memory rule and network / makespan; empty
    /// if `single_device` finds no valid placement, or the run was measured.
    speedup: Option<f64>,
    /// Speedup / number of devices that at least one op may run on.
    efficiency: Option<f64>,
    /// The largest lower bound on the makespan.
    lower_bound: Option<f64>,
    /// Which bound that is.
    bound: Option<String>,
    /// Makespan / lower bound.
    gap: Option<f64>,
    /// The makespan that the placer planned, if it made a schedule.
    planned_makespan: Option<f64>,
    /// What the placer's authors assume and this instance breaks: names of
    /// [`Assumption`](placebench_algorithms::fairness::Assumption)s, separated by `, `; empty if nothing, or unknown.
    assumptions_broken: Option<String>,
    /// Units that the shared repair step moved to make the placement feasible; empty if the placer needs no repair.
    repaired: Option<u64>,
    /// Bytes moved after send/receive insertion (L Eq. 2.2).
    traffic_bytes: Option<u64>,
    /// Bytes on cut edges, each edge counted: without deduplication.
    cut_bytes: Option<u64>,
    /// Send/receive pairs.
    transfers: Option<u64>,
    /// Edges between devices.
    cut_edges: Option<u64>,
    /// Largest / mean busy time of the devices.
    load_imbalance: Option<f64>,
    /// Busy time / (devices · makespan).
    utilization: Option<f64>,
    /// Idle time summed over devices, in the row's time unit.
    idle_time: Option<f64>,
    /// Largest peak memory of a device in bytes.
    peak_memory_bytes: Option<u64>,
    /// Devices with at least one op.
    devices_used: Option<u64>,
    /// Mean number of executable tasks on a device when it decides (L Fig. 7.10).
    executable_mean: Option<f64>,
    /// Wall-clock seconds to place; the same for all schedulers of one placement.
    place_seconds: Option<f64>,
    /// What a measured run ran on: model of the processor, cores, GPUs with driver and clocks.
    hardware: Option<String>,
    /// How a measured run ran: kernel, transport, order, priority, or software.
    execution: Option<String>,
    /// Share of the machine's processor time that other processes used while it was measured.
    other_load: Option<f64>,
    /// Runs before the first that counts, if measured.
    warm_ups: Option<u64>,
    /// Runs that count, if measured.
    repetitions: Option<u64>,
    /// Wall-clock seconds to simulate; of a measured cell, to execute it with warm-ups and repetitions.
    simulate_seconds: Option<f64>,
    /// Peak resident memory of the whole process so far, in bytes.
    peak_rss_bytes: Option<u64>,
    /// The host that ran the cell.
    host: Option<String>,
    /// Its processor: seconds of different ones do not compare.
    processor: Option<String>,
    /// The commit that placebench was built from, if known.
    commit: Option<String>,
}

impl Row {
    /// Columns that depend on the clock, the process or the machine, not on the inputs: left out where runs are compared byte
    /// for byte.
    pub const MEASURED_COLUMNS: [&'static str; 6] =
        ["place_seconds", "simulate_seconds", "peak_rss_bytes", "host", "processor", "commit"];

    /// How the cell ended; `None` if the column holds a word that this version does not know.
    pub fn status(&self) -> Option<Status> {
        Status::named(&self.status)
    }

    /// Whether the cell was placed, simulated and validated.
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok.name()
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
        for column in ADDED_COLUMNS {
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
        for column in ADDED_COLUMNS {
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
