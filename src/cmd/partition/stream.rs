//! `placebench partition --stream`: a file of any size, read as a stream in bounded memory.

use crate::output::Exit;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::partition::streaming::{AssignedEdge, StreamError, VertexCut};
use placebench::algorithms::partition::{PartitionRequest, registry};
use placebench::algorithms::{Spec, StopToken};
use placebench::base::printable;
use placebench::base::process::peak_rss_bytes;
use placebench::base::processor::process_time;
use placebench::base::significant::bytes_text;
use placebench::datasets::format::undirected::write_partition;
use placebench::datasets::format::{FormatError, open_unpacked, undirected_format, without_compression, write_whole};
use placebench::datasets::stream::{
    EdgeFormat, EdgeParts, EdgeStream, RowFile, VertexStream, open_edges, write_rows_from_edges,
};

use super::Args;
use super::answer::Answer;
use crate::interrupt::{INTERRUPTED, stop_on_ctrl_c};
use crate::output::{Form, shown};

/// Memory for the rows that are made at once from a file of edges: each time, all edges are read. 10⁹ edges take nine
/// times with this.
const ROWS: usize = 1 << 30;

/// The algorithms for which several passes are defined (Nishimura, Ugander 2013).
const RESTREAMING: [&str; 2] = ["ldg", "fennel"];

/// What there is to say: for people a line for each figure.
struct Figures {
    text: String,
    answer: Answer,
    form: Form,
    /// Whether standard output has the partition, so that the figures go to standard error.
    aside: bool,
}

impl Figures {
    fn new(graph: &str, request: &PartitionRequest, form: Form) -> Self {
        let &PartitionRequest { blocks, epsilon, seed, .. } = request;
        let answer = Answer { graph: graph.to_owned(), blocks, epsilon, seed, ..Answer::default() };
        let mut figures = Self { text: String::new(), answer, form, aside: false };
        figures.line("graph", format!("{graph} (stream)"));
        figures
    }

    fn line(&mut self, name: &str, value: impl std::fmt::Display) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "{name:<15} {value}");
    }

    fn size(&mut self, nodes: usize, edges: u64) {
        (self.answer.nodes, self.answer.edges) = (nodes as u64, edges);
        self.line("vertices", nodes);
        self.line("edges", edges);
    }

    fn by(&mut self, spec: &Spec, request: &PartitionRequest) {
        self.answer.algorithm = Some(spec.to_string());
        self.line("partitioned by", format!("{spec} into {} blocks", request.blocks));
    }

    fn written(&mut self, output: &Path, what: &str) {
        if is_standard_output(output) {
            self.aside = true;
            return;
        }
        self.answer.files.push(shown(output));
        self.line("written to", format!("{}: {what}", output.display()));
    }

    fn finish(mut self, edges: u64, started: Instant, before: Duration) -> anyhow::Result<()> {
        let (seconds, processor) = (started.elapsed().as_secs_f64(), (process_time() - before).as_secs_f64());
        (self.answer.seconds, self.answer.processor_seconds) = (Some(seconds), Some(processor));
        self.answer.peak_rss_bytes = peak_rss_bytes();
        self.line("read and done", format!("{seconds:.3} s, {processor:.4} s of processor time"));
        self.line(
            "speed",
            format!("{:.2} million edges a second of processor time", edges as f64 / processor.max(1e-9) / 1e6),
        );
        if let Some(bytes) = self.answer.peak_rss_bytes {
            self.line("peak memory", bytes_text(bytes as f64));
        }
        if self.aside {
            eprint!("{}", printable(&self.text));
            return Ok(());
        }
        self.form.print(&self.answer, || self.text)
    }
}

fn is_standard_output(output: &Path) -> bool {
    output == Path::new("-")
}

