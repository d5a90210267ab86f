//! All claims of a source in numbers, under every reading, as a file that verdicts can be made of without the run.

use std::collections::BTreeMap;

use placebench_harness::results::Row;
use placebench_harness::results::grid::GridError;

use super::cells::CellsOf;
use super::{CONTROLS, Claim, ClaimOutcome, ClaimRatio, ClaimVerdict, Claims, OrderValues, Reading, Standing};

/// The groups of every claim under every reading, what the controls would get, and what orders are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// For each reading, for each claim.
    pub groups: Vec<Vec<Vec<ClaimRatio>>>,
    /// For each of [`CONTROLS`], for each claim, under the reading that is closest to the source.
    pub controls: Vec<Vec<Vec<ClaimRatio>>>,
    /// For each order of a figure, under that reading.
    pub orders: Vec<OrderValues>,
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
const HEADER: &str = "claim\treadings\tgroup\tvalue\tlow\thigh\tjoint_low\tjoint_high\trows\tsamples";

/// What a line of an order has in front of the order's number.
const ORDER: &str = "order ";

impl Checked {
    /// Checks all claims against the rows of a run; `steps` are the training steps of graphs that consist of them.
    ///
    /// # Complexity
    /// O(readings · claims · rows).
    ///
    /// # Errors
    /// If a reading has a cell twice, or Polars refuses.
    pub fn new(claims: &Claims, rows: &[Row], steps: &BTreeMap<String, f64>) -> Result<Self, GridError> {
        let table_of = |reading: &Reading| {
            let named = |(graph, steps): (&String, &f64)| {
                [Some(graph.clone()), reading.graph(graph)].map(|name| Some((name?, *steps)))
            };
            let steps = steps.iter().flat_map(named).flatten().collect();
            Ok::<_, GridError>(reading.rows(rows, &claims.readings)?.with_steps(&steps))
        };
        // Most claims see few of the questions: readings that differ in the others share their groups.
        let mut known: BTreeMap<(usize, String), Vec<ClaimRatio>> = BTreeMap::new();
        let mut groups = Vec::new();
        for reading in &claims.readings {
            let mut cells = None;
            let mut of_reading = Vec::with_capacity(claims.claims.len());
            for (index, claim) in claims.claims.iter().enumerate() {
                let key = (index, reading.seen_by(claim));
                if !known.contains_key(&key) {
                    let cells = match &mut cells {
                        Some(cells) => cells,
                        none => none.insert(CellsOf::new(table_of(reading)?)),
                    };
                    known.insert(key.clone(), claim.under(reading).groups_of(cells)?);
                }
                of_reading.push(known[&key].clone());
            }
            groups.push(of_reading);
        }
        let mut checked = Self { groups, controls: Vec::new(), orders: Vec::new() };
        let Some(reading) = claims.readings.get(checked.closest(claims)) else { return Ok(checked) };
        let mut cells = CellsOf::new(table_of(reading)?);
        for control in CONTROLS {
            let of_claim = |claim: &Claim| match claim.about(control) {
                Some(claim) => claim.under(reading).groups_of(&mut cells),
                None => Ok(Vec::new()),
            };
            checked.controls.push(claims.claims.iter().map(of_claim).collect::<Result<Vec<_>, _>>()?);
        }
        for order in &claims.orders {
            checked.orders.push(order.values(&mut cells, reading.metric(order.metric))?);
        }
        Ok(checked)
    }

