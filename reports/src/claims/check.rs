//! The groups of a claim: what it compares, in numbers, from the rows of a run.

use std::collections::BTreeMap;

use placebench_harness::results::grid::GridError;
use placebench_harness::results::{Metric, Table, lists, values};
use polars::prelude::*;
use serde::Serialize;

use super::bootstrap::Resamples;
use super::cells::CellsOf;
use super::{Claim, Reading, Repetitions};

/// One ratio (or correlation) of a claim.
///
/// Numbers are rounded to nine digits, so that what differs by rounding alone is equal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimRatio {
    /// The values of the columns of `each`, and which of the values listed are compared.
    pub label: String,
    /// The ratio, a geometric mean over repetitions; or the correlation.
    pub value: f64,
    /// The 95 % confidence interval of the value, by bootstrap over its repetitions (of a correlation, over its cells);
    /// `None` if nothing can be resampled.
    pub interval: Option<(f64, f64)>,
    /// As `interval`, but one of those of all groups of the claim, which hold together with 95 % of confidence.
    pub joint_interval: Option<(f64, f64)>,
    /// Draws of cells that were compared.
    pub rows: usize,
    /// Repetitions behind the value; for a correlation, cells.
    pub samples: usize,
}

/// A group before it is known how many there are.
type Sampled = (ClaimRatio, Resamples);

/// Groups with their intervals.
fn with_intervals(sampled: Vec<Sampled>) -> Vec<ClaimRatio> {
    let count = sampled.len();
    let group = |(group, resamples): Sampled| ClaimRatio {
        interval: resamples.interval(1),
        joint_interval: resamples.interval(count),
        ..group
    };
    sampled.into_iter().map(group).collect()
}

/// The columns that tell draws of cells apart.
const DRAW: [&str; 9] =
    ["graph", "cluster", "kinds", "network", "executor", "placer", "placer_spec", "scheduler", "repetition"];

/// Digits of numbers that are compared.
const DIGITS: usize = 9;

/// A number to [`DIGITS`] significant digits.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// The mean of groups and its 95 % confidence interval over groups; `geometric`, or arithmetic.
pub(super) fn mean_interval(groups: &[ClaimRatio], geometric: bool) -> (Option<f64>, Option<(f64, f64)>) {
    let scaled = |group: &ClaimRatio| vec![if geometric { group.value.ln() } else { group.value }];
    let back = |value: f64| rounded(if geometric { value.exp() } else { value });
    let mean = |groups: &[Vec<f64>]| {
        let values = groups.iter().flatten();
        (!groups.is_empty()).then(|| values.sum::<f64>() / groups.len() as f64)
    };
    let values: Vec<Vec<f64>> = groups.iter().map(scaled).collect();
    let interval = Resamples::new(&values, mean).map(back).interval(1);
    (mean(&values).map(back), interval)
}

impl Claim {
    /// The groups of the claim in the order of labels. A cell with a failed draw has no value and does not count.
    ///
    /// # Complexity
    /// O(rows + pairs) a resample. There are 1000 resamples.
    ///
    /// # Errors
    /// If a cell is in the table twice, or Polars refuses.
    pub fn groups(&self, table: &Table) -> Result<Vec<ClaimRatio>, GridError> {
        self.groups_of(&mut CellsOf::new(table.clone()))
    }

    /// As [`Claim::groups`], of cells that claims share.
    pub(super) fn groups_of(&self, cells: &mut CellsOf) -> Result<Vec<ClaimRatio>, GridError> {
        let Some(metric) = self.metric else { return Ok(Vec::new()) };
        let mut counted = cells.by(metric, self.correlates_with)?.lazy().filter(self.spares_controls());
        if self.distributes {
            // Both tables are of the same draws.
            let used = cells.by(Metric::AcceleratorsUsed, None)?.lazy().rename(["value"], ["used"], true);
            let on: Vec<Expr> = DRAW.map(col).to_vec();
            counted = counted.join(
                used.select([on.clone(), vec![col("used")]].concat()),
                on.clone(),
                on,
                JoinArgs::new(JoinType::Left),
            );
        }
        let cells = counted.collect()?;
        Ok(match self.correlates_with {
            None => self.ratios(cells)?,
            Some(_) => self.correlations(cells)?,
        })
    }

    /// The claim with the metrics of a reading.
    pub(super) fn under(&self, reading: &Reading) -> Self {
        let read = |metric: Option<Metric>| metric.map(|metric| reading.metric(metric));
        Self { metric: read(self.metric), correlates_with: read(self.correlates_with), ..self.clone() }
    }