pub(super) fn execute(args: &Args, spec: &Spec, form: Form) -> anyhow::Result<Exit> {
    let path = Path::new(&args.graph);
    for (option, given) in [
        ("--cluster", args.cluster.is_some()),
        ("--vertices units", args.vertices != "ops"),
        ("--vertex-weight", args.vertex_weight.is_some()),
        ("--edge-weight", args.edge_weight.is_some()),
    ] {
        if given {
            bail!("{option} is not for --stream, which reads a file of edges: leave it out");
        }
    }
    if let Some(threads) = args.threads.filter(|&threads| threads > 1) {
        bail!("--threads is {threads}: --stream decides on one edge after the other, on one thread: leave it out");
    }
    if let Some(partition) = &args.evaluate {
        let blocks =
            args.blocks.ok_or_else(|| anyhow!("-k is missing: say how many blocks the partition has, as in -k 8"))?;
        let request = PartitionRequest::new(blocks, args.epsilon, args.seed);
        let figures = Figures::new(&shown(path), &request, form);
        return evaluate(&mut *open(args, path)?, path, partition, blocks, figures);
    }
    let blocks = args.blocks.unwrap_or(1);
    let spec = &with_passes(args, spec)?;
    let request =
        PartitionRequest { stop: StopToken::default(), ..PartitionRequest::new(blocks, args.epsilon, args.seed) };
    request.check()?;
    stop_on_ctrl_c(&request.stop)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.part.{blocks}")));
    let figures = Figures::new(&name, &request, form);
    let is_of_edges = registry::EDGE_PARTITIONERS.iter().any(|entry| entry.name == spec.name);
    let done = match is_of_edges {
        true => edges(args, path, spec, &request, &output, figures),
        false => vertices(args, path, spec, &request, &output, figures),
    };
    match done {
        Err(error) if matches!(error.downcast_ref(), Some(StreamError::Stopped)) => Ok(Exit::from(INTERRUPTED)),
        other => other.map(|()| Exit::SUCCESS),
    }
}

/// The algorithm with `--passes` as its parameter.
fn with_passes(args: &Args, spec: &Spec) -> anyhow::Result<Spec> {
    let mut spec = spec.clone();
    if let Some(passes) = args.passes {
        if !RESTREAMING.contains(&spec.name.as_str()) {
            bail!("--passes is for {}, which can read a graph again: leave it out", RESTREAMING.join(" and "));
        }
        if spec.params.iter().any(|(name, _)| name == "passes") {
            bail!("{spec}: gives passes already: leave out --passes");
        }
        spec.params.push(("passes".to_owned(), passes.to_string()));
    }
    Ok(spec)
}

/// Opens a file of edges, or a folder of such files.
fn open(args: &Args, path: &Path) -> anyhow::Result<Box<dyn EdgeStream>> {
    if path.is_dir() {
        return Ok(Box::new(EdgeParts::open(path)?));
    }
    let format = match args.format.as_deref() {
        Some(name) => Some(EdgeFormat::named(name).map_err(|error| anyhow!("--format: {error}"))?),
        None => EdgeFormat::of_path(&without_compression(path)).or_else(|| undirected_stream(path)),
    };
    let Some(format) = format else {
        bail!(
            "{}: --stream reads edges as Parquet, binary or text: convert it to .pbedges, or give --format",
            path.display()
        )
    };
    Ok(open_edges(path, format)?)
}

/// The format of other extensions that edges have.
fn undirected_stream(path: &Path) -> Option<EdgeFormat> {
    EdgeFormat::named(undirected_format(path)?.name).ok()
}

/// Divides the edges: the answer has a line `vertex vertex block` for each edge.
fn edges(
    args: &Args,
    path: &Path,
    spec: &Spec,
    request: &PartitionRequest,
    output: &Path,
    mut figures: Figures,
) -> anyhow::Result<()> {
    let partitioner = registry::edge_partitioner(spec)?;
    let mut stream = open(args, path)?;
    let (started, before) = (Instant::now(), process_time());
    let mut cut = VertexCut::empty(0, request.blocks);
    write_answer(output, |out| {
        let sink = &mut |AssignedEdge { ends: (a, b), block, .. }: AssignedEdge| {
            writeln!(out, "{a} {b} {block}").map_err(|error| FormatError::io(output, error))
        };
        cut = partitioner.partition_edges(&mut *stream, request, sink)?;
        Ok(())
    })?;
    figures.size(stream.vertex_count(), stream.edge_count());
    figures.by(spec, request);
    cut_figures(&mut figures, &cut);
    figures.line("own count", format!("{} of memory for algorithm and stream", bytes_text(cut.memory_bytes as f64)));
    figures.written(output, "vertex, vertex, block of each edge");
    figures.finish(stream.edge_count(), started, before)
}

