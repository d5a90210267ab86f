//! `placebench place`: one placement, judged and written down.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::{ONLINE, PlaceContext, Placer, Spec, StopToken, registry};
use placebench::datasets::{Instance, PlacedGraph};
use placebench::harness::objective::SimulatedObjective;
use placebench::harness::runner::{Judgement, Yardstick, judge, judge_online};
use placebench::harness::simulator::NetworkModel;
use placebench::harness::suite::time_unit;
use placebench::harness::table::Status;
use placebench::harness::trace::write_chrome_trace;
use placebench::reports::{bytes_text, time_text};
use std::io::Write;

use super::source;
use crate::output::print;

/// Arguments of `place`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A graph of the catalogue, a preset, or a file in any format that `convert` reads.
    graph: String,

    /// A cluster preset or a cluster file.
    #[arg(long, short, default_value = "gtx1080x4")]
    cluster: String,

    /// The placer, as `name` or `name(parameter=value)`.
    #[arg(long, short, default_value = "heft")]
    placer: String,

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

    /// Seconds after which placing and simulating are given up.
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
    let placer = registry::placer(&args.placer.parse::<Spec>()?)?;
    let scheduler_name = scheduler_name(args, &*placer)?;
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
    let instance = Instance::new(graph, cluster)?;
    let stop = match args.time_limit {
        None => StopToken::default(),
        Some(seconds) if seconds > 0.0 && seconds <= 1e9 => {
            StopToken::with_deadline(Instant::now() + std::time::Duration::from_secs_f64(seconds))
        }
        Some(_) => return Err(anyhow!("--time-limit must be above 0 and at most 1e9 seconds")),
    };
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
            let decision = placer.place(&instance, &context)?;
            let seconds = started.elapsed().as_secs_f64();
            let judgement =
                judge(&instance, &decision, &*scheduler, args.network, &yardstick, &stop).map_err(refused)?;
            (decision, judgement, seconds)
        }
    };
    let placed = PlacedGraph::new(&instance, &decision.placement);
    if let Some(path) = &args.placement {
        source::write_file(path, |out| write_placement(out, &instance, &placed))?;
    }
    if let Some(path) = &args.timeline {
        source::write_file(path, |out| write_timeline(out, &instance, &placed, &judgement))?;
    }
    if let Some(path) = &args.trace {
        source::write_file(path, |out| write_chrome_trace(&judgement.timeline, &placed, out))?;
    }
    print(&describe(args, &scheduler_name, &instance, &judgement, &yardstick, placed_in, &unit))?;
    Ok(ExitCode::SUCCESS)
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
        ("placed by", format!("{} in {placed_in:.3} s", args.placer)),
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
