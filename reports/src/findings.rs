//! One paragraph that says what a run found, from its numbers.

use placebench_base::significant::bytes_text;
use placebench_datasets::is_equal;

use crate::{Summary, SummaryEntry, optimality_text};

/// What a run found, as a paragraph.
pub fn findings(summary: &Summary) -> String {
    finding_sentences(summary).join(" ")
}

/// What a run found, point by point: who won, by how much, whether distributing paid, how far from the bound, which
/// scheduler to take, what failed, what marks mean.
pub fn finding_sentences(summary: &Summary) -> Vec<String> {
    let sentences = [
        optimality_text::sentence(summary),
        best_on_the_mean(summary),
        best_of_each_graph(summary),
        against_single(summary),
        bound(summary),
        traffic(summary),
        schedulers(summary),
        failures(summary),
        processors(summary),
        summary.marks.note(),
    ];
    sentences.into_iter().flatten().collect()
}

/// Means over seconds of different machines say nothing of a placer.
fn processors(summary: &Summary) -> Option<String> {
    let names = &summary.processors;
    (names.len() > 1).then(|| {
        let (count, names) = (names.len(), names.join(", "));
        format!("The seconds come from {count} kinds of processors ({names}): they compare only within one of them.")
    })
}

/// How many of a list of placers or graphs are named.
const MOST_NAMED: usize = 8;

fn best_on_the_mean(summary: &Summary) -> Option<String> {
    if summary.placers.len() < 2 {
        return None;
    }
    let named = |&placer: &usize| Some((summary.mean_ratio(placer)?, summary.placers[placer].as_str()));
    let means: Vec<(f64, &str)> = summary.order().iter().filter_map(named).collect();
    let Some(&(least, _)) = means.first() else {
        if summary.standings.zeros > 0 && summary.standings.zeros >= summary.standings.instances {
            let metric = summary.metric.title();
            return Some(format!(
                "The best {metric} is 0 wherever there is one, so there are no ratios, and no means."
            ));
        }
        return Some("No instance is finished by enough placers, so their means do not compare.".to_owned());
    };
    // The table prints two digits, but only what is equal is called a tie.
    let tied = means.iter().take_while(|(mean, _)| is_equal(*mean, least)).count();
    let (first, rest) = means.split_at(tied);
    let names: Vec<String> = first.iter().map(|(_, name)| (*name).to_owned()).collect();
    let (common, metric) = (summary.common().len(), summary.metric.title());
    let over = match summary.standings.instances {
        1 if common == 1 => format!("{metric} / best on the only instance"),
        all if all == common => format!("geometric mean of {metric} / best over {all} instances"),
        all => format!("geometric mean of {metric} / best over {common} of {all} instances"),
    };
    let mut text = match tied {
        1 => format!("{} is best on the mean: {least:.2} ({over})", names[0]),
        _ => format!("{} tie for the best mean: {least:.2} ({over})", first_few(&names)),
    };
    let named = |&(mean, name): &(f64, &str)| format!("{name} ({mean:.2})");
    let next: Vec<String> = rest.iter().take(2).map(named).collect();
    if !next.is_empty() {
        text = format!("{text}, before {}", next.join(" and "));
    }
    if let Some(last) = rest.get(2..).and_then(<[_]>::last) {
        text = format!("{text}; {} is last", named(last));
    }
    Some(text + ".")
}

fn best_of_each_graph(summary: &Summary) -> Option<String> {
    let columns = summary.instances.len();
    let mut alone = vec![0; summary.placers.len()];
    let mut tied: Vec<String> = Vec::new();
    for column in 0..columns {
        match summary.winners(column)[..] {
            [] => {}
            [winner] => alone[winner] += 1,
            ref several => {
                let names: Vec<String> = several.iter().map(|&placer| summary.placers[placer].clone()).collect();
                tied.push(format!("{} ({})", summary.label(column), first_few(&names)));
            }
        }
    }
    let mut wins: Vec<(usize, usize)> =
        alone.into_iter().enumerate().filter(|&(_, count)| count > 0).map(|(placer, count)| (count, placer)).collect();
    wins.sort_by_key(|&(count, placer)| (std::cmp::Reverse(count), placer));
    let win = |(place, &(count, placer)): (usize, &(usize, usize))| {
        let of = if place == 0 { format!(" of {} instances", summary.standings.instances) } else { String::new() };
        format!("{} on {count}{of}", summary.placers[placer])
    };
    let wins: Vec<String> = wins.iter().enumerate().map(win).collect();
    // Of one graph it is said already who is best.
    let alone = (columns > 1 && !wins.is_empty()).then(|| format!("Best alone: {}.", first_few(&wins)));
    let tied =
        (!tied.is_empty()).then(|| format!("Ties for the best {}: {}.", summary.metric.title(), first_few(&tied)));
    let sentences: Vec<String> = [alone, tied].into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// A list in words, cut where it gets long.
fn first_few(names: &[String]) -> String {
    match names.len().checked_sub(MOST_NAMED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST_NAMED].join(", ")),
    }
}

