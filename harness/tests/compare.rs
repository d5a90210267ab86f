//! Laws of comparing runs, over tables that are made up.

use placebench_harness::compare::{
    CompareOptions, Comparison, ComparisonError, Effect, History, RankOptions, Ranking, Regression, RunTable,
};
use placebench_harness::problem::Kinds;
use placebench_harness::results::grid::Candidates;
use placebench_harness::results::{Metric, Row, Table};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;

const PLACERS: [&str; 4] = ["heft", "mite", "dfs", "random"];
const SCHEDULERS: [&str; 2] = ["fifo", "pct"];

/// Five graphs, four placers, two schedulers, repetitions; makespans without a pattern.
fn run(repetitions: u32) -> Run {
    let mut rows = Vec::new();
    for graph in 0..5u32 {
        for (p, placer) in PLACERS.into_iter().enumerate() {
            for repetition in 0..repetitions {
                for (s, scheduler) in SCHEDULERS.into_iter().enumerate() {
                    let wave = f64::from(graph * 37 + repetition * 11) + (p * 5 + s) as f64;
                    let makespan = 2.0 + (wave * 1.7).sin();
                    rows.push(Row {
                        suite: "made up".into(),
                        graph: format!("g{graph}"),
                        cluster: "c".into(),
                        network: "contention_free".into(),
                        devices: 3,
                        ops: 10,
                        edges: 20,
                        time_unit: "seconds".into(),
                        placer: placer.into(),
                        scheduler: scheduler.into(),
                        repetition,
                        seed: u64::from(repetition),
                        status: "ok".into(),
                        makespan: Some(makespan),
                        slr: Some(makespan * 1.5),
                        gap: Some(makespan * 1.2),
                        traffic_bytes: Some(if p == 0 { 0 } else { 1000 + wave as u64 }),
                        place_seconds: Some(0.01 * (p + 1) as f64 * f64::from(graph + 1)),
                        simulate_seconds: Some(0.002 * f64::from(graph + 1)),
                        ..Row::default()
                    });
                }
            }
        }
    }
    Run { name: "run".into(), rows, date: Some("2026-01-01T00:00:00Z".into()) }
}

/// A run whose rows can be changed.
#[derive(Clone)]
struct Run {
    name: String,
    rows: Vec<Row>,
    date: Option<String>,
}

impl Run {
    /// As commands read it, in parts of at least that number of rows.
    fn table(&self, part: usize) -> RunTable {
        let table = Table::new(&self.rows).unwrap().in_parts_of(part);
        RunTable { name: self.name.clone(), table, environment: None, date: self.date.clone(), unfinished: false }
    }
}

/// The comparison of whole runs, which is that of runs part by part.
fn compared(old: &Run, new: &Run, options: &CompareOptions) -> Result<Comparison, ComparisonError> {
    let of = |part: usize| Comparison::new(&old.table(part), &new.table(part), options);
    let (whole, parts) = (of(usize::MAX), of(1));
    match (&whole, &parts) {
        (Ok(whole), Ok(parts)) => assert_eq!(whole, parts),
        (whole, parts) => assert_eq!(format!("{whole:?}"), format!("{parts:?}")),
    }
    whole
}

/// The ranking of whole runs, which is that of runs part by part.
fn ranked(runs: &[Run], options: &RankOptions) -> Result<Ranking, ComparisonError> {
    let of = |part: usize| Ranking::new(&runs.iter().map(|run| run.table(part)).collect::<Vec<_>>(), options);
    let (whole, parts) = (of(usize::MAX), of(1));
    match (&whole, &parts) {
        (Ok(whole), Ok(parts)) => assert_eq!(whole, parts),
        (whole, parts) => assert_eq!(format!("{whole:?}"), format!("{parts:?}")),
    }
    whole
}

fn compare(old: &Run, new: &Run) -> Comparison {
    compared(old, new, &CompareOptions::default()).unwrap()
}

