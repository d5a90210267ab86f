//! `placebench partition`: partitions a graph into blocks, or judges a partition.

mod answer;
mod input;
mod report;
mod stream;

use crate::output::Exit;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use input::{Input, Seen};
use placebench::algorithms::partition::{
    FiducciaMattheyses, Multilevel, Partition, PartitionError, PartitionRequest, registry,
};
use placebench::algorithms::{Algorithm, Spec, StopToken};
use placebench::base::processor::process_time;
use placebench::datasets::UndirectedGraph;
use placebench::datasets::format::undirected::write_partition;
use placebench::datasets::format::{Holds, format_marks, format_names, without_compression};
use placebench::datasets::stream::EdgeFormat;
use report::Report;

use super::number::number;
use crate::interrupt::{INTERRUPTED, stop_on_ctrl_c};
use crate::output::{Form, check_outputs, print};

/// Arguments of `partition`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(help = format!(
        "An undirected graph ({}), a hypergraph ({}), or a dataflow graph: of the catalogue, a preset, or in any format \
         that 'convert' reads",
        format_marks(|holds| matches!(holds, Holds::Undirected { .. })),
        format_marks(|holds| matches!(holds, Holds::Hypergraph { .. }))
    ))]
    graph: String,

    /// Number of blocks; with --evaluate as many as the partition has, if left out.
    #[arg(long, short = 'k', value_name = "K")]
    blocks: Option<u32>,

    /// Tolerated imbalance: a block may weigh 1 + epsilon times its share of the total.
    #[arg(long, short, default_value_t = 0.03, value_parser = number)]
    epsilon: f64,

    /// The partitioner, as `name` or `name(parameter=value)`: see `placebench list partitioners`.
    /// [default: the first there].
    #[arg(long, short, conflicts_with = "evaluate")]
    algorithm: Option<String>,

    /// What multilevel and fiduccia_mattheyses minimise: cut, the weight of the edges between blocks; connectivity, which
    /// counts a net once for each further block; or traffic, which weighs tensors by their bytes. As their parameter `objective` [default: cut, and
    /// connectivity of a hypergraph].
    #[arg(long, value_name = "OBJECTIVE", conflicts_with_all = ["evaluate", "stream"])]
    objective: Option<String>,

    /// Where the partition goes, one block a line, as METIS writes it; `-` for standard output, and then the report
    /// goes to standard error. An existing file is replaced [default: GRAPH.part.K in this folder].
    #[arg(long, short, value_name = "FILE", conflicts_with = "evaluate")]
    output: Option<PathBuf>,

    /// Reads edges (Parquet, binary or text, a file or a folder of parts) as a stream, in memory for the vertices only. For
    /// ldg, fennel, hdrf, dbh, greedy and adwise. The last four divide the edges: the output has a line 'vertex vertex block'
    /// for each.
    #[arg(long)]
    stream: bool,

    /// With --stream, of ldg and fennel: reads the graph this many times, each time moving vertices to where their neighbours
    /// are now [default: 1].
    #[arg(long, value_name = "N", requires = "stream", conflicts_with = "evaluate",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    passes: Option<u32>,

    /// Judges this partition instead of making one. With --stream, a partition of the edges.
    #[arg(long, value_name = "FILE")]
    evaluate: Option<PathBuf>,

    #[arg(long, value_name = "FORMAT", help = format!(
        "Format of the graph, if its extension does not say it: {}",
        format_names(|holds| matches!(holds, Holds::Undirected { .. } | Holds::Hypergraph { .. }))
    ))]
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
    #[arg(long, default_value_t = 0, value_parser = super::number::seed)]
    seed: u64,

    /// Threads for partitioners that use several; the partition does not depend on it. With --stream 1 [default: one for
    /// each core].
    #[arg(long, value_name = "N", conflicts_with = "evaluate", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
}

/// More blocks are surely a mistake, and would take memory for nothing.
const MOST_BLOCKS: u32 = 1 << 24;

/// Why an acyclic partition of some views is none of the dataflow graph.
const NEEDS_ORDER: &str =
    "blocks in the order of the dataflow need all edges, those without bytes, too, and ops as vertices";

