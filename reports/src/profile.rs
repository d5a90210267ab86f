//! Performance profiles: on what share of the instances a placer comes how close to the best (Dolan, Moré 2002).

use std::collections::BTreeMap;

use placebench_datasets::significant::significant;
use placebench_harness::results::{Metric, Table, lists, values};
use polars::prelude::*;

use crate::terminal::{WIDTH, finish, new_table};

/// The factors at which profiles are printed.
const FACTORS: [f64; 9] = [1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];

/// Makespans this close are equal: simulations that add the same times in another order differ by rounding.
const TIE: f64 = 1e-9;

/// The performance profiles of the placers of a run.
///
/// An instance is a graph, a cluster, a network model and a repetition. A placer's quality on it is the best result
/// that it reaches under any scheduler, divided by the least that any placer reaches; an instance on which it fails under
/// every scheduler is within no factor.
///
/// # Reference
/// E. D. Dolan, J. J. Moré, *Benchmarking optimization software with performance profiles*, Mathematical Programming 91,
/// 2002, 201–213, doi:10.1007/s101070100263.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiles {
    /// Instances on which at least one placer has a result.
    pub instances: usize,
    /// One a placer, in the order of the rows.
    pub placers: Vec<Profile>,
}

/// The performance profile of a placer.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The placer.
    pub placer: String,
    /// Its quality on the instances on which it has a result, ascending: 1 is the best.
    pub ratios: Vec<f64>,
    /// Instances on which it has none.
    pub failed: usize,
    /// Mean seconds to place.
    pub place_seconds: Option<f64>,
}

impl Profiles {
    /// The profiles of all placers in a table, by a metric.
    ///
    /// # Errors
    /// If Polars refuses.
    pub fn new(table: &Table, metric: Metric) -> PolarsResult<Self> {
        let instance = || ["graph", "cluster", "network", "executor", "repetition"].map(col);
        let value = if metric.more_is_better() { lit(1.0) / metric.expr() } else { metric.expr() };
        let (own, least) = (col("own"), col("least"));
        let equal = own.clone().lt_eq(least.clone() * lit(1.0 + TIE));
        let ratio = when(equal).then(lit(1.0)).otherwise(own.clone() / least.clone()).alias("ratio");
        let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut instances = 0;
        for part in table.parts() {
            let results = part
                .lazy()?
                .with_column(value.clone().alias("own"))
                .filter(own.clone().is_finite())
                .group_by_stable([&instance()[..], &[col("placer")]].concat())
                .agg([own.clone().min()])
                .with_column(own.clone().min().over(instance())?.alias("least"))
                // Nothing is a multiple of 0.
                .filter(least.clone().gt(lit(0.0)))
                .collect()?;
            instances += results.clone().lazy().group_by(instance()).agg([len()]).collect()?.height();
            let of_placer = results.lazy().with_column(ratio.clone()).group_by_stable(["placer"]);
            let of_placer = of_placer.agg([col("ratio")]).collect()?;
            for (placer, own) in values::<String>(&of_placer, "placer")?.into_iter().zip(lists(&of_placer, "ratio")?) {
                ratios.entry(placer).or_default().extend(own);
            }
        }
        ratios.values_mut().for_each(|ratios| ratios.sort_by(f64::total_cmp));
        let profile = |(placer, place_seconds): (String, Option<f64>)| {
            let ratios = ratios.remove(&placer).unwrap_or_default();
            Profile { failed: instances - ratios.len(), place_seconds, ratios, placer }
        };
        Ok(Self { instances, placers: place_seconds(table)?.into_iter().map(profile).collect() })
    }
}

/// The mean seconds to place of each placer, in the order of the rows.
fn place_seconds(table: &Table) -> PolarsResult<Vec<(String, Option<f64>)>> {
    let seconds = || Metric::PlaceSeconds.expr();
    let known = [seconds().sum().alias("sum"), seconds().count().alias("count")];
    let of_part = table.by_part(|rows| Ok(rows.group_by_stable(["placer"]).agg(&known)))?;
    let all = of_part.lazy().group_by_stable(["placer"]).agg([col("sum").sum(), col("count").sum()]);
    let mean = when(col("count").gt(lit(0))).then(col("sum") / col("count").cast(DataType::Float64));
    let all = all.with_column(mean.otherwise(lit(NULL)).alias("mean")).collect()?;
    Ok(values::<String>(&all, "placer")?.into_iter().zip(values(&all, "mean")?).collect())
}

impl Profile {
    /// The share of all instances on which the placer is within `factor` of the best.
    pub fn share(&self, factor: f64) -> f64 {
        let within = self.ratios.partition_point(|&ratio| ratio <= factor);
        within as f64 / (self.ratios.len() + self.failed).max(1) as f64
    }
}

/// The profiles as a table, the placer that is close most often first; placers that are as good keep their order.
pub fn profile_table(profiles: &Profiles) -> String {
    let mut order: Vec<&Profile> = profiles.placers.iter().collect();
    let area = |profile: &Profile| FACTORS.iter().map(|&factor| profile.share(factor)).sum::<f64>();
    order.sort_by(|a, b| area(b).total_cmp(&area(a)));
    let mut table = new_table();
    let mut header = vec!["placer".to_owned()];
    header.extend(FACTORS.iter().map(|factor| if *factor == 1.0 { "best".to_owned() } else { format!("≤{factor}") }));
    header.extend(["failed".to_owned(), "place s".to_owned()]);
    table.set_header(header);
    // Names give way to numbers where both do not fit.
    let longest = WIDTH - FACTORS.len() * 6 - 17;
    for profile in order {
        let name = &profile.placer;
        let name = match name.chars().count() > longest {
            true => name.chars().take(longest - 1).chain(['…']).collect(),
            false => name.clone(),
        };
        let mut cells = vec![name];
        cells.extend(FACTORS.iter().map(|&factor| format!("{:.0}%", 100.0 * profile.share(factor))));
        cells.push(profile.failed.to_string());
        cells.push(profile.place_seconds.map_or_else(|| "-".to_owned(), significant));
        table.add_row(cells);
    }
    format!(
        "Performance profile: share of the {} instances on which the placer is within a factor of the best\n{}",
        profiles.instances,
        finish(&mut table)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{rows, table};

    #[test]
    fn shares_count_failures_and_take_the_best_scheduler() {
        let profiles = Profiles::new(&table(), Metric::Makespan).unwrap();
        // Two graphs, two repetitions; random is twice as slow and fails on one of the four.
        assert_eq!(profiles.instances, 4);
        let shares = |factor: f64| -> Vec<f64> { profiles.placers.iter().map(|p| p.share(factor)).collect() };
        assert_eq!(shares(1.0), [1.0, 0.0]);
        assert_eq!(shares(1.99), [1.0, 0.0]);
        assert_eq!(shares(2.0), [1.0, 0.75]);
        assert_eq!(profiles.placers[1].failed, 1);
        assert_eq!(profiles.placers[1].place_seconds, Some(0.25));
    }

    #[test]
    fn the_table_puts_the_closest_first_and_fits_a_hundred_columns() {
        let mut rows = rows();
        for row in &mut rows {
            if row.placer == "random" {
                row.placer = "random(with_a_parameter=of_a_long_name,and_another=one)".into();
            }
        }
        rows.reverse();
        let text = profile_table(&Profiles::new(&Table::new(&rows).unwrap(), Metric::Makespan).unwrap());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("share of the 4 instances"));
        assert!(lines[2].starts_with("heft") && lines[2].contains("100%"), "{text}");
        assert!(lines[3].starts_with("random(with_a") && lines[3].contains("75%"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{text}");
    }
}
