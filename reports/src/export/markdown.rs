//! GitHub's Markdown.

use placebench_base::printable;

use super::TextTable;

pub(super) fn write(table: &TextTable) -> String {
    let escape = |text: &String| {
        let plain = text.replace(['\n', '\r'], " ");
        let plain = printable(&plain).replace('\\', "\\\\").replace('|', "\\|");
        // Code and links.
        let plain = plain.replace('`', "\\`").replace("](", "]\\(");
        // A browser shows what stands in angle brackets as HTML.
        plain.replace('<', "&lt;")
    };
    let header: Vec<String> = table.header.iter().map(escape).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(escape).collect()).collect();
    let right = table.numeric_columns();
    let length = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..header.len())
        .map(|column| rows.iter().map(|row| length(&row[column])).fold(length(&header[column]).max(3), usize::max))
        .collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().enumerate().map(|(column, text)| {
            let pad = " ".repeat(widths[column] - length(text));
            if right[column] { format!(" {pad}{text} ") } else { format!(" {text}{pad} ") }
        });
        format!("|{}|\n", cells.collect::<Vec<_>>().join("|"))
    };
    let rule = widths.iter().zip(&right).map(|(&width, &right)| match right {
        true => format!("{}:", "-".repeat(width + 1)),
        false => "-".repeat(width + 2),
    });
    let rule = format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
    std::iter::once(line(&header)).chain([rule]).chain(rows.iter().map(|row| line(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_html_is_text() {
        let mut table = TextTable::new(["a\u{1b}b"]);
        table.push(["<img src=x>"]);
        table.push(["[a](b) `c"]);
        let text = table.to_markdown();
        assert!(text.contains("a\\\\u{1b}b") && text.contains("&lt;img src=x>"), "{text}");
        assert!(text.contains(r"[a]\(b) \`c"), "{text}");
    }

    #[test]
    fn columns_line_up_numbers_to_the_right_and_bars_are_escaped() {
        let mut table = TextTable::new(["placer", "n"]);
        table.push(["a|b", "1"]);
        table.push(["heft", "12.5"]);
        assert_eq!(
            table.to_markdown(),
            "| placer |    n |\n|--------|-----:|\n| a\\|b   |    1 |\n| heft   | 12.5 |\n"
        );
    }
}
