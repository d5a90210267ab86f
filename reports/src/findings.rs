//! One paragraph that says what a run found, from its numbers.

use placebench_datasets::significant::bytes_text;

use crate::{Summary, optimality_text};

/// What a run found, as a paragraph.
pub fn findings(summary: &Summary) -> String {
    finding_sentences(summary).join(" ")
}

/// What a run found, point by point: who won, by how much, whether distributing paid, how far from the bound, which
/// scheduler to take, what failed.
pub fn finding_sentences(summary: &Summary) -> Vec<String> {
    let sentences = [
        optimality_text::sentence(summary),
        winner(summary),
        against_single(summary),
        bound(summary),
        traffic(summary),
        schedulers(summary),
        failures(summary),
    ];
    sentences.into_iter().flatten().collect()
}

/// How many winners beside the first are named.
const MOST_NAMED: usize = 8;

fn winner(summary: &Summary) -> Option<String> {
    let columns = summary.scenarios.len();
    let mut wins: Vec<(usize, usize)> = (0..summary.placers.len())
        .map(|placer| ((0..columns).filter(|&column| summary.ratio(placer, column) == Some(1.0)).count(), placer))
        .collect();
    wins.sort_by_key(|&(count, placer)| (std::cmp::Reverse(count), placer));
    let &(count, placer) = wins.first().filter(|&&(count, _)| count > 0)?;
    let name = &summary.placers[placer];
    let mut text = format!("{name} is best on {count} of {columns} graphs");
    let others: Vec<&(usize, usize)> = wins[1..].iter().filter(|&&(count, _)| count > 0).collect();
    let mut named: Vec<String> = others
        .iter()
        .take(MOST_NAMED)
        .map(|&&(count, placer)| format!("{} on {count}", summary.placers[placer]))
        .collect();
    if let Some(&&(count, _)) = others.get(MOST_NAMED) {
        named.push(format!("{} more on {count} or fewer", others.len() - MOST_NAMED));
    }
    if !named.is_empty() {
        text = format!("{text}, {}", named.join(", "));
    }
    let common = summary.common_scenarios().len();
    let mut means: Vec<(f64, usize)> =
        (0..summary.placers.len()).filter_map(|placer| Some((summary.mean_ratio(placer)?, placer))).collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some(first), Some(last)) = (means.first(), means.last())
        && means.len() > 1
    {
        text = format!(
            "{text}; over the {common} that all placers finish, the geometric mean of makespan / best runs from {:.2} ({}) to \
             {:.2} ({})",
            first.0, summary.placers[first.1], last.0, summary.placers[last.1]
        );
    }
    Some(text + ".")
}

fn against_single(summary: &Summary) -> Option<String> {
    let single = summary.specs.iter().position(|spec| spec.starts_with("single_device"))?;
    let ratios: Vec<(f64, usize)> =
        (0..summary.scenarios.len()).filter_map(|column| Some((summary.ratio(single, column)?, column))).collect();
    let (paid, not): (Vec<&(f64, usize)>, Vec<_>) = ratios.iter().partition(|(ratio, _)| *ratio > 1.02);
    let (most, column) = ratios.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(match (paid.len(), not.len()) {
        (0, n) => format!("Distributing never pays here: one device is within 2 % of the best on all {n} graphs."),
        (_, 0) => {
            format!("Distributing pays on every graph, most on {} ({most:.2} times one device).", summary.label(column))
        }
        (p, n) => format!(
            "Distributing pays (more than 2 %) on {p} of {} graphs, most on {} ({most:.2} times faster than one device); on the \
             other {n} a single device does as well.",
            p + n,
            summary.label(column)
        ),
    })
}

fn bound(summary: &Summary) -> Option<String> {
    let gaps: Vec<f64> = (0..summary.scenarios.len()).filter_map(|column| summary.best(column)?.1.gap).collect();
    let least = gaps.iter().copied().reduce(f64::min)?;
    let most = gaps.iter().copied().reduce(f64::max)?;
    Some(format!("The best makespans are {least:.2} to {most:.2} times the proven lower bound."))
}

fn traffic(summary: &Summary) -> Option<String> {
    let total = |placer: usize| -> Option<f64> {
        let columns = summary.common_scenarios();
        (!columns.is_empty()).then(|| {
            columns.iter().filter_map(|&column| Some(summary.entries[placer][column].as_ref()?.traffic_bytes)).sum()
        })
    };
    let totals = (0..summary.placers.len()).filter_map(|placer| Some((total(placer)?, placer)));
    // One device moves next to nothing by design, and so do placers that answer with one device.
    let single = (0..summary.placers.len()).filter(|&placer| summary.specs[placer].starts_with("single_device"));
    let by_design = single.filter_map(total).fold(0.0, f64::max);
    let mut moving: Vec<(f64, usize)> = totals.filter(|&(bytes, _)| bytes > by_design).collect();
    moving.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, last) = (moving.first()?, moving.last()?);
    (moving.len() > 1).then(|| {
        format!(
            "Among the placers that distribute, {} moves least ({} in all) and {} most ({}).",
            summary.placers[first.1],
            bytes_text(first.0),
            summary.placers[last.1],
            bytes_text(last.0)
        )
    })
}

fn schedulers(summary: &Summary) -> Option<String> {
    let comparison = &summary.schedulers;
    if comparison.ratios.len() < 2 {
        return None;
    }
    let list: Vec<String> = comparison.ratios.iter().map(|(name, ratio)| format!("{name} {ratio:.3}")).collect();
    Some(format!(
        "Schedulers, as geometric mean of makespan / the best scheduler's over {} placements: {}.",
        comparison.placements,
        list.join(", ")
    ))
}

fn failures(summary: &Summary) -> Option<String> {
    let list: Vec<String> = summary.failed.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let total = summary.ok + summary.failed.values().sum::<usize>();
    (!list.is_empty()).then(|| format!("Of {total} cells, {} failed: {}.", total - summary.ok, list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{rows, summary_of};

    #[test]
    fn of_many_winners_only_the_first_are_named() {
        let mut all = Vec::new();
        for placer in 0..12 {
            all.extend(rows().into_iter().filter(|row| row.placer == "heft").map(|mut row| {
                row.placer = format!("p{placer}");
                row
            }));
        }
        let sentence = winner(&summary_of(&all)).unwrap();
        assert!(sentence.starts_with("p0 is best on 2 of 2 graphs, p1 on 2, "), "{sentence}");
        assert!(sentence.contains("p8 on 2, 3 more on 2 or fewer;"), "{sentence}");
    }

    #[test]
    fn the_paragraph_names_winner_schedulers_and_failures() {
        let text = findings(&summary_of(&rows()));
        assert_eq!(
            text,
            "heft is best on 2 of 2 graphs; over the 1 that all placers finish, the geometric mean of makespan / best runs \
             from 1.00 (heft) to 2.00 (random). The best makespans are 1.00 to 1.00 times the proven lower bound. Schedulers, as geometric \
             mean of makespan / the best scheduler's over 7 placements: pct 1.000, fifo 1.500. Of 16 cells, 2 failed: 2 infeasible."
        );
    }
}
