//! `placebench partition`: a graph into blocks, for people who want a partition and nothing else.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::partition::{Partition, PartitionError, Request, quality, registry};
use placebench::algorithms::{Spec, StopToken};
use placebench::datasets::format::undirected::{
    Undirected, UndirectedFormat, read_partition, read_undirected, write_partition,
};
use placebench::datasets::{
    DataflowGraph, EdgeWeight, Hypergraph, Instance, UndirectedGraph, VertexWeight, Vertices, View, ViewOptions,
};
use placebench::harness::runner::peak_rss_bytes;
use placebench::reports::bytes_text;

use super::run::{INTERRUPTED, stop_on_ctrl_c};
use super::source;
use crate::heap;
use crate::output::print;

/// Arguments of `partition`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A METIS graph (.graph), an hMETIS hypergraph (.hgr), a Matrix Market file (.mtx), a list of edges (.edges, .txt,
    /// .tsv; .pbedges in binary), or a dataflow graph: of the catalogue, a preset, or in any format that `convert` reads.
    graph: String,

    /// Number of blocks; with --evaluate as many as the partition has, if left out.
    #[arg(long, short = 'k', value_name = "K")]
    blocks: Option<u32>,

    /// Tolerated imbalance: a block may weigh 1 + epsilon times its share of the total.
    #[arg(long, short, default_value_t = 0.03)]
    epsilon: f64,

    /// The partitioner, as `name` or `name(parameter=value)`: see `placebench list partitioners`.
    /// [default: the first there].
    #[arg(long, short, conflicts_with = "evaluate")]
    algorithm: Option<String>,

    /// Where the partition goes, one block a line, as METIS writes it; `-` for standard output, and then the report
    /// goes to standard error. An existing file is replaced [default: <graph>.part.<K> in this folder].
    #[arg(long, short, value_name = "FILE", conflicts_with = "evaluate")]
    output: Option<PathBuf>,

    /// Judges this partition instead of making one.
    #[arg(long, value_name = "FILE")]
    evaluate: Option<PathBuf>,

    /// Format of the graph, if its extension does not tell: metis, hmetis, mtx, edges, binary.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// Of a dataflow graph: whether vertices are ops, or units of colocated ops.
    #[arg(long, value_name = "WHAT", default_value = "ops")]
    vertices: String,

    /// What a vertex weighs. Of a dataflow graph: work (the default), count (1 for each op) or memory; of others: given
    /// (the default: what the file says) or count (1).
    #[arg(long, value_name = "WEIGHT")]
    vertex_weight: Option<String>,

    /// What an edge weighs. Of a dataflow graph: bytes (the default), time (with --cluster) or count; of others: given (the
    /// default) or count (1).
    #[arg(long, value_name = "WEIGHT")]
    edge_weight: Option<String>,

    /// Turns the operations and bytes of a dataflow graph into times on this cluster: a preset or a file.
    #[arg(long, short)]
    cluster: Option<String>,

    /// Seed of all randomness, presets included.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Threads for partitioners that use several; the partition does not depend on it [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
}

