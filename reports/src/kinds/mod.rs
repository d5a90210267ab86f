//! The kinds of figures: one list from which `figure`, the report, the reproductions and the help take them.
//!
//! Placers are listed by their mean, or as the caller sorts them. Where a figure has no schedulers, a placer is shown with
//! the best of them, as the grid chooses it.

mod cells;
mod compare;
mod passed;
mod predicted;
mod series;

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use placebench_base::did_you_mean;
use placebench_harness::results::grid::GridError;
use placebench_harness::results::{Metric, Table};
use polars::prelude::PolarsResult;
use serde::Deserialize;

pub use cells::CellsError;

use crate::figure::{NamedFigure, Noted};
use crate::scores::{Scores, Sort};
use cells::{CellFigure, colocation, executable_figure, gantt_figure, load_figure, of_cells};

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Grouped bars: placers under schedulers.
    Bars,
    /// Grouped bars: placers on clusters.
    Clusters,
    /// Heat map: placer × scenario.
    Heat,
    /// Performance profiles.
    Profile,
    /// Quality against time to place.
    Pareto,
    /// Critical-difference diagram.
    Ranks,
    /// Against the number of devices.
    Scaling,
    /// Against a placer's parameter.
    Sweep,
    /// What each device does when.
    Gantt,
    /// See [`Load`](crate::figure::Load).
    Load,
    /// Executable ops on each device over its decisions.
    Executable,
    /// Sizes of colocation groups.
    Colocation,
    /// Predicted against measured makespans.
    Prediction,
    /// Passes: with them over without.
    Passes,
}

/// What is known of a kind.
struct About {
    kind: FigureKind,
    name: &'static str,
    doc: &'static str,
    needs: &'static str,
    in_report: InReport,
    draw: Draw,
}

/// How a report shows a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InReport {
    /// At once: it says something of the run as a whole.
    Open,
    /// Folded away, kinds with fewer figures first: there is one a graph or so.
    Folded(u8),
    /// Not at all: a cell's page has it.
    Never,
}

/// What a figure is drawn from.
enum Draw {
    /// From the rows.
    Rows(fn(&Scores, &Table) -> PolarsResult<Vec<NamedFigure>>),
    /// From cells, which are run again.
    Cell(CellFigure),
    /// From the graphs of the run in a folder.
    Graphs(fn(&Path) -> Result<Vec<NamedFigure>, CellsError>),
}

const A_CELL: &str = "it needs a cell that is ok and has the metric, and for ratios a best above 0";
const A_SIMULATED_CELL: &str = "it needs a cell that is ok and was simulated";
const A_CHOICE: &str = "placers that decide online leave devices nothing to choose; name another --cell";
const FAMILY: &str = "it needs a graph on clusters of one family, such as gtx1080x2 and gtx1080x4";
const GROUPS: &str = "none of its graphs has colocation groups";
const INSTANCES: &str = "it needs at least two placers and two graphs or clusters, whose best is above 0";
const CLUSTERS: &str = "it needs a graph on several clusters";
const MEASURED: &str = "it needs cells of an executor that measures, such as threads";
const PASSED: &str = "it needs graphs with passes and the same graphs without";
const PARAMETER: &str =
    "it needs a placer with several values of a parameter, such as scoring(alpha=1) and scoring(alpha=2)";

/// All kinds, in the order of the enum. A new kind is one file that draws it, and a line here.
static KINDS: [About; 14] = {
    use Draw::{Cell, Graphs, Rows};
    use FigureKind as Kind;
    use InReport::{Folded, Never, Open};
    const fn about(
        kind: Kind,
        name: &'static str,
        in_report: InReport,
        draw: Draw,
        needs: &'static str,
        doc: &'static str,
    ) -> About {
        About { kind, name, doc, needs, in_report, draw }
    }
    [
        about(
            Kind::Bars,
            "bars",
            Folded(3),
            Rows(|scores, _| Ok(scores.bars())),
            A_CELL,
            "Bars: placers under schedulers, a figure a graph and cluster",
        ),
        about(
            Kind::Clusters,
            "clusters",
            Folded(2),
            Rows(|scores, _| Ok(scores.clusters())),
            CLUSTERS,
            "Bars: placers on clusters, a figure a graph",
        ),
        about(
            Kind::Heat,
            "heat",
            Open,
            Rows(|scores, _| Ok(scores.heat())),
            A_CELL,
            "Heat map: placer by graph, relative to the best",
        ),
        about(Kind::Profile, "profile", Open, Rows(|scores, _| Ok(scores.profile())), A_CELL, "Performance profiles"),
        about(
            Kind::Pareto,
            "pareto",
            Open,
            Rows(|scores, _| Ok(scores.pareto())),
            A_CELL,
            "Quality against time to place",
        ),
        about(
            Kind::Ranks,
            "ranks",
            Open,
            Rows(|scores, _| Ok(scores.ranks())),
            INSTANCES,
            "Critical-difference diagram",
        ),
        about(
            Kind::Scaling,
            "scaling",
            Folded(1),
            Rows(|scores, _| Ok(scores.scaling())),
            FAMILY,
            "Against the number of devices",
        ),
        about(
            Kind::Sweep,
            "sweep",
            Folded(4),
            Rows(|scores, _| Ok(scores.sweeps())),
            PARAMETER,
            "Against a placer's parameter",
        ),
        about(Kind::Gantt, "gantt", Never, Cell(gantt_figure), A_CELL, "What each device does when, in one cell"),
        about(
            Kind::Load,
            "load",
            Never,
            Cell(load_figure),
            A_SIMULATED_CELL,
            "How long one sample keeps each device and the network busy, in one cell",
        ),
        about(
            Kind::Executable,
            "executable",
            Never,
            Cell(executable_figure),
            A_CHOICE,
            "Executable ops on each device over its decisions, in one cell",
        ),
        about(
            Kind::Colocation,
            "colocation",
            Never,
            Graphs(colocation),
            GROUPS,
            "Sizes of the colocation groups of the run's graphs",
        ),
        about(
            Kind::Prediction,
            "prediction",
            Open,
            Rows(predicted::prediction),
            MEASURED,
            "Predicted against measured makespans, a figure a graph, cluster and executor",
        ),
        about(
            Kind::Passes,
            "passes",
            Open,
            Rows(passed::passes),
            PASSED,
            "Heat map: passes by placer, relative to the graphs without",
        ),
    ]
};

