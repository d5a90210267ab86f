//! The reproductions of all sources as one Markdown document.

use super::print::{claims_markdown, wrapped};
use super::{Checked, Claims};

/// A source in the document.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the source.
    pub name: String,
    /// Its claims.
    pub claims: Claims,
    /// What became of them.
    pub checked: Checked,
    /// Cells of its suite.
    pub cells: usize,
}

/// What stands before the verdicts of a source: setup and choices. It has no numbers of the run, which may change.
fn prose(name: &str) -> &'static str {
    match name {
        "laich2017" => include_str!("../../claims/laich2017.md"),
        "laich2017_seconds" => include_str!("../../claims/laich2017_seconds.md"),
        "bahnmueller2018" => include_str!("../../claims/bahnmueller2018.md"),
        "tolstobrov" => include_str!("../../claims/tolstobrov.md"),
        _ => "",
    }
}

/// The document, to be written beside the folder `reproduction` with the groups of each source.
pub fn document(parts: &[Part]) -> String {
    let mut text = include_str!("../../claims/introduction.md").to_owned();
    for Part { name, claims, checked, cells } in parts {
        text.push_str(&format!("\n## {}\n\n{}\n\n", claims.title, wrapped(&format!("{}.", claims.source), "")));
        let threads = match claims.threads {
            Some(1) => ", on one thread, so that no other cell disturbs the seconds",
            _ => "",
        };
        let about = format!(
            "Suite [`{name}`](../harness/suites/{name}.toml) ({cells} cells{threads}), claims \
             [`{name}.toml`](../reports/claims/{name}.toml), every ratio with its interval \
             [`{name}.tsv`](reproduction/{name}.tsv); `placebench reproduce {name}` makes them and the figures.",
        );
        text.push_str(&format!("{}\n\n{}\n{}", wrapped(&about, ""), prose(name), claims_markdown(claims, checked)));
    }
    text
}