    /// The columns of `each` as `each0`, `each1`, …, for queries to group by.
    fn each(&self) -> Vec<Expr> {
        self.each.iter().enumerate().map(|(index, column)| column.expr().alias(format!("each{index}"))).collect()
    }

    /// The label of each row's group.
    fn labels(&self, frame: &DataFrame) -> PolarsResult<Vec<String>> {
        let columns = (0..self.each.len()).map(|index| values::<String>(frame, &format!("each{index}")));
        let columns = columns.collect::<PolarsResult<Vec<_>>>()?;
        let label = |row: usize| columns.iter().map(|column| column[row].as_str()).collect::<Vec<_>>().join(" ");
        Ok((0..frame.height()).map(label).collect())
    }

    /// The value, in multiples of the mean of the cells of `relative_to` if there are such.
    fn value(&self) -> PolarsResult<Expr> {
        if self.relative_to.is_empty() {
            return Ok(col("value"));
        }
        let reference = when(self.relative_to.expr()).then(col("value")).otherwise(lit(NULL));
        let of = ["graph", "cluster", "scheduler", "network", "executor", "repetition"];
        Ok((col("value") / reference.mean().over(of)?).alias("value"))
    }

    fn ratios(&self, cells: DataFrame) -> PolarsResult<Vec<ClaimRatio>> {
        let sides = [
            self.numerator_takes.sides(&self.numerator),
            if self.denominator.is_empty() { Vec::new() } else { self.denominator_takes.sides(&self.denominator) },
        ];
        let mut lists_of = Vec::new();
        for (alternatives, name) in sides.iter().zip(["numerator", "denominator"]) {
            for (index, (_, filter)) in alternatives.iter().enumerate() {
                let filter = match self.distributes && name == "numerator" {
                    true => filter.expr().and(col("used").gt_eq(lit(2.0))),
                    false => filter.expr(),
                };
                lists_of.push(col("value").filter(filter).alias(format!("{name}{index}")));
            }
        }
        let frame = cells
            .lazy()
            .with_column(self.value()?)
            .filter(self.only.expr().and(col("value").is_not_null()))
            .group_by_stable([self.each(), vec![col("repetition")]].concat())
            .agg(lists_of)
            .sort(["repetition"], SortMultipleOptions::default().with_maintain_order(true))
            .collect()?;
        let labels = self.labels(&frame)?;
        let mut groups: BTreeMap<String, Samples> = BTreeMap::new();
        for (first, (numerator, _)) in sides[0].iter().enumerate() {
            let numerators = lists(&frame, &format!("numerator{first}"))?;
            let mut add = |label: String, denominators: Option<&[Vec<f64>]>| {
                for (row, each) in labels.iter().enumerate() {
                    let name = [each.as_str(), &label].join(" ").trim().to_owned();
                    let b = denominators.map_or(&[][..], |lists| &lists[row]);
                    let a = &numerators[row];
                    let least_most = match denominators {
                        None => (self.numerator_takes.of(a), Some(1.0)),
                        Some(_) => (self.numerator_takes.of(a), self.denominator_takes.of(b)),
                    };
                    let (Some(numerator), Some(denominator)) = least_most else { continue };
                    groups.entry(name).or_default().push(numerator, denominator, a.len() + b.len());
                }
            };
            if self.denominator.is_empty() {
                add(numerator.clone(), None);
            }
            for (second, (denominator, _)) in sides[1].iter().enumerate() {
                if self.paired && first != second {
                    continue;
                }
                let denominators = lists(&frame, &format!("denominator{second}"))?;
                let label = match (numerator.is_empty(), denominator.is_empty()) {
                    (_, true) => numerator.clone(),
                    (true, false) => format!("against {denominator}"),
                    (false, false) => format!("{numerator} against {denominator}"),
                };
                add(label, Some(&denominators));
            }
        }
        let sampled = groups.into_iter().flat_map(|(label, samples)| samples.groups(label, self.repetitions));
        Ok(with_intervals(sampled.collect()))
    }