fn all_metrics() -> CompareOptions {
    let metrics = vec![Metric::Makespan, Metric::Slr, Metric::Gap, Metric::TrafficBytes];
    CompareOptions { metrics, ..CompareOptions::default() }
}

/// Noise as a busy machine makes it: log-normal, and now and then something several times as slow. A placement's time is
/// that of all its schedulers.
fn shake(run: &mut Run, scatter: f64, outliers: f64, random: &mut impl Rng) {
    let mut factor = || {
        let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let outlier = if random.random::<f64>() < outliers { 5.0 } else { 1.0 };
        (scatter * normal).exp() * outlier
    };
    for placement in run.rows.chunks_mut(SCHEDULERS.len()) {
        let of_placement = factor();
        for row in placement {
            row.place_seconds = row.place_seconds.map(|seconds| seconds * of_placement);
            row.simulate_seconds = row.simulate_seconds.map(|seconds| seconds * factor());
        }
    }
}

#[test]
fn cells_with_other_kinds_are_other_cells() {
    let (old, mut new) = (run(1), run(1));
    new.rows.iter_mut().for_each(|row| row.kinds = Kinds::AcceleratorsOnly);
    let error = compared(&old, &new, &CompareOptions::default()).unwrap_err().to_string();
    assert!(error.contains("kinds 'as_given' there, 'accelerators_only' here"), "{error}");
    // Half of them: the cells match that have the same kinds, and ranks take the others for instances of their own.
    let mut half = run(1);
    half.rows.iter_mut().step_by(2).for_each(|row| row.kinds = Kinds::AcceleratorsOnly);
    let comparison = compare(&old, &half);
    assert_eq!((comparison.only_old.len(), comparison.only_new.len()), (20, 20));
    assert!(comparison.only_new[0].to_string().contains("(accelerators_only)"), "{}", comparison.only_new[0]);
    let mut both = run(1);
    both.rows.extend(new.rows);
    assert_eq!(ranked(&[both], &RankOptions::default()).unwrap().instances, 10);
}

#[test]
fn a_run_against_itself_has_no_change_at_all() {
    let comparison = compared(&run(3), &run(3), &all_metrics()).unwrap();
    assert!(!comparison.is_regression() && comparison.warnings.is_empty());
    assert_eq!((comparison.matched, comparison.compared), (120, 120));
    for quality in &comparison.quality {
        assert_eq!((quality.total.equal, quality.total.mean_ratio, quality.changes.len()), (120, Some(1.0), 0));
        assert!(quality.placers.iter().all(|group| group.p.is_none() && group.worst.is_none()));
    }
    for times in &comparison.times {
        assert!(times.algorithms.iter().chain(&times.groups).all(|change| change.ratio == 1.0));
    }
}

/// Every other cell was measured: nine repetitions within 10 % of their median.
fn partly_measured(repetitions: u64) -> Run {
    let mut run = run(1);
    for row in run.rows.iter_mut().step_by(2) {
        row.executor = "threads".into();
        row.repetitions = Some(repetitions);
        row.load_imbalance = Some(1.5);
        row.makespan_least = row.makespan.map(|makespan| 0.95 * makespan);
        row.makespan_largest = row.makespan.map(|makespan| 1.1 * makespan);
    }
    run
}

/// A measured row with all its makespans, and what is in proportion to them, times a factor.
fn scale(row: &mut Row, factor: f64) {
    let numbers = [&mut row.makespan, &mut row.makespan_least, &mut row.makespan_largest, &mut row.slr, &mut row.gap];
    for number in numbers {
        *number = number.map(|value| value * factor);
    }
}

