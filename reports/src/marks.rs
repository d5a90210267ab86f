//! Marks on placers whose authors assume what does not hold in a run, and whom numbers move far.

use std::collections::BTreeMap;

use placebench_algorithms::fairness::{Assumption, Law, size};
use placebench_harness::results::grid::Grid;

/// What stands behind the name of a marked placer. Footnotes use daggers, which the figures' font lacks.
pub(crate) const MARK: char = '°';

/// The placers of a run whose authors assume what some instance breaks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// By assumption: the placers, in the order of the rows.
    broken: BTreeMap<Assumption, Vec<String>>,
    /// Placers of a run with one numbering whose makespans typically differ by this much under others, in the order of the rows.
    moved: Vec<(String, f64)>,
    /// The numberings over which means are taken; 0 or 1 where there is but one.
    numberings: u32,
}

/// From here on the note says by how much numbers move a placer.
const FAR: f64 = 1.1;

impl Marks {
    /// The marks and notes of a run.
    pub(crate) fn of(grid: &Grid) -> Self {
        let broken = grid.assumptions_broken.iter().map(|(placer, broken)| (&**placer, &**broken));
        let is_moved = |(placer, spec): (&String, &String)| {
            let name = spec.split_once('(').map_or(spec.as_str(), |(name, _)| name);
            let sizes = [Law::RelabelledOps, Law::RelabelledDevices].into_iter().filter_map(|law| size(name, law));
            sizes.reduce(f64::max).filter(|&size| size >= FAR).map(|size| (placer.clone(), size))
        };
        let numberings = grid.numberings();
        let moved = match numberings {
            0 | 1 => grid.placers.iter().zip(&grid.specs).filter_map(is_moved).collect(),
            _ => Vec::new(),
        };
        Self { moved, numberings, ..Self::new(broken) }
    }

    /// The marks of placers, in the order of the rows, each with what the column `assumptions_broken` says of it.
    pub(crate) fn new<'a>(broken: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut marks = Self::default();
        for (placer, names) in broken {
            for assumption in Assumption::ALL.into_iter().filter(|own| names.split(", ").any(|name| name == own.name()))
            {
                let marked = marks.broken.entry(assumption).or_default();
                if !marked.iter().any(|known| known == placer) {
                    marked.push(placer.to_owned());
                }
            }
        }
        marks
    }

    /// A placer as tables and figures show it: with a mark, if it has one.
    pub fn shown(&self, placer: &str) -> String {
        let is_marked = self.broken.values().flatten().any(|marked| marked == placer);
        format!("{placer}{}", if is_marked { String::from(MARK) } else { String::new() })
    }

    /// What the marks mean, for each assumption with its placers, and whom numbers move far; `None` if there is nothing to say.
    pub fn note(&self) -> Option<String> {
        let notes: Vec<String> = [self.assumptions(), self.numbers()].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join(" "))
    }

    fn numbers(&self) -> Option<String> {
        if self.numberings > 1 {
            return Some(format!(
                "A placer whose answer depends on the numbers of ops and devices stands with its mean over {} numberings.",
                self.numberings
            ));
        }
        let placers: Vec<String> =
            self.moved.iter().map(|(placer, size)| format!("{:.0} % ({placer})", (size - 1.0) * 100.0)).collect();
        (!placers.is_empty()).then(|| {
            format!(
                "Numbers of ops and devices decide ties, and this run has one numbering: on a real graph, others typically move the makespan \
                 by {}.",
                placers.join(", ")
            )
        })
    }

    fn assumptions(&self) -> Option<String> {
        let part = |(assumption, placers): (&Assumption, &Vec<String>)| {
            format!("{} ({})", assumption.doc(), placers.join(", "))
        };
        let parts: Vec<String> = self.broken.iter().map(part).collect();
        (!parts.is_empty()).then(|| {
            format!("{MARK} The authors assume what does not hold on every instance here: {}.", parts.join("; "))
        })
    }

    /// The note in short, for a figure; the tables say which placer assumes what.
    pub(crate) fn short_note(&self) -> Option<String> {
        let parts: Vec<&str> = self.broken.keys().map(|assumption| assumption.doc()).collect();
        (!parts.is_empty()).then(|| {
            format!(
                "{MARK} The authors assume what does not hold on every instance here: {}.",
                parts.join("; or that ")
            )
        })
    }
}

/// A name without its mark.
pub(crate) fn unmarked(name: &str) -> &str {
    name.trim_end_matches(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{rows, summary_of};

    #[test]
    fn marks_name_each_assumption_with_its_placers() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.placer == "random" && row.graph == "a") {
            row.assumptions_broken = Some("equal_processors, no_kinds".into());
        }
        let marks = summary_of(&rows).marks;
        assert_eq!((marks.shown("heft"), marks.shown("random")), ("heft".into(), "random°".into()));
        assert_eq!(unmarked("random°"), "random");
        assert_eq!(
            marks.note().unwrap(),
            "° The authors assume what does not hold on every instance here: each op takes equally long on all devices that \
             may run it (random); every op may run on every device (random)."
        );
        assert_eq!(summary_of(&crate::summary::tests::rows()).marks.note(), None);
    }

    #[test]
    fn a_run_says_whom_numbers_move_far_or_over_how_many_numberings_means_are() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.placer == "random") {
            (row.placer, row.placer_spec) = ("PEFT".into(), Some("peft(average=speed)".into()));
        }
        let said = summary_of(&rows).marks.note().unwrap();
        let percent = (size("peft", Law::RelabelledOps).unwrap() - 1.0) * 100.0;
        assert!(said.ends_with(&format!("others typically move the makespan by {percent:.0} % (PEFT).")), "{said}");
        let under_another: Vec<_> =
            rows.iter().map(|row| placebench_harness::results::Row { numbering: 1, ..row.clone() }).collect();
        rows.extend(under_another);
        let said = summary_of(&rows).marks.note().unwrap();
        assert!(said.ends_with("stands with its mean over 2 numberings."), "{said}");
    }
}
