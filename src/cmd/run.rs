//! `placebench run`: runs a suite and prints its table.

use crate::output::Exit;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use placebench::algorithms::StopToken;
use placebench::algorithms::period::Goal;
use placebench::base::process::check_memory;
use placebench::environment;
use placebench::harness::execute::simulate::Noise;
use placebench::harness::results::{Filter, Row, Status, Table, save_table};
use placebench::harness::runner::{
    Environment, Finished as FinishedCells, FolderError, InputWatch, RunFolder, RunState, input_digests, open_run,
    read_suite, run,
};
use placebench::harness::shards::Followed;
use placebench::harness::suite::{BUILT_IN, PlacerEntry, RunPlan, Shard, Suite};
use placebench::reports::{
    Profiles, Summary, agreement_table, failures_table, findings, full_table, profile_table, summary_tables,
};
use serde::Serialize;

use super::csv::CsvArgs;
use super::launcher::{Following, LauncherArgs, follow_slurm};
use crate::interrupt::{INTERRUPTED, stop_on_ctrl_c};
use crate::output::{Form, check_outputs, check_table, complain, print, shown, wrap};
use crate::progress::Progress;

/// What `run --help` ends with.
const EXIT_CODES: &str = "\
Exit codes:
  0    the run (or the shard) is complete, and at least one cell is ok; failed cells are rows that say why
  1    every cell failed, the validator refused a cell, a placer panicked, an input changed while the run went on, the machine
       cut cells short (the same command runs them again), or there was no run: a line says why
  2    the arguments are wrong
  130  stopped by Ctrl-C; the same command resumes the run";

/// What the system sets aside for each thread.
const STACK_BYTES: u64 = 2 << 20;

/// Arguments of `run`.
#[derive(clap::Args, Default)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// A built-in suite or a suite file (TOML).
    #[arg(default_value = "default")]
    suite: Option<String>,

    /// Folder for the run; an unfinished run of the same suite in it is resumed [default: runs/<suite>-<number>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Goes on with the unfinished run in this folder, whatever its suite; its paths are relative to the current folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["suite", "out", "fresh", "only", "repetitions", "numberings", "noise", "seed"])]
    resume: Option<PathBuf>,

    /// Runs the shard I of N, as in 3/8: about an Nth of the graphs, each with all its cells. Shards may run at the same
    /// time, on any hosts that share the folder; the last to end writes the table.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["fresh", "launcher", "table", "full"])]
    shard: Option<Shard>,

    #[command(flatten)]
    launcher: LauncherArgs,

    /// Follows the run in this folder, which '--launcher slurm' has submitted.
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["suite", "out", "fresh", "only", "repetitions", "numberings", "noise", "seed", "resume", "shard", "launcher", "threads"]
    )]
    follow: Option<PathBuf>,

    /// Starts a new run even if there is an unfinished one to resume.
    #[arg(long, conflicts_with = "out")]
    fresh: bool,

    /// Runs only the cells with these values, as in 'placer=heft,peft graph=nmt network=one_port': suite, graph, passes ('none'
    /// without), cluster, kinds, executor, placer (without or with its parameters), placer_spec (as the suite writes it), scheduler, network,
    /// repetition, seed or numbering. A value with a comma stands in double quotes. Replaces the suite's 'where'; another filter is
    /// another run.
    #[arg(long = "where", value_name = "FILTER")]
    only: Vec<Filter>,

    /// Overrides the suite's repetitions, those of its graphs too.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,

    /// Overrides the suite's numberings: under how many numberings of ops and devices a placer places, the given one first.
    /// Searches, and executors that measure, have the given one alone. Numbers decide ties.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    numberings: Option<u32>,

    /// Overrides the suite's noise: simulates each cell, besides as predicted, when costs vary, as in 0.1, the coefficient of
    /// variation of each op and each transfer, or 'op=0.1,device=0.05': see 'placebench list noise'. May be given several times.
    #[arg(long, value_name = "NOISE")]
    noise: Vec<Noise>,

    /// Overrides the suite's seed.
    #[arg(long, value_name = "SEED", value_parser = super::number::seed)]
    seed: Option<u64>,

    /// Threads that run cells; 1 gives the most trustworthy seconds [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,

    /// Prints every cell instead of the summary.
    #[arg(long)]
    full: bool,

    /// Also writes the table to this file: .csv, .json or .parquet.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    #[command(flatten)]
    csv: CsvArgs,

    /// Shows no progress.
    #[arg(long, short)]
    quiet: bool,
}

