//! From result rows to figures.
//!
//! Placers are in the order of the registry in every figure, those it does not have after them. Where a figure has no
//! schedulers, a placer is shown with the best of them, as [`Summary`](crate::Summary) does.

use std::collections::BTreeMap;
use std::str::FromStr;

use placebench_algorithms::Spec;
use placebench_harness::table::Row;

use super::Figure;
use super::critical_difference::CriticalDifference;
use super::drawing::row_key;
use super::estimate::Estimate;
use super::grouped_bars::{Bar, GroupedBars};
use super::heat_map::{HeatCell, HeatMap};
use super::metric::RowMetric;
use super::pareto::{Pareto, ParetoPoint};
use super::performance_profile::PerformanceProfile;
use super::quantity::{Quantity, Unit};
use super::sweep::{Curve, Scaling, Sweep};
use crate::results::Results;
use crate::summary::{geometric_mean, scenario};

/// The kinds of figures that rows alone can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFigure {
    /// Grouped bars: placers under schedulers, one figure a scenario.
    Bars,
    /// Heat map: placer × scenario, relative to the best.
    Heat,
    /// Performance profiles.
    Profile,
    /// Quality against time to place.
    Pareto,
    /// Critical-difference diagram.
    Ranks,
    /// Against the number of devices, one figure a graph and family of clusters.
    Scaling,
    /// Against a placer's parameter, one figure a parameter and scenario.
    Sweep,
}

/// A figure with a name for its file.
pub struct NamedFigure {
    /// Letters, digits, `-`, `_`, `.`: the file's name without its extension. Unique within what one call returns.
    pub name: String,
    /// What it shows, in one sentence: a caption.
    pub caption: String,
    /// The figure.
    pub figure: Box<dyn Figure>,
}

/// No figure from rows has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of figure '{0}'")]
pub struct UnknownFigure(pub String);

impl FromStr for RowFigure {
    type Err = UnknownFigure;

    fn from_str(text: &str) -> Result<Self, UnknownFigure> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownFigure(text.to_owned()))
    }
}

/// The probability of seeing a difference between ranks where there is none.
const ALPHA: f64 = 0.05;

impl RowFigure {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Bars, Self::Heat, Self::Profile, Self::Pareto, Self::Ranks, Self::Scaling, Self::Sweep];

    /// The name on the command line, and the beginning of the files' names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bars => "bars",
            Self::Heat => "heat",
            Self::Profile => "profile",
            Self::Pareto => "pareto",
            Self::Ranks => "ranks",
            Self::Scaling => "scaling",
            Self::Sweep => "sweep",
        }
    }

    /// A name that every file system takes, from a text.
    pub fn file_name(text: &str) -> String {
        let safe = |character: char| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => character,
            _ => '_',
        };
        let name: String = text.chars().map(safe).take(150).collect();
        name.trim_end_matches('_').to_owned()
    }

    /// The figures of this kind that `rows` have data for: none, one or many.
    ///
    /// # Complexity
    /// O(rows · log rows) for each figure.
    pub fn of_rows(self, rows: &[Row], metric: RowMetric) -> Vec<NamedFigure> {
        let results = Results::new(rows, metric);
        if results.placers.is_empty() || results.scenarios.is_empty() {
            return Vec::new();
        }
        let mut figures = match self {
            Self::Bars => results.bars(rows),
            Self::Heat => results.heat(),
            Self::Profile => results.profile(),
            Self::Pareto => results.pareto(rows),
            Self::Ranks => results.ranks(),
            Self::Scaling => results.scaling(),
            Self::Sweep => results.sweeps(rows),
        };
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for figure in &mut figures {
            let name = Self::file_name(&figure.name);
            let before = taken.entry(name.clone()).or_default();
            *before += 1;
            figure.name = if *before > 1 { format!("{name}-{before}") } else { name };
        }
        figures
    }
}

