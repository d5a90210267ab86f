//! Condenses rows: repetitions to means, schedulers to the best one, placers to ratios.

use std::collections::BTreeMap;
use std::sync::Arc;

use placebench_harness::compare::statistics::geometric_mean;
use placebench_harness::results::{Metric, Scenario, Status, Table};
use placebench_harness::suite::ONLINE;
use polars::prelude::{PolarsResult, col};

use crate::marks::Marks;
use crate::optimality::Optimality;
use crate::scores::Scores;
use crate::tally::{Repeated, Tally};

/// A placer in a scenario with its best scheduler: means over the repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The scheduler with the least mean makespan; the first listed among equals.
    pub scheduler: String,
    /// Mean makespan.
    pub makespan: f64,
    /// Its unit.
    pub time_unit: String,
    /// Mean SLR, if every repetition has one.
    pub slr: Option<f64>,
    /// Mean gap to the lower bound, if every repetition has one.
    pub gap: Option<f64>,
    /// Mean traffic in bytes.
    pub traffic_bytes: f64,
    /// Mean seconds to place.
    pub place_seconds: f64,
    /// The busiest device's share of the busy time of all devices, if every repetition has it: mean over them.
    pub busiest_share: Option<f64>,
}

/// Results by placer and scenario, both in the order of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Scenarios, in the order of the rows.
    pub scenarios: Vec<Scenario>,
    /// What they are called: the graph, and whatever else differs between scenarios.
    pub labels: Vec<String>,
    /// Placers, in the order of the rows.
    pub placers: Vec<String>,
    /// Marks on placers whose authors assume what does not hold.
    pub marks: Marks,
    /// The placers with their parameters; the same where the suite gives no name for print.
    pub specs: Vec<String>,
    /// By placer, then by scenario; `None` where any repetition failed under every scheduler.
    pub entries: Vec<Vec<Option<Entry>>>,
    /// Schedulers compared over the placements on which all of them ran.
    pub schedulers: SchedulerComparison,
    /// Ratios to the proven optimum, if the rows have it.
    pub optimality: Option<Optimality>,
    /// Cells that are `ok`.
    pub ok: usize,
    /// Cells that are not, by status.
    pub failed: BTreeMap<String, usize>,
    /// The processors that the seconds come from, in the order of the rows.
    pub processors: Vec<String>,
}

/// Geometric means of makespan / least makespan of the same placement, by scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchedulerComparison {
    /// How many placements count.
    pub placements: usize,
    /// Scheduler and mean ratio, in the order of the rows. `static` and `online` are left out: they run only with some
    /// placers.
    pub ratios: Vec<(String, f64)>,
}

impl Summary {
    /// Condenses rows.
    ///
    /// # Errors
    /// If Polars refuses.
    ///
    /// # Complexity
    /// One pass over the rows, another over the processors, two more if optima are proven; memory for 12 bytes a row.
    pub fn new(table: &Table) -> PolarsResult<Self> {
        Ok(Self::with_scores(table)?.0)
    }

    /// The summary, and the scores that it is made of.
    pub(crate) fn with_scores(table: &Table) -> PolarsResult<(Self, Scores)> {
        let others = [Metric::Slr, Metric::Gap, Metric::TrafficBytes, Metric::PlaceSeconds, Metric::LoadImbalance];
        let mut tally = Tally::new(table, Metric::Makespan, &others)?;
        let mut failed = std::mem::take(&mut tally.statuses);
        let ok = failed.remove(Status::Ok.name()).unwrap_or_default();
        let scores = Scores::of(tally);
        let entry = |placer: usize, scenario: usize| {
            let best = scores.best(placer, scenario)?;
            Some(Entry {
                scheduler: best.scheduler.to_string(),
                makespan: best.mean()?,
                time_unit: scores.units[scenario].clone(),
                slr: best.other(0),
                gap: best.other(1),
                traffic_bytes: best.other(2)?,
                place_seconds: best.other(3)?,
                busiest_share: best.other(4).map(|imbalance| imbalance / f64::from(scores.devices[scenario])),
            })
        };
        let columns = 0..scores.scenarios.len();
        let entries: Vec<Vec<Option<Entry>>> = (0..scores.placers.len())
            .map(|placer| columns.clone().map(|scenario| entry(placer, scenario)).collect())
            .collect();
        let summary = Self {
            scenarios: scores.scenarios.clone(),
            labels: scores.labels.clone(),
            placers: scores.placers.clone(),
            marks: scores.marks.clone(),
            specs: scores.specs.clone(),
            entries,
            schedulers: compare_schedulers(&scores),
            optimality: Optimality::new(table, &scores)?,
            ok,
            failed,
            processors: table.distinct_values(col("processor"))?,
        };
        Ok((summary, scores))
    }

    /// The least mean makespan of a scenario.
    pub fn best(&self, scenario: usize) -> Option<(usize, &Entry)> {
        let candidates =
            self.entries.iter().enumerate().filter_map(|(placer, row)| Some((placer, row[scenario].as_ref()?)));
        candidates.min_by(|a, b| a.1.makespan.total_cmp(&b.1.makespan))
    }

