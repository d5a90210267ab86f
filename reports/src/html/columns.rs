//! The rows as compact columns of JSON.
//!
//! A column is `[value, …]`, or `{"d": [distinct, …], "i": [index, …]}` where that is shorter, or `{"c": value}` if all
//! values are equal. Numbers keep as many digits as mean something: counts and bytes all, simulated times and ratios six
//! significant ones, wall-clock seconds three. Seeds are texts, since JavaScript has no whole numbers of 64 bits.

use std::collections::BTreeMap;
use std::fmt::Write;

use placebench_harness::results::{Predictions, Row};
use serde_json::Value;

/// What a column holds, which decides its digits here and its unit on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Names and messages.
    Text,
    /// A whole number of things.
    Count,
    /// Simulated time in the row's unit.
    Time,
    /// Bytes.
    Bytes,
    /// A number without unit.
    Ratio,
    /// A ratio of at most 1, shown in per cent.
    Share,
    /// Wall-clock seconds.
    Seconds,
}

impl Content {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Count => "count",
            Self::Time => "time",
            Self::Bytes => "bytes",
            Self::Ratio => "ratio",
            Self::Share => "share",
            Self::Seconds => "seconds",
        }
    }

    /// Significant digits; `None` for all.
    fn digits(self) -> Option<usize> {
        match self {
            Self::Text | Self::Count | Self::Bytes => None,
            Self::Time | Self::Ratio | Self::Share => Some(6),
            Self::Seconds => Some(3),
        }
    }
}

