//! Claims of a paper as data, checked against the rows of a run.
//!
//! A claim compares a metric of two selections of rows, pair by pair: rows agree in the columns of `each` and in the
//! repetition, and differ in what `numerator` and `denominator` say. Each group of `each` gives one ratio, the geometric
//! mean over its repetitions; the claim holds if enough groups are on the right side of the limit.
//!
//! A claim that one metric follows another (`correlates_with`) needs no numerator and denominator: each group gives the
//! rank correlation of the two metrics over its cells.

use std::collections::BTreeMap;

use placebench_harness::table::Row;
use serde::Deserialize;

use crate::summary::geometric_mean;

/// The claims of one source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The suite whose rows they are checked against.
    pub suite: String,
    /// Full citation.
    pub source: String,
    /// The claims, in the order of the source.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// One claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The figure or section in the source.
    pub figure: String,
    /// What the source says.
    pub text: String,
    /// What explains it if the claim does not hold.
    #[serde(default)]
    pub why: Option<String>,
    /// The column that is compared.
    pub metric: Metric,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Selection,
    /// What makes a row the numerator.
    #[serde(default)]
    pub numerator: Selection,
    /// What makes a row the denominator.
    #[serde(default)]
    pub denominator: Selection,
    /// What several rows of one repetition in the numerator count for.
    #[serde(default)]
    pub numerator_takes: Taken,
    /// What several rows of one repetition in the denominator count for.
    #[serde(default)]
    pub denominator_takes: Taken,
    /// Instead of a ratio: the rank correlation of `metric` with this one over the cells of a group, each the mean over
    /// its repetitions.
    #[serde(default)]
    pub correlates_with: Option<Metric>,
    /// Columns in which the two rows agree; each combination gives one ratio.
    pub each: Vec<Column>,
    /// The ratio must be above this.
    #[serde(default)]
    pub above: Option<f64>,
    /// The ratio must be below this.
    #[serde(default)]
    pub below: Option<f64>,
    /// The share of ratios that must be within the limits: 1 unless the source says "almost".
    #[serde(default = "all")]
    pub share: f64,
}

fn all() -> f64 {
    1.0
}

/// What several rows on a side of a ratio count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// Their geometric mean.
    #[default]
    Mean,
    /// The least of them.
    Least,
    /// The most of them.
    Most,
}

impl Taken {
    fn of(self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => geometric_mean(values.iter().copied()),
            Self::Least => values.iter().copied().reduce(f64::min),
            Self::Most => values.iter().copied().reduce(f64::max),
        }
    }
}

/// Rows whose columns have one of the values given.
pub type Selection = BTreeMap<Column, Vec<String>>;

/// A column that identifies cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// The graph.
    Graph,
    /// The cluster.
    Cluster,
    /// The placer, without its parameters.
    Placer,
    /// The placer as the suite writes it, parameters included.
    PlacerSpec,
    /// The scheduler.
    Scheduler,
    /// The network model.
    Network,
}

/// A metric that claims compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// `makespan`.
    Makespan,
    /// `traffic_bytes`.
    TrafficBytes,
    /// `place_seconds`.
    PlaceSeconds,
    /// `utilization`.
    Utilization,
    /// `executable_mean`.
    ExecutableMean,
    /// `load_imbalance`.
    LoadImbalance,
    /// `devices_used`.
    DevicesUsed,
}

/// How a claim fared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Each group's label and its ratio (or correlation), in the order of labels.
    pub ratios: Vec<(String, f64)>,
    /// Mean of the ratios: geometric, of correlations arithmetic.
    pub mean: Option<f64>,
    /// Repetitions behind the ratios, summed; for a correlation, cells.
    pub pairs: usize,
    /// Ratios within the limits.
    pub within: usize,
    /// Whether it holds; `None` if there is nothing to compare.
    pub holds: Option<bool>,
}

/// The claims of `name`, if there are any.
pub fn claims_of(name: &str) -> Option<Result<Claims, String>> {
    let text = match name {
        "laich2017" => include_str!("../claims/laich2017.toml"),
        "bahnmueller2018" => include_str!("../claims/bahnmueller2018.toml"),
        _ => return None,
    };
    Some(toml::from_str(text).map_err(|error| error.message().to_owned()))
}

