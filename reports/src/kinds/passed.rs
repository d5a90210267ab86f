//! What passes bring.

use placebench_harness::results::grid::InstanceKey;
use placebench_harness::results::{Column, Table};
use placebench_harness::statistics::geometric_mean;
use polars::prelude::PolarsResult;

use crate::figure::{HeatCell, HeatMap, NamedFigure, Quantity, Unit};
use crate::scores::Scores;
use crate::words::capitalised;

/// Pass by placer: a placer's metric on graphs with the passes over its own on the same graphs without, as geometric mean over the
/// instances that have both.
pub(super) fn passes(scores: &Scores, table: &Table) -> PolarsResult<Vec<NamedFigure>> {
    let mut passes = table.distinct(Column::Passes)?;
    passes.retain(|passes| passes != Column::NO_PASSES);
    // For each instance with passes, which they are and the instance without.
    let pair = |here: usize| {
        let own = scores.key(here);
        let of_graph =
            |passes: &&String| own.graph.strip_suffix(passes.as_str()).and_then(|graph| graph.strip_suffix('+'));
        // Passes may end with what others are: the longest are those of the row.
        let used = passes.iter().filter(|passes| of_graph(passes).is_some()).max_by_key(|passes| passes.len())?;
        let without = InstanceKey { graph: of_graph(&used)?.to_owned(), ..own.clone() };
        let without = (0..scores.instances().len()).find(|&index| *scores.key(index) == without)?;
        Some((used, here, without))
    };
    let pairs: Vec<_> = (0..scores.instances().len()).filter_map(pair).collect();
    let shown: Vec<&String> = passes.iter().filter(|passes| pairs.iter().any(|(used, ..)| used == passes)).collect();
    if shown.is_empty() {
        return Ok(Vec::new());
    }
    let value = |placer: usize, instance: usize| scores.best(placer, instance)?.mean();
    let ratio = |placer: usize, with: usize, without: usize| {
        let (with, without) = (value(placer, with)?, value(placer, without)?);
        let ratio = if scores.metric().more_is_better() { without / with } else { with / without };
        // Nothing is a multiple of 0.
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    };
    let cell = |passes: &String, placer: usize| {
        let of_passes = pairs.iter().filter(|(used, ..)| *used == passes);
        let ratios = of_passes.filter_map(|&(_, with, without)| ratio(placer, with, without));
        HeatCell { value: geometric_mean(ratios), key: scores.placers[placer].clone() }
    };
    let placers = 0..scores.placers.len();
    let cells = shown.iter().map(|own| placers.clone().map(|placer| cell(own, placer)).collect()).collect();
    // A title that is a ratio itself is one thing.
    let title = scores.metric().title();
    let title = if title.contains(" / ") { format!("({title})") } else { title.to_string() };
    let what = match scores.metric().more_is_better() {
        true => format!("{title} without passes / {title}"),
        false => format!("{title} / {title} without passes"),
    };
    let of = "geometric mean over the instances that have both";
    Ok(vec![NamedFigure {
        name: format!("passes-{}", scores.metric().short()),
        caption: format!("{}, {of}, each placer with its best scheduler.", capitalised(&what)),
        figure: Box::new(HeatMap {
            title: format!("{}, {of}", capitalised(&what)),
            quantity: Quantity::new(format!("{title} / without"), Unit::One),
            row: "passes".into(),
            column: "placer".into(),
            rows: shown.into_iter().cloned().collect(),
            columns: scores.shown.clone(),
            cells,
            means: None,
            is_two_sided: true,
        }),
    }])
}
