//! `placebench dataset`: makes a named collection of graphs, or verifies one.

use crate::output::Exit;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::StopToken;
use placebench::datasets::Properties;
use placebench::datasets::format::{
    FORMATS, Format, GraphHeader, Holds, Mark, WriteGraph, format_names, write_cluster,
};
use placebench::datasets::stream::EdgeFormat;
use placebench::generator::{Streamed, graph_sha256};
use placebench::harness::collection::{
    COLLECTIONS, Collection, CollectionFacts, IndexRow, SUMS, ScaleItem, best_known, citation, croissant, file_digests,
    index_frame, item_name, licence, readme, scale_items, verify, write_sums,
};
use placebench::harness::problem::{GraphEntry, Problem};
use placebench::harness::results::{Row, write_frame};
use placebench::harness::runner::read_run;
use placebench::harness::shards::{Followed, Items, MOST_SHARDS};
use placebench::harness::suite::{RunPlan, Shard, Suite};
use serde::Serialize;

use super::launcher::{Following, LauncherArgs};
use super::number::number;
use super::run::{self, Ended};
use crate::interrupt::{INTERRUPTED, stop_on_ctrl_c};
use crate::output::{Form, complain, shown, write_file};
use crate::progress::Progress;

/// Arguments of `dataset`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(help = format!("The collection: {}; or 'verify'", COLLECTIONS.map(|collection| collection.name).join(", ")))]
    name: String,

    /// Of 'verify': the folder of a collection.
    folder: Option<PathBuf>,

    /// The folder to make it in. If it is interrupted, the same command goes on where it stopped.
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    #[arg(long, value_name = "FORMAT", help = format!(
        "Format of the graphs: {} [default: folder]; of scale: parquet, binary or edges [default: parquet]",
        format_names(|holds| matches!(holds, Holds::Graph { write: Some(_), .. }))
    ))]
    format: Option<String>,

    /// Of scale: graphs with up to this number of edges, from 1e4 to 1e9.
    #[arg(long, value_name = "EDGES", default_value = "1e6", value_parser = number)]
    largest: f64,

    /// Makes only the I-th of N shares of the graphs, as in 3/8, on any machine that shares the folder. The command without
    /// it completes the collection.
    #[arg(long, value_name = "I/N", conflicts_with = "launcher")]
    shard: Option<Shard>,

    /// Threads [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,

    /// Shows no progress.
    #[arg(long, short)]
    quiet: bool,

    /// Of scale: who makes the parts; of other collections: who searches for best makespans.
    #[command(flatten)]
    launcher: LauncherArgs,
}

/// Hidden in the folder until the collection is complete.
const WORK: &str = ".work";
/// What the collection in a folder is, so that another is not mixed with it.
const RECIPE: &str = "recipe.toml";

/// What the verb answers of a collection that it made, or of a share of one.
#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    folder: String,
    /// The share, and none of the whole.
    shard: Option<String>,
    /// Graphs of the collection, or graphs and parts of the share.
    graphs: usize,
    /// Files of the whole.
    file_count: Option<usize>,
}

