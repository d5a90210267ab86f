//! `placebench reproduce`: a paper's evaluation, claim by claim.

use crate::output::Exit;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use placebench::base::did_you_mean;
use placebench::harness::results::{Row, Table};
use placebench::harness::runner::{RunState, table_of};
use placebench::harness::suite::Suite;
use placebench::reports::{
    Checked, Claims, ClaimsDocument, Made, Outputs, Part, SOURCES, claims_markdown, claims_of, document, figures_of,
    training_steps, write_figures,
};
use serde::Serialize;

use super::filter::{Where, unfinished};
use super::launcher::LauncherArgs;
use super::run::{self, Ended};
use crate::interrupt::INTERRUPTED;
use crate::output::{Form, shown};

/// Arguments of `reproduce`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The source: laich2017, laich2017_seconds, bahnmueller2018, tolstobrov or abadi2015; or all, with --docs.
    source: String,

    /// Checks the claims against this run folder instead of running the suite; with `all`, a folder that holds a run folder
    /// for each source, called as the source.
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,

    /// Writes the document REPRODUCTION.md and the folder `reproduction` into this folder, instead of printing claims and
    /// making figures; goes with `all`.
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,

    /// Overrides the suite's repetitions, for a quick look.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["run", "docs"])]
    repetitions: Option<u32>,

    /// Makes no figures and tables, only the claims.
    #[arg(long, conflicts_with = "docs")]
    no_figures: bool,

    #[command(flatten)]
    launcher: LauncherArgs,

    /// Shows no progress.
    #[arg(long, short)]
    quiet: bool,
}

/// What stands for every source.
const ALL: &str = "all";

/// What the verb answers of one source.
#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    folder: String,
    #[serde(flatten)]
    claims: ClaimsDocument<'a>,
    figures: Vec<FigureAnswer<'a>>,
}

/// A figure or table of the source.
#[derive(Serialize)]
struct FigureAnswer<'a> {
    number: &'a str,
    caption: &'a str,
    files: &'a [String],
    /// Why there are none.
    reason: Option<&'a String>,
}

/// What the verb answers of all sources.
#[derive(Serialize)]
struct Written {
    files: Vec<String>,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    match (&args.docs, args.source.as_str()) {
        (Some(docs), ALL) => return write_docs(args, docs, form),
        (Some(_), source) => bail!("--docs is about every source: write `reproduce all`, not `reproduce {source}`"),
        (None, ALL) => bail!("`reproduce all` writes the document of every source: say where with --docs DIR"),
        (None, _) => {}
    }
    let claims = claims(&args.source)?;
    let Some(evidence) = evidence(args, &claims, args.run.as_deref())? else {
        return Ok(Exit::from(INTERRUPTED));
    };
    let Evidence { suite, rows, folder, steps } = evidence;
    let checked = Checked::new(&claims, &rows, &steps)?;
    let figures_folder = folder.join("figures");
    let outputs = match args.no_figures {
        true => None,
        false => figures(&args.source, &Table::new(&rows)?.with_steps(&steps), &suite, &figures_folder)?,
    };
    let answer = Answer {
        name: &args.source,
        folder: shown(&folder),
        claims: ClaimsDocument::new(&claims, &checked),
        figures: outputs.iter().flat_map(|outputs| &outputs.made).map(FigureAnswer::of).collect(),
    };
    form.print(&answer, || {
        let claims = format!("{}\n\n{}\n", claims.source, claims_markdown(&claims, &checked));
        let figures = outputs.as_ref().map(|outputs| figures_text(outputs, &figures_folder)).unwrap_or_default();
        format!("{claims}{figures}Run: {}\n", folder.display())
    })?;
    Ok(Exit::SUCCESS)
}

fn claims(source: &str) -> anyhow::Result<Claims> {
    let Some(claims) = claims_of(source) else {
        bail!("unknown source '{source}': {}", did_you_mean(source, SOURCES));
    };
    claims.map_err(|error| anyhow!("the claims of {source}: {error}"))
}

/// A run that claims are checked against.
struct Evidence {
    suite: Suite,
    rows: Vec<Row>,
    folder: PathBuf,
    steps: BTreeMap<String, f64>,
}

