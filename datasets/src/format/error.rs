//! The one error of all readers and writers: which file, where in it, what is wrong, what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use placebench_base::{TomlFault, io_reason, shortened};

/// Where in a file the fault is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line of a text file, counted from 1.
    Line(u64),
    /// A named part: a node, a column, a key.
    Item(String),
}

/// Why a file cannot be read or written. Its text is one line: file, place, fault, remedy.
///
/// # Example
/// ```
/// use placebench_datasets::format::FormatError;
/// let error = FormatError::at_line("graphs/rnn.csv", 17, "op 5 reads output 2 of op 3, which has 1").remedy("use ports 0..1");
/// assert_eq!(error.to_string(), "graphs/rnn.csv:17: op 5 reads output 2 of op 3, which has 1: use ports 0..1");
/// ```
// Boxed, so that the `Result` of a hot parsing loop stays one word.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct FormatError(Box<Details>);

#[derive(Debug, thiserror::Error)]
struct Details {
    path: PathBuf,
    place: Place,
    message: String,
    remedy: Option<String>,
    // Not `source`: the message has it already, and a chain that is printed would say it twice.
    io: Option<io::Error>,
}

impl FormatError {
    /// A fault of the file as a whole.
    pub fn file(path: impl AsRef<Path>, message: impl fmt::Display) -> Self {
        Self::new(path.as_ref(), Place::File, message)
    }

    /// A fault on a line, counted from 1.
    pub fn at_line(path: impl AsRef<Path>, line: u64, message: impl fmt::Display) -> Self {
        Self::new(path.as_ref(), Place::Line(line), message)
    }

    /// A fault of a named part of the file: a node, a column, a key.
    pub fn item(path: impl AsRef<Path>, item: impl fmt::Display, message: impl fmt::Display) -> Self {
        Self::new(path.as_ref(), Place::Item(one_line(&item.to_string())), message)
    }

    /// The operating system refused to read or write the file.
    pub fn io(path: impl AsRef<Path>, error: io::Error) -> Self {
        let message = match error.kind() {
            io::ErrorKind::InvalidData => "the text is not UTF-8".to_owned(),
            _ => io_reason(&error),
        };
        let mut this = Self::file(path, message);
        this.0.io = Some(error);
        this
    }

    /// A file is no TOML, or has other keys or values than it should.
    pub fn toml(path: impl AsRef<Path>, fault: TomlFault) -> Self {
        match fault.line {
            Some(line) => Self::at_line(path, line, fault.message),
            None => Self::file(path, fault.message),
        }
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl fmt::Display) -> Self {
        self.0.remedy = Some(one_line(&remedy.to_string()));
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Where in the file.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// What is wrong, without file and place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The operating system's error, if there is one behind this.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.io.as_ref()
    }

    fn new(path: &Path, place: Place, message: impl fmt::Display) -> Self {
        let message = one_line(&message.to_string());
        Self(Box::new(Details { path: path.to_owned(), place, message, remedy: None, io: None }))
    }
}

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.path.to_string_lossy()))?;
        match &self.place {
            Place::File => {}
            Place::Line(line) => write!(f, ":{line}")?,
            Place::Item(item) => write!(f, ": {item}")?,
        }
        write!(f, ": {}", self.message)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, ": {remedy}"))
    }
}

/// Longer parts of a message lose their middle. A remedy may list all names of a table.
const MOST_CHARACTERS: usize = 600;

/// The text with every run of line breaks and control characters replaced by a space, and shortened: file contents and other
/// crates' messages end up in errors.
fn one_line(text: &str) -> String {
    let text = shortened(text, MOST_CHARACTERS);
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    text.split(char::is_control).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_file_place_fault_remedy() {
        let error = FormatError::item("g.pbtxt", "node 'a'", "its input 'b' does not exist").remedy("add it");
        assert_eq!(error.to_string(), "g.pbtxt: node 'a': its input 'b' does not exist: add it");
        assert_eq!(FormatError::file("x", "bad").to_string(), "x: bad");
    }

    #[test]
    fn an_error_stays_on_one_line_whatever_the_file_holds() {
        let error = FormatError::item("a\nb", "op 'x\r\n\ty'", "first\n  second\n").remedy("third\u{1b}[2J");
        assert_eq!(error.to_string(), "a b: op 'x y': first second: third [2J");
    }

    #[test]
    fn an_error_quotes_no_more_than_a_person_reads() {
        let cell = "1 ".repeat(100_000);
        let error = FormatError::item("g.csv", format!("node '{cell}'"), format!("ops has '{cell}'")).remedy(&cell);
        let said = error.to_string();
        assert!(said.starts_with("g.csv: node '1 1") && said.contains(" 1 ': ops has '1 1"), "{said}");
        assert!(said.chars().count() < 2_000, "{} characters", said.len());
    }

    #[test]
    fn the_operating_system_s_error_is_kept() {
        let error = FormatError::io("gone.csv", io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(error.to_string(), "gone.csv: no such file or directory");
        assert_eq!(error.io_error().map(io::Error::kind), Some(io::ErrorKind::NotFound));
    }
}
