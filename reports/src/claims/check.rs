//! Checks a claim against the rows of a run.

use std::collections::BTreeMap;

use placebench_harness::results::{Metric, Row};

use super::{Claim, bootstrap};
use crate::query::{Column, Results, matches};

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Enough ratios are within the limits.
    Holds,
    /// They are not.
    Fails,
    /// Nothing can be said, for this reason.
    CannotBeTested(String),
}

impl Outcome {
    /// The verdict in words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::CannotBeTested(_) => "cannot be tested",
        }
    }
}

/// How a claim fared.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Each group's label and its ratio (or correlation), in the order of labels.
    pub ratios: Vec<(String, f64)>,
    /// Mean of the ratios: geometric, of correlations arithmetic.
    pub mean: Option<f64>,
    /// The 95 % confidence interval of the mean, by bootstrap: over the repetitions of each group (of a correlation, over
    /// its cells), or over the groups if each has one.
    pub interval: Option<(f64, f64)>,
    /// Rows that were compared.
    pub runs: usize,
    /// Repetitions behind the ratios, summed; for a correlation, cells.
    pub pairs: usize,
    /// Ratios within the limits.
    pub within: usize,
    /// The verdict.
    pub outcome: Outcome,
}

impl Claim {
    /// Checks the claim; rows that are not `ok` do not count.
    ///
    /// # Complexity
    /// O(rows + pairs) a resample, of which there are 1000.
    pub fn check(&self, results: &Results) -> Verdict {
        let Some(metric) = self.metric else {
            let reason = self.cannot_be_tested.clone().unwrap_or_else(|| "the claim names no metric".to_owned());
            return Groups::<f64>::default().verdict(self, |_| None, Outcome::CannotBeTested(reason));
        };
        let nothing = Outcome::CannotBeTested("the run has no rows to compare".to_owned());
        match self.correlates_with {
            None => {
                let mean = |logs: &[f64]| Some(logs.iter().sum::<f64>() / logs.len() as f64);
                let mut verdict = self.ratios(metric, results).verdict(self, mean, nothing);
                // Means of logarithms so far.
                verdict.mean = verdict.mean.map(f64::exp);
                verdict.interval = verdict.interval.map(|(low, high)| (low.exp(), high.exp()));
                verdict.ratios.iter_mut().for_each(|(_, ratio)| *ratio = ratio.exp());
                self.judge(verdict)
            }
            Some(other) => {
                let correlation = |cells: &[(f64, f64)]| {
                    let (a, b): (Vec<f64>, Vec<f64>) = cells.iter().copied().unzip();
                    rank_correlation(&a, &b)
                };
                self.judge(self.cells(metric, other, results).verdict(self, correlation, nothing))
            }
        }
    }

    fn judge(&self, mut verdict: Verdict) -> Verdict {
        let within =
            |value: f64| self.above.is_none_or(|limit| value > limit) && self.below.is_none_or(|limit| value < limit);
        verdict.within = verdict.ratios.iter().filter(|(_, value)| within(*value)).count();
        if let Some(mean) = verdict.mean {
            let enough = match self.on_average {
                true => within(mean),
                false => verdict.within as f64 >= self.share * verdict.ratios.len() as f64,
            };
            verdict.outcome = if enough { Outcome::Holds } else { Outcome::Fails };
        }
        verdict
    }

    fn key(&self, row: &Row) -> String {
        self.each.iter().map(|&column| column.of(row)).collect::<Vec<_>>().join(" ")
    }

    /// For each group the logarithms of its ratios, one a repetition.
    fn ratios(&self, metric: Metric, results: &Results) -> Groups<f64> {
        let mut pairs: BTreeMap<String, BTreeMap<u32, [Vec<f64>; 2]>> = BTreeMap::new();
        for row in results.select(&self.only) {
            let Some(value) = results.value(metric, row) else { continue };
            for (side, selection) in [&self.numerator, &self.denominator].into_iter().enumerate() {
                if matches(row, selection) {
                    let sides = pairs.entry(self.key(row)).or_default().entry(row.repetition).or_default();
                    sides[side].push(value);
                }
            }
        }
        let mut groups = Groups::default();
        for (key, repetitions) in pairs {
            let mut logs = Vec::new();
            for [a, b] in repetitions.values() {
                let sides = (self.numerator_takes.of(a), self.denominator_takes.of(b));
                let (Some(numerator), Some(denominator)) = sides else { continue };
                let ratio = numerator / denominator;
                if ratio.is_finite() && ratio > 0.0 {
                    logs.push(ratio.ln());
                    groups.runs += a.len() + b.len();
                }
            }
            groups.push(key, logs);
        }
        groups
    }

