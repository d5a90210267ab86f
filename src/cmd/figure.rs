//! `placebench figure`: the figures of a run, as SVG, PNG, PDF or TikZ, with their data beside them.

use crate::output::Exit;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use placebench::harness::results::{Metric, Table};
use placebench::reports::figure::{Drawing, Figure, NamedFigure, ScaleChoice, Style, Theme};
use placebench::reports::{FigureKind, MetricTable, Sort, Spread};
use serde::Serialize;

use super::csv::CsvArgs;
use super::filter::Where;
use super::once;
use crate::output::{Form, complain, one_line, shown, write_file};

/// Arguments of `figure`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of a run.
    run: PathBuf,

    /// Kinds of figures, separated by commas [default: all that the run has data for, but for kinds with more than 200
    /// figures].
    #[arg(long, short, value_delimiter = ',', value_parser = kinds())]
    kind: Vec<FigureKind>,

    /// What bars, lines and ranks are about: makespan, slr, speedup, gap, traffic, imbalance, utilization, memory,
    /// executable, place_time, or another number of a row by the name of its column
    /// [default: makespan, or period where all cells were placed for the period].
    #[arg(long, short)]
    metric: Option<Metric>,

    #[command(flatten)]
    only: Where,

    /// How placers are listed: by their mean, the best first, by name, or as the suite names them (mean, name, suite).
    #[arg(long, value_name = "ORDER", default_value_t)]
    sort: Sort,

    /// The cell that gantt, load and executable show, as graph/placer/scheduler or graph@cluster/placer/scheduler, and /executor
    /// behind it where several execute it; may be given several times [default: the best on the run's first graph].
    #[arg(long, value_name = "CELL")]
    cell: Vec<String>,

    /// Where the figures go [default: the folder `figures` in the run's].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// File formats, separated by commas; the data are always written too, as CSV.
    #[arg(long, short, value_enum, value_delimiter = ',', default_value = "svg")]
    format: Vec<Format>,

    #[command(flatten)]
    csv: CsvArgs,

    /// How wide figures are: one column of a paper (84 mm) or both (174 mm).
    #[arg(long, value_enum, default_value_t = Width::Double)]
    width: Width,

    /// The page that figures stand on.
    #[arg(long, value_enum, default_value_t = Page::Light)]
    page: Page,

    /// The axes of results: logarithmic where values lie far apart, or always linear, or always logarithmic.
    #[arg(long, value_enum, default_value_t = Axes::Auto)]
    scale: Axes,

    /// Leaves out the titles above the figures: a paper has captions.
    #[arg(long)]
    no_title: bool,

    /// Writes the texts of SVG as paths: for programs that know neither Arial nor fixed lengths of texts.
    #[arg(long)]
    outlines: bool,

    /// Dots per inch of PNG [default: 300].
    #[arg(long, value_parser = clap::value_parser!(u32).range(36..=2400))]
    dpi: Option<u32>,
}

