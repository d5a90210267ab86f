//! Shows results: aligned tables for the terminal, figures, tables for papers, what they say in words, and a report in HTML.

pub mod export;
pub mod figure;

mod agreement_text;
mod bibliography;
mod claims;
mod comparison;
mod findings;
mod html;
mod kinds;
mod marks;
mod metric_table;
mod optimality;
mod optimality_text;
mod profile;
mod reproduction;
mod scores;
mod summary;
mod terminal;
mod words;

pub use agreement_text::agreement_table;
pub use bibliography::{CitedWork, UsedThing, UsedThingsError, bibtex};
pub use claims::{
    CONTROLS, Checked, CheckedError, Claim, ClaimOutcome, ClaimRatio, ClaimRecord, ClaimVerdict, Claims,
    ClaimsDocument, Dimension, FigureOrder, OrderAgreement, OrderRecord, OrderValues, Part, Reading, ReadingOption,
    ReadingRecord, Repetitions, SOURCES, Standing, Taken, VerdictRecord, claims_markdown, claims_of, document,
};
pub use comparison::{
    ComparisonDocument, Limits, PlacerTrend, Trend, comparison_markdown, comparison_text, ranking_notes, ranking_table,
    ranking_text,
};
pub use findings::{finding_sentences, findings};
pub use html::{MOST_RUNS, Report, ReportInput, Timelines, comparison_report, html_report};
pub use kinds::{CellsError, FigureKind, UnknownFigure};
pub use marks::Marks;
pub use metric_table::{ColumnChoice, Float, MetricRecords, MetricTable, Spread};
pub use optimality::{Impossible, Optimality, OptimalityEntry};
pub use optimality_text::optimality_table;
pub use profile::{Profile, Profiles, profile_table};
pub use reproduction::{
    FigureEntry, Figures, Made, Outputs, Panel, ReproductionError, TableEntry, figures_of, training_steps,
    write_figures,
};
pub use scores::Sort;
pub use summary::{SchedulerComparison, Summary, SummaryEntry};
pub use terminal::{failures_table, full_table, summary_tables};
