//! Shows results: aligned tables for the terminal, figures, tables for papers, what they say in words, and a report in HTML.

pub mod export;
pub mod figure;

mod claims;
mod comparison;
mod findings;
mod html;
mod optimality;
mod profile;
mod query;
mod reproduction;
mod results;
mod summary;
mod terminal;

pub use claims::{Claim, Claims, Outcome, SOURCES, Taken, Verdict, claims_markdown, claims_of};
pub use comparison::{
    PlacerTrend, Trend, comparison_json, comparison_markdown, comparison_text, ranking_json, ranking_notes,
    ranking_table, ranking_text,
};
pub use findings::{finding_sentences, findings};
pub use html::{Report, ReportInput, Timelines, html_report};
pub use optimality::{Impossible, Optimality, OptimalityEntry, optimality_table};
pub use profile::{Profile, Profiles, profile_table};
pub use query::{Column, Results, Selection};
pub use reproduction::{
    FigureEntry, Figures, Kind, Made, Outputs, Panel, ReproductionError, TableEntry, figures_of, write_figures,
};
pub use summary::{Entry, SchedulerComparison, Summary};
pub use terminal::{failures_table, full_table, summary_tables};
