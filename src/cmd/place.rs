//! `placebench place`: one placement, judged and written down.

mod asked;
mod describe;
mod files;
mod numberings;

use crate::output::Exit;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use placebench::algorithms::StopToken;
use placebench::algorithms::period::Goal;
use placebench::datasets::MemoryRule;
use placebench::environment;
use placebench::harness::changed::PassReport;
use placebench::harness::command_placer::{InstanceFormat, PlacerRequest, write_instance};
use placebench::harness::evaluate::EvaluationError;
use placebench::harness::execute::simulate::{NetworkModel, Noise, network_model};
use placebench::harness::execute::{EXECUTORS, ExecuteSettings, ExecutorEntry, Notify};
use placebench::harness::problem::Kinds;
use placebench::harness::request::{Answer, Prepared, silent};
use placebench::harness::results::{Row, Status, Table, save_table};
use serde::Serialize;

use super::csv::CsvArgs;
use super::figure::Format;
use super::number::number;
use super::passes::PassArgs;
use crate::interrupt::{INTERRUPTED, stop_on_ctrl_c};
use crate::output::{Form, check_file, check_outputs, check_table, complain, shown};
use asked::Asked;
use describe::describe;
use files::write_files;
use numberings::Numberings;

/// Arguments of `place`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A graph of the catalogue, a preset, or a file in any format that `convert` reads.
    graph: String,

    /// A cluster preset or a cluster file.
    #[arg(long, short, default_value = "gtx1080x4")]
    cluster: String,

    /// Takes graph, cluster and placer by their names in this run folder's suite, made as the run made them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["placer_command", "devices", "kinds", "memory", "steps"])]
    run: Option<PathBuf>,

    /// The placer, as `name` or `name(parameter=value)`.
    #[arg(long, short, default_value = "heft", conflicts_with = "placer_command")]
    placer: String,

    /// A placer of your own instead: a program that gets an instance's folder as its last argument and writes one device
    /// a line. Split into words as a shell does it, but run without one: 'python3 my_placer.py --fast'.
    #[arg(long, value_name = "COMMAND")]
    placer_command: Option<String>,

    /// Most address space of the placer's program in MiB (Linux).
    #[arg(long, value_name = "MIB", requires = "placer_command", value_parser = clap::value_parser!(u64).range(1..))]
    memory_limit: Option<u64>,

    /// How the placer's program gets its tables, and --write-instance writes them: csv or parquet [default: csv].
    #[arg(long, value_name = "FORMAT")]
    instance_format: Option<InstanceFormat>,

    /// Writes the folder that a placer's program would get, to develop one with.
    #[arg(long, value_name = "DIR")]
    write_instance: Option<PathBuf>,

    /// The scheduler; `online` for placers that decide during the run, `chosen` for searches, which choose one [default: pct, or
    /// these].
    #[arg(long, short)]
    scheduler: Option<String>,

    /// The network model.
    #[arg(long, short, default_value = "contention_free", value_parser = network_model)]
    network: &'static dyn NetworkModel,

    /// What placers that search minimise: makespan, or the period, the time between two samples that follow each other; with
    /// --run what the suite says.
    #[arg(long, value_name = "OBJECTIVE", conflicts_with = "run")]
    objective: Option<Goal>,

    #[command(flatten)]
    passes: PassArgs,

    /// Seed of presets and of random placers.
    #[arg(long, default_value_t = 0, value_parser = super::number::seed)]
    seed: u64,

    /// Places under this many numberings of ops and devices, the given one first, and says what the makespans are: numbers
    /// decide ties. The rest of the answer and all files are of the given numbering.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    numberings: u32,

    /// Which of the kinds of devices that an op has kernels for it may run on: as_given (all of them), or
    /// accelerators_only (no CPU for an op that an accelerator of the cluster can run) [default: the graph's own rule, which
    /// is accelerators_only for graphs extracted from TensorFlow, JAX and PyTorch].
    #[arg(long)]
    kinds: Option<Kinds>,

    /// How the devices' memory limits the placement: peak (the most bytes in use at once have to fit), static (the placer
    /// keeps the sum of all tensors below it, as if none were ever freed), unlimited [default: peak].
    #[arg(long, value_name = "RULE")]
    memory: Option<MemoryRule>,

    /// Also simulates it when costs vary, and says how much longer it takes than predicted: a number, the coefficient of
    /// variation of each op and each transfer, as in 0.1, or 'op=0.1,device=0.05': see 'placebench list noise'. The makespan is
    /// then the mean, and the files are of the draw in the middle.
    #[arg(long, value_name = "NOISE")]
    noise: Option<Noise>,

    /// Only the first N devices of the cluster.
    #[arg(long, value_name = "N")]
    devices: Option<usize>,

    /// Seconds of processor time after which placing and simulating, under all numberings together, are given up, and a
    /// placer's program is killed; by the clock ten times as many. For an executor that measures, seconds by the clock.
    #[arg(long, value_name = "SECONDS", value_parser = number)]
    time_limit: Option<f64>,

    /// Writes the device of each op: CSV with op, name, device.
    #[arg(long, value_name = "FILE")]
    placement: Option<PathBuf>,

    /// Writes start and finish of each op and transfer: CSV.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,

    /// Draws what each device does when or, with --objective period, how long one sample keeps each device and the network
    /// busy: .svg, .png, .pdf or .tex.
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,

    #[command(flatten)]
    csv: CsvArgs,

    /// Writes the timeline in the Chrome trace format, for a trace viewer: JSON.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    place_and_execute(args, &Executing::simulated(), form)
}

