//! What verbs print and write: standard output, files, errors in one line, exit codes.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use placebench::base::{io_reason, printable};
use placebench::datasets::format::write_whole;
use placebench::harness::results::TableFormat;
use serde::Serialize;

/// How a command ends: what it tells the shell. The standard library's cannot be read, and Python wants a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const FAILURE: Self = Self(1);

    /// The exit code.
    pub fn code(self) -> u8 {
        self.0
    }
}

impl From<u8> for Exit {
    fn from(code: u8) -> Self {
        Self(code)
    }
}

/// How a verb answers on standard output. Progress and remarks are lines on standard error either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text for people.
    Text,
    /// One JSON document for programs, with the keys of docs/JSON.md.
    Json,
}

impl Form {
    /// Prints an answer, as its text or as JSON. A verb prints one answer at most.
    ///
    /// # Errors
    /// As [`print`].
    pub(crate) fn print(self, answer: &impl Serialize, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self {
            Self::Text => print(&text()),
            Self::Json => print(&json_text(answer)?),
        }
    }
}

/// A value as JSON. What a terminal would obey within a text is escaped, so that the document reads back as it was.
fn json_text(value: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string_pretty(value)? + "\n";
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match printable(c.encode_utf8(&mut [0; 4])) {
            Cow::Borrowed(plain) => text.push_str(plain),
            Cow::Owned(_) => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text += &format!("\\u{unit:04x}")),
        }
    }
    Ok(text)
}

/// A path in an answer.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Prints a text to standard output. What a name holds that a terminal would obey is shown instead.
///
/// # Errors
/// If standard output is closed or full; [`exit_code`] takes a closed one for success.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(printable(text).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints one line to standard error: without what a terminal would obey, and with words cut that nobody would read.
pub(crate) fn complain(line: &str) {
    eprintln!("{}", readable(line));
}

/// A line without what a terminal would obey, of a length that people read.
fn readable(line: &str) -> String {
    /// All names of a long table take no more.
    const MOST: usize = 4000;
    let line = shortened(&printable(&line.replace(['\n', '\r'], " ")));
    placebench::base::shortened(&line, MOST).into_owned()
}

/// The exit code of a command, which says on standard error why it failed.
pub(crate) fn exit_code(result: anyhow::Result<Exit>) -> Exit {
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => Exit::SUCCESS,
        Err(error) => {
            complain(&format!("error: {}", one_line(&error)));
            Exit::FAILURE
        }
    }
}

/// Whether an error is that nobody reads standard output any more: no error to the user.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// An error and its causes in one line; a cause that the message above it quotes is not repeated.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let cause = match cause.downcast_ref::<io::Error>() {
            Some(system) => io_reason(system),
            None => without_number(&cause.to_string()),
        };
        if line.is_empty() {
            line = cause;
        } else if !line.to_lowercase().contains(&cause.to_lowercase()) {
            line = format!("{line}: {cause}");
        }
    }
    line.replace('\n', " ")
}

/// A message of the system without its number for it, which a library has put into a text.
fn without_number(message: &str) -> String {
    match message.split_once(" (os error ") {
        Some((before, rest)) => format!("{before}{}", rest.split_once(')').map_or("", |(_, after)| after)),
        None => message.to_owned(),
    }
}

/// The text with all words cut in the middle that are longer than any path that people give.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 300;
    const KEPT: usize = 100;
    if text.len() <= MOST {
        return text.to_owned();
    }
    let short = |word: &str| match word.chars().count() {
        count if count > MOST => {
            let first: String = word.chars().take(KEPT).collect();
            let last: String = word.chars().skip(count - KEPT).collect();
            format!("{first}…({} characters)…{last}", count - 2 * KEPT)
        }
        _ => word.to_owned(),
    };
    text.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

/// Files that a run consists of: no answer is written over them.
const OF_A_RUN: [&str; 4] = ["environment.toml", "suite.toml", "cells.jsonl", "results.parquet"];

/// Refuses to write an answer over a file of a run.
pub(crate) fn check_place(path: &Path) -> anyhow::Result<()> {
    let is_of_run = path.file_name().is_some_and(|name| OF_A_RUN.iter().any(|own| name == *own));
    if is_of_run && path.with_file_name(OF_A_RUN[0]).is_file() {
        bail!("{}: belongs to a run: write to another file", path.display());
    }
    Ok(())
}

