//! The numbers of result rows that figures, tables, rankings, comparisons and claims are about.

use std::fmt;
use std::str::FromStr;

use placebench_datasets::nearest;
use polars::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Status;

/// A number of a cell. It has two names, and every command and file takes both: that of its column (`traffic_bytes`)
/// and a short one (`traffic`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// When the last device finishes.
    Makespan,
    /// Makespan / critical path of least costs.
    Slr,
    /// Time on the best single device / makespan.
    Speedup,
    /// Speedup / number of devices.
    Efficiency,
    /// Makespan / largest lower bound.
    Gap,
    /// Bytes moved between devices.
    TrafficBytes,
    /// Bytes on edges between devices, each edge counted.
    CutBytes,
    /// Send/receive pairs.
    Transfers,
    /// Edges between devices.
    CutEdges,
    /// Largest / mean busy time of the devices.
    LoadImbalance,
    /// Busy share of the devices' time.
    Utilization,
    /// Idle time, summed over devices.
    IdleTime,
    /// Largest peak memory of a device.
    PeakMemoryBytes,
    /// Devices with at least one op.
    DevicesUsed,
    /// Mean number of executable tasks when a device decides.
    ExecutableMean,
    /// Wall-clock seconds to place.
    PlaceSeconds,
    /// Wall-clock seconds to simulate.
    SimulateSeconds,
    /// Makespan of one training step: makespan / steps of the graph. Other graphs have one step.
    StepTime,
    /// Time that the busiest device waits, for training graphs a step: makespan − its busy time. For workers of equal
    /// speed that wait while they exchange, it is the time of communication.
    CommunicationTime,
    /// Makespan / that of a reference run, as a geometric mean. Only a history of runs has it.
    MakespanRatio,
    /// Cells without a result. Only a history of runs has it.
    Failed,
}

/// What a metric measures: it decides the unit of an axis and the digits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Simulated time, in the row's unit.
    Time,
    /// Wall-clock seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share from 0 to 1.
    Share,
    /// A ratio or a count: a number without unit.
    Number,
}

/// All metrics, in the order of the enum: column, short name, name for people, measure.
const ABOUT: [(Metric, &str, &str, &str, Measure); 21] = {
    use Measure::{Bytes, Number, Seconds, Share, Time};
    use Metric::*;
    [
        (Makespan, "makespan", "makespan", "makespan", Time),
        (Slr, "slr", "slr", "SLR", Number),
        (Speedup, "speedup", "speedup", "speedup", Number),
        (Efficiency, "efficiency", "efficiency", "efficiency", Share),
        (Gap, "gap", "gap", "makespan / lower bound", Number),
        (TrafficBytes, "traffic_bytes", "traffic", "traffic", Bytes),
        (CutBytes, "cut_bytes", "cut", "cut", Bytes),
        (Transfers, "transfers", "transfers", "transfers", Number),
        (CutEdges, "cut_edges", "cut_edges", "cut edges", Number),
        (LoadImbalance, "load_imbalance", "imbalance", "load imbalance", Number),
        (Utilization, "utilization", "utilization", "utilization", Share),
        (IdleTime, "idle_time", "idle", "idle time", Time),
        (PeakMemoryBytes, "peak_memory_bytes", "memory", "peak memory", Bytes),
        (DevicesUsed, "devices_used", "devices", "devices used", Number),
        (ExecutableMean, "executable_mean", "executable", "executable ops", Number),
        (PlaceSeconds, "place_seconds", "place_time", "time to place", Seconds),
        (SimulateSeconds, "simulate_seconds", "simulate_time", "time to simulate", Seconds),
        (StepTime, "step_time", "step", "time of a step", Time),
        (CommunicationTime, "communication_time", "communication", "communication", Time),
        (MakespanRatio, "makespan_ratio", "ratio", "makespan / reference", Number),
        (Failed, "failed", "failed", "cells without a result", Number),
    ]
};

/// No metric of those that are wanted has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownMetric {
    /// The name.
    pub name: String,
    /// The metrics that there are.
    pub known: Vec<Metric>,
}

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown metric '{}': ", self.name)?;
        let names = self.known.iter().flat_map(|metric| [metric.column(), metric.short()]);
        match nearest(&self.name, names) {
            Some(nearest) => write!(f, "did you mean '{nearest}'?"),
            None => write!(f, "use one of {}", names_of(&self.known)),
        }
    }
}