#[test]
fn changes_of_measured_cells_count_beyond_their_noise() {
    let (old, mut new) = (partly_measured(9), partly_measured(9));
    // From 0.95 to 1.1: 1.15 times as long, the intervals meet; 1.2 times as long, they do not.
    for (index, factor) in [(0, 1.15), (2, 0.87), (4, 1.04)] {
        scale(&mut new.rows[index], factor);
    }
    new.rows[6].load_imbalance = Some(1.9);
    let options =
        || CompareOptions { metrics: vec![Metric::Makespan, Metric::Gap, Metric::LoadImbalance], ..all_metrics() };
    let comparison = compared(&old, &new, &options()).unwrap();
    assert!(!comparison.is_regression() && comparison.warnings.is_empty(), "{:?}", comparison.regressions);
    assert_eq!([0, 1].map(|metric| comparison.quality[metric].total.equal), [40, 40]);

    scale(&mut new.rows[8], 1.2);
    scale(&mut new.rows[10], 0.8);
    // What does not depend on the clock is compared exactly, and so is what was simulated.
    new.rows[12].traffic_bytes = new.rows[12].traffic_bytes.map(|bytes| bytes * 2);
    scale(&mut new.rows[13], 1.01);
    let comparison =
        compared(&old, &new, &CompareOptions { metrics: vec![Metric::Makespan, Metric::TrafficBytes], ..options() })
            .unwrap();
    let changes: Vec<(u64, String)> = comparison.quality[0]
        .changes
        .iter()
        .map(|change| ((change.ratio * 100.0).round() as u64, change.cell.executor.to_string()))
        .collect();
    let expected = [(120, "threads"), (101, "simulate"), (80, "threads")];
    assert_eq!(changes, expected.map(|(ratio, executor)| (ratio, executor.to_owned())));
    assert_eq!(comparison.quality[1].changes.len(), 1);

    // Intervals that are apart by less than runs differ as a whole.
    let (mut old, mut new) = (partly_measured(9), partly_measured(9));
    for run in [&mut old, &mut new] {
        (run.rows[0].makespan_least, run.rows[0].makespan_largest) = (run.rows[0].makespan, run.rows[0].makespan);
    }
    scale(&mut new.rows[0], 1.049);
    assert!(!compare(&old, &new).is_regression());
    scale(&mut new.rows[0], 1.01);
    assert!(compare(&old, &new).is_regression());
}

#[test]
fn measured_cells_of_few_repetitions_are_not_judged() {
    let (old, mut new) = (partly_measured(9), partly_measured(4));
    new.rows.iter_mut().step_by(2).for_each(|row| scale(row, 3.0));
    let comparison = compare(&old, &new);
    assert!(!comparison.is_regression(), "{:?}", comparison.regressions);
    assert_eq!(comparison.quality[0].total.cells, 20);
    let warning = &comparison.warnings[0];
    assert!(warning.starts_with("20 measured cells have fewer than 5 repetitions"), "{warning}");
}

#[test]
fn a_single_changed_makespan_is_found_and_named() {
    let (old, mut new) = (run(3), run(3));
    let makespan = new.rows[17].makespan.unwrap();
    new.rows[17].makespan = Some(makespan * 1.01);
    let comparison = compare(&old, &new);
    let quality = &comparison.quality[0];
    assert_eq!((quality.total.worse, quality.total.equal), (1, 119));
    assert_eq!(quality.placers[0].name, new.rows[17].placer, "the placer that got worse comes first");
    let named = comparison.regressions.iter().find_map(|regression| match regression {
        Regression::Cell { change, .. } => Some(change.cell.to_string()),
        _ => None,
    });
    assert_eq!(named.as_deref(), Some("dfs with pct on g0@c/contention_free, repetition 2 (seed 2)"));
    // By the last bit: a change, but no regression.
    new.rows[17].makespan = Some(makespan.next_up());
    let comparison = compare(&old, &new);
    assert_eq!(comparison.quality[0].changes.len(), 1);
    assert!(!comparison.is_regression());
}