/// Writes the answer to its file as a whole, or to standard output.
fn write_answer(output: &Path, content: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    if is_standard_output(output) {
        let mut out = BufWriter::new(io::stdout().lock());
        let io_error = |error: &anyhow::Error| match error.downcast_ref() {
            Some(StreamError::File(file)) => file.io_error().map(io::Error::kind),
            _ => None,
        };
        return match content(&mut out) {
            // The reader has what it wanted.
            Err(error) if io_error(&error) == Some(io::ErrorKind::BrokenPipe) => {
                Err(io::Error::from(io::ErrorKind::BrokenPipe).into())
            }
            Err(error) => Err(error),
            Ok(()) => Ok(out.flush()?),
        };
    }
    write_whole(output, |error| anyhow!("{}: {error}", output.display()), |out| content(out))
}

/// Replication factor and balances of a vertex cut.
fn cut_figures(figures: &mut Figures, cut: &VertexCut) {
    let edges: u64 = cut.edges_of_block.iter().sum();
    let (least, most) = (cut.edges_of_block.iter().min(), cut.edges_of_block.iter().max());
    figures.line("replication", format!("{:.4}: replicas of a vertex that has edges", cut.replication_factor()));
    figures.line("block edges", format!("{} to {}", least.unwrap_or(&0), most.unwrap_or(&0)));
    let edge_imbalance = if edges == 0 { 0.0 } else { cut.edge_imbalance() };
    figures.line("edge imbalance", format!("{edge_imbalance:.4}"));
    let answer = &mut figures.answer;
    (answer.least_block_edges, answer.largest_block_edges) = (least.copied(), most.copied());
    (answer.edge_imbalance, answer.replication_factor) = (Some(edge_imbalance), Some(cut.replication_factor()));
    let mut replicas = vec![0u64; cut.edges_of_block.len()];
    for vertex in 0..cut.replicas.vertex_count() as u32 {
        cut.replicas.of(vertex).for_each(|block| replicas[block as usize] += 1);
    }
    let imbalance = imbalance(&replicas);
    figures.answer.replica_imbalance = Some(imbalance);
    figures.line("vertex imbalance", format!("{imbalance:.4}, of replicas"));
}

/// Divides the vertices: the answer has the block of each vertex, one a line.
fn vertices(
    args: &Args,
    path: &Path,
    spec: &Spec,
    request: &PartitionRequest,
    output: &Path,
    mut figures: Figures,
) -> anyhow::Result<()> {
    let partitioner = registry::stream_partitioner(spec)?;
    if spec.params.iter().any(|(name, _)| name == "order") {
        bail!("{spec}: a file has an order of its own: leave out 'order'");
    }
    // Beside the output; in this folder if that is a pipe or a device.
    let is_no_file = is_standard_output(output) || fs::metadata(output).is_ok_and(|found| !found.is_file());
    let beside = if is_no_file { path.file_name().map_or(Path::new("graph"), Path::new) } else { output };
    let rows_path =
        beside.with_file_name(format!(".{}.rows.partial", beside.file_name().unwrap_or_default().to_string_lossy()));
    let _remove = RemoveAtEnd(&rows_path);
    let mut rows = match is_row_file(path)? {
        true => RowFile::open(path)?,
        false => {
            let started = Instant::now();
            write_rows_from_edges(&rows_path, &mut *open(args, path)?, ROWS)?;
            figures.line("rows made in", format!("{:.3} s, from edges", started.elapsed().as_secs_f64()));
            RowFile::open(&rows_path)?
        }
    };
    let (started, before) = (Instant::now(), process_time());
    let partition = partitioner.partition_stream(&mut rows, request)?;
    let total = rows.total_edge_weight();
    let mut cut = 0u64;
    let (mut weights, mut entries) = (vec![0u64; request.blocks as usize], vec![0u64; request.blocks as usize]);
    rows.rewind()?;
    while let Some(row) = rows.next_row()? {
        let own = partition.block_of[row.vertex as usize];
        weights[own as usize] += row.weight;
        entries[own as usize] += row.neighbours.len() as u64;
        for (position, &neighbour) in row.neighbours.iter().enumerate() {
            if partition.block_of[neighbour as usize] != own {
                cut += row.edge_weights.map_or(1, |weights| weights.at(position));
            }
        }
    }
    if is_standard_output(output) {
        write_answer(output, |out| Ok(partition.block_of.iter().try_for_each(|block| writeln!(out, "{block}"))?))?;
    } else {
        write_partition(output, &partition.block_of)?;
    }
    let edges = entries.iter().sum::<u64>() / 2;
    figures.size(partition.block_of.len(), edges);
    figures.by(spec, request);
    figures.line("cut", format!("{} of {total}", cut / 2));
    let (least, most) = (weights.iter().min(), weights.iter().max());
    figures.line("block weights", format!("{} to {}", least.unwrap_or(&0), most.unwrap_or(&0)));
    let (imbalance, edge_imbalance) = (imbalance(&weights), imbalance(&entries));
    figures.line("imbalance", format!("{imbalance:.4}"));
    figures.line("edge imbalance", format!("{edge_imbalance:.4}, of edges with an end in a block"));
    let answer = &mut figures.answer;
    (answer.cut, answer.total_edge_weight) = (Some(cut / 2), Some(total));
    (answer.imbalance, answer.edge_imbalance) = (Some(imbalance), Some(edge_imbalance));
    (answer.least_block_weight, answer.largest_block_weight) = (least.copied(), most.copied());
    figures.written(output, "the block of each vertex");
    figures.finish(edges, started, before)
}

