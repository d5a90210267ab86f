//! `placebench generate`: makes a graph or a cluster from a preset or a parameter file, with a manifest to check it by; or
//! an undirected graph for partitioners.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use placebench::datasets::format::undirected::{Undirected, write_undirected};
use placebench::datasets::format::{
    self, GraphHeader, Holds, format_marks, format_names, undirected_format, undirected_format_named, write_cluster,
    write_graph,
};
use placebench::datasets::{DataflowGraph, UndirectedGraph, nearest};
use placebench::generator::{
    ClusterParams, GraphParams, LeveledParams, Manifest, RmatParams, TrainingParams, cluster_preset, generate_cluster,
    generate_leveled, generate_training, graph_sha256, grid, random_geometric, rmat,
};

use crate::output::{print, write_file};

/// Arguments of `generate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A preset (see 'placebench list presets' and 'placebench list clusters'), one of training steps with parameters if
    /// need be, as in 'training_steps(workers=32, sync=gossip)', or a parameter file (TOML; one of training steps begins
    /// with 'generator = "training_steps"').
    /// Or a family of undirected graphs: grid, random_geometric, rmat.
    #[arg(required_unless_present_any = ["check", "print_parameters"])]
    what: Option<String>,

    #[arg(long, short, required_unless_present_any = ["check", "print_parameters"], help = format!(
        "Where to write, by its extension (without one, a graph folder with its manifest): {}; for clusters {}; for undirected graphs {}, which also hold a dataflow \
         graph's undirected view",
        format_marks(|holds| matches!(holds, Holds::Graph { write: Some(_), .. })),
        format_marks(|holds| matches!(holds, Holds::Cluster { .. })),
        format_marks(|holds| matches!(holds, Holds::Undirected { .. }))
    ))]
    out: Option<PathBuf>,

    /// Seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Of a graph preset or parameter file: about so many ops, in more or fewer levels of the same size.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    ops: Option<u64>,

    /// Of a grid: vertices along a side [default: 1000].
    #[arg(long, value_name = "N")]
    side: Option<u32>,

    /// Of a random geometric graph: number of vertices [default: 262144].
    #[arg(long, value_name = "N")]
    vertices: Option<u32>,

    /// Of rmat: the binary logarithm of the number of vertices [default: 18].
    #[arg(long, value_name = "N")]
    scale: Option<u32>,

    /// Of random geometric graphs and rmat: mean degree [default: 15 and 16].
    #[arg(long, value_name = "DEGREE")]
    degree: Option<f64>,

    /// Of rmat: leaves out vertices without edges.
    #[arg(long)]
    drop_isolated: bool,

    #[arg(long, value_name = "FORMAT", help = format!(
        "Format of an undirected graph, if the extension does not say it: {}",
        format_names(|holds| matches!(holds, Holds::Undirected { .. }))
    ))]
    format: Option<String>,

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
    check_options(args, what)?;
    if let Some(graph) = undirected(args, what)? {
        let format = match &args.format {
            Some(name) => undirected_format_named(name).map_err(|error| anyhow!("--format: {error}"))?,
            None => undirected_format(out)
                .ok_or_else(|| anyhow!("{}: give --format, or the extension .graph, .mtx or .edges", out.display()))?,
        };
        let graph = Undirected::Graph(graph);
        write_undirected(out, format, &graph)?;
        print(&format!("{}: {graph}\n", out.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
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
            GraphParams::Leveled(params) => generate_graph(args, what, out, &resized(params.clone(), args.ops)?),
            GraphParams::TrainingSteps(_) if args.ops.is_some() => {
                bail!("--ops is for leveled graphs, not for '{what}': leave it out")
            }
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
    write(out, &header, graph)?;
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

const GRID: &str = "grid";
const GEOMETRIC: &str = "random_geometric";
const RMAT: &str = "rmat";

/// Refuses options that `what` does not have.
fn check_options(args: &Args, what: &str) -> anyhow::Result<()> {
    let families = [GRID, GEOMETRIC, RMAT];
    let options: [(&str, bool, &[&str]); 6] = [
        ("--side", args.side.is_some(), &[GRID]),
        ("--vertices", args.vertices.is_some(), &[GEOMETRIC]),
        ("--scale", args.scale.is_some(), &[RMAT]),
        ("--degree", args.degree.is_some(), &[GEOMETRIC, RMAT]),
        ("--drop-isolated", args.drop_isolated, &[RMAT]),
        ("--format", args.format.is_some(), &families),
    ];
    if let Some((option, _, of)) = options.iter().find(|(_, given, of)| *given && !of.contains(&what)) {
        bail!("{option} is for {}, not for '{what}': leave it out", of.join(", "));
    }
    if args.ops.is_some() && (args.cluster || families.contains(&what) || cluster_preset(what, 0).is_some()) {
        bail!("--ops is for leveled graphs, not for '{what}': leave it out");
    }
    Ok(())
}

/// The graph, if `what` is a family of undirected ones.
fn undirected(args: &Args, what: &str) -> anyhow::Result<Option<UndirectedGraph>> {
    let made = match what {
        GRID => grid(args.side.unwrap_or(1000)),
        GEOMETRIC => random_geometric(args.vertices.unwrap_or(1 << 18), args.degree.unwrap_or(15.0), args.seed),
        RMAT => {
            let default = RmatParams::default();
            let params = RmatParams {
                scale: args.scale.unwrap_or(default.scale),
                degree: args.degree.unwrap_or(default.degree),
                isolated: !args.drop_isolated,
                ..default
            };
            rmat(&params, args.seed)
        }
        _ => return Ok(None),
    };
    Ok(Some(made?))
}

/// The parameters scaled to a number of ops.
fn resized(params: LeveledParams, ops: Option<u64>) -> anyhow::Result<LeveledParams> {
    let Some(ops) = ops else { return Ok(params) };
    let nodes = params.nodes.filter(|&nodes| nodes > 0);
    let nodes = nodes.ok_or_else(|| anyhow!("--ops needs parameters that say how many nodes: set 'nodes'"))?;
    Ok(params.scaled(ops as f64 / nodes as f64))
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
    write(out, &header, &made.graph)?;
    if out.is_dir() {
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

/// Writes a graph, or its undirected view if the extension asks for one.
fn write(out: &Path, header: &GraphHeader, graph: &DataflowGraph) -> anyhow::Result<()> {
    match undirected_format(out) {
        Some(format) => {
            let view = Undirected::of_dataflow(graph, format).with_context(|| out.display().to_string())?;
            write_undirected(out, format, &view)?;
        }
        None => write_graph(out, header, graph)?,
    }
    Ok(())
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
    let names = GraphParams::presets().chain(ClusterParams::PRESETS).chain([GRID, GEOMETRIC, RMAT]);
    match nearest(name, names) {
        Some(nearest) => anyhow!("no file and no preset is named '{name}': did you mean '{nearest}'?"),
        None => anyhow!(
            "no file and no preset is named '{name}': see 'placebench list presets' and 'placebench list clusters'"
        ),
    }
}