/// Refuses to write an answer over what is read, into a folder that is read, or over another answer, by whatever path.
///
/// # Errors
/// The first such output.
pub(crate) fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> anyhow::Result<()> {
    let inputs: Vec<PathBuf> = inputs.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in outputs {
        check_place(path)?;
        let name = |folder: &Path| Some(folder.canonicalize().ok()?.join(path.file_name()?));
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let Some(real) = path.canonicalize().ok().or_else(|| name(folder)) else { continue };
        if let Some(input) = inputs.iter().find(|input| real.starts_with(input)) {
            let what = if *input == real {
                "is read, too".to_owned()
            } else {
                format!("lies in {}, which is read", shown(input))
            };
            bail!("{}: {what}: write to another file", path.display());
        }
        if seen.contains(&real) {
            bail!("{}: is named twice: write to another file", path.display());
        }
        seen.push(real);
    }
    Ok(())
}

/// Refuses a place where no table of rows can be written, before anything is computed.
pub(crate) fn check_table(path: &Path) -> anyhow::Result<()> {
    if TableFormat::of_path(path).is_none() {
        bail!("{}: unknown kind of table: use .csv, .json or .parquet", path.display());
    }
    check_file(path)
}

/// Refuses a place where no file can be written, before anything is computed.
pub(crate) fn check_file(path: &Path) -> anyhow::Result<()> {
    let (file, folder) = (path.display(), path.parent().filter(|folder| !folder.as_os_str().is_empty()));
    match folder {
        _ if path.is_dir() => bail!("{file}: is a folder: write to a file"),
        Some(folder) if folder.is_dir() => {}
        Some(folder) if folder.exists() => bail!("{file}: {} is no folder: write elsewhere", folder.display()),
        Some(folder) => bail!("{file}: there is no folder {}: make it first", folder.display()),
        None => {}
    }
    check_place(path)
}

/// Writes a file beside its place, then moves it there, so that nobody meets half of it.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    check_place(path)?;
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
    fn json_reads_back_whatever_names_hold_and_holds_nothing_that_a_terminal_obeys() {
        let name = "a\u{1b}[2J\u{9b}\u{7f}\u{202e}\u{2066}\"\\ \t\n ü 😀";
        let text = super::json_text(&vec![name]).unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), [name]);
        assert_eq!(placebench::base::printable(&text), text);
        assert!(text.contains("\\u009b") && text.contains("\\u202e") && text.contains("ü 😀"), "{text}");
    }

    #[test]
    fn prose_is_wrapped_between_words() {
        assert_eq!(super::wrap("one two  three four", 9), "one two\nthree\nfour");
    }

    #[test]
    fn long_words_are_cut_and_the_systems_numbers_left_out() {
        let long = super::shortened(&format!("no file '{}' here", "x".repeat(2000)));
        assert!(
            long.starts_with("no file 'xxx") && long.ends_with("xxx' here") && long.chars().count() < 260,
            "{long}"
        );
        assert!(long.contains("…(1802 characters)…"), "{long}");
        assert_eq!(super::shortened("short"), "short");
        let cell = super::readable(&format!("ops has '{}': write a number", "1 ".repeat(100_000)));
        assert!(cell.starts_with("ops has '1 1") && cell.ends_with("': write a number"), "{cell}");
        assert!(cell.chars().count() < 4_100, "{} characters", cell.chars().count());
        let nested = anyhow::anyhow!("Resource temporarily unavailable (os error 11)").context("cannot start threads");
        assert_eq!(super::one_line(&nested), "cannot start threads: Resource temporarily unavailable");
    }

    #[test]
    fn causes_are_told_once() {
        let cause = std::io::Error::other("disk full");
        let quoting = anyhow::Error::new(cause).context("x.csv: disk full");
        assert_eq!(super::one_line(&quoting), "x.csv: disk full");
        assert_eq!(super::one_line(&anyhow::anyhow!("disk full").context("x.csv")), "x.csv: disk full");
        assert_eq!(super::one_line(&anyhow::anyhow!("disk full").context("Disk full")), "Disk full");
    }
}
