//! All claims of a source in numbers, under every reading, as a file that verdicts can be made of without the run.

use std::collections::BTreeMap;

use placebench_harness::results::Row;
use placebench_harness::results::grid::GridError;

use super::{ClaimOutcome, ClaimRatio, ClaimVerdict, Claims, Standing};

/// The groups of every claim under every reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// For each reading, for each claim.
    pub groups: Vec<Vec<Vec<ClaimRatio>>>,
}

/// Why a file of groups cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckedError {
    /// A line is not as it should be.
    #[error("{file}:{line}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// The first line of a file of groups.
const HEADER: &str = "claim\treading\tgroup\tvalue\tlow\thigh\tjoint_low\tjoint_high\trows\tsamples";

impl Checked {
    /// Checks all claims against the rows of a run; `steps` are the training steps of graphs that consist of them.
    ///
    /// # Complexity
    /// O(readings · claims · rows).
    ///
    /// # Errors
    /// If a reading has a cell twice, or Polars refuses.
    pub fn new(claims: &Claims, rows: &[Row], steps: &BTreeMap<String, f64>) -> Result<Self, GridError> {
        let mut groups = Vec::new();
        for reading in &claims.readings {
            let table = reading.rows(rows, &claims.readings)?.with_steps(steps);
            groups.push(claims.claims.iter().map(|claim| claim.groups(&table)).collect::<Result<_, _>>()?);
        }
        Ok(Self { groups })
    }

    /// The verdicts on a claim, one a reading.
    pub fn verdicts(&self, claims: &Claims, claim: usize) -> Vec<ClaimVerdict> {
        self.groups.iter().map(|groups| claims.claims[claim].judge(&groups[claim])).collect()
    }

    /// How a claim stands under all readings.
    pub fn standing(&self, claims: &Claims, claim: usize) -> Standing {
        let outcomes: Vec<ClaimOutcome> =
            self.verdicts(claims, claim).into_iter().map(|verdict| verdict.outcome).collect();
        Standing::of(&outcomes)
    }

    /// The groups as tab-separated values, one a line: claim (from 1), reading, label, value, interval, joint interval, rows,
    /// samples.
    pub fn to_tsv(&self, claims: &Claims) -> String {
        let mut text = format!("{HEADER}\n");
        for claim in 0..claims.claims.len() {
            for (reading, groups) in claims.readings.iter().zip(&self.groups) {
                for ClaimRatio { label, value, interval, joint_interval, rows, samples } in &groups[claim] {
                    let ends = |interval: &Option<(f64, f64)>| match interval {
                        Some((low, high)) => format!("{low}\t{high}"),
                        None => "\t".to_owned(),
                    };
                    let (number, name, own, joint) = (claim + 1, &reading.name, ends(interval), ends(joint_interval));
                    text.push_str(&format!("{number}\t{name}\t{label}\t{value}\t{own}\t{joint}\t{rows}\t{samples}\n"));
                }
            }
        }
        text
    }

