//! `placebench place`: one placement, judged and written down.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::{ONLINE, PlaceContext, PlaceError, Placer, Spec, StopToken, registry};
use placebench::datasets::significant::{bytes_text, time_text};
use placebench::datasets::{Instance, PlacedGraph};
use placebench::harness::command_placer::{CommandPlacer, InstanceFormat, Request, write_instance};
use placebench::harness::objective::SimulatedObjective;
use placebench::harness::results::Status;
use placebench::harness::runner::{Judgement, Yardstick, instance_of, judge, judge_online, read_suite};
use placebench::harness::simulator::NetworkModel;
use placebench::harness::suite::{ClusterEntry, GraphEntry, Group, Plan, time_unit};
use placebench::harness::trace::write_chrome_trace;
use placebench_partition::interrupt::{INTERRUPTED, stop_on_ctrl_c};
use placebench_partition::output::print;
use placebench_partition::source;

use crate::output::write_file;

/// Arguments of `place`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A graph of the catalogue, a preset, or a file in any format that `convert` reads.
    graph: String,

    /// A cluster preset or a cluster file.
    #[arg(long, short, default_value = "gtx1080x4")]
    cluster: String,

    /// Takes graph, cluster and placer by their names in this run folder's suite, made as the run made them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["placer_command", "devices", "unlimited_memory"])]
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
    #[arg(long, short, default_value = "contention_free")]
    network: NetworkModel,

    /// Seed of presets and of random placers.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Ignores the devices' memory.
    #[arg(long)]
    unlimited_memory: bool,

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

    /// Writes the timeline in the Chrome trace format, for a trace viewer: JSON.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let limit = match args.time_limit {
        Some(seconds) if !(seconds > 0.0 && seconds <= 1e9) => {
            return Err(anyhow!("--time-limit must be above 0 and at most 1e9 seconds"));
        }
        seconds => seconds.map(Duration::from_secs_f64),
    };
    let Problem { instance, unit, placer } = match &args.run {
        Some(folder) => problem_of_run(args, folder)?,
        None => problem(args)?,
    };
    let scheduler_name = scheduler_name(args, &*placer)?;
    let stop = limit.map_or_else(StopToken::default, |limit| StopToken::with_deadline(Instant::now() + limit));
    if let Some(folder) = &args.write_instance {
        let request = Request { seed: args.seed, time_limit_seconds: args.time_limit, format: args.instance_format };
        write_instance(folder, &instance, &request)?;
    }
    if args.placer_command.is_some() {
        // A program has a process group of its own, which Ctrl-C does not reach: it is killed when the token stops.
        stop_on_ctrl_c(&stop)?;
    }
    let yardstick = Yardstick::new(&instance);
    let refused = |(status, reason): (Status, String)| anyhow!("{}: {reason}", status.name());
    let (decision, judgement, placed_in) = match placer.online() {
        Some(online) => {
            let (decision, judgement) =
                judge_online(&instance, online, args.network, &yardstick, &stop).map_err(refused)?;
            let seconds = judgement.simulated_in.as_secs_f64();
            (decision, judgement, seconds)
        }
        None => {
            let scheduler = registry::scheduler(&scheduler_name.parse::<Spec>()?)?;
            let objective = Arc::new(SimulatedObjective { network: args.network });
            let context = PlaceContext { seed: args.seed, stop: stop.clone(), objective: Some(objective) };
            let started = Instant::now();
            let decision = match placer.place(&instance, &context) {
                Err(PlaceError::Stopped) if args.time_limit.is_none() => return Ok(ExitCode::from(INTERRUPTED)),
                decision => decision?,
            };
            let seconds = started.elapsed().as_secs_f64();
            let judgement =
                judge(&instance, &decision, &*scheduler, args.network, &yardstick, &stop).map_err(refused)?;
            (decision, judgement, seconds)
        }
    };
    let placed = PlacedGraph::new(&instance, &decision.placement);
    if let Some(path) = &args.placement {
        write_file(path, |out| write_placement(out, &instance, &placed))?;
    }
    if let Some(path) = &args.timeline {
        write_file(path, |out| write_timeline(out, &instance, &placed, &judgement))?;
    }
    if let Some(path) = &args.trace {
        write_file(path, |out| write_chrome_trace(&judgement.timeline, &placed, out))?;
    }
    print(&describe(args, &scheduler_name, &instance, &judgement, &yardstick, placed_in, &unit))?;
    Ok(ExitCode::SUCCESS)
}

/// What is to be placed, and by what.
struct Problem {
    instance: Instance,
    /// Unit of the instance's times.
    unit: String,
    placer: Box<dyn Placer>,
}

/// The problem that the arguments describe.
fn problem(args: &Args) -> anyhow::Result<Problem> {
    let placer = placer(args)?;
    // A wrong name is told before a large graph is read.
    scheduler_name(args, &*placer)?;
    let (header, graph) = source::graph(&args.graph, args.seed)?;
    let unit = time_unit(&header, &graph).to_owned();
    let mut cluster = source::cluster(&args.cluster, args.seed)?;
    if let Some(devices) = args.devices {
        let count = cluster.device_count();
        cluster = cluster
            .first_devices(devices)
            .with_context(|| format!("cluster '{}' has {count} devices: --devices takes 1 to {count}", args.cluster))?;
    }
    if args.unlimited_memory {
        cluster = cluster.without_memory_limits();
    }
    Ok(Problem { instance: Instance::new(graph, cluster)?, unit, placer })
}

