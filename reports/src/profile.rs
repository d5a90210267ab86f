//! Performance profiles: on what share of the instances a placer comes how close to the best (Dolan, Moré 2002).

use std::collections::BTreeMap;

use placebench_datasets::significant::significant;
use placebench_harness::results::{Metric, Table};
use polars::prelude::PolarsResult;

use crate::scores::{Scores, positions};
use crate::tally::Seconds;
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
    ///
    /// # Complexity
    /// One pass over the rows; memory for 12 bytes a row.
    pub fn new(table: &Table, metric: Metric) -> PolarsResult<Self> {
        Ok(Self::of(&Scores::new(table, metric, &[])?))
    }

    /// The profiles of the placers of some scores, in their order.
    pub(crate) fn of(scores: &Scores) -> Self {
        let places = positions(&scores.placers);
        let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); scores.placers.len()];
        let mut instances = 0;
        for cells in &scores.cells {
            // By repetition, then by placer: the least under any scheduler.
            let mut least: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for cell in cells {
                let Some(&placer) = places.get(&*cell.placer) else { continue };
                for (repetition, value) in cell.results() {
                    let own = least.entry(repetition).or_insert_with(|| vec![f64::INFINITY; scores.placers.len()]);
                    own[placer] = own[placer].min(scores.loss(value));
                }
            }
            for own in least.into_values() {
                let best = own.iter().copied().fold(f64::INFINITY, f64::min);
                // Nothing is a multiple of 0.
                if best <= 0.0 || best.is_infinite() {
                    continue;
                }
                instances += 1;
                for (ratios, own) in ratios.iter_mut().zip(own).filter(|(_, own)| own.is_finite()) {
                    ratios.push(if own <= best * (1.0 + TIE) { 1.0 } else { own / best });
                }
            }
        }
        ratios.iter_mut().for_each(|ratios| ratios.sort_by(f64::total_cmp));
        let of_placers = scores.placers.iter().zip(scores.seconds()).zip(ratios);
        let profile = |((placer, seconds), ratios): ((&String, Seconds), Vec<f64>)| Profile {
            placer: placer.clone(),
            failed: instances - ratios.len(),
            place_seconds: seconds.mean(),
            ratios,
        };
        Self { instances, placers: of_placers.map(profile).collect() }
    }
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
