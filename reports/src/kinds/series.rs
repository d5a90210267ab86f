//! Figures of a metric against a number: of devices, or a placer's parameter.

use placebench_algorithms::Spec;

use crate::figure::{Curve, Estimate, NamedFigure, Quantity, Scaling, Sweep, Unit};
use crate::scores::{Scores, distinct, grouped};
use crate::words::capitalised;

impl Scores {
    pub(super) fn scaling(&self) -> Vec<NamedFigure> {
        let family = |index: usize| {
            let own = self.key(index);
            let family = own.cluster.trim_end_matches(|character: char| character.is_ascii_digit()).to_owned();
            let rules = (own.kinds, own.memory.clone());
            (own.graph.clone(), family, self.setting(index), rules)
        };
        let families = grouped((0..self.instances().len()).map(family));
        let mut figures = Vec::new();
        for ((graph, family, setting, _), mut members) in families {
            members.sort_by_key(|&index| self.instances()[index].devices);
            // Two machines with as many devices are none of one family.
            let devices = |index: usize| self.instances()[index].devices;
            let is_family = members.windows(2).all(|pair| devices(pair[0]) < devices(pair[1]));
            if members.len() < 2 || !is_family {
                continue;
            }
            let curve = |placer: usize| {
                let point = |&scenario: &usize| {
                    let values = self.best(placer, scenario)?.values()?;
                    Some((
                        f64::from(self.instances()[scenario].devices),
                        Estimate::of(&values)?,
                        self.mark(placer, scenario),
                    ))
                };
                let points: Vec<_> = members.iter().filter_map(point).collect();
                (!points.is_empty()).then(|| Curve { name: self.shown[placer].clone(), points })
            };
            let title = format!("{graph} on clusters {family}*, {setting}");
            let quantity = self.quantity(members[0]);
            figures.push(NamedFigure {
                name: format!("scaling-{}-{graph}-{family}-{setting}", self.metric().short()),
                caption: format!(
                    "{} against the number of devices, {title}: mean and standard deviation, each placer with its best \
                     scheduler.",
                    capitalised(&quantity.name)
                ),
                figure: Box::new(Scaling {
                    title,
                    devices: Quantity::new("devices", Unit::Count),
                    quantity,
                    curves: (0..self.placers.len()).filter_map(curve).collect(),
                }),
            });
        }
        figures
    }

    pub(super) fn sweeps(&self) -> Vec<NamedFigure> {
        let mut figures = Vec::new();
        for sweep in swept(&self.specs) {
            for (index, here) in self.instances().iter().enumerate() {
                let own = &here.key;
                let curve = |scheduler: &str| {
                    let point = |&(value, placer): &(f64, usize)| {
                        let cell = self.cells(placer, index).find(|cell| self.scheduler(cell) == scheduler)?;
                        Some((value, Estimate::of(&cell.values()?)?, own.mark(&self.placers[placer], scheduler)))
                    };
                    let points: Vec<_> = sweep.variants.iter().filter_map(point).collect();
                    (points.len() > 1).then(|| Curve { name: scheduler.to_owned(), points })
                };
                let schedulers = distinct(here.cells.iter().map(|cell| self.scheduler(cell)));
                let curves: Vec<Curve> = schedulers.into_iter().filter_map(curve).collect();
                if curves.is_empty() {
                    continue;
                }
                let title = format!("{} on {}, {}", sweep.placer, self.labels[index], own.network);
                figures.push(NamedFigure {
                    name: format!(
                        "sweep-{}-{}-{}-{}",
                        self.metric().short(),
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
                        parameter: Quantity::new(
                            sweep.parameter.clone(),
                            Unit::of_numbers(sweep.variants.iter().map(|(value, _)| *value)),
                        ),
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
    variants: Vec<(f64, usize)>,
}

/// The sweeps among placers with their parameters.
fn swept(specs: &[String]) -> Vec<Swept> {
    let mut sweeps: Vec<Swept> = Vec::new();
    for (placer, spec) in specs.iter().enumerate() {
        let Ok(spec) = spec.parse::<Spec>() else { continue };
        for (index, (parameter, value)) in spec.params.iter().enumerate() {
            let Ok(value) = value.parse::<f64>() else { continue };
            let mut shared = spec.clone();
            shared.params.remove(index);
            let shared = shared.to_string();
            match sweeps.iter_mut().find(|sweep| sweep.placer == shared && sweep.parameter == *parameter) {
                Some(sweep) => sweep.variants.push((value, placer)),
                None => {
                    sweeps.push(Swept { placer: shared, parameter: parameter.clone(), variants: vec![(value, placer)] })
                }
            }
        }
    }
    sweeps.retain_mut(|sweep| {
        sweep.variants.sort_by(|a, b| a.0.total_cmp(&b.0));
        sweep.variants.len() > 1
    });
    sweeps
}
