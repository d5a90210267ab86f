//! The best known makespan of each graph on each cluster.

use placebench_datasets::is_less;
use polars::prelude::*;

use super::index::item_name;
use crate::results::Row;
use crate::suite::RunPlan;

/// The placer that proves what it finds.
const EXACT: &str = "optimal";

/// For each group of a plan the row with the least makespan, in the order of groups; of equal ones, the first. A makespan is
/// optimal if the exact placer found none that is less, or it is a lower bound.
///
/// # Errors
/// If the data frame cannot be made.
pub fn best_known(plan: &RunPlan, rows: &[Row]) -> PolarsResult<DataFrame> {
    let mut found: Vec<(String, String, &Row, bool)> = Vec::new();
    for group in plan.used_groups() {
        let (graph, cluster) = (plan.suite.graphs[group.graph].label(), plan.suite.clusters[group.cluster].label());
        let of_group = |row: &&Row| {
            row.graph == graph && row.cluster == cluster && row.repetition == group.repetition && row.seed == group.seed
        };
        let ok: Vec<&Row> = rows.iter().filter(of_group).filter(|row| row.is_ok() && row.makespan.is_some()).collect();
        let best = ok.iter().copied().reduce(|best, row| if row.makespan < best.makespan { row } else { best });
        let Some(best) = best else { continue };
        let proven = ok.iter().filter(|row| row.placer == EXACT).filter_map(|row| row.makespan);
        let floors = proven.chain(best.lower_bound);
        let optimal = floors.into_iter().any(|floor| best.makespan.is_some_and(|found| !is_less(floor, found)));
        let (graph, cluster) = item_name(&plan.suite, group);
        found.push((graph, cluster, best, optimal));
    }
    let rows = || found.iter().map(|entry| entry.2);
    let texts = |name: &str, values: Vec<String>| Column::new(name.into(), values);
    DataFrame::new(
        found.len(),
        vec![
            texts("graph", found.iter().map(|entry| entry.0.clone()).collect()),
            texts("cluster", found.iter().map(|entry| entry.1.clone()).collect()),
            Column::new("seed".into(), rows().map(|row| row.seed).collect::<Vec<_>>()),
            texts("network", rows().map(|row| row.network.clone()).collect()),
            texts("kinds", rows().map(|row| row.kinds.name().to_owned()).collect()),
            texts("memory", rows().map(|row| row.memory.clone().unwrap_or_default()).collect()),
            Column::new("makespan".into(), rows().map(|row| row.makespan).collect::<Vec<_>>()),
            texts("time_unit", rows().map(|row| row.time_unit.clone()).collect()),
            texts("placer", rows().map(|row| row.placer_spec.clone().unwrap_or_else(|| row.placer.clone())).collect()),
            texts("scheduler", rows().map(|row| row.scheduler.clone()).collect()),
            Column::new("lower_bound".into(), rows().map(|row| row.lower_bound).collect::<Vec<_>>()),
            texts("bound", rows().map(|row| row.bound.clone().unwrap_or_default()).collect()),
            Column::new("optimal".into(), found.iter().map(|entry| entry.3).collect::<Vec<_>>()),
        ],
    )
}
