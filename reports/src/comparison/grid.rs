//! A table of texts that renders for every reader.

use crate::terminal::{finish, new_table};

/// A header and rows of as many texts. The first column is aligned to the left, all others to the right.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    pub(crate) fn new<T: Into<String>>(header: impl IntoIterator<Item = T>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Aligned columns, a line each row.
    pub(crate) fn text(&self) -> String {
        let mut table = new_table();
        table.set_header(self.header.clone());
        for row in &self.rows {
            table.add_row(row.clone());
        }
        finish(&mut table) + "\n"
    }

    /// A pipe table.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = format!("|---|{}\n", "---:|".repeat(self.header.len().saturating_sub(1)));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.header) + &rule + &rows
    }

    /// A tabular with booktabs' rules.
    pub(crate) fn latex(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| latex_escaped(cell)).collect();
            format!("{} \\\\\n", cells.join(" & "))
        };
        let columns = "r".repeat(self.header.len().saturating_sub(1));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        let header = line(&self.header);
        format!(
            "\\begin{{tabular}}{{l{columns}}}\n\\toprule\n{header}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n"
        )
    }
}

fn latex_escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', character]),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '–' => escaped.push_str("--"),
            '×' => escaped.push_str("$\\times$"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(["placer", "mean"]);
        grid.row(["batch_split|x", "1.00"]);
        grid
    }

    #[test]
    fn a_grid_renders_for_terminals_markdown_and_latex() {
        assert_eq!(grid().text(), "placer        mean\nbatch_split|x 1.00\n");
        assert_eq!(grid().markdown(), "| placer | mean |\n|---|---:|\n| batch_split\\|x | 1.00 |\n");
        assert!(
            grid()
                .latex()
                .contains("\\begin{tabular}{lr}\n\\toprule\nplacer & mean \\\\\n\\midrule\nbatch\\_split|x & 1.00")
        );
    }
}
