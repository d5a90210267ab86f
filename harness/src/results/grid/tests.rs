use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::results::{Row, Table};

/// A row that is ok if it has a makespan.
fn row(graph: &str, placer: &str, scheduler: &str, repetition: u32, makespan: Option<f64>) -> Row {
    Row {
        suite: "s".into(),
        graph: graph.into(),
        cluster: "c".into(),
        devices: 2,
        network: "contention_free".into(),
        placer: placer.into(),
        scheduler: scheduler.into(),
        repetition,
        seed: u64::from(repetition),
        status: if makespan.is_some() { "ok" } else { "infeasible" }.into(),
        makespan,
        ops: 10,
        edges: 9,
        // Each repetition draws a graph of its own.
        lower_bound: Some(1.0 + f64::from(repetition)),
        ..Row::default()
    }
}

fn grid_of(rows: &[Row]) -> Grid {
    Grid::new(&Table::new(rows).unwrap(), Metric::Makespan, &[]).unwrap()
}

fn standings_of(rows: &[Row]) -> Standings {
    Standings::new(&grid_of(rows), Candidates::Placer, DROP_FAILING)
}

fn close(found: Option<f64>, expected: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12), "{found:?}, not {expected}");
}

#[test]
fn repetitions_are_averaged_before_ratios_are_taken_and_before_a_scheduler_is_chosen() {
    // x is best with a in the first draw and with b in the second; the mean of a is 3, of b 2.5.
    let rows = [
        row("g", "x", "a", 0, Some(1.0)),
        row("g", "x", "a", 1, Some(5.0)),
        row("g", "x", "b", 0, Some(3.0)),
        row("g", "x", "b", 1, Some(2.0)),
        row("g", "y", "a", 0, Some(2.0)),
        row("g", "y", "a", 1, Some(8.0)),
    ];
    let (grid, standings) = (grid_of(&rows), standings_of(&rows));
    let best = standings.cell(&grid, 0, 0).unwrap();
    assert_eq!((best.scheduler, best.mean(), best.values()), (1, Some(2.5), Some(vec![3.0, 2.0])));
    assert_eq!((standings.ratio(0, 0), standings.ratio(1, 0)), (Some(1.0), Some(2.0)));
    assert_eq!((&standings.means[..], &standings.order[..]), (&[Some(1.0), Some(2.0)][..], &[0, 1][..]));
}

#[test]
fn numberings_are_averaged_within_a_draw_and_a_search_that_has_one_is_judged_by_it() {
    let numbered = |numbering: u32, row: Row| Row { numbering, ..row };
    let mut rows = vec![
        numbered(1, row("g", "x", "a", 1, Some(9.0))),
        numbered(0, row("g", "x", "a", 0, Some(1.0))),
        numbered(1, row("g", "x", "a", 0, Some(3.0))),
        numbered(0, row("g", "x", "a", 1, Some(7.0))),
        row("g", "search", "a", 0, Some(4.0)),
        row("g", "search", "a", 1, Some(6.0)),
    ];
    let grid = grid_of(&rows);
    let [x, search] = [0, 1].map(|cell: usize| &grid.instances[0].cells[cell]);
    assert_eq!((x.value(0), x.value(1), x.mean()), (Some(2.0), Some(8.0), Some(5.0)));
    assert_eq!(x.values(), Some(vec![2.0, 8.0]), "deviations are of draws, not of numberings");
    assert_eq!((search.value(0), search.value(1), search.mean()), (Some(4.0), Some(6.0), Some(5.0)));
    assert_eq!(grid.drawn_graphs(&[0]).len(), 2, "two graphs were drawn, however many numberings each has");
    // A numbering that failed, or is missing, fails its draw and with it the cell.
    rows[0].makespan = None;
    rows[0].status = "infeasible".into();
    assert_eq!(
        (grid_of(&rows).instances[0].cells[0].value(0), grid_of(&rows).instances[0].cells[0].mean()),
        (Some(2.0), None)
    );
    rows.remove(0);
    assert_eq!(grid_of(&rows).instances[0].cells[0].mean(), None);
    // Nor does it help that it is missing in all draws: others have it.
    let others = [0, 1].map(|numbering| numbered(numbering, row("g", "y", "a", 0, Some(5.0))));
    let without_0: Vec<Row> = rows.iter().filter(|row| row.placer == "x" && row.numbering == 1).cloned().collect();
    let both: Vec<Row> = without_0.iter().chain(&others).filter(|row| row.repetition == 0).cloned().collect();
    let grid = grid_of(&both);
    assert_eq!(grid.instances[0].cells.iter().map(GridCell::mean).collect::<Vec<_>>(), [None, Some(5.0)]);
    rows.push(rows[0].clone());
    let twice = Grid::new(&Table::new(&rows).unwrap(), Metric::Makespan, &[]).unwrap_err().to_string();
    assert!(twice.contains("repetition 0 (seed 0)"), "{twice}");
}

