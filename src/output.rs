//! What verbs print and write: standard output, files, errors in one line, exit codes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use placebench::datasets::format::{is_decoding, write_whole};

/// Prints a text to standard output.
///
/// # Errors
/// If standard output is closed or full; [`exit_code`] takes a closed one for success.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// The exit code of a command, which says on standard error why it failed.
pub(crate) fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// Whether an error is that nobody reads standard output any more: no error to the user.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
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

/// Panics in a decoder of damaged files become errors; from now on they are not printed as well.
pub(crate) fn quiet_decoders() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_decoding() {
            default(info);
        }
    }));
}

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

    #[test]
    fn causes_are_told_once() {
        let cause = std::io::Error::other("disk full");
        let quoting = anyhow::Error::new(cause).context("x.csv: disk full");
        assert_eq!(super::one_line(&quoting), "x.csv: disk full");
        assert_eq!(super::one_line(&anyhow::anyhow!("disk full").context("x.csv")), "x.csv: disk full");
    }
}
