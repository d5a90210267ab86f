//! The rows as compact columns of JSON.
//!
//! A column is `[value, …]`, or `{"d": [distinct, …], "i": [index, …]}` where that is shorter, or `{"c": value}` if all
//! values are equal. Numbers keep as many digits as mean something: counts and bytes all, simulated times and ratios six
//! significant ones, wall-clock seconds three. Seeds are texts, since JavaScript has no whole numbers of 64 bits.

use std::collections::BTreeMap;
use std::fmt::Write;

use placebench_harness::results::{ColumnInfo, Content, Row};
use serde_json::{Value, json};

/// Significant digits; `None` for all.
fn digits(content: Content) -> Option<usize> {
    match content {
        Content::Text | Content::Count | Content::Bytes => None,
        Content::Time | Content::Ratio | Content::Share => Some(6),
        Content::Seconds => Some(3),
    }
}

/// What is said of each column, in order: `[[name, content, header, meaning], …]`.
pub(super) fn about_json() -> String {
    let list: Vec<Value> = ColumnInfo::all()
        .map(|column| json!([column.name, column.content.name(), column.title, column.meaning()]))
        .collect();
    Value::from(list).to_string()
}

/// All rows: `{"column": …, …}`.
pub(super) fn columns_json(rows: &[Row]) -> String {
    // By the row's own serialisation, so that a new column needs no line here.
    let rows: Vec<Value> = rows.iter().map(|row| serde_json::to_value(row).unwrap_or_default()).collect();
    let mut json = String::from("{");
    for (index, ColumnInfo { name, content, .. }) in ColumnInfo::all().enumerate() {
        let values: Vec<String> = rows.iter().map(|row| value_text(&row[&*name], content)).collect();
        let comma = if index > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(json, "{comma}\"{name}\":{}", shortest(&values));
    }
    json.push('}');
    json
}

fn value_text(value: &Value, content: Content) -> String {
    match (value, digits(content)) {
        (Value::Number(number), Some(digits)) => number_text(number.as_f64().unwrap_or_default(), digits),
        (Value::Number(number), None) if content == Content::Text => format!("\"{number}\""),
        (value, _) => value.to_string(),
    }
}

/// A number with at most `digits` significant digits, in its shortest form.
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
        for ColumnInfo { name, content, .. } in ColumnInfo::all() {
            for (index, row) in rows.iter().enumerate() {
                let expected = serde_json::to_value(row).unwrap()[&*name].clone();
                let found = decode(&json[&*name], index);
                match digits(content) {
                    _ if name == "seed" => assert_eq!(found, expected.to_string()),
                    Some(digits) if expected.is_number() => {
                        let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
                        assert!((found - expected).abs() <= expected.abs() * 0.5 * 10f64.powi(1 - digits as i32));
                    }
                    _ => assert_eq!(found, expected, "{name} of row {index}"),
                }
            }
        }
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let texts = [123456789.0, 0.000012345678, 0.5, 100.0, 1e30, 0.0, -2.5, f64::NAN].map(|x| number_text(x, 6));
        assert_eq!(texts, ["123457000", "1.23457e-5", "0.5", "100", "1e30", "0", "-2.5", "null"]);
    }
}
