//! Rows of a CSV file with named columns, whose faults name their line.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use csv::StringRecord;
use placebench_base::did_you_mean;

use super::FormatError;
use super::held::Held;
use super::text::counted;
use crate::{Kind, KindSet};

/// A CSV file with a header line.
pub(crate) struct CsvRows<'a, R> {
    path: &'a Path,
    reader: csv::Reader<Held<R>>,
    header: Vec<String>,
    /// The line of the last row, if one of its cells has several lines.
    over_lines: Option<u64>,
}

impl<'a, R: Read> CsvRows<'a, R> {
    /// Reads the header line: it may have the `columns` in any order and must have the first `required` of them. It may also
    /// have those whose names `is_other` knows.
    pub(crate) fn open(
        path: &'a Path,
        text: R,
        columns: &[&str],
        required: usize,
        is_other: impl Fn(&str) -> bool,
    ) -> Result<Self, FormatError> {
        let this = Self::open_any(path, text)?;
        for name in &this.header {
            if !columns.contains(&name.as_str()) && !is_other(name) {
                let error = FormatError::at_line(path, 1, format!("unknown column '{name}'"));
                return Err(error.remedy(did_you_mean(name, columns.iter().copied())));
            }
        }
        this.require(&columns[..required])?;
        Ok(this)
    }

    /// Reads the header line, whatever its columns are; a name must not come twice.
    pub(crate) fn open_any(path: &'a Path, text: R) -> Result<Self, FormatError> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(true)
            .flexible(true)
            .trim(csv::Trim::Headers)
            .from_reader(Held::new("a row", text));
        let header: Vec<String> =
            reader.headers().map_err(|error| csv_error(path, error))?.iter().map(str::to_owned).collect();
        if header.iter().all(String::is_empty) {
            return Err(FormatError::file(path, "is empty").remedy("start with a line that names the columns"));
        }
        for (position, name) in header.iter().enumerate() {
            if header[..position].contains(name) {
                return Err(FormatError::at_line(path, 1, format!("column '{name}' comes twice")).remedy("remove one"));
            }
        }
        Ok(Self { path, reader, header, over_lines: None })
    }

    /// Checks that columns are there.
    pub(crate) fn require(&self, columns: &[&str]) -> Result<(), FormatError> {
        match columns.iter().find(|&&column| !self.header.iter().any(|name| name == column)) {
            Some(column) => {
                Err(FormatError::at_line(self.path, 1, format!("column '{column}' is missing")).remedy("add it"))
            }
            None => Ok(()),
        }
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// The next row, in the storage of `record`.
    pub(crate) fn next<'r>(&'r mut self, record: &'r mut StringRecord) -> Result<Option<CsvRow<'r>>, FormatError> {
        self.reader.get_mut().begin();
        if !self.reader.read_record(record).map_err(|error| csv_error(self.path, error))? {
            // Quotes come in pairs. A cell that went on over lines to the end of the file has one that is not closed.
            return match self.over_lines.filter(|_| self.reader.get_ref().quotes() % 2 == 1) {
                Some(line) => {
                    let error = FormatError::at_line(self.path, line, "a quote (\") is opened and not closed");
                    Err(error.remedy("close it, or write a quote within a cell as \"\""))
                }
                None => Ok(None),
            };
        }
        let line = record.position().map_or(0, csv::Position::line);
        self.over_lines = record.iter().any(|cell| cell.contains('\n')).then_some(line);
        if record.len() != self.header.len() {
            let (found, expected) = (counted(record.len() as u64, "cell"), self.header.len());
            let error = FormatError::at_line(self.path, line, format!("has {found}, but there are {expected} columns"));
            return Err(error.remedy("separate cells by ',' and quote those that contain one"));
        }
        Ok(Some(CsvRow { path: self.path, line, header: &self.header, record }))
    }
}

/// One row. Every fault that its methods report names its line.
pub(crate) struct CsvRow<'r> {
    path: &'r Path,
    pub(crate) line: u64,
    header: &'r [String],
    record: &'r StringRecord,
}

impl<'r> CsvRow<'r> {
    /// A fault of this row.
    pub(crate) fn fault(&self, message: impl Display) -> FormatError {
        FormatError::at_line(self.path, self.line, message)
    }

    /// The text of a cell as it stands; `None` if it is empty or the column absent.
    pub(crate) fn text(&self, column: &str) -> Option<&'r str> {
        let position = self.header.iter().position(|name| name == column)?;
        self.record.get(position).filter(|cell| !cell.is_empty())
    }

    /// The value of a cell; `None` if it is blank or the column absent.
    pub(crate) fn value<T: Cell>(&self, column: &str) -> Result<Option<T>, FormatError> {
        self.trimmed(column).map(|text| self.parse(column, text)).transpose()
    }

    /// The value of a cell that must not be blank; `what` is what the remedy asks for.
    pub(crate) fn required<T: Cell>(&self, column: &str, what: &str) -> Result<T, FormatError> {
        self.value(column)?.ok_or_else(|| self.fault(format!("{column} is empty")).remedy(format!("write {what}")))
    }

    /// The items of a cell that are separated by `;`.
    pub(crate) fn list(&self, column: &str) -> impl Iterator<Item = &'r str> + use<'r> {
        self.trimmed(column).into_iter().flat_map(|cell| cell.split(';').map(str::trim))
    }

    fn trimmed(&self, column: &str) -> Option<&'r str> {
        self.text(column).map(str::trim).filter(|cell| !cell.is_empty())
    }

    /// The value of a part of a cell.
    pub(crate) fn parse<T: Cell>(&self, column: &str, text: &str) -> Result<T, FormatError> {
        T::read(text).map_err(|expected| self.fault(format!("{column} has '{text}'")).remedy(expected))
    }

    /// Checks that ids count up from 0.
    pub(crate) fn check_id(&self, due: usize) -> Result<(), FormatError> {
        let id = self.trimmed("id").unwrap_or_default();
        match id.parse() == Ok(due) {
            true => Ok(()),
            false => Err(self.fault(format!("id is '{id}' where {due} is due")).remedy("number the rows 0, 1, 2, …")),
        }
    }
}

/// A type of cell. A fault says what to write instead.
pub(crate) trait Cell: Sized {
    fn read(text: &str) -> Result<Self, &'static str>;
}

impl Cell for f64 {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "write a number")
    }
}

impl Cell for u64 {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "write a whole number from 0 to 2^64 - 1")
    }
}

impl Cell for u32 {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "write a whole number from 0 to 2^32 - 1")
    }
}

impl Cell for Kind {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "write CPU, GPU or TPU")
    }
}

impl Cell for KindSet {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "write ALL, or some of CPU, GPU, TPU joined by '|'")
    }
}

/// An error of the CSV library as ours.
pub(crate) fn csv_error(path: &Path, error: csv::Error) -> FormatError {
    let line = error.position().map_or(1, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(error) => FormatError::io(path, error),
        csv::ErrorKind::Utf8 { .. } => {
            FormatError::at_line(path, line, "the text is not UTF-8").remedy("save the file as UTF-8")
        }
        other => FormatError::at_line(path, line, format!("{other:?}")),
    }
}
