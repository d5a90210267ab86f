//! `placebench calibrate`: measures a machine into a cluster file.

use crate::output::Exit;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::StopToken;
use placebench::datasets::format::{self, GraphHeader};
use placebench::datasets::{DataflowGraph, MemoryRule, is_less};
use placebench::harness::calibrate::{
    CalibrateSettings, Calibration, Ends, Line, Measured, PairFit, QuietMeasurement, measure_quietly,
};
use placebench::harness::execute::simulate::Noise;
use placebench::harness::execute::{ExecuteSettings, Transport};
use placebench::harness::problem::{ClusterEntry, GraphEntry};
use placebench::harness::suite::{BuiltIn, Suite};
use serde::{Deserialize as _, Serialize};

use crate::interrupt::stop_on_ctrl_c;
use crate::output::{Form, check_file, shown};

/// Arguments of `calibrate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What executes: jax, torch, tensorflow or threads.
    #[arg(long, short, value_name = "NAME", default_value = "jax", value_parser = ["jax", "torch", "tensorflow", "threads"])]
    executor: String,

    /// threads, jax, torch: how tensors move: memory (threads: in one process; jax, torch: in memory that the processes of
    /// one host share), or tcp (over sockets, a process a device). Processes of several hosts use tcp.
    #[arg(long, value_name = "TRANSPORT", default_value_t)]
    transport: Transport,

    /// CPU devices, a process with a core of its own each.
    #[arg(long, value_name = "N", default_value_t = 2)]
    devices: usize,

    /// GPUs beside them.
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpus: usize,

    /// Processes on other hosts, one a device, as ADDRESS:PORT, separated by commas.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    hosts: Vec<String>,

    /// jax, torch: a graph whose step is measured on each device, for the times of its ops: a model of the catalogue from JAX or
    /// PyTorch, or a folder of the extractor; may be repeated [default: gpt2 and unet; torch: seq2seq and detector].
    #[arg(long, value_name = "GRAPH")]
    graph: Vec<String>,

    /// The cluster file to write. The measurements go beside it as JSON, and the graphs with the times measured here into a
    /// folder, with the suite 'reality' that executes them: machine.toml, machine.json, machine/, machine/reality.toml.
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,

    /// Replaces existing files.
    #[arg(long, short)]
    force: bool,

    /// Measures nothing: makes the cluster file from this JSON file, which an earlier calibration wrote.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["executor", "transport", "devices", "gpus", "hosts", "graph", "anyway"]
    )]
    from: Option<PathBuf>,

    /// Transfers cost what tensors cost that are sent one by one, not what they cost in steps of random graphs.
    #[arg(long)]
    alone: bool,

    /// Measures once, whatever other processes do. Without it, what was measured while they used more than 5 % of a core is
    /// measured again, up to three times, and refused above 20 %.
    #[arg(long)]
    anyway: bool,
}

/// Executors whose calibration measures steps of graphs.
const STEPS: [&str; 2] = ["jax", "torch"];

/// Types of ops that are printed: those that took longest.
const MOST_TYPES: usize = 6;

/// What the verb answers. Times are seconds.
#[derive(Serialize)]
struct Answer<'a> {
    devices: Vec<DeviceAnswer<'a>>,
    /// Types of ops, those that took longest first.
    types: Vec<TypeAnswer<'a>>,
    transfers: Vec<TransferAnswer<'a>>,
    /// How pairs that send at once slow each other.
    sharing: Vec<SharingAnswer<'a>>,
    /// How far network models are off that, the nearest first.
    networks: Vec<NetworkAnswer<'a>>,
    /// By how much the times of ops, devices and transfers vary from run to run, as `--noise` takes it.
    noise: Option<String>,
    /// Cores that other processes used meanwhile.
    other_load: Option<f64>,
    files: Vec<String>,
}

#[derive(Serialize)]
struct DeviceAnswer<'a> {
    name: &'a str,
    speed: f64,
    residual: f64,
    op_overhead: f64,
}

#[derive(Serialize)]
struct TypeAnswer<'a> {
    op_type: &'a str,
    speeds: &'a [f64],
}

#[derive(Serialize)]
struct TransferAnswer<'a> {
    from: &'a str,
    to: &'a str,
    send: Line,
    receive: Line,
    link: Line,
    one_way: Line,
    /// Whether sender and receiver were measured in steps of random graphs, or by tensors sent one by one.
    in_steps: bool,
}

#[derive(Serialize)]
struct SharingAnswer<'a> {
    pairs: Vec<[&'a str; 2]>,
    ratio: f64,
}

#[derive(Serialize)]
struct NetworkAnswer<'a> {
    network: &'a str,
    error: f64,
}