#[test]
fn lost_results_are_regressions_and_found_ones_are_not() {
    let (old, mut new) = (run(2), run(2));
    for (row, status) in [(0, "infeasible"), (1, "invalid")] {
        new.rows[row] = Row { status: status.into(), makespan: None, ..new.rows[row].clone() };
    }
    let lost = compare(&old, &new);
    assert_eq!(lost.regressions.len(), 2);
    assert!(lost.status_changes.iter().all(|change| change.effect == Effect::Regression));
    let found = compare(&new, &old);
    assert!(!found.is_regression());
    assert!(found.status_changes.iter().all(|change| change.effect == Effect::Fixed));
    // From one failure to another: worse only if something is now wrong.
    let mut other = new.clone();
    other.rows[0].status = "error".into();
    assert!(!compare(&new, &other).is_regression());
    other.rows[0].status = "panicked".into();
    assert!(compare(&new, &other).is_regression());
}

#[test]
fn what_was_cut_short_in_one_run_is_no_regression_unless_it_is_asked_for() {
    let (old, mut new) = (run(2), run(2));
    for (row, status) in [(0, "timed_out"), (1, "interrupted")] {
        new.rows[row] = Row { status: status.into(), makespan: None, ..new.rows[row].clone() };
    }
    for (a, b) in [(&old, &new), (&new, &old)] {
        let comparison = compare(a, b);
        assert!(!comparison.is_regression() && comparison.broken.is_empty());
        assert_eq!(comparison.status_changes.len(), 2);
        assert!(comparison.status_changes.iter().all(|change| change.effect == Effect::CutShort));
    }
    let strict = CompareOptions { all_cells: true, ..CompareOptions::default() };
    assert_eq!(compared(&old, &new, &strict).unwrap().regressions.len(), 2);
    assert!(!compared(&new, &old, &strict).unwrap().is_regression(), "what is found again is no loss");
    // What is wrong now is a regression whatever it was before, and what was wrong may have been repaired.
    let mut wrong = new.clone();
    wrong.rows[0].status = "invalid".into();
    assert_eq!(compare(&new, &wrong).status_changes[0].effect, Effect::Regression);
    assert!(!compare(&wrong, &new).is_regression());
}

#[test]
fn what_is_broken_in_both_runs_is_listed_and_fails_on_demand() {
    let mut old = run(2);
    for (row, status) in [(0, "error"), (1, "invalid"), (2, "infeasible"), (3, "timed_out")] {
        old.rows[row] =
            Row { status: status.into(), makespan: None, error: Some(format!("why {row}")), ..old.rows[row].clone() };
    }
    let comparison = compare(&old, &old);
    let broken: Vec<_> = comparison.broken.iter().map(|change| (&*change.new, change.reason.as_deref())).collect();
    assert_eq!(broken, [("error", Some("why 0")), ("invalid", Some("why 1")), ("timed_out", Some("why 3"))]);
    assert!(!comparison.is_regression(), "that no placement is feasible is a result");
    let strict = CompareOptions { broken: true, ..CompareOptions::default() };
    let comparison = compared(&old, &old, &strict).unwrap();
    assert!(comparison.regressions.iter().all(|regression| matches!(regression, Regression::Broken(_))));
    assert_eq!(comparison.regressions.len(), 3);
}

#[test]
fn cells_of_one_run_only_and_other_problems_are_said_and_fail_on_demand() {
    let (mut old, mut new) = (run(2), run(2));
    old.rows.remove(3);
    new.rows.truncate(78);
    new.rows[0].ops += 1;
    let comparison = compare(&old, &new);
    assert_eq!((comparison.only_old.len(), comparison.only_new.len(), comparison.other_problems.len()), (2, 1, 1));
    assert_eq!((comparison.matched, comparison.compared), (77, 76));
    assert!(!comparison.is_regression());
    let strict = CompareOptions { all_cells: true, ..CompareOptions::default() };
    let comparison = compared(&old, &new, &strict).unwrap();
    assert_eq!(comparison.regressions.len(), 3);
}