/// No kind of figure has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of figure '{0}': {remedy}", remedy = did_you_mean(.0, FigureKind::all().map(FigureKind::name)))]
pub struct UnknownFigure(pub String);

impl FromStr for FigureKind {
    type Err = UnknownFigure;

    fn from_str(text: &str) -> Result<Self, UnknownFigure> {
        Self::all().find(|kind| kind.name() == text).ok_or_else(|| UnknownFigure(text.to_owned()))
    }
}

impl FigureKind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        KINDS.iter().map(|about| about.kind)
    }

    fn about(self) -> &'static About {
        &KINDS[self as usize]
    }

    /// The name on the command line, and the beginning of the files' names.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// What it shows, in one line.
    pub fn doc(self) -> &'static str {
        self.about().doc
    }

    /// What a run must have for it.
    pub fn needs(self) -> &'static str {
        self.about().needs
    }

    /// How a report shows it.
    pub(crate) fn in_report(self) -> InReport {
        self.about().in_report
    }

    /// Whether rows alone give it.
    pub fn is_of_rows(self) -> bool {
        matches!(self.about().draw, Draw::Rows(_))
    }

    /// The figures of this kind that the table has data for: none, one or many; none of a kind that needs more than rows.
    ///
    /// # Errors
    /// If Polars refuses.
    ///
    /// # Complexity
    /// O(rows · log rows) for each figure.
    pub fn of_rows(self, table: &Table, metric: Metric, sort: Sort) -> Result<Vec<NamedFigure>, GridError> {
        if !self.is_of_rows() {
            return Ok(Vec::new());
        }
        Ok(self.of_scores(&Scores::new(table, metric, &[Metric::PlaceSeconds], sort)?, table)?)
    }

    /// [`FigureKind::of_rows`] with the scores of the table.
    pub(crate) fn of_scores(self, scores: &Scores, table: &Table) -> PolarsResult<Vec<NamedFigure>> {
        let Draw::Rows(draw) = self.about().draw else { return Ok(Vec::new()) };
        if scores.placers.is_empty() || scores.instances().is_empty() {
            return Ok(Vec::new());
        }
        let mut figures = draw(scores, table)?;
        if let Some(note) = scores.marks.short_note() {
            let noted = |figure: NamedFigure| NamedFigure {
                figure: Box::new(Noted { figure: figure.figure, note: note.clone() }),
                ..figure
            };
            figures = figures.into_iter().map(noted).collect();
        }
        name_apart(&mut figures);
        Ok(figures)
    }

    /// The figures of this kind of the run in a folder. `table` has the rows that count; `cells` names those that are run
    /// again, by default the one of least makespan on the first graph.
    ///
    /// # Errors
    /// If the run's suite cannot be read, a cell does not exist or fails, or Polars refuses.
    pub fn of_run(
        self,
        run: &Path,
        table: &Table,
        metric: Metric,
        sort: Sort,
        cells: &[String],
    ) -> Result<Vec<NamedFigure>, CellsError> {
        let mut figures = match self.about().draw {
            Draw::Rows(_) => self.of_rows(table, metric, sort)?,
            Draw::Cell(draw) => of_cells(run, table, cells, draw)?,
            Draw::Graphs(draw) => draw(run)?,
        };
        name_apart(&mut figures);
        Ok(figures)
    }
}

/// Gives each figure a name that makes a file of its own, also where upper and lower case are the same: graphs `a/b` and
/// `a:b` would both be `a_b`.
fn name_apart(figures: &mut [NamedFigure]) {
    let mut taken = BTreeSet::new();
    for figure in figures {
        let name = NamedFigure::file_name(&figure.name);
        let numbered = |number: u32| if number > 1 { format!("{name}-{number}") } else { name.clone() };
        figure.name = (1..).map(numbered).find(|name| taken.insert(name.to_lowercase())).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_enum_and_names_are_those_of_files() {
        for (index, about) in KINDS.iter().enumerate() {
            assert_eq!(about.kind as usize, index, "{}", about.name);
            assert_eq!(about.name.parse(), Ok(about.kind));
            let text = format!("kind = '{}'", about.name);
            assert_eq!(toml::from_str::<BTreeMap<String, FigureKind>>(&text).unwrap()["kind"], about.kind);
        }
    }
}