/// Only the registry knows that `hashing` does not search: numbering 0 alone does not say so.
#[test]
fn a_placer_that_does_not_search_needs_all_numberings_that_others_of_the_instance_have() {
    let numbered = |numbering: u32, row: Row| Row { numbering, ..row };
    let rows: Vec<Row> = [0, 1]
        .map(|numbering| numbered(numbering, row("g", "heft", "a", 0, Some(5.0))))
        .into_iter()
        .chain(["hashing", "sweep"].map(|placer| row("g", placer, "a", 0, Some(1.0))))
        .collect();
    let means = |rows: &[Row]| grid_of(rows).instances[0].cells.iter().map(GridCell::mean).collect::<Vec<_>>();
    assert_eq!(means(&rows), [Some(5.0), None, Some(1.0)]);
    assert_eq!(means(&rows[2..]), [Some(1.0), Some(1.0)]);
}

#[test]
fn one_failed_draw_fails_the_cell_and_who_fails_often_does_not_change_the_means_of_others() {
    let mut rows = Vec::new();
    for (graph, factor) in [("g", 1.0), ("h", 2.0)] {
        for repetition in 0..2 {
            rows.push(row(graph, "x", "a", repetition, Some(1.0)));
            rows.push(row(graph, "y", "a", repetition, Some(factor)));
            let fails = graph == "h" && repetition == 1;
            rows.push(row(graph, "z", "a", repetition, (!fails).then_some(0.5)));
        }
    }
    let (grid, standings) = (grid_of(&rows), standings_of(&rows));
    assert!(standings.cell(&grid, 2, 1).is_none(), "one of two draws failed");
    assert_eq!((standings.lacking[2], standings.takes_part[2], standings.means[2]), (1, false, None));
    // On g they are twice as slow as z, on h x is the best.
    close(standings.means[0], 2f64.sqrt());
    close(standings.means[1], 2.0);
    assert_eq!(standings.order, [0, 1, 2], "z has no mean, so it stands behind");
    assert_eq!(standings.reasons(&grid, 2), BTreeMap::from([("infeasible".to_owned(), 1)]));
    // If all take part, the means are over what all finish.
    let all = Standings::new(&grid, Candidates::Placer, 1.0);
    assert_eq!((&all.common[..], &all.means[..]), (&[0][..], &[Some(2.0), Some(2.0), Some(1.0)][..]));
}

#[test]
fn a_draw_that_was_not_run_fails_the_cell_too() {
    let rows = [row("g", "x", "a", 0, Some(1.0)), row("g", "x", "a", 1, Some(1.0)), row("g", "y", "a", 0, Some(0.5))];
    let (grid, standings) = (grid_of(&rows), standings_of(&rows));
    assert!(standings.cell(&grid, 1, 0).is_none());
    assert_eq!(standings.reasons(&grid, 1), BTreeMap::from([("not run".to_owned(), 1)]));
    close(standings.means[0], 1.0);
}

#[test]
fn what_differs_by_rounding_is_equal_and_stands_in_the_order_of_the_rows() {
    let sum = 0.1 + 0.2;
    let rows = [row("g", "x", "a", 0, Some(sum)), row("g", "x", "b", 0, Some(0.3)), row("g", "y", "a", 0, Some(0.3))];
    let (grid, standings) = (grid_of(&rows), standings_of(&rows));
    assert_ne!(sum, 0.3);
    assert_eq!(standings.cell(&grid, 0, 0).unwrap().scheduler, 0, "the first listed of equals");
    assert_eq!((standings.winners(0), &standings.order[..]), (vec![0, 1], &[0, 1][..]));
}