/// What the verb answers of a collection that it verified.
#[derive(Serialize)]
struct Verified<'a> {
    folder: String,
    intact: usize,
    changed: &'a [String],
    missing: &'a [String],
    unknown: &'a [String],
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    if args.name == "verify" {
        let folder = args.folder.as_ref().or(args.out.as_ref());
        let folder = folder.ok_or_else(|| anyhow!("say which folder: placebench dataset verify DIR"))?;
        return verified(folder, form);
    }
    if let Some(folder) = &args.folder {
        bail!("'{}' is for 'dataset verify': say where to make a collection with --out DIR", folder.display());
    }
    let collection = Collection::named(&args.name)?;
    let out = args.out.as_deref().ok_or_else(|| anyhow!("--out is missing: say where to make the collection"))?;
    args.launcher.on.check()?;
    let suite = collection.suite().transpose()?;
    if out.join(SUMS).exists() {
        if out.join(WORK).exists() {
            // Stopped at the very end: the collection was complete.
            remove_work(out)?;
            let lines = |name: &str| fs::read_to_string(out.join(name)).map(|text| text.lines().count());
            let (graphs, files) = (lines("index.csv")?.saturating_sub(1), lines(SUMS)?);
            let answer =
                Answer { name: collection.name, folder: shown(out), shard: None, graphs, file_count: Some(files) };
            form.print(&answer, || format!("{}: is complete\n", out.display()))?;
            return Ok(Exit::SUCCESS);
        }
        bail!("{0}: holds a complete collection: check it with 'placebench dataset verify {0}'", out.display());
    }
    prepare(args, out)?;
    let made = match suite {
        Some(suite) => of_suite(args, out, suite)?,
        None => of_scale(args, out)?,
    };
    let answer = Answer { name: collection.name, folder: shown(out), shard: None, graphs: 0, file_count: None };
    let (index, about, has_best) = match made {
        Made::Whole { index, about, has_best } => (index, about, has_best),
        Made::Share(shard, graphs) => {
            form.print(&Answer { shard: Some(shard.to_string()), graphs, ..answer }, || {
                format!(
                    "share {shard}: {graphs} graphs or parts are there; the command without --shard completes them\n"
                )
            })?;
            return Ok(Exit::SUCCESS);
        }
        Made::Stopped => return Ok(Exit::from(INTERRUPTED)),
    };
    let mut frame = index_frame(&index)?;
    write_frame(&out.join("index.csv"), &mut frame)?;
    write_frame(&out.join("index.parquet"), &mut frame)?;
    let facts = CollectionFacts {
        name: collection.name.to_owned(),
        title: collection.title.to_owned(),
        about,
        command: command(args),
        graphs: index.len(),
        has_best,
    };
    let write = |name: &str, text: &str| write_file(&out.join(name), |file| file.write_all(text.as_bytes()));
    write("README.md", &readme(&facts))?;
    write("LICENSE", &licence())?;
    write("CITATION.cff", &citation(&facts))?;
    let digests = |()| file_digests(out).map_err(|(path, error)| anyhow!(error).context(path.display().to_string()));
    let described: Vec<_> = digests(())?.into_iter().filter(|file| file.0 != "croissant.json").collect();
    write("croissant.json", &format!("{:#}\n", croissant(&facts, &described)))?;
    let all = digests(())?;
    write_sums(out, &all).with_context(|| out.join(SUMS).display().to_string())?;
    remove_work(out)?;
    form.print(&Answer { graphs: index.len(), file_count: Some(all.len()), ..answer }, || {
        format!("{}: {} graphs, {} files: {}\n", out.display(), index.len(), all.len(), collection.title)
    })?;
    Ok(Exit::SUCCESS)
}

fn remove_work(out: &Path) -> anyhow::Result<()> {
    fs::remove_dir_all(out.join(WORK)).with_context(|| out.join(WORK).display().to_string())
}

/// How far the collection is.
enum Made {
    /// All graphs are there.
    Whole { index: Vec<IndexRow>, about: String, has_best: bool },
    /// The share that was asked for is there.
    Share(Shard, usize),
    /// Ctrl-C stopped it.
    Stopped,
}

/// The command that makes the same collection.
fn command(args: &Args) -> String {
    let format = args.format.as_ref().map_or_else(String::new, |format| format!(" --format {format}"));
    let largest = if args.name == "scale" { format!(" --largest {:e}", args.largest) } else { String::new() };
    format!("placebench dataset {}{format}{largest} --out DIR", args.name)
}

