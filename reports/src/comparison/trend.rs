//! How results move over many runs.

use placebench_algorithms::Named;
use placebench_algorithms::period::Goal;
use placebench_base::significant::significant;
use placebench_harness::compare::{History, HistoryLine};
use placebench_harness::results::Metric;
use serde::{Serialize, Serializer};

use super::numbers::counted;
use crate::export::{TextTable, number_text};
use crate::figure::{Curve, Estimate, Quantity, TrendLines, Unit};
use crate::terminal::aligned;

/// A metric of the placers of a suite over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The suite.
    pub suite: String,
    /// The metric.
    pub metric: Metric,
    /// What a ratio or a gap is of: makespan or period.
    #[serde(serialize_with = "by_name")]
    pub objective: Goal,
    /// The reference of ratios: that of the last run.
    pub reference: String,
    /// Date and commit of each run, the oldest first.
    pub runs: Vec<String>,
    /// Runs before these that had another reference.
    pub other_reference: usize,
    /// The placers, those with the largest last change first.
    pub placers: Vec<PlacerTrend>,
}

fn by_name<S: Serializer>(goal: &Goal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(goal.name())
}

/// A placer over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacerTrend {
    /// The placer.
    pub placer: String,
    /// A value for each run; `None` where it has none.
    pub values: Vec<Option<f64>>,
}

impl PlacerTrend {
    /// The last value and the one before it.
    fn last_two(&self) -> (Option<f64>, Option<f64>) {
        let mut values = self.values.iter().rev().flatten().copied();
        (values.next(), values.next())
    }

    /// By how much the last value changed, as a factor of at least 1 either way.
    fn last_change(&self) -> f64 {
        match self.last_two() {
            (Some(last), Some(before)) if last != before => (last / before).ln().abs(),
            _ => 0.0,
        }
    }
}

impl Trend {
    /// The trends of all suites of a history, over the last `most` runs of each.
    pub fn all(history: &History, metric: Metric, most: usize) -> Vec<Self> {
        let mut suites: Vec<&str> = history.lines.iter().map(|line| line.suite.as_str()).collect();
        suites.dedup();
        suites.into_iter().filter_map(|suite| Self::new(history, suite, metric, most)).collect()
    }

    fn new(history: &History, suite: &str, metric: Metric, most: usize) -> Option<Self> {
        let lines: Vec<&HistoryLine> = history.lines.iter().filter(|line| line.suite == suite).collect();
        let HistoryLine { reference, objective, .. } = lines.last()?;
        let label = |line: &HistoryLine| format!("{} {}", line.date, line.commit).trim().to_owned();
        let distinct = |keep: &dyn Fn(&HistoryLine) -> bool| {
            let mut runs: Vec<String> = lines.iter().filter(|line| keep(line)).map(|line| label(line)).collect();
            runs.dedup();
            runs
        };
        let relative = metric == Metric::MakespanRatio;
        let mut runs = distinct(&|line| !relative || line.reference == *reference);
        let other_reference = if relative { distinct(&|line| line.reference != *reference).len() } else { 0 };
        runs.drain(..runs.len().saturating_sub(most));
        let mut names: Vec<&str> = lines.iter().map(|line| line.placer.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let value = |placer: &str, run: &String| {
            let line = lines.iter().find(|line| line.placer == placer && label(line) == *run)?;
            line.value(metric)
        };
        let trend = |placer: &str| PlacerTrend {
            placer: placer.to_owned(),
            values: runs.iter().map(|run| value(placer, run)).collect(),
        };
        let mut placers: Vec<PlacerTrend> = names.into_iter().map(trend).collect();
        placers.retain(|placer| placer.values.iter().any(Option::is_some));
        placers.sort_by(|a, b| b.last_change().total_cmp(&a.last_change()));
        let (suite, reference) = (suite.to_owned(), reference.clone());
        Some(Self { suite, metric, objective: *objective, reference, runs, other_reference, placers })
    }

    /// What the values are called.
    fn name(&self) -> &'static str {
        match (self.metric, self.objective) {
            (Metric::MakespanRatio, Goal::Period) => "period_ratio",
            (Metric::Gap, Goal::Period) => Metric::PeriodGap.column(),
            (metric, _) => metric.column(),
        }
    }

