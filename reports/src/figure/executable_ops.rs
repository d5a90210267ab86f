//! Executable ops on each device before it decides which to execute next (L Fig. 7.10).

use super::Figure;
use super::drawing::{Datum, Drawing};
use super::estimate::Estimate;
use super::lines::{Line, LinePlot, Point, Spread};
use super::look::Look;
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::style::Style;
use crate::export::{TextTable, number_text};

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
const POINTS: usize = 60;
/// The most devices that get lines of their own.
const MOST_DEVICES: usize = 24;

/// A point of a line: decision from 1, its place among the device's decisions from 0 to 1, and the executable ops.
type Place = (f64, f64, Estimate);

impl ExecutableOps {
    /// Names and points; a range only where devices are summarised.
    fn curves(&self) -> Vec<(String, Vec<Place>)> {
        let thinned = |choices: &[u32]| -> Vec<Place> {
            let width = choices.len().div_ceil(POINTS).max(1);
            let last = (choices.len().max(2) - 1) as f64;
            let bucket = |(index, own): (usize, &[u32])| {
                let sum: f64 = own.iter().map(|&count| f64::from(count)).sum();
                let first = (index * width) as f64;
                (first + 1.0, first / last, Estimate::exact(sum / own.len() as f64))
            };
            choices.chunks(width).enumerate().map(bucket).collect()
        };
        let curves: Vec<(String, Vec<Place>)> =
            self.devices.iter().map(|(name, choices)| (name.clone(), thinned(choices))).collect();
        if curves.len() <= MOST_DEVICES {
            return curves;
        }
        // Devices make different numbers of decisions: they meet at the same shares of them.
        let longest = curves.iter().max_by_key(|(_, points)| points.len()).map(|(_, points)| points.as_slice());
        let summary = longest.unwrap_or_default().iter().filter_map(|&(decision, share, _)| {
            let value = |points: &Vec<Place>| {
                let last = points.len().checked_sub(1)?;
                Some(points[(share * last as f64).round() as usize].2.mean)
            };
            let mut values: Vec<f64> = curves.iter().filter_map(|(_, points)| value(points)).collect();
            values.sort_by(f64::total_cmp);
            let (low, high) = (*values.first()?, *values.last()?);
            Some((decision, share, Estimate { mean: values[values.len() / 2], low, high, count: values.len() }))
        });
        vec![(format!("median and range of {} devices", curves.len()), summary.collect())]
    }
}

impl Figure for ExecutableOps {
    fn table(&self) -> TextTable {
        let mut table = TextTable::new(["device", "decision", "share_of_decisions", "executable_ops", "least", "most"]);
        for (name, points) in self.curves() {
            for (decision, share, value) in points {
                let numbers = [decision, share, value.mean, value.low, value.high].map(number_text);
                table.push([name.clone()].into_iter().chain(numbers));
            }
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        let curves = self.curves();
        let all = || curves.iter().flat_map(|(_, points)| points);
        let ends = || all().flat_map(|(_, _, value)| [value.low, value.high]);
        let mut sorted: Vec<f64> = all().map(|(_, _, value)| value.mean).collect();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        // Some devices choose from hundreds while others starve: both are to be seen.
        let most = ends().fold(0.0, f64::max);
        let log = style.scale.is_log(most > 30.0 && most > 10.0 * median).then(|| Scale::log(ends())).flatten();
        let lines = curves.iter().enumerate().map(|(number, (name, points))| {
            let mean = points.iter().map(|(_, _, value)| value.mean).sum::<f64>() / points.len().max(1) as f64;
            let decisions = self.devices.get(number).map_or(0, |(_, choices)| choices.len());
            let title = format!("{name}: {} executable ops on average, {decisions} decisions", number_text(mean));
            let point = |&(_, x, y): &Place| Point { x, y, datum: None };
            Line {
                name: name.clone(),
                look: Look::nth(number),
                points: points.iter().map(point).collect(),
                steps: false,
                datum: Some(Datum { key: name.clone(), title }),
            }
        });
        // A single line has no legend: the title says what it is.
        let summary = curves.first().filter(|_| self.devices.len() > MOST_DEVICES);
        let title = summary.map_or_else(|| self.title.clone(), |(name, _)| format!("{}; {name}", self.title));
        let plot = LinePlot {
            title: &title,
            x: (&Quantity::new("decisions of the device", Unit::Share), Scale::Linear { low: 0.0, high: 1.0 }),
            y: (&Quantity::new("executable ops", Unit::Count), log.unwrap_or_else(|| Scale::linear(ends(), true))),
            lines: lines.collect(),
            others: Vec::new(),
            spread: Spread::Band,
            table: self.table(),
        };
        plot.draw(style)
    }
}