#[test]
fn duplicates_and_strangers_are_refused_by_name() {
    let (old, mut new) = (run(1), run(1));
    new.rows.push(new.rows[5].clone());
    let error = compared(&old, &new, &CompareOptions::default()).unwrap_err();
    assert!(matches!(error, ComparisonError::Duplicate { .. }));
    assert!(error.to_string().contains("more than one row for dfs with pct on g0@c"), "{error}");
    let refusal = |change: fn(&mut Row)| {
        let mut new = run(1);
        new.rows.iter_mut().for_each(change);
        compared(&run(1), &new, &CompareOptions::default()).unwrap_err().to_string()
    };
    assert!(refusal(|row| row.seed += 7).contains("seed '0' there, '7' here"));
    assert!(refusal(|row| row.graph.push('x')).contains("graph 'g0' there, 'g0x' here"));
    assert!(refusal(|row| row.suite.push('2')).contains("--ignore suite"));
    let mut renamed = run(1);
    renamed.rows.iter_mut().for_each(|row| row.suite.push('2'));
    let any_suite = CompareOptions { any_suite: true, ..CompareOptions::default() };
    assert!(!compared(&run(1), &renamed, &any_suite).unwrap().is_regression());
}

#[test]
fn repetitions_that_draw_nothing_new_are_one_observation() {
    // Five graphs, each worse by its own factor, in ten identical repetitions: five observations, not fifty.
    let (mut old, mut new) = (run(10), run(10));
    for run in [&mut old, &mut new] {
        for row in &mut run.rows {
            row.makespan = Some(1.0);
        }
    }
    for row in &mut new.rows {
        row.makespan = Some(1.0 + f64::from(row.graph.as_bytes()[1] - b'0' + 1) / 10.0);
    }
    for group in &compare(&old, &new).quality[0].placers {
        assert_eq!((group.cells, group.worse, group.tested), (100, 100, 5));
        assert_eq!((group.p, group.p_holm), (Some(0.0625), Some(0.25)));
    }
}

#[test]
fn a_draw_that_fails_fails_the_cell_whoever_else_is_compared() {
    let (old, mut new) = (run(3), run(3));
    for row in new.rows.iter_mut().filter(|row| row.placer == "heft") {
        row.makespan = row.makespan.map(|makespan| makespan * (1.0 + 0.1 * f64::from(row.repetition)));
        // heft is worse by more in repetition 1 of g0, and fails in repetition 2.
        if row.graph == "g0" && row.repetition == 2 {
            (row.status, row.makespan) = ("infeasible".into(), None);
        }
    }
    let mean = |placers: &[&str]| {
        let of = |run: &Run| {
            let rows = run.rows.iter().filter(|row| placers.contains(&row.placer.as_str()));
            Run { rows: rows.cloned().collect(), ..run.clone() }
        };
        let comparison = compared(&of(&old), &of(&new), &CompareOptions::default()).unwrap();
        let placers = &comparison.quality[0].placers;
        placers.iter().find(|group| group.name == "heft").unwrap().mean_ratio.unwrap()
    };
    let alone = mean(&["heft"]);
    assert_eq!((mean(&PLACERS), mean(&["heft", "dfs"])), (alone, alone));
    // What is left of g0 does not count.
    let without = |run: &Run| {
        let rows = run.rows.iter().filter(|row| row.graph != "g0");
        Run { rows: rows.cloned().collect(), ..run.clone() }
    };
    let comparison = compared(&without(&old), &without(&new), &CompareOptions::default()).unwrap();
    let heft = comparison.quality[0].placers.iter().find(|group| group.name == "heft").unwrap();
    assert_eq!(heft.mean_ratio, Some(alone));
}

#[test]
fn rows_that_are_ok_and_have_no_makespan_are_refused() {
    for makespan in [None, Some(f64::NAN), Some(-1.0), Some(f64::INFINITY)] {
        let mut new = run(1);
        new.rows[3].makespan = makespan;
        let error = compared(&run(1), &new, &CompareOptions::default()).unwrap_err().to_string();
        assert!(error.contains("1 rows are ok, but their makespan is no number from 0 on"), "{error}");
    }
}

