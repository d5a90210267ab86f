//! Claims and verdicts as Markdown.

use super::{Claim, Claims, Outcome, Verdict};
use crate::query::Results;

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
        if self.share < 1.0 { format!("{limits} in {:.0} %", self.share * 100.0) } else { limits }
    }
}

impl Verdict {
    /// `least – mean – most` of the ratios.
    pub fn range(&self) -> String {
        let values = || self.ratios.iter().map(|(_, ratio)| *ratio);
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(f64::NEG_INFINITY, f64::max);
        match self.mean {
            None => "-".to_owned(),
            Some(_) if self.ratios.len() == 1 => format!("{least:.2}"),
            Some(mean) => format!("{least:.2} – {mean:.2} – {most:.2}"),
        }
    }

    /// The confidence interval of the mean.
    pub fn interval_text(&self) -> String {
        self.interval.map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.2} – {high:.2}"))
    }
}

/// All verdicts as a Markdown table, and below it the single ratios of each claim; with several network models, each
/// claim is checked under each of them, since makespans under different models do not compare.
pub fn claims_markdown(claims: &Claims, results: &Results) -> String {
    let networks = results.networks();
    let verdicts: Vec<Vec<Verdict>> = networks
        .iter()
        .map(|network| results.under(network))
        .map(|results| claims.claims.iter().map(|claim| claim.check(&results)).collect())
        .collect();
    let under = |network: &str| if networks.len() > 1 { format!("under {network}") } else { String::new() };
    let mut table = String::from("| # | figure | claim | ratio expected |");
    for network in &networks {
        let of = if networks.len() > 1 { format!(", {network}") } else { String::new() };
        table.push_str(&format!(
            " ratio measured (least – mean – most){of} | 95 % interval of the mean | within | runs | verdict |"
        ));
    }
    table.push_str(&format!("\n|---|---|---|---|{}\n", "---|---|---|---|---|".repeat(networks.len())));
    let mut details = String::new();
    for (index, claim) in claims.claims.iter().enumerate() {
        let number = index + 1;
        table.push_str(&format!("| {number} | {} | {} | {} |", claim.figure, claim.text, claim.expectation()));
        details.push_str(&format!("{number}."));
        let mut fails = false;
        if let Some(reason) = &claim.cannot_be_tested {
            details.push_str(&format!(" cannot be tested: {reason}."));
        }
        for (network, verdicts) in networks.iter().zip(&verdicts) {
            let verdict = &verdicts[index];
            fails |= verdict.outcome == Outcome::Fails;
            let (range, interval, words) = (verdict.range(), verdict.interval_text(), verdict.outcome.words());
            let within = match verdict.ratios.len() {
                0 => "-".to_owned(),
                groups => format!("{}/{groups}", verdict.within),
            };
            table.push_str(&format!(" {range} | {interval} | {within} | {} | {words} |", verdict.runs));
            if claim.cannot_be_tested.is_some() {
                continue;
            }
            let said = [words, &under(network)].join(" ");
            let said = said.trim();
            if let Outcome::CannotBeTested(reason) = &verdict.outcome {
                details.push_str(&format!(" {said}: {reason}."));
                continue;
            }
            let list: Vec<String> = verdict
                .ratios
                .iter()
                .map(|(label, ratio)| format!("{label} {ratio:.2}").trim_start().to_owned())
                .collect();
            details.push_str(&format!(" {said}: {} pairs; {}.", verdict.pairs, list.join(", ")));
        }
        if let (true, Some(why)) = (fails, &claim.why) {
            details.push_str(&format!(" {why}"));
        }
        table.push('\n');
        details.push('\n');
    }
    let counts = networks.iter().zip(&verdicts).map(|(network, verdicts)| {
        let count = |wanted: fn(&Outcome) -> bool| verdicts.iter().filter(|verdict| wanted(&verdict.outcome)).count();
        let holds = count(|outcome| *outcome == Outcome::Holds);
        let untested = count(|outcome| matches!(outcome, Outcome::CannotBeTested(_)));
        let of = if networks.len() > 1 { format!(" under {network}") } else { String::new() };
        let rest = if untested > 0 { format!(", {untested} cannot be tested") } else { String::new() };
        format!("{holds} of {} claims hold{of}{rest}.", verdicts.len())
    });
    let counts = counts.collect::<Vec<_>>().join(" ");
    format!("{table}\n{counts}\n\n{details}")
}

#[cfg(test)]
mod tests {
    use placebench_harness::results::Row;

    use super::*;
    use crate::summary::tests::rows;

    #[test]
    fn each_network_model_has_a_verdict_of_its_own() {
        let mut rows = rows();
        let mut slow: Vec<Row> = rows.clone();
        for row in &mut slow {
            row.network = "one_port".into();
            if row.placer == "random" {
                row.makespan = row.makespan.map(|makespan| 2.0 * makespan);
            }
        }
        rows.extend(slow);
        let text = "suite = 's'\nsource = 'x'\n[[claim]]\nfigure = '1'\ntext = 't'\nmetric = 'makespan'\n\
                    numerator = {placer = ['random']}\ndenominator = {placer = ['heft']}\neach = ['graph']\nbelow = 3";
        let markdown = claims_markdown(&toml::from_str(text).unwrap(), &rows.into());
        assert!(markdown.contains("| 2.00 – 2.00 – 2.00 | 2.00 – 2.00 | 2/2 | 12 | holds | 4.00 – 4.00 – 4.00 |"));
        assert!(markdown.contains("| 4.00 – 4.00 | 0/2 | 12 | does not hold |"));
        assert!(markdown.contains("1 of 1 claims hold under contention_free. 0 of 1 claims hold under one_port."));
    }

    #[test]
    fn what_cannot_be_tested_is_counted_apart_and_says_why() {
        let text = "suite = 's'\nsource = 'x'\n[[claim]]\nfigure = '9'\ntext = 't'\ncannot_be_tested = 'no accuracy'";
        let markdown = claims_markdown(&toml::from_str(text).unwrap(), &rows().into());
        assert!(markdown.contains("| 1 | 9 | t | - | - | - | - | 0 | cannot be tested |"), "{markdown}");
        assert!(markdown.contains("0 of 1 claims hold, 1 cannot be tested."), "{markdown}");
        assert!(markdown.contains("1. cannot be tested: no accuracy.\n"), "{markdown}");
    }
}
