//! Claims and verdicts as Markdown.

use std::collections::BTreeMap;

use super::limits::Limit;
use super::{CONTROLS, Checked, Claim, ClaimOutcome, ClaimRatio, ClaimVerdict, Claims, Repetitions, Standing};
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
        if self.above.is_none() && self.below.is_none() {
            return "-".to_owned();
        }
        let limits = Limit { above: self.above, below: self.below }.text();
        let limits = match &self.limit {
            Some(word) => format!("{word} ({limits})"),
            None => limits,
        };
        let limits = match self.correlates_with.filter(|_| self.limit.is_none()) {
            None => limits,
            Some(_) => format!("correlation {limits}"),
        };
        let limits = if self.on_average { format!("{limits} on average") } else { limits };
        let limits = if self.repetitions == Repetitions::Some { format!("{limits} in some run") } else { limits };
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
    format!("{label} {}", with_interval(*value, *interval)).trim_start().to_owned()
}

/// A number with its interval, unless that shows nothing else.
fn with_interval(value: f64, interval: Option<(f64, f64)>) -> String {
    let interval = interval.map(|(low, high)| (number(low), number(high)));
    let interval = interval.filter(|(low, high)| low != high || *low != number(value));
    format!("{}{}", number(value), interval.map(|(low, high)| format!(" ({low} to {high})")).unwrap_or_default())
}

/// Below this many draws of a graph, a claim's verdict is preliminary.
const ENOUGH_DRAWS: usize = 10;

/// Agreement of orders, readings, verdicts and what explains them, as Markdown.
pub fn claims_markdown(claims: &Claims, checked: &Checked) -> String {
    let verdicts: Vec<Vec<ClaimVerdict>> =
        (0..claims.claims.len()).map(|claim| checked.verdicts(claims, claim)).collect();
    let mut text = format!("{}\n", wrapped(&counts(claims, checked), ""));
    text.push_str(&orders(claims, checked));
    text.push_str(&readings(claims, checked, &verdicts));
    text.push('\n');
    text.push_str(&markdown(&claims_table(claims, checked), "---"));
    let details = details(claims, checked, &verdicts);
    if !details.is_empty() {
        let lead = "Remarks. Where a claim fails or is open: what is not within its limits under the closest reading, or else \
                    under the first where it fails or is open, with the 95 % interval over draws.";
        text.push_str(&format!("\n{}\n\n{details}", wrapped(lead, "")));
    }
    text
}

/// How many sentences of the source stand how, in bold, and whether that is preliminary.
pub(crate) fn counts(claims: &Claims, checked: &Checked) -> String {
    let standings = checked.sentences(claims);
    let count = |wanted: Standing| standings.iter().filter(|standing| **standing == wanted).count();
    let several = claims.readings.len() > 1;
    let words = |standing, count| match (standing, count) {
        (Standing::Holds, 1) if several => "holds under every reading",
        (Standing::Holds, _) if several => "hold under every reading",
        (Standing::Holds, 1) => "holds",
        (Standing::Holds, _) => "hold",
        (Standing::DependsOnReading, 1) => "holds under some",
        (Standing::DependsOnReading, _) => "hold under some",
        (Standing::Undecided, 1) => "is not decided",
        (Standing::Undecided, _) => "are not decided",
        (Standing::DoesNotHold, 1) => "does not hold",
        (Standing::DoesNotHold, _) => "do not hold",
        (Standing::CannotBeTested, _) => "cannot be tested",
    };
    let counted = Standing::ALL.into_iter().filter(|&standing| several || standing != Standing::DependsOnReading);
    let counted = counted.map(|standing| (standing, count(standing)));
    let counted: Vec<String> = counted.map(|(standing, count)| format!("{count} {}", words(standing, count))).collect();
    let (last, others) = counted.split_last().expect("there are several standings");
    let what = match standings.len() == claims.claims.len() {
        true => format!("{} claims", standings.len()),
        false => format!("{} sentences ({} claims)", standings.len(), claims.claims.len()),
    };
    let holding = |&claim: &usize| checked.standing(claims, claim) == Standing::Holds;
    let holding: Vec<usize> = (0..claims.claims.len()).filter(holding).collect();
    let passed = holding.iter().filter(|&&claim| checked.passed_by(claims, claim).is_some()).count();
    let passed = match (holding.len(), passed) {
        (_, 0) => String::new(),
        (1, _) => " A control passes the claim that holds throughout, too.".to_owned(),
        (all, passed) => format!(" Of the {all} claims that hold throughout, a control passes {passed}, too."),
    };
    let preliminary = (0..claims.claims.len()).filter(|&claim| few_draws(claims, checked, claim).is_some()).count();
    let preliminary = match preliminary {
        0 => String::new(),
        1 => format!(" One verdict is preliminary: it rests on fewer than {ENOUGH_DRAWS} draws."),
        count => format!(" {count} verdicts are preliminary: they rest on fewer than {ENOUGH_DRAWS} draws."),
    };
    format!("**Of {what} {}, and {last}.**{passed}{preliminary}", others.join(", "))
}

