//! `placebench submit`: judges a solution of an instance of a collection, and adds it to those that are known.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::StopToken;
use placebench::base::significant::time_text;
use placebench::base::{io_reason, open_file};
use placebench::datasets::MemoryRule;
use placebench::harness::collection::{Collection, CollectionInstance, Known, KnownRow, Solution};
use placebench::harness::request::Prepared;
use serde::Serialize;

use crate::output::{Exit, Form, complain, shown, write_file};

const EXAMPLES: &str = "\
Examples:
  placebench place llama -p 'sweep(preset=quality)' --timeline llama.csv
  placebench submit llama.csv --graph llama
  placebench submit llama.csv --graph llama --author 'Ada Lovelace' --placer 'my method' --out best-known";

/// Arguments of `submit`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The solution: CSV with the columns op and device and, for a schedule, start (a time) or order (a number), as
    /// 'place --placement' and '--timeline' write it; .gz and .zst are read, too.
    file: PathBuf,

    /// The graph, as the collection names it.
    #[arg(long, short)]
    graph: String,

    /// The cluster, as the collection names it [default: the only one that the graph is on].
    #[arg(long, short)]
    cluster: Option<String>,

    /// The collection [default: the only one that has the graph].
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,

    /// What found the solution: a placer of placebench, as `name(parameter=value)`, or a method of your own.
    #[arg(long, short, value_name = "NAME", requires = "out")]
    placer: Option<String>,

    /// Who found it.
    #[arg(long, value_name = "NAME", requires = "out")]
    author: Option<String>,

    /// Adds a row to the table of the collection in this folder, and keeps the solution beside it. A folder without the table
    /// gets the solutions that this version knows, and the new one.
    #[arg(long, short, value_name = "DIR", requires_all = ["author", "placer"])]
    out: Option<PathBuf>,
}

/// What the verb answers.
#[derive(Serialize)]
struct Answer<'a> {
    collection: &'a str,
    row: &'a KnownRow,
    /// What gives the order of ops: `given` by the solution, or the scheduler under which a placement is best.
    order: &'a str,
    gap: Option<f64>,
    /// The rules of memory that the solution keeps.
    memory_rules: Vec<&'a str>,
    /// Rank among the known solutions of the instance, 1 for the best.
    rank: usize,
    /// The best that was known.
    best_known: Option<&'a KnownRow>,
    /// How many are known, without this one.
    known: usize,
    /// Whether this very solution is known.
    is_known: bool,
    files: Vec<String>,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    for (option, text) in [("--author", &args.author), ("--placer", &args.placer)] {
        text.as_deref().map_or(Ok(()), |text| check_text(option, text))?;
    }
    let collection = args.collection.as_deref().map(Collection::named).transpose()?;
    let instance = CollectionInstance::named(collection, &args.graph, args.cluster.as_deref())?;
    let collection = instance.collection;
    // A table that cannot be read is reported before anything is computed.
    let table = args.out.as_deref().map(|folder| folder.join(format!("{}.csv", collection.name)));
    let known = || match table.as_deref().filter(|path| path.exists()) {
        Some(path) => read_table(path),
        None => Ok(Known::built_in(collection)?),
    };
    known()?;
    let problem = instance.problem()?;
    let solution = Solution::read(&args.file, &problem.instance)?;
    let prepared = Prepared::new(problem, [], &StopToken::default());
    let judged = instance.judge(&prepared, &solution);
    let judged = judged.with_context(|| format!("{}: is no solution", args.file.display()))?;
    let row = KnownRow {
        author: args.author.clone().unwrap_or_default(),
        placer: args.placer.clone().unwrap_or_default(),
        sha256: judged.solution.sha256(prepared.instance())?,
        ..judged.row
    };
    let _alone = args.out.as_deref().map(alone_in).transpose()?;
    let mut known = known()?;
    let (rank, is_known) = (known.rank(&row), known.has(&row));
    let of_instance: Vec<KnownRow> = known.of_instance(&row).cloned().collect();
    let mut files = Vec::new();
    if let (Some(folder), Some(table)) = (&args.out, &table) {
        if is_known {
            complain("note: this very solution is known, so nothing is written");
        } else {
            let kept = folder.join("solutions").join(row.file());
            write_file(&kept, |out| judged.solution.write(out, prepared.instance()))?;
            known.add(row.clone(), &CollectionInstance::all(collection)?);
            let written = write_file(table, |out| known.write(out).map_err(std::io::Error::other));
            if written.is_err() {
                // A solution without a row says nothing.
                let _ = fs::remove_file(&kept);
            }
            written?;
            files = vec![shown(table), shown(&kept)];
        }
    }
    let answer = Answer {
        collection: collection.name,
        order: &judged.order,
        gap: row.gap(),
        memory_rules: judged.kept.iter().map(|rule| rule.name()).collect(),
        rank,
        best_known: of_instance.first(),
        known: of_instance.len(),
        is_known,
        files,
        row: &row,
    };
    form.print(&answer, || text(&answer))?;
    Ok(Exit::SUCCESS)
}

