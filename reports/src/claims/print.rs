//! Claims and verdicts as Markdown.

use super::{Checked, Claim, ClaimOutcome, ClaimRatio, ClaimVerdict, Claims, Standing};
use crate::export::TextTable;

/// The longest line of prose.
const WIDTH: usize = 118;
/// Groups outside the limits that a list shows.
const SHOWN: usize = 6;

/// Prose in lines of at most [`WIDTH`] characters; every line but the first is indented.
pub(super) fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.len() - 1;
        if lines[line].chars().count() + 1 + word.chars().count() > WIDTH && !lines[line].trim().is_empty() {
            lines.push(format!("{indent}{word}"));
        } else {
            let space = if lines[line].is_empty() { "" } else { " " };
            lines[line].push_str(&format!("{space}{word}"));
        }
    }
    lines.join("\n")
}

/// A ratio for people: two digits after the point, more where it is close to 1 without being 1.
fn number(value: f64) -> String {
    match (value - 1.0).abs() {
        distance if distance > 0.0 && distance < 0.005 => format!("{value:.4}"),
        _ => format!("{value:.2}"),
    }
}

impl Claim {
    /// The limits in words.
    pub fn expectation(&self) -> String {
        let limits = match (self.above, self.below) {
            (Some(above), Some(below)) => format!("{above} to {below}"),
            (Some(above), None) => format!("> {above}"),
            (None, Some(below)) => format!("< {below}"),
            (None, None) => return "-".to_owned(),
        };
        let limits = match self.correlates_with {
            None => limits,
            Some(_) => format!("correlation {limits}"),
        };
        let limits = if self.on_average { format!("{limits} on average") } else { limits };
        let limits =
            if self.repetitions == super::Repetitions::Some { format!("{limits} in some run") } else { limits };
        if self.share < 1.0 { format!("{limits} in {:.0} %", self.share * 100.0) } else { limits }
    }
}

/// The least and the most of the groups.
fn range(groups: &[ClaimRatio]) -> String {
    let values = || groups.iter().map(|group| group.value);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    match groups {
        [] => String::new(),
        [only] => number(only.value),
        _ if number(least) == number(most) => number(least),
        _ => format!("{}–{}", number(least), number(most)),
    }
}

/// A group with its interval.
fn group_text(ClaimRatio { label, value, interval, .. }: &ClaimRatio) -> String {
    let interval = interval.map(|(low, high)| format!(" ({} to {})", number(low), number(high))).unwrap_or_default();
    format!("{label} {}{interval}", number(*value)).trim_start().to_owned()
}

/// Readings, verdicts and what explains them, as Markdown.
pub fn claims_markdown(claims: &Claims, checked: &Checked) -> String {
    let verdicts: Vec<Vec<ClaimVerdict>> =
        (0..claims.claims.len()).map(|claim| checked.verdicts(claims, claim)).collect();
    let mut text = readings(claims, &verdicts);
    text.push_str(&format!("\n{}\n\n", wrapped(&counts(claims, checked), "")));
    text.push_str(&table(claims, checked));
    let details = details(claims, checked, &verdicts);
    if !details.is_empty() {
        let lead = "What is not within the limits, under the first reading where a claim fails or is open, with the 95 % \
                    interval over repetitions:";
        text.push_str(&format!("\n{}\n\n{details}", wrapped(lead, "")));
    }
    text
}

/// How many claims stand how, in bold.
pub(crate) fn counts(claims: &Claims, checked: &Checked) -> String {
    let standings: Vec<Standing> = (0..claims.claims.len()).map(|claim| checked.standing(claims, claim)).collect();
    let count = |wanted: Standing| standings.iter().filter(|standing| **standing == wanted).count();
    let several = claims.readings.len() > 1;
    let words = |standing| match standing {
        Standing::Holds if several => "hold under every reading",
        Standing::Holds => "hold",
        Standing::DependsOnReading => "hold under some",
        Standing::Undecided => "are not decided",
        Standing::DoesNotHold => "do not hold",
        Standing::CannotBeTested => "cannot be tested",
    };
    let counted = Standing::ALL.into_iter().filter(|&standing| several || standing != Standing::DependsOnReading);
    let counted: Vec<String> = counted.map(|standing| format!("{} {}", count(standing), words(standing))).collect();
    let (last, others) = counted.split_last().expect("there are several standings");
    format!("**Of {} claims {}, and {last}.**", standings.len(), others.join(", "))
}

/// The readings, and how many claims hold under each.
fn readings(claims: &Claims, verdicts: &[Vec<ClaimVerdict>]) -> String {
    let mut text = String::from(
        "| reading | what is read how | holds ✓ | does not hold ✗ | not decided ? |\n|---|---|--:|--:|--:|\n",
    );
    for (index, reading) in claims.readings.iter().enumerate() {
        let count = |wanted: ClaimOutcome| verdicts.iter().filter(|verdicts| verdicts[index].outcome == wanted).count();
        let (holds, fails, open) =
            (count(ClaimOutcome::Holds), count(ClaimOutcome::Fails), count(ClaimOutcome::NotDecided));
        text.push_str(&format!("| {} | {} | {holds} | {fails} | {open} |\n", reading.name, reading.text));
    }
    text
}

