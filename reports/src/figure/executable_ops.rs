//! Executable ops on each device before it decides which to execute next (L Fig. 7.10).

use super::Figure;
use super::drawing::{Datum, Drawing};
use super::estimate::Estimate;
use super::lines::{Line, LinePlot, Point, Spread};
use super::look::Look;
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::style::Style;
use crate::export::{Table, number_text};

/// How many ops a device could choose from at each of its decisions: a line a device. Of many decisions, each point is the
/// mean of equally many; of more devices than panels can hold, the median and the range over devices are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutableOps {
    /// One line above the figure; may be empty.
    pub title: String,
    /// Devices and their numbers of executable ops, one a decision, in order of time.
    pub devices: Vec<(String, Vec<u32>)>,
}

/// The most points of a line.
const POINTS: usize = 120;
/// The most devices that get lines of their own.
const MOST_DEVICES: usize = 24;

impl ExecutableOps {
    /// Names and points (decision, executable ops); a range only where devices are summarised.
    fn curves(&self) -> Vec<(String, Vec<(f64, Estimate)>)> {
        let longest = self.devices.iter().map(|(_, choices)| choices.len()).max().unwrap_or(0);
        let width = longest.div_ceil(POINTS).max(1);
        let thinned = |choices: &[u32]| -> Vec<(f64, f64)> {
            let bucket = |(index, choices): (usize, &[u32])| {
                let sum: f64 = choices.iter().map(|&count| f64::from(count)).sum();
                ((index * width + 1) as f64, sum / choices.len() as f64)
            };
            choices.chunks(width).enumerate().map(bucket).collect()
        };
        let curves: Vec<(String, Vec<(f64, f64)>)> =
            self.devices.iter().map(|(name, choices)| (name.clone(), thinned(choices))).collect();
        if curves.len() <= MOST_DEVICES {
            let exact = |points: Vec<(f64, f64)>| points.into_iter().map(|(x, y)| (x, Estimate::exact(y))).collect();
            return curves.into_iter().map(|(name, points)| (name, exact(points))).collect();
        }
        let at = |bucket: usize| -> Vec<f64> {
            curves.iter().filter_map(|(_, points)| Some(points.get(bucket)?.1)).collect()
        };
        let summary = (0..longest.div_ceil(width)).filter_map(|bucket| {
            let mut values = at(bucket);
            values.sort_by(f64::total_cmp);
            let (low, high) = (*values.first()?, *values.last()?);
            let mean = values[values.len() / 2];
            Some(((bucket * width + 1) as f64, Estimate { mean, low, high, count: values.len() }))
        });
        vec![(format!("median and range of {} devices", curves.len()), summary.collect())]
    }
}

impl Figure for ExecutableOps {
    fn table(&self) -> Table {
        let mut table = Table::new(["device", "decision", "executable_ops", "least", "most"]);
        for (name, points) in self.curves() {
            for (decision, value) in points {
                let numbers = [decision, value.mean, value.low, value.high].map(number_text);
                table.push([name.clone()].into_iter().chain(numbers));
            }
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        let curves = self.curves();
        let all = || curves.iter().flat_map(|(_, points)| points);
        let ends = || all().flat_map(|(_, value)| [value.low, value.high]);
        let most = ends().fold(0.0, f64::max);
        let mean = all().map(|(_, value)| value.mean).sum::<f64>() / all().count().max(1) as f64;
        // Some devices choose from thousands while others starve: both are to be seen.
        let log = (most > 100.0 && most > 20.0 * mean).then(|| Scale::log(ends())).flatten();
        let lines = curves.iter().enumerate().map(|(number, (name, points))| {
            let mean = points.iter().map(|(_, value)| value.mean).sum::<f64>() / points.len().max(1) as f64;
            let title = format!("{name}: {} executable ops on average", number_text(mean));
            let point = |&(x, y): &(f64, Estimate)| Point { x, y, datum: None };
            Line {
                name: name.clone(),
                look: Look::nth(number),
                points: points.iter().map(point).collect(),
                steps: false,
                datum: Some(Datum { key: name.clone(), title }),
            }
        });
        let plot = LinePlot {
            title: &self.title,
            x: (&Quantity::new("decision on the device", Unit::One), Scale::linear(all().map(|(x, _)| *x), true)),
            y: (&Quantity::new("executable ops", Unit::One), log.unwrap_or_else(|| Scale::linear(ends(), true))),
            lines: lines.collect(),
            spread: Spread::Band,
            table: self.table(),
        };
        plot.draw(style)
    }
}