    /// Makespan of a placer relative to the best of the scenario. Makespans that differ by less than a relative 10⁻⁹ are
    /// equal: simulations that add the same times in another order differ by rounding.
    pub fn ratio(&self, placer: usize, scenario: usize) -> Option<f64> {
        let best = self.best(scenario)?.1.makespan;
        let own = self.entries[placer][scenario].as_ref()?.makespan;
        Some(if own <= best * (1.0 + 1e-9) { 1.0 } else { own / best })
    }

    /// The placers with the best makespan of the scenario: several where they tie.
    pub fn winners(&self, scenario: usize) -> Vec<usize> {
        (0..self.placers.len()).filter(|&placer| self.ratio(placer, scenario) == Some(1.0)).collect()
    }

    /// Scenarios in which every placer has a result: the intersection over which means are comparable.
    pub fn common_scenarios(&self) -> Vec<usize> {
        (0..self.scenarios.len()).filter(|&column| self.entries.iter().all(|row| row[column].is_some())).collect()
    }

    /// Geometric mean of a placer's ratios over [`Summary::common_scenarios`].
    pub fn mean_ratio(&self, placer: usize) -> Option<f64> {
        geometric_mean(self.common_scenarios().into_iter().filter_map(|column| self.ratio(placer, column)))
    }

    /// The placers, the best first: those with the fewest failures, among them by the mean that is shown, among equals in
    /// the order of the rows. Where no scenario is finished by all, by the geometric mean of their own ratios. Tables, the
    /// report and JSON list them so.
    pub fn order(&self) -> Vec<usize> {
        let standing = |placer: usize| {
            let ratios: Vec<f64> = (0..self.scenarios.len()).filter_map(|column| self.ratio(placer, column)).collect();
            let failures = self.scenarios.len() - ratios.len();
            let mean = self.mean_ratio(placer).or_else(|| geometric_mean(ratios));
            (failures, mean.unwrap_or(f64::INFINITY))
        };
        let standings: Vec<(usize, f64)> = (0..self.placers.len()).map(standing).collect();
        let mut order: Vec<usize> = (0..self.placers.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (standings[a], standings[b]);
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        order
    }

    /// The label of a scenario: the graph, and whatever else differs between scenarios.
    pub fn label(&self, scenario: usize) -> &str {
        &self.labels[scenario]
    }
}

/// Over the placements on which all schedulers have a makespan above 0.
fn compare_schedulers(scores: &Scores) -> SchedulerComparison {
    let compares = |name: &str| name != "static" && name != ONLINE;
    let schedulers: Vec<&Arc<str>> = scores.schedulers.iter().filter(|name| compares(name)).collect();
    let mut logarithms = vec![0.0; schedulers.len()];
    let mut placements = 0usize;
    for cells in &scores.cells {
        let mut by_placer: BTreeMap<&str, Vec<Option<&Repeated>>> = BTreeMap::new();
        for cell in cells {
            let own = by_placer.entry(&cell.placer).or_insert_with(|| vec![None; schedulers.len()]);
            if let Some(at) = schedulers.iter().position(|name| **name == cell.scheduler) {
                own[at] = Some(cell);
            }
        }
        for own in by_placer.into_values() {
            let Some(own) = own.into_iter().collect::<Option<Vec<&Repeated>>>() else { continue };
            let Some(first) = own.first() else { continue };
            for (place, (repetition, _)) in first.results().enumerate() {
                let makespan = |cell: &&Repeated| cell.result(repetition, place).filter(|&makespan| makespan > 0.0);
                let Some(makespans) = own.iter().map(makespan).collect::<Option<Vec<f64>>>() else { continue };
                let least = makespans.iter().copied().fold(f64::INFINITY, f64::min);
                logarithms.iter_mut().zip(makespans).for_each(|(sum, own)| *sum += (own / least).ln());
                placements += 1;
            }
        }
    }
    let mean = |(name, sum): (&Arc<str>, f64)| (name.to_string(), (sum / placements as f64).exp());
    let ratios = match placements {
        0 => Vec::new(),
        _ => schedulers.into_iter().zip(logarithms).map(mean).collect(),
    };
    SchedulerComparison { placements, ratios }
}

#[cfg(test)]
pub(crate) mod tests {
    use placebench_harness::results::Row;

    use super::*;

    /// The table of [`rows`].
    pub(crate) fn table() -> Table {
        Table::new(&rows()).unwrap()
    }

    pub(crate) fn summary_of(rows: &[Row]) -> Summary {
        Summary::new(&Table::new(rows).unwrap()).unwrap()
    }