/// Makes the folders, or sees to it that they hold the same collection.
fn prepare(args: &Args, out: &Path) -> anyhow::Result<()> {
    let recipe = format!("version = \"{}\"\ncommand = '{}'\n", env!("CARGO_PKG_VERSION"), command(args));
    let path = out.join(WORK).join(RECIPE);
    // Looked at first: shards that begin at once all make the folder, and graphs come after the recipe.
    let has_others = has_other_files(out);
    match fs::read_to_string(&path) {
        Ok(found) if found == recipe => {
            return fs::create_dir_all(out.join("graphs")).with_context(|| out.join("graphs").display().to_string());
        }
        Ok(_) => bail!("{}: holds another collection, format or version: choose another folder", out.display()),
        Err(_) if has_others => {
            bail!("{}: is a folder with other files: choose another folder, or empty it", out.display())
        }
        Err(_) => {}
    }
    let create = |name: &str| fs::create_dir_all(out.join(name)).with_context(|| out.join(name).display().to_string());
    create(WORK)?;
    write_file(&path, |file| file.write_all(recipe.as_bytes()))?;
    create("graphs")
}

/// Whether a folder has more in it than what is made before the recipe.
fn has_other_files(out: &Path) -> bool {
    fs::read_dir(out)
        .is_ok_and(|mut entries| entries.any(|entry| entry.map_or(true, |entry| entry.file_name() != WORK)))
}

/// Writes the graphs and clusters of a suite, and looks for the best makespans.
fn of_suite(args: &Args, out: &Path, suite: Suite) -> anyhow::Result<Made> {
    let (format, write) = graph_format(args.format.as_deref().unwrap_or("folder"))?;
    let suite_toml = suite.to_toml()?;
    let about = suite.analysis.trim().to_owned();
    let plan = RunPlan::new(suite)?;
    fs::create_dir_all(out.join("clusters")).with_context(|| out.join("clusters").display().to_string())?;
    let mut index: Vec<IndexRow> = Vec::new();
    let (mut seen, mut made) = (0u32, 0);
    for group in plan.used_groups() {
        let (name, cluster_name) = item_name(&plan.suite, group);
        let (graph, cluster) = (&plan.suite.graphs[group.graph], &plan.suite.clusters[group.cluster]);
        let cluster_path = out.join("clusters").join(format!("{cluster_name}.toml"));
        let known = index.iter().any(|row| row.name == name);
        if known && cluster_path.exists() {
            continue;
        }
        if !known {
            seen += 1;
        }
        if args.shard.is_some_and(|shard| (seen - 1) % shard.count != shard.index - 1) {
            // Counted, so that its number is known if it comes again on another cluster.
            index.push(IndexRow { name, ..IndexRow::default() });
            continue;
        }
        let problem = Problem::new(graph, cluster, group.seed)?;
        if !cluster_path.exists() {
            write_cluster(&cluster_path, problem.instance.cluster())?;
        }
        if known {
            continue;
        }
        let loaded = problem.instance.graph();
        let (file, sha256) = (file_name(&name, format), graph_sha256(loaded));
        let path = out.join(&file);
        if !path.exists() {
            write(&path, &header(graph, &name, group.seed, &sha256)?, loaded)?;
        }
        made += 1;
        index.push(IndexRow {
            name,
            file,
            format: format.name.to_owned(),
            family: family(graph)?,
            parameters: parameters(graph)?,
            seed: group.seed,
            nodes: loaded.op_count() as u64,
            edges: loaded.edge_count() as u64,
            properties: Some(Properties::of(loaded, None)),
            sha256,
        });
    }
    if let Some(shard) = args.shard {
        return Ok(Made::Share(shard, made));
    }
    let Some(rows) = rows(args, out, &suite_toml)? else { return Ok(Made::Stopped) };
    let mut best = best_known(&plan, &rows)?;
    let missing = plan.used_groups().count() - best.height();
    if missing > 0 {
        let of = "graphs with a cluster have no valid placement by any placer of the collection: best.csv has no row for them";
        complain(&format!("{missing} {of}"));
    }
    write_frame(&out.join("best.csv"), &mut best)?;
    write_frame(&out.join("best.parquet"), &mut best)?;
    Ok(Made::Whole { index, about, has_best: true })
}

