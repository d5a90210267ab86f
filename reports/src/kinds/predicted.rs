//! Figures of what was predicted and what was measured.

use std::collections::BTreeSet;

use placebench_harness::compare::{ModelAgreement, agreements};
use placebench_harness::results::{Row, Status, Table};
use polars::prelude::PolarsResult;

use crate::agreement_text::measured_rows;
use crate::figure::{NamedFigure, PredictedPoint, Prediction, Unit};
use crate::scores::Scores;

/// A figure a graph, cluster, network and executor that was measured: against the network model of the least mean error.
pub(super) fn prediction(scores: &Scores, table: &Table) -> PolarsResult<Vec<NamedFigure>> {
    if scores.instances().iter().all(|instance| instance.key.executor.is_simulator()) {
        return Ok(Vec::new());
    }
    // The scores may be those of one network model of the table.
    let networks: BTreeSet<&str> = scores.instances().iter().map(|instance| instance.key.network.as_str()).collect();
    let mut rows = measured_rows(table)?;
    rows.retain(|row| networks.contains(row.network.as_str()));
    let all = agreements(&rows);
    let mut figures = Vec::new();
    for of_instance in all.chunk_by(|a, b| {
        (&a.graph, &a.cluster, &a.network, &a.executor) == (&b.graph, &b.cluster, &b.network, &b.executor)
    }) {
        // Of equals the one that gave the order.
        let rank = |line: &&ModelAgreement| (line.agreement.mean_error, line.model != line.network);
        let nearest = of_instance.iter().min_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        });
        let Some(nearest) = nearest else { continue };
        let is_here = |row: &&Row| {
            (&row.graph, &row.cluster, &row.network, &row.executor)
                == (&nearest.graph, &nearest.cluster, &nearest.network, &nearest.executor)
                && row.status == Status::Ok.name()
        };
        let schedulers: BTreeSet<&str> = rows.iter().filter(is_here).map(|row| row.scheduler.as_str()).collect();
        let name = |row: &Row| match schedulers.len() {
            1 => scores.marks.shown(&row.placer),
            _ => format!("{} {}", scores.marks.shown(&row.placer), row.scheduler),
        };
        let point = |row: &Row| {
            let measured = [row.makespan_least?, row.makespan?, row.makespan_largest?];
            let predicted = row.predictions.get(nearest.model)?.makespan?;
            let usable = predicted > 0.0 && measured[0] > 0.0;
            usable.then(|| PredictedPoint { name: name(row), predicted, measured, key: row.key().mark() })
        };
        let points: Vec<PredictedPoint> = rows.iter().filter(is_here).filter_map(point).collect();
        let Some(unit) = rows.iter().find(is_here).map(|row| Unit::of_time(&row.time_unit)) else { continue };
        let (graph, cluster, network) = (&nearest.graph, &nearest.cluster, &nearest.network);
        let (executor, model) = (&nearest.executor, nearest.model);
        figures.push(NamedFigure {
            name: format!("prediction-{graph}-{cluster}-{network}-{executor}"),
            caption: format!(
                "Makespans on {graph} and {cluster}: measured by {executor} (median, with the least and the largest) against \
                 predicted by {model}, the network model of the least mean error. On the dashed line the prediction is exact."
            ),
            figure: Box::new(Prediction {
                title: format!("{graph} on {cluster}, measured by {executor} in the order of {network}"),
                unit,
                model: model.to_owned(),
                points,
            }),
        });
    }
    Ok(figures)
}
