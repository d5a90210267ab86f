//! `placebench reproduce`: a paper's evaluation, claim by claim.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use placebench::harness::runner::read_run;
use placebench::reports::{claims_markdown, claims_of};

use super::run;
use crate::output::print;

/// Arguments of `reproduce`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The source: laich2017 or bahnmueller2018.
    source: String,

    /// Checks the claims against this run folder instead of running the suite.
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,

    /// Overrides the suite's repetitions, for a quick look.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "run")]
    repetitions: Option<u32>,

    /// Shows no progress.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(claims) = claims_of(&args.source) else {
        bail!("unknown source '{}': claims come along for laich2017 and bahnmueller2018", args.source);
    };
    let claims = claims.map_err(|error| anyhow!("the claims of {}: {error}", args.source))?;
    let (rows, folder) = match &args.run {
        Some(folder) => (read_run(folder)?, folder.clone()),
        None => {
            let run_args = run::Args::of_suite(&claims.suite, args.quiet, args.repetitions);
            match run::run_to_the_end(&run_args)? {
                Some(finished) => (finished.rows, finished.folder),
                None => return Ok(ExitCode::from(run::INTERRUPTED)),
            }
        }
    };
    if rows.iter().any(|row| row.suite != claims.suite) {
        bail!("{}: is no run of the suite {}", folder.display(), claims.suite);
    }
    print(&format!("{}\n\n{}\nRun: {}\n", claims.source, claims_markdown(&claims, &rows), folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