/// The rows of the suite's run, which goes on if it was interrupted; `None` if Ctrl-C stops it.
fn rows(args: &Args, out: &Path, suite_toml: &str) -> anyhow::Result<Option<Vec<Row>>> {
    let (suite, run) = (out.join(WORK).join("suite.toml"), out.join(WORK).join("run"));
    if run.join("results.parquet").exists() {
        return Ok(Some(read_run(&run)?));
    }
    write_file(&suite, |file| file.write_all(suite_toml.as_bytes()))?;
    let run_args = run::Args::of_file(suite, run, args.quiet, args.threads, args.launcher.clone());
    Ok(match run::run_to_the_end(&run_args)? {
        Ended::Complete(finished) => Some(finished.table.rows()?),
        Ended::Shard(_) | Ended::Stopped => None,
    })
}

/// The format of a name, and its writer.
fn graph_format(name: &str) -> anyhow::Result<(&'static Format, WriteGraph)> {
    let writer = |format: &&'static Format| match format.holds {
        Holds::Graph { write: Some(write), .. } if format.name == name => Some((*format, write)),
        _ => None,
    };
    FORMATS.iter().find_map(writer).ok_or_else(|| {
        let names = format_names(|holds| matches!(holds, Holds::Graph { write: Some(_), .. }));
        anyhow!("--format: '{name}' is no format of graphs that is written: use {names}")
    })
}

fn file_name(name: &str, format: &Format) -> String {
    match (&format.mark, format.extensions().first()) {
        (Mark::Folder(_), _) | (_, None) => format!("graphs/{name}"),
        (_, Some(extension)) => format!("graphs/{name}.{extension}"),
    }
}

fn header(graph: &GraphEntry, name: &str, seed: u64, sha256: &str) -> anyhow::Result<GraphHeader> {
    let mut header = match &graph.catalogue {
        Some(catalogue) => placebench::datasets::catalogue::load(catalogue)?.0,
        None => GraphHeader::named(name),
    };
    header.name = name.to_owned();
    header.provenance.insert("generator".to_owned(), format!("placebench {}", env!("CARGO_PKG_VERSION")).into());
    header.provenance.insert("sha256".to_owned(), sha256.to_owned().into());
    if let Ok(seed) = i64::try_from(seed) {
        header.provenance.insert("seed".to_owned(), seed.into());
    }
    Ok(header)
}

fn family(graph: &GraphEntry) -> anyhow::Result<String> {
    Ok(graph.params()?.map_or_else(|| "catalogue".to_owned(), |params| params.family().to_owned()))
}

/// What says how the graph is made, as TOML in one line.
fn parameters(graph: &GraphEntry) -> anyhow::Result<String> {
    let entry = GraphEntry { name: None, clusters: None, repetitions: None, ..graph.clone() };
    Ok(toml::Value::try_from(entry)?.to_string())
}

