//! LaTeX with booktabs rules.

use placebench_base::printable;

use super::TextTable;
use crate::metric_table::Float;

pub(super) fn write(table: &TextTable, caption: &str, label: &str) -> String {
    let columns: String = table.numeric_columns().iter().map(|&right| if right { 'r' } else { 'l' }).collect();
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|text| escape(text)).collect();
        format!("{} \\\\\n", cells.join(" & "))
    };
    let mut text = format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n", line(&table.header));
    text.extend(table.rows.iter().map(|row| line(row)));
    text.push_str("\\bottomrule\n\\end{tabular}\n");
    float(&text, &Float { caption, label, is_wide: false })
}

/// A `tabular` as a `table` with a caption and a label; as it is without a caption.
pub(crate) fn float(tabular: &str, float: &Float<'_>) -> String {
    let Float { caption, label, is_wide } = *float;
    if caption.is_empty() {
        return tabular.to_owned();
    }
    let label = if label.is_empty() { String::new() } else { format!("\\label{{{}}}\n", plain_label(label)) };
    let table = if is_wide { "table*" } else { "table" };
    format!("\\begin{{{table}}}\n\\centering\n\\caption{{{}}}\n{label}{tabular}\\end{{{table}}}\n", escape(caption))
}

/// A label that `\ref` takes: what is special to LaTeX becomes a hyphen.
pub fn plain_label(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || ":._-+".contains(c) { c } else { '-' }).collect()
}

/// A text that LaTeX prints as it is.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(&text.replace(['\n', '\r'], " ")).chars() {
        match character {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', character]),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '|' => escaped.push_str("\\textbar{}"),
            '"' => escaped.push_str("''"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '≤' => escaped.push_str("$\\leq$"),
            '≥' => escaped.push_str("$\\geq$"),
            '×' => escaped.push_str("$\\times$"),
            '°' => escaped.push_str("$^\\circ$"),
            '±' => escaped.push_str("$\\pm$"),
            '−' => escaped.push_str("$-$"),
            'µ' => escaped.push_str("\\textmu{}"),
            '²' => escaped.push_str("$^2$"),
            'α' => escaped.push_str("$\\alpha$"),
            'χ' => escaped.push_str("$\\chi$"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_figures_say_of_their_statistics_is_text_that_latex_knows() {
        let said = "Friedman χ² = 169.53, p ≤ 0.001 (Nemenyi, α = 0.05)";
        let expected = "Friedman $\\chi$$^2$ = 169.53, p $\\leq$ 0.001 (Nemenyi, $\\alpha$ = 0.05)";
        assert_eq!(escape(said), expected);
    }

    #[test]
    fn control_characters_are_shown() {
        let mut table = TextTable::new(["a\u{1b}[2Jb"]);
        table.push(["two\nlines"]);
        let text = table.to_latex("", "");
        assert!(text.contains("a\\textbackslash{}u\\{1b\\}[2Jb") && text.contains("two lines"), "{text}");
    }

    #[test]
    fn every_special_character_is_escaped_and_the_rules_are_those_of_booktabs() {
        let mut table = TextTable::new(["name", "share"]);
        table.push(["batch_split & \\x{y}~^#$", "50%"]);
        let text = table.to_latex("100% of_all", "tab:a_b%");
        assert!(
            text.contains(
                "batch\\_split \\& \\textbackslash{}x\\{y\\}\\textasciitilde{}\\textasciicircum{}\\#\\$ & 50\\% \\\\"
            ),
            "{text}"
        );
        assert!(
            text.contains("\\caption{100\\% of\\_all}\n\\label{tab:a_b-}\n") && text.contains("\\begin{tabular}{lr}"),
            "{text}"
        );
        for rule in ["\\toprule", "\\midrule", "\\bottomrule"] {
            assert_eq!(text.matches(rule).count(), 1);
        }
        assert!(table.to_latex("", "").starts_with("\\begin{tabular}"));
    }
}
