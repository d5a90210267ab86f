//! The order of placers that a figure of the source shows, and how far ours agrees with it.

use std::collections::BTreeMap;

use placebench_harness::results::grid::GridError;
use placebench_harness::results::{Column, Filter, Metric, values};
use polars::prelude::*;
use serde::Deserialize;

use super::cells::CellsOf;

/// The order of placers that a source gives for a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureOrder {
    /// The figure in the source.
    pub figure: String,
    /// What the source says, from which the order is read.
    pub text: String,
    /// What they are ordered by, the least first.
    pub metric: Metric,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Filter,
    /// Columns that make orders of their own, such as the graph.
    pub each: Vec<Column>,
    /// The placers in the order of the source. Those of one list are not told apart there.
    pub placers: Vec<Vec<String>>,
}

/// What a run has for an order: by what makes orders of their own, the value of each placer, the mean over its draws.
pub type OrderValues = BTreeMap<String, BTreeMap<String, f64>>;

/// How an order of ours agrees with that of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderAgreement {
    /// Kendall's τ over the pairs of placers that the source tells apart: (agree − differ) / pairs. A pair that is equal here
    /// counts for neither.
    pub tau: f64,
    /// The pairs of the source, the first first, that are the other way round or equal here.
    pub differ: Vec<(String, String)>,
    /// Pairs that were compared.
    pub pairs: usize,
}

impl FigureOrder {
    /// The values of the placers by the metric, which may stand for the order's own.
    ///
    /// # Errors
    /// If a cell is in the table twice, or Polars refuses.
    ///
    /// # Complexity
    /// O(rows).
    pub(super) fn values(&self, cells: &mut CellsOf, metric: Metric) -> Result<OrderValues, GridError> {
        let frame = cells.by(metric, None)?;
        let mut wanted: Vec<Expr> =
            self.each.iter().enumerate().map(|(index, column)| column.expr().alias(format!("each{index}"))).collect();
        wanted.extend([Column::Placer.expr().alias("name"), col("placer_spec"), col("value")]);
        let frame = frame.lazy().filter(self.only.expr()).select(wanted).collect()?;
        let each = (0..self.each.len()).map(|index| values::<String>(&frame, &format!("each{index}")));
        let each = each.collect::<PolarsResult<Vec<_>>>()?;
        let (names, specs) = (values::<String>(&frame, "name")?, values::<String>(&frame, "placer_spec")?);
        let numbers = values::<f64>(&frame, "value")?;
        let mut sums: BTreeMap<String, BTreeMap<String, (f64, u32)>> = BTreeMap::new();
        for row in 0..frame.height() {
            let listed = self.placers.iter().flatten().find(|placer| [&names[row], &specs[row]].contains(placer));
            let Some(placer) = listed else { continue };
            let label = each.iter().map(|column| column[row].as_str()).collect::<Vec<_>>().join(" ");
            let (sum, count) = sums.entry(label).or_default().entry(placer.clone()).or_default();
            (*sum, *count) = (*sum + numbers[row], *count + 1);
        }
        let mean = |(placer, (sum, count)): (String, (f64, u32))| (placer, sum / f64::from(count));
        Ok(sums.into_iter().map(|(label, of)| (label, of.into_iter().map(mean).collect())).collect())
    }

    /// How the values agree with the source; `None` if fewer than two placers that it tells apart have any.
    ///
    /// # Reference
    /// M. G. Kendall, *A new measure of rank correlation*, Biometrika 30, 1938, 81–93.
    pub fn agreement(&self, values: &BTreeMap<String, f64>) -> Option<OrderAgreement> {
        let (mut agree, mut pairs, mut differ) = (0usize, 0usize, Vec::new());
        for (rank, better) in self.placers.iter().enumerate() {
            for (first, second) in
                better.iter().flat_map(|a| self.placers[rank + 1..].iter().flatten().map(move |b| (a, b)))
            {
                let (Some(a), Some(b)) = (values.get(first), values.get(second)) else { continue };
                pairs += 1;
                if placebench_datasets::is_less(*a, *b) {
                    agree += 1;
                } else {
                    differ.push((first.clone(), second.clone()));
                }
            }
        }
        let equal = differ.iter().filter(|(a, b)| placebench_datasets::is_equal(values[a], values[b])).count();
        let reversed = differ.len() - equal;
        (pairs > 0).then(|| OrderAgreement { tau: (agree as f64 - reversed as f64) / pairs as f64, differ, pairs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::table;

    fn order(placers: &str) -> FigureOrder {
        toml::from_str(&format!(
            "figure = '1'\ntext = 't'\nmetric = 'makespan'\neach = ['graph']\nwhere = {{scheduler = ['pct']}}\nplacers = {placers}"
        ))
        .unwrap()
    }

    #[test]
    fn tau_counts_the_pairs_that_the_source_tells_apart() {
        let values: BTreeMap<String, f64> =
            [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 3.0)].map(|(name, value)| (name.to_owned(), value)).into();
        let agreement = |placers: &str| order(placers).agreement(&values);
        let full = agreement("[['a'], ['b'], ['c']]").unwrap();
        assert_eq!((full.tau, full.pairs, full.differ), (1.0, 3, vec![]));
        let turned = agreement("[['c'], ['b'], ['a']]").unwrap();
        assert_eq!((turned.tau, turned.differ.len()), (-1.0, 3));
        // b and a are not told apart, and c and d are equal here.
        let partly = agreement("[['b', 'a'], ['c'], ['d'], ['nobody']]").unwrap();
        assert_eq!((partly.tau, partly.pairs), (4.0 / 5.0, 5));
        assert_eq!(partly.differ, [("c".to_owned(), "d".to_owned())]);
        assert_eq!(agreement("[['a', 'b']]"), None);
    }

    #[test]
    fn values_are_means_over_draws_of_what_is_listed() {
        let found = order("[['heft'], ['random']]").values(&mut CellsOf::new(table()), Metric::Makespan).unwrap();
        assert_eq!(found["a"], [("heft".to_owned(), 0.01), ("random".to_owned(), 0.02)].into());
        // On b a draw of random failed.
        assert_eq!(found["b"].keys().collect::<Vec<_>>(), ["heft"]);
    }
}