#[test]
fn traffic_from_nothing_is_worse_without_spoiling_the_mean() {
    let (old, mut new) = (run(1), run(1));
    // Under both schedulers: one of them alone would not be the best any more.
    new.rows[..2].iter_mut().for_each(|row| row.traffic_bytes = Some(5));
    let comparison = compared(&old, &new, &all_metrics()).unwrap();
    let traffic = comparison.quality.iter().find(|quality| quality.metric == Metric::TrafficBytes).unwrap();
    // On the four others that move nothing in either run there is no ratio either.
    assert_eq!((traffic.total.worse, traffic.total.zeros, traffic.total.mean_ratio), (2, 5, Some(1.0)));
    assert!(comparison.is_regression());
}

/// Where a value is 0 in both runs there is no ratio either: 1 would hide what changed elsewhere.
#[test]
fn instances_of_nothing_have_no_ratio_and_means_say_over_how_many_they_are() {
    let (mut old, mut new) = (run(1), run(1));
    let first = old.rows[0].graph.clone();
    for run in [&mut old, &mut new] {
        let of_first = run.rows.iter_mut().filter(|row| row.graph == first);
        of_first.for_each(|row| row.makespan = Some(0.0));
    }
    let changed = new.rows.iter_mut().filter(|row| row.graph != first && row.placer == "heft");
    changed.for_each(|row| row.makespan = row.makespan.map(|makespan| makespan * 1.5));
    let comparison = compared(&old, &new, &CompareOptions::default()).unwrap();
    let makespan = comparison.quality.iter().find(|quality| quality.metric == Metric::Makespan).unwrap();
    let heft = makespan.placers.iter().find(|group| group.name == "heft").unwrap();
    assert!(heft.zeros > 0 && heft.instances > 0, "{heft:?}");
    assert!((heft.mean_ratio.unwrap() - 1.5).abs() < 1e-12, "{heft:?}");
    let mean = comparison.regressions.iter().find_map(|regression| match regression {
        Regression::Mean { placer, instances, .. } if placer == "heft" => Some(*instances),
        _ => None,
    });
    assert_eq!(mean, Some(heft.instances));
}

#[test]
fn noise_alone_is_a_regression_in_less_than_one_comparison_of_a_hundred() {
    let mut random = Pcg64::seed_from_u64(1);
    for (scatter, outliers, repetitions) in
        [(0.05, 0.0, 3), (0.3, 0.0, 5), (0.1, 0.05, 5), (0.1, 0.02, 3), (0.2, 0.0, 1)]
    {
        // Times alone: what they are compared by does not depend on the metrics.
        let options = CompareOptions { metrics: Vec::new(), ..CompareOptions::default() };
        let alarms = (0..100).filter(|_| {
            let (mut old, mut new) = (run(repetitions), run(repetitions));
            shake(&mut old, scatter, outliers, &mut random);
            shake(&mut new, scatter, outliers, &mut random);
            Comparison::new(&old.table(usize::MAX), &new.table(usize::MAX), &options).unwrap().is_regression()
        });
        let alarms = alarms.count();
        assert!(alarms <= 1, "{alarms} of 100 with scatter {scatter}, outliers {outliers}, {repetitions} repetitions");
    }
}

#[test]
fn a_placer_that_takes_twice_as_long_is_found_through_noise() {
    let mut random = Pcg64::seed_from_u64(2);
    let found = (0..50).filter(|_| {
        let (mut old, mut new) = (run(3), run(3));
        shake(&mut old, 0.1, 0.01, &mut random);
        shake(&mut new, 0.1, 0.01, &mut random);
        for row in new.rows.iter_mut().filter(|row| row.placer == "mite") {
            row.place_seconds = row.place_seconds.map(|seconds| seconds * 2.0);
        }
        let comparison = compare(&old, &new);
        comparison.regressions.iter().any(|regression| match regression {
            Regression::Time(change) => {
                change.metric == Metric::PlaceSeconds && change.algorithm == "mite" && change.place.is_empty()
            }
            _ => false,
        })
    });
    let found = found.count();
    assert!(found >= 47, "found in {found} of 50");
}

