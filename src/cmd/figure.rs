//! `placebench figure`: the figures of a run, as SVG and PNG, with their data beside them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use placebench::harness::results::{Metric, Row};
use placebench::harness::runner::read_run;
use placebench::reports::figure::{Figure, NamedFigure, RowFigure, Style, Theme};

use super::figure_cell;
use crate::output::{print, write_file};

/// Arguments of `figure`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of a run.
    run: PathBuf,

    /// Kinds of figures, separated by commas [default: all that the run has data for].
    #[arg(long, short, value_enum, value_delimiter = ',')]
    kind: Vec<Kind>,

    /// What bars, lines and ranks are about: makespan, slr, speedup, gap, traffic, imbalance, utilization, memory,
    /// executable or place_time.
    #[arg(long, short, default_value = "makespan")]
    metric: Metric,

    /// The cell that gantt and executable show, as graph/placer/scheduler or graph@cluster/placer/scheduler; may be given
    /// several times [default: the least makespan on the run's first graph].
    #[arg(long, value_name = "CELL")]
    cell: Vec<String>,

    /// Where the figures go [default: the folder `figures` in the run's].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// File formats, separated by commas; the data are always written too, as CSV.
    #[arg(long, short, value_enum, value_delimiter = ',', default_value = "svg")]
    format: Vec<Format>,

    /// How wide figures are: one column of a paper (84 mm) or both (174 mm).
    #[arg(long, value_enum, default_value_t = Width::Double)]
    width: Width,

    /// The page that figures stand on.
    #[arg(long, value_enum, default_value_t = Page::Light)]
    page: Page,

    /// Writes the texts of SVG as paths: for programs that know neither Arial nor fixed lengths of texts.
    #[arg(long)]
    outlines: bool,

    /// Dots per inch of PNG.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(36..=2400))]
    dpi: u32,
}

/// Kinds of figures.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Bars: placers under schedulers, a figure a graph and cluster.
    Bars,
    /// Bars: placers on clusters, a figure a graph.
    Clusters,
    /// Heat map: placer by graph, relative to the best.
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
    /// What each device does when, in one cell.
    Gantt,
    /// Executable ops on each device over its decisions, in one cell.
    Executable,
    /// Sizes of the colocation groups of the run's graphs.
    Colocation,
}

impl Kind {
    /// The kind of figures from rows that it is; `None` for those that need graphs.
    fn of_rows(self) -> Option<RowFigure> {
        Some(match self {
            Self::Bars => RowFigure::Bars,
            Self::Clusters => RowFigure::Clusters,
            Self::Heat => RowFigure::Heat,
            Self::Profile => RowFigure::Profile,
            Self::Pareto => RowFigure::Pareto,
            Self::Ranks => RowFigure::Ranks,
            Self::Scaling => RowFigure::Scaling,
            Self::Sweep => RowFigure::Sweep,
            Self::Gantt | Self::Executable | Self::Colocation => return None,
        })
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Vectors, with hover texts.
    Svg,
    /// Pixels.
    Png,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Width {
    /// 84 mm.
    Single,
    /// 174 mm.
    Double,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Page {
    /// Black on white.
    Light,
    /// White on near-black.
    Dark,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let rows = read_run(&args.run)?;
    let (all, kinds) = match args.kind.is_empty() {
        true => (true, Kind::value_variants().to_vec()),
        false => (false, args.kind.clone()),
    };
    let mut figures = Vec::new();
    for kind in kinds {
        let own = of_kind(args, kind, &rows).with_context(|| format!("figure {}", kind.name()))?;
        if own.is_empty() && !all {
            bail!("{}: has no data for the figure '{}': {}", args.run.display(), kind.name(), needs(kind));
        }
        figures.extend(own);
    }
    if figures.is_empty() {
        bail!("{}: has no finished cell to show", args.run.display());
    }
    let folder = args.out.clone().unwrap_or_else(|| args.run.join("figures"));
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let style = match args.width {
        Width::Single => Style::single_column(),
        Width::Double => Style::double_column(),
    };
    let style = style.with_theme(if args.page == Page::Light { Theme::Light } else { Theme::Dark });
    let mut lines = String::new();
    for NamedFigure { name, caption, figure } in &figures {
        write_figure(args, &folder, name, &**figure, &style)?;
        lines.push_str(&format!("{name}\n    {caption}\n"));
    }
    print(&format!("{lines}{} figures in {}\n", figures.len(), folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn of_kind(args: &Args, kind: Kind, rows: &[Row]) -> anyhow::Result<Vec<NamedFigure>> {
    match (kind, kind.of_rows()) {
        (_, Some(kind)) => Ok(kind.of_rows(rows, args.metric)),
        (Kind::Colocation, None) => figure_cell::colocation(&args.run),
        (kind, None) => figure_cell::of_cells(&args.run, rows, &args.cell, kind == Kind::Gantt),
    }
}

/// What a kind of figure needs.
fn needs(kind: Kind) -> &'static str {
    match kind {
        Kind::Scaling => "it needs a graph on clusters of one family, such as gtx1080x2 and gtx1080x4",
        Kind::Clusters => "it needs a graph on several clusters",
        Kind::Sweep => {
            "it needs a placer with several values of a parameter, such as scoring(alpha=1) and scoring(alpha=2)"
        }
        Kind::Ranks => "it needs at least two placers and two graphs or clusters",
        Kind::Executable => "placers that decide online leave devices nothing to choose; name another --cell",
        Kind::Colocation => "none of its graphs has colocation groups",
        _ => "it needs a cell that is ok and has the metric",
    }
}

fn write_figure(args: &Args, folder: &Path, name: &str, figure: &dyn Figure, style: &Style) -> anyhow::Result<()> {
    let drawing = figure.draw(style);
    let write = |extension: &str, bytes: &[u8]| {
        write_file(&folder.join(format!("{name}.{extension}")), |out| out.write_all(bytes))
    };
    write("csv", drawing.table().to_csv().as_bytes())?;
    if args.format.contains(&Format::Svg) {
        let svg = if args.outlines { drawing.outlined().to_svg() } else { drawing.to_svg() };
        write("svg", svg.as_bytes())?;
    }
    if args.format.contains(&Format::Png) {
        write("png", &drawing.to_png(f64::from(args.dpi) / 72.0)?)?;
    }
    Ok(())
}
