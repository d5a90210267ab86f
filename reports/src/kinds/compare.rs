//! Figures that compare placers: bars, heat map, profiles, Pareto, ranks.

use std::sync::Arc;

use placebench_harness::compare::statistics::geometric_mean;

use super::words::{capitalised, plural};
use crate::Profiles;
use crate::figure::{
    Bar, CriticalDifference, Estimate, GroupedBars, HeatCell, HeatMap, NamedFigure, Pareto, ParetoPoint,
    PerformanceProfile, Quantity, Unit,
};
use crate::scores::{Scores, distinct, mark};

/// The probability of seeing a difference between ranks where there is none.
const ALPHA: f64 = 0.05;

impl Scores {
    pub(super) fn bars(&self) -> Vec<NamedFigure> {
        let all = self.scenarios.iter().enumerate().map(|(index, own)| {
            let here = &self.cells[index];
            let series = distinct(here.iter().map(|cell| cell.scheduler.clone()));
            let placers = self.placers.iter().filter(|placer| here.iter().any(|cell| *cell.placer == ***placer));
            let groups: Vec<String> = placers.cloned().collect();
            let bar = |placer: &String, scheduler: &Arc<str>| {
                let cell = here.iter().find(|cell| *cell.placer == **placer && cell.scheduler == *scheduler)?;
                let value = cell.values().and_then(Estimate::of);
                Some(Bar { value, key: mark(own, placer, scheduler) })
            };
            let bars = groups.iter().map(|placer| series.iter().map(|scheduler| bar(placer, scheduler)).collect());
            let title = format!("{} on {}, {} devices, {}", own.graph, own.cluster, self.devices[index], own.network);
            NamedFigure {
                name: format!("bars-{}-{}", self.metric.short(), self.labels[index]),
                caption: format!(
                    "{} of placers under schedulers, {title}: mean and standard deviation over repetitions; × failed.",
                    capitalised(&self.quantity(index).name)
                ),
                figure: Box::new(GroupedBars {
                    title,
                    quantity: self.quantity(index),
                    group: "placer".into(),
                    one_series: "scheduler".into(),
                    bars: bars.collect(),
                    groups: groups.iter().map(|placer| self.marks.shown(placer)).collect(),
                    series: series.iter().map(|scheduler| scheduler.to_string()).collect(),
                }),
            }
        });
        all.collect()
    }

    pub(super) fn clusters(&self) -> Vec<NamedFigure> {
        let mut figures = Vec::new();
        let scenarios = 0..self.scenarios.len();
        let shared = |index: usize| (&self.scenarios[index].graph, self.setting(index));
        for (graph, setting) in distinct(scenarios.clone().map(shared)) {
            let here: Vec<usize> =
                scenarios.clone().filter(|&index| shared(index) == (graph, setting.clone())).collect();
            if here.len() < 2 {
                continue;
            }
            let bar = |placer: usize, scenario: usize| {
                let value = self.best(placer, scenario).and_then(|best| Estimate::of(best.values()?));
                Some(Bar { value, key: self.key(placer, scenario) })
            };
            let bars =
                (0..self.placers.len()).map(|placer| here.iter().map(|&scenario| bar(placer, scenario)).collect());
            let quantity = self.quantity(here[0]);
            let title = format!("{graph}, each placer with its best scheduler, {setting}");
            figures.push(NamedFigure {
                name: format!("clusters-{}-{graph}-{setting}", self.metric.short()),
                caption: format!(
                    "{} of placers on clusters, {title}: mean and standard deviation over repetitions; × failed.",
                    capitalised(&quantity.name)
                ),
                figure: Box::new(GroupedBars {
                    title,
                    quantity,
                    group: "placer".into(),
                    one_series: "cluster".into(),
                    groups: self.shown.clone(),
                    series: here.iter().map(|&index| self.scenarios[index].cluster.clone()).collect(),
                    bars: bars.collect(),
                }),
            });
        }
        figures
    }

    pub(super) fn heat(&self) -> Vec<NamedFigure> {
        let cell = |placer, scenario| HeatCell { value: self.ratio(placer, scenario), key: self.key(placer, scenario) };
        let columns = 0..self.scenarios.len();
        let cells = (0..self.placers.len()).map(|row| columns.clone().map(|column| cell(row, column)).collect());
        vec![NamedFigure {
            name: format!("heat-{}", self.metric.short()),
            caption: format!("{}, each placer with its best scheduler.", capitalised(&self.ratio_name())),
            figure: Box::new(HeatMap {
                title: format!("{}, each placer with its best scheduler", capitalised(&self.ratio_name())),
                quantity: Quantity::new(self.ratio_name(), Unit::One),
                row: "placer".into(),
                column: "graph".into(),
                rows: self.shown.clone(),
                columns: self.labels.clone(),
                cells: cells.collect(),
            }),
        }]
    }