/// How a placement is executed.
pub(super) struct Executing<'a> {
    pub(super) executor: &'static ExecutorEntry,
    pub(super) settings: ExecuteSettings,
    pub(super) notify: Notify,
    /// Where to write the row.
    pub(super) table: Option<&'a Path>,
}

impl Executing<'_> {
    fn simulated() -> Self {
        Self { executor: &EXECUTORS[0], settings: ExecuteSettings::default(), notify: silent(), table: None }
    }
}

/// Seconds after which a measured execution is given up if nothing else is said.
const MEASURING_LIMIT: f64 = 600.0;

/// The longest time limit, in seconds: some thirty years.
const LONGEST_LIMIT: f64 = 1e9;

/// Places what the arguments name, executes it, and prints and writes what came of it.
pub(super) fn place_and_execute(args: &Args, executing: &Executing<'_>, form: Form) -> anyhow::Result<Exit> {
    // What is wrong with the arguments is said before anything is read or computed.
    check_files(args, executing.table)?;
    if args.numberings > 1 && executing.executor.measures {
        bail!(
            "--numberings {}: {} measures, and only simulations place under several",
            args.numberings,
            executing.executor.name
        );
    }
    if args.noise.is_some() && executing.executor.measures {
        bail!("--noise is for simulations, and {} measures: leave it out", executing.executor.name);
    }
    if args.noise.is_some() && args.objective == Some(Goal::Period) {
        bail!("--noise: there is no period under noise: leave it out, or --objective period");
    }
    let limit = time_limit(args, executing.executor)?;
    let (asked, problem) = Asked::of(args)?;
    for line in &problem.notes {
        complain(&format!("note: {line}"));
    }
    if let Some(note) = problem.note() {
        complain(&format!("note: {note}"));
    }
    if let Some(folder) = &args.write_instance {
        let request = PlacerRequest {
            seed: args.seed,
            time_limit_seconds: args.time_limit,
            format: args.instance_format.unwrap_or_default(),
        };
        write_instance(folder, &problem.instance, &request)?;
    }

    // What measures runs in real time.
    let stop = match limit {
        None => StopToken::default(),
        Some(limit) if executing.executor.measures => StopToken::with_deadline(Instant::now() + limit),
        Some(limit) => StopToken::default().within(limit),
    };
    let request = asked.request(args, executing, &problem);
    // Programs have process groups of their own, which Ctrl-C does not reach: they are killed when the token stops.
    let is_killed = args.placer_command.is_some() || executing.executor.measures;
    let heeded = is_killed.then(|| stop_on_ctrl_c(&stop)).transpose()?;
    let networks = (!executing.executor.measures).then_some(args.network);
    let notes = problem.notes.clone();
    let prepared = Prepared::new(problem, networks, &stop);
    let Answer { evaluation, row } = prepared.evaluate(&request, &stop);
    let numberings = match evaluation.is_ok() && args.numberings > 1 {
        true => Some(Numberings::of(args.numberings, &row, &prepared, &request, &stop)?),
        false => None,
    };
    drop(heeded);

    let row = environment(rayon::current_num_threads(), BTreeMap::new()).sign(row);
    if let Some(path) = executing.table {
        save_table(path, &Table::new(std::slice::from_ref(&row))?, args.csv.texts())?;
    }
    let is_late = stop.is_late(Duration::ZERO);
    let evaluation = match evaluation {
        Ok(evaluation) => evaluation,
        Err(error) if error.is_stop() && !is_late => return Ok(Exit::from(INTERRUPTED)),
        Err(error) => return Err(refusal(error, limit)),
    };
    write_files(args, &row, &evaluation.timeline, &evaluation.placed(prepared.instance()))?;
    let written =
        [&args.write_instance, &args.placement, &args.timeline, &args.trace, &args.figure].map(Option::as_deref);
    let files = written.into_iter().chain([executing.table]).flatten().map(shown).collect();
    let text = || describe(&row, &evaluation, asked.minimised(), numberings.as_ref());
    let passed = PassReport::of(&notes, evaluation.executed.as_deref());
    form.print(&Printed { row: &row, numberings: numberings.as_ref(), passed, files }, text)?;
    Ok(Exit::SUCCESS)
}

