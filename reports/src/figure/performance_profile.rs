//! Performance profiles: on what share of the instances an algorithm comes how close to the best (Dolan, Moré 2002).

use placebench_datasets::is_equal;

use super::Figure;
use super::drawing::{Datum, Drawing};
use super::estimate::Estimate;
use super::lines::{Line, LinePlot, MOST_LINES, Point, Spread};
use super::look::Look;
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::style::Style;
use crate::export::{TextTable, number_text};
use crate::marks::unmarked;

/// The performance profiles of algorithms: a line rises to the share of the instances on which the algorithm is within a
/// factor of the best.
///
/// # Reference
/// E. D. Dolan, J. J. Moré, *Benchmarking optimization software with performance profiles*, Mathematical Programming 91,
/// 2002, 201–213, doi:10.1007/s101070100263.
#[derive(Clone, Debug, PartialEq)]
pub struct PerformanceProfile {
    /// One line above the figure; may be empty.
    pub title: String,
    /// What the factors are ratios of: `makespan`.
    pub metric: String,
    /// Algorithms and their ratios to the best on the instances that they finished, ascending from 1, and on how many
    /// instances they failed.
    pub profiles: Vec<(String, Vec<f64>, usize)>,
}

/// The factor at which the axis ends, whatever the worst ratio.
const LARGEST_FACTOR: f64 = 10.0;

impl Figure for PerformanceProfile {
    fn table(&self) -> TextTable {
        let mut table = TextTable::new(["algorithm", "factor", "share"]);
        for (name, ratios, failed) in &self.profiles {
            for (factor, share) in thinned(corners(ratios, *failed)) {
                table.push([name.clone(), number_text(factor), number_text(share)]);
            }
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        let mut order: Vec<usize> = (0..self.profiles.len()).collect();
        order.sort_by(|&a, &b| mean_logarithm(&self.profiles[a]).total_cmp(&mean_logarithm(&self.profiles[b])));
        // The axis ends where the last of those that are told apart does.
        let told_apart = order.iter().take(MOST_LINES).map(|&index| &self.profiles[index].1);
        let end = told_apart.filter_map(|ratios| ratios.last()).copied().fold(1.05, f64::max).min(LARGEST_FACTOR);
        let names: Vec<&str> = self.profiles.iter().map(|(name, ..)| name.as_str()).collect();
        let lines = self.profiles.iter().zip(Look::of(&names)).map(|((name, ratios, failed), look)| {
            let corners = corners(ratios, *failed);
            let best = corners.first().map_or(0.0, |(_, share)| *share);
            let last = corners.iter().rfind(|(factor, _)| *factor <= end).map_or(0.0, |(_, share)| *share);
            let title = format!(
                "{name}: best on {}, within a factor of {} on {}",
                Unit::Share.text(best),
                number_text(end),
                Unit::Share.text(last)
            );
            let point = |(x, y)| Point { x, y: Estimate::exact(y), datum: None };
            let within = thinned(corners).into_iter().take_while(|(factor, _)| *factor <= end).chain([(end, last)]);
            Line {
                name: name.clone(),
                look,
                points: within.map(point).collect(),
                steps: true,
                datum: Some(Datum { key: unmarked(name).to_owned(), title }),
            }
        });
        let lines: Vec<Line> = lines.collect();
        let mut lines: Vec<Line> = order.into_iter().map(|index| lines[index].clone()).collect();
        let others = lines.split_off(lines.len().min(MOST_LINES));
        let plot = LinePlot {
            title: &self.title,
            x: (&Quantity::new(format!("{} / best", self.metric), Unit::One), Scale::Log { low: 1.0, high: end }),
            y: (&Quantity::new("share of instances", Unit::Share), Scale::Linear { low: 0.0, high: 1.0 }),
            lines,
            others,
            spread: Spread::None,
            table: self.table(),
        };
        plot.draw(style)
    }
}

/// How far a profile is from the best on average, the logarithm of the factor: a failure counts as [`LARGEST_FACTOR`], and so
/// does what is worse than that.
fn mean_logarithm((_, ratios, failed): &(String, Vec<f64>, usize)) -> f64 {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.min(LARGEST_FACTOR).ln()).sum();
    (logarithms + *failed as f64 * LARGEST_FACTOR.ln()) / (ratios.len() + failed).max(1) as f64
}

/// Where a profile rises, and to what share; always a corner at factor 1.
fn corners(ratios: &[f64], failed: usize) -> Vec<(f64, f64)> {
    let all = (ratios.len() + failed).max(1) as f64;
    let mut corners = vec![(1.0, 0.0)];
    for (index, &ratio) in ratios.iter().enumerate() {
        let share = (index + 1) as f64 / all;
        match corners.last_mut() {
            // Ratios that rounding tells apart are one.
            Some((factor, last)) if is_equal(*factor, ratio) => *last = share,
            _ => corners.push((ratio, share)),
        }
    }
    corners
}

/// Of more corners than this, some are left out that nobody could see.
const MOST_CORNERS: usize = 1_000;

/// Of very many corners the first, those at which the share has risen by a thousandth, and the last.
fn thinned(corners: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if corners.len() <= MOST_CORNERS {
        return corners;
    }
    let last = corners.last().copied();
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for corner in corners {
        if kept.last().is_none_or(|(_, share)| corner.1 - share >= 1.0 / MOST_CORNERS as f64) {
            kept.push(corner);
        }
    }
    kept.extend(last.filter(|last| kept.last() != Some(last)));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_corners_those_are_left_out_that_nobody_could_see() {
        let ratios: Vec<f64> = (0..50_000).map(|index| 1.0 + f64::from(index) * 1e-4).collect();
        let whole = corners(&ratios, 10_000);
        let kept = thinned(whole.clone());
        assert!((800..=MOST_CORNERS).contains(&kept.len()), "{}", kept.len());
        assert_eq!((kept.first(), kept.last()), (whole.first(), whole.last()));
        // At every factor the share is right within a thousandth and a corner.
        for (factor, share) in whole {
            let there = kept.iter().rfind(|corner| corner.0 <= factor).unwrap().1;
            assert!((0.0..1.02e-3).contains(&(share - there)), "{factor}: {there} is not {share}");
        }
        assert_eq!(thinned(corners(&[1.0, 2.0], 0)).len(), 2);
    }

    #[test]
    fn of_many_placers_the_best_ten_are_told_apart_and_the_others_are_grey() {
        let profile = |number: usize| (format!("p{number}"), vec![1.0 + number as f64; 3], usize::from(number == 0));
        let profiles: Vec<_> = (0..34).map(profile).collect();
        let figure = PerformanceProfile { title: String::new(), metric: "makespan".into(), profiles };
        let drawing = figure.draw(&Style::double_column());
        assert_eq!(drawing.marks().count(), 34);
        let names: Vec<&str> = drawing.texts().map(|text| text.text.as_str()).filter(|t| t.starts_with('p')).collect();
        // p0 is best thrice and fails once: √√10 = 1.78 on average, so it comes first; p1 to p9 follow.
        assert_eq!(names, ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"]);
        assert!(drawing.texts().any(|text| text.text == "24 others"));
    }

    #[test]
    fn a_profile_rises_at_its_ratios_and_never_reaches_what_failed() {
        assert_eq!(corners(&[1.0, 1.0, 2.0], 1), [(1.0, 0.5), (2.0, 0.75)]);
        assert_eq!(corners(&[3.0], 0), [(1.0, 0.0), (3.0, 1.0)]);
        assert_eq!(corners(&[], 2), [(1.0, 0.0)]);
    }
}
