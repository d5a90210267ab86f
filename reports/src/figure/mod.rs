//! Figures: plain data in, a [`Drawing`] out, which is SVG, PNG, PDF, TikZ and a table.
//!
//! ```
//! use placebench_reports::figure::{Bar, Estimate, Figure, GroupedBars, Quantity, Style, Unit};
//! use placebench_harness::results::CellKey;
//!
//! let bar = |placer: &str, times: &[f64]| {
//!     let [graph, cluster, placer, scheduler] = ["rnn", "gpus", placer, "pct"].map(str::to_owned);
//!     let cell = CellKey { graph, cluster, placer, scheduler, ..CellKey::default() };
//!     vec![Some(Bar { value: Estimate::of(times), key: cell.mark() })]
//! };
//! let figure = GroupedBars {
//!     title: "rnn on gpus".into(),
//!     quantity: Quantity::new("makespan", Unit::Seconds),
//!     group: "placer".into(),
//!     one_series: "scheduler".into(),
//!     groups: vec!["hashing".into(), "heft".into()],
//!     series: vec!["pct".into()],
//!     bars: vec![bar("hashing", &[0.031, 0.034]), bar("heft", &[0.012, 0.012])],
//! };
//! let drawing = figure.draw(&Style::single_column());
//! assert!(drawing.to_svg().contains("data-key=\"rnn|gpus|heft|pct\""));
//! assert_eq!(drawing.table().rows.len(), 2);
//! ```

mod axis;
mod critical_difference;
mod drawing;
mod estimate;
mod executable_ops;
mod font;
mod from_run;
mod gantt;
mod grouped_bars;
mod hatch;
mod heat_map;
mod histogram;
mod legend;
mod lines;
mod load;
mod look;
mod marker;
mod noted;
mod outline;
mod pareto;
mod pdf;
mod performance_profile;
mod png;
mod point_labels;
mod prediction;
mod quantity;
mod scale;
mod statistics;
mod step;
mod style;
mod svg;
mod sweep;
mod tex;
mod trend;

pub use critical_difference::CriticalDifference;
pub use drawing::{Anchor, Area, Color, Datum, Drawing, Item, MARGIN, Paint, Shape, Step, Stroke, Text, Theme};
pub use estimate::Estimate;
pub use executable_ops::ExecutableOps;
pub use from_run::{colocation_histogram, executable_ops, gantt, load};
pub use gantt::{Gantt, GanttDevice, GanttRun, Moved, Task, TaskKind};
pub use grouped_bars::{Bar, GroupedBars};
pub use hatch::Hatch;
pub use heat_map::{HeatCell, HeatMap};
pub use histogram::Histogram;
pub use load::{Load, LoadedDevice};
pub use look::Look;
pub use marker::Marker;
pub(crate) use noted::Noted;
pub use pareto::{Pareto, ParetoPoint};
pub use performance_profile::PerformanceProfile;
pub use png::PngError;
pub use prediction::{PredictedPoint, Prediction};
pub use quantity::{Quantity, Unit};
pub use statistics::{RankTest, nemenyi_quantile, ranks_of};
pub use style::{ScaleChoice, Style};
pub use sweep::{Curve, Scaling, Sweep};
pub use tex::TexError;
pub use trend::TrendLines;

use crate::export::TextTable;

/// A figure's data, which can be drawn and listed.
pub trait Figure {
    /// Draws it.
    ///
    /// # Complexity
    /// O(data) unless the type says otherwise.
    fn draw(&self, style: &Style) -> Drawing;

    /// Its data: what the CSV beside it holds.
    fn table(&self) -> TextTable;

    /// Why it says nothing, so that a report of many figures leaves it out; `None` if it says something.
    fn says_nothing(&self) -> Option<String> {
        None
    }
}

/// A figure with a name for its file.
pub struct NamedFigure {
    /// Letters, digits, `-`, `_`, `.`: the file's name without its extension. Unique within what one call returns.
    pub name: String,
    /// What it shows, in one sentence: a caption.
    pub caption: String,
    /// The figure.
    pub figure: Box<dyn Figure>,
}

impl NamedFigure {
    /// A name that every file system takes, from a text.
    pub(crate) fn file_name(text: &str) -> String {
        let safe = |character: char| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => character,
            _ => '_',
        };
        let name: String = text.chars().map(safe).take(150).collect();
        name.trim_end_matches('_').to_owned()
    }
}
