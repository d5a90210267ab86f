//! `placebench place`: one placement, judged and written down.

mod describe;
mod files;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use placebench::algorithms::{ONLINE, Placer, Spec, StopToken, registry};
use placebench::datasets::{Instance, MemoryRule, PlacedGraph};
use placebench::harness::command_placer::{CommandPlacer, InstanceFormat, Request, write_instance};
use placebench::harness::evaluate::{Evaluation, EvaluationError, Evaluator, Reference};
use placebench::harness::execute::simulate::{NetworkModel, network_model};
use placebench::harness::execute::{EXECUTORS, ExecuteSettings, ExecutorEntry, ExecutorName, Notify, Setup};
use placebench::harness::problem::{ClusterEntry, GraphEntry, Kinds, Problem};
use placebench::harness::results::{Row, Status, Table, TableFormat, save_table};
use placebench::harness::runner::read_suite;
use placebench::harness::suite::{Group, Plan};
use serde::Serialize;

use super::csv::CsvArgs;
use crate::interrupt::{INTERRUPTED, stop_on_ctrl_c};
use crate::output::{Form, shown, write_file};
use describe::describe;
use files::{write_placement, write_timeline, write_trace};

/// Arguments of `place`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A graph of the catalogue, a preset, or a file in any format that `convert` reads.
    graph: String,

    /// A cluster preset or a cluster file.
    #[arg(long, short, default_value = "gtx1080x4")]
    cluster: String,

    /// Takes graph, cluster and placer by their names in this run folder's suite, made as the run made them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["placer_command", "devices", "kinds", "memory"])]
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

    /// How the placer's program gets its tables, and --write-instance writes them: csv or parquet.
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    instance_format: InstanceFormat,

    /// Writes the folder that a placer's program would get, to develop one with.
    #[arg(long, value_name = "DIR")]
    write_instance: Option<PathBuf>,

    /// The scheduler; `online` for placers that decide during the run [default: pct, or online].
    #[arg(long, short)]
    scheduler: Option<String>,

    /// The network model.
    #[arg(long, short, default_value = "contention_free", value_parser = network_model)]
    network: &'static dyn NetworkModel,

    /// Seed of presets and of random placers.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Which of the kinds of devices that an op has kernels for it may run on: as_given (all of them), or
    /// accelerators_only (no CPU for an op that an accelerator of the cluster can run) [default: as_given].
    #[arg(long)]
    kinds: Option<Kinds>,

    /// How the devices' memory limits the placement: peak (the most bytes in use at once have to fit), static (the placer
    /// keeps the sum of all tensors below it, as if none were ever freed), unlimited [default: peak].
    #[arg(long, value_name = "RULE")]
    memory: Option<MemoryRule>,

    /// Only the first so many devices of the cluster.
    #[arg(long, value_name = "N")]
    devices: Option<usize>,

    /// Seconds after which placing and simulating are given up, and a placer's program is killed.
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<f64>,

    /// Writes the device of each op: CSV with op, name, device.
    #[arg(long, value_name = "FILE")]
    placement: Option<PathBuf>,

    /// Writes start and finish of each op and transfer: CSV.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,

    #[command(flatten)]
    csv: CsvArgs,

    /// Writes the timeline in the Chrome trace format, for a trace viewer: JSON.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<ExitCode> {
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
        let notify: Notify = Arc::new(|_| ());
        Self { executor: &EXECUTORS[0], settings: ExecuteSettings::default(), notify, table: None }
    }
}

/// Seconds after which a measured execution is given up if nothing else is said.
const MEASURING_LIMIT: f64 = 600.0;

