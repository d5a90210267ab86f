//! `placebench generate --stream`: graphs of any size, part by part.

use crate::output::Exit;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::StopToken;
use placebench::datasets::stream::EdgeFormat;
use placebench::generator::stream::StreamProperties;
use placebench::generator::{Described, GraphParams, StreamError, StreamParams, Streamed, Tally};
use placebench::harness::shards::{Followed, Items};

use super::{Answer, Args, Checked, answer, parameters, resized};
use crate::cmd::launcher::Following;
use crate::interrupt::{INTERRUPTED, stop_on_ctrl_c};
use crate::output::{Form, shown};
use crate::progress::Progress;

/// Whether a graph made by parts is at a path.
pub(super) fn is_at(path: &Path) -> bool {
    Streamed::is_at(path)
}

pub(super) fn execute(args: &Args, what: &str, out: &Path, form: Form) -> anyhow::Result<Exit> {
    let params = params(args, what)?;
    let format = args.format.as_deref().map(EdgeFormat::named).transpose();
    let format = format.map_err(|error| anyhow!("--format: {error}"))?;
    let of_file = EdgeFormat::of_path(out).filter(|_| !out.is_dir());
    let graph = match of_file {
        Some(_) if args.shards.is_some() || args.shard.is_some() || args.launcher.launcher.is_some() => {
            bail!("{}: parts are files in a folder: give --out a name without an extension", out.display())
        }
        Some(said) if format.is_some_and(|format| format != said) => {
            bail!("{}: its extension says {}, --format something else: leave one out", out.display(), said.name())
        }
        Some(_) if out.exists() && !args.force => bail!("{}: exists: --force replaces it", out.display()),
        Some(format) => Streamed::file(params, args.seed, format, out)?,
        None => {
            let parts = args.shard.map(|shard| shard.count).or(args.shards);
            Streamed::folder(params, args.seed, format.unwrap_or(EdgeFormat::Parquet), parts, out)?
        }
    };
    args.launcher.check()?;
    graph.prepare(args.force)?;
    if args.launcher.launcher.is_some() && !on_launcher(args, what, out, &graph)? {
        return Ok(Exit::from(INTERRUPTED));
    }
    let all = 1..=graph.manifest().parts;
    let wanted: Vec<u32> = all.filter(|&part| args.shard.is_none_or(|shard| shard.index == part)).collect();
    let missing: Vec<u32> =
        wanted.iter().copied().filter(|&part| of_file.is_some() || !graph.is_finished(part)).collect();
    let started = Instant::now();
    let shown = out.display();
    make(&graph, &missing, threads(args), args.shard.is_some() || of_file.is_some())
        .with_context(|| format!("{shown}: finished parts stay, and the same command goes on with the others"))?;
    let done = match wanted.len() - missing.len() {
        0 => String::new(),
        done => format!(" ({done} were there)"),
    };
    let seconds = started.elapsed().as_secs_f64();
    let properties = graph.finish()?;
    let parts = graph.manifest().parts;
    let finished = match properties {
        Some(_) => parts as usize,
        None => (1..=parts).filter(|&part| graph.is_finished(part)).count(),
    };
    let words = match &properties {
        Some(properties) => format!(": {}\n{} parts{done}, {seconds:.1} s", text(properties), wanted.len()),
        None => format!(": {finished} of {parts} parts are there{done}, {seconds:.1} s"),
    };
    let answer = Answer {
        nodes: properties.as_ref().map(|properties| properties.vertices.into()),
        edges: properties.as_ref().map(|properties| properties.edges),
        sha256: properties.map(|properties| properties.sha256),
        parts: Some(parts),
        finished_parts: Some(finished),
        ..answer(args, out)
    };
    answer.print(form, &words)
}

/// Has a launcher make the parts, each a shard; `false` if Ctrl-C stopped it.
fn on_launcher(args: &Args, what: &str, out: &Path, graph: &Streamed) -> anyhow::Result<bool> {
    let parts = graph.manifest().parts;
    let folder = std::path::absolute(out).context("the current folder is gone")?;
    let folder = folder.to_str().ok_or_else(|| anyhow!("{}: is not Unicode", out.display()))?;
    let mut arguments = ["generate", what, "--stream", "--out", folder].map(str::to_owned).to_vec();
    arguments.push(format!("--seed={}", args.seed));
    arguments.extend(args.ops.map(|ops| format!("--ops={ops}")));
    arguments.extend(args.format.as_ref().map(|format| format!("--format={format}")));
    let mut work = Items::new((1..=parts).collect(), parts, |part| graph.is_finished(part as u32 + 1));
    let (stop, progress) = (StopToken::default(), Progress::of("parts", false));
    let _heeded = stop_on_ctrl_c(&stop)?;
    let following = Following { threads: threads(args), stop: &stop, progress: &progress };
    let followed = args.launcher.fill(out, &out.join("jobs"), arguments, parts, &mut work, &following)?;
    Ok(followed == Followed::Complete)
}

