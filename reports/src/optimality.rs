//! How far placers are from the proven optimum, where a suite has it.

use std::collections::BTreeMap;

use placebench_harness::compare::statistics::geometric_mean;
use placebench_harness::results::{
    CellKey, Metric, SCENARIO, Status, Table, cell_keys, left_join, lists, scenarios, values,
};
use polars::prelude::*;

use crate::Summary;
use crate::scores::{Scores, positions};

/// Makespans relative to those that the placer `optimal` has proven, under the network model that it proves them for.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimality {
    /// The scenarios in which every repetition has a proven optimum, as indices into [`Summary::scenarios`].
    pub scenarios: Vec<usize>,
    /// Instances with a proven optimum in those scenarios.
    pub instances: usize,
    /// By placer, then by scenario of [`Optimality::scenarios`]; `None` where the placer failed under every scheduler.
    pub entries: Vec<Vec<Option<OptimalityEntry>>>,
    /// Results below the optimum, whatever the scheduler: each is a bug.
    pub impossible: Vec<Impossible>,
}

/// A placer in a scenario with its best scheduler, as [`Summary`] chooses it.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimalityEntry {
    /// The scheduler.
    pub scheduler: String,
    /// Geometric mean over the instances of makespan / optimum.
    pub mean: f64,
    /// The largest of these ratios.
    pub max: f64,
    /// Instances that are solved to optimality, within a relative 10⁻⁹.
    pub optimal: usize,
    /// Instances in all.
    pub instances: usize,
}

/// A makespan below the proven optimum.
#[derive(Clone, Debug, PartialEq)]
pub struct Impossible {
    /// The placer.
    pub placer: String,
    /// The scheduler.
    pub scheduler: String,
    /// The graph.
    pub graph: String,
    /// The repetition.
    pub repetition: u32,
    /// Makespan / optimum.
    pub ratio: f64,
}

/// Relative differences up to this are rounding.
const TOLERANCE: f64 = 1e-9;

/// The network model under which the optimum is proven.
const NETWORK: &str = "contention_free";

/// The name of the placer that proves optima.
const OPTIMAL: &str = "optimal";

/// Whether a placer, as a suite spells it, is the one that proves optima.
pub(crate) fn is_optimal(placer: &str) -> bool {
    placer.split('(').next().is_some_and(|name| name.trim() == OPTIMAL)
}

impl Optimality {
    /// The comparison of rows whose makespans have been condensed to scores; `None` if no optimum was proven.
    pub(crate) fn new(table: &Table, scores: &Scores) -> PolarsResult<Option<Self>> {
        let instance = ["graph", "cluster", "network", "repetition"];
        let proves = col("placer_name").eq(lit(OPTIMAL)).and(col("network").eq(lit(NETWORK)));
        let optima = table
            .lazy()
            .filter(proves.and(col("status").eq(lit(Status::Ok.name()))).and(col("planned_makespan").is_not_null()))
            .group_by_stable(instance)
            .agg([col("planned_makespan").last().alias("optimum")]);
        let rows = left_join(table.lazy().with_column(Metric::Makespan.expr()), optima, &instance)
            .with_column(col("optimum").null_count().over(SCENARIO.map(col))?.alias("unproven"));
        let known = rows.clone().filter(col("unproven").eq(lit(0))).group_by_stable(SCENARIO);
        let known = known.agg([col("repetition").n_unique().alias("instances")]).collect()?;
        if known.height() == 0 {
            return Ok(None);
        }
        let at = positions(&scores.scenarios);
        let mut columns: Vec<usize> = scenarios(&known)?.iter().map(|scenario| at[scenario]).collect();
        columns.sort_unstable();
        let ratio = col("makespan") / col("optimum");
        let ratios = rows.filter(ratio.clone().is_not_null()).with_column(ratio.alias("ratio")).collect()?;
        Ok(Some(Self {
            entries: entries(&ratios, scores, &columns)?,
            instances: values::<u32>(&known, "instances")?.iter().map(|&count| count as usize).sum(),
            scenarios: columns,
            impossible: impossible(&ratios)?,
        }))
    }

    /// The geometric mean over all instances, and the share of them solved to optimality; `None` if the placer failed
    /// somewhere.
    fn overall(&self, placer: usize) -> Option<(f64, f64)> {
        let entries: Option<Vec<&OptimalityEntry>> = self.entries[placer].iter().map(Option::as_ref).collect();
        let (mut logarithm, mut optimal, mut instances) = (0.0, 0, 0);
        for entry in entries? {
            logarithm += entry.mean.ln() * entry.instances as f64;
            optimal += entry.optimal;
            instances += entry.instances;
        }
        Some(((logarithm / instances as f64).exp(), optimal as f64 / instances as f64))
    }
}

