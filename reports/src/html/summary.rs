//! The summary for the page: by placer and scenario, which row stands for it and how far it is from the best.

use serde_json::{Value, json};

use super::columns::number_text;
use super::kept::Kept;
use crate::Summary;

/// `{"scenarios": […], "placers": […], "shown": […], "marks": …, "common": …, "order": […], "mean": […], "ratio": [[…]], "metric": …, "value": …, "traffic": …, "seconds": …, "row": …}`,
/// matrices by placer, then by scenario. `row` is the first repetition of the best scheduler, or the first that failed.
pub(super) fn summary_json(summary: &Summary, kept: &Kept) -> String {
    let scenarios: Vec<Value> = (0..kept.scenarios)
        .map(|column| {
            let scenario = &summary.instances[column];
            json!([summary.label(column), scenario.graph, scenario.cluster, scenario.network])
        })
        .collect();
    let matrix = |value: &dyn Fn(usize, usize) -> Option<f64>, digits: usize| -> String {
        let text = |placer, column| value(placer, column).map_or_else(|| "null".to_owned(), |v| number_text(v, digits));
        let line = |placer| (0..kept.scenarios).map(|column| text(placer, column)).collect::<Vec<_>>().join(",");
        let lines: Vec<String> = (0..summary.placers.len()).map(|placer| format!("[{}]", line(placer))).collect();
        format!("[{}]", lines.join(","))
    };
    // A ratio that is printed with few digits must not read as that of the best.
    let ratio =
        |placer, column| summary.ratio(placer, column).map(|ratio| if ratio > 1.0 { ratio.max(1.000_01) } else { 1.0 });
    let entry = |placer: usize, column: usize| summary.entries[placer][column].as_ref();
    let means: Vec<String> = (0..summary.placers.len())
        .map(|placer| summary.mean_ratio(placer).map_or_else(|| "null".to_owned(), |mean| number_text(mean, 4)))
        .collect();
    format!(
        "{{\"scenarios\":{},\"placers\":{},\"shown\":{},\"marks\":{},\"common\":{},\"order\":{},\"mean\":[{}],\"ratio\":{},\"metric\":{},\"value\":{},\"traffic\":{},\"seconds\":{},\"row\":{}}}",
        json!(scenarios),
        json!(summary.placers),
        json!(summary.placers.iter().map(|placer| summary.marks.shown(placer)).collect::<Vec<_>>()),
        json!(summary.marks.note()),
        summary.common().len(),
        json!(summary.order()),
        means.join(","),
        matrix(&ratio, 6),
        json!(summary.metric.title()),
        matrix(&|placer, column| Some(entry(placer, column)?.value), 5),
        matrix(&|placer, column| entry(placer, column)?.traffic_bytes, 4),
        matrix(&|placer, column| entry(placer, column)?.place_seconds, 3),
        matrix(&|placer, column| kept.entry(placer, column).map(|row| row as f64), 15),
    )
}

#[cfg(test)]
mod tests {
    use placebench_harness::results::Table;

    use super::*;
    use crate::summary::tests::rows;

    #[test]
    fn placers_stand_by_their_mean_after_their_failures_and_a_narrow_second_is_not_the_best() {
        let mut rows = rows();
        rows.retain(|row| row.graph == "a");
        for row in &mut rows {
            let factor = if row.placer == "heft" { 1.000_000_1 } else { 1.0 };
            row.makespan = Some(0.5 * factor);
        }
        let table = Table::new(&rows).unwrap();
        let (summary, grid) = Summary::with_grid(&table).unwrap();
        assert_eq!(summary.order(), [1, 0]);
        let json: Value =
            serde_json::from_str(&summary_json(&summary, &Kept::new(&table, &summary, &grid).unwrap())).unwrap();
        assert_eq!(json["ratio"][1][0], 1);
        assert_eq!(json["ratio"][0][0].as_f64(), Some(1.000_01));
        let failing = crate::summary::tests::table();
        assert_eq!(Summary::new(&failing).unwrap().order(), [0, 1]);
    }
}
