//! `placebench generate`: makes a graph or a cluster from a preset or a parameter file, with a manifest to check it by.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::nearest;
use placebench::datasets::DataflowGraph;
use placebench::datasets::format::{self, GraphHeader};
use placebench::generator::{
    ClusterParams, GraphParams, LeveledParams, Manifest, TrainingParams, cluster_preset, generate_cluster,
    generate_leveled, generate_training, graph_sha256,
};

use super::convert::{extension, write_cluster, write_graph};
use super::source::write_file;
use crate::output::print;

/// Arguments of `generate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A preset (see 'placebench list presets' and 'placebench list clusters'), one of training steps with parameters if
    /// need be, as in 'training_steps(workers=32, sync=gossip)', or a parameter file (TOML; one of training steps begins
    /// with 'generator = "training_steps"').
    #[arg(required_unless_present_any = ["check", "print_parameters"])]
    what: Option<String>,

    /// Where to write: without extension a graph folder with its manifest; .csv, .pb, .pbtxt, .dot; with --cluster or for a
    /// cluster preset .toml or .csv.
    #[arg(long, short, required_unless_present_any = ["check", "print_parameters"])]
    out: Option<PathBuf>,

    /// Seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// The parameter file describes a cluster, not a graph.
    #[arg(long)]
    cluster: bool,

    /// Replaces an existing output.
    #[arg(long, short)]
    force: bool,

    /// Makes the graph of this folder's manifest (or of its parameters, for training steps) again and compares both,
    /// instead of writing anything.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["what", "out", "force", "cluster"])]
    check: Option<PathBuf>,

    /// Prints the parameters of a graph preset as TOML, to start a parameter file from.
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["what", "out", "force", "cluster", "check"])]
    print_parameters: Option<String>,
}

