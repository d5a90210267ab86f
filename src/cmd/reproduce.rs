//! `placebench reproduce`: a paper's evaluation, claim by claim.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use placebench::datasets::nearest;
use placebench::harness::results::Table;
use placebench::harness::runner::read_run;
use placebench::harness::suite::Suite;
use placebench::reports::{SOURCES, claims_markdown, claims_of, figures_of, training_steps, write_figures};

use super::run;
use crate::interrupt::INTERRUPTED;
use crate::output::print;

/// Arguments of `reproduce`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The source: laich2017, bahnmueller2018 or tolstobrov.
    source: String,

    /// Checks the claims against this run folder instead of running the suite.
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,

    /// Overrides the suite's repetitions, for a quick look.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "run")]
    repetitions: Option<u32>,

    /// Makes no figures and tables, only the claims.
    #[arg(long)]
    no_figures: bool,

    /// Shows no progress.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(claims) = claims_of(&args.source) else {
        match nearest(&args.source, SOURCES) {
            Some(nearest) => bail!("unknown source '{}': did you mean '{nearest}'?", args.source),
            None => bail!("unknown source '{}': give one of {}", args.source, SOURCES.join(", ")),
        }
    };
    let claims = claims.map_err(|error| anyhow!("the claims of {}: {error}", args.source))?;
    let (suite, rows, folder) = match &args.run {
        Some(folder) => (Suite::read(&folder.join("suite.toml"))?, read_run(folder)?, folder.clone()),
        None => {
            let run_args = run::Args::of_suite(&claims.suite, args.quiet, args.repetitions);
            match run::run_to_the_end(&run_args)? {
                Some(finished) => (finished.suite, finished.rows, finished.folder),
                None => return Ok(ExitCode::from(INTERRUPTED)),
            }
        }
    };
    if rows.iter().any(|row| row.suite != claims.suite) {
        bail!("{}: is no run of the suite {}", folder.display(), claims.suite);
    }
    let results = Table::new(&rows)?.with_steps(&training_steps(&suite))?;
    print(&format!("{}\n\n{}\n", claims.source, claims_markdown(&claims, &results)?))?;
    if !args.no_figures {
        print(&figures(&args.source, &results, &suite, &folder)?)?;
    }
    print(&format!("Run: {}\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the figures and tables of a source in the run folder, and tells which.
fn figures(source: &str, results: &Table, suite: &Suite, run: &Path) -> anyhow::Result<String> {
    let Some(figures) = figures_of(source) else { return Ok(String::new()) };
    let figures = figures.map_err(|error| anyhow!("the figures of {source}: {error}"))?;
    let folder = run.join("figures");
    let outputs = write_figures(&figures, results, suite, &folder)?;
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
    Ok(text)
}