fn against_single(summary: &Summary) -> Option<String> {
    let single = summary.specs.iter().position(|spec| spec.starts_with("single_device"))?;
    let ratios: Vec<(f64, usize)> =
        (0..summary.instances.len()).filter_map(|column| Some((summary.ratio(single, column)?, column))).collect();
    let (paid, not): (Vec<&(f64, usize)>, Vec<_>) = ratios.iter().partition(|(ratio, _)| *ratio > 1.02);
    let (most, column) = ratios.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(match (paid.len(), not.len()) {
        (0, 1) => "Distributing does not pay here: one device is within 2 % of the best.".to_owned(),
        (0, n) => format!("Distributing never pays here: one device is within 2 % of the best on all {n} instances."),
        (_, 0) => {
            format!(
                "Distributing pays on every instance, most on {} ({most:.2} times one device).",
                summary.label(column)
            )
        }
        (p, n) => format!(
            "Distributing pays (more than 2 %) on {p} of {} instances, most on {} ({most:.2} times faster than one device); on the \
             other {n} a single device does as well.",
            p + n,
            summary.label(column)
        ),
    })
}

fn bound(summary: &Summary) -> Option<String> {
    let gaps: Vec<f64> = (0..summary.instances.len()).filter_map(|column| summary.best(column)?.1.gap).collect();
    let least = gaps.iter().copied().reduce(f64::min)?;
    let most = gaps.iter().copied().reduce(f64::max)?;
    let verb = if gaps.len() == 1 { " is" } else { "s are" };
    let best = format!("{}{verb}", summary.metric.title());
    let [least, most] = [least, most].map(|gap| format!("{gap:.2}"));
    let range = if least == most { least } else { format!("{least} to {most}") };
    Some(format!("The best {best} {range} times the proven lower bound."))
}

/// A placer with a larger share of the work on one device than this stays on one device: it moves little, and that is no
/// merit.
const ONE_DEVICE: f64 = 0.95;

/// Who moves least and most, among the placers that distribute each of the graphs that count in the means.
fn traffic(summary: &Summary) -> Option<String> {
    let columns = summary.common();
    let total = |placer: usize| -> Option<f64> {
        let entries = columns.iter().map(|&column| summary.entries[placer][column].as_ref());
        let bytes = |entry: Option<&SummaryEntry>| {
            let entry = entry?;
            (entry.busiest_share? <= ONE_DEVICE).then_some(entry.traffic_bytes?)
        };
        entries.map(bytes).sum()
    };
    let mut moving: Vec<(f64, usize)> =
        (0..summary.placers.len()).filter_map(|placer| Some((total(placer)?, placer))).collect();
    moving.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, last) = (moving.first()?, moving.last()?);
    (moving.len() > 1 && !columns.is_empty()).then(|| {
        format!(
            "Of the {} placers that give no device more than {:.0} % of the work, {} moves least ({} in all) and {} most ({}).",
            moving.len(),
            100.0 * ONE_DEVICE,
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
        "Schedulers, as geometric mean of {} / the best scheduler's over {} placements: {}.",
        summary.metric.title(),
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
    use placebench_harness::results::Row;

    use super::*;
    use crate::summary::tests::{rows, summary_of};

    /// The rows of heft, once for each of these placers.
    fn copies(names: &[&str]) -> Vec<Row> {
        let heft: Vec<Row> = rows().into_iter().filter(|row| row.placer == "heft").collect();
        let named = |name: &&str| {
            let name = (*name).to_owned();
            heft.iter().map(move |row| Row { placer: name.clone(), ..row.clone() }).collect::<Vec<_>>()
        };
        names.iter().flat_map(named).collect()
    }

    #[test]
    fn ties_are_called_ties_and_of_many_only_the_first_are_named() {
        let names: Vec<String> = (0..12).map(|placer| format!("p{placer}")).collect();
        let summary = summary_of(&copies(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        let sentence = best_on_the_mean(&summary).unwrap();
        assert!(
            sentence.starts_with("p0, p1, p2, p3, p4, p5, p6, p7 and 4 more tie for the best mean: 1.00 ("),
            "{sentence}"
        );
        let sentence = best_of_each_graph(&summary).unwrap();
        assert!(sentence.starts_with("Ties for the best makespan: a (p0, p1, "), "{sentence}");
        assert!(!sentence.contains("Alone"), "{sentence}");
    }

    #[test]
    fn rounding_does_not_decide_who_is_best() {
        let mut all = copies(&["a", "b"]);
        for row in all.iter_mut().filter(|row| row.placer == "b") {
            row.makespan = row.makespan.map(|makespan| makespan * (1.0 - 1e-13));
        }
        let sentence = best_on_the_mean(&summary_of(&all)).unwrap();
        assert!(sentence.starts_with("a, b tie for the best mean"), "{sentence}");
    }

    #[test]
    fn who_stays_on_one_device_does_not_move_least() {
        let mut all = copies(&["a", "b", "c"]);
        let numbers = [(1.98, 1), (1.2, 5_000_000), (1.0, 9_000_000)];
        for (row, (imbalance, bytes)) in all.iter_mut().zip(numbers.into_iter().flat_map(|own| [own; 8])) {
            (row.load_imbalance, row.traffic_bytes) = (Some(imbalance), Some(bytes));
        }
        let sentence = traffic(&summary_of(&all)).unwrap();
        assert!(
            sentence.contains("Of the 2 placers") && sentence.contains("b moves least (10.0 MB in all) and c most"),
            "{sentence}"
        );
    }

    #[test]
    fn the_paragraph_names_the_best_the_schedulers_and_failures() {
        let text = findings(&summary_of(&rows()));
        assert_eq!(
            text,
            "heft is best on the mean: 1.00 (geometric mean of makespan / best over 2 instances). Best alone: heft on 2 of 2 \
             instances. The best makespans are 1.00 times the proven lower bound. Schedulers, as geometric mean of makespan / \
             the best scheduler's over 3 placements: pct 1.000, fifo 1.500. Of 16 cells, 2 failed: 2 infeasible."
        );
    }
}