    /// Those of [`Profiles`], in the order of the registry.
    pub(super) fn profile(&self) -> Vec<NamedFigure> {
        let Profiles { instances, placers } = Profiles::of(self);
        let own = |name: &String| {
            let profile = placers.iter().find(|profile| profile.placer == *name)?;
            Some((self.marks.shown(name), profile.ratios.clone(), profile.failed))
        };
        vec![NamedFigure {
            name: format!("profile-{}", self.metric.short()),
            caption: format!(
                "Performance profiles: on what share of {instances} instances a placer's {} is within a factor of the best.",
                self.metric.title()
            ),
            figure: Box::new(PerformanceProfile {
                title: format!("Within a factor of the best, over {instances} instances"),
                metric: self.metric.title().to_owned(),
                profiles: self.placers.iter().filter_map(own).collect(),
            }),
        }]
    }

    pub(super) fn pareto(&self) -> Vec<NamedFigure> {
        let seconds = self.seconds();
        let common: Vec<usize> = (0..self.scenarios.len())
            .filter(|&scenario| (0..self.placers.len()).any(|placer| self.ratio(placer, scenario).is_some()))
            .collect();
        let point = |(placer, name): (usize, &String)| {
            let ratios: Option<Vec<f64>> = common.iter().map(|&scenario| self.ratio(placer, scenario)).collect();
            Some(ParetoPoint {
                name: self.marks.shown(name),
                time: seconds[placer].geometric_mean()?,
                quality: geometric_mean(ratios?)?,
                key: name.clone(),
            })
        };
        let points: Vec<ParetoPoint> = self.placers.iter().enumerate().filter_map(point).collect();
        if points.is_empty() {
            return Vec::new();
        }
        let left_out = self.placers.len() - points.len();
        let left_out = if left_out > 0 {
            format!("; {} that failed on some left out", plural(left_out, "placer"))
        } else {
            String::new()
        };
        let scenarios = plural(common.len(), "scenario");
        vec![NamedFigure {
            name: format!("pareto-{}", self.metric.short()),
            caption: format!(
                "{} against the time to place: geometric means over {scenarios}; the line joins what no other placer beats \
                 in both{left_out}.",
                capitalised(&self.ratio_name())
            ),
            figure: Box::new(Pareto {
                title: format!("Geometric means over {scenarios}{left_out}"),
                time: Quantity::new("time to place", Unit::Seconds),
                quality: Quantity::new(self.ratio_name(), Unit::One),
                points,
            }),
        }]
    }

    pub(super) fn ranks(&self) -> Vec<NamedFigure> {
        let result = |placer: usize, scenario: usize| {
            self.best(placer, scenario)?.mean().map(|mean| self.loss(mean)).filter(|loss| loss.is_finite())
        };
        let results: Vec<Vec<Option<f64>>> = (0..self.scenarios.len())
            .map(|scenario| (0..self.placers.len()).map(|placer| result(placer, scenario)).collect())
            .collect();
        let name = self.metric.title();
        let title = format!("Mean ranks by {name}, the best first");
        let Some(figure) = CriticalDifference::new(title, self.shown.clone(), &results, ALPHA) else {
            return Vec::new();
        };
        vec![NamedFigure {
            name: format!("ranks-{}", self.metric.short()),
            caption: format!(
                "Mean ranks of placers by {name} over {}, each with its best scheduler; failures rank last.",
                plural(results.len(), "scenario")
            ),
            figure: Box::new(figure),
        }]
    }
}

#[cfg(test)]
mod tests {
    use placebench_harness::results::{Metric, Table};

    use super::*;
    use crate::FigureKind;
    use crate::summary::tests::{rows, table};

    #[test]
    fn the_profile_drawn_is_the_profile_printed() {
        let printed = Profiles::new(&table(), Metric::Makespan).unwrap();
        let drawn = FigureKind::Profile.of_rows(&table(), Metric::Makespan).unwrap().remove(0).figure.table();
        for profile in &printed.placers {
            let own = drawn.rows.iter().filter(|row| row[0] == profile.placer);
            for (factor, share) in own.map(|row| (row[1].parse().unwrap(), row[2].parse::<f64>().unwrap())) {
                assert!((profile.share(factor) - share).abs() < 1e-6, "{} within {factor}", profile.placer);
            }
        }
        assert_eq!(drawn.rows, [["random", "1", "0"], ["random", "2", "0.75"], ["heft", "1", "1"]]);
    }

    #[test]
    fn of_utilization_more_is_better_and_of_nothing_there_is_no_ratio() {
        let mut rows = rows();
        for row in &mut rows {
            row.utilization = row.makespan.map(|_| if row.placer == "heft" { 0.8 } else { 0.2 });
        }
        let table = Table::new(&rows).unwrap();
        let heat = |metric| FigureKind::Heat.of_rows(&table, metric).unwrap().remove(0).figure.table().rows;
        assert_eq!(heat(Metric::Utilization)[2], ["heft", "a", "1"]);
        assert_eq!(heat(Metric::Utilization)[0], ["random", "a", "4"]);
        // heft moves nothing.
        assert_eq!(heat(Metric::TrafficBytes)[0], ["random", "a", ""]);
    }
}