    /// For each group the correlation of two metrics over its cells, each the mean over the cell's draws.
    fn correlations(&self, cells: DataFrame) -> PolarsResult<Vec<ClaimRatio>> {
        let cell = ["graph", "cluster", "placer", "scheduler", "network", "executor"];
        let mut wanted = self.each();
        wanted.extend(["value", "against", "count"].map(col));
        let frame = cells
            .lazy()
            .filter(self.only.expr())
            .sort(cell, SortMultipleOptions::default().with_maintain_order(true))
            .select(wanted)
            .collect()?;
        let cells = values::<f64>(&frame, "value")?.into_iter().zip(values::<f64>(&frame, "against")?);
        let cells = cells.map(|(a, b)| (rounded(a), rounded(b))).zip(values::<u32>(&frame, "count")?);
        let mut groups: BTreeMap<String, (Vec<(f64, f64)>, usize)> = BTreeMap::new();
        for (label, (pair, count)) in self.labels(&frame)?.into_iter().zip(cells) {
            let (pairs, rows) = groups.entry(label).or_default();
            pairs.push(pair);
            *rows += count as usize;
        }
        let correlation = |cells: &[(f64, f64)]| {
            let (a, b): (Vec<f64>, Vec<f64>) = cells.iter().copied().unzip();
            rank_correlation(&a, &b).map(rounded)
        };
        let group = |(label, (cells, rows)): (String, (Vec<(f64, f64)>, usize))| {
            let (value, samples) = (correlation(&cells)?, cells.len());
            let resamples = Resamples::new(&[cells], |groups| correlation(&groups[0]));
            Some((ClaimRatio { label, value, interval: None, joint_interval: None, rows, samples }, resamples))
        };
        Ok(with_intervals(groups.into_iter().filter_map(group).collect()))
    }
}

/// Both sides of a ratio, repetition by repetition.
#[derive(Default)]
struct Samples {
    sides: Vec<(f64, f64)>,
    rows: Vec<usize>,
}

impl Samples {
    fn push(&mut self, numerator: f64, denominator: f64, rows: usize) {
        self.sides.push((numerator, denominator));
        self.rows.push(rows);
    }

    /// The groups that they make; ratios that are not finite and positive are none.
    fn groups(self, label: String, repetitions: Repetitions) -> Vec<Sampled> {
        let logs = self.sides.iter().map(|(a, b)| (a / b).ln()).zip(self.rows).enumerate();
        let logs: Vec<(usize, (f64, usize))> = logs.filter(|(_, (log, _))| log.is_finite()).collect();
        let rows = logs.iter().map(|(_, (_, rows))| rows).sum();
        let group = |label: String, log: f64, resamples: Resamples, rows: usize, samples: usize| {
            let value = rounded(log.exp());
            let group = ClaimRatio { label, value, interval: None, joint_interval: None, rows, samples };
            (group, resamples.map(|log| rounded(log.exp())))
        };
        match repetitions {
            _ if logs.is_empty() => Vec::new(),
            Repetitions::Mean => {
                let samples: Vec<f64> = logs.iter().map(|(_, (log, _))| *log).collect();
                let mean = |groups: &[Vec<f64>]| Some(groups[0].iter().sum::<f64>() / groups[0].len() as f64);
                let value = samples.iter().sum::<f64>() / samples.len() as f64;
                let (count, varies) = (samples.len(), samples.iter().any(|log| rounded(*log) != rounded(samples[0])));
                let resamples = if varies { Resamples::new(&[samples], mean) } else { Resamples::default() };
                vec![group(label, value, resamples, rows, count)]
            }
            Repetitions::Some => {
                let one = |(repetition, (log, rows))| {
                    group(format!("{label} #{repetition}"), log, Resamples::default(), rows, 1)
                };
                logs.into_iter().map(one).collect()
            }
            Repetitions::Spread => {
                let spread = |sides: &[(f64, f64)]| {
                    let of = |side: fn(&(f64, f64)) -> f64| {
                        let values = sides.iter().map(side);
                        let (least, most) =
                            values.fold((f64::INFINITY, 0.0f64), |(least, most), v| (least.min(v), most.max(v)));
                        most / least
                    };
                    Some((of(|(a, _)| *a) / of(|(_, b)| *b)).ln()).filter(|log| log.is_finite())
                };
                let found = spread(&self.sides);
                let count = logs.len();
                let resamples = Resamples::new(&[self.sides], |groups| spread(&groups[0]));
                found.into_iter().map(|log| group(label.clone(), log, resamples.clone(), rows, count)).collect()
            }
        }
    }
}

/// Spearman's rank correlation; equal values share their mean rank. `None` with fewer than three values or if one side
/// does not vary.
fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 3 {
        return None;
    }
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let covariance = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    let correlation = covariance(&a, &b) / (covariance(&a, &a) * covariance(&b, &b)).sqrt();
    correlation.is_finite().then_some(correlation)
}