impl Claim {
    /// Checks the claim against rows; rows that are not `ok` do not count.
    pub fn check(&self, rows: &[Row]) -> Verdict {
        let mut verdict = match self.correlates_with {
            None => self.compare(rows),
            Some(other) => self.correlate(other, rows),
        };
        let within =
            |value: f64| self.above.is_none_or(|limit| value > limit) && self.below.is_none_or(|limit| value < limit);
        verdict.within = verdict.ratios.iter().filter(|(_, value)| within(*value)).count();
        if !verdict.ratios.is_empty() {
            verdict.holds = Some(verdict.within as f64 >= self.share * verdict.ratios.len() as f64);
        }
        verdict
    }

    fn compare(&self, rows: &[Row]) -> Verdict {
        let mut pairs: BTreeMap<Vec<String>, BTreeMap<u32, [Vec<f64>; 2]>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.is_ok() && matches(row, &self.only)) {
            let Some(value) = self.metric.of(row) else { continue };
            let key: Vec<String> = self.each.iter().map(|&column| column.of(row)).collect();
            for (side, selection) in [&self.numerator, &self.denominator].into_iter().enumerate() {
                if matches(row, selection) {
                    let sides = pairs.entry(key.clone()).or_default().entry(row.repetition).or_default();
                    sides[side].push(value);
                }
            }
        }
        let mut verdict = Verdict::default();
        for (key, repetitions) in pairs {
            let ratios: Vec<f64> = repetitions
                .values()
                .filter_map(|[a, b]| Some(self.numerator_takes.of(a)? / self.denominator_takes.of(b)?))
                .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
                .collect();
            verdict.pairs += ratios.len();
            if let Some(ratio) = geometric_mean(ratios.into_iter()) {
                verdict.ratios.push((key.join(" "), ratio));
            }
        }
        verdict.mean = geometric_mean(verdict.ratios.iter().map(|(_, ratio)| *ratio));
        verdict
    }

    fn correlate(&self, other: Metric, rows: &[Row]) -> Verdict {
        let mut groups: BTreeMap<Vec<String>, BTreeMap<Vec<String>, Sums>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.is_ok() && matches(row, &self.only)) {
            let (Some(value), Some(against)) = (self.metric.of(row), other.of(row)) else { continue };
            let key = self.each.iter().map(|&column| column.of(row)).collect();
            let cell = Column::ALL.into_iter().map(|column| column.of(row)).collect();
            let sums = groups.entry(key).or_default().entry(cell).or_default();
            *sums = Sums { value: sums.value + value, against: sums.against + against, count: sums.count + 1.0 };
        }
        let mut verdict = Verdict::default();
        for (key, cells) in groups {
            let values: Vec<f64> = cells.values().map(|sums| sums.value / sums.count).collect();
            let against: Vec<f64> = cells.values().map(|sums| sums.against / sums.count).collect();
            if let Some(correlation) = rank_correlation(&values, &against) {
                verdict.pairs += values.len();
                verdict.ratios.push((key.join(" "), correlation));
            }
        }
        if !verdict.ratios.is_empty() {
            let sum: f64 = verdict.ratios.iter().map(|(_, value)| value).sum();
            verdict.mean = Some(sum / verdict.ratios.len() as f64);
        }
        verdict
    }

    /// The limits in words.
    pub fn expectation(&self) -> String {
        let limits = match (self.above, self.below) {
            (Some(above), Some(below)) => format!("{above} to {below}"),
            (Some(above), None) => format!("> {above}"),
            (None, Some(below)) => format!("< {below}"),
            (None, None) => "any".to_owned(),
        };
        let limits = match self.correlates_with {
            None => limits,
            Some(_) => format!("correlation {limits}"),
        };
        if self.share < 1.0 { format!("{limits} in {:.0} %", self.share * 100.0) } else { limits }
    }
}