    /// Two graphs, two placers, two schedulers, two repetitions; on `b` random fails once.
    pub(crate) fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for (graph, base) in [("a", 0.010), ("b", 4.0)] {
            for (placer, factor) in [("heft", 1.0), ("random", 2.0)] {
                for (scheduler, slow) in [("pct", 1.0), ("fifo", 1.5)] {
                    for repetition in 0..2 {
                        let failed = graph == "b" && placer == "random" && repetition == 1;
                        rows.push(Row {
                            graph: graph.into(),
                            cluster: "c".into(),
                            time_unit: "seconds".into(),
                            network: "contention_free".into(),
                            placer: placer.into(),
                            scheduler: scheduler.into(),
                            repetition,
                            status: if failed { "infeasible" } else { "ok" }.into(),
                            error: failed.then(|| "no feasible device".into()),
                            makespan: (!failed).then_some(base * factor * slow),
                            slr: (!failed).then_some(factor * slow * 2.0),
                            gap: (!failed).then_some(factor * slow),
                            traffic_bytes: (!failed).then_some(if placer == "heft" { 0 } else { 3_500_000 }),
                            place_seconds: (!failed).then_some(0.25),
                            devices: 2,
                            load_imbalance: (!failed).then_some(if placer == "heft" { 2.0 } else { 1.5 }),
                            ..Row::default()
                        });
                    }
                }
            }
        }
        rows
    }

    #[test]
    fn placers_stand_by_the_mean_that_is_shown() {
        let row = |graph: &str, placer: &str, makespan: Option<f64>| Row {
            graph: graph.into(),
            cluster: "c".into(),
            network: "contention_free".into(),
            placer: placer.into(),
            scheduler: "pct".into(),
            status: if makespan.is_some() { "ok" } else { "error" }.into(),
            makespan,
            traffic_bytes: makespan.map(|_| 0),
            place_seconds: makespan.map(|_| 0.25),
            ..Row::default()
        };
        // On both graphs x has the better mean, on the one that all finish y has.
        let rows = [("a", "x", 1.1), ("b", "x", 1.0), ("a", "y", 1.0), ("b", "y", 1.5), ("a", "z", 0.5)];
        let mut rows: Vec<Row> =
            rows.into_iter().map(|(graph, placer, makespan)| row(graph, placer, Some(makespan))).collect();
        rows.push(row("b", "z", None));
        let summary = summary_of(&rows);
        let shown = |placer: usize| format!("{:.2}", summary.mean_ratio(placer).unwrap());
        assert_eq!(summary.order().into_iter().map(shown).collect::<Vec<_>>(), ["2.00", "2.20", "1.00"]);
    }

    #[test]
    fn what_is_said_of_parts_is_what_is_said_of_the_whole_table() {
        let (whole, parts) = (table(), table().in_parts_of(1));
        assert_eq!(parts.parts().count(), 2);
        assert_eq!(Summary::new(&parts).unwrap(), Summary::new(&whole).unwrap());
        let profiles = |table: &Table| crate::Profiles::new(table, Metric::Makespan).unwrap();
        assert_eq!(profiles(&parts), profiles(&whole));
        assert_eq!(crate::failures_table(&parts).unwrap(), crate::failures_table(&whole).unwrap());
        let table_of = |table: &Table| crate::MetricTable::new(table, Metric::TrafficBytes).unwrap();
        assert_eq!(table_of(&parts), table_of(&whole));
        for kind in crate::FigureKind::all() {
            let of = |table: &Table| {
                let figures = kind.of_rows(table, Metric::Makespan).unwrap();
                figures.iter().map(|figure| figure.figure.table().to_csv()).collect::<Vec<_>>()
            };
            assert_eq!(of(&parts), of(&whole), "{}", kind.name());
        }
    }

    #[test]
    fn each_placer_is_judged_by_its_best_scheduler_and_failures_leave_holes() {
        let summary = summary_of(&rows());
        assert_eq!(summary.placers, ["heft", "random"]);
        assert_eq!(summary.entries[1][0].as_ref().unwrap().scheduler, "pct");
        assert_eq!(summary.ratio(1, 0), Some(2.0));
        assert_eq!(summary.entries[1][1], None);
        assert_eq!(summary.common_scenarios(), [0]);
        assert_eq!((summary.ok, summary.failed["infeasible"]), (14, 2));
    }

    #[test]
    fn schedulers_compare_over_the_placements_that_all_of_them_finished() {
        let comparison = summary_of(&rows()).schedulers;
        assert_eq!(comparison.placements, 7);
        assert_eq!(comparison.ratios[0].0, "pct");
        assert!((comparison.ratios[0].1 - 1.0).abs() < 1e-12 && (comparison.ratios[1].1 - 1.5).abs() < 1e-12);
    }

    #[test]
    fn placers_that_decide_online_are_ranked_but_their_rows_compare_no_schedulers() {
        let mut rows = rows();
        let online = |row: &Row| Row { placer: "cats".into(), scheduler: ONLINE.into(), ..row.clone() };
        rows.push(online(&rows[0]));
        let summary = summary_of(&rows);
        assert_eq!(summary.entries[2][0].as_ref().unwrap().scheduler, ONLINE);
        assert_eq!(summary.schedulers, summary_of(&rows[..rows.len() - 1]).schedulers);
    }
}