/// The run in a folder, or a new one; `None` if Ctrl-C stopped it.
fn evidence(args: &Args, claims: &Claims, folder: Option<&Path>) -> anyhow::Result<Option<Evidence>> {
    let (suite, rows, folder) = match folder {
        Some(folder) => {
            if args.docs.is_some() && table_of(folder).1 == RunState::Unfinished {
                bail!("{}: finish it first with `placebench run --resume {}`", unfinished(folder), folder.display());
            }
            (Suite::read(&folder.join("suite.toml"))?, Where::default().table_of(folder)?.rows()?, folder.to_owned())
        }
        None => {
            let (launcher, threads) = (args.launcher.clone(), claims.threads);
            let run_args = run::Args::of_suite(&claims.suite, args.quiet, args.repetitions, threads, launcher);
            match run::run_to_the_end(&run_args)? {
                Ended::Complete(finished) => (finished.suite, finished.table.rows()?, finished.folder),
                Ended::Shard(_) | Ended::Stopped => return Ok(None),
            }
        }
    };
    if rows.iter().any(|row| row.suite != claims.suite) {
        bail!("{}: is no run of the suite {}", folder.display(), claims.suite);
    }
    let steps = training_steps(&suite);
    Ok(Some(Evidence { suite, rows, folder, steps }))
}

/// Checks the claims of every source, and writes the document and the groups that it is made of.
fn write_docs(args: &Args, docs: &Path, form: Form) -> anyhow::Result<Exit> {
    let groups = docs.join("reproduction");
    std::fs::create_dir_all(&groups).with_context(|| format!("{}: cannot be made", groups.display()))?;
    let mut parts = Vec::new();
    for name in SOURCES {
        let claims = claims(name)?;
        let folder = args.run.as_ref().map(|folder| folder.join(name));
        let Some(evidence) = evidence(args, &claims, folder.as_deref())? else {
            return Ok(Exit::from(INTERRUPTED));
        };
        let checked = Checked::new(&claims, &evidence.rows, &evidence.steps)?;
        write(&groups.join(format!("{name}.tsv")), &checked.to_tsv(&claims))?;
        parts.push(Part::new(name, claims, checked, evidence.suite).map_err(|error| anyhow!("{name}: {error}"))?);
    }
    let path = docs.join("REPRODUCTION.md");
    write(&path, &document(&parts))?;
    let tables = SOURCES.iter().map(|name| groups.join(format!("{name}.tsv")));
    let files = std::iter::once(path.clone()).chain(tables).map(|path| shown(&path)).collect();
    form.print(&Written { files }, || format!("{}\n", path.display()))?;
    Ok(Exit::SUCCESS)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))
}

/// Makes the figures and tables of a source in a folder; `None` if it has none.
fn figures(source: &str, results: &Table, suite: &Suite, folder: &Path) -> anyhow::Result<Option<Outputs>> {
    let Some(figures) = figures_of(source) else { return Ok(None) };
    let figures = figures.map_err(|error| anyhow!("the figures of {source}: {error}"))?;
    Ok(Some(write_figures(&figures, results, suite, folder)?))
}

/// The tables, and which figures were made.
fn figures_text(outputs: &Outputs, folder: &Path) -> String {
    let made = outputs.made.iter().filter(|made| made.files.is_ok()).count();
    let mut text = String::new();
    for (caption, table) in &outputs.tables {
        text.push_str(&format!("{caption}:\n\n{}\n", table.to_markdown()));
    }
    text.push_str(&format!("{made} of {} figures and tables made: {}\n", outputs.made.len(), folder.display()));
    for made in &outputs.made {
        if let Err(reason) = &made.files {
            text.push_str(&format!("{} ({}) cannot be made: {reason}\n", made.number, made.caption));
        }
    }
    text
}

impl<'a> FigureAnswer<'a> {
    fn of(made: &'a Made) -> Self {
        let Made { number, caption, files } = made;
        Self { number, caption, files: files.as_deref().unwrap_or_default(), reason: files.as_ref().err() }
    }
}
