//! `placebench place`: one placement, judged and written down.

mod describe;
mod files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use placebench::algorithms::{Placer, Spec, StopToken, registry};
use placebench::datasets::{MemoryRule, PlacedGraph};
use placebench::environment;
use placebench::harness::command_placer::{CommandPlacer, InstanceFormat, PlacerRequest, write_instance};
use placebench::harness::evaluate::EvaluationError;
use placebench::harness::execute::simulate::{NetworkModel, network_model};
use placebench::harness::execute::{EXECUTORS, ExecuteSettings, ExecutorEntry, ExecutorName, Notify};
use placebench::harness::problem::{ClusterEntry, GraphEntry, Kinds, Problem};
use placebench::harness::request::{Answer, CellRequest, Prepared, choose_scheduler, silent};
use placebench::harness::results::{CellKey, Row, Status, Table, TableFormat, save_table};
use placebench::harness::runner::read_suite;
use placebench::harness::suite::{CellGroup, RunPlan};
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
    /// accelerators_only (no CPU for an op that an accelerator of the cluster can run) [default: the graph's own rule, which
    /// is accelerators_only for graphs extracted from TensorFlow and JAX].
    #[arg(long)]
    kinds: Option<Kinds>,

    /// How the devices' memory limits the placement: peak (the most bytes in use at once have to fit), static (the placer
    /// keeps the sum of all tensors below it, as if none were ever freed), unlimited [default: peak].
    #[arg(long, value_name = "RULE")]
    memory: Option<MemoryRule>,

    /// Only the first N devices of the cluster.
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
        Self { executor: &EXECUTORS[0], settings: ExecuteSettings::default(), notify: silent(), table: None }
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
    let Asked { graph, problem, placer, name, spec } = match &args.run {
        Some(folder) => asked_of_run(args, folder)?,
        None => asked(args)?,
    };
    let chosen = choose_scheduler(&name, &*placer, args.scheduler.as_deref())?;
    let stop = limit.map_or_else(StopToken::default, |limit| StopToken::with_deadline(Instant::now() + limit));
    let request = CellRequest {
        key: CellKey {
            suite: String::new(),
            graph: args.graph.clone(),
            cluster: args.cluster.clone(),
            kinds: problem.kinds,
            network: args.network.name().to_owned(),
            executor: ExecutorName::from(executor.name),
            placer: name,
            scheduler: chosen.name,
            repetition: 0,
            seed: args.seed,
        },
        spec: spec.as_deref(),
        memory: problem.instance.memory_rule(),
        graph: &graph,
        placer: &*placer,
        scheduler: chosen.scheduler.as_deref(),
        network: args.network,
        executor,
        settings,
        notify: notify.clone(),
    };
    if let Some(folder) = &args.write_instance {
        let request =
            PlacerRequest { seed: args.seed, time_limit_seconds: args.time_limit, format: args.instance_format };
        write_instance(folder, &problem.instance, &request)?;
    }
    // Programs have process groups of their own, which Ctrl-C does not reach: they are killed when the token stops.
    let heeded = (args.placer_command.is_some() || executor.measures).then(|| stop_on_ctrl_c(&stop)).transpose()?;
    let networks = (!executor.measures).then_some(args.network);
    let prepared = Prepared::new(problem, networks, &stop);
    let instance = prepared.instance();
    let Answer { evaluation, row } = prepared.evaluate(&request, &stop);
    drop(heeded);
    let row = environment(rayon::current_num_threads(), BTreeMap::new()).sign(row);
    if let Some(path) = table {
        save_table(path, &Table::new(std::slice::from_ref(&row))?, args.csv.texts())?;
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
    let placed = PlacedGraph::new(instance, &evaluation.decision.placement);
    if let Some(path) = &args.placement {
        write_file(path, |out| write_placement(out, instance, &placed, args.csv.texts()))?;
    }
    if let Some(path) = &args.timeline {
        write_file(path, |out| write_timeline(out, &evaluation.timeline, &placed, instance, args.csv.texts()))?;
    }
    if let Some(path) = &args.trace {
        write_trace(path, args, &evaluation.timeline, &placed)?;
    }
    let folder = args.write_instance.as_deref();
    let files = [folder, *table, args.placement.as_deref(), args.timeline.as_deref(), args.trace.as_deref()];
    let files = files.into_iter().flatten().map(shown).collect();
    form.print(&Printed { row: &row, files }, || describe(&row, &evaluation))?;
    Ok(ExitCode::SUCCESS)
}

/// What the verb answers.
#[derive(Serialize)]
struct Printed<'a> {
    row: &'a Row,
    files: Vec<String>,
}

/// What the arguments ask for.
struct Asked {
    graph: GraphEntry,
    problem: Problem,
    placer: Box<dyn Placer>,
    /// The placer's name in tables.
    name: String,
    /// The placer in the registry, if it is one of those.
    spec: Option<String>,
}

/// What the arguments describe.
fn asked(args: &Args) -> anyhow::Result<Asked> {
    let (placer, name, spec) = placer(args)?;
    // A wrong name is reported before a large graph is read.
    choose_scheduler(&name, &*placer, args.scheduler.as_deref())?;
    let (devices, memory) = (args.devices, args.memory.unwrap_or_default());
    let cluster = ClusterEntry { devices, kinds: args.kinds, memory, ..ClusterEntry::named(&args.cluster)? };
    let graph = GraphEntry::named(&args.graph)?;
    Ok(Asked { problem: Problem::new(&graph, &cluster, args.seed)?, graph, placer, name, spec })
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
    let mut plan = RunPlan::new(suite)?;
    let problem = plan.problem(&CellGroup { graph, cluster, repetition: 0, seed: args.seed })?;
    let graph = plan.suite.graphs[graph].clone();
    let (placer, name, spec) = match plan.placers.iter().position(|(name, _)| *name == args.placer) {
        Some(index) => {
            let spec = plan.spec(index).map(str::to_owned);
            let (name, placer) = plan.placers.swap_remove(index);
            (placer, name, spec)
        }
        None => placer(args)?,
    };
    Ok(Asked { graph, problem, placer, name, spec })
}

/// The placer that the arguments name, its name in tables, and its specification if the registry has it.
fn placer(args: &Args) -> anyhow::Result<(Box<dyn Placer>, String, Option<String>)> {
    let Some(text) = &args.placer_command else {
        let placer = registry::placer(&args.placer.parse::<Spec>()?)?;
        return Ok((placer, args.placer.clone(), Some(args.placer.clone())));
    };
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
    Ok((Box::new(placer), text.clone(), None))
}