impl<'a> Answer<'a> {
    fn new(calibration: &'a Calibration, noise: Option<Noise>, other_load: Option<f64>, files: Vec<String>) -> Self {
        let cluster = &calibration.cluster;
        let name = |device| cluster.device(device).name.as_str();
        let device = |(device, line): (_, &Line)| DeviceAnswer {
            name: name(device),
            speed: cluster.device(device).speed,
            residual: line.residual,
            op_overhead: cluster.op_overhead(device),
        };
        let transfer = |pair: &'a PairFit| {
            let &PairFit { from, to, send, receive, link, one_way, ends } = pair;
            TransferAnswer {
                from: name(from),
                to: name(to),
                send,
                receive,
                link,
                one_way,
                in_steps: ends == Ends::InSteps,
            }
        };
        let shared = |(pairs, ratio): &(Vec<[usize; 2]>, f64)| {
            let names = |pair: &[usize; 2]| pair.map(|device| cluster.devices()[device].name.as_str());
            SharingAnswer { pairs: pairs.iter().map(names).collect(), ratio: *ratio }
        };
        Self {
            devices: cluster.device_ids().zip(&calibration.speeds).map(device).collect(),
            types: calibration.types.iter().map(|(op_type, speeds)| TypeAnswer { op_type, speeds }).collect(),
            transfers: calibration.pairs.iter().map(transfer).collect(),
            sharing: calibration.sharing.iter().map(shared).collect(),
            networks: calibration.networks.iter().map(|&(network, error)| NetworkAnswer { network, error }).collect(),
            noise: noise.map(|noise| noise.to_string()),
            other_load,
            files,
        }
    }
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    if !args.graph.is_empty() && !STEPS.contains(&args.executor.as_str()) {
        let others = STEPS.join(" or ");
        bail!(
            "--graph: {} measures kernels, not steps of graphs: leave it out, or use --executor {others}",
            args.executor
        );
    }
    if args.transport != Transport::default() && args.executor == "tensorflow" {
        bail!("--transport: tensorflow has its own: leave it out, or use another --executor");
    }
    if args.out.extension().is_none_or(|extension| extension != "toml") {
        bail!("{}: a cluster file ends with .toml", args.out.display());
    }
    check_file(&args.out)?;
    if let Some(file) = &args.from {
        return of_earlier(file, args, form);
    }
    let (raw, folder) = (args.out.with_extension("json"), args.out.with_extension(""));
    if let Some(taken) = [&args.out, &raw, &folder].into_iter().find(|path| path.exists() && !args.force) {
        bail!("{}: exists: --force replaces it", taken.display());
    }
    check_file(&raw)?;
    if folder.is_file() {
        bail!("{}: the graphs go into a folder of this name, but it is a file: choose another --out", folder.display());
    }
    let settings = CalibrateSettings {
        driver: args.executor.clone(),
        transport: args.transport,
        cpus: args.devices,
        gpus: args.gpus,
        hosts: args.hosts.clone(),
        graphs: args.graph.clone(),
    };
    eprintln!("measuring; this takes a minute or two, and the machine should do nothing else");
    let stop = StopToken::default();
    let heeded = stop_on_ctrl_c(&stop)?;
    let found = measure_quietly(&settings, args.anyway, &stop, &mut |line| eprintln!("{line}"))?;
    let QuietMeasurement { measured, mut value, other_load } = found;
    value["other_load"] = other_load.into();
    drop(heeded);
    let calibration = calibration(&measured, args.alone)?;
    let noise = measured.noise.and_then(|noise| noise.simulated());
    let mut graphs = Vec::new();
    for of in &measured.graphs {
        let (mut header, graph) = GraphEntry::named(&of.graph)?.load(0)?;
        let timed = Calibration::timed(&measured, of, &graph)
            .with_context(|| format!("graph '{}' is not the one that was measured", of.graph))?;
        header.provenance.insert("times".to_owned(), format!("measured by 'calibrate', {}", args.executor).into());
        graphs.push((header, timed));
    }
    if !graphs.is_empty() {
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    for (header, graph) in &graphs {
        let path = folder.join(name_of(&header.name));
        format::write_graph(&path, header, graph)?;
    }
    format::write_whole(&raw, |error| anyhow!("{}: {error}", raw.display()), |out| Ok(writeln!(out, "{value:#}")?))?;
    format::write_cluster(&args.out, &calibration.cluster)?;
    let mut files = vec![shown(&args.out), shown(&raw)];
    let mut predicts = String::new();
    if !graphs.is_empty() {
        let file = folder.join("reality.toml");
        let text = reality(&graphs, noise, args)?.to_toml().context("the suite")?;
        let fault = |error| anyhow!("{}: {error}", file.display());
        format::write_whole(&file, fault, |out| Ok(out.write_all(text.as_bytes())?))?;
        files.extend(graphs.iter().map(|(header, _)| shown(&folder.join(name_of(&header.name)))));
        files.push(shown(&file));
        predicts = format!("how well it predicts: placebench run {}\n", file.display());
    }
    let answer = Answer::new(&calibration, noise, other_load, files);
    form.print(&answer, || report(&calibration, noise, &args.out) + &predicts)?;
    Ok(Exit::SUCCESS)
}