/// The partitioner with what it is to minimise: what `--objective` says, or else the connectivity of a hypergraph.
fn with_objective(mut spec: Spec, args: &Args) -> anyhow::Result<Spec> {
    const OBJECTIVE: &str = "objective";
    let is_said = spec.params.iter().any(|(name, _)| name == OBJECTIVE);
    let has_one = [Multilevel::NAME, FiducciaMattheyses::NAME].contains(&spec.name.as_str());
    let word = match (&args.objective, has_one) {
        (Some(word), true) if !is_said => word.clone(),
        (Some(word), true) => bail!("--objective {word}: {spec} says what it minimises: leave one of both out"),
        (Some(word), false) => bail!("--objective {word}: {} has none: leave it out, or use multilevel", spec.name),
        (None, true) if !is_said && Input::is_hypergraph(args) => "connectivity".to_owned(),
        (None, _) => return Ok(spec),
    };
    spec.params.push((OBJECTIVE.to_owned(), word));
    Ok(spec)
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let to_standard_output = args.output.as_deref() == Some(Path::new("-"));
    if to_standard_output && form == Form::Json {
        bail!("-o -: the partition and --json both want standard output: give -o a file, or leave out --json");
    }
    if let Some(output) = &args.output {
        check_ending(output)?;
    }
    if !(args.epsilon.is_finite() && args.epsilon >= 0.0) {
        bail!("--epsilon is {}: it must be a number from 0, such as 0.03 for 3 %", args.epsilon);
    }
    match args.blocks {
        Some(blocks @ (0 | MOST_BLOCKS..)) => bail!("-k is {blocks}: ask for 1 to {} blocks", MOST_BLOCKS - 1),
        None if args.evaluate.is_none() => bail!("-k is missing: say into how many blocks, as in -k 8"),
        _ => {}
    }
    // A wrong name is told before anything is read.
    let default = || registry::PARTITIONERS.first().map_or("", |entry| entry.name.as_str());
    let spec = args.algorithm.as_deref().unwrap_or_else(default).parse::<Spec>()?;
    let spec = with_objective(spec, args)?;
    if args.stream {
        if args.algorithm.is_none() && args.evaluate.is_none() {
            bail!("--stream needs a partitioner of streams: say which, as in -a ldg");
        }
        check_output(args)?;
        return stream::execute(args, &spec, form);
    }
    let partitioner = registry::partitioner(&spec)?;
    check_output(args)?;
    let started = Instant::now();
    let input = Input::read(args)?;
    if args.evaluate.is_none() && partitioner.needs_order() && !input.keeps_order() {
        bail!("{spec}: {NEEDS_ORDER}: use --vertices ops --edge-weight count, or --edge-weight time with a cluster");
    }
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
            (Partition { blocks, block_of }, PartitionRequest::new(blocks, args.epsilon, args.seed))
        }
        None => {
            let request = PartitionRequest {
                nets: input.nets_for(&*partitioner)?,
                stop: StopToken::default(),
                ..PartitionRequest::new(args.blocks.unwrap_or(1), args.epsilon, args.seed)
            };
            let _heeded = stop_on_ctrl_c(&request.stop)?;
            let threads = args.threads.unwrap_or(0) as usize;
            // This thread is one of them: what it frees serves the partitioner, and it would only wait.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
            let pool = pool.build().context("cannot start threads, use fewer with --threads")?;
            let before = process_time();
            let partition = match pool.install(|| partitioner.partition_with_replicas(input.graph(), &request)) {
                Err(PartitionError::Stopped) => return Ok(Exit::from(INTERRUPTED)),
                Err(PartitionError::Unsupported(reason)) => bail!("{spec}: {reason}"),
                Ok((partition, replicas)) => {
                    report.replication = replicas;
                    partition
                }
            };
            report.partitioned = Some((started.elapsed().as_secs_f64(), (process_time() - before).as_secs_f64()));
            check(&partition, input.graph(), request.blocks).with_context(|| spec.to_string())?;
            report.algorithm = Some(spec.to_string());
            report.by = format!("{spec} into {} blocks, seed {}", request.blocks, args.seed);
            (partition, request)
        }
    };
    let lines: Cow<'_, [u32]> = match &input.seen {
        Seen::Dataflow(_, view) => Cow::Owned(view.blocks_of_ops(&partition.block_of)),
        Seen::Undirected(_) => Cow::Borrowed(&partition.block_of),
    };
    if to_standard_output {
        print(&lines.iter().fold(String::new(), |text, block| text + &format!("{block}\n")))?;
    } else if args.evaluate.is_none() {
        let default = || PathBuf::from(format!("{}.part.{}", input.name, partition.blocks));
        let path = args.output.clone().unwrap_or_else(default);
        write_partition(&path, &lines)?;
        report.written = Some(path);
    }
    match form {
        Form::Json => form.print(&report.answer(&input, &partition, &request), String::new)?,
        Form::Text if to_standard_output => eprint!("{}", report.text(&input, &partition, &request)?),
        Form::Text => print(&report.text(&input, &partition, &request)?)?,
    }
    Ok(Exit::SUCCESS)
}

/// Refuses to write the partition over something that is read.
fn check_output(args: &Args) -> anyhow::Result<()> {
    let read = [Some(Path::new(&args.graph)), args.cluster.as_deref().map(Path::new), args.evaluate.as_deref()];
    check_outputs(args.output.as_deref().filter(|path| *path != Path::new("-")), read.into_iter().flatten())
}

/// Refuses the ending of a table or of binary edges: a partition is text, whatever its name.
fn check_ending(output: &Path) -> anyhow::Result<()> {
    match EdgeFormat::of_path(&without_compression(output)) {
        Some(EdgeFormat::Parquet | EdgeFormat::Binary) => {
            bail!(
                "-o {}: a partition is written as text, which this ending is not: end it with .part",
                output.display()
            )
        }
        _ => Ok(()),
    }
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
