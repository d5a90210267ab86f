//! The summary for the page: by placer and scenario, which row stands for it and how far it is from the best.

use serde_json::{Value, json};

use super::columns::number_text;
use super::kept::Kept;
use crate::Summary;

/// `{"scenarios": […], "placers": […], "shown": […], "marks": …, "mean": […], "ratio": [[…]], "makespan": …, "traffic": …, "seconds": …, "row": …}`,
/// matrices by placer, then by scenario. `row` is the first repetition of the best scheduler, or the first that failed.
pub(super) fn summary_json(summary: &Summary, kept: &Kept) -> String {
    let scenarios: Vec<Value> = (0..kept.scenarios)
        .map(|column| {
            let scenario = &summary.scenarios[column];
            json!([summary.label(column), scenario.graph, scenario.cluster, scenario.network])
        })
        .collect();
    let matrix = |value: &dyn Fn(usize, usize) -> Option<f64>, digits: usize| -> String {
        let text = |placer, column| value(placer, column).map_or_else(|| "null".to_owned(), |v| number_text(v, digits));
        let line = |placer| (0..kept.scenarios).map(|column| text(placer, column)).collect::<Vec<_>>().join(",");
        let lines: Vec<String> = (0..summary.placers.len()).map(|placer| format!("[{}]", line(placer))).collect();
        format!("[{}]", lines.join(","))
    };
    let entry = |placer: usize, column: usize| summary.entries[placer][column].as_ref();
    let means: Vec<String> = (0..summary.placers.len())
        .map(|placer| summary.mean_ratio(placer).map_or_else(|| "null".to_owned(), |mean| number_text(mean, 4)))
        .collect();
    format!(
        "{{\"scenarios\":{},\"placers\":{},\"shown\":{},\"marks\":{},\"common\":{},\"mean\":[{}],\"ratio\":{},\"makespan\":{},\"traffic\":{},\"seconds\":{},\"row\":{}}}",
        json!(scenarios),
        json!(summary.placers),
        json!(summary.placers.iter().map(|placer| summary.marks.shown(placer)).collect::<Vec<_>>()),
        json!(summary.marks.note()),
        summary.common_scenarios().len(),
        means.join(","),
        matrix(&|placer, column| summary.ratio(placer, column), 5),
        matrix(&|placer, column| Some(entry(placer, column)?.makespan), 5),
        matrix(&|placer, column| Some(entry(placer, column)?.traffic_bytes), 4),
        matrix(&|placer, column| Some(entry(placer, column)?.place_seconds), 3),
        matrix(&|placer, column| kept.entry(placer, column).map(|row| row as f64), 15),
    )
}