impl Verdict {
    /// `least – mean – most` of the ratios.
    pub fn range(&self) -> String {
        let values = || self.ratios.iter().map(|(_, ratio)| *ratio);
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(f64::NEG_INFINITY, f64::max);
        match self.mean {
            None => "-".to_owned(),
            Some(_) if self.ratios.len() == 1 => format!("{least:.2}"),
            Some(mean) => format!("{least:.2} – {mean:.2} – {most:.2}"),
        }
    }

    /// One word.
    pub fn word(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "cannot be tested",
        }
    }
}

/// All verdicts as a Markdown table, and below it the single ratios of each claim; with several network models, each
/// claim is checked under each of them, since makespans under different models do not compare.
pub fn claims_markdown(claims: &Claims, rows: &[Row]) -> String {
    let mut networks: Vec<&str> = Vec::new();
    for row in rows {
        if !networks.contains(&&*row.network) {
            networks.push(&row.network);
        }
    }
    let of_network = |network: &str| rows.iter().filter(|row| row.network == network).cloned().collect::<Vec<Row>>();
    let rows: Vec<(&str, Vec<Row>)> = networks.iter().map(|&network| (network, of_network(network))).collect();
    let mut table = String::from("| # | figure | claim | ratio expected |");
    for (network, _) in &rows {
        let under = if rows.len() > 1 { format!(", {network}") } else { String::new() };
        table.push_str(&format!(" ratio measured (least – mean – most){under} | within | verdict |"));
    }
    table.push_str(&format!("\n|---|---|---|---|{}\n", "---|---|---|".repeat(rows.len())));
    let mut details = String::new();
    for (number, claim) in claims.claims.iter().enumerate() {
        let number = number + 1;
        table.push_str(&format!("| {number} | {} | {} | {} |", claim.figure, claim.text, claim.expectation()));
        details.push_str(&format!("{number}."));
        let mut fails = false;
        for (network, rows) in &rows {
            let verdict = claim.check(rows);
            fails |= verdict.holds == Some(false);
            let (range, groups, word) = (verdict.range(), verdict.ratios.len(), verdict.word());
            table.push_str(&format!(" {range} | {}/{groups} | {word} |", verdict.within));
            let list: Vec<String> = verdict.ratios.iter().map(|(label, ratio)| format!("{label} {ratio:.2}")).collect();
            let under = if networks.len() > 1 { format!(" under {network}") } else { String::new() };
            details.push_str(&format!(" {word}{under}: {} pairs; {}.", verdict.pairs, list.join(", ")));
        }
        if let (true, Some(why)) = (fails, &claim.why) {
            details.push_str(&format!(" {why}"));
        }
        table.push('\n');
        details.push('\n');
    }
    let counts = rows.iter().map(|(network, rows)| {
        let verdicts: Vec<Verdict> = claims.claims.iter().map(|claim| claim.check(rows)).collect();
        let holds = verdicts.iter().filter(|verdict| verdict.holds == Some(true)).count();
        let under = if networks.len() > 1 { format!(" under {network}") } else { String::new() };
        format!("{holds} of {} claims hold{under}.", verdicts.len())
    });
    let counts = counts.collect::<Vec<_>>().join(" ");
    format!("{table}\n{counts}\n\n{details}")
}

/// Two metrics of a cell, summed over its repetitions.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    value: f64,
    against: f64,
    count: f64,
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

fn matches(row: &Row, selection: &Selection) -> bool {
    selection.iter().all(|(column, values)| values.contains(&column.of(row)))
}

impl Column {
    const ALL: [Self; 5] = [Self::Graph, Self::Cluster, Self::PlacerSpec, Self::Scheduler, Self::Network];

    fn of(self, row: &Row) -> String {
        match self {
            Self::Graph => row.graph.clone(),
            Self::Cluster => row.cluster.clone(),
            Self::Placer => row.placer.split('(').next().unwrap_or_default().to_owned(),
            Self::PlacerSpec => row.placer.clone(),
            Self::Scheduler => row.scheduler.clone(),
            Self::Network => row.network.clone(),
        }
    }
}

