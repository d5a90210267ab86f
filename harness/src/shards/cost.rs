//! How long a suite will take, learnt from rows that are there, and into how many shards to cut it.

use std::collections::BTreeMap;

use polars::prelude::*;

use crate::results::{Status, Table, values};
use crate::suite::RunPlan;

/// Shards last at least this long, in seconds: starting one costs a tenth of a second to some seconds, and a graph that
/// cells of two shards need is made twice.
pub const LEAST_SHARD_SECONDS: f64 = 30.0;

/// Shards that a suite is cut into at most: the largest array that Slurm takes as it is installed.
pub const MOST_SHARDS: u32 = 1000;

/// Mean seconds of placing by graph and placer, and of simulating by graph, from rows. A search is part of placing.
///
/// Making graphs is not in rows, and so not in the estimates.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    place: BTreeMap<(String, String), Mean>,
    place_by_placer: BTreeMap<String, Mean>,
    place_all: Mean,
    simulate: BTreeMap<String, Mean>,
    simulate_all: Mean,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

impl Costs {
    /// Learns from rows. A placement whose cell ran out of time took `time_limit`.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn learn(rows: &Table, time_limit: Option<f64>) -> PolarsResult<Self> {
        let mut costs = Self::default();
        let late = col("status").eq(lit(Status::TimedOut.name()));
        let late = when(late).then(lit(time_limit.unwrap_or(f64::NAN)).fill_nan(lit(NULL))).otherwise(lit(NULL));
        let placed = coalesce(&[col("place_seconds"), late]);
        for part in rows.parts() {
            let placements = part.lazy()?.with_column(placed.clone().alias("seconds"));
            let placements = placements
                .filter(col("seconds").is_not_null())
                .group_by_stable(["graph", "cluster", "placer", "network", "repetition", "numbering"])
                .agg([col("seconds").first()])
                .collect()?;
            let names =
                values::<String>(&placements, "graph")?.into_iter().zip(values::<String>(&placements, "placer")?);
            for ((graph, placer), seconds) in names.zip(values::<f64>(&placements, "seconds")?) {
                costs.place.entry((graph, placer.clone())).or_default().add(seconds);
                costs.place_by_placer.entry(placer).or_default().add(seconds);
                costs.place_all.add(seconds);
            }
            let simulated = part.lazy()?.filter(col("simulate_seconds").is_not_null());
            let simulated = simulated.select([col("graph"), col("simulate_seconds")]).collect()?;
            let graphs = values::<String>(&simulated, "graph")?;
            for (graph, seconds) in graphs.into_iter().zip(values::<f64>(&simulated, "simulate_seconds")?) {
                costs.simulate.entry(graph).or_default().add(seconds);
                costs.simulate_all.add(seconds);
            }
        }
        Ok(costs)
    }

    /// Seconds that a plan takes on one thread; `None` if there is nothing to learn from. A pair of graph and placer that
    /// no row has takes what the placer takes on other graphs, or else what placers take.
    ///
    /// # Complexity
    /// O(cells · log names).
    pub fn seconds(&self, plan: &RunPlan) -> Option<f64> {
        let (place_all, simulate_all) = (self.place_all.get()?, self.simulate_all.get().unwrap_or_default());
        let labels: Vec<String> = plan.suite.graphs.iter().map(|graph| graph.label()).collect();
        let (mut total, mut last) = (0.0, None);
        for cell in &plan.cells {
            let (name, placer) = &plan.placers[cell.placer];
            let graph = &labels[plan.groups[cell.group].graph];
            let placement = (cell.group, cell.placer, cell.numbering, placer.uses_objective().then_some(cell.network));
            if last.replace(placement) != Some(placement) {
                let own = self.place.get(&(graph.clone(), name.clone())).and_then(Mean::get);
                let elsewhere = || self.place_by_placer.get(name).and_then(Mean::get);
                total += own.or_else(elsewhere).unwrap_or(place_all);
            }
            total += self.simulate.get(graph).and_then(Mean::get).unwrap_or(simulate_all);
        }
        Some(total)
    }

    /// Into how many shards to cut work that takes `seconds` on one thread.
    pub fn shards(seconds: f64, groups: usize) -> u32 {
        let most = groups.clamp(1, MOST_SHARDS as usize);
        (seconds / LEAST_SHARD_SECONDS).floor().clamp(1.0, most as f64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Row;
    use crate::suite::Suite;

    fn row(graph: &str, placer: &str, scheduler: &str, place: Option<f64>, simulate: Option<f64>) -> Row {
        let [graph, placer, scheduler] = [graph, placer, scheduler].map(str::to_owned);
        let status = if place.is_some() { "ok" } else { "timed_out" }.to_owned();
        Row { graph, placer, scheduler, status, place_seconds: place, simulate_seconds: simulate, ..Row::default() }
    }

    #[test]
    fn seconds_add_up_placements_once_and_simulations_each() {
        let text = r#"
            name = "s"
            repetitions = 2
            networks = ["contention_free", "one_port"]
            placers = ["heft", "simulated_annealing", "random"]
            schedulers = ["pct", "fifo"]
            [[graph]]
            preset = "laich1"
            [[graph]]
            preset = "laich2"
            [[cluster]]
            preset = "laich7"
        "#;
        let plan = RunPlan::new(Suite::parse(text, "s.toml").unwrap()).unwrap();
        let rows = [
            row("laich1", "heft", "pct", Some(1.0), Some(0.25)),
            row("laich1", "heft", "fifo", Some(1.0), Some(0.75)),
            row("laich1", "simulated_annealing", "pct", None, None),
            row("laich2", "heft", "pct", Some(3.0), None),
        ];
        assert_eq!(Costs::default().seconds(&plan), None);
        let costs = Costs::learn(&Table::new(&rows).unwrap(), Some(60.0)).unwrap();
        // A cell simulates for 0.5 s; a repetition has 2 placers × 2 networks × 2 schedulers on 2 graphs, and a search that
        // chooses its scheduler. heft places once on each graph; the search once for each network; random is unknown and
        // takes the mean of all three placements and the search: (1 + 60 + 3) / 3.
        let repetition = (16.0 + 4.0) * 0.5 + (1.0 + 3.0) + 4.0 * 60.0 + 2.0 * 64.0 / 3.0;
        assert!((costs.seconds(&plan).unwrap() - 2.0 * repetition).abs() < 1e-9);
    }

    #[test]
    fn no_shard_is_shorter_than_half_a_minute_and_none_is_empty() {
        assert_eq!(Costs::shards(29.0, 100), 1);
        assert_eq!(Costs::shards(300.0, 100), 10);
        assert_eq!(Costs::shards(1e9, 100), 100);
        assert_eq!(Costs::shards(1e9, 100_000), MOST_SHARDS);
        assert_eq!(Costs::shards(0.0, 0), 1);
    }
}
