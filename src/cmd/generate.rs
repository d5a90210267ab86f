//! `placebench generate`: makes a graph or a cluster from a preset or a parameter file, with a manifest to check it by;
//! or an undirected graph for partitioners.

mod stream;

use crate::output::Exit;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use placebench::base::nearest;
use placebench::datasets::DataflowGraph;
use placebench::datasets::format::undirected::{Undirected, write_undirected};
use placebench::datasets::format::{
    self, GraphHeader, Holds, format_marks, format_names, undirected_format, undirected_format_named, write_cluster,
    write_graph,
};
use placebench::generator::{
    Chained, ClusterParams, Described, GraphParams, LeveledParams, Manifest, Passes, TrainingParams, UndirectedParams,
    cluster_preset, described, family, generate_cluster, generate_leveled, graph_sha256, names, presets,
};
use placebench::harness::problem::passed_header;
use placebench::harness::suite::Shard;
use serde::Serialize;

use super::launcher::OnLauncher;
use super::passes::PassArgs;
use crate::output::{Form, shown, write_file};

/// Arguments of `generate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A family or preset of graphs, with parameters if need be, as in 'cholesky(tiles=12)' (see 'placebench list
    /// generators' and 'placebench list presets'); a cluster (see 'placebench list clusters'); or a parameter file
    /// (TOML: 'generator = "cholesky"', then a line for each parameter).
    #[arg(required_unless_present_any = ["check", "print_parameters"])]
    what: Option<String>,

    #[arg(long, short, required_unless_present_any = ["check", "print_parameters", "describe"], help = format!(
        "Where to write, by its extension (without one, a graph folder with its manifest): {}; for clusters {}; for undirected graphs {}, which also hold a dataflow \
         graph's undirected view",
        format_marks(|holds| matches!(holds, Holds::Graph { write: Some(_), .. })),
        format_marks(|holds| matches!(holds, Holds::Cluster { .. })),
        format_marks(|holds| matches!(holds, Holds::Undirected { .. }))
    ))]
    out: Option<PathBuf>,

    /// Seed.
    #[arg(long, default_value_t = 0, value_parser = super::number::seed)]
    seed: u64,

    #[command(flatten)]
    passes: PassArgs,

    /// Of a graph preset or parameter file: the approximate number of ops, in more or fewer levels of the same size.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    ops: Option<u64>,

    /// Makes a graph of any size part by part, in bounded memory: a leveled graph, gnm or rmat. --out is a folder for its
    /// parts or, with the extension .parquet, .pbedges or .edges, one file. If it is interrupted, the same command makes
    /// the parts that are missing.
    #[arg(long)]
    stream: bool,

    /// With --stream: number of parts [default: one for each 67 million edges]. The graph does not depend on it.
    #[arg(long, value_name = "N", requires = "stream", value_parser = clap::value_parser!(u32).range(1..=99_999))]
    shards: Option<u32>,

    /// With --stream: makes the part I of N alone, as in 3/8, on any machine. With --check: checks it alone.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["shards", "launcher"])]
    shard: Option<Shard>,

    /// With --stream: each part is a shard.
    #[command(flatten)]
    launcher: OnLauncher,

    /// With --stream, or to check such a graph: number of threads [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,

    #[arg(long, value_name = "FORMAT", help = format!(
        "With --stream: parquet (the default), binary or edges. Else of an undirected graph, if the extension does not say it: {}",
        format_names(|holds| matches!(holds, Holds::Undirected { .. }))
    ))]
    format: Option<String>,

    /// The parameter file describes a cluster, not a graph.
    #[arg(long)]
    cluster: bool,

    /// Replaces an existing output.
    #[arg(long, short)]
    force: bool,

    /// Writes no file. Makes the graph of this folder's manifest or parameters again and compares both; of a graph made with
    /// --stream, each part alone.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["what", "out", "force", "cluster", "stream"])]
    check: Option<PathBuf>,

    /// Prints what the family or preset is, and its parameters with their defaults.
    #[arg(long, conflicts_with_all = ["out", "force", "cluster", "check"])]
    describe: bool,

    /// Prints the parameters of a family or preset of graphs as TOML, to start a parameter file from.
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["what", "out", "force", "cluster", "check"])]
    print_parameters: Option<String>,
}

const MANIFEST: &str = "manifest.toml";
/// The entries of a header that hold the parameters and the seed of a graph without a manifest.
const PARAMETERS: &str = "parameters";
const SEED: &str = "seed";
/// That of the passes that changed the graph, if any.
const PASSES: &str = "passes";