impl Args {
    /// The built-in suite of a name, with all other defaults.
    pub(super) fn of_suite(
        name: &str,
        quiet: bool,
        repetitions: Option<u32>,
        threads: Option<u32>,
        launcher: LauncherArgs,
    ) -> Self {
        Self { suite: Some(name.to_owned()), quiet, repetitions, threads, launcher, ..Self::default() }
    }
}

impl Args {
    /// A suite file, with its run in a folder, which is resumed.
    pub(super) fn of_file(
        suite: PathBuf,
        out: PathBuf,
        quiet: bool,
        threads: Option<u32>,
        launcher: LauncherArgs,
    ) -> Self {
        let suite = Some(suite.to_string_lossy().into_owned());
        Self { suite, out: Some(out), quiet, threads, launcher, ..Self::default() }
    }
}

/// With fewer instances than this a performance profile says less than the table of ratios.
const PROFILE_INSTANCES: usize = 10;

/// What the verb answers of a complete run.
#[derive(Serialize)]
struct Answer<'a> {
    suite: &'a str,
    folder: String,
    seconds: f64,
    cells: usize,
    ok: usize,
    /// Cells that are not ok, by status.
    failed: &'a BTreeMap<String, usize>,
    /// Instances that the means are over.
    common: usize,
    /// The best first.
    placers: Vec<PlacerAnswer<'a>>,
    /// Every cell, with `--full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Row>>,
    files: Vec<String>,
}

/// A placer with its best scheduler.
#[derive(Serialize)]
struct PlacerAnswer<'a> {
    placer: &'a str,
    mean_ratio: Option<f64>,
    wins: usize,
}

/// What the verb answers of a shard.
#[derive(Serialize)]
struct ShardAnswer {
    folder: String,
    shard: String,
    cells: usize,
    /// Whether it was the last to end, so that the table is written.
    complete: bool,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let Finished { suite, table, folder, earlier } = match run_to_the_end(args)? {
        Ended::Complete(finished) => *finished,
        Ended::Shard(ShardEnded { shard, folder, cells, complete }) => {
            let path = shown(&folder);
            let answer = ShardAnswer { folder: path.clone(), shard: shard.to_string(), cells, complete };
            if form == Form::Json || !args.quiet {
                let table = if complete { "; the last: the table is written" } else { "" };
                form.print(&answer, || format!("shard {shard}: {cells} cells{table}: {path}\n"))?;
            }
            return Ok(Exit::SUCCESS);
        }
        Ended::Stopped => return Ok(Exit::from(INTERRUPTED)),
    };
    if let Some(path) = &args.table {
        save_table(path, &table, args.csv.texts())?;
    }
    let summary = Summary::new(&table)?;
    let seconds = started.elapsed().as_secs_f64();
    let folder = shown(&folder);
    match form {
        Form::Text => {
            let text = report(&suite, &table, &summary, args.full)?;
            let cells = match table.height() {
                1 => "1 cell".to_owned(),
                cells if earlier > 0 => format!("{cells} cells, {} of them now,", cells - earlier.min(cells)),
                cells => format!("{cells} cells"),
            };
            print(&format!(
                "{text}{cells} in {seconds:.1} s; table, suite and environment: {folder}\n\
                 as a page to look at: placebench report {folder}\n"
            ))?;
        }
        Form::Json => {
            let answer = Answer {
                suite: &suite.name,
                folder,
                seconds,
                cells: table.height(),
                ok: summary.ok,
                failed: &summary.failed,
                common: summary.common().len(),
                placers: placers(&summary),
                rows: args.full.then(|| table.rows()).transpose()?,
                files: args.table.iter().map(|path| shown(path)).collect(),
            };
            form.print(&answer, String::new)?;
        }
    }
    Ok(verdict(&summary))
}