impl Results {
    fn bars(&self, rows: &[Row]) -> Vec<NamedFigure> {
        let all = self.scenarios.iter().enumerate().map(|(index, own)| {
            let here: Vec<&Row> = rows.iter().filter(|row| scenario(row) == *own).collect();
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
                Some(Bar { value, key: row_key(&own.graph, &own.cluster, placer, scheduler) })
            };
            let bars = groups.iter().map(|placer| series.iter().map(|scheduler| bar(placer, scheduler)).collect());
            let title = format!("{} on {}, {} devices, {}", own.graph, own.cluster, self.devices[index], own.network);
            NamedFigure {
                name: format!("bars-{}-{}", self.metric.name(), self.labels[index]),
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

    fn heat(&self) -> Vec<NamedFigure> {
        let cell = |placer, scenario| HeatCell { value: self.ratio(placer, scenario), key: self.key(placer, scenario) };
        let columns = 0..self.scenarios.len();
        let cells = (0..self.placers.len()).map(|row| columns.clone().map(|column| cell(row, column)).collect());
        vec![NamedFigure {
            name: format!("heat-{}", self.metric.name()),
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

    /// For each placer the ratios to the best over scenarios and repetitions, ascending, and how many it has none for.
    fn profile(&self) -> Vec<NamedFigure> {
        let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); self.placers.len()];
        let mut instances = 0;
        for scenario in 0..self.scenarios.len() {
            let repetitions =
                self.best.iter().filter_map(|row| Some(row[scenario].as_ref()?.values.len())).max().unwrap_or(0);
            for repetition in 0..repetitions {
                let loss = |placer: usize| -> Option<f64> {
                    let value = self.best[placer][scenario].as_ref()?.values.get(repetition)?;
                    Some(self.loss(*value)).filter(|loss| loss.is_finite())
                };
                let least = (0..self.placers.len()).filter_map(loss).fold(f64::INFINITY, f64::min);
                if !(least > 0.0 && least.is_finite()) {
                    continue;
                }
                instances += 1;
                for (placer, ratios) in ratios.iter_mut().enumerate() {
                    ratios.extend(loss(placer).map(|own| if own <= least * (1.0 + 1e-9) { 1.0 } else { own / least }));
                }
            }
        }
        let profiles = self.placers.iter().zip(ratios).map(|(name, mut ratios)| {
            ratios.sort_by(f64::total_cmp);
            let failed = instances - ratios.len();
            (name.clone(), ratios, failed)
        });
        vec![NamedFigure {
            name: format!("profile-{}", self.metric.name()),
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

    fn pareto(&self, rows: &[Row]) -> Vec<NamedFigure> {
        let common: Vec<usize> = (0..self.scenarios.len())
            .filter(|&scenario| (0..self.placers.len()).any(|placer| self.ratio(placer, scenario).is_some()))
            .collect();
        let point = |(placer, name): (usize, &String)| {
            let ratios: Option<Vec<f64>> = common.iter().map(|&scenario| self.ratio(placer, scenario)).collect();
            let seconds: Vec<f64> = rows
                .iter()
                .filter(|row| row.placer == *name)
                .filter_map(|row| RowMetric::PlaceTime.value(row).filter(|&seconds| seconds > 0.0))
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
            name: format!("pareto-{}", self.metric.name()),
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

    fn ranks(&self) -> Vec<NamedFigure> {
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
            name: format!("ranks-{}", self.metric.name()),
            caption: format!(
                "Mean ranks of placers by {name} over {}, each with its best scheduler; failures rank last.",
                plural(results.len(), "scenario")
            ),
            figure: Box::new(figure),
        }]
    }

    fn scaling(&self) -> Vec<NamedFigure> {
        let mut families: Vec<((String, String, String), Vec<usize>)> = Vec::new();
        for (index, own) in self.scenarios.iter().enumerate() {
            let family = own.cluster.trim_end_matches(|character: char| character.is_ascii_digit()).to_owned();
            let key = (own.graph.clone(), family, own.network.clone());
            match families.iter_mut().find(|(known, _)| *known == key) {
                Some((_, members)) => members.push(index),
                None => families.push((key, vec![index])),
            }
        }
        let mut figures = Vec::new();
        for ((graph, family, network), mut members) in families {
            members.sort_by_key(|&index| self.devices[index]);
            members.dedup_by_key(|index| self.devices[*index]);
            if members.len() < 2 {
                continue;
            }
            let curve = |(placer, name): (usize, &String)| {
                let point = |&scenario: &usize| {
                    let values = &self.best[placer][scenario].as_ref()?.values;
                    Some((f64::from(self.devices[scenario]), Estimate::of(values)?, self.key(placer, scenario)))
                };
                let points: Vec<_> = members.iter().filter_map(point).collect();
                (!points.is_empty()).then(|| Curve { name: name.clone(), points })
            };
            let title = format!("{graph} on clusters {family}*, {network}");
            let quantity = self.quantity(members[0]);
            figures.push(NamedFigure {
                name: format!("scaling-{}-{graph}-{family}-{network}", self.metric.name()),
                caption: format!(
                    "{} against the number of devices, {title}: mean and standard deviation, each placer with its best \
                     scheduler.",
                    capitalised(&quantity.name)
                ),
                figure: Box::new(Scaling {
                    title,
                    devices: Quantity::new("devices", Unit::One),
                    quantity,
                    curves: self.placers.iter().enumerate().filter_map(curve).collect(),
                }),
            });
        }
        figures
    }

    fn sweeps(&self, rows: &[Row]) -> Vec<NamedFigure> {
        let mut figures = Vec::new();
        for sweep in swept(&self.placers) {
            for (index, own) in self.scenarios.iter().enumerate() {
                let here: Vec<&Row> = rows.iter().filter(|row| scenario(row) == *own).collect();
                let mut schedulers: Vec<&str> = Vec::new();
                for row in &here {
                    if !schedulers.contains(&row.scheduler.as_str()) {
                        schedulers.push(&row.scheduler);
                    }
                }
                let curve = |scheduler: &&str| {
                    let point = |(value, placer): &(f64, String)| {
                        let own = |row: &&&Row| row.placer == *placer && row.scheduler == *scheduler;
                        let values: Option<Vec<f64>> =
                            here.iter().filter(own).map(|row| self.metric.value(row)).collect();
                        Some((
                            *value,
                            Estimate::of(&values?)?,
                            row_key(&here[0].graph, &here[0].cluster, placer, scheduler),
                        ))
                    };
                    let points: Vec<_> = sweep.variants.iter().filter_map(point).collect();
                    (points.len() > 1).then(|| Curve { name: (*scheduler).to_owned(), points })
                };
                let curves: Vec<Curve> = schedulers.iter().filter_map(curve).collect();
                if curves.is_empty() {
                    continue;
                }
                let title = format!("{} on {}, {}", sweep.placer, self.labels[index], own.network);
                figures.push(NamedFigure {
                    name: format!(
                        "sweep-{}-{}-{}-{}",
                        self.metric.name(),
                        sweep.placer,
                        sweep.parameter,
                        self.labels[index]
                    ),
                    caption: format!(
                        "{} against {} of {title}: mean and standard deviation.",
                        capitalised(&self.quantity(index).name),
                        sweep.parameter
                    ),
                    figure: Box::new(Sweep {
                        title,
                        parameter: Quantity::new(sweep.parameter.clone(), Unit::One),
                        quantity: self.quantity(index),
                        curves,
                    }),
                });
            }
        }
        figures
    }
}

/// Placers that differ in the value of one numeric parameter.
struct Swept {
    /// The placer with the parameters that all share.
    placer: String,
    parameter: String,
    /// Values and placers, by ascending value.
    variants: Vec<(f64, String)>,
}

fn swept(placers: &[String]) -> Vec<Swept> {
    let mut sweeps: Vec<Swept> = Vec::new();
    for placer in placers {
        let Ok(spec) = placer.parse::<Spec>() else { continue };
        for (index, (parameter, value)) in spec.params.iter().enumerate() {
            let Ok(value) = value.parse::<f64>() else { continue };
            let mut shared = spec.clone();
            shared.params.remove(index);
            let shared = shared.to_string();
            match sweeps.iter_mut().find(|sweep| sweep.placer == shared && sweep.parameter == *parameter) {
                Some(sweep) => sweep.variants.push((value, placer.clone())),
                None => sweeps.push(Swept {
                    placer: shared,
                    parameter: parameter.clone(),
                    variants: vec![(value, placer.clone())],
                }),
            }
        }
    }
    sweeps.retain_mut(|sweep| {
        sweep.variants.sort_by(|a, b| a.0.total_cmp(&b.0));
        sweep.variants.len() > 1
    });
    sweeps
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
