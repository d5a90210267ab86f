//! Claims and verdicts for programs.

use serde::Serialize;

use super::{CONTROLS, Checked, ClaimOutcome, ClaimRatio, Claims, Standing};

/// All claims of a source, checked under every reading.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimsDocument<'a> {
    /// Full citation.
    pub source: &'a str,
    /// What the source leaves open, in all combinations of readings.
    pub readings: Vec<ReadingRecord<'a>>,
    /// The reading whose numbers are closest to those that the source prints.
    pub closest: &'a str,
    /// How many sentences of the source hold under every reading, under some, are not decided, do not hold, and cannot be
    /// tested.
    pub counts: [usize; 5],
    /// The claims, in the order of the source.
    pub claims: Vec<ClaimRecord<'a>>,
    /// How our orders of placers agree with those of the source's figures, under the closest reading.
    pub orders: Vec<OrderRecord<'a>>,
}

/// An order of placers in a figure of the source, and ours.
#[derive(Clone, Debug, Serialize)]
pub struct OrderRecord<'a> {
    /// The figure in the source.
    pub figure: &'a str,
    /// Which order of the figure, such as the graph.
    pub of: &'a str,
    /// Kendall's τ over the pairs that the source tells apart.
    pub tau: f64,
    /// The pairs that are the other way round or equal here, in the source's order.
    pub differ: Vec<(String, String)>,
}

/// A reading.
#[derive(Clone, Debug, Serialize)]
pub struct ReadingRecord<'a> {
    /// The names of its options.
    pub name: &'a str,
    /// For each question that the source leaves open, what is read how.
    pub text: Vec<&'a str>,
}

/// A claim with its verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimRecord<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The figure or section in the source.
    pub figure: &'a str,
    /// What the source says.
    pub text: &'a str,
    /// The limits in words.
    pub expected: String,
    /// The number that the source prints.
    pub printed: Option<&'a str>,
    /// One for each reading.
    pub verdicts: Vec<VerdictRecord<'a>>,
    /// What placers that know nothing get on the claim, under the closest reading.
    pub controls: Vec<VerdictRecord<'a>>,
}

/// What became of a claim under a reading.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictRecord<'a> {
    /// Name of the reading, or of the control.
    pub reading: &'a str,
    /// `holds`, `does not hold`, `not decided` or `cannot be tested`.
    pub outcome: &'static str,
    /// Why it cannot be tested.
    pub reason: Option<String>,
    /// Each ratio or correlation that counts, with its interval.
    pub groups: &'a [ClaimRatio],
}

impl<'a> ClaimsDocument<'a> {
    /// The claims with what was found.
    pub fn new(claims: &'a Claims, checked: &'a Checked) -> Self {
        let of = |name: &'a str, groups: &'a [ClaimRatio], outcome: ClaimOutcome| VerdictRecord {
            reading: name,
            outcome: outcome.words(),
            reason: match outcome {
                ClaimOutcome::CannotBeTested(reason) => Some(reason),
                _ => None,
            },
            groups,
        };
        let controls = |claim: usize| {
            let verdict = |(index, name): (usize, &'a &'static str)| {
                Some(of(name, &checked.controls[index][claim], checked.control(claims, index, claim)?.outcome))
            };
            CONTROLS.iter().enumerate().filter_map(verdict).collect()
        };
        let verdicts = |claim: usize| {
            let outcomes = checked.verdicts(claims, claim).into_iter().map(|verdict| verdict.outcome);
            let named = claims.readings.iter().zip(&checked.groups).zip(outcomes);
            named.map(|((reading, groups), outcome)| of(&reading.name, &groups[claim], outcome)).collect()
        };
        let record = |(index, claim): (usize, &'a super::Claim)| ClaimRecord {
            number: index + 1,
            figure: &claim.figure,
            text: &claim.text,
            expected: claim.expectation(),
            printed: claim.printed.as_deref(),
            verdicts: verdicts(index),
            controls: controls(index),
        };
        let reading = |reading: &'a super::Reading| ReadingRecord {
            name: &reading.name,
            text: claims
                .dimensions
                .iter()
                .zip(&reading.options)
                .map(|(of, &at)| of.options[at].text.as_str())
                .collect(),
        };
        let standings = checked.sentences(claims);
        let agreements = claims.orders.iter().zip(&checked.orders).flat_map(|(order, values)| {
            values.iter().filter_map(|(of, values)| {
                let found = order.agreement(values)?;
                Some(OrderRecord { figure: &order.figure, of, tau: found.tau, differ: found.differ })
            })
        });
        Self {
            source: &claims.source,
            readings: claims.readings.iter().map(reading).collect(),
            closest: &claims.readings[checked.closest(claims)].name,
            counts: Standing::ALL.map(|wanted| standings.iter().filter(|&&standing| standing == wanted).count()),
            claims: claims.claims.iter().enumerate().map(record).collect(),
            orders: agreements.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::checked::tests::example;

    #[test]
    fn a_claim_has_a_verdict_for_each_reading_and_the_groups_behind_it() {
        let (claims, checked) = example();
        let document = ClaimsDocument::new(&claims, &checked);
        let outcomes = |claim: usize| {
            let verdicts = &document.claims[claim].verdicts;
            verdicts.iter().map(|verdict| (verdict.reading, verdict.outcome, verdict.groups.len())).collect::<Vec<_>>()
        };
        assert_eq!(outcomes(0), [("A", "holds", 2), ("B", "does not hold", 2)]);
        assert_eq!(outcomes(1), [("A", "cannot be tested", 0), ("B", "cannot be tested", 0)]);
        assert_eq!(document.claims[1].verdicts[0].reason.as_deref(), Some("no accuracy"));
        assert_eq!((document.closest, document.counts), ("A", [0, 1, 0, 0, 1]));
        let controls: Vec<_> = document.claims[0].controls.iter().map(|of| (of.reading, of.outcome)).collect();
        assert_eq!(controls, [("single_device", "cannot be tested"), ("random", "holds")]);
        assert_eq!((document.orders[0].tau, document.orders[0].of), (1.0, "a"));
    }
}