/// The rank of each value, from 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|&&other| other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|&&other| other == value).count() as f64;
    values.iter().map(|&value| below(value) + (equal(value) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::ClaimOutcome;
    use crate::summary::tests::{rows, table};

    fn claim(text: &str) -> Claim {
        toml::from_str(&format!("figure = '1'\ntext = 't'\nmetric = 'makespan'\n{text}")).unwrap()
    }

    fn found(text: &str) -> Vec<(String, f64)> {
        claim(text).groups(&table()).unwrap().into_iter().map(|group| (group.label, group.value)).collect()
    }

    fn expected<const N: usize>(groups: [(&str, f64); N]) -> Vec<(String, f64)> {
        groups.map(|(label, value)| (label.to_owned(), value)).to_vec()
    }

    #[test]
    fn ratios_are_paired_by_repetition_and_a_cell_with_a_failed_draw_does_not_count() {
        let claim = claim(
            "numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph', 'scheduler']\nabove = 1.9\nbelow = 2.1",
        );
        let groups = claim.groups(&table()).unwrap();
        let labels: Vec<&str> = groups.iter().map(|group| group.label.as_str()).collect();
        // On b one of two repetitions of random failed.
        assert_eq!(labels, ["a fifo", "a pct"]);
        assert_eq!(groups.iter().map(|group| group.samples).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(groups.iter().map(|group| group.rows).sum::<usize>(), 8);
        assert_eq!(claim.judge(&groups).outcome, ClaimOutcome::Holds);
    }

    #[test]
    fn controls_count_only_where_they_are_named_and_one_device_distributes_nothing() {
        let mut rows = rows();
        rows.retain(|row| row.graph == "a" && row.scheduler == "pct");
        for row in &mut rows {
            // Heft uses two accelerators in one of its draws.
            row.accelerators_used = Some(if row.placer == "heft" && row.repetition == 0 { 2 } else { 1 });
        }
        let table = Table::new(&rows).unwrap();
        let found = |text: &str| -> Vec<(String, usize)> {
            let groups = claim(text).groups(&table).unwrap();
            groups.into_iter().map(|group| (group.label, group.samples)).collect()
        };
        let all = "numerator = {scheduler = ['pct']}\neach = ['placer']\nbelow = 9";
        assert_eq!(found(all), [("heft".to_owned(), 2)]);
        let named =
            "where = {placer = ['random', 'heft']}\nnumerator = {scheduler = ['pct']}\neach = ['placer']\nbelow = 9";
        assert_eq!(found(named), [("heft".to_owned(), 2), ("random".to_owned(), 2)]);
        let against = "numerator = {placer = ['heft']}\ndenominator = {placer = ['random']}\nbelow = 9";
        assert_eq!(found(against), [(String::new(), 2)]);
        assert_eq!(found(&format!("{against}\ndistributes = true")), [(String::new(), 1)]);
        let turned =
            "numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\nbelow = 9\ndistributes = true";
        assert_eq!(found(turned), []);
    }

    #[test]
    fn every_value_listed_is_compared_on_its_own_and_a_good_one_hides_no_bad_one() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.placer == "random" && row.scheduler == "fifo") {
            // A third of the time: 0.67 of heft's, where random with pct has 2.
            row.makespan = row.makespan.map(|makespan| makespan / 3.0);
        }
        let claim = claim(
            "where = {graph = ['a']}\nnumerator = {placer = ['random'], scheduler = ['pct', 'fifo']}\n\
             denominator = {placer = ['heft'], scheduler = ['pct']}\neach = ['graph']\nabove = 1",
        );
        let groups = claim.groups(&Table::new(&rows).unwrap()).unwrap();
        let found: Vec<_> = groups.iter().map(|group| (group.label.as_str(), group.value)).collect();
        assert_eq!(found, [("a fifo", 1.0), ("a pct", 2.0)]);
        assert_eq!(claim.judge(&groups).outcome, ClaimOutcome::Fails);
    }

    #[test]
    fn both_sides_can_list_values_each_with_each_or_in_pairs() {
        let text = "where = {graph = ['a']}\nnumerator = {placer = ['heft', 'random']}\n\
                    denominator = {scheduler = ['pct', 'fifo']}\nnumerator_takes = 'least'\neach = ['graph']\nabove = 0";
        assert_eq!(
            found(text),
            expected([("a against fifo", 0.471404521), ("a against pct", rounded(std::f64::consts::FRAC_1_SQRT_2))])
        );
        let text = "where = {graph = ['a'], placer = ['heft']}\nnumerator = {scheduler = ['fifo', 'pct']}\n\
                    denominator = {scheduler = ['pct', 'fifo']}\neach = ['graph']\nabove = 0";
        let all = [
            ("a fifo against fifo", 1.0),
            ("a fifo against pct", 1.5),
            ("a pct against fifo", 0.666666667),
            ("a pct against pct", 1.0),
        ];
        assert_eq!(found(text), expected(all));
        assert_eq!(found(&format!("{text}\npaired = true")), expected([all[1], all[2]]));
    }

    #[test]
    fn values_that_differ_by_rounding_alone_are_equal() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.placer == "random") {
            row.makespan = row.makespan.map(|makespan| makespan * 0.5 * (1.0 - 1e-14));
        }
        let claim = claim(
            "where = {graph = ['a']}\nnumerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph', 'scheduler']\nbelow = 1",
        );
        let groups = claim.groups(&Table::new(&rows).unwrap()).unwrap();
        assert!(groups.iter().all(|group| group.value == 1.0 && group.interval.is_none()), "{groups:?}");
        assert_eq!(claim.judge(&groups).outcome, ClaimOutcome::Fails);
    }

    #[test]
    fn some_repetition_is_enough_where_the_source_says_in_some_runs() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.graph == "a" && row.placer == "random" && row.repetition == 1) {
            row.makespan = row.makespan.map(|makespan| makespan / 3.0);
        }
        let table = Table::new(&rows).unwrap();
        let text = "where = {scheduler = ['pct']}\nnumerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\n\
                    each = ['graph']\nbelow = 1";
        let outcome = |claim: &Claim| claim.judge(&claim.groups(&table).unwrap()).outcome;
        assert_eq!(outcome(&claim(text)), ClaimOutcome::NotDecided);
        let some = claim(&format!("{text}\nrepetitions = 'some'"));
        assert_eq!(outcome(&some), ClaimOutcome::Holds);
        let labels: Vec<String> = some.groups(&table).unwrap().into_iter().map(|group| group.label).collect();
        assert_eq!(labels, ["a #0", "a #1"]);
        // The spread of random is 3 on a, that of heft 1.
        let spread = claim(&format!("{text}\nrepetitions = 'spread'")).groups(&table).unwrap();
        assert_eq!((spread[0].value, spread[0].samples), (3.0, 2));
        // Resamples have both draws of random, or one of them twice.
        assert_eq!(spread[0].interval, Some((1.0, 3.0)));
    }

    #[test]
    fn a_value_can_count_in_multiples_of_others_or_alone() {
        let text = "where = {placer = ['random'], scheduler = ['fifo']}\nrelative_to = {placer = ['heft']}\n\
                    numerator = {graph = ['a']}\nabove = 0";
        assert_eq!(found(text), expected([("", 2.0)]));
        let text =
            "numerator = {graph = ['a'], placer = ['random'], scheduler = ['pct']}\neach = ['cluster']\nabove = 0";
        assert_eq!(found(text), expected([("c", 0.02)]));
    }

    #[test]
    fn a_claim_of_correlation_is_checked_by_ranks() {
        let text = "where = {graph = ['a'], placer = ['heft', 'random']}\ncorrelates_with = 'traffic_bytes'\neach = ['graph']\nabove = 0.5";
        // Makespans 10, 15, 20, 30; traffic 0, 0, 3.5, 3.5: ranks 1 2 3 4 and 1.5 1.5 3.5 3.5.
        let groups = claim(text).groups(&table()).unwrap();
        assert_eq!((groups[0].value, groups[0].samples, groups[0].rows), (rounded(4.0 / 20f64.sqrt()), 4, 8));
        let none = Table::new(&rows()).unwrap().filter(lit(false)).unwrap();
        assert_eq!(claim(text).groups(&none).unwrap(), []);
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[9.0, 5.0, 2.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[4.0, 4.0, 4.0]), None);
    }

    #[test]
    fn the_interval_of_a_group_is_over_its_repetitions() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.repetition == 1) {
            // Random is 2.2 times as slow in the second repetition, 2 times in the first.
            let factor = if row.placer == "random" { 1.1 } else { 1.0 };
            row.makespan = row.makespan.map(|makespan| makespan * factor);
        }
        let text = "where = {graph = ['a'], scheduler = ['pct']}\nnumerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\n\
                    each = ['graph']\nbelow = 2";
        let groups = claim(text).groups(&Table::new(&rows).unwrap()).unwrap();
        assert_eq!(groups[0].value, rounded((2.0f64 * 2.2).sqrt()));
        assert_eq!(groups[0].interval, Some((2.0, 2.2)));
        assert_eq!(claim(text).judge(&groups).outcome, ClaimOutcome::Fails);
    }
}