#[test]
fn of_nothing_there_is_no_multiple_and_of_some_metrics_more_is_better() {
    let mut rows = vec![row("g", "x", "a", 0, Some(1.0)), row("g", "y", "a", 0, Some(1.0))];
    (rows[0].traffic_bytes, rows[1].traffic_bytes) = (Some(0), Some(5));
    (rows[0].utilization, rows[1].utilization) = (Some(0.2), Some(0.8));
    let standings = |metric| {
        let grid = Grid::new(&Table::new(&rows).unwrap(), metric, &[]).unwrap();
        Standings::new(&grid, Candidates::Placer, DROP_FAILING)
    };
    let traffic = standings(Metric::TrafficBytes);
    assert_eq!((traffic.zeros, traffic.common.len(), traffic.ratio(1, 0)), (1, 0, None));
    let utilization = standings(Metric::Utilization);
    assert_eq!(utilization.order, [1, 0]);
    close(utilization.means[0], 4.0);
}

#[test]
fn where_a_makespan_is_0_a_metric_that_divides_by_it_says_nothing_and_nobody_failed() {
    // x needs no time on g, so its speedup is no number; y does.
    let mut rows = vec![
        row("g", "x", "a", 0, Some(0.0)),
        row("g", "y", "a", 0, Some(0.5)),
        row("h", "x", "a", 0, Some(1.0)),
        row("h", "y", "a", 0, Some(2.0)),
    ];
    for (row, speedup) in rows.iter_mut().zip([None, Some(0.0), Some(2.0), Some(1.0)]) {
        row.speedup = speedup;
    }
    let grid = Grid::new(&Table::new(&rows).unwrap(), Metric::Speedup, &[]).unwrap();
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    assert_eq!((standings.instances, standings.zeros, &standings.lacking[..]), (1, 1, &[0, 0][..]));
    assert_eq!((standings.ratio(1, 0), standings.wins(1)), (None, 0));
    assert_eq!((&standings.order[..], standings.means[0]), (&[0, 1][..], Some(1.0)));
    close(standings.means[1], 2.0);
    assert!(standings.reasons(&grid, 0).is_empty());
}

#[test]
fn kinds_memory_rules_networks_and_executors_make_instances_of_their_own() {
    let rows = [
        row("g", "x", "a", 0, Some(1.0)),
        Row { memory: Some("peak".into()), ..row("g", "x", "a", 0, Some(2.0)) },
        Row { kinds: crate::problem::Kinds::AcceleratorsOnly, ..row("g", "x", "a", 0, Some(3.0)) },
        Row { network: "one_port".into(), ..row("g", "x", "a", 0, Some(4.0)) },
        Row { executor: "threads".into(), ..row("g", "x", "a", 0, Some(5.0)) },
        Row { suite: "t".into(), ..row("g", "x", "a", 0, Some(6.0)) },
    ];
    let grid = grid_of(&rows);
    assert_eq!(grid.instances.len(), rows.len());
    let labels = grid.labels();
    assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), rows.len(), "{labels:?}");
    let networks = grid.by_network();
    assert_eq!(networks.iter().map(|(_, grid)| grid.instances.len()).collect::<Vec<_>>(), [5, 1]);
}

#[test]
fn a_cell_that_is_there_twice_is_refused_by_name() {
    let rows = [row("g", "x", "a", 0, Some(1.0)), row("g", "x", "a", 0, Some(1.0))];
    let error = Grid::new(&Table::new(&rows).unwrap(), Metric::Makespan, &[]).unwrap_err().to_string();
    assert!(error.starts_with("the table: has more than one row for x with a on g@c/contention_free"), "{error}");
}

#[test]
fn draws_of_one_graph_are_one_observation_and_drawn_graphs_are_one_each() {
    let mut rows = Vec::new();
    for repetition in 0..4 {
        for (placer, makespan) in [("x", 1.0), ("y", 2.0)] {
            let drawn = row("drawn", placer, "a", repetition, Some(makespan));
            rows.push(Row { lower_bound: Some(1.0), ..row("fixed", placer, "a", repetition, Some(makespan)) });
            rows.extend([Row { cluster: "d".into(), ..drawn.clone() }, drawn]);
        }
    }
    let grid = grid_of(&rows);
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    let observations = standings.observations(&grid);
    // Four graphs were drawn, on two clusters each; the other graph is one.
    assert_eq!(observations.len(), 5);
    for observation in &observations {
        close(Some(observation.logs[1] - observation.logs[0]), 2f64.ln());
    }
    let intervals = standings.intervals(&grid, &observations, Resampling { resamples: 100, seed: 1 });
    let (low, high) = intervals[1].unwrap();
    close(Some(low), 2.0);
    close(Some(high), 2.0);
    let one = standings.intervals(&grid, &observations[..1], Resampling { resamples: 100, seed: 1 });
    assert_eq!(one, [None, None], "a single graph says nothing about others");
}