/// The least draws of a claim's groups, if they are too few. A correlation is over cells.
fn few_draws(claims: &Claims, checked: &Checked, claim: usize) -> Option<usize> {
    let is_drawn = !claims.nothing_is_drawn && claims.claims[claim].correlates_with.is_none();
    let draws = |groups: &Vec<ClaimRatio>| match claims.claims[claim].repetitions {
        // A group is a draw, and draws of one label are told apart at its end.
        Repetitions::Some => {
            let mut draws: BTreeMap<&str, usize> = BTreeMap::new();
            let label = |group: &ClaimRatio| group.label.rfind(" #").unwrap_or_default();
            groups.iter().for_each(|group| *draws.entry(&group.label[..label(group)]).or_default() += 1);
            draws.into_values().min()
        }
        Repetitions::Mean | Repetitions::Spread => groups.iter().map(|group| group.samples).min(),
    };
    let groups = checked.groups.iter().map(|of| &of[claim]).filter(|_| is_drawn);
    groups.filter_map(draws).min().filter(|&draws| draws < ENOUGH_DRAWS)
}

/// The name of a reading, or nothing if there is but one.
fn reading_name(claims: &Claims, reading: usize) -> &str {
    if claims.readings.len() > 1 { &claims.readings[reading].name } else { "" }
}

