//! The reproductions of all sources as one Markdown document.

use super::limits::Words;
use placebench_harness::suite::{RunPlan, Suite};

use super::print::{claims_markdown, markdown, wrapped};
use super::{Checked, Claims};
use crate::export::TextTable;
use crate::reproduction::printed_tables;

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
    cells: usize,
    /// Its tables of numbers, with their captions: ours beside the source's.
    tables: Vec<(String, TextTable)>,
}

impl Part {
    /// What became of the claims of a source in a run of its suite.
    ///
    /// # Errors
    /// If the suite cannot be planned, or a graph of a table cannot be made.
    pub fn new(name: &str, claims: Claims, checked: Checked, suite: Suite) -> Result<Self, String> {
        let tables = printed_tables(name, &suite)?;
        let cells = RunPlan::new(suite).map_err(|error| error.to_string())?.cells.len();
        Ok(Self { name: name.to_owned(), claims, checked, cells, tables })
    }
}

/// What stands before the verdicts of a source: setup and choices. It has no numbers of the run, which may change.
fn prose(name: &str) -> &'static str {
    match name {
        "laich2017" => include_str!("../../claims/laich2017.md"),
        "laich2017_seconds" => include_str!("../../claims/laich2017_seconds.md"),
        "bahnmueller2018" => include_str!("../../claims/bahnmueller2018.md"),
        "tolstobrov" => include_str!("../../claims/tolstobrov.md"),
        "abadi2015" => include_str!("../../claims/abadi2015.md"),
        _ => "",
    }
}

/// How to read the document, with the tables of words.
fn introduction() -> String {
    let words = Words::new().expect("a test reads the table");
    let text = include_str!("../../claims/introduction.md");
    text.replace("{limits}\n", &words.limits()).replace("{reasons}\n", &words.reasons())
}

/// The document, to be written beside the folder `reproduction` with the groups of each source.
pub fn document(parts: &[Part]) -> String {
    let mut text = introduction();
    for Part { name, claims, checked, cells, tables } in parts {
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
        for (caption, table) in tables {
            let caption = format!("{caption}: ours, and in brackets the source's where it differs.");
            text.push_str(&format!("\n{}\n\n{}", wrapped(&caption, ""), markdown(table, "--:")));
        }
    }
    text
}