    /// For each group the two metrics of its cells, each the mean over the cell's repetitions.
    fn cells(&self, metric: Metric, other: Metric, results: &Results) -> Groups<(f64, f64)> {
        let mut groups: BTreeMap<String, BTreeMap<Vec<String>, Sums>> = BTreeMap::new();
        for row in results.select(&self.only) {
            let (Some(value), Some(against)) = (results.value(metric, row), results.value(other, row)) else {
                continue;
            };
            let cell = Column::ALL.into_iter().map(|column| column.of(row)).collect();
            let sums = groups.entry(self.key(row)).or_default().entry(cell).or_default();
            *sums = Sums { value: sums.value + value, against: sums.against + against, count: sums.count + 1 };
        }
        let mut found = Groups::default();
        for (key, cells) in groups {
            found.runs += cells.values().map(|sums| sums.count).sum::<usize>();
            let mean = |sums: &Sums| (sums.value / sums.count as f64, sums.against / sums.count as f64);
            found.push(key, cells.values().map(mean).collect());
        }
        found
    }
}

/// Samples by group.
struct Groups<T> {
    labels: Vec<String>,
    samples: Vec<Vec<T>>,
    runs: usize,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self { labels: Vec::new(), samples: Vec::new(), runs: 0 }
    }
}

impl<T: Clone> Groups<T> {
    fn push(&mut self, label: String, samples: Vec<T>) {
        if !samples.is_empty() {
            self.labels.push(label);
            self.samples.push(samples);
        }
    }

    /// The value of each group, their mean and its interval; groups without a value do not count.
    fn verdict(self, claim: &Claim, value: impl Fn(&[T]) -> Option<f64>, outcome: Outcome) -> Verdict {
        debug_assert!(claim.metric.is_some() || self.samples.is_empty());
        let (mut ratios, mut samples) = (Vec::new(), Vec::new());
        for (label, group) in self.labels.into_iter().zip(self.samples) {
            if let Some(value) = value(&group) {
                ratios.push((label, value));
                samples.push(group);
            }
        }
        let mean = |groups: &[Vec<T>]| {
            let values: Vec<f64> = groups.iter().filter_map(|group| value(group)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Verdict {
            mean: mean(&samples),
            interval: bootstrap::interval(&samples, mean),
            runs: self.runs,
            pairs: samples.iter().map(Vec::len).sum(),
            ratios,
            within: 0,
            outcome,
        }
    }
}

/// Two metrics of a cell, summed over its repetitions.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    value: f64,
    against: f64,
    count: usize,
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
    use crate::claims::Claims;
    use crate::summary::tests::rows;

    fn claim(text: &str) -> Claim {
        let claims =
            format!("suite = 's'\nsource = 'x'\n[[claim]]\nfigure = '1'\ntext = 't'\nmetric = 'makespan'\n{text}");
        toml::from_str::<Claims>(&claims).unwrap().claims.remove(0)
    }

    #[test]
    fn ratios_are_paired_by_repetition_and_failures_do_not_count() {
        let claim = claim(
            "numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph', 'scheduler']\nabove = 1.9\nbelow = 2.1",
        );
        let verdict = claim.check(&rows().into());
        let labels: Vec<&str> = verdict.ratios.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["a fifo", "a pct", "b fifo", "b pct"]);
        // On b one of two repetitions failed.
        assert_eq!((verdict.pairs, verdict.within, verdict.runs), (6, 4, 12));
        assert_eq!((verdict.outcome.clone(), verdict.range().as_str()), (Outcome::Holds, "2.00 – 2.00 – 2.00"));
    }