/// How the orders of placers agree with those of the source's figures, the least first; nothing without orders.
fn orders(claims: &Claims, checked: &Checked) -> String {
    let mut rows: Vec<(f64, String)> = Vec::new();
    for (order, values) in claims.orders.iter().zip(&checked.orders) {
        let of_source: Vec<String> = order.placers.iter().map(|placers| placers.join(" = ")).collect();
        for (each, values) in values {
            let Some(found) = order.agreement(values) else { continue };
            let differ: Vec<String> = found.differ.iter().map(|(a, b)| format!("{a} < {b}")).collect();
            let differ = if differ.is_empty() { "none".to_owned() } else { differ.join(", ") };
            let (figure, source) = (&order.figure, of_source.join(" < "));
            rows.push((found.tau, format!("| {figure} | {each} | {source} | {:.2} | {differ} |\n", found.tau)));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lead = "How the order of placers agrees with the source's figures, the least first: Kendall's τ over the pairs that the \
                source tells apart (1: all agree, −1: none does), and the pairs that are the other way round or equal here.";
    let lines: String = rows.into_iter().map(|(_, line)| line).collect();
    let header = "| figure | of | the source's order | τ | pairs that differ |\n|---|---|---|--:|---|\n";
    format!("\n{}\n\n{header}{lines}", wrapped(lead, ""))
}

/// What the source leaves open, and how many claims hold under each option; then which reading is closest to the source.
fn readings(claims: &Claims, checked: &Checked, verdicts: &[Vec<ClaimVerdict>]) -> String {
    if claims.dimensions.is_empty() {
        return String::new();
    }
    let distances: Vec<Option<f64>> =
        (0..claims.readings.len()).map(|reading| checked.distance(claims, reading)).collect();
    let has_distances = distances.iter().any(Option::is_some);
    let mut text = "\n| left open | read as | what that is | claims that hold | fail | are open |".to_owned();
    text.push_str(if has_distances { " distance |\n" } else { "\n" });
    text.push_str(if has_distances { "|---|---|---|--:|--:|--:|--:|\n" } else { "|---|---|---|--:|--:|--:|\n" });
    for (place, dimension) in claims.dimensions.iter().enumerate() {
        for (index, option) in dimension.options.iter().enumerate() {
            let own: Vec<usize> = (0..claims.readings.len())
                .filter(|&reading| claims.readings[reading].options[place] == index)
                .collect();
            let mean = |wanted: ClaimOutcome| {
                let count = |&reading: &usize| verdicts.iter().filter(|of| of[reading].outcome == wanted).count();
                own.iter().map(count).sum::<usize>() as f64 / own.len() as f64
            };
            let [holds, fails, open] = [ClaimOutcome::Holds, ClaimOutcome::Fails, ClaimOutcome::NotDecided]
                .map(mean)
                .map(|mean| format!("{mean:.1}"));
            let least = own.iter().filter_map(|&reading| distances[reading]).reduce(f64::min);
            let distance = least.map(|least| format!(" {least:.2} |")).unwrap_or_default();
            let (left, name, what) = (&dimension.name, &option.name, &option.text);
            text.push_str(&format!("| {left} | {name} | {what} | {holds} | {fails} | {open} |{distance}\n"));
        }
    }
    let closest = checked.closest(claims);
    let means = "Claims are means over all readings with that option";
    let has_printed = |claim: &usize| claims.claims[*claim].printed_value.is_some();
    let printed = match claims.sentences().iter().filter(|members| members.iter().any(has_printed)).count() {
        1 => "the one sentence".to_owned(),
        count => format!("the {count} sentences"),
    };
    let about = match distances[closest] {
        Some(distance) => format!(
            "{means}; the distance is that of the closest of them: the mean of |ln(ours / the source's)| over {printed} \
             with a number in the source (of a range, its middle). The closest reading is **{}** ({distance:.2}).",
            claims.readings[closest].name,
        ),
        None => format!("{means}."),
    };
    text.push_str(&format!("\n{}\n", wrapped(&about, "")));
    text
}

/// A table as Markdown; its first column is left to itself, the others are aligned by this.
pub(super) fn markdown(TextTable { header, rows }: &TextTable, others: &str) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|---|{}\n", format!("{others}|").repeat(header.len() - 1));
    [line(header), rule].into_iter().chain(rows.iter().map(|row| line(row))).collect()
}

/// A claim a row: what it says, what it is under the closest reading, and under the others.
pub(crate) fn claims_table(claims: &Claims, checked: &Checked) -> TextTable {
    let closest = checked.closest(claims);
    let header = ["#", "where", "claim", "expected", "source", "found"];
    let several = claims.readings.len() > 1;
    let all = several.then_some("✓ ✗ ?");
    // Where no claim compares placements, controls have nothing to say.
    let controls: &[&str] = if checked.controls.iter().flatten().any(|of| !of.is_empty()) { &CONTROLS } else { &[] };
    let mut table = TextTable::new(header.into_iter().chain(all).chain(controls.iter().copied()).chain(["verdict"]));
    for (index, claim) in claims.claims.iter().enumerate() {
        let verdicts = checked.verdicts(claims, index);
        let printed = claim.printed.clone().unwrap_or_default();
        let mut row =
            vec![(index + 1).to_string(), claim.figure.clone(), claim.text.clone(), claim.expectation(), printed];
        let cell = |groups: &[ClaimRatio], verdict: &ClaimVerdict| {
            let cell = match (&verdict.mean, claim.on_average, groups) {
                (Some(mean), true, _) => with_interval(*mean, verdict.interval),
                (_, false, [only]) => group_text(&ClaimRatio { label: String::new(), ..only.clone() }),
                _ => range(groups),
            };
            format!("{cell} {}", verdict.outcome.mark()).trim_start().to_owned()
        };
        row.push(cell(&checked.groups[closest][index], &verdicts[closest]));
        if several {
            let count = |wanted| verdicts.iter().filter(|verdict| verdict.outcome == wanted).count();
            let [holds, fails, open] = [ClaimOutcome::Holds, ClaimOutcome::Fails, ClaimOutcome::NotDecided].map(count);
            row.push(if holds + fails + open == 0 { String::new() } else { format!("{holds} {fails} {open}") });
        }
        for control in 0..controls.len() {
            let verdict = checked.control(claims, control, index);
            row.push(match verdict {
                Some(verdict) if verdict.mean.is_some() => cell(&checked.controls[control][index], &verdict),
                _ => String::new(),
            });
        }
        let few = few_draws(claims, checked, index)
            .map(|draws| format!(", preliminary ({draws} draw{})", if draws == 1 { "" } else { "s" }));
        row.push(format!("{}{}", standing(checked.standing(claims, index)), few.unwrap_or_default()));
        table.push(row);
    }
    table
}

/// How a claim stands, in words.
fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Holds => "holds",
        Standing::DependsOnReading => "holds under some",
        Standing::DoesNotHold => "does not hold",
        Standing::Undecided => "not decided",
        Standing::CannotBeTested => "cannot be tested",
    }
}

