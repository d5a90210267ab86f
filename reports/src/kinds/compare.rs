//! Figures that compare placers: bars, heat map, profiles, Pareto, ranks.

use crate::words::{capitalised, plural};
use placebench_harness::results::Content;

use crate::Profiles;
use crate::figure::{
    Bar, CriticalDifference, Estimate, GroupedBars, HeatCell, HeatMap, NamedFigure, Pareto, ParetoPoint,
    PerformanceProfile, Quantity, Unit,
};
use crate::scores::{Scores, distinct, grouped};

/// The probability of seeing a difference between ranks where there is none.
const ALPHA: f64 = 0.05;

impl Scores {
    pub(super) fn bars(&self) -> Vec<NamedFigure> {
        let all = self.instances().iter().enumerate().map(|(index, here)| {
            let series = distinct(here.cells.iter().map(|cell| self.scheduler(cell)));
            let groups: Vec<usize> =
                (0..self.placers.len()).filter(|&placer| self.cells(placer, index).next().is_some()).collect();
            let bar = |placer: usize, scheduler: &str| {
                let cell = self.cells(placer, index).find(|cell| self.scheduler(cell) == scheduler)?;
                let value = cell.values().and_then(|values| Estimate::of(&values));
                Some(Bar { value, key: here.key.mark(&self.placers[placer], scheduler) })
            };
            let bars = groups.iter().map(|&placer| series.iter().map(|scheduler| bar(placer, scheduler)).collect());
            let (key, devices) = (&here.key, here.devices);
            let executor = match key.executor.is_simulator() {
                true => String::new(),
                false => format!(", {}", key.executor),
            };
            let title = format!("{} on {}, {devices} devices, {}{executor}", key.graph, key.cluster, key.network);
            NamedFigure {
                name: format!("bars-{}-{}", self.metric().short(), self.labels[index]),
                caption: format!(
                    "{} of placers under schedulers, {title}: mean and standard deviation over draws; × failed.",
                    capitalised(&self.quantity(index).name)
                ),
                figure: Box::new(GroupedBars {
                    title,
                    quantity: self.quantity(index),
                    group: "placer".into(),
                    one_series: "scheduler".into(),
                    bars: bars.collect(),
                    groups: groups.iter().map(|&placer| self.shown[placer].clone()).collect(),
                    series: series.iter().map(|scheduler| (*scheduler).to_owned()).collect(),
                }),
            }
        });
        all.collect()
    }

    pub(super) fn clusters(&self) -> Vec<NamedFigure> {
        let mut figures = Vec::new();
        // Times in different units have no common axis.
        let is_time = self.metric().content() == Content::Time;
        let unit = |index: usize| if is_time { self.instances()[index].time_unit.as_str() } else { "" };
        let shared = |index: usize| (&self.key(index).graph, self.setting(index), unit(index));
        let shared = grouped((0..self.instances().len()).map(shared));
        let units = |graph: &str, setting: &str| {
            shared.iter().filter(|((other, under, _), _)| (other.as_str(), under.as_str()) == (graph, setting)).count()
        };
        for ((graph, setting, unit), here) in shared.iter().filter(|(_, here)| here.len() > 1) {
            let setting = match units(graph, setting) {
                1 => setting.clone(),
                _ => format!("{setting}, {unit}"),
            };
            let bar = |placer: usize, scenario: usize| {
                let value = self.best(placer, scenario).and_then(|best| Estimate::of(&best.values()?));
                Some(Bar { value, key: self.mark(placer, scenario) })
            };
            let bars =
                (0..self.placers.len()).map(|placer| here.iter().map(|&scenario| bar(placer, scenario)).collect());
            let quantity = self.quantity(here[0]);
            let title = format!("{graph}, each placer with its best scheduler, {setting}");
            figures.push(NamedFigure {
                name: format!("clusters-{}-{graph}-{setting}", self.metric().short()),
                caption: format!(
                    "{} of placers on clusters, {title}: mean and standard deviation over draws; × failed.",
                    capitalised(&quantity.name)
                ),
                figure: Box::new(GroupedBars {
                    title,
                    quantity,
                    group: "placer".into(),
                    one_series: "cluster".into(),
                    groups: self.shown.clone(),
                    series: here.iter().map(|&index| self.key(index).cluster.clone()).collect(),
                    bars: bars.collect(),
                }),
            });
        }
        figures
    }