/// A claim a row, a reading a column, as Markdown.
fn table(claims: &Claims, checked: &Checked) -> String {
    let TextTable { header, rows } = claims_table(claims, checked);
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|--:|{}\n", "---|".repeat(header.len() - 1));
    [line(&header), rule].into_iter().chain(rows.iter().map(|row| line(row))).collect()
}

/// A claim a row, a reading a column.
pub(crate) fn claims_table(claims: &Claims, checked: &Checked) -> TextTable {
    let readings = claims.readings.iter().map(|reading| reading.name.as_str());
    let header = ["#", "where", "claim", "expected", "source"].into_iter().chain(readings).chain(["verdict"]);
    let mut table = TextTable::new(header);
    for (index, claim) in claims.claims.iter().enumerate() {
        let verdicts = checked.verdicts(claims, index);
        let printed = claim.printed.clone().unwrap_or_default();
        let mut row =
            vec![(index + 1).to_string(), claim.figure.clone(), claim.text.clone(), claim.expectation(), printed];
        for (groups, verdict) in checked.groups.iter().zip(&verdicts) {
            let cell = match (&verdict.mean, claim.on_average) {
                (Some(mean), true) => number(*mean),
                _ => range(&groups[index]),
            };
            row.push(format!("{cell} {}", verdict.outcome.mark()).trim_start().to_owned());
        }
        row.push(standing(checked.standing(claims, index), &verdicts));
        table.push(row);
    }
    table
}

/// How a claim stands, in words.
fn standing(standing: Standing, verdicts: &[ClaimVerdict]) -> String {
    let holds = verdicts.iter().filter(|verdict| verdict.outcome == ClaimOutcome::Holds).count();
    match standing {
        Standing::Holds => "holds".to_owned(),
        Standing::DependsOnReading => format!("holds under {holds} of {}", verdicts.len()),
        Standing::DoesNotHold => "does not hold".to_owned(),
        Standing::Undecided => "not decided".to_owned(),
        Standing::CannotBeTested => "cannot be tested".to_owned(),
    }
}

/// For each claim that does not hold under every reading: why not.
fn details(claims: &Claims, checked: &Checked, verdicts: &[Vec<ClaimVerdict>]) -> String {
    let mut text = String::new();
    for (index, claim) in claims.claims.iter().enumerate() {
        let mut item = format!("- **{}.**", index + 1);
        let open =
            verdicts[index].iter().position(|v| matches!(v.outcome, ClaimOutcome::Fails | ClaimOutcome::NotDecided));
        if let Some(reading) = open {
            let (groups, verdict) = (&checked.groups[reading][index], &verdicts[index][reading]);
            let not_within: Vec<&ClaimRatio> = groups.iter().filter(|group| !claim.is_within(group)).collect();
            let name = if claims.readings.len() > 1 { &claims.readings[reading].name } else { "" };
            let verdict = verdict.outcome.words();
            item.push_str(&format!(" {verdict}{}{name}: ", if name.is_empty() { "" } else { " under " }));
            if groups.len() > 1 {
                item.push_str(&format!("{} of {} groups not within the limits; ", not_within.len(), groups.len()));
            }
            let shown: Vec<String> = not_within.iter().take(SHOWN).map(|group| group_text(group)).collect();
            item.push_str(&shown.join(", "));
            let rest = not_within.len().saturating_sub(SHOWN);
            item.push_str(&if rest > 0 { format!(" and {rest} more.") } else { ".".to_owned() });
        } else if let Some(ClaimOutcome::CannotBeTested(reason)) =
            verdicts[index].first().map(|verdict| &verdict.outcome)
        {
            item.push_str(&format!(" cannot be tested: {reason}."));
        } else {
            continue;
        }
        if let (Some(why), Some(command)) = (&claim.why, &claim.shown_by) {
            item.push_str(&format!(" {why} Shown by `{command}`."));
        }
        text.push_str(&wrapped(&item, "  "));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::checked::tests::example;

    #[test]
    fn each_reading_has_a_verdict_of_its_own_and_a_claim_stands_by_all_of_them() {
        let (claims, checked) = example();
        let markdown = claims_markdown(&claims, &checked);
        for expected in [
            "| A | free | 1 | 0 | 0 |\n| B | one port | 0 | 1 | 0 |\n",
            "**Of 2 claims 0 hold under every reading, 1 hold under some, 0 are not decided, 0 do not hold, and 1 cannot be\ntested.**",
            "| 1 | 1 | t | < 3 | 2 | 2.00 ✓ | 4.00 ✗ | holds under 1 of 2 |\n",
            "| 2 | 9 | u | - |  | – | – | cannot be tested |\n",
            "- **1.** does not hold under B: 2 of 2 groups not within the limits; a fifo 4.00, a pct 4.00. Because. Shown by\n  \
             `placebench run x`.\n",
            "- **2.** cannot be tested: no accuracy.\n",
        ] {
            assert!(markdown.contains(expected), "{markdown}\n   lacks   {expected}");
        }
    }

    #[test]
    fn prose_is_wrapped_and_what_is_nearly_one_shows_that_it_is_not() {
        let text = wrapped(&"word ".repeat(60), "  ");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH) && text.lines().count() == 3, "{text}");
        assert_eq!([1.0, 0.99999, 0.9951, 1.2345].map(number), ["1.00", "1.0000", "0.9951", "1.23"]);
    }
}
