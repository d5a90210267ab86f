//! Makes up a run of any size: `made_up_run FOLDER GRAPHS [--journal] [--changed N]`.
//!
//! What commands cost on a run of 10⁷ rows is measured on it (docs/SCALE.md). The suite is a real one, 21 placers with 3
//! schedulers under 2 network models, 20 repetitions of each graph: 2,520 rows a graph. The numbers are drawn, the same
//! for the same arguments. One cell in 1,000 fails. `--changed N` makes every Nth makespan 10 % longer, for `compare`.
//! `--journal` writes a journal instead of the table: what a run looks like before its rows are merged.

use std::error::Error;
use std::path::{Path, PathBuf};

use placebench_harness::results::{Row, SCHEMA_VERSION, Status, TableError, write_rows};
use placebench_harness::runner::{Environment, RunFolder};
use placebench_harness::suite::{Cell, Plan, Suite};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const PLACERS: [&str; 21] = [
    "single_device",
    "random",
    "hashing",
    "batch_split",
    "iterated_critical_path",
    "critical_path",
    "dfs",
    "mite",
    "heft",
    "cpop",
    "peft",
    "lookahead",
    "etf",
    "dls",
    "mcp",
    "m_topo",
    "m_etf",
    "m_sct",
    "expert",
    "task_parallel",
    "scoring(alpha=2)",
];

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: made_up_run FOLDER GRAPHS [--journal] [--changed N]";
    let (mut folder, mut graphs, mut journal, mut changed) = (None::<PathBuf>, None::<usize>, false, None::<usize>);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--journal" => journal = true,
            "--changed" => changed = Some(arguments.next().ok_or(USAGE)?.parse()?),
            _ if folder.is_none() => folder = Some(argument.into()),
            _ => graphs = Some(argument.parse()?),
        }
    }
    let (folder, graphs) = (folder.ok_or(USAGE)?, graphs.ok_or(USAGE)?);
    let suite = Suite::parse(&suite(graphs), "made_up.toml")?;
    let text = suite.to_toml()?;
    let plan = Plan::new(suite)?;
    let environment = environment();
    RunFolder::prepare(&folder, &text, &environment)?;
    let rows = plan.cells.iter().enumerate().map(|(index, &cell)| row(&plan, cell, index, changed));
    if journal {
        let run = RunFolder::open(&folder, &text, &environment, None)?;
        rows.into_iter().try_for_each(|row| run.append(&row))?;
    } else {
        let Environment { host, cpu, commit, .. } = environment;
        let known = |row| Row { host: Some(host.clone()), processor: Some(cpu.clone()), commit: commit.clone(), ..row };
        write_rows(&folder.join("results.parquet"), rows.map(known).map(Ok::<_, TableError>))?;
    }
    println!("{}: {} rows", Path::new(&folder).display(), plan.cells.len());
    Ok(())
}

fn suite(graphs: usize) -> String {
    let graph = |index: usize| format!("[[graph]]\npreset = \"laich1\"\nname = \"g{index:05}\"\n");
    format!(
        "name = \"made_up\"\nrepetitions = 20\nplacers = {PLACERS:?}\nschedulers = [\"pct\", \"fifo\", \"msr\"]\n\
         networks = [\"contention_free\", \"one_port\"]\n{}[[cluster]]\npreset = \"laich7\"\n",
        (0..graphs).map(graph).collect::<String>()
    )
}

fn environment() -> Environment {
    Environment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: None,
        started: None,
        host: "made-up".to_owned(),
        cpu: "made up".to_owned(),
        threads: 1,
        platform: "linux x86_64".to_owned(),
        optimized: true,
        schema_version: SCHEMA_VERSION,
        command: vec!["made_up_run".to_owned()],
        inputs: Default::default(),
    }
}

/// A row with all columns that a simulated cell has. Placers and schedulers differ in their mean, graphs in their size.
fn row(plan: &Plan, cell: Cell, index: usize, changed: Option<usize>) -> Row {
    let group = &plan.groups[cell.group];
    let mut random = Pcg64::seed_from_u64(index as u64);
    let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
    let (ops, edges) = (200 + group.graph as u64 % 977, 700 + group.graph as u64 % 3_001);
    let row = Row { devices: 8, ops, edges, time_unit: "EU".to_owned(), ..plan.blank_row(cell) };
    if index % 1_000 == 999 {
        let error = format!("op 'o{}' needs more memory than any device has", index % 50);
        return Row { status: Status::Infeasible.name().to_owned(), error: Some(error), ..row };
    }
    let slower = 1.0 + 0.1 * cell.placer as f64 + 0.03 * cell.scheduler.unwrap_or_default() as f64;
    let lower_bound = ops as f64 * 0.7;
    let makespan = lower_bound * slower * (1.0 + 0.3 * cell.network as f64) * draw(1.01, 1.2);
    let longer = changed.is_some_and(|changed| index % changed == changed / 2);
    let makespan = if longer { makespan * 1.1 } else { makespan };
    let traffic = draw(1e6, 1e9) as u64;
    Row {
        status: Status::Ok.name().to_owned(),
        makespan: Some(makespan),
        slr: Some(makespan / lower_bound),
        speedup: Some(draw(0.9, 7.0)),
        efficiency: Some(draw(0.1, 0.9)),
        lower_bound: Some(lower_bound),
        bound: Some("critical_path".to_owned()),
        gap: Some(makespan / lower_bound),
        traffic_bytes: Some(traffic),
        cut_bytes: Some(traffic + traffic / 3),
        transfers: Some(traffic / 100_000),
        cut_edges: Some(traffic / 70_000),
        load_imbalance: Some(draw(1.0, 3.0)),
        utilization: Some(draw(0.2, 0.9)),
        idle_time: Some(makespan * draw(1.0, 4.0)),
        peak_memory_bytes: Some(draw(1e8, 8e9) as u64),
        devices_used: Some(8),
        executable_mean: Some(draw(1.0, 40.0)),
        place_seconds: Some(draw(0.001, 0.0013) * slower),
        simulate_seconds: Some(draw(0.0001, 0.00013)),
        peak_rss_bytes: Some(draw(5e7, 9e7) as u64),
        ..row
    }
}