/// The short names of metrics.
fn names_of(metrics: &[Metric]) -> String {
    metrics.iter().map(|metric| metric.short()).collect::<Vec<_>>().join(", ")
}

impl Metric {
    /// The metrics that a history of runs has.
    pub const OF_HISTORY: [Self; 5] =
        [Self::MakespanRatio, Self::Gap, Self::PlaceSeconds, Self::SimulateSeconds, Self::Failed];

    /// The metrics that a row has.
    pub fn of_rows() -> Vec<Self> {
        let all = ABOUT.iter().map(|&(metric, ..)| metric);
        all.filter(|metric| ![Self::MakespanRatio, Self::Failed].contains(metric)).collect()
    }

    /// The metrics by which rankings and comparisons judge: less is better.
    pub fn judging() -> Vec<Self> {
        Self::of_rows().into_iter().filter(|metric| !metric.more_is_better()).collect()
    }

    /// The name of its column, which identifies it in files.
    pub fn column(self) -> &'static str {
        ABOUT[self as usize].1
    }

    /// Its short name: for the command line and for names of files.
    pub fn short(self) -> &'static str {
        ABOUT[self as usize].2
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        ABOUT[self as usize].3
    }

    /// What it measures.
    pub fn measure(self) -> Measure {
        ABOUT[self as usize].4
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Speedup | Self::Efficiency | Self::Utilization)
    }

    /// Its values in a [`Table`](super::Table), named as its column: null where a row is not `ok`, has none, or one that
    /// is not finite.
    pub fn expr(self) -> Expr {
        let value = match self {
            Self::StepTime => col("makespan") / col("steps"),
            Self::CommunicationTime => communication(),
            Self::MakespanRatio | Self::Failed => lit(NULL),
            _ => col(self.column()),
        };
        let value = value.cast(DataType::Float64);
        let counts = col("status").eq(lit(Status::Ok.name())).and(value.clone().is_finite());
        when(counts).then(value).otherwise(lit(NULL)).alias(self.column())
    }

    /// Whether it depends on the clock: then it differs from run to run.
    pub fn is_measured(self) -> bool {
        self.measure() == Measure::Seconds
    }

    /// The metric of this name, column or short, among `known`.
    ///
    /// # Errors
    /// If none has it.
    pub fn among(name: &str, known: &[Self]) -> Result<Self, UnknownMetric> {
        let found = known.iter().copied().find(|metric| [metric.column(), metric.short()].contains(&name));
        found.ok_or_else(|| UnknownMetric { name: name.to_owned(), known: known.to_vec() })
    }
}

/// What the busiest device waits in a step.
fn communication() -> Expr {
    let busy = col("makespan") - col("idle_time") / col("devices").cast(DataType::Float64);
    let waiting = col("makespan") - busy * col("load_imbalance");
    // What is left of subtracting nearly equal numbers is no time.
    let rounding = waiting.clone().lt_eq(col("makespan") * lit(1e-12));
    when(rounding).then(lit(0.0)).otherwise(waiting / col("steps"))
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        Self::among(name, &Self::of_rows())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.column())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_enum_and_no_two_metrics_share_a_name() {
        for (index, &(metric, column, short, ..)) in ABOUT.iter().enumerate() {
            assert_eq!(metric as usize, index, "{column}");
            for &(other, other_column, other_short, ..) in &ABOUT[..index] {
                assert!(![other_column, other_short].iter().any(|name| [column, short].contains(name)), "{other:?}");
            }
        }
    }

    #[test]
    fn both_names_mean_the_same_and_a_typo_gets_a_suggestion() {
        assert_eq!("traffic".parse::<Metric>(), "traffic_bytes".parse());
        assert_eq!("traffic".parse::<Metric>(), Ok(Metric::TrafficBytes));
        assert_eq!(
            "trafic".parse::<Metric>().unwrap_err().to_string(),
            "unknown metric 'trafic': did you mean 'traffic'?"
        );
        assert!("beauty".parse::<Metric>().unwrap_err().to_string().contains("use one of makespan, slr,"));
        assert!("failed".parse::<Metric>().is_err(), "a row has no number of failed cells");
        assert_eq!(Metric::among("failed", &Metric::OF_HISTORY), Ok(Metric::Failed));
    }
}