/// Largest / mean − 1.
fn imbalance(of_block: &[u64]) -> f64 {
    let (sum, largest) = (of_block.iter().sum::<u64>(), of_block.iter().max().copied().unwrap_or(0));
    if sum == 0 { 0.0 } else { largest as f64 * of_block.len() as f64 / sum as f64 - 1.0 }
}

fn is_row_file(path: &Path) -> anyhow::Result<bool> {
    if path.is_dir() {
        return Ok(false);
    }
    let mut magic = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read(&mut magic));
    let read = read.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(read == 8 && &magic == b"PBROWS01")
}

struct RemoveAtEnd<'a>(&'a Path);

impl Drop for RemoveAtEnd<'_> {
    fn drop(&mut self) {
        // If it stays, it is hidden and does no harm.
        let _ = fs::remove_file(self.0);
    }
}

/// Judges a file of `vertex vertex block` lines, which must have the graph's edges, in any order and from either end.
fn evaluate(
    stream: &mut dyn EdgeStream,
    path: &Path,
    partition: &Path,
    blocks: u32,
    mut figures: Figures,
) -> anyhow::Result<Exit> {
    let (started, before) = (Instant::now(), process_time());
    let vertices = stream.vertex_count();
    let mut judged = VertexCut::empty(vertices, blocks);
    // What the file has and the graph lacks, in sums that do not depend on the order of edges. A few lines that differ
    // change few of the sums, so that they are found again.
    let mut sums = vec![0u64; SUMS];
    read_cut(partition, vertices, blocks, |edge, block, _| {
        judged.add(edge, block);
        let (sum, number) = place_of(edge);
        sums[sum] = sums[sum].wrapping_add(number);
    })?;
    each_edge(stream, |edge| {
        let (sum, number) = place_of(edge);
        sums[sum] = sums[sum].wrapping_sub(number);
    })?;
    let edges: u64 = judged.edges_of_block.iter().sum();
    if edges != stream.edge_count() || sums.iter().any(|&sum| sum != 0) {
        let what = difference(stream, path, partition, blocks, |edge| sums[place_of(edge).0] != 0)?;
        bail!("{what}: use the partition of this graph");
    }
    figures.size(vertices, edges);
    figures.line("partition", format!("{}, {blocks} blocks", partition.display()));
    cut_figures(&mut figures, &judged);
    figures.finish(edges, started, before)?;
    Ok(Exit::SUCCESS)
}

/// The ends of an edge.
type Ends = (u32, u32);