/// What passes make of a graph says nothing of other graphs.
#[test]
fn a_graph_and_what_passes_make_of_it_are_one_observation() {
    let graphs = ["a", "a+prune", "a+prune+microbatch(m=2)", "b", "b+prune", "c+d"];
    let rows = graphs.iter().flat_map(|graph| [row(graph, "x", "s", 0, Some(1.0)), row(graph, "y", "s", 0, Some(2.0))]);
    let grid = grid_of(&rows.collect::<Vec<_>>());
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    assert_eq!(standings.observations(&grid).len(), 3);
}

#[test]
fn an_interval_holds_the_mean_and_is_as_wide_as_the_draws_are_apart() {
    let mut rows = Vec::new();
    for repetition in 0..20 {
        rows.push(row("g", "x", "a", repetition, Some(1.0)));
        rows.push(row("g", "y", "a", repetition, Some(1.5 + f64::from(repetition % 2))));
    }
    let grid = grid_of(&rows);
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    let observations = standings.observations(&grid);
    let intervals = standings.intervals(&grid, &observations, Resampling { resamples: 10_000, seed: 0 });
    close(standings.means[1], 2.0);
    let (low, high) = intervals[1].unwrap();
    // The mean of 20 fair coins has a standard deviation of 0.112; 1.96 times that is 0.22.
    assert!((1.74..1.82).contains(&low) && (2.18..2.26).contains(&high), "{low} {high}");
}

#[test]
fn a_draw_whose_best_is_0_is_an_observation_too() {
    // 16 drawn graphs. In three of them x needs nothing; the means, 13 / 16 and 2, have a ratio.
    let mut rows = Vec::new();
    for repetition in 0..16 {
        let nothing = repetition < 3;
        rows.push(row("g", "x", "a", repetition, Some(if nothing { 0.0 } else { 1.0 })));
        rows.push(row("g", "y", "a", repetition, Some(2.0)));
    }
    let grid = grid_of(&rows);
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    let observations = standings.observations(&grid);
    assert_eq!(observations.len(), 16);
    assert_eq!(observations.iter().filter(|own| own.logs[0] == f64::NEG_INFINITY).count(), 3);
    let mean = 2.0 / (13.0 / 16.0);
    close(standings.means[1], mean);
    let (low, high) = standings.intervals(&grid, &observations, Resampling { resamples: 2000, seed: 0 })[1].unwrap();
    assert!(low < mean && mean < high && high.is_finite(), "{low} {mean} {high}");
    // One draw with a number among many without: resamples that miss it have no ratio, and say nothing.
    rows.retain(|row| row.repetition < 4);
    let grid = grid_of(&rows);
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    let observations = standings.observations(&grid);
    let (low, high) = standings.intervals(&grid, &observations, Resampling { resamples: 2000, seed: 0 })[1].unwrap();
    close(standings.means[1], 8.0);
    assert!(low >= 2.0 && high <= 8.0 && low <= high, "{low} {high}");
}

#[test]
fn where_more_is_better_a_resample_is_condensed_as_the_mean_is() {
    // Resampling one graph that was drawn on its own twice gives the mean again: the draws, 1 and 4, are averaged first.
    let rows: Vec<Row> = (0..2)
        .flat_map(|repetition| {
            let draw = |placer: &str, value: f64| Row {
                speedup: Some(value),
                lower_bound: Some(1.0),
                ..row("g", placer, "a", repetition, Some(1.0))
            };
            [draw("x", 5.0), draw("y", if repetition == 0 { 1.0 } else { 4.0 })]
        })
        .collect();
    let mut all = rows.clone();
    all.extend(rows.into_iter().map(|row| Row { graph: "h".into(), ..row }));
    let grid = Grid::new(&Table::new(&all).unwrap(), Metric::Speedup, &[]).unwrap();
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    let observations = standings.observations(&grid);
    close(standings.means[1], 2.0);
    assert_eq!(observations.len(), 2);
    close(Some(observations[0].logs[1] - observations[0].logs[0]), 2f64.ln());
    let (low, high) = standings.intervals(&grid, &observations, Resampling { resamples: 50, seed: 0 })[1].unwrap();
    close(Some(low), 2.0);
    close(Some(high), 2.0);
}

