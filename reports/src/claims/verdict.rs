//! What becomes of a claim: its groups against its limits.

use super::check::{ClaimRatio, mean_interval};
use super::{Claim, Repetitions};

/// What became of a claim under a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// Enough ratios are within the limits, with their intervals.
    Holds,
    /// Too few can be.
    Fails,
    /// Intervals reach across a limit: other repetitions could decide either way.
    NotDecided,
    /// Nothing can be said, for this reason.
    CannotBeTested(String),
}

impl ClaimOutcome {
    /// What becomes of several claims together: all must hold. Those that cannot be tested do not count, unless all are such.
    pub(super) fn all<'a>(outcomes: impl Iterator<Item = &'a Self>) -> Self {
        let rank = |outcome: &Self| match outcome {
            Self::Fails => 3,
            Self::NotDecided => 2,
            Self::Holds => 1,
            Self::CannotBeTested(_) => 0,
        };
        let worst = outcomes.max_by_key(|outcome| rank(outcome));
        worst.cloned().unwrap_or_else(|| Self::CannotBeTested("there is no claim".to_owned()))
    }

    /// The verdict in words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::NotDecided => "not decided",
            Self::CannotBeTested(_) => "cannot be tested",
        }
    }

    /// The verdict as a mark in a table.
    pub fn mark(&self) -> &'static str {
        match self {
            Self::Holds => "✓",
            Self::Fails => "✗",
            Self::NotDecided => "?",
            Self::CannotBeTested(_) => "–",
        }
    }
}

/// What became of a claim under all readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds under every reading that has rows for it.
    Holds,
    /// It holds under some.
    DependsOnReading,
    /// It holds under no reading, and is not decided under one at least: more draws could turn that.
    Undecided,
    /// It fails under every reading that has rows for it.
    DoesNotHold,
    /// No reading has rows for it.
    CannotBeTested,
}

impl Standing {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 5] =
        [Self::Holds, Self::DependsOnReading, Self::Undecided, Self::DoesNotHold, Self::CannotBeTested];

    /// Of the outcomes under each reading.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a ClaimOutcome>) -> Self {
        let (mut holds, mut fails, mut open) = (false, false, false);
        for outcome in outcomes {
            match outcome {
                ClaimOutcome::Holds => holds = true,
                ClaimOutcome::Fails => fails = true,
                ClaimOutcome::NotDecided => open = true,
                ClaimOutcome::CannotBeTested(_) => {}
            }
        }
        match (holds, open, fails) {
            (true, false, false) => Self::Holds,
            (true, ..) => Self::DependsOnReading,
            (false, true, _) => Self::Undecided,
            (false, false, true) => Self::DoesNotHold,
            (false, false, false) => Self::CannotBeTested,
        }
    }
}

/// How a claim fared under a reading.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimVerdict {
    /// Mean of the ratios: geometric, of correlations arithmetic.
    pub mean: Option<f64>,
    /// The 95 % interval of the mean over groups.
    pub interval: Option<(f64, f64)>,
    /// Ratios that are within the limits with their intervals.
    pub within: usize,
    /// Ratios whose intervals do not reach the limits.
    pub outside: usize,
    /// The verdict.
    pub outcome: ClaimOutcome,
}

/// Where a number with its interval lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Within,
    Across,
    Outside,
}

impl Claim {
    /// Judges the groups of a reading.
    ///
    /// Where a verdict rests on several intervals, their number counts. That every group is within needs no correction: if one
    /// is not, its own interval has to mislead (an intersection–union test). That some are, or that too many are outside, one
    /// interval of all could say by chance: these go by the joint intervals, with Bonferroni's correction.
    ///
    /// # Reference
    /// R. L. Berger, *Multiparameter hypothesis testing and acceptance sampling*, Technometrics 24(4), 1982, 295–300,
    /// doi:10.2307/1267823.
    ///
    /// # Complexity
    /// O(groups); for a claim about an average 1000 times that.
    pub fn judge(&self, groups: &[ClaimRatio]) -> ClaimVerdict {
        let needed = match self.repetitions {
            Repetitions::Some => 1.0,
            _ => self.share * groups.len() as f64,
        };
        let count = |wanted: Place, interval: fn(&ClaimRatio) -> Option<(f64, f64)>| {
            let place = |group: &&ClaimRatio| self.place(interval(group).unwrap_or((group.value, group.value)));
            groups.iter().filter(|group| place(group) == wanted).count()
        };
        let all = needed >= groups.len() as f64;
        let within = count(Place::Within, if all { |group| group.interval } else { |group| group.joint_interval });
        let outside = count(Place::Outside, |group| group.joint_interval);
        let (mean, interval) = mean_interval(groups, self.correlates_with.is_none());
        let outcome = match (mean, self.on_average) {
            (None, _) => {
                let nothing = || match self.distributes {
                    true => "no draw distributes its ops over several accelerators".to_owned(),
                    false => "the run has no rows to compare".to_owned(),
                };
                ClaimOutcome::CannotBeTested(self.cannot_be_tested.clone().unwrap_or_else(nothing))
            }
            (Some(mean), true) => match self.place(interval.unwrap_or((mean, mean))) {
                Place::Within => ClaimOutcome::Holds,
                Place::Across => ClaimOutcome::NotDecided,
                Place::Outside => ClaimOutcome::Fails,
            },
            (Some(_), false) => match (within as f64 >= needed, ((groups.len() - outside) as f64) < needed) {
                (true, _) => ClaimOutcome::Holds,
                (false, true) => ClaimOutcome::Fails,
                (false, false) => ClaimOutcome::NotDecided,
            },
        };
        ClaimVerdict { mean, interval, within, outside, outcome }
    }

