//! Figures that compare placers: bars, heat map, profiles, Pareto, ranks.

use std::collections::BTreeMap;

use placebench_harness::compare::statistics::geometric_mean;
use placebench_harness::results::{Metric, Row};

use super::{ALPHA, NamedFigure, capitalised, plural};
use crate::figure::{
    Bar, CriticalDifference, Estimate, GroupedBars, HeatCell, HeatMap, Pareto, ParetoPoint, PerformanceProfile,
    Quantity, Unit,
};
use crate::results::{Results, mark};
use crate::summary::distinct;

impl Results {
    pub(super) fn bars(&self, rows: &[Row]) -> Vec<NamedFigure> {
        let all = self.scenarios.iter().enumerate().map(|(index, own)| {
            let here: Vec<&Row> = rows.iter().filter(|row| row.key().scenario() == *own).collect();
            let mut series: Vec<String> = Vec::new();
            let mut cells: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
            for row in &here {
                if !series.contains(&row.scheduler) {
                    series.push(row.scheduler.clone());
                }
                cells.entry((&row.placer, &row.scheduler)).or_default().push(row);
            }
            let groups: Vec<String> =
                self.placers.iter().filter(|placer| here.iter().any(|row| row.placer == **placer)).cloned().collect();
            let bar = |placer: &String, scheduler: &String| {
                let rows = cells.get(&(placer.as_str(), scheduler.as_str()))?;
                let values: Option<Vec<f64>> = rows.iter().map(|row| self.metric.value(row)).collect();
                let value = values.and_then(|values| Estimate::of(&values));
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
                    groups,
                    series,
                }),
            }
        });
        all.collect()
    }

    pub(super) fn clusters(&self) -> Vec<NamedFigure> {
        let mut figures = Vec::new();
        for (graph, network) in distinct(self.scenarios.iter().map(|own| (&own.graph, &own.network))) {
            let here: Vec<usize> = (0..self.scenarios.len())
                .filter(|&index| self.scenarios[index].graph == *graph && self.scenarios[index].network == *network)
                .collect();
            if here.len() < 2 {
                continue;
            }
            let bar = |placer: usize, scenario: usize| {
                let value = self.best[placer][scenario].as_ref().and_then(|best| Estimate::of(&best.values));
                Some(Bar { value, key: self.key(placer, scenario) })
            };
            let bars =
                (0..self.placers.len()).map(|placer| here.iter().map(|&scenario| bar(placer, scenario)).collect());
            let quantity = self.quantity(here[0]);
            let title = format!("{graph}, each placer with its best scheduler, {network}");
            figures.push(NamedFigure {
                name: format!("clusters-{}-{graph}-{network}", self.metric.short()),
                caption: format!(
                    "{} of placers on clusters, {title}: mean and standard deviation over repetitions; × failed.",
                    capitalised(&quantity.name)
                ),
                figure: Box::new(GroupedBars {
                    title,
                    quantity,
                    group: "placer".into(),
                    one_series: "cluster".into(),
                    groups: self.placers.clone(),
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
                rows: self.placers.clone(),
                columns: self.labels.clone(),
                cells: cells.collect(),
            }),
        }]
    }

    /// As [`Profiles`](crate::Profiles), of any metric: an instance is a repetition, on which each placer has its best
    /// scheduler.
    pub(super) fn profile(&self, rows: &[Row]) -> Vec<NamedFigure> {
        let mut losses: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for row in rows {
            let Some(loss) = self.metric.value(row).map(|value| self.loss(value)).filter(|loss| loss.is_finite())
            else {
                continue;
            };
            let placer = self.placers.iter().position(|placer| *placer == row.placer).unwrap_or_default();
            let instance = losses.entry((row.key().scenario(), row.repetition));
            let own = &mut instance.or_insert_with(|| vec![f64::INFINITY; self.placers.len()])[placer];
            *own = own.min(loss);
        }
        let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); self.placers.len()];
        let mut instances = 0;
        for losses in losses.values() {
            let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
            // Of a least of 0 nothing is a multiple.
            if least <= 0.0 {
                continue;
            }
            instances += 1;
            for (ratios, &own) in ratios.iter_mut().zip(losses).filter(|(_, own)| own.is_finite()) {
                ratios.push(if own <= least * (1.0 + 1e-9) { 1.0 } else { own / least });
            }
        }
        let profiles = self.placers.iter().zip(ratios).map(|(name, mut ratios)| {
            ratios.sort_by(f64::total_cmp);
            let failed = instances - ratios.len();
            (name.clone(), ratios, failed)
        });
        vec![NamedFigure {
            name: format!("profile-{}", self.metric.short()),
            caption: format!(
                "Performance profiles: on what share of {instances} instances a placer's {} is within a factor of the best.",
                self.quantity(0).name
            ),
            figure: Box::new(PerformanceProfile {
                title: format!("Within a factor of the best, over {instances} instances"),
                metric: self.quantity(0).name,
                profiles: profiles.collect(),
            }),
        }]
    }

    pub(super) fn pareto(&self, rows: &[Row]) -> Vec<NamedFigure> {
        let common: Vec<usize> = (0..self.scenarios.len())
            .filter(|&scenario| (0..self.placers.len()).any(|placer| self.ratio(placer, scenario).is_some()))
            .collect();
        let point = |(placer, name): (usize, &String)| {
            let ratios: Option<Vec<f64>> = common.iter().map(|&scenario| self.ratio(placer, scenario)).collect();
            let seconds: Vec<f64> = rows
                .iter()
                .filter(|row| row.placer == *name)
                .filter_map(|row| Metric::PlaceSeconds.value(row).filter(|&seconds| seconds > 0.0))
                .collect();
            Some(ParetoPoint {
                name: name.clone(),
                time: geometric_mean(seconds.into_iter())?,
                quality: geometric_mean(ratios?.into_iter())?,
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
            self.best[placer][scenario].as_ref().map(|best| self.loss(best.mean())).filter(|loss| loss.is_finite())
        };
        let results: Vec<Vec<Option<f64>>> = (0..self.scenarios.len())
            .map(|scenario| (0..self.placers.len()).map(|placer| result(placer, scenario)).collect())
            .collect();
        let name = self.quantity(0).name;
        let title = format!("Mean ranks by {name}, the best at the left");
        let Some(figure) = CriticalDifference::new(title, self.placers.clone(), &results, ALPHA) else {
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
    use super::*;
    use crate::Profiles;
    use crate::figure::RowFigure;
    use crate::summary::tests::rows;

    #[test]
    fn the_profile_drawn_is_the_profile_printed() {
        let printed = Profiles::new(&rows());
        let drawn = RowFigure::Profile.of_rows(&rows(), Metric::Makespan).remove(0).figure.table();
        for profile in &printed.placers {
            let own = drawn.rows.iter().filter(|row| row[0] == profile.placer);
            for (factor, share) in own.map(|row| (row[1].parse().unwrap(), row[2].parse::<f64>().unwrap())) {
                assert!((profile.share(factor) - share).abs() < 1e-6, "{} within {factor}", profile.placer);
            }
        }
        assert_eq!(drawn.rows, [["heft", "1", "1"], ["random", "1", "0"], ["random", "2", "0.75"]]);
    }

    #[test]
    fn of_utilization_more_is_better_and_of_nothing_there_is_no_ratio() {
        let mut rows = rows();
        for row in &mut rows {
            row.utilization = row.makespan.map(|_| if row.placer == "heft" { 0.8 } else { 0.2 });
        }
        let heat = |metric| RowFigure::Heat.of_rows(&rows, metric).remove(0).figure.table().rows;
        assert_eq!(heat(Metric::Utilization)[0], ["heft", "a", "1"]);
        assert_eq!(heat(Metric::Utilization)[2], ["random", "a", "4"]);
        // heft moves nothing.
        assert_eq!(heat(Metric::TrafficBytes)[2], ["random", "a", ""]);
    }
}