/// The same rules, word for word, over rows.
fn by_hand(rows: &[Row]) -> (Vec<Option<f64>>, Vec<String>) {
    let distinct = |of: &dyn Fn(&Row) -> String| {
        let mut seen = Vec::new();
        for name in rows.iter().map(of) {
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
        seen
    };
    let (graphs, placers) = (distinct(&|row| row.graph.clone()), distinct(&|row| row.placer.clone()));
    let schedulers = distinct(&|row| row.scheduler.clone());
    let value = |graph: &str, placer: &str| {
        let draws: BTreeSet<u32> = rows.iter().filter(|row| row.graph == graph).map(|row| row.repetition).collect();
        let mut best = f64::INFINITY;
        for scheduler in &schedulers {
            let of_draw = |&repetition: &u32| {
                let is_it = |row: &&Row| {
                    (&*row.graph, &*row.placer, &*row.scheduler, row.repetition)
                        == (graph, placer, &**scheduler, repetition)
                };
                rows.iter().find(is_it)?.makespan
            };
            if let Some(values) = draws.iter().map(of_draw).collect::<Option<Vec<f64>>>() {
                best = best.min(values.iter().sum::<f64>() / values.len() as f64);
            }
        }
        best
    };
    let values: Vec<Vec<f64>> =
        graphs.iter().map(|graph| placers.iter().map(|placer| value(graph, placer)).collect()).collect();
    let finished: Vec<&Vec<f64>> = values.iter().filter(|row| row.iter().any(|value| value.is_finite())).collect();
    let fails = |own: usize| finished.iter().filter(|row| row[own].is_infinite()).count();
    let takes_part = |own: &usize| !finished.is_empty() && fails(*own) as f64 <= DROP_FAILING * finished.len() as f64;
    let ranked: Vec<usize> = (0..placers.len()).filter(takes_part).collect();
    let common: Vec<&&Vec<f64>> =
        finished.iter().filter(|row| !ranked.is_empty() && ranked.iter().all(|&own| row[own].is_finite())).collect();
    let mean = |own: usize| {
        let least = |row: &Vec<f64>| row.iter().copied().fold(f64::INFINITY, f64::min);
        let product: f64 = common.iter().map(|row| row[own] / least(row)).product();
        (ranked.contains(&own) && !common.is_empty()).then(|| product.powf(1.0 / common.len() as f64))
    };
    let means: Vec<Option<f64>> = (0..placers.len()).map(mean).collect();
    let mut order: Vec<usize> = (0..placers.len()).filter(|&own| means[own].is_some()).collect();
    order.sort_by(|&a, &b| means[a].partial_cmp(&means[b]).unwrap());
    (means, order.into_iter().map(|own| placers[own].clone()).collect())
}

proptest! {
    #[test]
    fn means_and_order_are_those_that_the_rules_give_word_for_word(
        values in proptest::collection::vec(proptest::option::weighted(0.9, 1.0f64..100.0), 3 * 4 * 2 * 2),
    ) {
        let mut rows = Vec::new();
        let mut values = values.into_iter();
        for graph in ["g", "h", "i"] {
            for repetition in 0..2 {
                for placer in ["x", "y", "z", "w"] {
                    for scheduler in ["a", "b"] {
                        rows.push(row(graph, placer, scheduler, repetition, values.next().unwrap()));
                    }
                }
            }
        }
        let standings = standings_of(&rows);
        let (means, order) = by_hand(&rows);
        for (found, expected) in standings.means.iter().zip(&means) {
            prop_assert_eq!(found.is_some(), expected.is_some());
            prop_assert!(found.zip(*expected).is_none_or(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{:?} {:?}", found, expected);
        }
        let ranked: Vec<String> = standings.ranked().into_iter().map(|own| standings.candidates[own].clone()).collect();
        prop_assert_eq!(ranked, order);
        // In whatever order the rows come.
        rows.reverse();
        let reversed = standings_of(&rows);
        for (name, mean) in standings.candidates.iter().zip(&standings.means) {
            let own = reversed.candidates.iter().position(|candidate| candidate == name).unwrap();
            prop_assert!(mean.zip(reversed.means[own]).is_none_or(|(a, b)| (a / b - 1.0).abs() < 1e-12));
        }
    }
}