    pub(super) fn heat(&self) -> Vec<NamedFigure> {
        let cell =
            |placer, scenario| HeatCell { value: self.ratio(placer, scenario), key: self.mark(placer, scenario) };
        let columns = 0..self.instances().len();
        let cells = (0..self.placers.len()).map(|row| columns.clone().map(|column| cell(row, column)).collect());
        let means = (0..self.placers.len())
            .map(|placer| HeatCell { value: self.mean(placer), key: self.placers[placer].clone() });
        vec![NamedFigure {
            name: format!("heat-{}", self.metric().short()),
            caption: format!(
                "{}, each placer with its best scheduler; mean: {}.",
                capitalised(&self.ratio_name()),
                self.mean_over()
            ),
            figure: Box::new(HeatMap {
                title: format!("{}, each placer with its best scheduler", capitalised(&self.ratio_name())),
                quantity: Quantity::new(self.ratio_name(), Unit::One),
                row: "placer".into(),
                column: "graph".into(),
                rows: self.shown.clone(),
                columns: self.labels.clone(),
                cells: cells.collect(),
                means: Some(means.collect()),
                is_two_sided: false,
            }),
        }]
    }

    /// Those of [`Profiles`].
    pub(super) fn profile(&self) -> Vec<NamedFigure> {
        let Profiles { instances, placers } = Profiles::of(self);
        if instances == 0 {
            return Vec::new();
        }
        let own = |name: &String| {
            let profile = placers.iter().find(|profile| profile.placer == *name)?;
            Some((self.marks.shown(name), profile.ratios.clone(), profile.failed))
        };
        vec![NamedFigure {
            name: format!("profile-{}", self.metric().short()),
            caption: format!(
                "Performance profiles: on what share of {instances} instances a placer's {} is within a factor of the best.",
                self.metric().title()
            ),
            figure: Box::new(PerformanceProfile {
                title: format!("Within a factor of the best, over {instances} instances"),
                metric: self.metric().title().to_owned(),
                profiles: self.placers.iter().filter_map(own).collect(),
            }),
        }]
    }

    pub(super) fn pareto(&self) -> Vec<NamedFigure> {
        let point = |placer: usize| {
            Some(ParetoPoint {
                name: self.shown[placer].clone(),
                time: self.mean_seconds(placer)?,
                quality: self.mean(placer)?,
                key: self.placers[placer].clone(),
            })
        };
        let points: Vec<ParetoPoint> = (0..self.placers.len()).filter_map(point).collect();
        if points.is_empty() {
            return Vec::new();
        }
        let (over, left_out) = (self.mean_over(), self.left_out(points.len()));
        vec![NamedFigure {
            name: format!("pareto-{}", self.metric().short()),
            caption: format!(
                "{} against the time to place: {over}; the line joins what no other placer beats in both{left_out}.",
                capitalised(&self.ratio_name())
            ),
            figure: Box::new(Pareto {
                title: format!("{}{left_out}", capitalised(&over)),
                time: Quantity::new("time to place", Unit::Seconds),
                quality: Quantity::new(self.ratio_name(), Unit::One),
                points,
            }),
        }]
    }

    /// What a figure says of placers that it does not show.
    fn left_out(&self, shown: usize) -> String {
        match self.placers.len() - shown {
            0 => String::new(),
            missing => format!("; {} that failed too often left out", plural(missing, "placer")),
        }
    }

    pub(super) fn ranks(&self) -> Vec<NamedFigure> {
        let observations = self.standings.observations(&self.grid);
        let participants = self.standings.participants();
        // In the order in which placers are listed.
        let shown: Vec<(usize, usize)> = (0..self.placers.len())
            .filter_map(|placer| {
                let own = self.candidate(placer);
                Some((placer, participants.iter().position(|&participant| participant == own)?))
            })
            .collect();
        let results: Vec<Vec<Option<f64>>> = observations
            .iter()
            .map(|observation| shown.iter().map(|&(_, column)| Some(observation.logs[column].exp())).collect())
            .collect();
        let name = self.metric().title();
        let title = format!("Mean ranks by {name}, the best first");
        let names = shown.iter().map(|&(placer, _)| self.shown[placer].clone()).collect();
        let Some(figure) = CriticalDifference::new(title, names, &results, ALPHA) else {
            return Vec::new();
        };
        vec![NamedFigure {
            name: format!("ranks-{}", self.metric().short()),
            caption: format!(
                "Mean ranks of placers by {name} over {}, each with its best scheduler{}.",
                plural(results.len(), "drawn graph"),
                self.left_out(shown.len())
            ),
            figure: Box::new(figure),
        }]
    }
}

