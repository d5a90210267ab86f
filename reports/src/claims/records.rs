//! Claims and verdicts for programs.

use serde::Serialize;

use super::{Checked, ClaimOutcome, ClaimRatio, Claims};

/// All claims of a source, checked under every reading.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimsDocument<'a> {
    /// Full citation.
    pub source: &'a str,
    /// The ways to read what the source leaves open.
    pub readings: Vec<ReadingRecord<'a>>,
    /// The claims, in the order of the source.
    pub claims: Vec<ClaimRecord<'a>>,
}

/// A reading.
#[derive(Clone, Debug, Serialize)]
pub struct ReadingRecord<'a> {
    /// A letter or a word.
    pub name: &'a str,
    /// What is read how.
    pub text: &'a str,
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
}

/// What became of a claim under a reading.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictRecord<'a> {
    /// Name of the reading.
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
        let verdicts = |claim: usize| {
            let outcomes = checked.verdicts(claims, claim).into_iter().map(|verdict| verdict.outcome);
            let of = claims.readings.iter().zip(&checked.groups).zip(outcomes);
            of.map(|((reading, groups), outcome)| VerdictRecord {
                reading: &reading.name,
                outcome: outcome.words(),
                reason: match outcome {
                    ClaimOutcome::CannotBeTested(reason) => Some(reason),
                    _ => None,
                },
                groups: &groups[claim],
            })
            .collect()
        };
        let record = |(index, claim): (usize, &'a super::Claim)| ClaimRecord {
            number: index + 1,
            figure: &claim.figure,
            text: &claim.text,
            expected: claim.expectation(),
            printed: claim.printed.as_deref(),
            verdicts: verdicts(index),
        };
        let readings = claims.readings.iter().map(|reading| ReadingRecord { name: &reading.name, text: &reading.text });
        Self {
            source: &claims.source,
            readings: readings.collect(),
            claims: claims.claims.iter().enumerate().map(record).collect(),
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
    }
}
