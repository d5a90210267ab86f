//! Writes the figures and tables of a source as files.

use std::path::{Path, PathBuf};

use placebench_harness::results::{self, Column};
use placebench_harness::suite::{RunPlan, Suite};

use polars::prelude::{col, lit};

use super::{FigureEntry, Figures, Panel, ReproductionError};
use super::{bars, curves, tables, timelines};
use crate::FigureKind;
use crate::export::{TextFormat, TextTable};
use crate::figure::{Drawing, Figure, Style};

/// Why a figure or table is missing that others of the suite could make.
const NOTHING: &str = "the run has nothing of it";
/// Dots per point in pictures: 300 an inch.
const PNG_SCALE: f64 = 300.0 / 72.0;

/// A figure or table, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// `Fig. 7.1`, `Table 7.1`.
    pub number: String,
    /// What it shows.
    pub caption: String,
    /// Its files, without extension, relative to the folder; or why it was not made.
    pub files: Result<Vec<String>, String>,
}

/// All figures and tables of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// In the order of the source, figures first.
    pub made: Vec<Made>,
    /// Tables of metrics with their captions.
    pub tables: Vec<(String, TextTable)>,
}

impl Outputs {
    /// The list as Markdown: number, caption, files or the reason why there are none.
    pub fn to_markdown(&self) -> String {
        let mut table = TextTable::new(["number", "caption", "files"]);
        for made in &self.made {
            let files = match &made.files {
                Ok(files) => files.join(", "),
                Err(reason) => format!("cannot be made: {reason}"),
            };
            table.push([made.number.clone(), made.caption.clone(), files]);
        }
        table.to_markdown()
    }
}

/// Makes all figures (SVG, PNG, and their data as CSV) and tables (Markdown, LaTeX, CSV) in a folder, with a list in
/// `README.md`. With several network models the figures of each are in a folder of its name.
///
/// A figure whose rows are not in the run, which may be a part of the suite, is listed with that as its reason.
///
/// # Errors
/// If a query does not fit its rows, a cell that is run again fails, or a file cannot be written.
pub fn write_figures(
    figures: &Figures,
    table: &results::Table,
    suite: &Suite,
    folder: &Path,
) -> Result<Outputs, ReproductionError> {
    let plan = RunPlan::new(suite.clone())
        .map_err(|error| ReproductionError::Panel { figure: "all".to_owned(), reason: error.to_string() })?;
    create(folder)?;
    let table = &table.filter(figures.only.expr())?;
    let networks = table.distinct(Column::Network)?;
    let mut outputs = Outputs::default();
    for figure in &figures.figures {
        let mut files = Vec::new();
        for network in networks.iter().filter(|_| figure.cannot_be_made.is_none()) {
            let under = if networks.len() > 1 { network.as_str() } else { "" };
            create(&folder.join(under))?;
            let maker = Maker { figures, plan: &plan, table: under_network(table, network)?, folder, under };
            for panel in &figure.panels {
                maker.panel(figure, panel, &mut files)?;
            }
        }
        let files = match &figure.cannot_be_made {
            Some(reason) => Err(reason.clone()),
            None if files.is_empty() => Err(NOTHING.to_owned()),
            None => Ok(files),
        };
        outputs.made.push(Made { number: format!("Fig. {}", figure.number), caption: figure.caption.clone(), files });
    }
    for entry in &figures.tables {
        let refused = |reason| ReproductionError::Table { table: entry.number.clone(), reason };
        let mut files = Vec::new();
        let mut save = |table: &TextTable, under: &str| {
            let name = PathBuf::from(under).join(format!("table-{}", entry.number)).display().to_string();
            for (format, extension) in
                [(TextFormat::Markdown, "md"), (TextFormat::Latex, "tex"), (TextFormat::Csv, "csv")]
            {
                let text = table.to_text(format, &entry.caption, &format!("tab:{}", entry.number));
                write(&folder.join(format!("{name}.{extension}")), text.as_bytes())?;
            }
            files.push(name);
            Ok::<(), ReproductionError>(())
        };
        match entry.metric {
            None => {
                let table = tables::properties(entry, suite).map_err(refused)?;
                if !table.rows.is_empty() {
                    save(&table, "")?;
                }
            }
            Some(metric) => {
                for network in &networks {
                    let under = if networks.len() > 1 { network.as_str() } else { "" };
                    let rows = under_network(table, network)?;
                    let table = tables::metric_table(figures, entry, metric, &rows).map_err(refused)?;
                    create(&folder.join(under))?;
                    save(&table, under)?;
                    let heading = [entry.caption.as_str(), under].join(", ");
                    outputs.tables.push((heading.trim_end_matches(", ").to_owned(), table));
                }
            }
        }
        let (number, caption) = (format!("TextTable {}", entry.number), entry.caption.clone());
        let files = if files.is_empty() { Err(NOTHING.to_owned()) } else { Ok(files) };
        outputs.made.push(Made { number, caption, files });
    }
    write(&folder.join("README.md"), outputs.to_markdown().as_bytes())?;
    Ok(outputs)
}

