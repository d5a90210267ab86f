//! The figures of a report: those of [`RowFigure`], as SVG within the page, for each network model.

use placebench_harness::results::{Metric, Row};

use super::escape::escape;
use crate::figure::{NamedFigure, RowFigure, Style, Theme};

/// Figures that say something of the run as a whole stand open; the others, one a graph or so, are folded away.
const OPEN: [RowFigure; 4] = [RowFigure::Heat, RowFigure::Profile, RowFigure::Pareto, RowFigure::Ranks];
const FOLDED: [RowFigure; 4] = [RowFigure::Scaling, RowFigure::Clusters, RowFigure::Bars, RowFigure::Sweep];

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

/// Draws the figures that fit in `bytes`. A mark's `data-key` names its row but for the network model, which is that of
/// the figure, `data-network`.
pub(super) fn figures(rows: &[Row], bytes: usize) -> Figures {
    let mut networks: Vec<&str> = Vec::new();
    for row in rows {
        if !networks.contains(&&*row.network) {
            networks.push(&row.network);
        }
    }
    let mut made = Figures { html: String::new(), left_out: 0 };
    let mut folded = 0;
    for kinds in [&OPEN[..], &FOLDED[..]] {
        for &network in &networks {
            // Makespans under different network models do not compare, so that no figure mixes them.
            let rows: Vec<Row> = rows.iter().filter(|row| row.network == network).cloned().collect();
            let under = if networks.len() > 1 { format!(", {network}") } else { String::new() };
            for &kind in kinds {
                for figure in kind.of_rows(&rows, Metric::Makespan) {
                    let folds = FOLDED.contains(&kind);
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
    made
}

fn framed(figure: &NamedFigure, folded: bool, network: &str, under: &str) -> String {
    let svg = figure.figure.draw(&Style::double_column().with_theme(Theme::Page)).to_svg();
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
