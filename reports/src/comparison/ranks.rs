//! Rankings.

use placebench_harness::compare::{Gap, Ranking};
use placebench_harness::results::grid::Candidates;

use super::numbers::{counted, factor, probability};
use crate::export::TextTable;
use crate::terminal::aligned;

/// The table of a ranking: a row a candidate, the best first.
pub fn ranking_table(ranking: &Ranking) -> TextTable {
    let candidate = match ranking.by {
        Candidates::Placer => "placer",
        Candidates::Scheduler => "scheduler",
        Candidates::Pair => "placer + scheduler",
    };
    let mut table = TextTable::new([candidate, "mean", "low", "high", "mean rank", "wins", "p to first (Holm)"]);
    for entry in &ranking.entries {
        table.push([
            entry.name.clone(),
            factor(entry.mean_ratio),
            factor(entry.low),
            factor(entry.high),
            format!("{:.2}", entry.mean_rank),
            entry.wins.to_string(),
            entry.p_holm.map_or_else(|| "-".to_owned(), probability),
        ]);
    }
    table
}

/// What a ranking's numbers mean and what they leave out, a line each.
pub fn ranking_notes(ranking: &Ranking) -> Vec<String> {
    let metric = ranking.metric.column();
    let mut notes = vec![format!(
        "mean: geometric mean of {metric} / the best candidate's over {} of {}, those that all candidates finish; \
         low, high: 95 % interval by bootstrap over {}",
        ranking.common,
        counted(ranking.instances, "instance"),
        counted(ranking.observations, "drawn graph")
    )];
    if ranking.by == Candidates::Scheduler {
        notes.push("static, online and chosen are left out: they run only with some placers".to_owned());
    }
    if ranking.zeros > 0 {
        notes.push(format!("left out: {} where the best {metric} is 0", counted(ranking.zeros, "instance")));
    }
    notes.extend(ranking.gaps.iter().map(|gap| gap_line(gap, ranking.instances)));
    notes
}

fn gap_line(gap: &Gap, instances: usize) -> String {
    let reasons: Vec<String> = gap.failed.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let verb = if gap.dropped { "dropped" } else { "lacks a result" };
    format!("{verb}: {} on {} of {instances} ({})", gap.name, gap.lacking(), reasons.join(", "))
}

/// A ranking for a terminal; the list of gaps ends after `limit` lines.
pub fn ranking_text(ranking: &Ranking, limit: usize) -> String {
    let notes = ranking_notes(ranking);
    let more = notes.len().saturating_sub(limit);
    let mut text = aligned(&ranking_table(ranking)) + "\n";
    for note in notes.iter().take(limit) {
        text.push_str(&format!("{note}\n"));
    }
    if more > 0 {
        text.push_str(&format!("… and {more} more (use --all)\n"));
    }
    text
}
