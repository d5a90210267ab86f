//! The figures of a report: those that rows alone give, as SVG within the page, for each network model.

use placebench_harness::results::Table;
use placebench_harness::results::grid::Grid;
use polars::prelude::PolarsResult;

use super::escape::escape;
use crate::figure::{NamedFigure, Style};
use crate::kinds::{FigureKind, InReport};
use crate::scores::{Scores, Sort};

/// More than this is no figure any more that a page can show.
const MOST_BYTES: usize = 400_000;

/// More than this nobody unfolds one by one.
const MOST_FOLDED: usize = 40;
/// Less room than this and the next figure need not even be drawn.
const LEAST_BYTES: usize = 10_000;

/// The figures of a run as HTML.
pub(super) struct Figures {
    pub(super) html: String,
    /// How many there was no room for.
    pub(super) left_out: usize,
}

/// Draws the figures of a table with this grid that fit in `bytes`. A mark's `data-key` names its row but for the network model, which is that of
/// the figure, `data-network`.
pub(super) fn figures(table: &Table, grid: Grid, bytes: usize) -> PolarsResult<Figures> {
    let mut made = Figures { html: String::new(), left_out: 0 };
    let mut folded = 0;
    let mut folding: Vec<FigureKind> = FigureKind::all().collect();
    folding.retain(|kind| matches!(kind.in_report(), InReport::Folded(_)));
    folding.sort_by_key(|kind| kind.in_report());
    let open: Vec<FigureKind> = FigureKind::all().filter(|kind| kind.in_report() == InReport::Open).collect();
    // Makespans under different network models do not compare, so that no figure mixes them.
    let scored = Scores::of(grid, Sort::Mean).by_network();
    for (kinds, folds) in [(open, false), (folding, true)] {
        for (network, scores) in &scored {
            let under = if scored.len() > 1 { format!(", {network}") } else { String::new() };
            for &kind in &kinds {
                for figure in kind.of_scores(scores, table)? {
                    if let Some(why) = figure.figure.says_nothing() {
                        made.html.push_str(&format!(
                            "<p class=\"note\">{}</p>\n",
                            escape(&format!("{}{under}.", why.trim_end_matches('.')))
                        ));
                        continue;
                    }
                    folded += usize::from(folds);
                    if folded > MOST_FOLDED || made.html.len() + LEAST_BYTES > bytes {
                        made.left_out += 1;
                        continue;
                    }
                    let html = framed(&figure, folds, network, &under);
                    if html.len() > MOST_BYTES || made.html.len() + html.len() > bytes {
                        made.left_out += 1;
                    } else {
                        made.html.push_str(&html);
                    }
                }
            }
        }
    }
    Ok(made)
}

fn framed(figure: &NamedFigure, folded: bool, network: &str, under: &str) -> String {
    let svg = figure.figure.draw(&Style::page()).to_svg();
    let caption = escape(&figure.caption);
    let (name, network) = (escape(&figure.name), escape(network));
    let inner = format!("<figure class=\"figure\" data-name=\"{name}\" data-network=\"{network}\">\n{svg}");
    if folded {
        let title = escape(&format!("{}{under}", figure.caption.split(": ").next().unwrap_or_default()));
        format!("<details><summary>{title}</summary>\n{inner}<figcaption>{caption}</figcaption></figure></details>\n")
    } else {
        format!(
            "{inner}<figcaption>{caption}{}</figcaption></figure>\n",
            escape(&under.replacen(", ", " Network model: ", 1))
        )
    }
}