fn read_table(path: &Path) -> anyhow::Result<Known> {
    let file = open_file(path).map_err(|error| anyhow!("{}: {}", path.display(), io_reason(&error)))?;
    Known::read(file).map_err(|error| anyhow!("{}, {error}: is no table of known solutions", path.display()))
}

/// Refuses a text that a table could not show as it is, or that a spreadsheet would run.
fn check_text(option: &str, text: &str) -> anyhow::Result<()> {
    /// No name is longer.
    const MOST: usize = 200;
    match text {
        text if text.trim().is_empty() => bail!("{option}: is empty: say who or what found the solution"),
        text if text.chars().count() > MOST => bail!("{option}: has more than {MOST} characters: write less"),
        text if text.chars().any(char::is_control) => bail!("{option}: has a line break or the like: write one line"),
        text if text.starts_with(['=', '+', '-', '@']) => {
            bail!("{option}: begins with '{}', which a spreadsheet would run: begin with a letter", &text[..1])
        }
        _ => Ok(()),
    }
}

/// Makes the folder, and waits until nobody else writes into it: rows of two would overwrite each other.
fn alone_in(folder: &Path) -> anyhow::Result<Option<File>> {
    let failed = |path: &Path, error| anyhow!("{}: {}", path.display(), io_reason(&error));
    let solutions = folder.join("solutions");
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    fs::create_dir_all(&solutions).map_err(|error| failed(&solutions, error))?;
    // Where folders cannot be opened, nobody waits.
    let Ok(lock) = File::open(folder) else { return Ok(None) };
    Ok(lock.lock().ok().map(|()| lock))
}

fn text(answer: &Answer<'_>) -> String {
    let row = answer.row;
    let time = |value: f64| time_text(value, &row.time_unit);
    let mut lines = vec![
        ("instance", format!("{} on {} of collection {}", row.graph, row.cluster, answer.collection)),
        ("rules", format!("network {}, kinds {}, memory {}", row.network, row.kinds, row.memory)),
        ("memory", format!("keeps {}", kept(&answer.memory_rules))),
        ("order", answer.order.to_owned()),
        ("makespan", format!("{} ({} {})", time(row.makespan), row.makespan, row.time_unit)),
    ];
    lines.extend(row.period.map(|period| ("period", time(period))));
    let optimal = if row.optimal { ": optimal" } else { "" };
    lines.extend(row.lower_bound.map(|bound| ("lower bound", format!("{} ({}){optimal}", time(bound), row.bound))));
    lines.extend(answer.gap.map(|gap| ("gap", format!("{gap:.6}"))));
    let rank = match answer.best_known {
        None => format!(
            "1: nobody has submitted one; 'placebench dataset {}' writes what placers found as best.csv",
            answer.collection
        ),
        Some(best) => {
            let ratio = if best.makespan > 0.0 { row.makespan / best.makespan } else { 1.0 };
            let all = answer.known + usize::from(!answer.is_known);
            let with = if answer.is_known { "this one among them" } else { "with this one" };
            let (rank, makespan) = (answer.rank, time(best.makespan));
            format!(
                "{rank} of {all}, {with}; {ratio:.6} of the best, {makespan} by {} with {}",
                best.author, best.placer
            )
        }
    };
    lines.push(("rank", rank));
    lines.extend(answer.files.iter().map(|file| ("written", file.clone())));
    lines.iter().map(|(name, value)| format!("{name:<12} {value}\n")).collect()
}

/// The rules of memory that are kept, and those that are not.
fn kept(rules: &[&str]) -> String {
    let broken: Vec<&str> =
        MemoryRule::ALL.iter().map(|rule| rule.name()).filter(|name| !rules.contains(name)).collect();
    match broken.as_slice() {
        [] => rules.join(", "),
        broken => format!("{}; not {}", rules.join(", "), broken.join(", ")),
    }
}