/// What is said of a column: name, content, header, meaning.
type About = (&'static str, Content, &'static str, &'static str);

/// What a column of predictions begins with: prefix, content, header, meaning; the name of a network model follows.
const PREDICTED: [About; 2] = [
    (
        "predicted_",
        Content::Time,
        "predicted by ",
        "makespan that the model predicts for the measured placement and order",
    ),
    ("prediction_error_", Content::Ratio, "error of ", "predicted / measured makespan − 1"),
];

/// The columns that a reader is told about. A column that is not among them is shown as a ratio under its own name.
const ABOUT: &[About] = &[
    ("suite", Content::Text, "suite", "name of the suite"),
    ("graph", Content::Text, "graph", "name of the graph in the suite"),
    ("cluster", Content::Text, "cluster", "name of the cluster in the suite"),
    ("devices", Content::Count, "devices", "devices of the cluster"),
    ("kinds", Content::Text, "kinds", "makespans with different choices of kinds do not compare"),
    ("memory", Content::Text, "memory rule", "static: demands; peak: the run's most bytes at once; unlimited"),
    ("placer", Content::Text, "placer", "the placer: the suite's name for it, else with the parameters given"),
    ("placer_spec", Content::Text, "specification", "the placer with the parameters given, where the suite names it"),
    ("scheduler", Content::Text, "scheduler", "the scheduler with the parameters given"),
    ("network", Content::Text, "network", "makespans under different network models do not compare"),
    ("executor", Content::Text, "executor", "what executed the placement; makespans of different ones do not compare"),
    ("repetition", Content::Count, "repetition", "from 0"),
    ("seed", Content::Text, "seed", "graphs, costs and random placers draw from it"),
    ("status", Content::Text, "status", "how the cell ended"),
    ("error", Content::Text, "error", "why, unless ok"),
    ("ops", Content::Count, "ops", "of the graph"),
    ("edges", Content::Count, "edges", "of the graph"),
    ("time_unit", Content::Text, "time unit", "unit of the simulated times"),
    ("makespan", Content::Time, "makespan", "when the last device finishes"),
    ("makespan_least", Content::Time, "least makespan", "of the repetitions, if measured"),
    ("makespan_largest", Content::Time, "largest makespan", "of the repetitions, if measured"),
    ("makespan_odd", Content::Time, "odd makespan", "median of the first, third, … repetition, if measured"),
    ("makespan_even", Content::Time, "even makespan", "median of the second, fourth, … repetition, if measured"),
    ("time_scale", Content::Ratio, "time scale", "real seconds that a time unit took, if measured"),
    ("slr", Content::Ratio, "SLR", "makespan / least time of the critical path"),
    ("speedup", Content::Ratio, "speedup", "makespan of single_device / makespan"),
    ("efficiency", Content::Share, "efficiency", "speedup / devices that ops may run on"),
    ("lower_bound", Content::Time, "lower bound", "the largest lower bound on the makespan"),
    ("bound", Content::Text, "bound", "which lower bound that is"),
    ("gap", Content::Ratio, "gap", "makespan / lower bound"),
    ("planned_makespan", Content::Time, "planned makespan", "what the placer planned, if it made a schedule"),
    (
        "assumptions_broken",
        Content::Text,
        "assumptions broken",
        "what the placer's authors assume and this instance breaks",
    ),
    ("repaired", Content::Count, "repaired", "units that were moved to make the placement feasible"),
    ("traffic_bytes", Content::Bytes, "traffic", "moved between devices, each tensor once a destination"),
    ("cut_bytes", Content::Bytes, "cut", "on edges between devices, each edge counted"),
    ("transfers", Content::Count, "transfers", "send/receive pairs"),
    ("cut_edges", Content::Count, "cut edges", "edges between devices"),
    ("load_imbalance", Content::Ratio, "load imbalance", "largest / mean busy time of the devices"),
    ("utilization", Content::Share, "utilization", "busy time / (devices · makespan)"),
    ("idle_time", Content::Time, "idle time", "summed over devices"),
    ("peak_memory_bytes", Content::Bytes, "peak memory", "largest peak of a device"),
    ("devices_used", Content::Count, "devices used", "devices with at least one op"),
    ("executable_mean", Content::Ratio, "executable", "mean number of tasks that a device can choose from"),
    ("hardware", Content::Text, "hardware", "what a measured run ran on"),
    ("execution", Content::Text, "execution", "how a measured run ran"),
    ("other_load", Content::Share, "other load", "processor time that others used while it was measured"),
    ("warm_ups", Content::Count, "warm-ups", "runs before the first that counts, if measured"),
    ("repetitions", Content::Count, "repetitions", "runs that count, if measured"),
    ("place_seconds", Content::Seconds, "time to place", "wall clock; the same for all schedulers of a placement"),
    ("simulate_seconds", Content::Seconds, "time to simulate", "wall clock"),
    ("peak_rss_bytes", Content::Bytes, "peak RSS", "resident memory of the whole process so far"),
    ("host", Content::Text, "host", "what ran the cell"),
    ("processor", Content::Text, "processor", "of the host; seconds of different ones do not compare"),
    ("commit", Content::Text, "commit", "that placebench was built from"),
];

/// The names of all columns, in order.
fn columns() -> Vec<String> {
    Row::COLUMNS.iter().map(|&name| name.to_owned()).chain(Predictions::columns()).collect()
}

/// Content, header and meaning of a column.
fn about(column: &str) -> (Content, String, String) {
    let known = ABOUT.iter().find(|about| about.0 == column).map(|about| (*about, ""));
    let predicted = || PREDICTED.iter().find_map(|about| Some((*about, column.strip_prefix(about.0)?)));
    match known.or_else(predicted) {
        Some(((_, content, header, meaning), model)) => (content, format!("{header}{model}"), meaning.to_owned()),
        None => (Content::Ratio, column.to_owned(), String::new()),
    }
}

/// What is said of each column, in order: `[[name, content, header, meaning], …]`.
pub(super) fn about_json() -> String {
    let said = |name: String| {
        let (content, header, meaning) = about(&name);
        [name, content.name().to_owned(), header, meaning]
    };
    let list: Vec<[String; 4]> = columns().into_iter().map(said).collect();
    serde_json::json!(list).to_string()
}

/// All rows: `{"column": …, …}`.
pub(super) fn columns_json(rows: &[Row]) -> String {
    // By the row's own serialisation, so that a new column needs no line here.
    let rows: Vec<Value> = rows.iter().map(|row| serde_json::to_value(row).unwrap_or_default()).collect();
    let mut json = String::from("{");
    for (index, column) in columns().iter().enumerate() {
        let content = about(column).0;
        let values: Vec<String> = rows.iter().map(|row| value_text(&row[column.as_str()], content)).collect();
        let comma = if index > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(json, "{comma}\"{column}\":{}", shortest(&values));
    }
    json.push('}');
    json
}

fn value_text(value: &Value, content: Content) -> String {
    match (value, content.digits()) {
        (Value::Number(number), Some(digits)) => number_text(number.as_f64().unwrap_or_default(), digits),
        (Value::Number(number), None) if content == Content::Text => format!("\"{number}\""),
        (value, _) => value.to_string(),
    }
}

/// A number with at most so many significant digits, in its shortest form.
pub(super) fn number_text(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value);
    if rounded == 0.0 {
        return "0".to_owned();
    }
    let (plain, scientific) = (format!("{rounded}"), format!("{rounded:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}

fn shortest(values: &[String]) -> String {
    let mut distinct: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for value in values {
        distinct.entry(value).or_insert_with(|| {
            order.push(value);
            order.len() - 1
        });
    }
    if let [only] = order[..] {
        return format!("{{\"c\":{only}}}");
    }
    let plain = format!("[{}]", values.join(","));
    let indices: Vec<String> = values.iter().map(|value| distinct[value.as_str()].to_string()).collect();
    let coded = format!("{{\"d\":[{}],\"i\":[{}]}}", order.join(","), indices.join(","));
    if coded.len() < plain.len() { coded } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::rows;

    /// The value of a row in a column, whichever way it is coded.
    fn decode(column: &Value, row: usize) -> Value {
        match column {
            Value::Array(values) => values[row].clone(),
            Value::Object(coded) => match coded.get("c") {
                Some(value) => value.clone(),
                None => coded["d"][coded["i"][row].as_u64().unwrap() as usize].clone(),
            },
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_columns_say_what_the_rows_say() {
        let mut rows = rows();
        rows[0].seed = u64::MAX;
        rows[1].traffic_bytes = Some((1 << 53) - 1);
        rows[2].makespan = Some(1.0 / 3.0);
        rows[3].graph = "</script>\u{2028}\"".to_owned();
        let json: Value = serde_json::from_str(&columns_json(&rows)).unwrap();
        for column in &columns() {
            for (index, row) in rows.iter().enumerate() {
                let expected = serde_json::to_value(row).unwrap()[column.as_str()].clone();
                let found = decode(&json[column.as_str()], index);
                match about(column).0.digits() {
                    _ if *column == "seed" => assert_eq!(found, expected.to_string()),
                    Some(digits) if expected.is_number() => {
                        let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
                        assert!((found - expected).abs() <= expected.abs() * 0.5 * 10f64.powi(1 - digits as i32));
                    }
                    _ => assert_eq!(found, expected, "{column} of row {index}"),
                }
            }
        }
    }

    #[test]
    fn a_reader_is_told_what_every_column_means() {
        for column in columns() {
            assert!(!about(&column).2.is_empty(), "say in ABOUT what {column} means");
        }
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let texts = [123456789.0, 0.000012345678, 0.5, 100.0, 1e30, 0.0, -2.5, f64::NAN].map(|x| number_text(x, 6));
        assert_eq!(texts, ["123457000", "1.23457e-5", "0.5", "100", "1e30", "0", "-2.5", "null"]);
    }
}