impl Metric {
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Self::Makespan => row.makespan,
            Self::TrafficBytes => row.traffic_bytes.map(|bytes| bytes as f64),
            Self::PlaceSeconds => row.place_seconds,
            Self::Utilization => row.utilization,
            Self::ExecutableMean => row.executable_mean,
            Self::LoadImbalance => row.load_imbalance,
            Self::DevicesUsed => row.devices_used.map(|devices| devices as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let verdict = claim.check(&rows());
        let labels: Vec<&str> = verdict.ratios.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["a fifo", "a pct", "b fifo", "b pct"]);
        // On b one of two repetitions failed.
        assert_eq!((verdict.pairs, verdict.within, verdict.holds), (6, 4, Some(true)));
        assert_eq!(verdict.range(), "2.00 – 2.00 – 2.00");
    }

    #[test]
    fn each_network_model_has_a_verdict_of_its_own() {
        let mut rows = rows();
        let mut slow: Vec<Row> = rows.clone();
        for row in &mut slow {
            row.network = "one_port".into();
            if row.placer == "random" {
                row.makespan = row.makespan.map(|makespan| 2.0 * makespan);
            }
        }
        rows.extend(slow);
        let text = "suite = 's'\nsource = 'x'\n[[claim]]\nfigure = '1'\ntext = 't'\nmetric = 'makespan'\n\
                    numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph']\nbelow = 3";
        let markdown = claims_markdown(&toml::from_str(text).unwrap(), &rows);
        assert!(markdown.contains("| 2.00 – 2.00 – 2.00 | 2/2 | holds | 4.00 – 4.00 – 4.00 | 0/2 | does not hold |"));
        assert!(markdown.contains("1 of 1 claims hold under contention_free. 0 of 1 claims hold under one_port."));
    }

    #[test]
    fn almost_all_is_a_share_and_nothing_to_compare_is_no_verdict() {
        let text = "numerator = {scheduler = ['fifo']}\ndenominator = {scheduler = ['pct']}\neach = ['graph', 'placer']\nabove = 1.5000001";
        assert_eq!(claim(text).check(&rows()).holds, Some(false));
        let text = "numerator = {placer = ['mite']}\ndenominator = {placer = ['heft']}\neach = ['graph']\nabove = 1";
        assert_eq!(claim(text).check(&rows()).word(), "cannot be tested");
    }

    #[test]
    fn the_claims_that_come_along_are_valid() {
        for source in ["laich2017", "bahnmueller2018"] {
            let claims = claims_of(source).unwrap().unwrap();
            assert_eq!(claims.suite, source);
            for claim in &claims.claims {
                assert!(claim.above.is_some() || claim.below.is_some(), "{}", claim.text);
                let compares = !claim.numerator.is_empty() && !claim.denominator.is_empty();
                assert!(compares != claim.correlates_with.is_some(), "{}", claim.text);
            }
        }
    }

    #[test]
    fn a_side_of_several_rows_can_count_by_its_least() {
        // The least of (random pct 0.020, random fifo 0.030) to the geometric mean of (heft pct 0.010, heft fifo 0.015).
        let text = "where = {graph = ['a']}\nnumerator = {placer = ['random']}\nnumerator_takes = 'least'\n\
                    denominator = {placer = ['heft']}\neach = ['graph']\nabove = 1";
        let verdict = claim(text).check(&rows());
        assert!((verdict.ratios[0].1 - 0.020 / (0.010f64 * 0.015).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_claim_of_correlation_is_checked_by_ranks() {
        let text = "where = {graph = ['a']}\ncorrelates_with = 'traffic_bytes'\neach = ['graph']\nabove = 0.5";
        // Makespans 10, 15, 20, 30; traffic 0, 0, 3.5, 3.5: ranks 1 2 3 4 and 1.5 1.5 3.5 3.5.
        let verdict = claim(text).check(&rows());
        assert!((verdict.ratios[0].1 - 4.0 / 20f64.sqrt()).abs() < 1e-12, "{verdict:?}");
        assert_eq!((verdict.pairs, verdict.word()), (4, "holds"));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[9.0, 5.0, 2.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[4.0, 4.0, 4.0]), None);
    }
}
