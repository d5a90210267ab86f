//! `placebench calibrate`: measures a machine into a cluster file.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::StopToken;
use placebench::datasets::format;
use placebench::harness::calibrate::{CalibrateSettings, Calibration, measure};
use placebench::harness::problem::GraphEntry;

use crate::interrupt::stop_on_ctrl_c;
use crate::output::print;

/// Arguments of `calibrate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What executes: jax. The devices of `threads` are made up, and so need no measuring.
    #[arg(long, short, value_name = "NAME", default_value = "jax", value_parser = ["jax"])]
    executor: String,

    /// CPU devices, a process with a core of its own each.
    #[arg(long, value_name = "N", default_value_t = 2)]
    devices: usize,

    /// GPUs beside them.
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpus: usize,

    /// Processes on other hosts, one a device, as ADDRESS:PORT, separated by commas.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    hosts: Vec<String>,

    /// A graph whose step is measured on each device, for the times of its ops: a JAX model of the catalogue, or a folder of
    /// the extractor; may be repeated [default: gpt2 and unet].
    #[arg(long, value_name = "GRAPH")]
    graph: Vec<String>,

    /// The cluster file to write. The measurements go beside it as JSON, and the graphs with the times measured here into a
    /// folder: machine.toml, machine.json, machine/.
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,

    /// Replaces existing files.
    #[arg(long, short)]
    force: bool,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    if args.out.extension().is_none_or(|extension| extension != "toml") {
        bail!("{}: a cluster file ends with .toml", args.out.display());
    }
    let (raw, folder) = (args.out.with_extension("json"), args.out.with_extension(""));
    if let Some(taken) = [&args.out, &raw, &folder].into_iter().find(|path| path.exists() && !args.force) {
        bail!("{}: exists: --force replaces it", taken.display());
    }
    let settings = CalibrateSettings {
        driver: args.executor.clone(),
        cpus: args.devices,
        gpus: args.gpus,
        hosts: args.hosts.clone(),
        graphs: args.graph.clone(),
    };
    eprintln!("measuring; this takes a minute or two, and the machine should do nothing else");
    let stop = StopToken::default();
    let heeded = stop_on_ctrl_c(&stop)?;
    let (measured, value) = measure(&settings, &stop)?;
    drop(heeded);
    let calibration = Calibration::of(&measured)?;
    let mut graphs = Vec::new();
    for of in &measured.graphs {
        let (mut header, graph) = GraphEntry::named(&of.graph)?.load(0)?;
        let timed = Calibration::timed(&measured, of, &graph)
            .with_context(|| format!("graph '{}' is not the one that was measured", of.graph))?;
        header.provenance.insert("times".to_owned(), format!("measured by 'calibrate', {}", args.executor).into());
        graphs.push((header, timed));
    }
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    for (header, graph) in &graphs {
        let path = folder.join(name_of(&header.name));
        format::write_graph(&path, header, graph)?;
    }
    format::write_whole(&raw, |error| anyhow!("{}: {error}", raw.display()), |out| Ok(writeln!(out, "{value:#}")?))?;
    format::write_cluster(&args.out, &calibration.cluster)?;
    print(&report(&calibration, &args.out))?;
    Ok(ExitCode::SUCCESS)
}

fn name_of(graph: &str) -> &str {
    Path::new(graph).file_name().and_then(|name| name.to_str()).unwrap_or(graph)
}

fn report(calibration: &Calibration, out: &Path) -> String {
    let cluster = &calibration.cluster;
    let name = |device| &cluster.device(device).name;
    let mut text = String::from("device: speed (how far ops of other types are off); overhead of an op\n");
    for (device, line) in cluster.device_ids().zip(&calibration.speeds) {
        let (speed, off) = (cluster.device(device).speed, line.residual * 100.0);
        let overhead = cluster.op_overhead(device) * 1e6;
        text += &format!("  {}: {speed:.3e} operations/s (± {off:.0} %); {overhead:.1} µs\n", name(device));
    }
    text.push_str(
        "\ntransfer: time of the sender; of the receiver; between them; in all (how far points are off the line)\n",
    );
    for pair in &calibration.pairs {
        let (from, to) = (name(pair.from), name(pair.to));
        text += &format!("  {from} to {to}: {}; {}; {}; {}\n", pair.send, pair.receive, pair.link, pair.one_way);
    }
    for (pairs, ratio) in &calibration.sharing {
        let pairs: Vec<String> =
            pairs.iter().map(|pair| pair.map(|device| cluster.devices()[device].name.as_str()).join(" to ")).collect();
        text += &format!("  {} at once take {ratio:.2} times as long as one alone\n", pairs.join(" and "));
    }
    text + &format!("\nwritten: {}\n", out.display())
}