/// The placers, the best first.
fn placers(summary: &Summary) -> Vec<PlacerAnswer<'_>> {
    let answer = |&placer: &usize| PlacerAnswer {
        placer: &summary.placers[placer],
        mean_ratio: summary.mean_ratio(placer),
        wins: summary.standings.wins(placer),
    };
    summary.order().iter().map(answer).collect()
}

/// How a run ended.
pub(super) enum Ended {
    /// Every cell has a row.
    Complete(Box<Finished>),
    /// The shard that was asked for is done.
    Shard(ShardEnded),
    /// Ctrl-C stopped it.
    Stopped,
}

/// A shard that is done.
pub(super) struct ShardEnded {
    shard: Shard,
    folder: PathBuf,
    cells: usize,
    /// Whether the run is complete with it.
    complete: bool,
}

/// A complete run.
pub(super) struct Finished {
    /// The suite as run.
    pub(super) suite: Suite,
    /// The rows.
    pub(super) table: Table,
    /// The run folder.
    pub(super) folder: PathBuf,
    /// Cells that an earlier start made.
    pub(super) earlier: usize,
}

/// Runs, resumes or follows a suite, or runs a shard of it.
pub(super) fn run_to_the_end(args: &Args) -> anyhow::Result<Ended> {
    if let Some(path) = &args.table {
        check_table(path)?;
    }
    args.csv.check(args.table.is_some())?;
    args.launcher.on.check()?;
    let existing = args.resume.as_ref().or(args.follow.as_ref());
    let (stored, suite) = match existing {
        Some(folder) => {
            let (text, suite) = read_suite(folder)?;
            (Some(text), suite?)
        }
        None => (None, find_suite(args)?),
    };
    let threads = args.threads.unwrap_or(0);
    // Those that have started may be the first to find no memory, and that ends the process.
    check_memory(&[(threads.into(), STACK_BYTES)], || format!("the stack of {threads} threads"))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads as usize)
        .build()
        .context("cannot start threads, use fewer with --threads")?;
    let plan = RunPlan::new(suite)?;
    let left_out = plan.placers_without_scheduler();
    if plan.cells.is_empty() && args.shard.is_none() {
        bail!(
            "the suite has no cells: its placers make no plans, and its schedulers follow plans: add another, such as pct"
        );
    }
    if !left_out.is_empty() && args.shard.is_none() {
        complain(&format!(
            "without cells, since they make no plan and every scheduler of the suite follows one (add another, such as pct): {}",
            left_out.join(", ")
        ));
    }
    // As the plan has it, which knows what the graphs say.
    let suite_toml = match stored {
        Some(text) => text,
        None => plan.suite.to_toml().context("the suite has a path that is not Unicode")?,
    };
    for entry in plan.used_placer_entries() {
        if let PlacerEntry::Function(placer) = entry {
            bail!("{}", placer.refusal());
        }
    }
    // What follows a run reads none of its files.
    let inputs = if args.follow.is_some() { BTreeMap::new() } else { input_digests(&plan)? };
    let suite_file = args.suite.as_deref().map(Path::new).into_iter();
    check_outputs(args.table.as_deref(), inputs.keys().map(Path::new).chain(suite_file))?;
    let environment = environment(pool.current_num_threads(), inputs);
    let (mut path, mut resumes) = match existing.or(args.out.as_ref()) {
        Some(path) => (path.clone(), false),
        None => choose_folder(&plan.suite.name, &suite_toml, &environment, args.fresh),
    };
    let state = RunFolder::state(&path, &suite_toml, &environment);
    if let (Some(RunState::Complete), Some(shard)) = (&state, args.shard) {
        // The shard was started again, and the others have done its cells meanwhile.
        let mut plan = plan;
        plan.keep_shard(shard);
        return Ok(Ended::Shard(ShardEnded { shard, folder: path, cells: plan.cells.len(), complete: true }));
    }
    match state {
        Some(RunState::Complete) if args.follow.is_some() => return complete(plan.suite, path, 0),
        Some(RunState::Complete) => bail!(
            "{}: holds a complete run of this suite: choose another folder with --out, or delete it",
            path.display()
        ),
        None if args.follow.is_some() => bail!("{}: holds a run of another version of placebench", path.display()),
        Some(RunState::Unfinished) | None => {}
    }
    let say_resumes = |path: &Path| complain(&format!("resuming {}; --fresh starts anew", path.display()));
    let stop = StopToken::default();
    let progress = Progress::new(args.quiet);
    if args.follow.is_some() || args.launcher.on.launcher.is_some() {
        let _heeded = stop_on_ctrl_c(&stop)?;
        let following = Following { threads: pool.current_num_threads(), stop: &stop, progress: &progress };
        let followed = match args.follow.is_some() {
            true => follow_slurm(&path, &plan, &following)?,
            false => {
                RunFolder::prepare(&path, &suite_toml, &environment)?;
                if resumes {
                    say_resumes(&path);
                }
                args.launcher.run(&plan, &path, &following)?
            }
        };
        return match followed {
            Followed::Stopped { done, cells } => {
                eprintln!("stopped following after {done} of {cells} cells");
                Ok(Ended::Stopped)
            }
            Followed::Complete => write_table_of(&path, plan),
        };
    }
    let folder = loop {
        match RunFolder::open(&path, &suite_toml, &environment, args.shard) {
            // Another process has begun a run since, or goes on with the one to resume.
            Err(FolderError::InUse { .. }) if args.out.is_none() && existing.is_none() => {
                (path, resumes) = (next_folder(&plan.suite.name), false);
            }
            opened => break opened?,
        }
    };
    if resumes {
        say_resumes(&path);
    }
    let whole = args.shard.map(|_| plan.suite.clone());
    let mut plan = plan;
    args.shard.iter().for_each(|&shard| plan.keep_shard(shard));
    let plan = Arc::new(plan);
    let mut before = FinishedCells::new(&path, &plan)?;
    before.update(args.shard, |_, _| ())?;
    let earlier = before.count();
    before.damaged().iter().for_each(|line| complain(&line.to_string()));
    let watch = InputWatch::new(&plan, &environment.inputs);
    let heeded = stop_on_ctrl_c(&stop)?;
    let record = |cell, row: &Row| {
        watch.check(&plan, cell)?;
        folder.append(row)
    };
    let outcome = pool.install(|| run(&plan, |cell| before.has(cell), &stop, &progress, record));
    progress.finish();
    drop(heeded);
    let outcome = outcome?;
    if !outcome.is_complete() {
        let (done, cells) = (outcome.done, outcome.cells);
        let folder = path.display();
        if outcome.interrupted > 0 && !stop.is_asked() {
            complain(failures_table(&open_run(&path)?)?.trim_end());
            bail!(
                "{folder}: the machine cut {} of {cells} cells short, for want of memory or disk: the same command runs them again",
                outcome.interrupted
            );
        }
        complain(&format!("stopped after {done} of {cells} cells; the same command goes on from there ({folder})"));
        return Ok(Ended::Stopped);
    }
    watch.check_all()?;
    match (args.shard, whole) {
        (Some(shard), Some(suite)) => {
            drop(before);
            let cells = outcome.cells;
            let last = folder.shard_is_done(shard)?;
            if last {
                write_table_of(&path, RunPlan::new(suite)?)?;
            }
            Ok(Ended::Shard(ShardEnded { shard, folder: path, cells, complete: last }))
        }
        _ => {
            // What was there before is known: only what this process has added is read.
            before.update(None, |_, _| ())?;
            write_finished(before, &plan, &path)?;
            complete(plan.suite.clone(), path, earlier)
        }
    }
}