    /// Whether a group is within the limits with its interval.
    pub(super) fn is_within(&self, group: &ClaimRatio) -> bool {
        self.place(group.interval.unwrap_or((group.value, group.value))) == Place::Within
    }

    fn place(&self, (low, high): (f64, f64)) -> Place {
        let (above, below) = (self.above.unwrap_or(f64::NEG_INFINITY), self.below.unwrap_or(f64::INFINITY));
        if low > above && high < below {
            Place::Within
        } else if high > above && low < below {
            Place::Across
        } else {
            Place::Outside
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str) -> Claim {
        toml::from_str(&format!("figure = '1'\ntext = 't'\nmetric = 'makespan'\n{text}")).unwrap()
    }

    fn group(value: f64, interval: Option<(f64, f64)>) -> ClaimRatio {
        ClaimRatio { label: String::new(), value, interval, joint_interval: interval, rows: 2, samples: 1 }
    }

    #[test]
    fn one_interval_of_many_must_be_further_outside_to_decide_but_not_further_within() {
        let joint = |value, interval, joint| ClaimRatio { joint_interval: Some(joint), ..group(value, Some(interval)) };
        let outcome =
            |text: &str, group: ClaimRatio| claim(text).judge(&[group, joint(2.0, (1.9, 2.1), (1.8, 2.2))]).outcome;
        assert_eq!(outcome("above = 1", joint(1.2, (1.1, 1.3), (0.9, 1.4))), ClaimOutcome::Holds);
        assert_eq!(outcome("above = 1", joint(0.8, (0.7, 0.9), (0.6, 1.1))), ClaimOutcome::NotDecided);
        assert_eq!(outcome("above = 1", joint(0.8, (0.7, 0.9), (0.6, 0.95))), ClaimOutcome::Fails);
        // One of two suffices, and might be within by chance.
        let half = "below = 1\nshare = 0.5";
        assert_eq!(outcome(half, joint(0.8, (0.7, 0.9), (0.6, 1.1))), ClaimOutcome::NotDecided);
        assert_eq!(outcome(half, joint(0.8, (0.7, 0.9), (0.6, 0.95))), ClaimOutcome::Holds);
    }

    #[test]
    fn a_verdict_that_its_interval_contradicts_is_not_decided() {
        let outcome = |value, interval| claim("above = 1").judge(&[group(value, Some(interval))]).outcome;
        assert_eq!(outcome(1.2, (1.1, 1.3)), ClaimOutcome::Holds);
        assert_eq!(outcome(1.2, (0.9, 1.5)), ClaimOutcome::NotDecided);
        assert_eq!(outcome(0.8, (0.6, 1.1)), ClaimOutcome::NotDecided);
        assert_eq!(outcome(0.8, (0.7, 0.9)), ClaimOutcome::Fails);
        assert_eq!(claim("above = 1").judge(&[group(1.0, None)]).outcome, ClaimOutcome::Fails);
        assert_eq!(claim("above = 1").judge(&[]).outcome.words(), "cannot be tested");
    }

    #[test]
    fn every_group_counts_unless_the_claim_says_almost_some_or_on_average() {
        let groups = [group(2.0, None), group(3.0, None), group(0.5, None), group(4.0, None)];
        let outcome = |text: &str| claim(text).judge(&groups).outcome;
        assert_eq!(outcome("above = 1"), ClaimOutcome::Fails);
        assert_eq!(outcome("above = 1\nshare = 0.75"), ClaimOutcome::Holds);
        assert_eq!(outcome("below = 1\nrepetitions = 'some'"), ClaimOutcome::Holds);
        assert_eq!(outcome("above = 5\nrepetitions = 'some'"), ClaimOutcome::Fails);
        // The geometric mean is 1.86, and resampled groups reach from 0.5 to 4.
        assert_eq!(outcome("above = 0.4\non_average = true"), ClaimOutcome::Holds);
        assert_eq!(outcome("above = 1.5\non_average = true"), ClaimOutcome::NotDecided);
        assert_eq!(outcome("above = 4.5\non_average = true"), ClaimOutcome::Fails);
    }

    #[test]
    fn one_group_across_the_limit_leaves_every_open_and_one_outside_decides() {
        let across = group(1.1, Some((0.9, 1.2)));
        assert_eq!(claim("above = 1").judge(&[group(2.0, None), across.clone()]).outcome, ClaimOutcome::NotDecided);
        assert_eq!(claim("above = 1").judge(&[group(0.5, None), across]).outcome, ClaimOutcome::Fails);
    }

    #[test]
    fn a_claim_stands_by_its_outcomes_under_all_readings() {
        let [holds, fails, open] = [ClaimOutcome::Holds, ClaimOutcome::Fails, ClaimOutcome::NotDecided];
        let none = ClaimOutcome::CannotBeTested(String::new());
        assert_eq!(Standing::of([&holds, &none]), Standing::Holds);
        assert_eq!(Standing::of([&holds, &open]), Standing::DependsOnReading);
        assert_eq!(Standing::of([&fails, &holds]), Standing::DependsOnReading);
        assert_eq!(Standing::of([&fails, &none]), Standing::DoesNotHold);
        assert_eq!(Standing::of([&fails, &open]), Standing::Undecided);
        assert_eq!(Standing::of([&open, &none]), Standing::Undecided);
        assert_eq!(Standing::of([&none, &none]), Standing::CannotBeTested);
    }
}