    /// Reads what [`Checked::to_tsv`] wrote; `file` is for messages.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn from_tsv(claims: &Claims, text: &str, file: &str) -> Result<Self, CheckedError> {
        let refuse = |line: usize, reason: String| CheckedError::Line { file: file.to_owned(), line, reason };
        let mut groups = vec![vec![Vec::new(); claims.claims.len()]; claims.readings.len()];
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        if lines.next().map(|(_, line)| line) != Some(HEADER) {
            return Err(refuse(1, "no groups of claims: make the file with `placebench reproduce all`".to_owned()));
        }
        for (number, line) in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let &[claim, reading, label, value, low, high, joint_low, joint_high, rows, samples] = fields.as_slice()
            else {
                return Err(refuse(number, format!("has {} fields, but must have 10", fields.len())));
            };
            let float = |text: &str| text.parse::<f64>().map_err(|_| refuse(number, format!("'{text}' is no number")));
            let count = |text: &str| text.parse::<usize>().map_err(|_| refuse(number, format!("'{text}' is no count")));
            let unknown = |what: &str, name: &str| refuse(number, format!("there is no {what} '{name}'"));
            let position = claims.readings.iter().position(|known| known.name == reading);
            let position = position.ok_or_else(|| unknown("reading", reading))?;
            let index = count(claim)?.checked_sub(1).filter(|&index| index < claims.claims.len());
            let index = index.ok_or_else(|| unknown("claim", claim))?;
            let interval = |low: &str, high: &str| -> Result<Option<(f64, f64)>, CheckedError> {
                if low.is_empty() { Ok(None) } else { Ok(Some((float(low)?, float(high)?))) }
            };
            let (interval, joint_interval) = (interval(low, high)?, interval(joint_low, joint_high)?);
            let (value, rows, samples) = (float(value)?, count(rows)?, count(samples)?);
            groups[position][index].push(ClaimRatio {
                label: label.to_owned(),
                value,
                interval,
                joint_interval,
                rows,
                samples,
            });
        }
        Ok(Self { groups })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::summary::tests::rows;

    /// Two readings, network models; under the second, random is twice as slow. Two claims.
    pub(crate) fn example() -> (Claims, Checked) {
        let mut rows = rows();
        let mut slow = rows.clone();
        for row in &mut slow {
            row.network = "one_port".into();
            if row.placer == "random" {
                row.makespan = row.makespan.map(|makespan| 2.0 * makespan);
            }
        }
        rows.extend(slow);
        let text = "suite = 's'\ntitle = 'T'\nsource = 'x'\n\
                    [[reading]]\nname = 'A'\ntext = 'free'\nwhere = {network = ['contention_free']}\n\
                    [[reading]]\nname = 'B'\ntext = 'one port'\nwhere = {network = ['one_port']}\n\
                    [[claim]]\nfigure = '1'\ntext = 't'\nprinted = '2'\nmetric = 'makespan'\n\
                    numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph', 'scheduler']\n\
                    below = 3\nwhy = 'Because.'\nshown_by = 'placebench run x'\n\
                    [[claim]]\nfigure = '9'\ntext = 'u'\ncannot_be_tested = 'no accuracy'";
        let claims: Claims = toml::from_str(text).unwrap();
        let checked = Checked::new(&claims, &rows, &BTreeMap::new()).unwrap();
        (claims, checked)
    }

    #[test]
    fn groups_read_back_as_they_were_written_and_verdicts_follow_from_them() {
        let (claims, checked) = example();
        let text = checked.to_tsv(&claims);
        assert_eq!(text.lines().nth(3), Some("1\tB\ta fifo\t4\t\t\t\t\t4\t2"), "{text}");
        assert_eq!(Checked::from_tsv(&claims, &text, "f").unwrap(), checked);
        let outcomes: Vec<_> = checked.verdicts(&claims, 0).into_iter().map(|verdict| verdict.outcome).collect();
        assert_eq!(outcomes, [ClaimOutcome::Holds, ClaimOutcome::Fails]);
        assert_eq!(checked.standing(&claims, 0), Standing::DependsOnReading);
        assert_eq!(checked.standing(&claims, 1), Standing::CannotBeTested);
        let reason = checked.verdicts(&claims, 1).remove(0).outcome;
        assert_eq!(reason, ClaimOutcome::CannotBeTested("no accuracy".into()));
    }

    #[test]
    fn a_damaged_file_is_one_line_with_its_place() {
        let (claims, checked) = example();
        let text = checked.to_tsv(&claims);
        let cases = [
            ("claim\n".to_owned(), "f:1: no groups of claims: make the file with `placebench reproduce all`"),
            (text.replacen("\t4\t2\n", "\n", 1), "f:2: has 8 fields, but must have 10"),
            (text.replacen("\ta fifo\t2\t", "\ta fifo\ttwo\t", 1), "f:2: 'two' is no number"),
            (text.replacen("1\tA\t", "7\tA\t", 1), "f:2: there is no claim '7'"),
            (text.replacen("1\tA\t", "1\tZ\t", 1), "f:2: there is no reading 'Z'"),
        ];
        for (text, expected) in cases {
            assert_eq!(Checked::from_tsv(&claims, &text, "f").unwrap_err().to_string(), expected);
        }
    }
}