/// Places what the arguments name, executes it, and prints and writes what came of it.
pub(super) fn place_and_execute(args: &Args, executing: &Executing<'_>, form: Form) -> anyhow::Result<ExitCode> {
    let Executing { executor, settings, notify, table } = executing;
    if let Some(path) = table
        && TableFormat::of_path(path).is_none()
    {
        bail!("{}: unknown kind of table: use .csv, .json or .parquet", path.display());
    }
    let time_limit = args.time_limit.or(executor.measures.then_some(MEASURING_LIMIT));
    let limit = match time_limit {
        Some(seconds) if !(seconds > 0.0 && seconds <= 1e9) => {
            return Err(anyhow!("--time-limit must be above 0 and at most 1e9 seconds"));
        }
        seconds => seconds.map(Duration::from_secs_f64),
    };
    let Asked { graph, problem: Problem { instance, time_unit }, kinds, placer } = match &args.run {
        Some(folder) => asked_of_run(args, folder)?,
        None => asked(args)?,
    };
    let scheduler_name = scheduler_name(args, &*placer)?;
    let stop = limit.map_or_else(StopToken::default, |limit| StopToken::with_deadline(Instant::now() + limit));
    if let Some(folder) = &args.write_instance {
        let request = Request { seed: args.seed, time_limit_seconds: args.time_limit, format: args.instance_format };
        write_instance(folder, &instance, &request)?;
    }
    // Programs have process groups of their own, which Ctrl-C does not reach: they are killed when the token stops.
    let heeded = (args.placer_command.is_some() || executor.measures).then(|| stop_on_ctrl_c(&stop)).transpose()?;
    let setup = Setup { network: args.network, settings, graph: &graph, time_unit: &time_unit, notify: notify.clone() };
    let made = (executor.make)(&setup).map_err(|reason| anyhow!("{}: {reason}", executor.name))?;
    let mut reference = Reference::new(&instance);
    if !executor.measures {
        reference = reference.with_single_device(&instance, &*made, &stop);
    }
    let evaluator = Evaluator { instance: &instance, reference: Some(&reference), seed: args.seed, stop: &stop };
    let scheduler = match placer.online() {
        Some(_) => None,
        None => Some(registry::scheduler(&scheduler_name.parse::<Spec>()?)?),
    };
    let evaluation = evaluator
        .place(&*placer, args.network)
        .and_then(|placed| evaluator.execute(&placed, scheduler.as_deref(), &*made));
    drop(heeded);
    let blank = blank_row(args, kinds, &scheduler_name, &instance, &reference, &time_unit, executor);
    if let Some(path) = table {
        save_table(path, &Table::new(&[row(blank.clone(), &evaluation)])?, args.csv.texts())?;
    }
    let is_late = stop.deadline().is_some_and(|deadline| Instant::now() >= deadline);
    let evaluation = match evaluation {
        Ok(evaluation) => evaluation,
        Err(error) if error.is_stop() && !is_late => return Ok(ExitCode::from(INTERRUPTED)),
        Err(error) if error.is_stop() => {
            let seconds = time_limit.unwrap_or_default();
            bail!("not done within the time limit of {seconds} s: {error}; give it more with --time-limit")
        }
        Err(EvaluationError::Place { error, .. }) => return Err(error.into()),
        Err(error) if error.status() == Status::Error => bail!("{error}"),
        Err(error) => bail!("{}: {error}", error.status().name()),
    };
    let placed = PlacedGraph::new(&instance, &evaluation.decision.placement);
    if let Some(path) = &args.placement {
        write_file(path, |out| write_placement(out, &instance, &placed, args.csv.texts()))?;
    }
    if let Some(path) = &args.timeline {
        write_file(path, |out| write_timeline(out, &evaluation.timeline, &placed, &instance, args.csv.texts()))?;
    }
    if let Some(path) = &args.trace {
        write_trace(path, args, &evaluation.timeline, &placed)?;
    }
    let folder = args.write_instance.as_deref();
    let files = [folder, *table, args.placement.as_deref(), args.timeline.as_deref(), args.trace.as_deref()];
    let files = files.into_iter().flatten().map(shown).collect();
    form.print(&Answer { row: evaluation.row(blank), files }, || {
        describe(args, kinds, &scheduler_name, &instance, &evaluation, &reference, &time_unit)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What the verb answers.
#[derive(Serialize)]
struct Answer {
    row: Row,
    files: Vec<String>,
}

/// The row of an evaluation, or of why there is none.
fn row(blank: Row, evaluation: &Result<Evaluation, EvaluationError>) -> Row {
    match evaluation {
        Ok(evaluation) => evaluation.row(blank),
        Err(error) => Row { status: error.status().name().to_owned(), error: Some(error.to_string()), ..blank },
    }
}

/// A row with what is known before the run.
fn blank_row(
    args: &Args,
    kinds: Kinds,
    scheduler: &str,
    instance: &Instance,
    reference: &Reference,
    time_unit: &str,
    executor: &ExecutorEntry,
) -> Row {
    Row {
        graph: args.graph.clone(),
        cluster: args.cluster.clone(),
        devices: instance.cluster().device_count() as u32,
        kinds,
        memory: Some(instance.memory_rule().name().to_owned()),
        placer: args.placer_command.clone().unwrap_or_else(|| args.placer.clone()),
        scheduler: scheduler.to_owned(),
        network: args.network.name().to_owned(),
        executor: ExecutorName::from(executor.name),
        seed: args.seed,
        ops: instance.graph().op_count() as u64,
        edges: instance.graph().edge_count() as u64,
        time_unit: time_unit.to_owned(),
        lower_bound: Some(reference.bound.value),
        bound: Some(reference.bound.name.to_owned()),
        ..Row::default()
    }
}

/// What the arguments ask for.
struct Asked {
    graph: GraphEntry,
    problem: Problem,
    /// Which kinds of devices ops may run on.
    kinds: Kinds,
    placer: Box<dyn Placer>,
}

/// What the arguments describe.
fn asked(args: &Args) -> anyhow::Result<Asked> {
    let placer = placer(args)?;
    // A wrong name is reported before a large graph is read.
    scheduler_name(args, &*placer)?;
    let (devices, kinds, memory) = (args.devices, args.kinds.unwrap_or_default(), args.memory.unwrap_or_default());
    let cluster = ClusterEntry { devices, kinds, memory, ..ClusterEntry::named(&args.cluster)? };
    let graph = GraphEntry::named(&args.graph)?;
    Ok(Asked { problem: Problem::new(&graph, &cluster, args.seed)?, graph, kinds, placer })
}

/// What the arguments name in a run.
fn asked_of_run(args: &Args, folder: &Path) -> anyhow::Result<Asked> {
    let suite = read_suite(folder)?.1?;
    let known = |what: &str, name: &str, names: Vec<String>| match names.iter().position(|known| known == name) {
        Some(index) => Ok(index),
        None => Err(anyhow!("{}: the suite has no {what} '{name}', but {}", folder.display(), names.join(", "))),
    };
    let graph = known("graph", &args.graph, suite.graphs.iter().map(GraphEntry::label).collect())?;
    let cluster = known("cluster", &args.cluster, suite.clusters.iter().map(ClusterEntry::label).collect())?;
    let mut plan = Plan::new(suite)?;
    let group = Group { graph, cluster, repetition: 0, seed: args.seed };
    let graph = plan.suite.graphs[graph].clone();
    let (problem, kinds) = (plan.problem(&group)?, plan.suite.clusters[cluster].kinds);
    let placer = match plan.placers.iter().position(|(name, _)| *name == args.placer) {
        Some(index) => plan.placers.swap_remove(index).1,
        None => placer(args)?,
    };
    Ok(Asked { graph, problem, kinds, placer })
}

/// The placer that the arguments name.
fn placer(args: &Args) -> anyhow::Result<Box<dyn Placer>> {
    let Some(text) = &args.placer_command else { return Ok(registry::placer(&args.placer.parse::<Spec>()?)?) };
    let words =
        shlex::split(text).ok_or_else(|| anyhow!("--placer-command: a quotation mark is not closed: {text}"))?;
    if words.is_empty() {
        return Err(anyhow!("--placer-command: give a program, as in 'python3 my_placer.py'"));
    }
    let placer = CommandPlacer {
        name: "command".to_owned(),
        command: words,
        format: args.instance_format,
        time_limit_seconds: args.time_limit,
        memory_limit_mib: args.memory_limit,
        ..CommandPlacer::default()
    };
    placer.check().map_err(|reason| anyhow!("--placer-command: {reason}"))?;
    Ok(Box::new(placer))
}

/// The scheduler asked for, or the default of the placer.
fn scheduler_name(args: &Args, placer: &dyn Placer) -> anyhow::Result<String> {
    match (placer.online(), args.scheduler.as_deref()) {
        (Some(_), None | Some(ONLINE)) => Ok(ONLINE.to_owned()),
        (Some(_), Some(name)) => {
            bail!("{} decides during the run and needs no scheduler: leave out --scheduler {name}", args.placer)
        }
        (None, None) => Ok("pct".to_owned()),
        (None, Some(ONLINE)) => bail!("{} decides before the run: give a scheduler, such as pct", args.placer),
        (None, Some(name)) => {
            // A wrong name is told before anything runs.
            registry::scheduler(&name.parse::<Spec>()?)?;
            Ok(name.to_owned())
        }
    }
}