/// Reads a kind of figure; the help lists all of them.
fn kinds() -> impl TypedValueParser<Value = FigureKind> {
    let values = FigureKind::all().map(|kind| PossibleValue::new(kind.name()).help(kind.doc()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<FigureKind>())
}

/// A file format of figures.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Vectors, with hover texts.
    Svg,
    /// Pixels.
    Png,
    /// Vectors for a paper or slides, the font embedded.
    Pdf,
    /// A TikZ picture for \input: texts in the paper's own font.
    Tex,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
            Self::Tex => "tex",
        }
    }

    /// The format of a file with this name.
    pub(super) fn of(path: &Path) -> anyhow::Result<Self> {
        let extension = path.extension().unwrap_or_default();
        let found = Self::value_variants().iter().find(|format| extension == format.extension());
        found
            .copied()
            .with_context(|| format!("{}: a figure's name ends with .svg, .png, .pdf or .tex", path.display()))
    }

    /// What such a file holds.
    pub(super) fn bytes(self, drawing: &Drawing, dpi: Option<u32>, outlined: bool) -> anyhow::Result<Vec<u8>> {
        Ok(match self {
            Self::Svg if outlined => drawing.outlined().to_svg().into_bytes(),
            Self::Svg => drawing.to_svg().into_bytes(),
            Self::Png => drawing.to_png(f64::from(dpi.unwrap_or(300)) / 72.0)?,
            Self::Pdf => drawing.to_pdf(),
            Self::Tex => drawing.to_tex()?.into_bytes(),
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Width {
    /// 84 mm.
    Single,
    /// 174 mm.
    Double,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Axes {
    /// As the values are.
    Auto,
    /// Equal differences are equal lengths.
    Linear,
    /// Equal ratios are equal lengths.
    Log,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Page {
    /// Black on white.
    Light,
    /// White on near-black.
    Dark,
}

/// A kind with more figures than this, such as one a graph, is drawn only if it is named.
const MOST_FIGURES: usize = 200;

/// What the verb answers.
#[derive(Serialize)]
struct Answer {
    folder: String,
    figures: Vec<Written>,
    left_out: Vec<LeftOut>,
}

/// A figure with its files.
#[derive(Serialize)]
struct Written {
    kind: &'static str,
    name: String,
    caption: String,
    files: Vec<String>,
}

/// A kind that could not be drawn.
#[derive(Serialize)]
struct LeftOut {
    kind: &'static str,
    reason: String,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let of_cells = [FigureKind::Gantt, FigureKind::Load, FigureKind::Executable];
    for (option, given, needs) in [
        ("--dpi", args.dpi.is_some(), (!args.format.contains(&Format::Png)).then_some("--format png")),
        ("--outlines", args.outlines, (!args.format.contains(&Format::Svg)).then_some("--format svg")),
        (
            "--cell",
            !args.cell.is_empty(),
            (!args.kind.is_empty() && !of_cells.iter().any(|kind| args.kind.contains(kind)))
                .then_some("--kind gantt, load or executable"),
        ),
    ] {
        if let Some(needs) = needs.filter(|_| given) {
            bail!("{option} is for {needs}: leave it out, or add that");
        }
    }
    let table = args.only.table_of(&args.run)?;
    let kinds = if args.kind.is_empty() { FigureKind::all().collect() } else { once(&args.kind) };
    let folder = args.out.clone().unwrap_or_else(|| args.run.join("figures"));
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let style = match args.width {
        Width::Single => Style::single_column(),
        Width::Double => Style::double_column(),
    };
    let style = style.with_theme(if args.page == Page::Light { Theme::Light } else { Theme::Dark });
    let style = style.with_title(!args.no_title).with_scale(match args.scale {
        Axes::Auto => ScaleChoice::Auto,
        Axes::Linear => ScaleChoice::Linear,
        Axes::Log => ScaleChoice::Log,
    });
    let (mut figures, mut left_out) = (Vec::new(), Vec::new());
    for kind in kinds {
        match of_kind(args, kind, &table) {
            Ok(made) => {
                for NamedFigure { name, caption, figure } in made {
                    let files = write_figure(args, &folder, &name, &*figure, &style)?;
                    figures.push(Written { kind: kind.name(), name, caption, files });
                }
            }
            Err(error) => left_out.push(LeftOut { kind: kind.name(), reason: one_line(&error) }),
        }
    }
    // Nobody asked for one kind of all: that it cannot be drawn is a remark.
    let asked = !args.kind.is_empty();
    let answer = Answer { folder: shown(&folder), figures, left_out };
    form.print(&answer, || {
        let figures = answer.figures.iter().map(|figure| format!("{}\n    {}\n", figure.name, figure.caption));
        let count = answer.figures.len();
        if count == 0 && asked {
            return String::new();
        }
        let noun = if count == 1 { "figure" } else { "figures" };
        format!("{}{count} {noun} in {}\n", figures.collect::<String>(), answer.folder)
    })?;
    for LeftOut { kind, reason } in &answer.left_out {
        complain(&format!("{}figure {kind}: {reason}", if asked { "error: " } else { "left out: " }));
    }
    Ok(if asked && !answer.left_out.is_empty() { Exit::FAILURE } else { Exit::SUCCESS })
}

/// The figures of a kind, unless the run has nothing for it.
fn of_kind(args: &Args, kind: FigureKind, table: &Table) -> anyhow::Result<Vec<NamedFigure>> {
    let metric = args.metric.map_or_else(|| table.goal(), Ok)?;
    if args.metric.is_some() && MetricTable::new(table, metric, Sort::Mean, Spread::None)?.is_empty() {
        bail!("{}: no row has a value of {}: choose another --metric", args.run.display(), metric.short());
    }
    let figures = kind.of_run(&args.run, table, metric, args.sort, &args.cell)?;
    if figures.is_empty() && !args.kind.is_empty() {
        bail!("{} has no data for it: {}", args.run.display(), kind.needs());
    }
    if figures.len() > MOST_FIGURES && args.kind.is_empty() {
        bail!("it would be {} figures: draw them with --kind {}", figures.len(), kind.name());
    }
    Ok(figures)
}

/// Writes a figure and its data; answers with the files.
fn write_figure(
    args: &Args,
    folder: &Path,
    name: &str,
    figure: &dyn Figure,
    style: &Style,
) -> anyhow::Result<Vec<String>> {
    let drawing = figure.draw(style);
    let mut files = Vec::new();
    let mut write = |extension: &str, bytes: &[u8]| {
        let path = folder.join(format!("{name}.{extension}"));
        files.push(shown(&path));
        write_file(&path, |out| out.write_all(bytes))
    };
    write("csv", drawing.table().to_csv_with(args.csv.texts()).as_bytes())?;
    for format in once(&args.format) {
        let bytes = format.bytes(&drawing, args.dpi, args.outlines).with_context(|| name.to_owned())?;
        write(format.extension(), &bytes)?;
    }
    Ok(files)
}
