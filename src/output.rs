//! Standard output that survives a closed pipe (`placebench list | head`).

use std::io::{self, Write};

/// Prints a text to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Whether an error is that nobody reads standard output any more: no error to the user.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// An error and its causes in one line; a cause that the message above it quotes is not repeated.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line.replace('\n', " ")
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
    fn causes_are_told_once() {
        let cause = std::io::Error::other("disk full");
        let quoting = anyhow::Error::new(cause).context("x.csv: disk full");
        assert_eq!(super::one_line(&quoting), "x.csv: disk full");
        assert_eq!(super::one_line(&anyhow::anyhow!("disk full").context("x.csv")), "x.csv: disk full");
    }

    #[test]
    fn prose_is_wrapped_between_words() {
        assert_eq!(super::wrap("one two  three four", 9), "one two\nthree\nfour");
    }
}
