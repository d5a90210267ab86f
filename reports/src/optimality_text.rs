//! What a comparison with proven optima says: a table, and a sentence.

use crate::optimality::{Optimality, is_optimal};
use crate::summary::Summary;

/// The table of ratios to the optimum, in blocks that fit the width; empty if no optimum was proven.
pub fn optimality_table(summary: &Summary, width: usize) -> String {
    let Some(optimality) = &summary.optimality else { return String::new() };
    let order = summary.order();
    let shown: Vec<String> = order.iter().map(|&placer| summary.marks.shown(&summary.placers[placer])).collect();
    let first = shown.iter().map(|name| name.chars().count()).max().unwrap_or(0).max("placer".len());
    let columns: Vec<Vec<String>> =
        (0..optimality.proven.len()).map(|column| column_lines(summary, optimality, column, order)).collect();
    let mut text = String::new();
    let mut rest = &columns[..];
    while !rest.is_empty() {
        let mut used = first;
        let fitting = rest.iter().take_while(|column| {
            used += 2 + column[0].chars().count();
            used <= width
        });
        let (block, others) = rest.split_at(fitting.count().max(1));
        rest = others;
        text.push_str("Makespan / proven optimum, draw by draw: geometric mean, maximum, share optimal, scheduler\n");
        let names = ["", "placer"].into_iter().chain(shown.iter().map(String::as_str));
        for (line, name) in names.enumerate() {
            let cells: String = block.iter().map(|column| format!("  {}", column[line])).collect();
            let padding = first - name.chars().count();
            text.push_str(format!("{name}{}{cells}", " ".repeat(padding)).trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// A scenario's two lines of header and one line a placer in their order, all equally wide.
fn column_lines(summary: &Summary, optimality: &Optimality, column: usize, order: &[usize]) -> Vec<String> {
    let entries = order.iter().map(|&placer| match &optimality.entries[placer][column] {
        None => "failed".to_owned(),
        Some(entry) => {
            // Rounded down, so that 100 % means all.
            let share = (100 * entry.optimal).checked_div(entry.draws).unwrap_or(0);
            format!("{:>5} {:>5} {share:>3}% {}", ratio(entry.mean, 3), ratio(entry.max, 2), entry.scheduler)
        }
    });
    let header =
        [summary.label(optimality.proven[column]).to_owned(), format!("{:>5} {:>5} {:>4} by", "mean", "max", "opt")];
    let lines: Vec<String> = header.into_iter().chain(entries).collect();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    lines.into_iter().map(|line| format!("{line}{}", " ".repeat(width - line.chars().count()))).collect()
}

fn ratio(ratio: f64, digits: usize) -> String {
    // Five characters, so that columns stay narrow.
    match ratio {
        r if r < 9.99 => format!("{r:.digits$}"),
        r if r < 99.9 => format!("{r:.2}"),
        r => format!("{r:.0}"),
    }
}

/// What the comparison says, in a sentence, and before it, if a result is below the optimum, that something is wrong.
pub(crate) fn sentence(summary: &Summary) -> Option<String> {
    let optimality = summary.optimality.as_ref()?;
    let mut text = String::new();
    if let Some(worst) = optimality.impossible.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio)) {
        text = format!(
            "BUG: {} results are BELOW the proven optimum, the lowest {:.9} times it ({} with {} on {}, repetition {}): the \
             exact solver, the simulator or the placer is wrong, so trust none of these ratios. ",
            optimality.impossible.len(),
            worst.ratio,
            worst.placer,
            worst.scheduler,
            worst.graph,
            worst.repetition
        );
    }
    let mut ranking: Vec<(f64, f64, usize)> = (0..summary.placers.len())
        .filter(|&placer| !is_optimal(&summary.specs[placer]))
        .filter_map(|placer| optimality.overall(placer).map(|(mean, share)| (mean, share, placer)))
        .collect();
    ranking.sort_by(|a, b| a.0.total_cmp(&b.0));
    let instances = optimality.draws;
    text.push_str(&match (ranking.first(), ranking.last()) {
        (Some(&(mean, share, nearest)), Some(&(most, _, farthest))) => format!(
            "Against the proven optima of {instances} draws, {} is nearest, {mean:.3} times it in the geometric mean and \
             optimal on {:.0} %; the farthest is {} with {most:.3}.",
            summary.placers[nearest],
            (100.0 * share).floor(),
            summary.placers[farthest]
        ),
        _ => format!("The optima of {instances} draws are proven, but no other placer finished them all."),
    });
    Some(text)
}

#[cfg(test)]
mod tests {
    use placebench_harness::results::Row;

    use super::*;
    use crate::findings;
    use crate::summary::tests::summary_of;

    /// Two scenarios of two instances; the optima are 10 and 20.
    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for graph in ["ccr1", "ccr5"] {
            for (repetition, optimum) in [(0, 10.0), (1, 20.0)] {
                for (placer, schedulers) in [("optimal", ["static", "fifo"]), ("heft", ["static", "pct"])] {
                    for scheduler in schedulers {
                        let ratio = match (placer, scheduler, graph, repetition) {
                            ("optimal", "static", ..) => 1.0,
                            ("heft", "pct", "ccr1", 1) => 4.0,
                            ("heft", "pct", ..) => 1.0,
                            _ => 5.0,
                        };
                        rows.push(Row {
                            graph: graph.into(),
                            cluster: "tiny3".into(),
                            network: "contention_free".into(),
                            placer: placer.into(),
                            scheduler: scheduler.into(),
                            repetition,
                            status: "ok".into(),
                            makespan: Some(ratio * optimum),
                            planned_makespan: (placer == "optimal").then_some(optimum),
                            traffic_bytes: Some(0),
                            place_seconds: Some(0.0),
                            ..Row::default()
                        });
                    }
                }
            }
        }
        rows
    }

    #[test]
    fn ratios_are_taken_draw_by_draw_with_the_best_scheduler() {
        let summary = summary_of(&rows());
        let optimality = summary.optimality.as_ref().unwrap();
        assert_eq!((optimality.draws, optimality.proven.as_slice()), (4, [0, 1].as_slice()));
        let heft = optimality.entries[1][0].as_ref().unwrap();
        // The ratios are 1 and 4. That of the mean makespans would be 90 / 30 = 3.
        assert!((heft.mean - 2.0).abs() < 1e-12);
        assert_eq!((heft.max, heft.optimal, heft.draws, heft.scheduler.as_str()), (4.0, 1, 2, "pct"));
        assert_eq!(optimality.entries[1][1].as_ref().unwrap().optimal, 2);
        assert_eq!(optimality.impossible, []);
    }

    #[test]
    fn the_table_has_a_column_a_scenario_and_fits_the_width() {
        let table = optimality_table(&summary_of(&rows()), 100);
        let expected = "\
Makespan / proven optimum, draw by draw: geometric mean, maximum, share optimal, scheduler
         ccr1                     ccr5
placer    mean   max  opt by       mean   max  opt by
optimal  1.000  1.00 100% static  1.000  1.00 100% static
heft     2.000  4.00  50% pct     1.000  1.00 100% pct

";
        assert_eq!(table, expected, "\n{table}");
        let narrow = optimality_table(&summary_of(&rows()), 40);
        assert_eq!(narrow.matches("placer ").count(), 2, "{narrow}");
        assert!(narrow.lines().filter(|line| !line.starts_with("Makespan")).all(|line| line.len() <= 40), "{narrow}");
    }

    #[test]
    fn a_period_is_not_compared_with_a_proven_makespan() {
        let mut rows = rows();
        for row in &mut rows {
            (row.objective, row.period) = (Some("period".into()), row.makespan.map(|makespan| makespan / 2.0));
        }
        assert_eq!(summary_of(&rows).optimality, None);
    }

    /// Bounds follow from the costs: a mean over draws of other costs may lie below. And to an optimum of 0 there is no ratio.
    #[test]
    fn costs_that_vary_and_an_optimum_of_0_are_not_held_against_it() {
        let noisy: Vec<Row> = rows()
            .into_iter()
            .map(|row| Row {
                executor: "noise(0.1)".into(),
                makespan: row.makespan.map(|makespan| makespan * 0.9),
                ..row
            })
            .collect();
        assert_eq!(summary_of(&noisy).optimality, None);
        let both = summary_of(&[rows(), noisy].concat()).optimality.unwrap();
        assert_eq!((both.proven.len(), both.draws, both.impossible.len()), (2, 4, 0));
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.graph == "ccr1") {
            (row.makespan, row.planned_makespan) = (Some(0.0), row.planned_makespan.map(|_| 0.0));
        }
        let text = findings(&summary_of(&rows));
        assert!(text.contains("Against the proven optima of 2 draws, heft is nearest, 1.000 times it"), "{text}");
    }

    #[test]
    fn a_table_in_parts_has_the_same_optima() {
        let of = |part: usize| {
            let table = placebench_harness::results::Table::new(&rows()).unwrap().in_parts_of(part);
            crate::Summary::new(&table).unwrap().optimality
        };
        assert!(of(usize::MAX).is_some());
        assert_eq!(of(1), of(usize::MAX));
    }

    #[test]
    fn the_findings_say_who_is_nearest() {
        let text = findings(&summary_of(&rows()));
        assert!(
            text.contains(
                "Against the proven optima of 4 draws, heft is nearest, 1.414 times it in the geometric mean and \
                 optimal on 75 %; the farthest is heft with 1.414."
            ),
            "{text}"
        );
        assert!(!text.contains("BUG"), "{text}");
    }

    #[test]
    fn a_result_below_the_optimum_is_called_a_bug_loudly() {
        let mut rows = rows();
        rows[2].makespan = Some(9.999);
        let text = findings(&summary_of(&rows));
        assert!(text.starts_with("BUG: 1 results are BELOW the proven optimum, the lowest 0.999900000"), "{text}");
        assert!(text.contains("(heft with static on ccr1, repetition 0)"), "{text}");
        rows[2].makespan = Some(10.0 * (1.0 - 1e-10));
        assert!(!findings(&summary_of(&rows)).contains("BUG"));
    }

    #[test]
    fn without_a_proven_optimum_nothing_is_said() {
        let mut rows = rows();
        rows.iter_mut().for_each(|row| row.network = "one_port".to_owned());
        let summary = summary_of(&rows);
        assert_eq!((summary.optimality.as_ref(), optimality_table(&summary, 100)), (None, String::new()));
        // A scenario in which one repetition was not proven has no column.
        let mut rows = super::tests::rows();
        for row in rows.iter_mut().filter(|row| row.graph == "ccr5" && row.repetition == 1 && row.placer == "optimal") {
            *row = Row { status: "error".to_owned(), makespan: None, planned_makespan: None, ..row.clone() };
        }
        assert_eq!(summary_of(&rows).optimality.unwrap().proven, [0]);
    }
}