/// Refuses a table of an unknown kind, and a file that would be written over something that is read or over another of the files.
fn check_files(args: &Args, table: Option<&Path>) -> anyhow::Result<()> {
    if let Some(path) = table {
        check_table(path)?;
    }
    if args.instance_format.is_some() && args.placer_command.is_none() && args.write_instance.is_none() {
        bail!(
            "--instance-format is for a placer's program: leave it out, or give --placer-command or --write-instance"
        );
    }
    if args.memory_limit.is_some() && args.placer_command.is_none() {
        bail!("--memory-limit is for a placer's program: leave it out, or give --placer-command");
    }
    args.csv.check(args.timeline.is_some() || args.placement.is_some() || table.is_some())?;
    if let Some(path) = &args.figure {
        Format::of(path)?;
    }
    let written = [&args.placement, &args.timeline, &args.trace, &args.figure].map(Option::as_deref);
    written.into_iter().flatten().try_for_each(check_file)?;
    let words = args.placer_command.as_deref().and_then(shlex::split).unwrap_or_default();
    // A folder among the words, such as '.', may well be where the answer goes.
    let of_command = words.iter().map(String::as_str).filter(|word| Path::new(word).is_file());
    let read = [args.graph.as_str(), args.cluster.as_str()].into_iter().chain(of_command);
    check_outputs(written.into_iter().chain([table]).flatten(), read.map(Path::new))
}

/// How long the cell may take; `None` for as long as it takes.
fn time_limit(args: &Args, executor: &ExecutorEntry) -> anyhow::Result<Option<Duration>> {
    match args.time_limit.or(executor.measures.then_some(MEASURING_LIMIT)) {
        Some(seconds) if !(seconds > 0.0 && seconds <= LONGEST_LIMIT) => {
            bail!("--time-limit must be above 0 and at most 1e9 seconds")
        }
        seconds => Ok(seconds.map(Duration::from_secs_f64)),
    }
}

/// Why there is no evaluation, in one line.
fn refusal(error: EvaluationError, limit: Option<Duration>) -> anyhow::Error {
    match error {
        error if error.is_stop() => {
            let seconds = limit.unwrap_or_default().as_secs_f64();
            anyhow::anyhow!("not done within the time limit of {seconds} s: {error}; give it more with --time-limit")
        }
        EvaluationError::Place { error, .. } => error.into(),
        error if error.status() == Status::Error => anyhow::anyhow!("{error}"),
        error => anyhow::anyhow!("{}: {error}", error.status().name()),
    }
}

/// What the verb answers.
#[derive(Serialize)]
struct Printed<'a> {
    row: &'a Row,
    #[serde(skip_serializing_if = "Option::is_none")]
    numberings: Option<&'a Numberings>,
    /// What passes did.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed: Option<PassReport<'a>>,
    files: Vec<String>,
}
