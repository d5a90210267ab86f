//! Shows results: aligned tables for the terminal, figures, tables for papers, what they say in words, and a report in HTML.

pub mod export;
pub mod figure;

mod claims;
mod findings;
mod html;
mod optimality;
mod profile;
mod results;
mod summary;
mod terminal;

pub use claims::{Claim, Claims, Column, Metric, Selection, Taken, Verdict, claims_markdown, claims_of};
pub use findings::{finding_sentences, findings};
pub use html::{Report, ReportInput, Timelines, html_report};
pub use optimality::{Impossible, Optimality, OptimalityEntry, optimality_table};
pub use profile::{Profile, Profiles, profile_table};
pub use summary::{Entry, Scenario, SchedulerComparison, Summary};
pub use terminal::{bytes_text, failures_table, full_table, summary_tables, time_text};