/// The cluster file of an earlier calibration's measurements. Its graphs and its suite stay as they are.
fn of_earlier(file: &Path, args: &Args, form: Form) -> anyhow::Result<Exit> {
    if args.out.exists() && !args.force {
        bail!("{}: exists: --force replaces it", args.out.display());
    }
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let value: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{}: not JSON", file.display()))?;
    let measured = Measured::deserialize(&value)
        .with_context(|| format!("{}: no measurements of 'placebench calibrate'", file.display()))?;
    let calibration = calibration(&measured, args.alone).with_context(|| file.display().to_string())?;
    format::write_cluster(&args.out, &calibration.cluster)?;
    let noise = measured.noise.and_then(|noise| noise.simulated());
    let answer = Answer::new(&calibration, noise, value["other_load"].as_f64(), vec![shown(&args.out)]);
    form.print(&answer, || report(&calibration, noise, &args.out))?;
    Ok(Exit::SUCCESS)
}

/// What the measurements say; with `alone` without the steps of random graphs.
fn calibration(measured: &Measured, alone: bool) -> anyhow::Result<Calibration> {
    if !alone {
        return Ok(Calibration::of(measured)?);
    }
    Ok(Calibration::of(&Measured { steps: Vec::new(), ..measured.clone() })?)
}

/// The suite `reality` for what was measured: the graphs on this machine, predicted and executed.
fn reality(graphs: &[(GraphHeader, DataflowGraph)], noise: Option<Noise>, args: &Args) -> anyhow::Result<Suite> {
    let base = BuiltIn::find("reality").context("no built-in suite reality")?.suite()?;
    let graph = |(header, _): &(GraphHeader, DataflowGraph)| GraphEntry {
        file: Some(name_of(&header.name).into()),
        ..GraphEntry::default()
    };
    let cluster = args.out.file_name().context("the cluster file has no name")?;
    let cluster = ClusterEntry {
        file: Some(Path::new("..").join(cluster)),
        memory: MemoryRule::Unlimited,
        ..ClusterEntry::default()
    };
    Ok(Suite {
        title: format!("predicted and measured steps of the executor {} on this machine", args.executor),
        analysis: "The graphs and the cluster are those that 'placebench calibrate' measured here; docs/REALITY.md says how to \
                   read the outcome."
            .to_owned(),
        networks: vec!["loggp".to_owned()],
        executors: vec![args.executor.clone()],
        noise: noise.into_iter().collect(),
        execute: ExecuteSettings { transport: args.transport, hosts: args.hosts.clone(), ..base.execute.clone() },
        graphs: graphs.iter().map(graph).collect(),
        clusters: vec![cluster],
        ..base
    })
}

fn name_of(graph: &str) -> &str {
    Path::new(graph).file_name().and_then(|name| name.to_str()).unwrap_or(graph)
}

fn report(calibration: &Calibration, noise: Option<Noise>, out: &Path) -> String {
    let cluster = &calibration.cluster;
    let name = |device| &cluster.device(device).name;
    let mut text = String::from("device: speed (how far ops of other types are off); overhead of an op\n");
    for (device, line) in cluster.device_ids().zip(&calibration.speeds) {
        let (speed, off) = (cluster.device(device).speed, line.residual * 100.0);
        let overhead = cluster.op_overhead(device) * 1e6;
        text += &format!("  {}: {speed:.3e} operations/s (± {off:.0} %); {overhead:.1} µs\n", name(device));
    }
    text.push_str("\ntype of op: operations/s of each device\n");
    for (kind, rates) in calibration.types.iter().take(MOST_TYPES) {
        let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:.3e}")).collect();
        text += &format!("  {kind}: {}\n", rates.join("; "));
    }
    text.push_str(
        "\ntransfer: time of the sender; of the receiver; between them; in all, alone (how far points are off)\n",
    );
    if calibration.pairs.iter().any(|pair| pair.ends == Ends::InSteps) {
        text.push_str("  senders and receivers are measured in steps of random graphs\n");
    }
    for pair in &calibration.pairs {
        let (from, to) = (name(pair.from), name(pair.to));
        text += &format!("  {from} to {to}: {}; {}; {}; {}\n", pair.send, pair.receive, pair.link, pair.one_way);
    }
    for (pairs, ratio) in &calibration.sharing {
        let pairs: Vec<String> =
            pairs.iter().map(|pair| pair.map(|device| cluster.devices()[device].name.as_str()).join(" to ")).collect();
        text += &format!("  {} at once take {ratio:.2} times as long as one alone\n", pairs.join(" and "));
    }
    let networks = &calibration.networks;
    let as_near = |&&(_, off): &&(&str, f64)| !is_less(1.0 + networks[0].1, 1.0 + off);
    let nearest: Vec<&str> = networks.iter().take_while(as_near).map(|(name, _)| *name).collect();
    if let [(_, off), ..] = networks[..] {
        let others = networks[nearest.len()..].iter().map(|(name, off)| format!("; {name}: {:.0} %", off * 100.0));
        let (nearest, others) = (nearest.join(" or "), others.collect::<String>());
        text += &format!("  nearest network model: {nearest}, off by {:.0} %{others}\n", off * 100.0);
    }
    if let Some(noise) = noise {
        text += &format!("\nnoise of this machine, as coefficients of variation: --noise {noise}\n");
    }
    text + &format!("\nwritten: {}\n", out.display())
}