const MANIFEST: &str = "manifest.toml";
/// The entry of a header that holds the parameters of training steps.
const STEPS: &str = "training_steps";
/// The first line of a parameter file of training steps.
const TRAINING: &str = "generator = \"training_steps\"";

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &args.check {
        return check(folder);
    }
    if let Some(preset) = &args.print_parameters {
        let text = match GraphParams::preset(preset).ok_or_else(|| unknown(preset))?.map_err(|error| anyhow!(error))? {
            GraphParams::Leveled(params) => toml::to_string(&params)?,
            GraphParams::TrainingSteps(params) => format!("{TRAINING}\n{}", toml::to_string(&params)?),
        };
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(what), Some(out)) = (&args.what, &args.out) else { bail!("give what to generate and --out") };
    if out.exists() && !args.force {
        bail!("{}: exists: --force replaces it", out.display());
    }
    let is_file = Path::new(what).is_file();
    if args.cluster && is_file {
        let text = std::fs::read_to_string(what).with_context(|| what.clone())?;
        let params = ClusterParams::from_toml(&text).map_err(|error| anyhow!("{what}: {error}"))?;
        write_cluster(out, &generate_cluster(&params, args.seed)?)?;
    } else if let Some(cluster) = cluster_preset(what, args.seed) {
        write_cluster(out, &cluster?)?;
    } else {
        let params = match GraphParams::preset(what) {
            Some(params) => params.map_err(|error| anyhow!(error))?,
            None if is_file => {
                let text = std::fs::read_to_string(what).with_context(|| what.clone())?;
                parameters(&text).map_err(|error| anyhow!("{what}: {error}"))?
            }
            None => return Err(unknown(what)),
        };
        return match &params {
            GraphParams::Leveled(params) => generate_graph(args, what, out, params),
            GraphParams::TrainingSteps(params) => generate_steps(out, params),
        };
    }
    print(&format!("{}\n", out.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The parameters in a file: those of training steps if it says so, else of leveled graphs.
fn parameters(text: &str) -> Result<GraphParams, String> {
    // Without the line that names the family, but with the line break, so that messages count lines right.
    match text.strip_prefix(TRAINING) {
        Some(rest) => TrainingParams::from_toml(rest).map(GraphParams::TrainingSteps),
        None => LeveledParams::from_toml(text).map(GraphParams::Leveled),
    }
}

fn generate_steps(out: &Path, params: &TrainingParams) -> anyhow::Result<ExitCode> {
    let params = TrainingParams { workers: Some(params.worker_count()), ..params.clone() };
    let made = generate_training(&params)?;
    let graph = &made.graph;
    let sha256 = graph_sha256(graph);
    let mut header = GraphHeader::named("training_steps");
    header.title = format!("data-parallel training, {} steps on {} workers", params.steps, params.worker_count());
    header.provenance.insert("generator".to_owned(), format!("placebench {}", env!("CARGO_PKG_VERSION")).into());
    header.provenance.insert("sha256".to_owned(), sha256.clone().into());
    header.provenance.insert(STEPS.to_owned(), toml::Value::try_from(&params)?);
    write_graph(out, &header, graph)?;
    print(&format!(
        "{}: {} ops, {} edges, {} workers, {} devices\nSHA-256 {sha256}\n",
        out.display(),
        graph.op_count(),
        graph.edge_count(),
        params.worker_count(),
        params.device_count(),
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn generate_graph(args: &Args, what: &str, out: &Path, params: &LeveledParams) -> anyhow::Result<ExitCode> {
    let made = generate_leveled(params, args.seed)?;
    let name = Path::new(what).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let manifest = Manifest::new(params, args.seed, &made);
    let mut header = GraphHeader::named(&name);
    header.title = format!("leveled random graph '{name}', seed {}", args.seed);
    header.units.time = "execution units".to_owned();
    header.provenance.insert("generator".to_owned(), format!("placebench {}", manifest.version).into());
    header.provenance.insert("sha256".to_owned(), manifest.sha256.clone().into());
    write_graph(out, &header, &made.graph)?;
    if extension(out).is_empty() {
        write_file(&out.join(MANIFEST), |file| std::io::Write::write_all(file, manifest.to_toml().as_bytes()))?;
    }
    let stats = &made.stats;
    print(&format!(
        "{}: {} ops, {} edges ({} between levels, {} long-range), {} levels, {} colocated\nSHA-256 {}\n",
        out.display(),
        stats.nodes,
        stats.edges,
        stats.level_edges,
        stats.random_edges,
        stats.levels,
        stats.colocated_nodes,
        manifest.sha256
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn check(folder: &Path) -> anyhow::Result<ExitCode> {
    let (header, graph) = format::read_graph(folder)?;
    if let Some(params) = header.provenance.get(STEPS) {
        return check_steps(folder, params, &graph);
    }
    let path = folder.join(MANIFEST);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let manifest = Manifest::from_toml(&text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    manifest.check_graph(&graph).with_context(|| folder.display().to_string())?;
    manifest.check().with_context(|| path.display().to_string())?;
    print(&format!("{}: the graph is what its manifest says, and comes out again\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Training steps have no manifest: the header says what they were made from.
fn check_steps(folder: &Path, params: &toml::Value, graph: &DataflowGraph) -> anyhow::Result<ExitCode> {
    let params: TrainingParams = params
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| anyhow!("{}: {STEPS}: {}", folder.display(), error.message()))?;
    let made = generate_training(&params).with_context(|| folder.display().to_string())?;
    if graph_sha256(&made.graph) != graph_sha256(graph) {
        bail!(
            "{}: the graph is not the one that its parameters make: make it again, or use the version that made it",
            folder.display()
        );
    }
    print(&format!("{}: the graph is what its parameters make\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> anyhow::Error {
    let names = GraphParams::presets().chain(ClusterParams::PRESETS);
    match nearest(name, names) {
        Some(nearest) => anyhow!("no file and no preset is named '{name}': did you mean '{nearest}'?"),
        None => anyhow!(
            "no file and no preset is named '{name}': see 'placebench list presets' and 'placebench list clusters'"
        ),
    }
}