#[test]
fn without_anything_to_estimate_noise_from_no_time_is_judged() {
    let single = |factor: f64| {
        let mut run = run(1);
        run.rows.truncate(1);
        run.rows[0].place_seconds = Some(factor);
        run
    };
    let comparison = compare(&single(1.0), &single(10.0));
    let change = &comparison.times[0].algorithms[0];
    assert!((change.ratio - 10.0).abs() < 1e-9 && change.noise.is_none());
    assert!(!comparison.is_regression());
}

#[test]
fn a_ranking_counts_only_what_all_candidates_finish() {
    let mut run = run(2);
    for row in &mut run.rows {
        // heft 1, mite 2, dfs 4, random 8, each half as much again under fifo.
        let placer = PLACERS.iter().position(|placer| row.placer == *placer).unwrap();
        let slow = if row.scheduler == "fifo" { 1.5 } else { 1.0 };
        row.makespan = Some(2f64.powi(placer as i32) * slow);
        if row.placer == "mite" && row.graph == "g3" {
            *row = Row { status: "infeasible".into(), makespan: None, ..row.clone() };
        }
    }
    let runs = [run];
    let all = RankOptions { drop_failing: 1.0, ..RankOptions::default() };
    let ranking = ranked(&runs, &all).unwrap();
    assert_eq!((ranking.instances, ranking.common), (5, 4));
    let names: Vec<&str> = ranking.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, PLACERS);
    for (index, entry) in ranking.entries.iter().enumerate() {
        let ratio = 2f64.powi(index as i32);
        for value in [entry.mean_ratio, entry.low, entry.high] {
            assert!((value / ratio - 1.0).abs() < 1e-12, "{value} is not {ratio}");
        }
        assert_eq!((entry.mean_rank, entry.wins), (index as f64 + 1.0, if index == 0 { 5 } else { 0 }));
    }
    // Two repetitions of four graphs, all alike: four observations.
    assert_eq!(ranking.entries[1].p_holm, Some(3.0 * 0.125));
    assert_eq!((ranking.gaps[0].name.as_str(), ranking.gaps[0].failed["infeasible"]), ("mite", 1));
    let dropped = ranked(&runs, &RankOptions::default()).unwrap();
    assert_eq!((dropped.common, dropped.entries.len(), dropped.gaps[0].dropped), (5, 3, true));
    let schedulers = RankOptions { by: Candidates::Scheduler, ..RankOptions::default() };
    let schedulers = ranked(&runs, &schedulers).unwrap();
    assert_eq!((schedulers.instances, schedulers.common), (19, 19));
    assert!((schedulers.entries[1].mean_ratio - 1.5).abs() < 1e-12);
    let seconds = RankOptions { metric: Metric::PlaceSeconds, ..all };
    assert!((ranked(&runs, &seconds).unwrap().entries[3].mean_ratio - 4.0).abs() < 1e-12);
}

