//! Keys of documents, as the documentation writes them: `a.b` is the key `b` of the object `a`, `a[]` stands for each item of
//! a list, and a word in capitals for any key.

use std::collections::BTreeSet;

use serde_json::Value;

/// The paths to all values of a document.
pub(crate) fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            let dot = if path.is_empty() { "" } else { "." };
            entries.iter().for_each(|(key, value)| paths(value, &format!("{path}{dot}{key}"), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        _ => _ = found.insert(path.to_owned()),
    }
}

/// Whether a path is that of a documented key. A value that is null or empty may end it early. A word in capitals at the
/// end may stand for the name of a file, which has dots.
pub(crate) fn is_of(path: &str, key: &str) -> bool {
    let (path, key): (Vec<_>, Vec<_>) = (path.split('.').collect(), key.split('.').collect());
    let is_wild = |known: &str| known.chars().all(|c| c.is_ascii_uppercase());
    let fits = |(found, known): (&&str, &&str)| {
        let any = known.trim_end_matches("[]");
        let wild = is_wild(any) && (any == *known || found.ends_with("[]"));
        found == known || wild || found.trim_end_matches("[]") == any
    };
    let may_go_on = key.last().is_some_and(|last| is_wild(last));
    (path.len() <= key.len() || may_go_on) && path.iter().zip(&key).all(fits)
}

/// The keys in the first cells of the table that follows in a text.
pub(crate) fn keys_of_table(text: &str) -> Vec<String> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with('|'));
    let cells: Vec<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
    cells.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Every path must be that of a documented key, and every documented key that of a path.
pub(crate) fn compare(place: &str, known: &[String], found: &BTreeSet<String>, unseen: &[&str]) {
    for path in found.iter().filter(|path| !path.is_empty()) {
        assert!(known.iter().any(|key| is_of(path, key)), "'{path}' is not in {place}: {known:?}");
    }
    for key in known.iter().filter(|key| !unseen.contains(&key.as_str())) {
        assert!(found.iter().any(|path| is_of(path, key)), "'{key}' of {place} is in nothing that was made");
    }
}
