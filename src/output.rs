//! What verbs write besides what they print.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use anyhow::Context;
use placebench::datasets::format::write_whole;

/// Writes a file beside its place, then moves it there, so that nobody meets half of it.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    write_whole(path, |error| error, write).with_context(|| path.display().to_string())
}

/// Wraps prose at `width` columns.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn prose_is_wrapped_between_words() {
        assert_eq!(super::wrap("one two  three four", 9), "one two\nthree\nfour");
    }
}