struct Maker<'a> {
    figures: &'a Figures,
    plan: &'a RunPlan,
    /// The rows under one network model.
    table: results::Table,
    folder: &'a Path,
    /// Folder within.
    under: &'a str,
}

impl Maker<'_> {
    fn panel(&self, figure: &FigureEntry, panel: &Panel, files: &mut Vec<String>) -> Result<(), ReproductionError> {
        let number = format!("{}{}", figure.number, panel.letter);
        let rows = self.table.filter(panel.only.expr())?;
        let mut parts: Vec<(Option<String>, results::Table)> = Vec::new();
        match panel.split {
            None => parts.push((None, rows)),
            Some(column) => {
                for value in rows.distinct(column)? {
                    let part = rows.filter(column.expr().eq(lit(value.as_str())))?;
                    parts.push((Some(value), part));
                }
            }
        }
        for (value, rows) in parts.into_iter().filter(|(_, rows)| rows.height() > 0) {
            let label = value.as_deref().map(|value| self.figures.label(value));
            let title = [panel.title.as_str(), label.as_deref().unwrap_or_default()]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(", ");
            let drawing = self
                .draw(panel, &rows, title)
                .map_err(|reason| ReproductionError::Panel { figure: number.clone(), reason })?;
            let name = match &value {
                None => format!("fig-{number}"),
                Some(value) => format!("fig-{number}-{}", file_name(value)),
            };
            let path = PathBuf::from(self.under).join(name);
            self.save(&drawing, &path)?;
            files.push(path.display().to_string());
        }
        Ok(())
    }

    fn draw(&self, panel: &Panel, rows: &results::Table, title: String) -> Result<Drawing, String> {
        let style = Style::double_column();
        match panel.kind {
            FigureKind::Bars => Ok(bars::bars(self.figures, panel, rows, title)?.draw(&style)),
            FigureKind::Scaling | FigureKind::Sweep => curves::curves(self.figures, panel, rows, title, &style),
            FigureKind::Gantt | FigureKind::Executable => timelines::timeline(panel, self.plan, rows, title, &style),
            other => Err(format!("a panel cannot be of the kind '{}'", other.name())),
        }
    }

    fn save(&self, drawing: &Drawing, path: &Path) -> Result<(), ReproductionError> {
        let path = self.folder.join(path);
        // Numbers have dots: the extension is added, not replaced.
        let with = |extension: &str| PathBuf::from(format!("{}.{extension}", path.display()));
        write(&with("svg"), drawing.to_svg().as_bytes())?;
        let picture = drawing.to_png(PNG_SCALE).map_err(|error| failed(&with("png"), &error))?;
        write(&with("png"), &picture)?;
        write(&with("csv"), drawing.table().to_csv().as_bytes())
    }
}

/// The rows under one network model.
fn under_network(table: &results::Table, network: &str) -> Result<results::Table, ReproductionError> {
    Ok(table.filter(col("network").eq(lit(network)))?)
}

/// A value as part of a file's name.
fn file_name(value: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
    value.trim_end_matches(')').chars().map(plain).collect()
}

fn create(folder: &Path) -> Result<(), ReproductionError> {
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ReproductionError> {
    std::fs::write(path, bytes).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> ReproductionError {
    ReproductionError::Io { path: path.display().to_string(), reason: error.to_string() }
}