/// For each claim that does not hold under every reading: why not. For each that a control passes: why it says something.
fn details(claims: &Claims, checked: &Checked, verdicts: &[Vec<ClaimVerdict>]) -> String {
    let mut text = String::new();
    let closest = checked.closest(claims);
    for (index, claim) in claims.claims.iter().enumerate() {
        let mut item = String::new();
        let mut is_unexplained = false;
        let is_open = |reading: &usize| {
            matches!(verdicts[index][*reading].outcome, ClaimOutcome::Fails | ClaimOutcome::NotDecided)
        };
        let open = Some(closest).filter(is_open).or_else(|| (0..claims.readings.len()).find(is_open));
        if let Some(reading) = open {
            let (groups, verdict_of) = (&checked.groups[reading][index], &verdicts[index][reading]);
            let is_shown = |group: &&ClaimRatio| claim.on_average || !claim.is_within(group);
            let not_within: Vec<&ClaimRatio> = groups.iter().filter(is_shown).collect();
            let name = reading_name(claims, reading);
            let verdict = verdict_of.outcome.words();
            item.push_str(&format!(" {verdict}{}{name}: ", if name.is_empty() { "" } else { " under " }));
            if claim.on_average {
                let mean = verdict_of.mean.map(|mean| with_interval(mean, verdict_of.interval)).unwrap_or_default();
                item.push_str(&format!("the mean is {mean} over "));
            } else if groups.len() > 1 {
                item.push_str(&format!("{} of {} groups not within the limits; ", not_within.len(), groups.len()));
            }
            let shown: Vec<String> = not_within.iter().take(SHOWN).map(|group| group_text(group)).collect();
            item.push_str(&shown.join(", "));
            let rest = not_within.len().saturating_sub(SHOWN);
            item.push_str(&if rest > 0 { format!(" and {rest} more.") } else { ".".to_owned() });
            // What a single change turns is explained by it.
            is_unexplained = verdict_of.outcome == ClaimOutcome::Fails
                && checked.standing(claims, index) != Standing::DependsOnReading;
            if let Some(turning) = turning(claims, &verdicts[index], reading) {
                item.push_str(&format!(" {turning}"));
            }
        } else if let Some(ClaimOutcome::CannotBeTested(reason)) =
            verdicts[index].first().map(|verdict| &verdict.outcome)
        {
            item.push_str(&format!(" cannot be tested: {reason}."));
        }
        match (&claim.why, &claim.shown_by) {
            (Some(why), Some(command)) => item.push_str(&format!(" {why} Shown by `{command}`.")),
            _ if is_unexplained => item.push_str(" Why is not known."),
            _ => {}
        }
        if let (Some(reason), Some(control)) = (&claim.control_passes, checked.passed_by(claims, index)) {
            item.push_str(&format!(" {control} passes, too: the claim is about {reason}."));
        }
        if !item.is_empty() {
            text.push_str(&wrapped(&format!("- **{}.**{item}", index + 1), "  "));
            text.push('\n');
        }
    }
    text
}

/// Which single change of a reading lets the claim hold, if it holds under any other.
fn turning(claims: &Claims, verdicts: &[ClaimVerdict], from: usize) -> Option<String> {
    let holds = |reading: &usize| verdicts[*reading].outcome == ClaimOutcome::Holds;
    let holding: Vec<usize> = (0..claims.readings.len()).filter(holds).collect();
    let own = &claims.readings[from].options;
    let changes = |reading: &usize| {
        let others = claims.readings[*reading].options.iter().enumerate();
        others.filter(|(place, option)| own[*place] != **option).collect::<Vec<_>>()
    };
    let turns: Vec<String> = holding
        .iter()
        .map(changes)
        .filter(|changes| changes.len() == 1)
        .map(|changes| {
            let (place, &option) = changes[0];
            let dimension = &claims.dimensions[place];
            format!("{} read as \"{}\"", dimension.name, dimension.options[option].name)
        })
        .collect();
    let count = holding.len();
    (count > 0).then(|| match turns.as_slice() {
        [] if count == 1 => {
            "It holds under one other reading, which differs from this one in several points.".to_owned()
        }
        [] => format!("It holds under {count} other readings, each of which differs from this one in several points."),
        turns => format!("It holds with one change: {}.", turns.join(", or ")),
    })
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
            "| left open | read as | what that is | claims that hold | fail | are open | distance |\n",
            "| network | A | free | 1.0 | 0.0 | 0.0 | 0.10 |\n| network | B | one port | 0.0 | 1.0 | 0.0 | 0.60 |\n",
            "over the one sentence with a number in the source (of a range, its middle). The closest reading is\n**A** (0.10).",
            "**Of 2 claims 0 hold under every reading, 1 holds under some, 0 are not decided, 0 do not hold, and 1 cannot be\ntested.** \
             One verdict is preliminary: it rests on fewer than 10 draws.",
            "| 1 | 1 | t | < 3 | 2 | 2.00 ✓ | 1 1 0 |  | 2.00 ✓ | holds under some, preliminary (2 draws) |\n",
            "| 2 | 9 | u | - |  | – |  |  |  | cannot be tested |\n",
            "- **1.** does not hold under B: 2 of 2 groups not within the limits; a fifo 4.00, a pct 4.00. It holds with one\n  \
             change: network read as \"A\". Because. Shown by `placebench run x`. random passes, too: the claim is about a bad\n  \
             placer.\n",
            "- **2.** cannot be tested: no accuracy.\n",
            "| 2 | a | heft < random | 1.00 | none |\n",
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