    /// The values: a row a placer, a column a run.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new(["placer"].into_iter().map(str::to_owned).chain(self.runs.iter().cloned()));
        for placer in &self.placers {
            let values = placer.values.iter().map(|value| value.map(number_text).unwrap_or_default());
            table.push([placer.placer.clone()].into_iter().chain(values));
        }
        table
    }

    /// The values as lines over the numbers of the runs, which count from 1: of the placers that changed, or of all if none did.
    pub fn figure(&self) -> TrendLines {
        let unit = match self.metric {
            Metric::Failed => Unit::Count,
            metric if metric.is_measured() => Unit::Seconds,
            _ => Unit::One,
        };
        let point = |placer: &PlacerTrend, index: usize| {
            let value = placer.values[index]?;
            Some((index as f64 + 1.0, Estimate::exact(value), format!("{}|{}", placer.placer, self.runs[index])))
        };
        let curve = |placer: &PlacerTrend| Curve {
            name: placer.placer.clone(),
            points: (0..self.runs.len()).filter_map(|index| point(placer, index)).collect(),
        };
        let all = self.unchanged() == self.placers.len();
        TrendLines {
            title: format!("{}: {}", self.suite, self.name().replace('_', " ")),
            quantity: Quantity::new(self.name().replace('_', " "), unit),
            curves: self.placers.iter().filter(|placer| all || self.is_shown(placer)).map(curve).collect(),
        }
    }

    /// The trend for a terminal: a bar a run, lowest to highest of the placer; an unchanged value is a middle one.
    pub fn text(&self) -> String {
        let mut text = self.introduction();
        text.push_str(&aligned(&self.overview()));
        if self.unchanged() > 0 {
            text.push_str(&format!("{} the same in all runs\n", counted(self.unchanged(), "placer")));
        }
        text
    }

    /// The same in Markdown.
    pub fn markdown(&self) -> String {
        let same = counted(self.unchanged(), "placer");
        format!("{}\n{}\n{same} the same in all runs\n", self.introduction(), self.overview().to_markdown())
    }

    /// Placers that the overview leaves out.
    fn unchanged(&self) -> usize {
        self.placers.iter().filter(|placer| !self.is_shown(placer)).count()
    }

    fn is_shown(&self, placer: &PlacerTrend) -> bool {
        self.runs.len() < 2 || placer.values.iter().any(|value| *value != placer.values[0])
    }

    fn introduction(&self) -> String {
        let (first, last) =
            (self.runs.first().cloned().unwrap_or_default(), self.runs.last().cloned().unwrap_or_default());
        let count = self.runs.len();
        let runs = counted(count, "run");
        let mut text = format!("{}: {} over {runs}, from {first} to {last}", self.suite, self.name());
        if self.metric == Metric::MakespanRatio {
            text.push_str(&format!("; 1 is {}", self.reference));
        }
        if self.other_reference > 0 {
            let runs = counted(self.other_reference, "earlier run");
            text.push_str(&format!("; {runs} had another reference"));
        }
        text + "\n"
    }

    fn overview(&self) -> TextTable {
        let mut table = TextTable::new(["placer", "runs", "first", "least", "most", "before", "last"]);
        for placer in self.placers.iter().filter(|placer| self.is_shown(placer)) {
            let values = || placer.values.iter().flatten().copied();
            let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| self.number(value));
            let (last, before) = placer.last_two();
            table.push([
                placer.placer.clone(),
                sparkline(&placer.values),
                number(values().next()),
                number(values().reduce(f64::min)),
                number(values().reduce(f64::max)),
                number(before),
                number(last),
            ]);
        }
        table
    }

    fn number(&self, value: f64) -> String {
        match self.metric {
            Metric::Failed => format!("{value:.0}"),
            metric if metric.is_measured() => format!("{} s", significant(value)),
            _ if value != 0.0 && value.abs() < 0.1 => number_text(value),
            _ => format!("{value:.4}"),
        }
    }
}

/// A block a value, from the least to the largest; a gap where there is none.
fn sparkline(values: &[Option<f64>]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let known = || values.iter().flatten().copied();
    let (least, most) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let block = |value: f64| match most > least {
        true => BLOCKS[((value - least) / (most - least) * 7.0).round() as usize],
        false => BLOCKS[3],
    };
    values.iter().map(|value| value.map_or(' ', block)).collect()
}
