//! Condenses rows: repetitions to means, schedulers to the best one, placers to ratios.

use std::collections::BTreeMap;

use placebench_harness::compare::statistics::geometric_mean;
use placebench_harness::results::{CellKey, Row, Scenario};
use placebench_harness::suite::ONLINE;

use crate::Optimality;

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
}

/// Results by placer and scenario, both in the order of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Scenarios, in the order of the rows.
    pub scenarios: Vec<Scenario>,
    /// Placers, in the order of the rows.
    pub placers: Vec<String>,
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
    pub fn new(rows: &[Row]) -> Self {
        let scenarios = distinct(rows.iter().map(|row| row.key().scenario()));
        let placers = distinct(rows.iter().map(|row| row.placer.clone()));
        let mut cells: BTreeMap<(usize, usize), Vec<&Row>> = BTreeMap::new();
        for row in rows {
            let at = |list: &[String], item: &String| list.iter().position(|known| known == item).unwrap_or_default();
            let column = scenarios.iter().position(|known| *known == row.key().scenario()).unwrap_or_default();
            cells.entry((at(&placers, &row.placer), column)).or_default().push(row);
        }
        let mut entries = vec![vec![None; scenarios.len()]; placers.len()];
        for ((placer, column), rows) in &cells {
            entries[*placer][*column] = best_entry(rows);
        }
        let mut failed = BTreeMap::new();
        for row in rows.iter().filter(|row| !row.is_ok()) {
            *failed.entry(row.status.clone()).or_default() += 1;
        }
        let ok = rows.iter().filter(|row| row.is_ok()).count();
        let optimality = Optimality::new(rows, &scenarios, &placers, &entries);
        Self { scenarios, placers, entries, schedulers: compare_schedulers(rows), optimality, ok, failed }
    }

    /// The least mean makespan of a scenario.
    pub fn best(&self, scenario: usize) -> Option<(usize, &Entry)> {
        let candidates =
            self.entries.iter().enumerate().filter_map(|(placer, row)| Some((placer, row[scenario].as_ref()?)));
        candidates.min_by(|a, b| a.1.makespan.total_cmp(&b.1.makespan))
    }

    /// Makespan of a placer relative to the best of the scenario.
    pub fn ratio(&self, placer: usize, scenario: usize) -> Option<f64> {
        let best = self.best(scenario)?.1.makespan;
        let own = self.entries[placer][scenario].as_ref()?.makespan;
        Some(if own == best { 1.0 } else { own / best })
    }

    /// Scenarios in which every placer has a result: the intersection over which means are comparable.
    pub fn common_scenarios(&self) -> Vec<usize> {
        (0..self.scenarios.len()).filter(|&column| self.entries.iter().all(|row| row[column].is_some())).collect()
    }

    /// Geometric mean of a placer's ratios over [`Summary::common_scenarios`].
    pub fn mean_ratio(&self, placer: usize) -> Option<f64> {
        geometric_mean(self.common_scenarios().into_iter().filter_map(|column| self.ratio(placer, column)))
    }

    /// The label of a scenario: the graph, and whatever else differs between scenarios.
    pub fn label(&self, scenario: usize) -> String {
        let Scenario { graph, cluster, network } = &self.scenarios[scenario];
        let mut label = graph.clone();
        if self.scenarios.iter().any(|other| other.cluster != *cluster) {
            label = format!("{label}@{cluster}");
        }
        if self.scenarios.iter().any(|other| other.network != *network) {
            label = format!("{label}/{network}");
        }
        label
    }
}

pub(crate) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

fn best_entry(rows: &[&Row]) -> Option<Entry> {
    let schedulers = distinct(rows.iter().map(|row| row.scheduler.clone()));
    let entries = schedulers.into_iter().filter_map(|scheduler| {
        let own: Vec<&&Row> = rows.iter().filter(|row| row.scheduler == scheduler).collect();
        if own.iter().any(|row| !row.is_ok()) {
            return None;
        }
        let mean = |value: fn(&Row) -> Option<f64>| {
            let values: Option<Vec<f64>> = own.iter().map(|row| value(row)).collect();
            values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        Some(Entry {
            makespan: mean(|row| row.makespan)?,
            time_unit: own.first()?.time_unit.clone(),
            slr: mean(|row| row.slr),
            gap: mean(|row| row.gap),
            traffic_bytes: mean(|row| row.traffic_bytes.map(|bytes| bytes as f64))?,
            place_seconds: mean(|row| row.place_seconds)?,
            scheduler,
        })
    });
    entries.reduce(|best, next| if next.makespan < best.makespan { next } else { best })
}

fn compare_schedulers(rows: &[Row]) -> SchedulerComparison {
    let compares = |name: &String| name != "static" && name != ONLINE;
    let schedulers: Vec<String> =
        distinct(rows.iter().map(|row| row.scheduler.clone())).into_iter().filter(compares).collect();
    let mut placements: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_ok()) {
        let placement = CellKey { scheduler: String::new(), ..row.key() };
        placements.entry(placement).or_default().push(row);
    }
    let complete: Vec<Vec<f64>> = placements
        .values()
        .filter_map(|rows| {
            let makespan =
                |name: &String| rows.iter().find(|row| row.scheduler == *name)?.makespan.filter(|&m| m > 0.0);
            schedulers.iter().map(makespan).collect()
        })
        .collect();
    let ratios = schedulers.iter().enumerate().filter_map(|(column, name)| {
        let ratio = |makespans: &Vec<f64>| makespans[column] / makespans.iter().copied().fold(f64::INFINITY, f64::min);
        Some((name.clone(), geometric_mean(complete.iter().map(ratio))?))
    });
    SchedulerComparison { placements: complete.len(), ratios: ratios.collect() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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
                            ..Row::default()
                        });
                    }
                }
            }
        }
        rows
    }

    #[test]
    fn each_placer_is_judged_by_its_best_scheduler_and_failures_leave_holes() {
        let summary = Summary::new(&rows());
        assert_eq!(summary.placers, ["heft", "random"]);
        assert_eq!(summary.entries[1][0].as_ref().unwrap().scheduler, "pct");
        assert_eq!(summary.ratio(1, 0), Some(2.0));
        assert_eq!(summary.entries[1][1], None);
        assert_eq!(summary.common_scenarios(), [0]);
        assert_eq!((summary.ok, summary.failed["infeasible"]), (14, 2));
    }

    #[test]
    fn schedulers_compare_over_the_placements_that_all_of_them_finished() {
        let comparison = Summary::new(&rows()).schedulers;
        assert_eq!(comparison.placements, 7);
        assert_eq!(comparison.ratios[0].0, "pct");
        assert!((comparison.ratios[0].1 - 1.0).abs() < 1e-12 && (comparison.ratios[1].1 - 1.5).abs() < 1e-12);
    }

    #[test]
    fn placers_that_decide_online_are_ranked_but_their_rows_compare_no_schedulers() {
        let mut rows = rows();
        let online = |row: &Row| Row { placer: "cats".into(), scheduler: ONLINE.into(), ..row.clone() };
        rows.push(online(&rows[0]));
        let summary = Summary::new(&rows);
        assert_eq!(summary.entries[2][0].as_ref().unwrap().scheduler, ONLINE);
        assert_eq!(summary.schedulers, Summary::new(&rows[..rows.len() - 1]).schedulers);
    }
}