/// What the verb answers of what it made.
#[derive(Default, Serialize)]
struct Answer {
    seed: u64,
    nodes: Option<u64>,
    edges: Option<u64>,
    /// Edges between levels, and long-range ones, of a leveled graph.
    level_edges: Option<u64>,
    random_edges: Option<u64>,
    levels: Option<u64>,
    colocated_nodes: Option<u64>,
    devices: Option<usize>,
    sha256: Option<String>,
    /// What each pass did to the graph.
    passes: Vec<String>,
    /// Parts of a streamed graph, and those that are there.
    parts: Option<u32>,
    finished_parts: Option<usize>,
    files: Vec<String>,
}

impl Answer {
    /// Prints it, or what it is in words.
    fn print(self, form: Form, words: &str) -> anyhow::Result<Exit> {
        form.print(&self, || format!("{}{words}\n", self.files.join(", ")))?;
        Ok(Exit::SUCCESS)
    }
}

/// What the verb answers of what it checked.
#[derive(Serialize)]
struct Checked {
    folder: String,
    /// Parts of a streamed graph, those that were checked, and those that are not there.
    parts: Option<u32>,
    checked_parts: Option<usize>,
    missing_parts: Option<usize>,
}

impl Checked {
    fn print(self, form: Form, words: &str) -> anyhow::Result<Exit> {
        form.print(&self, || format!("{}: {words}\n", self.folder))?;
        Ok(Exit::SUCCESS)
    }

    /// A graph that is not streamed.
    fn whole(folder: &Path) -> Self {
        Self { folder: shown(folder), parts: None, checked_parts: None, missing_parts: None }
    }
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    if !args.passes.passes()?.is_empty() && (args.check.is_some() || args.print_parameters.is_some() || args.describe) {
        bail!("--pass changes a graph that is made: leave it out, or --check, --print-parameters and --describe");
    }
    if let Some(folder) = &args.check {
        return if stream::is_at(folder) { stream::check(args, folder, form) } else { check(args, folder, form) };
    }
    if let Some(preset) = &args.print_parameters {
        let params = described(preset).ok_or_else(|| unknown(preset))?.map_err(|error| anyhow!(error))?;
        let text = params.to_toml().map_err(|error| anyhow!(error))?;
        form.print(&params.to_table().map_err(|error| anyhow!(error))?, || text)?;
        return Ok(Exit::SUCCESS);
    }
    if let (true, Some(what)) = (args.describe, &args.what) {
        return describe(what, form);
    }
    let (Some(what), Some(out)) = (&args.what, &args.out) else { bail!("give what to generate and --out") };
    if args.stream {
        if !args.passes.passes()?.is_empty() {
            bail!("--pass changes a graph that is made whole, and --stream makes one in parts: leave one of them out");
        }
        return stream::execute(args, what, out, form);
    }
    stream_only(args)?;
    if out.exists() && !args.force {
        bail!("{}: exists: --force replaces it", out.display());
    }
    let passes = args.passes.passes()?;
    let is_file = Path::new(what).is_file();
    let is_cluster = args.cluster || cluster_preset(what, args.seed).is_some();
    for (option, given) in
        [("--ops", args.ops.is_some()), ("--format", args.format.is_some()), ("--pass", !passes.is_empty())]
    {
        if given && is_cluster {
            bail!("{option} is for graphs, not for the cluster '{what}': leave it out");
        }
    }
    let cluster = if args.cluster && is_file {
        let text = std::fs::read_to_string(what).with_context(|| what.clone())?;
        let params = ClusterParams::from_toml(&text).map_err(|error| anyhow!("{what}: {error}"))?;
        generate_cluster(&params, args.seed)?
    } else if let Some(cluster) = cluster_preset(what, args.seed) {
        cluster?
    } else {
        let params = parameters(what)?;
        let is_leveled = matches!(params, Described::Dataflow(GraphParams::Leveled(_)));
        if args.ops.is_some() && !is_leveled {
            bail!("--ops is for leveled graphs, not for '{what}': leave it out");
        }
        if args.format.is_some() && matches!(params, Described::Dataflow(_)) {
            bail!("--format is for undirected graphs, not for '{what}': leave it out");
        }
        if !passes.is_empty() && matches!(params, Described::Undirected(_)) {
            bail!("--pass is for dataflow graphs, not for '{what}': leave it out");
        }
        return match params {
            Described::Dataflow(GraphParams::Leveled(params)) if !passes.is_empty() => {
                generate_family(args, what, out, GraphParams::Leveled(resized(params, args.ops)?), form)
            }
            Described::Dataflow(GraphParams::Leveled(params)) => {
                generate_graph(args, what, out, &resized(params, args.ops)?, form)
            }
            Described::Dataflow(params) => generate_family(args, what, out, params, form),
            Described::Undirected(params) => generate_undirected(args, out, &params, form),
        };
    };
    write_cluster(out, &cluster)?;
    Answer { devices: Some(cluster.device_count()), ..answer(args, out) }.print(form, "")
}

