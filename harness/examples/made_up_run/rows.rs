//! The suite and the rows of a run that is made up.

use placebench_harness::results::{Row, Status};
use placebench_harness::suite::{Cell, RunPlan};
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

/// A suite of that number of graphs: 2,520 rows each.
pub(crate) fn suite(graphs: usize) -> String {
    let graph = |index: usize| format!("[[graph]]\npreset = \"laich1\"\nname = \"g{index:05}\"\n");
    format!(
        "name = \"made_up\"\nrepetitions = 20\nplacers = {PLACERS:?}\nschedulers = [\"pct\", \"fifo\", \"msr\"]\n\
         networks = [\"contention_free\", \"one_port\"]\n{}[[cluster]]\npreset = \"laich7\"\n",
        (0..graphs).map(graph).collect::<String>()
    )
}

/// A row with all columns that a simulated cell has. Placers and schedulers differ in their mean, graphs in their size.
/// One in 1,000 failed; every `changed`th is 10 % longer.
pub(crate) fn row(plan: &RunPlan, cell: Cell, index: usize, changed: Option<usize>) -> Row {
    let group = &plan.groups[cell.group];
    let mut random = Pcg64::seed_from_u64(index as u64);
    let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
    let (ops, edges) = (200 + group.graph as u64 % 977, 700 + group.graph as u64 % 3_001);
    let row = Row { devices: 8, ops, edges, time_unit: "EU".to_owned(), ..plan.request(cell).blank_row() };
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