#[cfg(test)]
mod tests {
    use placebench_harness::results::{Metric, Row, Table};

    use super::*;
    use crate::summary::tests::{rows, table};
    use crate::{FigureKind, Sort};

    #[test]
    fn clusters_whose_times_have_other_units_have_a_figure_of_their_own() {
        let clusters = [("a", "seconds"), ("b", "seconds"), ("x", "EU"), ("y", "EU")];
        let of = |(cluster, unit): (&str, &str)| {
            let here = |row| Row { cluster: cluster.into(), time_unit: unit.into(), ..row };
            rows().into_iter().map(here).collect::<Vec<Row>>()
        };
        let drawn = |clusters: &[(&str, &str)], metric| {
            let table = Table::new(&clusters.iter().flat_map(|&cluster| of(cluster)).collect::<Vec<_>>()).unwrap();
            let figures = FigureKind::Clusters.of_rows(&table, metric, Sort::Mean).unwrap();
            figures.into_iter().map(|figure| figure.name).collect::<Vec<String>>()
        };
        let both = drawn(&clusters, Metric::Makespan);
        let one = drawn(&clusters[..2], Metric::Makespan);
        assert_eq!(both.len(), 2 * one.len(), "{both:?}");
        assert!(both.iter().all(|name| name.ends_with("seconds") || name.ends_with("EU")), "{both:?}");
        assert!(one.iter().all(|name| !name.contains("seconds")), "{one:?}");
        assert_eq!(drawn(&clusters, Metric::TrafficBytes).len(), one.len(), "bytes are bytes everywhere");
    }

    #[test]
    fn the_profile_drawn_is_the_profile_printed() {
        let printed = Profiles::new(&table(), Metric::Makespan).unwrap();
        let drawn =
            FigureKind::Profile.of_rows(&table(), Metric::Makespan, Sort::Mean).unwrap().remove(0).figure.table();
        for profile in &printed.placers {
            let own = drawn.rows.iter().filter(|row| row[0] == profile.placer);
            for (factor, share) in own.map(|row| (row[1].parse().unwrap(), row[2].parse::<f64>().unwrap())) {
                assert!((profile.share(factor) - share).abs() < 1e-6, "{} within {factor}", profile.placer);
            }
        }
        assert_eq!(drawn.rows, [["heft", "1", "1"], ["random", "1", "0"], ["random", "2", "0.5"]]);
    }

    #[test]
    fn times_to_place_are_means_over_draws_and_over_the_instances_that_count() {
        let mut rows = rows();
        rows.retain(|row| row.placer == "heft");
        for row in &mut rows {
            row.place_seconds = Some(match (row.graph.as_str(), row.repetition) {
                ("a", 0) => 1.0,
                ("a", _) => 3.0,
                _ => 8.0,
            });
        }
        // On c every placer needs no time: there is no ratio, so its seconds do not count.
        let zero = rows[0].clone();
        rows.extend((0..2).map(|repetition| placebench_harness::results::Row {
            graph: "c".into(),
            makespan: Some(0.0),
            place_seconds: Some(1e6),
            repetition,
            ..zero.clone()
        }));
        let table = Table::new(&rows).unwrap();
        let drawn = FigureKind::Pareto.of_rows(&table, Metric::Makespan, Sort::Mean).unwrap().remove(0).figure.table();
        // The mean of a is 2, of b 8; their geometric mean is 4.
        assert_eq!((drawn.rows[0][0].as_str(), drawn.rows[0][1].parse::<f64>().unwrap()), ("heft", 4.0));
    }

    #[test]
    fn of_utilization_more_is_better_and_of_nothing_there_is_no_ratio() {
        let mut rows = rows();
        for row in &mut rows {
            row.utilization = row.makespan.map(|_| if row.placer == "heft" { 0.8 } else { 0.2 });
        }
        let table = Table::new(&rows).unwrap();
        let heat = |metric| FigureKind::Heat.of_rows(&table, metric, Sort::Mean).unwrap().remove(0).figure.table().rows;
        assert_eq!(heat(Metric::Utilization)[0], ["heft", "a", "1"]);
        assert_eq!(heat(Metric::Utilization)[3], ["random", "a", "4"]);
        // heft moves nothing.
        assert_eq!(heat(Metric::TrafficBytes)[3], ["random", "a", ""]);
    }
}