#[test]
fn a_history_survives_the_disk_and_a_run_is_in_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.csv");
    let (old, mut new) = (run(2), run(2));
    new.date = Some("2026-01-02T00:00:00Z".into());
    for row in &mut new.rows {
        row.makespan = row.makespan.map(|makespan| makespan * 2.0);
    }
    for _ in 0..2 {
        for run in [&new, &old] {
            let mut history = History::read(&path).unwrap();
            history.add(&run.table(1), &old.table(1)).unwrap();
            history.write(&path).unwrap();
        }
    }
    let history = History::read(&path).unwrap();
    assert_eq!(history.lines.len(), 2 * PLACERS.len());
    let ratios: Vec<f64> = history.lines.iter().filter_map(|line| line.makespan_ratio).collect();
    assert!(ratios[..4].iter().all(|&ratio| ratio == 1.0));
    assert!(ratios[4..].iter().all(|&ratio| (ratio - 2.0).abs() < 1e-12), "{ratios:?}");
    assert!(history.lines.iter().all(|line| line.compared == 20 && line.failed == 0));
    // In whatever parts the rows are read.
    for part in [1, 1000] {
        assert_eq!(History::of_runs(&[new.table(part), old.table(part)], None, &[]).unwrap(), history);
    }
    // One placement time for both schedulers: 5 graphs, 2 repetitions.
    let heft = history.lines.iter().find(|line| line.placer == "heft").unwrap();
    assert!((heft.place_seconds - 0.01 * 15.0 * 2.0).abs() < 1e-12, "{}", heft.place_seconds);
    let written = std::fs::read_to_string(&path).unwrap();
    let (header, lines) = written.split_once('\n').unwrap();
    let changed = |from: &str, to: &str| format!("{header}\n{}", lines.replacen(from, to, 1));
    for (text, fault) in [
        ("a,b\n1,2\n".to_owned(), "line 1: unknown column 'a'"),
        (written.replacen("gap", "gapp", 1), "line 1: unknown column 'gapp': did you mean 'gap'?"),
        (written.replacen("objective", "objective,note", 1), "line 1: unknown column 'note'"),
        (written.replacen("objective", "ok", 1), "line 1: the column 'ok' is there twice"),
        (written.replacen("commit,", "", 1), "line 1: no column 'commit'"),
        (changed(",1.0,", ",NaN,"), "line 2, column 'makespan_ratio': NaN is not what a run can have"),
        (changed(",1.0,", ",-1,"), "line 2, column 'makespan_ratio': -1 is not"),
        (
            changed(",1.0,", ",x,"),
            "line 2, column 'makespan_ratio': invalid float literal: correct it, or delete the line",
        ),
        (changed("2026-01-01T", "2026-13-45T"), "line 2, column 'date': '2026-13-45T"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let error = History::read(&path).unwrap_err().to_string();
        assert!(error.contains("not a history of runs") && error.contains(fault), "{fault}: {error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn swapping_the_runs_inverts_every_ratio(factors in proptest::collection::vec(0.5f64..2.0, 40)) {
        let (old, mut new) = (run(1), run(1));
        for (row, factor) in new.rows.iter_mut().zip(&factors) {
            row.makespan = row.makespan.map(|makespan| makespan * factor);
            row.place_seconds = row.place_seconds.map(|seconds| seconds * factor);
        }
        let (there, back) = (compare(&old, &new), compare(&new, &old));
        let (a, b) = (&there.quality[0], &back.quality[0]);
        prop_assert_eq!((a.total.better, a.total.worse), (b.total.worse, b.total.better));
        prop_assert!((a.total.mean_ratio.unwrap() * b.total.mean_ratio.unwrap() - 1.0).abs() < 1e-12);
        for group in &a.placers {
            let other = b.placers.iter().find(|other| other.name == group.name).unwrap();
            prop_assert!((group.mean_ratio.unwrap() * other.mean_ratio.unwrap() - 1.0).abs() < 1e-12);
            prop_assert!((group.p.unwrap() - other.p.unwrap()).abs() < 1e-12);
            prop_assert!(group.p_holm.unwrap() >= group.p.unwrap());
        }
        for (times, others) in there.times.iter().zip(&back.times) {
            prop_assert!((times.mean_ratio * others.mean_ratio - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_order_of_rows_changes_nothing(seed in 0u64..1000) {
        let (old, mut new) = (run(2), run(2));
        shake(&mut new, 0.2, 0.0, &mut Pcg64::seed_from_u64(seed));
        for (index, row) in new.rows.iter_mut().enumerate() {
            row.makespan = row.makespan.map(|makespan| makespan * (1.0 + (index % 7) as f64 / 10.0));
        }
        let before = compare(&old, &new);
        let before_rank = ranked(&[new.clone()], &RankOptions { resamples: 50, ..RankOptions::default() }).unwrap();
        new.rows.reverse();
        prop_assert_eq!(compare(&old, &new), before);
        let after = ranked(&[new], &RankOptions { resamples: 50, ..RankOptions::default() }).unwrap();
        prop_assert_eq!(after, before_rank);
    }
}