/// Makes the graphs of `scale`, part by part.
fn of_scale(args: &Args, out: &Path) -> anyhow::Result<Made> {
    if !(1e4..=1e9).contains(&args.largest) {
        bail!("--largest is {:e}: choose from 1e4 to 1e9 edges", args.largest);
    }
    let format = EdgeFormat::named(args.format.as_deref().unwrap_or("parquet"));
    let format = format.map_err(|error| anyhow!("--format: {error}"))?;
    let threads = args.threads.map_or_else(rayon::current_num_threads, |threads| threads as usize);
    if args.launcher.on.launcher.is_some() && !scale_on_launcher(args, out, format, threads)? {
        return Ok(Made::Stopped);
    }
    let (mut index, mut number, mut made) = (Vec::new(), 0u32, 0);
    for item in scale_items(args.largest as u64) {
        let file = format!("graphs/{}", item.name);
        let graph = Streamed::folder(item.params.clone(), 0, format, None, &out.join(&file))?;
        graph.prepare(false)?;
        for part in 1..=graph.manifest().parts {
            number += 1;
            if args.shard.is_some_and(|shard| (number - 1) % shard.count != shard.index - 1) {
                continue;
            }
            made += 1;
            if !graph.is_finished(part) {
                let goes_on = "finished parts stay, and the same command goes on with the others";
                graph.make(part, threads).with_context(|| format!("{}: {goes_on}", out.display()))?;
            }
        }
        if let (None, Some(properties)) = (args.shard, graph.finish()?) {
            index.push(IndexRow {
                name: item.name,
                file,
                format: format.name().to_owned(),
                family: item.family.to_owned(),
                parameters: toml::Value::try_from(&item.params)?.to_string(),
                seed: 0,
                nodes: properties.vertices.into(),
                edges: properties.edges,
                properties: None,
                sha256: properties.sha256,
            });
        }
    }
    if let Some(shard) = args.shard {
        return Ok(Made::Share(shard, made));
    }
    let about = "Leveled graphs with 10 edges an op in levels of 100 ops, and undirected G(n, m) and R-MAT graphs of mean degree about 16, \
                 made part by part. `stream.toml` in each folder has the parameters, `properties.toml` the properties, and \
                 `placebench generate --check FOLDER` makes it again.";
    Ok(Made::Whole { index, about: about.to_owned(), has_best: false })
}

/// Has a launcher make the parts of `scale`; `false` if Ctrl-C stopped it.
fn scale_on_launcher(args: &Args, out: &Path, format: EdgeFormat, threads: usize) -> anyhow::Result<bool> {
    let graph = |item: ScaleItem| Streamed::folder(item.params, 0, format, None, &out.join("graphs").join(item.name));
    let graphs = scale_items(args.largest as u64).into_iter().map(graph).collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<(&Streamed, u32)> =
        graphs.iter().flat_map(|graph| (1..=graph.manifest().parts).map(move |part| (graph, part))).collect();
    let all = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let count = args.launcher.shards.unwrap_or(all).min(all).min(MOST_SHARDS);
    let folder = std::path::absolute(out).context("the current folder is gone")?;
    let folder = folder.to_str().ok_or_else(|| anyhow!("{}: is not Unicode", out.display()))?;
    let mut arguments = ["dataset", "scale", "--quiet", "--out", folder].map(str::to_owned).to_vec();
    arguments.push(format!("--largest={:e}", args.largest));
    arguments.extend(args.format.as_ref().map(|format| format!("--format={format}")));
    let shards = (0..all).map(|number| number % count + 1).collect();
    let mut work = Items::new(shards, count, |at| parts[at].0.is_finished(parts[at].1));
    let (stop, progress) = (StopToken::default(), Progress::of("parts", args.quiet));
    let _heeded = stop_on_ctrl_c(&stop)?;
    let following = Following { threads, stop: &stop, progress: &progress };
    let jobs = out.join(WORK).join("jobs");
    Ok(args.launcher.on.fill(out, &jobs, arguments, count, &mut work, &following)? == Followed::Complete)
}

fn verified(folder: &Path, form: Form) -> anyhow::Result<Exit> {
    let verdict = verify(folder).map_err(|(path, error)| anyhow!(error).context(path.display().to_string()))?;
    let (intact, shown_folder) = (verdict.intact, shown(folder));
    let faults = [("changed", &verdict.changed), ("missing", &verdict.missing), ("unknown", &verdict.unknown)];
    let [changed, missing, unknown] = faults.map(|(_, files)| files.as_slice());
    let count = changed.len() + missing.len() + unknown.len();
    form.print(&Verified { folder: shown_folder, intact, changed, missing, unknown }, || {
        let lines = faults.iter().flat_map(|(what, files)| files.iter().map(move |file| format!("{what}: {file}\n")));
        match count {
            0 => format!("{}: all {intact} files are as they were made\n", folder.display()),
            _ => lines.collect(),
        }
    })?;
    if count > 0 {
        bail!(
            "{}: {count} files are not as they were made: make the collection anew in another folder",
            folder.display()
        );
    }
    Ok(Exit::SUCCESS)
}
