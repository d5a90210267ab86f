//! Performance profiles: on what share of the instances a placer comes how close to the best (Dolan, Moré 2002).

use placebench_base::significant::significant;
use placebench_harness::results::grid::GridError;
use placebench_harness::results::{Metric, Table};

use crate::scores::{Scores, Sort};
use crate::terminal::{WIDTH, finish, new_table};

/// The factors at which profiles are printed.
const FACTORS: [f64; 9] = [1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];

/// The performance profiles of the placers of a run.
///
/// A placer's quality on an instance of the grid is its ratio to the best there, so the share within a factor of 1 are
/// its wins. An instance on which it has no value is within no factor.
///
/// # Reference
/// E. D. Dolan, J. J. Moré, *Benchmarking optimization software with performance profiles*, Mathematical Programming 91,
/// 2002, 201–213, doi:10.1007/s101070100263.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiles {
    /// Instances whose best is above 0.
    pub instances: usize,
    /// One a placer, the best mean first.
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
    /// Seconds to place, as a geometric mean over the instances that count in means; `None` for a placer without a mean.
    pub place_seconds: Option<f64>,
}

impl Profiles {
    /// The profiles of all placers in a table, by a metric.
    ///
    /// # Errors
    /// If a cell is in the table twice, or Polars refuses.
    ///
    /// # Complexity
    /// That of the grid.
    pub fn new(table: &Table, metric: Metric) -> Result<Self, GridError> {
        Ok(Self::of(&Scores::new(table, metric, &[Metric::PlaceSeconds], Sort::Mean)?))
    }

    /// The profiles of the placers of some scores, in their order.
    pub(crate) fn of(scores: &Scores) -> Self {
        let placers = 0..scores.placers.len();
        let has_ratios = |instance: &usize| placers.clone().any(|placer| scores.ratio(placer, *instance).is_some());
        let instances: Vec<usize> = (0..scores.instances().len()).filter(has_ratios).collect();
        let profile = |placer: usize| {
            let ratios = instances.iter().filter_map(|&instance| scores.ratio(placer, instance));
            let mut ratios: Vec<f64> = ratios.collect();
            ratios.sort_by(f64::total_cmp);
            Profile {
                placer: scores.placers[placer].clone(),
                failed: instances.len() - ratios.len(),
                place_seconds: scores.mean_seconds(placer),
                ratios,
            }
        };
        Self { instances: instances.len(), placers: placers.clone().map(profile).collect() }
    }
}

impl Profile {
    /// The share of all instances on which the placer is within `factor` of the best.
    pub fn share(&self, factor: f64) -> f64 {
        let within = self.ratios.partition_point(|&ratio| ratio <= factor);
        within as f64 / (self.ratios.len() + self.failed).max(1) as f64
    }
}

/// The profiles as a table, the placers in their order.
pub fn profile_table(profiles: &Profiles) -> String {
    let mut table = new_table();
    let mut header = vec!["placer".to_owned()];
    header.extend(FACTORS.iter().map(|factor| if *factor == 1.0 { "best".to_owned() } else { format!("≤{factor}") }));
    header.extend(["failed".to_owned(), "place s".to_owned()]);
    table.set_header(header);
    // Names give way to numbers where both do not fit.
    let longest = WIDTH - FACTORS.len() * 6 - 17;
    for profile in &profiles.placers {
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
        "Performance profile: share of the {} instances (best above 0) within a factor of the best\n{}",
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
        // Two graphs; random is twice as slow, and has no value on b, since one of two draws failed.
        assert_eq!(profiles.instances, 2);
        let shares = |factor: f64| -> Vec<f64> { profiles.placers.iter().map(|p| p.share(factor)).collect() };
        assert_eq!(shares(1.0), [1.0, 0.0]);
        assert_eq!(shares(1.99), [1.0, 0.0]);
        assert_eq!(shares(2.0), [1.0, 0.5]);
        assert_eq!(profiles.placers[1].failed, 1);
        // As it has no mean, it has no mean of seconds.
        let seconds = [0, 1].map(|placer: usize| profiles.placers[placer].place_seconds);
        assert_eq!(seconds, [Some(0.25), None]);
    }

    #[test]
    fn the_table_puts_the_best_first_and_fits_a_hundred_columns() {
        let mut rows = rows();
        for row in &mut rows {
            if row.placer == "random" {
                row.placer = "random(with_a_parameter=of_a_long_name,and_another=one)".into();
            }
        }
        rows.reverse();
        let text = profile_table(&Profiles::new(&Table::new(&rows).unwrap(), Metric::Makespan).unwrap());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("share of the 2 instances"));
        assert!(lines[2].starts_with("heft") && lines[2].contains("100%"), "{text}");
        assert!(lines[3].starts_with("random(with_a") && lines[3].contains("50%"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{text}");
    }
}
