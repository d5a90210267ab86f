//! The numbers of result rows that figures, tables, rankings, comparisons and claims are about.

use std::fmt;
use std::str::FromStr;

use placebench_base::nearest;
use polars::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::columns::columns;
use super::{ColumnInfo, Content, Status};

/// Whether less or more of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

/// What is declared of a metric.
struct About {
    metric: Metric,
    column: &'static str,
    title: &'static str,
    content: Content,
    short: &'static str,
    better: Better,
    /// What it means.
    doc: &'static str,
}

/// Makes [`Metric`] from the list of columns: those that are metrics, then those that no row holds.
macro_rules! metrics {
    ($(
        $(#[doc = $doc:literal])+
        $(#[serde(default)])?
        $field:ident: $type:ty = $content:ident, $title:literal
            $(, metric($metric:ident, $short:literal, $better:ident))? $(, depends on $on:ident)?;
    )*) => {
        metrics! { @of
            $($(
                #[doc = concat!("The column [`", stringify!($field), "`](super::Row::", stringify!($field), ").")]
                $field = $content, $title, metric($metric, $short, $better);
            )?)*
            /// Makespan of one training step: makespan / steps of the graph. Other graphs have one step.
            step_time = Time, "time of a step", metric(StepTime, "step", Less);
            /// Time that the busiest device waits, for training graphs a step: makespan − its busy time. For workers of
            /// equal speed that wait while they exchange, it is the time of communication.
            communication_time = Time, "communication", metric(CommunicationTime, "communication", Less);
            /// Share of the makespan that the busiest device waits: communication time / time of a step.
            waiting = Ratio, "waiting / makespan", metric(Waiting, "waiting", Less);
            /// Runs of the graph a second in the steady state: 1 / period. Empty where times are not in seconds.
            samples_per_second = Ratio, "samples a second", metric(SamplesPerSecond, "samples", More);
            /// Period / largest lower bound on it.
            period_gap = Ratio, "period / lower bound", metric(PeriodGap, "period_gap", Less);
            /// Makespan, or the period of runs that minimise it, / that of a reference run, as a geometric mean. Only a history
            /// of runs has it.
            makespan_ratio = Ratio, "makespan / reference", metric(MakespanRatio, "ratio", Less);
            /// Cells without a result. Only a history of runs has it.
            failed = Count, "cells without a result", metric(Failed, "failed", Less);
        }
    };
    (@of $(
        $(#[doc = $doc:expr])+
        $field:ident = $content:ident, $title:literal, metric($metric:ident, $short:literal, $better:ident);
    )*) => {
        /// A number of a cell. It has two names, and every command and file takes both: that of its column
        /// (`traffic_bytes`) and a short one (`traffic`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric {
            $($(#[doc = $doc])+ $metric,)*
        }

        /// All metrics, in the order of the enum.
        const ABOUT: &[About] = &[$(
            About {
                metric: Metric::$metric,
                column: stringify!($field),
                title: $title,
                content: Content::$content,
                short: $short,
                better: Better::$better,
                doc: concat!($($doc),+),
            },
        )*];
    };
}

columns!(metrics);

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
        if Metric::among(&self.name, &Metric::of_rows()).is_ok() {
            let is_more = |metric: &Metric| metric.more_is_better();
            let wants_less = !self.known.iter().any(is_more);
            let is_wrong_way =
                wants_less && Metric::among(&self.name, &Metric::of_rows()).is_ok_and(|own| is_more(&own));
            let reason = if is_wrong_way { ", where less must be better" } else { "" };
            return write!(f, "'{}' cannot be used here{reason}: use one of {}", self.name, names_of(&self.known));
        }
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
        let all = ABOUT.iter().map(|about| about.metric);
        all.filter(|metric| ![Self::MakespanRatio, Self::Failed].contains(metric)).collect()
    }

    /// The metrics by which rankings and comparisons judge: less is better.
    pub fn judging() -> Vec<Self> {
        Self::of_rows().into_iter().filter(|metric| !metric.more_is_better()).collect()
    }

    /// The metrics of rows that no column holds: they follow from columns.
    pub fn derived() -> Vec<Self> {
        let is_column = |metric: &Self| ColumnInfo::all().any(|column| column.name == metric.column());
        Self::of_rows().into_iter().filter(|metric| !is_column(metric)).collect()
    }

    /// The table of [`Metric::derived`] in docs/FORMATS.md.
    pub fn markdown() -> String {
        let mut table = "| metric | unit | short name | meaning |\n|---|---|---|---|\n".to_owned();
        for metric in Self::derived() {
            let better = if metric.more_is_better() { "more" } else { "less" };
            let (name, short, unit) = (metric.column(), metric.short(), metric.content().name());
            table.push_str(&format!("| `{name}` | {unit} | `{short}`, {better} is better | {} |\n", metric.meaning()));
        }
        table
    }

    /// What it means, in plain sentences; of a column, which one.
    pub fn meaning(self) -> &'static str {
        self.about().doc.trim_start()
    }

    fn about(self) -> &'static About {
        &ABOUT[self as usize]
    }

    /// The name of its column, which identifies it in files.
    pub fn column(self) -> &'static str {
        self.about().column
    }

    /// Its short name: for the command line and for names of files.
    pub fn short(self) -> &'static str {
        self.about().short
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        self.about().title
    }

    /// What it holds.
    pub fn content(self) -> Content {
        self.about().content
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self.about().better == Better::More
    }

    /// Its values in a [`Table`](super::Table), named as its column: null where a row is not `ok`, has none, or one that
    /// is not finite.
    pub fn expr(self) -> Expr {
        let value = match self {
            Self::StepTime => col("makespan") / col("steps"),
            Self::CommunicationTime => communication(),
            Self::Waiting => communication() * col("steps") / col("makespan"),
            Self::SamplesPerSecond => {
                when(col("time_unit").eq(lit("seconds"))).then(lit(1.0) / col("period")).otherwise(lit(NULL))
            }
            Self::PeriodGap => col("period") / col("period_bound"),
            Self::MakespanRatio | Self::Failed => lit(NULL),
            _ => col(self.column()),
        };
        let value = value.cast(DataType::Float64);
        let counts = col("status").eq(lit(Status::Ok.name())).and(value.clone().is_finite());
        when(counts).then(value).otherwise(lit(NULL)).alias(self.column())
    }

    /// Whether it depends on the clock: then it differs from run to run.
    pub fn is_measured(self) -> bool {
        self.content() == Content::Seconds
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
    fn no_two_metrics_share_a_name() {
        for (index, about) in ABOUT.iter().enumerate() {
            for other in &ABOUT[..index] {
                let names = [about.column, about.short];
                assert!(![other.column, other.short].iter().any(|name| names.contains(name)), "{:?}", other.metric);
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
        assert!(
            "beauty".parse::<Metric>().unwrap_err().to_string().contains("use one of makespan, p95, stretch, slr,")
        );
        // A metric of which more is better is none by which less is judged.
        let judged = Metric::among("utilization", &Metric::judging()).unwrap_err().to_string();
        assert!(
            judged.starts_with(
                "'utilization' cannot be used here, where less must be better: use one of makespan, p95, stretch, slr,"
            ),
            "{judged}"
        );
        assert!("failed".parse::<Metric>().is_err(), "a row has no number of failed cells");
        assert_eq!(Metric::among("failed", &Metric::OF_HISTORY), Ok(Metric::Failed));
    }
}
