//! Shows comparisons of runs: text for terminals, Markdown for pages and mails, JSON for programs.

mod numbers;
mod runs;

pub use runs::{comparison_json, comparison_markdown, comparison_text};