/// The problem that the arguments name in a run.
fn problem_of_run(args: &Args, folder: &Path) -> anyhow::Result<Problem> {
    let suite = read_suite(folder)?.1?;
    let known = |what: &str, name: &str, names: Vec<String>| match names.iter().position(|known| known == name) {
        Some(index) => Ok(index),
        None => Err(anyhow!("{}: the suite has no {what} '{name}', but {}", folder.display(), names.join(", "))),
    };
    let graph = known("graph", &args.graph, suite.graphs.iter().map(GraphEntry::label).collect())?;
    let cluster = known("cluster", &args.cluster, suite.clusters.iter().map(ClusterEntry::label).collect())?;
    let mut plan = Plan::new(suite)?;
    let group = Group { graph, cluster, repetition: 0, seed: args.seed };
    let (instance, unit) = instance_of(&plan, &group).map_err(|reason| anyhow!(reason))?;
    let placer = match plan.placers.iter().position(|(name, _)| *name == args.placer) {
        Some(index) => plan.placers.swap_remove(index).1,
        None => placer(args)?,
    };
    Ok(Problem { instance, unit, placer })
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

fn describe(
    args: &Args,
    scheduler: &str,
    instance: &Instance,
    judgement: &Judgement,
    yardstick: &Yardstick,
    placed_in: f64,
    unit: &str,
) -> String {
    let metrics = &judgement.metrics;
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    let ratio = |denominator: f64| number((denominator > 0.0).then(|| metrics.makespan / denominator));
    let bound = &yardstick.bound;
    let lines = [
        (
            "graph",
            format!("{}, {} ops, {} edges", args.graph, instance.graph().op_count(), instance.graph().edge_count()),
        ),
        (
            "cluster",
            format!("{}, {} devices, {} used", args.cluster, instance.cluster().device_count(), metrics.devices_used),
        ),
        ("placed by", format!("{} in {placed_in:.3} s", args.placer_command.as_ref().unwrap_or(&args.placer))),
        ("scheduled by", format!("{scheduler} under {}", args.network)),
        ("makespan", time_text(metrics.makespan, unit)),
        ("SLR", ratio(yardstick.slr_denominator)),
        ("gap", format!("{} to the lower bound {} ({})", ratio(bound.value), time_text(bound.value, unit), bound.name)),
        ("speedup", number(metrics.speedup)),
        ("utilization", number(metrics.utilization)),
        ("load imbalance", number(metrics.load_imbalance)),
        ("traffic", format!("{} in {} transfers", bytes_text(metrics.traffic_bytes as f64), metrics.transfers)),
        ("cut", format!("{} on {} edges", bytes_text(metrics.cut_bytes as f64), metrics.cut_edges)),
        ("peak memory", bytes_text(metrics.peak_memory_bytes as f64)),
    ];
    lines.iter().map(|(name, value)| format!("{name:<15} {value}\n")).collect()
}

fn write_placement(out: &mut impl Write, instance: &Instance, placed: &PlacedGraph<'_>) -> std::io::Result<()> {
    let (graph, cluster) = (instance.graph(), instance.cluster());
    writeln!(out, "op,name,device")?;
    for op in graph.op_ids() {
        let device = &cluster.device(placed.device_of(op)).name;
        writeln!(out, "{op},{},{}", quoted(graph.name(op).unwrap_or_default()), quoted(device))?;
    }
    Ok(())
}

fn write_timeline(
    out: &mut impl Write,
    instance: &Instance,
    placed: &PlacedGraph<'_>,
    judgement: &Judgement,
) -> std::io::Result<()> {
    let (graph, cluster, timeline) = (instance.graph(), instance.cluster(), &judgement.timeline);
    let name = |device| quoted(&cluster.device(device).name);
    writeln!(out, "what,op,name,device,to,bytes,start,finish")?;
    for op in graph.op_ids() {
        let (label, device) = (quoted(graph.name(op).unwrap_or_default()), name(placed.device_of(op)));
        writeln!(out, "op,{op},{label},{device},,,{},{}", timeline.start(op), timeline.finish(op))?;
    }
    for op in graph.op_ids() {
        for id in placed.transfers_of(op) {
            let transfer = placed.transfer(id);
            let label = quoted(graph.name(op).unwrap_or_default());
            let (from, to) = (name(transfer.from), name(transfer.to));
            if let Some(send) = timeline.send(id) {
                writeln!(out, "send,{op},{label},{from},{to},,{},{}", send.start, send.end)?;
            }
            let time = timeline.transfer(placed, id);
            writeln!(out, "transfer,{op},{label},{from},{to},{},{},{}", transfer.bytes, time.start, time.end)?;
        }
    }
    Ok(())
}

/// A field of a CSV file, quoted where it must be.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