/// The ratios of each placer with its best scheduler in these scenarios.
fn entries(ratios: &DataFrame, scores: &Scores, columns: &[usize]) -> PolarsResult<Vec<Vec<Option<OptimalityEntry>>>> {
    let by = ["graph", "cluster", "network", "placer", "scheduler"];
    let frame = ratios.clone().lazy().group_by_stable(by).agg([col("ratio")]).collect()?;
    let names = values::<String>(&frame, "placer")?.into_iter().zip(values::<String>(&frame, "scheduler")?);
    let found: BTreeMap<_, Vec<f64>> = scenarios(&frame)?.into_iter().zip(names).zip(lists(&frame, "ratio")?).collect();
    let entry = |placer: usize, column: usize| {
        let scheduler = &scores.best[placer][column].as_ref()?.scheduler;
        let names = (scores.placers[placer].clone(), scheduler.clone());
        let ratios = found.get(&(scores.scenarios[column].clone(), names))?;
        Some(OptimalityEntry {
            scheduler: scheduler.clone(),
            mean: geometric_mean(ratios.iter().copied())?,
            max: ratios.iter().copied().fold(0.0, f64::max),
            optimal: ratios.iter().filter(|&&ratio| ratio <= 1.0 + TOLERANCE).count(),
            instances: ratios.len(),
        })
    };
    let placers = 0..scores.placers.len();
    Ok(placers.map(|placer| columns.iter().map(|&column| entry(placer, column)).collect()).collect())
}

/// The rows below the optimum.
fn impossible(ratios: &DataFrame) -> PolarsResult<Vec<Impossible>> {
    let frame = ratios.clone().lazy().filter(col("ratio").lt(lit(1.0 - TOLERANCE))).collect()?;
    let ratios = values::<f64>(&frame, "ratio")?;
    let impossible = |(key, ratio): (CellKey, f64)| Impossible {
        placer: key.placer,
        scheduler: key.scheduler,
        graph: key.graph,
        repetition: key.repetition,
        ratio,
    };
    Ok(cell_keys(&frame)?.into_iter().zip(ratios).map(impossible).collect())
}

/// The table of ratios to the optimum, in blocks that fit the width; empty if no optimum was proven.
pub fn optimality_table(summary: &Summary, width: usize) -> String {
    let Some(optimality) = &summary.optimality else { return String::new() };
    let first = summary.placers.iter().map(|name| name.chars().count()).max().unwrap_or(0).max("placer".len());
    let columns: Vec<Vec<String>> =
        (0..optimality.scenarios.len()).map(|column| column_lines(summary, optimality, column)).collect();
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
        text.push_str(
            "Makespan / proven optimum, instance by instance: geometric mean, maximum, share optimal, scheduler\n",
        );
        let names = ["", "placer"].into_iter().chain(summary.placers.iter().map(String::as_str));
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

/// A scenario's two lines of header and one line a placer, all equally wide.
fn column_lines(summary: &Summary, optimality: &Optimality, column: usize) -> Vec<String> {
    let entries = optimality.entries.iter().map(|row| match &row[column] {
        None => "failed".to_owned(),
        Some(entry) => {
            // Rounded down, so that 100 % means all.
            let share = (100 * entry.optimal).checked_div(entry.instances).unwrap_or(0);
            format!("{:>5} {:>5} {share:>3}% {}", ratio(entry.mean, 3), ratio(entry.max, 2), entry.scheduler)
        }
    });
    let header =
        [summary.label(optimality.scenarios[column]).to_owned(), format!("{:>5} {:>5} {:>4} by", "mean", "max", "opt")];
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
    let instances = optimality.instances;
    text.push_str(&match (ranking.first(), ranking.last()) {
        (Some(&(mean, share, nearest)), Some(&(most, _, farthest))) => format!(
            "Against the proven optimum of {instances} instances, {} is nearest, {mean:.3} times it in the geometric mean and \
             optimal on {:.0} %; the farthest is {} with {most:.3}.",
            summary.placers[nearest],
            (100.0 * share).floor(),
            summary.placers[farthest]
        ),
        _ => format!("The optimum of {instances} instances is proven, but no other placer finished them all."),
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
    fn ratios_are_taken_instance_by_instance_with_the_best_scheduler() {
        let summary = summary_of(&rows());
        let optimality = summary.optimality.as_ref().unwrap();
        assert_eq!((optimality.instances, optimality.scenarios.as_slice()), (4, [0, 1].as_slice()));
        let heft = optimality.entries[1][0].as_ref().unwrap();
        // The ratios are 1 and 4. That of the mean makespans would be 90 / 30 = 3.
        assert!((heft.mean - 2.0).abs() < 1e-12);
        assert_eq!((heft.max, heft.optimal, heft.instances, heft.scheduler.as_str()), (4.0, 1, 2, "pct"));
        assert_eq!(optimality.entries[1][1].as_ref().unwrap().optimal, 2);
        assert_eq!(optimality.impossible, []);
    }

    #[test]
    fn the_table_has_a_column_a_scenario_and_fits_the_width() {
        let table = optimality_table(&summary_of(&rows()), 100);
        let expected = "\
Makespan / proven optimum, instance by instance: geometric mean, maximum, share optimal, scheduler
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
    fn the_findings_say_who_is_nearest() {
        let text = findings(&summary_of(&rows()));
        assert!(
            text.contains(
                "Against the proven optimum of 4 instances, heft is nearest, 1.414 times it in the geometric mean and \
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
        assert_eq!(summary_of(&rows).optimality.unwrap().scenarios, [0]);
    }
}