/// Writes the table of a run whose cells all have a row.
fn write_table_of(path: &Path, plan: RunPlan) -> anyhow::Result<Ended> {
    let mut finished = FinishedCells::new(path, &plan)?;
    finished.update(None, |_, _| ())?;
    write_finished(finished, &plan, path)?;
    complete(plan.suite, path.to_owned(), 0)
}

fn write_finished(finished: FinishedCells<'_>, plan: &RunPlan, path: &Path) -> anyhow::Result<()> {
    if !finished.is_complete() {
        let (done, cells, path) = (finished.count(), plan.cells.len(), path.display());
        bail!("{path}: only {done} of {cells} cells are there: 'placebench run --resume {path}' runs the others");
    }
    finished.write_table()?;
    Ok(())
}

/// The complete run in a folder.
fn complete(suite: Suite, folder: PathBuf, earlier: usize) -> anyhow::Result<Ended> {
    let table = open_run(&folder)?;
    Ok(Ended::Complete(Box::new(Finished { suite, table, folder, earlier })))
}

/// Failure if no cell is ok, or one is wrong rather than merely impossible: a panic, or a result that the validator
/// refused.
fn verdict(summary: &Summary) -> Exit {
    let count = |status: Status| summary.failed.get(status.name()).copied().unwrap_or_default();
    let (ok, panicked, invalid) = (summary.ok, count(Status::Panicked), count(Status::Invalid));
    let fault = match ok + summary.failed.values().sum::<usize>() {
        cells if invalid > 0 => format!("the validator refused {invalid} of {cells} cells"),
        cells if panicked > 0 => format!("{panicked} of {cells} cells panicked"),
        1 if ok == 0 => "its only cell failed".to_owned(),
        cells if ok == 0 => format!("all {cells} cells failed"),
        _ => return Exit::SUCCESS,
    };
    eprintln!("error: {fault}: the reasons are under 'Failed cells'");
    Exit::FAILURE
}