/// Checks all parts that are there, or one.
pub(super) fn check(args: &Args, path: &Path, form: Form) -> anyhow::Result<Exit> {
    let graph = Streamed::open(path)?;
    let parts = graph.manifest().parts;
    if let Some(shard) = args.shard.filter(|shard| shard.count != parts) {
        bail!("{}: has {parts} parts, not {}: check one with --shard I/{parts}", path.display(), shard.count);
    }
    let wanted = |part: u32| args.shard.map_or_else(|| graph.is_finished(part), |shard| shard.index == part);
    let wanted: Vec<u32> = (1..=parts).filter(|&part| wanted(part)).collect();
    in_parallel(&wanted, threads(args), |part, threads| graph.check(part, threads))?;
    let missing = (1..=parts).filter(|&part| !graph.is_finished(part)).count();
    let rest = if missing > 0 { format!("; {missing} are not there yet") } else { String::new() };
    let words = format!("{} of {parts} parts are what the manifest says{rest}", wanted.len());
    let checked = Checked {
        folder: shown(path),
        parts: Some(parts),
        checked_parts: Some(wanted.len()),
        missing_parts: Some(missing),
    };
    checked.print(form, &words)
}

fn params(args: &Args, what: &str) -> anyhow::Result<StreamParams> {
    let params = parameters(what)?;
    if let Described::Dataflow(GraphParams::Leveled(params)) = params {
        return Ok(StreamParams::Leveled(Box::new(resized(params, args.ops)?)));
    }
    if args.ops.is_some() {
        bail!("--ops is for leveled graphs, not for '{what}': leave it out");
    }
    let streamed = match &params {
        Described::Undirected(params) => params.streamed().cloned(),
        Described::Dataflow(_) => None,
    };
    streamed.ok_or_else(|| anyhow!("--stream makes leveled graphs, gnm and rmat, not '{what}': leave it out"))
}

fn threads(args: &Args) -> usize {
    args.threads.map_or_else(rayon::current_num_threads, |threads| threads as usize)
}

/// Makes parts, and says so.
fn make(graph: &Streamed, parts: &[u32], threads: usize, quiet: bool) -> anyhow::Result<()> {
    in_parallel(parts, threads, |part, threads| {
        let started = Instant::now();
        let sheet = graph.make(part, threads)?;
        if !quiet {
            let path = graph.edges_path(part);
            let name: PathBuf = path.file_name().unwrap_or_default().into();
            eprintln!("{}: {} edges, {:.1} s", name.display(), sheet.edges, started.elapsed().as_secs_f64());
        }
        Ok(())
    })
}

/// Does something with each part, on as many threads as there are parts; if they are fewer, each shares out the others. After
/// the first error no other part is begun.
fn in_parallel(
    parts: &[u32],
    threads: usize,
    work: impl Fn(u32, usize) -> Result<(), StreamError> + Sync,
) -> anyhow::Result<()> {
    let workers = threads.min(parts.len()).max(1);
    let (next, first) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(&part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = work(part, threads / workers) {
                        next.store(parts.len(), Ordering::Relaxed);
                        first.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
                    }
                }
            });
        }
    });
    match first.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// The property sheet in words.
pub(super) fn text(properties: &StreamProperties) -> String {
    let mut text = format!("{} vertices, {} edges", properties.vertices, properties.edges);
    let mut line = |name: &str, tally: &Tally| {
        if !tally.is_empty() {
            text.push_str(&format!("\n{name}: {} to {}, {:.3} on average", tally.least, tally.largest, tally.mean()));
        }
    };
    line("degrees", &properties.degrees);
    line("levels spanned", &properties.spans);
    line("ops a level", &properties.level_sizes);
    line("ops a group", &properties.group_sizes);
    text.push_str(&format!("\nSHA-256 {}", properties.sha256));
    text
}
