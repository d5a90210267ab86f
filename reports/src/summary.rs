//! What a run says of its placers: the grid in the numbers that tables, findings and pages show.

use std::collections::BTreeMap;

use placebench_harness::results::grid::{Candidates, DROP_FAILING, Grid, GridError, InstanceKey, Standings};
use placebench_harness::results::{Metric, Status, Table};
use polars::prelude::col;

use crate::marks::Marks;
use crate::optimality::Optimality;

/// A placer on an instance with its best scheduler: means over the draws.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryEntry {
    /// The scheduler of the least mean; the first listed of equals.
    pub scheduler: String,
    /// Mean of [`Summary::metric`].
    pub value: f64,
    /// Its unit.
    pub time_unit: String,
    /// Mean SLR, if every draw has one.
    pub slr: Option<f64>,
    /// Mean gap to the lower bound on the metric, if every draw has one.
    pub gap: Option<f64>,
    /// Mean traffic in bytes, if every draw has it.
    pub traffic_bytes: Option<f64>,
    /// Mean seconds to place, if every draw has them.
    pub place_seconds: Option<f64>,
    /// The busiest device's share of the busy time of all devices, if every draw has it.
    pub busiest_share: Option<f64>,
}

/// Results by placer and instance, both in the order of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// What the cells were placed for, and what they are judged by here: see [`Table::goal`].
    pub metric: Metric,
    /// The instances.
    pub instances: Vec<InstanceKey>,
    /// What they are called: the graph, and whatever else differs among them.
    pub labels: Vec<String>,
    /// The placers.
    pub placers: Vec<String>,
    /// Marks on placers whose authors assume what does not hold.
    pub marks: Marks,
    /// The placers with their parameters; the same where the suite gives no name for print.
    pub specs: Vec<String>,
    /// By placer, then by instance; `None` where the placer has no value.
    pub entries: Vec<Vec<Option<SummaryEntry>>>,
    /// How the placers stand.
    pub standings: Standings,
    /// Schedulers compared over the placements that all of them finish.
    pub schedulers: SchedulerComparison,
    /// Ratios to the proven optimum, if the rows have it.
    pub optimality: Option<Optimality>,
    /// Rows that are `ok`.
    pub ok: usize,
    /// Rows that are not, by status.
    pub failed: BTreeMap<String, usize>,
    /// The processors that the seconds come from, in the order of the rows.
    pub processors: Vec<String>,
}

/// Geometric means of makespan / least makespan of the same placement, by scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchedulerComparison {
    /// How many placements count.
    pub placements: usize,
    /// Scheduler and mean ratio, in the order of the rows. `static`, `online` and `chosen` are left out: they run
    /// only with some placers.
    pub ratios: Vec<(String, f64)>,
}

impl Summary {
    /// Condenses rows.
    ///
    /// # Errors
    /// If a cell is in the table twice, or Polars refuses.
    ///
    /// # Complexity
    /// That of the grid, one pass over the processors, one more if optima are proven.
    pub fn new(table: &Table) -> Result<Self, GridError> {
        Ok(Self::with_grid(table)?.0)
    }

    /// The summary, and the grid that it is made of.
    pub(crate) fn with_grid(table: &Table) -> Result<(Self, Grid), GridError> {
        let metric = table.goal()?;
        let gap = if metric == Metric::Period { Metric::PeriodGap } else { Metric::Gap };
        let others = [Metric::Slr, gap, Metric::TrafficBytes, Metric::PlaceSeconds, Metric::LoadImbalance];
        let grid = Grid::new(table, metric, &others)?;
        let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
        let mut failed = grid.statuses.clone();
        let ok = failed.remove(Status::Ok.name()).unwrap_or_default();
        let entry = |placer: usize, instance: usize| {
            let best = standings.cell(&grid, placer, instance)?;
            let here = &grid.instances[instance];
            Some(SummaryEntry {
                scheduler: grid.schedulers[best.scheduler as usize].clone(),
                value: best.mean()?,
                time_unit: here.time_unit.clone(),
                slr: grid.other(best, Metric::Slr),
                gap: grid.other(best, gap),
                traffic_bytes: grid.other(best, Metric::TrafficBytes),
                place_seconds: grid.other(best, Metric::PlaceSeconds),
                busiest_share: grid
                    .other(best, Metric::LoadImbalance)
                    .map(|imbalance| imbalance / f64::from(here.devices)),
            })
        };
        let columns = 0..grid.instances.len();
        let entries = (0..grid.placers.len())
            .map(|placer| columns.clone().map(|instance| entry(placer, instance)).collect())
            .collect();
        let summary = Self {
            metric,
            instances: grid.instances.iter().map(|instance| instance.key.clone()).collect(),
            labels: grid.labels(),
            placers: grid.placers.clone(),
            marks: Marks::of(&grid),
            specs: grid.specs.clone(),
            entries,
            schedulers: compare_schedulers(&grid),
            // The optimum that is proven is a makespan.
            optimality: match metric {
                Metric::Makespan => Optimality::new(table, &grid, &standings)?,
                _ => None,
            },
            ok,
            failed,
            processors: table.distinct_values(col("processor"))?,
            standings,
        };
        Ok((summary, grid))
    }

    /// The best mean of an instance: the first of equals.
    pub fn best(&self, instance: usize) -> Option<(usize, &SummaryEntry)> {
        let entry = |placer: usize| Some((placer, self.entries[placer][instance].as_ref()?));
        let least = (0..self.placers.len()).filter_map(entry).min_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
        self.winners(instance).first().and_then(|&winner| entry(winner)).or(Some(least))
    }