/// What there is to say of everything that is made.
fn answer(args: &Args, out: &Path) -> Answer {
    Answer { seed: args.seed, files: vec![shown(out)], ..Answer::default() }
}

/// The parameters of a family, preset or parameter file.
fn parameters(what: &str) -> anyhow::Result<Described> {
    match described(what) {
        Some(params) => params.map_err(|error| anyhow!(error)),
        None if Path::new(what).is_file() => {
            let text = std::fs::read_to_string(what).with_context(|| what.to_owned())?;
            Described::from_toml(&text).map_err(|error| anyhow!("{what}: {error}"))
        }
        None => Err(unknown(what)),
    }
}

/// What the verb answers of a family or preset.
#[derive(Serialize)]
struct Description {
    name: &'static str,
    description: &'static str,
    source: &'static str,
    undirected: bool,
    /// What the preset is, and what it sets.
    preset: Option<PresetDescription>,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct PresetDescription {
    name: &'static str,
    description: String,
    specification: String,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    default: String,
    description: String,
}

/// What a family or preset is, and its parameters.
fn describe(what: &str, form: Form) -> anyhow::Result<Exit> {
    let params = described(what).ok_or_else(|| unknown(what))?.map_err(|error| anyhow!(error))?;
    let entry = family(params.family()).map_err(|error| anyhow!(error))?;
    let preset = presets().into_iter().find(|preset| preset.name == what).map(|preset| PresetDescription {
        name: preset.name,
        description: preset.summary,
        specification: preset.values.to_string(),
    });
    let parameters = entry.params().into_iter();
    let parameters =
        parameters.map(|param| Parameter { name: param.name, default: param.default, description: param.doc });
    let description = Description {
        name: entry.name,
        description: entry.summary,
        source: entry.source,
        undirected: entry.is_undirected,
        preset,
        parameters: parameters.collect(),
    };
    form.print(&description, || {
        let Description { name, description, source, undirected, preset, parameters } = &description;
        let graphs = if *undirected { "undirected graphs" } else { "dataflow graphs" };
        let mut text = format!("{name}: {graphs}: {description}\nSource: {source}\n");
        if let Some(PresetDescription { name, description, specification }) = preset {
            text.push_str(&format!("{name}: {description}\n{specification}\n"));
        }
        for Parameter { name, default, description } in parameters {
            text.push_str(&format!("  {:<24} {description}\n", format!("{name}={default}")));
        }
        text
    })?;
    Ok(Exit::SUCCESS)
}

/// The name of what is made: that of a family or preset without its parameters, or that of a parameter file without its extension.
fn name_of(what: &str) -> String {
    let spec = what.strip_suffix(')').and_then(|spec| spec.split_once('('));
    let name = spec.map_or(what, |(name, _)| name);
    Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Makes and writes a graph of a family without a manifest: its header says what it was made from.
fn generate_family(args: &Args, what: &str, out: &Path, params: GraphParams, form: Form) -> anyhow::Result<Exit> {
    let params = match params {
        GraphParams::TrainingSteps(params) => {
            GraphParams::TrainingSteps(TrainingParams { workers: Some(params.worker_count()), ..params })
        }
        other => other,
    };
    let passes = args.passes.passes()?;
    let Chained { graph, lines, .. } = passes.apply(params.generate(args.seed)?)?;
    let sha256 = graph_sha256(&graph);
    let mut header = passed_header(GraphHeader::named(name_of(what)), &passes);
    header.title = format!("{}, seed {}", family(params.family()).map_err(|error| anyhow!(error))?.summary, args.seed);
    header.provenance.insert("generator".to_owned(), format!("placebench {}", env!("CARGO_PKG_VERSION")).into());
    header.provenance.insert("sha256".to_owned(), sha256.clone().into());
    header.provenance.insert(SEED.to_owned(), args.seed.to_string().into());
    let table = Described::from(params).to_table().map_err(|error| anyhow!(error))?;
    header.provenance.insert(PARAMETERS.to_owned(), table.into());
    write(out, &header, &graph)?;
    let (nodes, edges) = (graph.op_count() as u64, graph.edge_count() as u64);
    let did: String = lines.iter().map(|line| format!("\n{line}")).collect();
    let words = format!(": {nodes} ops, {edges} edges{did}\nSHA-256 {sha256}");
    let answer = Answer { passes: lines, ..answer(args, out) };
    Answer { nodes: Some(nodes), edges: Some(edges), sha256: Some(sha256), ..answer }.print(form, &words)
}

fn generate_undirected(args: &Args, out: &Path, params: &UndirectedParams, form: Form) -> anyhow::Result<Exit> {
    let format = match &args.format {
        Some(name) => undirected_format_named(name).map_err(|error| anyhow!("--format: {error}"))?,
        None => undirected_format(out)
            .ok_or_else(|| anyhow!("{}: give --format, or the extension .graph, .mtx or .edges", out.display()))?,
    };
    let graph = params.generate(args.seed)?;
    let (nodes, edges) = (Some(graph.vertex_count() as u64), Some(graph.edge_count() as u64));
    let graph = Undirected::Graph(graph);
    write_undirected(out, format, &graph)?;
    Answer { nodes, edges, ..answer(args, out) }.print(form, &format!(": {graph}"))
}

/// The parameters scaled to a number of ops.
fn resized(params: LeveledParams, ops: Option<u64>) -> anyhow::Result<LeveledParams> {
    let Some(ops) = ops else { return Ok(params) };
    let nodes = params.nodes.filter(|&nodes| nodes > 0);
    let nodes = nodes.ok_or_else(|| anyhow!("--ops needs parameters that say how many nodes: set 'nodes'"))?;
    Ok(params.scaled(ops as f64 / nodes as f64))
}

fn generate_graph(args: &Args, what: &str, out: &Path, params: &LeveledParams, form: Form) -> anyhow::Result<Exit> {
    let made = generate_leveled(params, args.seed)?;
    let name = name_of(what);
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
    let words = format!(
        ": {} ops, {} edges ({} between levels, {} long-range), {} levels, {} colocated\nSHA-256 {}",
        stats.nodes,
        stats.edges,
        stats.level_edges,
        stats.random_edges,
        stats.levels,
        stats.colocated_nodes,
        manifest.sha256
    );
    let answer = Answer {
        nodes: Some(stats.nodes),
        edges: Some(stats.edges),
        level_edges: Some(stats.level_edges),
        random_edges: Some(stats.random_edges),
        levels: Some(stats.levels),
        colocated_nodes: Some(stats.colocated_nodes),
        sha256: Some(manifest.sha256),
        ..answer(args, out)
    };
    answer.print(form, &words)
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

/// Refuses options that only graphs made part by part have.
fn stream_only(args: &Args) -> anyhow::Result<()> {
    for (option, given) in [("--shard", args.shard.is_some()), ("--threads", args.threads.is_some())] {
        if given {
            bail!("{option} is for graphs made with --stream: leave it out");
        }
    }
    Ok(())
}

fn check(args: &Args, folder: &Path, form: Form) -> anyhow::Result<Exit> {
    stream_only(args)?;
    let (header, graph) = format::read_graph(folder)?;
    if let Some(params) = header.provenance.get(PARAMETERS) {
        return check_family(folder, &header, params, &graph, form);
    }
    let path = folder.join(MANIFEST);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let manifest = Manifest::from_toml(&text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    manifest.check_graph(&graph).with_context(|| folder.display().to_string())?;
    manifest.check().with_context(|| path.display().to_string())?;
    Checked::whole(folder).print(form, "the graph is what its manifest says, and comes out again")
}

/// A graph without a manifest has a header that says what it was made from.
fn check_family(
    folder: &Path,
    header: &GraphHeader,
    params: &toml::Value,
    graph: &DataflowGraph,
    form: Form,
) -> anyhow::Result<Exit> {
    let fault = |text: String| anyhow!("{}: provenance.{PARAMETERS}: {text}", folder.display());
    let text = toml::to_string(params).map_err(|error| fault(error.to_string()))?;
    let seed = header.provenance.get(SEED).and_then(toml::Value::as_str).and_then(|seed| seed.parse().ok());
    let seed = seed.ok_or_else(|| anyhow!("{}: provenance.{SEED} is not a number in quotes", folder.display()))?;
    let made = match Described::from_toml(&text).map_err(fault)? {
        Described::Dataflow(params) => params.generate(seed).with_context(|| folder.display().to_string())?,
        Described::Undirected(_) => return Err(fault("they are those of an undirected graph".to_owned())),
    };
    let passes = header.provenance.get(PASSES).and_then(toml::Value::as_str).unwrap_or_default();
    let passes: Passes =
        passes.parse().map_err(|error| anyhow!("{}: provenance.{PASSES}: {error}", folder.display()))?;
    let made = passes.apply(made).with_context(|| folder.display().to_string())?.graph;
    if graph_sha256(&made) != graph_sha256(graph) {
        bail!(
            "{}: the graph is not the one that its parameters make: make it again, or use the version that made it",
            folder.display()
        );
    }
    Checked::whole(folder).print(form, "the graph is what its parameters make")
}

fn unknown(name: &str) -> anyhow::Error {
    let names = names().chain(ClusterParams::PRESETS);
    match nearest(name, names) {
        Some(nearest) => anyhow!("no file, family or preset is named '{name}': did you mean '{nearest}'?"),
        None => anyhow!(
            "no file, family or preset is named '{name}': see 'placebench list generators', 'list presets' and 'list clusters'"
        ),
    }
}
