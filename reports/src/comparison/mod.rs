//! Shows comparisons, rankings and trends of runs: text for terminals, Markdown for pages and mails, JSON for programs.

mod numbers;
mod ranks;
mod runs;
mod trend;

pub(crate) use numbers::{counted, factor, probability};
pub use ranks::{ranking_notes, ranking_table, ranking_text};
pub(crate) use runs::comparison_html;
pub use runs::{ComparisonDocument, Limits, comparison_markdown, comparison_text};
pub use trend::{PlacerTrend, Trend};