    /// What a placer reaches relative to the best of the instance; 1 is the best.
    pub fn ratio(&self, placer: usize, instance: usize) -> Option<f64> {
        self.standings.ratio(placer, instance)
    }

    /// The placers that are best on the instance: several where they tie.
    pub fn winners(&self, instance: usize) -> Vec<usize> {
        self.standings.winners(instance)
    }

    /// The instances that count in the means: those that all placers that take part finish.
    pub fn common(&self) -> &[usize] {
        &self.standings.common
    }

    /// Geometric mean of a placer's ratios over [`Summary::common`].
    pub fn mean_ratio(&self, placer: usize) -> Option<f64> {
        self.standings.means[placer]
    }

    /// The placers, the best first, as [`Standings::order`] has them.
    pub fn order(&self) -> &[usize] {
        &self.standings.order
    }

    /// The label of an instance.
    pub fn label(&self, instance: usize) -> &str {
        &self.labels[instance]
    }
}

fn compare_schedulers(grid: &Grid) -> SchedulerComparison {
    let standings = Standings::new(grid, Candidates::Scheduler, DROP_FAILING);
    let means = standings.candidates.iter().zip(&standings.means);
    let ratios = means.filter_map(|(name, mean)| Some((name.clone(), (*mean)?))).collect();
    SchedulerComparison { placements: standings.common.len(), ratios }
}

#[cfg(test)]
pub(crate) mod tests {
    use placebench_harness::results::Row;
    use placebench_harness::suite::ONLINE;

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
        // z fails on one of two graphs, so it has no mean, and x and y have theirs over both.
        let rows = [("a", "x", 1.1), ("b", "x", 1.0), ("a", "y", 1.0), ("b", "y", 1.5), ("a", "z", 0.5)];
        let mut rows: Vec<Row> =
            rows.into_iter().map(|(graph, placer, makespan)| row(graph, placer, Some(makespan))).collect();
        rows.push(row("b", "z", None));
        let summary = summary_of(&rows);
        let shown = |&placer: &usize| summary.mean_ratio(placer).map(|mean| format!("{mean:.2}"));
        let expected = [Some("1.48".to_owned()), Some("1.73".to_owned()), None];
        assert_eq!(summary.order().iter().map(shown).collect::<Vec<_>>(), expected);
        assert_eq!(summary.common(), [0, 1]);
    }

    #[test]
    fn cells_that_were_placed_for_the_period_are_judged_by_it() {
        let mut rows = rows();
        rows.retain(|row| row.graph == "a");
        for row in &mut rows {
            row.objective = Some("period".into());
            (row.period, row.period_bound) = (row.makespan.map(|makespan| 1e-4 / makespan), Some(0.001));
        }
        let summary = summary_of(&rows);
        assert_eq!((summary.metric, summary.order()), (Metric::Period, &[1, 0][..]));
        let said = format!("{}{}", crate::summary_tables(&summary), crate::findings(&summary));
        // random with fifo has makespan 0.03.
        for text in
            ["Period relative to the best", "best period", "3.33 ms", "random is best on the mean: 1.00 (period / best"]
        {
            assert!(said.contains(text), "{text}: {said}");
        }
        assert!(
            said.contains("The best period is 3.33 times the proven lower bound") && !said.contains("SLR"),
            "{said}"
        );
        // One cell that was placed for the makespan, and makespans count.
        rows[0].objective = None;
        assert_eq!(summary_of(&rows).metric, Metric::Makespan);
    }

    #[test]
    fn what_is_said_of_parts_is_what_is_said_of_the_whole_table() {
        let (whole, parts) = (table(), table().in_parts_of(1));
        assert_eq!(parts.parts().count(), 2);
        assert_eq!(Summary::new(&parts).unwrap(), Summary::new(&whole).unwrap());
        let profiles = |table: &Table| crate::Profiles::new(table, Metric::Makespan).unwrap();
        assert_eq!(profiles(&parts), profiles(&whole));
        assert_eq!(crate::failures_table(&parts).unwrap(), crate::failures_table(&whole).unwrap());
        let table_of = |table: &Table| {
            crate::MetricTable::new(table, Metric::TrafficBytes, crate::Sort::Mean, crate::Spread::Range).unwrap()
        };
        assert_eq!(table_of(&parts), table_of(&whole));
        for kind in crate::FigureKind::all() {
            let of = |table: &Table| {
                let figures = kind.of_rows(table, Metric::Makespan, crate::Sort::Mean).unwrap();
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
        assert_eq!(summary.common(), [0, 1], "random takes no part: it fails on one of two");
        assert_eq!((summary.ok, summary.failed["infeasible"]), (14, 2));
    }

    #[test]
    fn schedulers_compare_over_the_placements_that_all_of_them_finished() {
        let comparison = summary_of(&rows()).schedulers;
        // Of random on b no scheduler has a value, since a draw failed.
        assert_eq!(comparison.placements, 3);
        assert_eq!(comparison.ratios[0].0, "pct");
        assert!((comparison.ratios[0].1 - 1.0).abs() < 1e-12 && (comparison.ratios[1].1 - 1.5).abs() < 1e-12);
    }

    #[test]
    fn placers_that_decide_online_are_ranked_but_their_rows_compare_no_schedulers() {
        let mut rows = rows();
        let online = |row: &Row| Row { placer: "cats".into(), scheduler: ONLINE.into(), ..row.clone() };
        rows.extend([online(&rows[0]), online(&rows[1])]);
        let summary = summary_of(&rows);
        assert_eq!(summary.entries[2][0].as_ref().unwrap().scheduler, ONLINE);
        assert_eq!(summary.schedulers, summary_of(&rows[..rows.len() - 2]).schedulers);
    }
}