    #[test]
    fn almost_all_is_a_share_and_nothing_to_compare_is_no_verdict() {
        let text = "numerator = {scheduler = ['fifo']}\ndenominator = {scheduler = ['pct']}\neach = ['graph', 'placer']\nabove = 1.5000001";
        assert_eq!(claim(text).check(&rows().into()).outcome, Outcome::Fails);
        let text = "numerator = {placer = ['mite']}\ndenominator = {placer = ['heft']}\neach = ['graph']\nabove = 1";
        assert_eq!(claim(text).check(&rows().into()).outcome.words(), "cannot be tested");
    }

    #[test]
    fn a_side_of_several_rows_can_count_by_its_least() {
        // The least of (random pct 0.020, random fifo 0.030) to the geometric mean of (heft pct 0.010, heft fifo 0.015).
        let text = "where = {graph = ['a']}\nnumerator = {placer = ['random']}\nnumerator_takes = 'least'\n\
                    denominator = {placer = ['heft']}\neach = ['graph']\nabove = 1";
        let verdict = claim(text).check(&rows().into());
        assert!((verdict.ratios[0].1 - 0.020 / (0.010f64 * 0.015).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_claim_of_correlation_is_checked_by_ranks() {
        let text = "where = {graph = ['a']}\ncorrelates_with = 'traffic_bytes'\neach = ['graph']\nabove = 0.5";
        // Makespans 10, 15, 20, 30; traffic 0, 0, 3.5, 3.5: ranks 1 2 3 4 and 1.5 1.5 3.5 3.5.
        let verdict = claim(text).check(&rows().into());
        assert!((verdict.ratios[0].1 - 4.0 / 20f64.sqrt()).abs() < 1e-12, "{verdict:?}");
        assert_eq!((verdict.pairs, verdict.outcome.words()), (4, "holds"));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[9.0, 5.0, 2.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[4.0, 4.0, 4.0]), None);
    }

    #[test]
    fn a_claim_about_what_is_not_measured_says_why_it_cannot_be_tested() {
        let text = "suite = 's'\nsource = 'x'\n[[claim]]\nfigure = '9'\ntext = 't'\ncannot_be_tested = 'no accuracy'";
        let verdict = toml::from_str::<Claims>(text).unwrap().claims[0].check(&rows().into());
        assert_eq!(verdict.outcome, Outcome::CannotBeTested("no accuracy".into()));
        assert_eq!((verdict.mean, verdict.interval, verdict.runs), (None, None, 0));
    }

    #[test]
    fn a_claim_that_is_wrong_fails_and_its_interval_holds_the_mean() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.repetition == 1) {
            // Random is 2.2 times as slow in the second repetition, 2 times in the first.
            let factor = if row.placer == "random" { 1.1 } else { 1.0 };
            row.makespan = row.makespan.map(|makespan| makespan * factor);
        }
        let text = "where = {graph = ['a']}\nnumerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\n\
                    each = ['graph', 'scheduler']\nbelow = 2";
        let verdict = claim(text).check(&rows.into());
        assert_eq!((verdict.outcome, verdict.runs), (Outcome::Fails, 8));
        let (low, high) = verdict.interval.unwrap();
        let mean = verdict.mean.unwrap();
        assert!((mean - (2.0f64 * 2.2).sqrt()).abs() < 1e-12);
        assert!((low - 2.0).abs() < 1e-9 && low < mean && mean < high && (high - 2.2).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn a_claim_about_the_average_asks_for_the_mean_alone() {
        // Ratios of 2 on a and, with a third of the time, of 6 on b: 3.46 on average.
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.graph == "b" && row.placer == "heft") {
            row.makespan = row.makespan.map(|makespan| makespan / 3.0);
        }
        let text = "numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph']\nabove = 3\nbelow = 4";
        assert_eq!(claim(text).check(&rows.clone().into()).outcome, Outcome::Fails);
        let verdict = claim(&format!("{text}\non_average = true")).check(&rows.into());
        assert_eq!((verdict.outcome, verdict.within), (Outcome::Holds, 0));
    }
}