    /// The reading under which our numbers are closest to those that the source prints, all of them together: the mean of
    /// |ln(ours / the source's)| over sentences, where ours is the mean of the groups. Of equal ones, and where no number is
    /// printed, the first.
    pub fn closest(&self, claims: &Claims) -> usize {
        let distances: Vec<Option<f64>> =
            (0..claims.readings.len()).map(|reading| self.distance(claims, reading)).collect();
        let known = distances.iter().enumerate().filter_map(|(reading, distance)| distance.map(|d| (reading, d)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(reading, _)| reading)
    }

    /// How far our numbers are from those that the source prints: see [`Checked::closest`].
    pub fn distance(&self, claims: &Claims, reading: usize) -> Option<f64> {
        let far = |(claim, groups): (&Claim, &Vec<ClaimRatio>)| {
            let printed = claim.printed_value.filter(|_| claim.correlates_with.is_none())?;
            Some((claim.judge(groups).mean? / printed).ln().abs())
        };
        let mean = |all: &[f64]| (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
        let all = claims.claims.iter().zip(&self.groups[reading]).map(far).collect::<Vec<_>>();
        let of_sentence =
            |members: &Vec<usize>| mean(&members.iter().filter_map(|&claim| all[claim]).collect::<Vec<_>>());
        mean(&claims.sentences().iter().filter_map(of_sentence).collect::<Vec<_>>())
    }

    /// The verdicts on a claim, one a reading. A claim that a control passes cannot be tested, unless it says why it means
    /// something all the same.
    pub fn verdicts(&self, claims: &Claims, claim: usize) -> Vec<ClaimVerdict> {
        let refused = self.passed_by(claims, claim).filter(|_| claims.claims[claim].control_passes.is_none());
        let judge = |groups: &Vec<Vec<ClaimRatio>>| {
            let verdict = claims.claims[claim].judge(&groups[claim]);
            match refused {
                Some(control) => {
                    let reason = format!("{control} passes it, too, and nothing says what it means then");
                    ClaimVerdict { outcome: ClaimOutcome::CannotBeTested(reason), ..verdict }
                }
                None => verdict,
            }
        };
        self.groups.iter().map(judge).collect()
    }

    /// The first control that passes a claim.
    pub fn passed_by(&self, claims: &Claims, claim: usize) -> Option<&'static str> {
        let passes = |&control: &usize| {
            let verdict = self.control(claims, control, claim);
            verdict.is_some_and(|verdict| verdict.outcome == ClaimOutcome::Holds)
        };
        (0..CONTROLS.len()).find(passes).map(|control| CONTROLS[control])
    }

    /// How a claim stands under all readings.
    pub fn standing(&self, claims: &Claims, claim: usize) -> Standing {
        let outcomes: Vec<ClaimOutcome> =
            self.verdicts(claims, claim).into_iter().map(|verdict| verdict.outcome).collect();
        Standing::of(&outcomes)
    }

    /// What a control gets on a claim; `None` if the claim compares no placements.
    pub fn control(&self, claims: &Claims, control: usize, claim: usize) -> Option<ClaimVerdict> {
        let about = claims.claims[claim].about(CONTROLS[control])?;
        Some(about.judge(self.controls.get(control)?.get(claim)?))
    }

    /// How the sentences of the source stand, each once, in the order of the source: a sentence holds under a reading if all
    /// claims that rest on it do.
    pub fn sentences(&self, claims: &Claims) -> Vec<Standing> {
        let standing = |members: &Vec<usize>| {
            let verdicts: Vec<Vec<ClaimVerdict>> = members.iter().map(|&claim| self.verdicts(claims, claim)).collect();
            let together = |reading: usize| ClaimOutcome::all(verdicts.iter().map(|of| &of[reading].outcome));
            Standing::of(&(0..claims.readings.len()).map(together).collect::<Vec<_>>())
        };
        claims.sentences().iter().map(standing).collect()
    }

    /// The groups as tab-separated values, one a line: claim (from 1), readings, label, value, interval, joint interval, rows,
    /// samples. Readings are their numbers, from 1: readings under which a group is the same share a line, such as `1-4,9`.
    /// What controls get has their names in place of readings. A line of an order has `order` and its number, what makes
    /// orders of their own, the placer, and the value.
    pub fn to_tsv(&self, claims: &Claims) -> String {
        let mut text = format!("{HEADER}\n");
        let line = |ClaimRatio { label, value, interval, joint_interval, rows, samples }: &ClaimRatio| {
            let ends = |interval: &Option<(f64, f64)>| match interval {
                Some((low, high)) => format!("{low}\t{high}"),
                None => "\t".to_owned(),
            };
            format!("{label}\t{value}\t{}\t{}\t{rows}\t{samples}", ends(interval), ends(joint_interval))
        };
        for claim in 0..claims.claims.len() {
            // By what stands in a line, its readings; lines in the order of labels.
            let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (reading, groups) in (1..).zip(&self.groups) {
                groups[claim].iter().for_each(|group| lines.entry(line(group)).or_default().push(reading));
            }
            for (line, readings) in lines {
                text.push_str(&format!("{}\t{}\t{line}\n", claim + 1, ranges(&readings)));
            }
            for (control, groups) in CONTROLS.iter().zip(&self.controls) {
                groups[claim].iter().for_each(|group| {
                    text.push_str(&format!("{}\t{control}\t{}\n", claim + 1, line(group)));
                });
            }
        }
        for (number, order) in (1..).zip(&self.orders) {
            for (each, values) in order {
                for (placer, value) in values {
                    text.push_str(&format!("{ORDER}{number}\t{each}\t{placer}\t{value}\t\t\t\t\t\t\n"));
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
        let none = || vec![Vec::new(); claims.claims.len()];
        let mut groups = vec![none(); claims.readings.len()];
        let mut controls = vec![none(); CONTROLS.len()];
        let mut orders = vec![OrderValues::new(); claims.orders.len()];
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
            if let Some(order) = claim.strip_prefix(ORDER) {
                let index = count(order)?.checked_sub(1).filter(|&index| index < claims.orders.len());
                let of = &mut orders[index.ok_or_else(|| unknown("order", order))?];
                of.entry(reading.to_owned()).or_default().insert(label.to_owned(), float(value)?);
                continue;
            }
            let of: Vec<&mut Vec<Vec<ClaimRatio>>> = match CONTROLS.iter().position(|known| *known == reading) {
                Some(position) => vec![&mut controls[position]],
                None => {
                    let wanted = numbers(reading).ok_or_else(|| unknown("reading", reading))?;
                    if let Some(wrong) = wanted.iter().find(|number| !(1..=groups.len()).contains(*number)) {
                        return Err(unknown("reading", &wrong.to_string()));
                    }
                    (1..).zip(&mut groups).filter(|(number, _)| wanted.contains(number)).map(|(_, of)| of).collect()
                }
            };
            let index = count(claim)?.checked_sub(1).filter(|&index| index < claims.claims.len());
            let index = index.ok_or_else(|| unknown("claim", claim))?;
            let interval = |low: &str, high: &str| -> Result<Option<(f64, f64)>, CheckedError> {
                if low.is_empty() { Ok(None) } else { Ok(Some((float(low)?, float(high)?))) }
            };
            let (interval, joint_interval) = (interval(low, high)?, interval(joint_low, joint_high)?);
            let (value, rows, samples) = (float(value)?, count(rows)?, count(samples)?);
            let group = ClaimRatio { label: label.to_owned(), value, interval, joint_interval, rows, samples };
            of.into_iter().for_each(|of| of[index].push(group.clone()));
        }
        Ok(Self { groups, controls, orders })
    }
}

/// Ascending numbers as ranges: `1-4,9`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// The numbers of [`ranges`]; `None` if the text is none.
fn numbers(ranges: &str) -> Option<Vec<usize>> {
    let run = |run: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    let runs = ranges.split(',').map(run).collect::<Option<Vec<_>>>()?;
    // No source has as many readings: a damaged number must not take the memory.
    runs.iter().all(|run| *run.end() < 1 << 16).then(|| runs.into_iter().flatten().collect())
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
                    [[dimension]]\nname = 'network'\n\
                    [[dimension.option]]\nname = 'A'\ntext = 'free'\nwhere = {network = ['contention_free']}\n\
                    [[dimension.option]]\nname = 'B'\ntext = 'one port'\nwhere = {network = ['one_port']}\n\
                    [[claim]]\nfigure = '1'\ntext = 't'\nprinted = '2'\nprinted_value = 2.2\nmetric = 'makespan'\n\
                    numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph', 'scheduler']\n\
                    below = 3\ncontrol_passes = 'a bad placer'\nwhy = 'Because.'\nshown_by = 'placebench run x'\n\
                    [[claim]]\nfigure = '9'\ntext = 'u'\ncannot_be_tested = 'no accuracy'\n\
                    [[order]]\nfigure = '2'\ntext = 'heft first'\nmetric = 'makespan'\neach = ['graph']\n\
                    placers = [['heft'], ['random']]";
        let claims = Claims::parse(text).unwrap();
        let checked = Checked::new(&claims, &rows, &BTreeMap::new()).unwrap();
        (claims, checked)
    }

    #[test]
    fn groups_read_back_as_they_were_written_and_verdicts_follow_from_them() {
        let (claims, checked) = example();
        let text = checked.to_tsv(&claims);
        assert_eq!(text.lines().nth(2), Some("1\t2\ta fifo\t4\t\t\t\t\t4\t2"), "{text}");
        assert_eq!(Checked::from_tsv(&claims, &text, "f").unwrap(), checked);
        let outcomes: Vec<_> = checked.verdicts(&claims, 0).into_iter().map(|verdict| verdict.outcome).collect();
        assert_eq!(outcomes, [ClaimOutcome::Holds, ClaimOutcome::Fails]);
        assert_eq!(checked.standing(&claims, 0), Standing::DependsOnReading);
        assert_eq!(checked.standing(&claims, 1), Standing::CannotBeTested);
        let reason = checked.verdicts(&claims, 1).remove(0).outcome;
        assert_eq!(reason, ClaimOutcome::CannotBeTested("no accuracy".into()));
    }

    #[test]
    fn a_claim_that_a_control_passes_cannot_be_tested_unless_it_says_why() {
        let (mut claims, checked) = example();
        assert_eq!((checked.passed_by(&claims, 0), checked.passed_by(&claims, 1)), (Some("random"), None));
        claims.claims[0].control_passes = None;
        let reason = "random passes it, too, and nothing says what it means then".to_owned();
        assert_eq!(checked.verdicts(&claims, 0)[0].outcome, ClaimOutcome::CannotBeTested(reason));
        assert_eq!(checked.standing(&claims, 0), Standing::CannotBeTested);
        // A random placer is too slow for the sharper claim: nothing is refused, and the claim fails.
        claims.claims[0].below = Some(1.5);
        assert_eq!(checked.passed_by(&claims, 0), None);
        assert_eq!(checked.standing(&claims, 0), Standing::DoesNotHold);
    }

    #[test]
    fn readings_of_one_value_share_a_line() {
        assert_eq!(ranges(&[1, 2, 3, 5, 8, 9]), "1-3,5,8-9");
        assert_eq!(numbers("1-3,5,8-9"), Some(vec![1, 2, 3, 5, 8, 9]));
        assert_eq!(ranges(&[7]), "7");
        for wrong in ["", "1-", "a", "1,,2", "1-99999999999999999999", "1-4294967296"] {
            assert_eq!(numbers(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_damaged_file_is_one_line_with_its_place() {
        let (claims, checked) = example();
        let text = checked.to_tsv(&claims);
        let cases = [
            ("claim\n".to_owned(), "f:1: no groups of claims: make the file with `placebench reproduce all`"),
            (text.replacen("\t4\t2\n", "\n", 1), "f:2: has 8 fields, but must have 10"),
            (text.replacen("\ta fifo\t2\t", "\ta fifo\ttwo\t", 1), "f:2: 'two' is no number"),
            (text.replacen("1\t1\t", "7\t1\t", 1), "f:2: there is no claim '7'"),
            (text.replacen("1\t1\t", "1\tZ\t", 1), "f:2: there is no reading 'Z'"),
            (text.replacen("1\t1\t", "1\t1-3\t", 1), "f:2: there is no reading '3'"),
        ];
        for (text, expected) in cases {
            assert_eq!(Checked::from_tsv(&claims, &text, "f").unwrap_err().to_string(), expected);
        }
    }
}