/// Calls `found` with each edge of a file of `vertex vertex block` lines, its block, and the number of its line.
fn read_cut(
    partition: &Path,
    vertices: usize,
    blocks: u32,
    mut found: impl FnMut(Ends, u32, u64),
) -> anyhow::Result<()> {
    let mut lines = BufReader::new(open_unpacked(partition)?);
    let (mut line, mut number) = (String::new(), 0u64);
    loop {
        line.clear();
        number += 1;
        if lines.read_line(&mut line).with_context(|| format!("{}:{number}", partition.display()))? == 0 {
            return Ok(());
        }
        let fault = |what: String| anyhow!("{}:{number}: {what}: write 'vertex vertex block'", partition.display());
        let mut words = line.split_ascii_whitespace().map(str::parse::<u32>);
        let (Some(Ok(a)), Some(Ok(b)), Some(Ok(block)), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(fault(format!("'{}' is no edge with its block", line.trim_end())));
        };
        if a.max(b) as usize >= vertices || block >= blocks {
            return Err(fault(format!("there are {vertices} vertices and {blocks} blocks")));
        }
        found((a, b), block, number);
    }
}

/// Calls `found` with each edge of a stream.
fn each_edge(stream: &mut dyn EdgeStream, mut found: impl FnMut(Ends)) -> anyhow::Result<()> {
    stream.rewind()?;
    while let Some(batch) = stream.next_edges()? {
        batch.iter().for_each(|&edge| found(edge));
    }
    Ok(())
}

/// What the edges of a file and of a graph differ in: the first line that the graph lacks, or the first edge that the
/// file lacks. All edges that differ are `suspect`, and of the others few.
fn difference(
    stream: &mut dyn EdgeStream,
    path: &Path,
    partition: &Path,
    blocks: u32,
    suspect: impl Fn(Ends) -> bool,
) -> anyhow::Result<String> {
    /// A list of more would take more memory than the vertices may have.
    const MOST: usize = 1 << 16;
    let other = format!("{}: has other edges than {}", partition.display(), path.display());
    // What is no file is read once.
    if !fs::metadata(partition).is_ok_and(|found| found.is_file()) {
        return Ok(other);
    }
    let vertices = stream.vertex_count();
    let (mut of_file, mut of_graph) = (Vec::new(), Vec::new());
    read_cut(partition, vertices, blocks, |edge, _, line| {
        if of_file.len() < MOST && suspect(edge) {
            of_file.push((ordered(edge), line));
        }
    })?;
    each_edge(stream, |edge| {
        if of_graph.len() < MOST && suspect(edge) {
            of_graph.push(ordered(edge));
        }
    })?;
    // How often the file and the graph have each of them.
    let mut times: HashMap<Ends, (u64, u64)> =
        of_file.iter().map(|&(edge, _)| edge).chain(of_graph.iter().copied()).map(|edge| (edge, (0, 0))).collect();
    read_cut(partition, vertices, blocks, |edge, _, _| {
        if let Some((in_file, _)) = times.get_mut(&ordered(edge)) {
            *in_file += 1;
        }
    })?;
    each_edge(stream, |edge| {
        if let Some((_, in_graph)) = times.get_mut(&ordered(edge)) {
            *in_graph += 1;
        }
    })?;
    let (file, graph) = (partition.display(), path.display());
    if let Some(((a, b), line)) = of_file.into_iter().find(|(edge, _)| times[edge].0 > times[edge].1) {
        return Ok(match times[&(a, b)] {
            (_, 0) => format!("{file}:{line}: {graph} has no edge {a} {b}"),
            (many, few) => {
                format!("{file}:{line}: the edge {a} {b} is there more often than in {graph} ({many} and {few})")
            }
        });
    }
    Ok(match of_graph.into_iter().find(|edge| times[edge].0 < times[edge].1) {
        Some((a, b)) => format!("{file}: lacks the edge {a} {b} of {graph}"),
        None => other,
    })
}

/// The same for an edge from either end.
fn ordered((a, b): Ends) -> Ends {
    (a.min(b), a.max(b))
}

/// Sums that edges are distributed over.
const SUMS: usize = 1 << 12;

/// The sum that an edge belongs to, and the number that it adds.
fn place_of(edge: Ends) -> (usize, u64) {
    let (a, b) = ordered(edge);
    let number = mixed(a, b);
    ((number >> 32) as usize % SUMS, number)
}

/// A number for an edge that says nothing about its ends' order of magnitude (SplitMix64).
fn mixed(a: u32, b: u32) -> u64 {
    let mut bits = (u64::from(a) << 32 | u64::from(b)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