/// More blocks are surely a mistake, and would take memory for nothing.
const MOST_BLOCKS: u32 = 1 << 24;

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    if !(args.epsilon.is_finite() && args.epsilon >= 0.0) {
        bail!("--epsilon is {}: it must be a number from 0, such as 0.03 for 3 %", args.epsilon);
    }
    match args.blocks {
        Some(blocks @ (0 | MOST_BLOCKS..)) => bail!("-k is {blocks}: ask for 1 to {} blocks", MOST_BLOCKS - 1),
        None if args.evaluate.is_none() => bail!("-k is missing: say into how many blocks, as in -k 8"),
        _ => {}
    }
    // A wrong name is told before anything is read.
    let default = || registry::PARTITIONERS.first().map_or("", |entry| entry.name);
    let spec = args.algorithm.as_deref().unwrap_or_else(default).parse::<Spec>()?;
    let partitioner = registry::partitioner(&spec)?;
    heap::share_one();
    let started = Instant::now();
    let input = Input::read(args)?;
    let mut report = Report { read: started.elapsed().as_secs_f64(), ..Report::default() };
    let started = Instant::now();
    let (partition, request) = match &args.evaluate {
        Some(path) => {
            let block_of = input.read_partition(path, args.blocks)?;
            let blocks = args.blocks.unwrap_or_else(|| block_of.iter().max().map_or(1, |&last| last + 1));
            if blocks >= MOST_BLOCKS {
                bail!("{}: names block {}: give the number of blocks with -k", path.display(), blocks - 1);
            }
            report.by = format!("{}, {blocks} blocks", path.display());
            (Partition { blocks, block_of }, Request::new(blocks, args.epsilon, args.seed))
        }
        None => {
            let request = Request {
                stop: StopToken::default(),
                ..Request::new(args.blocks.unwrap_or(1), args.epsilon, args.seed)
            };
            stop_on_ctrl_c(&request.stop)?;
            let threads = args.threads.unwrap_or(0) as usize;
            // This thread is one of them: what it frees serves the partitioner, and it would only wait.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
            let pool = pool.build().context("cannot start threads")?;
            let before = processor_seconds();
            let partition = match pool.install(|| partitioner.partition(input.graph(), &request)) {
                Err(PartitionError::Stopped) => return Ok(ExitCode::from(INTERRUPTED)),
                Err(PartitionError::Unsupported(reason)) => bail!("{spec}: {reason}"),
                Ok(partition) => partition,
            };
            report.partitioned = Some((started.elapsed().as_secs_f64(), processor_seconds() - before));
            check(&partition, input.graph(), request.blocks).with_context(|| spec.to_string())?;
            report.by = format!("{spec} into {} blocks, seed {}", request.blocks, args.seed);
            (partition, request)
        }
    };
    let lines: Cow<'_, [u32]> = match &input.seen {
        Seen::Dataflow(_, view) => Cow::Owned(view.blocks_of_ops(&partition.block_of)),
        Seen::Undirected(_) => Cow::Borrowed(&partition.block_of),
    };
    let to_standard_output = args.output.as_deref() == Some(Path::new("-"));
    if to_standard_output {
        print(&lines.iter().fold(String::new(), |text, block| text + &format!("{block}\n")))?;
    } else if args.evaluate.is_none() {
        let default = || PathBuf::from(format!("{}.part.{}", input.name, partition.blocks));
        let path = args.output.clone().unwrap_or_else(default);
        write_partition(&path, &lines)?;
        report.written = Some(path);
    }
    let text = report.text(&input, &partition, &request)?;
    match to_standard_output {
        true => eprint!("{text}"),
        false => print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Processor time that all threads of this process have used, in seconds.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A partitioner's answer is checked like any other input.
fn check(partition: &Partition, graph: &UndirectedGraph, blocks: u32) -> anyhow::Result<()> {
    if partition.block_of.len() != graph.vertex_count() || partition.blocks != blocks {
        bail!("answered with a partition of another graph or number of blocks, which is a mistake of the partitioner");
    }
    match partition.block_of.iter().find(|&&block| block >= blocks) {
        Some(block) => bail!("answered with block {block} of {blocks}, which is a mistake of the partitioner"),
        None => Ok(()),
    }
}

/// Where the graph that a partitioner sees comes from.
enum Seen {
    Undirected(UndirectedGraph),
    Dataflow(Arc<DataflowGraph>, View),
}

/// A graph to be partitioned.
struct Input {
    /// Name for files.
    name: String,
    /// What it is, in words.
    what: String,
    seen: Seen,
    /// What communication is counted on, if there is more than the graph.
    nets: Option<Hypergraph>,
    /// Whether edges weigh bytes.
    bytes: bool,
}

impl Input {
    fn read(args: &Args) -> anyhow::Result<Self> {
        let format = args.format.as_deref().map(|text| text.parse().map_err(|error| anyhow!("--format: {error}")));
        match format.transpose()?.or_else(|| undirected_format(&args.graph)) {
            Some(format) => Self::of_file(args, format),
            None => Self::of_dataflow(args),
        }
    }

    fn of_file(args: &Args, format: UndirectedFormat) -> anyhow::Result<Self> {
        for (option, given) in [("--cluster", args.cluster.is_some()), ("--vertices units", args.vertices != "ops")] {
            if given {
                bail!("{option} is for dataflow graphs, and {} is read as {format}: leave it out", args.graph);
            }
        }
        let is_count = |option: &str, text: &Option<String>| match text.as_deref() {
            None | Some("given") => Ok(false),
            Some("count") => Ok(true),
            Some(other) => bail!("{option} is '{other}', and {} is read as {format}: use given or count", args.graph),
        };
        let (plain_vertices, plain_edges) =
            (is_count("--vertex-weight", &args.vertex_weight)?, is_count("--edge-weight", &args.edge_weight)?);
        let path = Path::new(&args.graph);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let input =
            |graph, nets| Self { name, what: format.to_string(), seen: Seen::Undirected(graph), nets, bytes: false };
        Ok(match read_undirected(path, format, plain_edges)? {
            Undirected::Graph(graph) => {
                input(if plain_vertices { graph.without_vertex_weights() } else { graph }, None)
            }
            Undirected::Hypergraph(nets) => {
                let nets = if plain_vertices { nets.without_vertex_weights() } else { nets };
                let graph = nets.to_graph().with_context(|| path.display().to_string())?;
                input(graph, Some(nets))
            }
        })
    }

    fn of_dataflow(args: &Args) -> anyhow::Result<Self> {
        fn option<T: FromStr<Err = String> + Default>(name: &str, text: Option<&str>) -> anyhow::Result<T> {
            text.map_or_else(
                || Ok(T::default()),
                |text| text.parse().map_err(|error| anyhow!("{name} is '{text}': {error}")),
            )
        }
        let options = ViewOptions {
            vertices: option::<Vertices>("--vertices", Some(&args.vertices))?,
            vertex_weight: option::<VertexWeight>("--vertex-weight", args.vertex_weight.as_deref())?,
            edge_weight: option::<EdgeWeight>("--edge-weight", args.edge_weight.as_deref())?,
        };
        let (_, graph) = source::graph(&args.graph, args.seed)?;
        let graph = Arc::new(graph);
        let cluster = args.cluster.as_deref().map(|cluster| source::cluster(cluster, args.seed)).transpose()?;
        let view = match cluster {
            None => View::of_graph(&graph, options),
            Some(cluster) => View::of_instance(&Instance::new(Arc::clone(&graph), cluster)?, options),
        };
        let view = view.with_context(|| args.graph.clone())?;
        let nets = view.hypergraph(&graph).with_context(|| args.graph.clone())?;
        let path = Path::new(&args.graph);
        let of_path = path.file_name().filter(|_| path.exists()).map(|name| name.to_string_lossy().into_owned());
        let ViewOptions { vertices, vertex_weight, edge_weight } = options;
        Ok(Self {
            name: of_path.unwrap_or_else(|| args.graph.clone()),
            what: format!("dataflow graph; vertices are {vertices} and weigh {vertex_weight}, edges {edge_weight}"),
            seen: Seen::Dataflow(graph, view),
            nets: Some(nets),
            bytes: edge_weight == EdgeWeight::Bytes,
        })
    }

    /// What the partitioner sees.
    fn graph(&self) -> &UndirectedGraph {
        match &self.seen {
            Seen::Undirected(graph) => graph,
            Seen::Dataflow(_, view) => view.graph(),
        }
    }

    /// Reads a partition: a line for each vertex, or for each op of a dataflow graph.
    fn read_partition(&self, path: &Path, blocks: Option<u32>) -> anyhow::Result<Vec<u32>> {
        let (graph, view) = match &self.seen {
            Seen::Undirected(graph) => return Ok(read_partition(path, graph.vertex_count(), blocks)?),
            Seen::Dataflow(graph, view) => (graph, view),
        };
        let block_of_op = read_partition(path, graph.op_count(), blocks)?;
        view.blocks_of_vertices(&block_of_op).map_err(|(first, second)| {
            anyhow!(
                "{}:{}: {} is colocated with {}, on line {}, but in another block: give both one block, or use --vertices ops",
                path.display(),
                second.index() + 1,
                graph.label(second),
                graph.label(first),
                first.index() + 1
            )
        })
    }
}

/// The format of partitioners that a path tells by its extension.
pub(super) fn undirected_format(text: &str) -> Option<UndirectedFormat> {
    let path = Path::new(text);
    UndirectedFormat::of_path(path).filter(|_| !path.is_dir())
}

/// What there is to say about a partition besides its quality.
#[derive(Default)]
struct Report {
    by: String,
    /// Seconds.
    read: f64,
    /// Seconds, and seconds of processor time of all threads; `None` if the partition was read.
    partitioned: Option<(f64, f64)>,
    written: Option<PathBuf>,
}

impl Report {
    fn text(&self, input: &Input, partition: &Partition, request: &Request) -> anyhow::Result<String> {
        let graph = input.graph();
        let amount = |value: u64| match input.bytes {
            true => format!("{value} ({})", bytes_text(value as f64)),
            false => value.to_string(),
        };
        let mut text = String::new();
        let mut line = |name: &str, value: String| writeln!(text, "{name:<15} {value}");
        line("graph", format!("{} ({})", input.name, input.what))?;
        line("vertices", graph.vertex_count().to_string())?;
        line("edges", graph.edge_count().to_string())?;
        if let (Some(nets), Seen::Undirected(_)) = (&input.nets, &input.seen) {
            line("nets", format!("{} with {} pins; edges are those of its graph", nets.net_count(), nets.pin_count()))?;
        }
        line(if self.partitioned.is_some() { "partitioned by" } else { "partition" }, self.by.clone())?;
        line("cut", format!("{} of {}", amount(quality::edge_cut(graph, partition)), graph.total_edge_weight()))?;
        line("volume", quality::communication_volume(graph, partition).to_string())?;
        if let Some(nets) = &input.nets {
            let connectivity = quality::connectivity(nets, partition);
            let (name, connectivity) = match &input.seen {
                Seen::Dataflow(..) => ("traffic", bytes_amount(connectivity)),
                Seen::Undirected(_) => ("connectivity", connectivity.to_string()),
            };
            line(name, connectivity)?;
            if let Seen::Undirected(_) = &input.seen {
                line("cut nets", quality::cut_nets(nets, partition).to_string())?;
            }
        }
        if let Seen::Dataflow(dataflow, view) = &input.seen {
            let blocks = view.blocks_of_ops(&partition.block_of);
            let acyclic = quality::is_acyclic(dataflow, &blocks, partition.blocks);
            line("block graph", if acyclic { "acyclic" } else { "cyclic" }.to_owned())?;
        }
        let weights = quality::block_weights(graph, partition);
        let (least, most) = (weights.iter().min().copied(), weights.iter().max().copied());
        line("block weights", format!("{} to {}", least.unwrap_or(0), most.unwrap_or(0)))?;
        line("imbalance", format!("{:.4}", quality::imbalance(graph, partition)))?;
        let total = graph.total_vertex_weight();
        let heavy =
            (0..partition.blocks).zip(&weights).find(|&(block, &weight)| weight > request.capacity(block, total));
        let feasible = match heavy {
            None => format!("yes, within {}", request.epsilon),
            Some((block, weight)) => {
                format!("no: block {block} weighs {weight}, more than {}", request.capacity(block, total))
            }
        };
        line("feasible", feasible)?;
        line("read in", format!("{:.3} s", self.read))?;
        if let Some((seconds, processor)) = self.partitioned {
            line("partitioned in", format!("{seconds:.3} s, {processor:.4} s of processor time"))?;
        }
        if let Some(bytes) = peak_rss_bytes() {
            line("peak memory", bytes_text(bytes as f64))?;
        }
        if let Some(path) = &self.written {
            line("written to", path.display().to_string())?;
        }
        Ok(text)
    }
}

fn bytes_amount(bytes: u64) -> String {
    format!("{bytes} ({}), each tensor once to each block that needs it", bytes_text(bytes as f64))
}
