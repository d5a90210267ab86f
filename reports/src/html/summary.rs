//! The summary for the page: by placer and scenario, which row stands for it and how far it is from the best.

use std::collections::BTreeMap;

use placebench_harness::results::Row;
use serde_json::{Value, json};

use super::columns::number_text;
use crate::Summary;

/// `{"scenarios": […], "placers": […], "mean": […], "ratio": [[…]], "makespan": …, "traffic": …, "seconds": …, "row": …}`,
/// matrices by placer, then by scenario. `row` is the first repetition of the best scheduler, or the first that failed.
pub(super) fn summary_json(summary: &Summary, rows: &[Row]) -> String {
    let scenarios: Vec<Value> = (0..summary.scenarios.len())
        .map(|column| {
            let scenario = &summary.scenarios[column];
            json!([summary.label(column), scenario.graph, scenario.cluster, scenario.network])
        })
        .collect();
    let mut first: BTreeMap<[&str; 5], usize> = BTreeMap::new();
    let mut failed: BTreeMap<[&str; 4], usize> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let key = [&*row.graph, &*row.cluster, &*row.network, &*row.placer];
        first.entry([key[0], key[1], key[2], key[3], &row.scheduler]).or_insert(index);
        if !row.is_ok() {
            failed.entry(key).or_insert(index);
        }
    }
    let row = |placer: usize, column: usize| -> Option<usize> {
        let (scenario, name) = (&summary.scenarios[column], &summary.placers[placer]);
        let key = [&*scenario.graph, &*scenario.cluster, &*scenario.network, &**name];
        match &summary.entries[placer][column] {
            Some(entry) => first.get(&[key[0], key[1], key[2], key[3], &entry.scheduler]).copied(),
            None => failed.get(&key).copied(),
        }
    };
    let matrix = |value: &dyn Fn(usize, usize) -> Option<f64>, digits: usize| -> String {
        let text = |placer, column| value(placer, column).map_or_else(|| "null".to_owned(), |v| number_text(v, digits));
        let line =
            |placer| (0..summary.scenarios.len()).map(|column| text(placer, column)).collect::<Vec<_>>().join(",");
        let lines: Vec<String> = (0..summary.placers.len()).map(|placer| format!("[{}]", line(placer))).collect();
        format!("[{}]", lines.join(","))
    };
    let entry = |placer: usize, column: usize| summary.entries[placer][column].as_ref();
    let means: Vec<String> = (0..summary.placers.len())
        .map(|placer| summary.mean_ratio(placer).map_or_else(|| "null".to_owned(), |mean| number_text(mean, 4)))
        .collect();
    format!(
        "{{\"scenarios\":{},\"placers\":{},\"common\":{},\"mean\":[{}],\"ratio\":{},\"makespan\":{},\"traffic\":{},\"seconds\":{},\"row\":{}}}",
        json!(scenarios),
        json!(summary.placers),
        summary.common_scenarios().len(),
        means.join(","),
        matrix(&|placer, column| summary.ratio(placer, column), 5),
        matrix(&|placer, column| Some(entry(placer, column)?.makespan), 5),
        matrix(&|placer, column| Some(entry(placer, column)?.traffic_bytes), 4),
        matrix(&|placer, column| Some(entry(placer, column)?.place_seconds), 3),
        matrix(&|placer, column| row(placer, column).map(|row| row as f64), 15),
    )
}