/// Tables and findings in words.
fn report(suite: &Suite, table: &Table, summary: &Summary, full: bool) -> anyhow::Result<String> {
    let mut text = String::new();
    if !suite.title.is_empty() {
        text.push_str(&format!("{}: {}\n\n", suite.name, suite.title));
    }
    if full {
        text.push_str(&full_table(&table.rows()?));
        text.push_str("\n\n");
    } else {
        text.push_str(&summary_tables(summary));
    }
    let profiles = Profiles::new(table, summary.metric)?;
    if !full && profiles.instances >= PROFILE_INSTANCES {
        text.push_str(&profile_table(&profiles));
        text.push_str("\n\n");
    }
    let agreement = agreement_table(table)?;
    if !agreement.is_empty() {
        text.push_str(&format!("{agreement}\n"));
    }
    let failures = failures_table(table)?;
    if !failures.is_empty() {
        text.push_str(&format!("Failed cells\n{failures}\n"));
    }
    text.push_str(&wrap(&findings(summary), 100));
    text.push_str("\n\n");
    Ok(text)
}

fn find_suite(args: &Args) -> anyhow::Result<Suite> {
    let name = args.suite.as_deref().unwrap_or(BUILT_IN[0].name);
    let mut suite = Suite::named(name)?;
    if let Some(repetitions) = args.repetitions {
        suite.repetitions = repetitions;
        for graph in &mut suite.graphs {
            graph.repetitions = None;
        }
    }
    if let Some(at) = (0..args.noise.len()).find(|&at| args.noise[..at].contains(&args.noise[at])) {
        bail!("--noise {} is given twice: give it once", args.noise[at]);
    }
    if !args.noise.is_empty() && suite.objective == Goal::Period {
        bail!("--noise: there is no period under noise, and {} is about it: leave it out", suite.name);
    }
    if !args.noise.is_empty() {
        suite.noise.clone_from(&args.noise);
    }
    if let Some(numberings) = args.numberings {
        suite.numberings = numberings;
    }
    if let Some(seed) = args.seed {
        suite.seed = seed;
    }
    if !args.only.is_empty() {
        suite.only = args.only.iter().fold(Filter::default(), Filter::and);
    }
    Ok(suite)
}

/// The latest run folder of the suite if its run is unfinished, and whether it is that; else the next free number.
fn choose_folder(name: &str, suite_toml: &str, environment: &Environment, fresh: bool) -> (PathBuf, bool) {
    let folder = |number: u32| numbered(name, number);
    let next = next_number(name);
    let state = |path: &Path| RunFolder::state(path, suite_toml, environment);
    let latest = (1..next).rev().map(folder).find_map(|path| Some((state(&path)?, path)));
    match latest {
        Some((RunState::Unfinished, path)) if !fresh => (path, true),
        _ => (folder(next), false),
    }
}

fn numbered(name: &str, number: u32) -> PathBuf {
    Path::new("runs").join(format!("{name}-{number}"))
}

/// The first number that no run folder of a suite has.
fn next_number(name: &str) -> u32 {
    (1..).find(|&number| !numbered(name, number).exists()).unwrap_or(1)
}

fn next_folder(name: &str) -> PathBuf {
    numbered(name, next_number(name))
}
