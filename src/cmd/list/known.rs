//! `list best-known`: the known solutions of the instances of collections.

use placebench::base::significant::time_text;
use placebench::harness::collection::{COLLECTIONS, Known, KnownRow};

use super::{Detail, Item};

/// For each instance with a known solution its best, and below it the others.
pub(super) fn items() -> anyhow::Result<Vec<Item>> {
    let mut items: Vec<Item> = Vec::new();
    for collection in &COLLECTIONS {
        for row in Known::built_in(collection)?.rows() {
            let name = format!("{}@{}", row.graph, row.cluster);
            let description = format!("{}, {}, by {} with {}", collection.name, worth(row), row.author, row.placer);
            match items.last_mut().filter(|last| last.name == name) {
                Some(best) => best.details.push(Detail { name: "also".to_owned(), description }),
                None => items.push(Item::new(&name, description)),
            }
        }
    }
    Ok(items)
}

/// A table for each collection with known solutions, with links to these, as in docs/BEST-KNOWN.md.
pub(super) fn markdown() -> anyhow::Result<String> {
    const HEAD: &str = "| graph | cluster | makespan | gap | period | found by | author | solution |\n\
                        |---|---|---|---|---|---|---|---|\n";
    let mut text = String::new();
    for collection in &COLLECTIONS {
        let known = Known::built_in(collection)?;
        let Some(KnownRow { network, kinds, memory, .. }) = known.rows().first() else { continue };
        let space = if text.is_empty() { "" } else { "\n" };
        let rules = format!("Network `{network}`, kinds `{kinds}`, memory `{memory}`.");
        text += &format!("{space}**{}**: {}.\n{rules}\n\n{HEAD}", collection.name, collection.title);
        text.extend(known.rows().iter().map(markdown_row));
    }
    Ok(text)
}

fn markdown_row(row: &KnownRow) -> String {
    let KnownRow { graph, cluster, placer, author, .. } = row;
    let time = |value: f64| time_text(value, &row.time_unit);
    let period = row.period.map(time).unwrap_or_default();
    let plain = |text: &str| text.replace('|', "\\|");
    let solution =
        format!("[{}](../harness/best-known/solutions/{})", &row.sha256[..row.sha256.len().min(8)], row.file());
    format!(
        "| {graph} | {cluster} | {} | {} | {period} | {} | {} | {solution} |\n",
        time(row.makespan),
        gap(row),
        plain(placer),
        plain(author)
    )
}

/// Makespan and gap.
fn worth(row: &KnownRow) -> String {
    format!("{}, gap {}", time_text(row.makespan, &row.time_unit), gap(row))
}

fn gap(row: &KnownRow) -> String {
    match row.gap() {
        _ if row.optimal => "1, optimal".to_owned(),
        Some(gap) => format!("{gap:.4}"),
        None => "?".to_owned(),
    }
}
