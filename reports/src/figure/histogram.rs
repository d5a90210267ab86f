//! Histograms of sizes: colocation groups (L Fig. 6.1).

use super::Figure;
use super::drawing::Drawing;
use super::estimate::Estimate;
use super::grouped_bars::{Bar, GroupedBars};
use super::quantity::Quantity;
use super::scale::Scale;
use super::style::Style;
use crate::export::TextTable;

/// How many things have which size: bins 1, 2, 3–4, 5–8, … , each twice as wide as the one before; counts that span more
/// than a factor of a hundred are on a logarithmic axis. Empty bins have no bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// One line above the figure; may be empty.
    pub title: String,
    /// What has sizes: `colocation groups`.
    pub counted: Quantity,
    /// What the sizes are: `ops in a group`.
    pub size: String,
    /// Names and sizes, from 1, of each series: a graph's groups.
    pub series: Vec<(String, Vec<u64>)>,
}

impl Histogram {
    fn bars(&self) -> GroupedBars {
        let largest = self.series.iter().flat_map(|(_, sizes)| sizes).copied().max().unwrap_or(1);
        let bins = bin_of(largest) + 1;
        let mut bars = vec![vec![None; self.series.len()]; bins];
        for (series, (name, sizes)) in self.series.iter().enumerate() {
            let mut counts = vec![0usize; bins];
            for &size in sizes {
                counts[bin_of(size)] += 1;
            }
            for (bin, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
                let value = Some(Estimate::exact(count as f64));
                bars[bin][series] = Some(Bar { value, key: format!("{name}|{}", bin_name(bin)) });
            }
        }
        // From the first bin with something in it.
        let first = bars.iter().position(|bars| bars.iter().any(Option::is_some)).unwrap_or(0);
        bars.drain(..first);
        GroupedBars {
            title: self.title.clone(),
            quantity: self.counted.clone(),
            group: self.size.replace(' ', "_"),
            one_series: "graph".into(),
            groups: (first..bins).map(bin_name).collect(),
            series: self.series.iter().map(|(name, _)| name.clone()).collect(),
            bars,
        }
    }
}

impl Figure for Histogram {
    fn table(&self) -> TextTable {
        let table = self.bars().table();
        // Counts are exact: they have no deviation, and are no means of several.
        TextTable { header: table.header[..3].to_vec(), rows: table.rows.iter().map(|row| row[..3].to_vec()).collect() }
    }

    fn draw(&self, style: &Style) -> Drawing {
        let bars = self.bars();
        let most = bars
            .bars
            .iter()
            .flatten()
            .flatten()
            .filter_map(|bar| bar.value)
            .map(|value| value.mean)
            .fold(1.0, f64::max);
        let scale = match most > 100.0 {
            // Below 1, so that a count of 1 shows.
            true => Scale::Log { low: 0.5, high: most * 1.3 },
            false => Scale::Linear { low: 0.0, high: most * 1.04 },
        };
        let mut drawing = bars.draw_on(scale, Some(&self.size), style);
        drawing.table = self.table();
        drawing
    }
}

/// The bin of a size: 0 for 1, 1 for 2, 2 for 3 and 4, and so on.
fn bin_of(size: u64) -> usize {
    (u64::BITS - size.max(1).saturating_sub(1).leading_zeros()) as usize
}

fn bin_name(bin: usize) -> String {
    match bin {
        0 => "1".to_owned(),
        1 => "2".to_owned(),
        _ => format!("{}–{}", (1u64 << (bin - 1)) + 1, 1u128 << bin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_meet_without_gap_or_overlap() {
        let bins: Vec<usize> = [1, 2, 3, 4, 5, 8, 9, 16, 17].map(bin_of).to_vec();
        assert_eq!(bins, [0, 1, 2, 2, 3, 3, 4, 4, 5]);
        assert_eq!([0, 1, 2, 3].map(bin_name), ["1", "2", "3–4", "5–8"]);
        assert_eq!((bin_of(u64::MAX), bin_name(64).split('–').count()), (64, 2));
    }

    #[test]
    fn everything_is_counted_once() {
        let series = vec![("a".to_owned(), vec![1, 1, 2, 7, 300]), ("b".to_owned(), vec![5])];
        let counted = Quantity::new("colocation groups", super::super::Unit::One);
        let figure = Histogram { title: String::new(), counted, size: "ops in a group".into(), series };
        let counts: Vec<f64> = figure.table().rows.iter().map(|row| row[2].parse().unwrap()).collect();
        assert_eq!(counts.iter().sum::<f64>(), 6.0);
        assert_eq!(figure.draw(&Style::single_column()).marks().count(), figure.table().rows.len());
    }
}
