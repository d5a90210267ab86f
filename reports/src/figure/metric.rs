//! The numbers of a row that figures show.

use std::str::FromStr;

use placebench_harness::table::Row;

use super::quantity::{Quantity, Unit};

/// A metric of result rows that figures can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowMetric {
    /// When the last device finishes.
    Makespan,
    /// Makespan over the critical path of least costs.
    Slr,
    /// Best single device over makespan.
    Speedup,
    /// Makespan over the lower bound.
    Gap,
    /// Bytes moved.
    Traffic,
    /// Largest over mean busy time.
    Imbalance,
    /// Busy share of the devices' time.
    Utilization,
    /// Largest peak memory of a device.
    Memory,
    /// Mean number of executable ops at decisions.
    Executable,
    /// Seconds to place.
    PlaceTime,
}

/// No metric has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown metric '{name}': use one of {}", known())]
pub struct UnknownMetric {
    /// The name.
    pub name: String,
}

fn known() -> String {
    RowMetric::ALL.map(RowMetric::name).join(", ")
}

impl RowMetric {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Makespan,
        Self::Slr,
        Self::Speedup,
        Self::Gap,
        Self::Traffic,
        Self::Imbalance,
        Self::Utilization,
        Self::Memory,
        Self::Executable,
        Self::PlaceTime,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Makespan => "makespan",
            Self::Slr => "slr",
            Self::Speedup => "speedup",
            Self::Gap => "gap",
            Self::Traffic => "traffic",
            Self::Imbalance => "imbalance",
            Self::Utilization => "utilization",
            Self::Memory => "memory",
            Self::Executable => "executable",
            Self::PlaceTime => "place_time",
        }
    }

    /// Its value in a row; `None` if the row is not `ok` or has none.
    pub fn value(self, row: &Row) -> Option<f64> {
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
        let value = match self {
            Self::Makespan => row.makespan,
            Self::Slr => row.slr,
            Self::Speedup => row.speedup,
            Self::Gap => row.gap,
            Self::Traffic => bytes(row.traffic_bytes),
            Self::Imbalance => row.load_imbalance,
            Self::Utilization => row.utilization,
            Self::Memory => bytes(row.peak_memory_bytes),
            Self::Executable => row.executable_mean,
            Self::PlaceTime => row.place_seconds,
        };
        value.filter(|value| row.is_ok() && value.is_finite())
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Speedup | Self::Utilization)
    }

    /// What an axis of it measures, for rows of this time unit.
    pub fn quantity(self, time_unit: &str) -> Quantity {
        let (name, unit) = match self {
            Self::Makespan => ("makespan", Unit::of_time(time_unit)),
            Self::Slr => ("SLR", Unit::One),
            Self::Speedup => ("speedup", Unit::One),
            Self::Gap => ("makespan / lower bound", Unit::One),
            Self::Traffic => ("traffic", Unit::Bytes),
            Self::Imbalance => ("load imbalance", Unit::One),
            Self::Utilization => ("utilization", Unit::Share),
            Self::Memory => ("peak memory", Unit::Bytes),
            Self::Executable => ("executable ops", Unit::One),
            Self::PlaceTime => ("time to place", Unit::Seconds),
        };
        Quantity::new(name, unit)
    }
}

impl FromStr for RowMetric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        let found = Self::ALL.into_iter().find(|metric| metric.name() == text);
        found.ok_or_else(|| UnknownMetric { name: text.to_owned() })
    }
}
