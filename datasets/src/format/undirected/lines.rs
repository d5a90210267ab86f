//! Text files line by line, as words, with faults that name their line.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::format::held::Held;
use crate::format::text::counted;
use crate::format::{FormatError, compressed};

/// Bytes read at once. A larger buffer is no faster.
const BUFFER: usize = 1 << 16;

/// What some editors put before the text of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A text file that is read one line at a time, in the memory of its longest line.
pub(in crate::format) struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<Held<File>>,
    bytes: u64,
    text: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(in crate::format) fn open(path: &'a Path) -> Result<Self, FormatError> {
        let file = compressed::open(path)?;
        let bytes = file.metadata().map_err(|error| FormatError::io(path, error))?.len();
        let reader = BufReader::with_capacity(BUFFER, Held::new("a line", file));
        Ok(Self { path, reader, bytes, text: Vec::new(), number: 0 })
    }

    /// Length of the file; 0 for a pipe or a device.
    pub(in crate::format) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next line, whatever it holds.
    pub(in crate::format) fn next(&mut self) -> Result<Option<Line<'_>>, FormatError> {
        self.text.clear();
        self.reader.get_mut().begin();
        let read = self.reader.read_until(b'\n', &mut self.text).map_err(|error| FormatError::io(self.path, error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = Line { path: self.path, number: self.number, text: self.text.trim_ascii() };
        if self.number == 1 && line.text.starts_with(BYTE_ORDER_MARK) {
            return Err(line.fault("begins with a byte-order mark").remedy("save the file as UTF-8 without one"));
        }
        Ok(Some(line))
    }

    /// The next line that is no comment, which begins with one of `marks`. It may be blank.
    pub(in crate::format) fn next_row(&mut self, marks: &[u8]) -> Result<Option<Line<'_>>, FormatError> {
        while self.next()?.is_some_and(|line| line.is_comment(marks)) {}
        // At the end of the file nothing was read.
        let is_end = self.text.is_empty();
        Ok((!is_end).then(|| Line { path: self.path, number: self.number, text: self.text.trim_ascii() }))
    }

    /// The next line that is neither blank nor a comment, which begins with one of `marks`.
    pub(in crate::format) fn next_content(&mut self, marks: &[u8]) -> Result<Option<Line<'_>>, FormatError> {
        loop {
            match self.next()? {
                None => return Ok(None),
                Some(line) if line.is_blank() || line.is_comment(marks) => {}
                // Built again below: the borrow checker would extend the borrow of a returned line over the whole loop.
                Some(_) => break,
            }
        }
        Ok(Some(Line { path: self.path, number: self.number, text: self.text.trim_ascii() }))
    }

    /// The number of the last line read.
    pub(in crate::format) fn number(&self) -> u64 {
        self.number
    }
}

/// A line without blanks at its ends.
#[derive(Clone, Copy)]
pub(in crate::format) struct Line<'l> {
    path: &'l Path,
    pub(in crate::format) number: u64,
    pub(in crate::format) text: &'l [u8],
}

impl<'l> Line<'l> {
    pub(in crate::format) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    pub(in crate::format) fn is_comment(&self, marks: &[u8]) -> bool {
        self.text.first().is_some_and(|first| marks.contains(first))
    }

    /// The words between blanks and tabs.
    pub(in crate::format) fn words(&self) -> impl Iterator<Item = &'l [u8]> + Clone + use<'l> {
        self.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
    }

    /// A fault of this line.
    pub(in crate::format) fn fault(&self, message: impl Display) -> FormatError {
        FormatError::at_line(self.path, self.number, message)
    }

    /// Adds a weight, counted some `times`, to a sum; `what` they are names them in a fault.
    pub(in crate::format) fn add(&self, sum: &mut u64, weight: u64, times: u64, what: &str) -> Result<(), FormatError> {
        *sum = weight.checked_mul(times).and_then(|weight| sum.checked_add(weight)).ok_or_else(|| {
            let fault = self.fault(format!("up to here, {what} add up to more than 64 bits hold"));
            fault.remedy("divide all of them by one number")
        })?;
        Ok(())
    }

    /// A word as a whole number; `what` it stands for names it in a fault.
    pub(in crate::format) fn whole(&self, word: &[u8], what: &str) -> Result<u64, FormatError> {
        parse_whole(word).ok_or_else(|| {
            let fault = self.fault(format!("{what} is '{}'", String::from_utf8_lossy(word)));
            fault.remedy("write a whole number from 0 to 2^64 - 1")
        })
    }
}

fn parse_whole(word: &[u8]) -> Option<u64> {
    let digit = |&byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let (first, rest) = word.split_first()?;
    rest.iter().try_fold(digit(first)?, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?))
}

/// Refuses numbers of vertices that a file of this size cannot mean, before memory is taken for them.
pub(crate) fn check_vertex_count(vertices: u64, entries: u64, noun: &str) -> Result<usize, String> {
    if vertices > u64::from(u32::MAX) {
        return Err(format!("{vertices} vertices are more than 32-bit ids can name"));
    }
    if vertices > entries.saturating_mul(64).saturating_add(1 << 24) {
        return Err(format!("{vertices} vertices for only {}", counted(entries, noun)));
    }
    Ok(vertices as usize)
}

/// The remedy for what [`check_vertex_count`] refuses.
pub(crate) const RENUMBER: &str = "number the vertices that have edges without large gaps";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_digits_and_nothing_else() {
        assert_eq!(parse_whole(b"18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "-1", "+1", "1.0", "18446744073709551616", "1e3", "x"] {
            assert_eq!(parse_whole(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_number_of_vertices_is_judged_by_any_number_of_entries() {
        assert_eq!(check_vertex_count(1 << 24, 0, "edge"), Ok(1 << 24));
        assert_eq!(check_vertex_count(u32::MAX.into(), u64::MAX, "edge"), Ok(u32::MAX as usize));
        assert!(
            check_vertex_count(u32::MAX.into(), 1, "edge").is_err() && check_vertex_count(1 << 32, 1, "edge").is_err()
        );
    }
}
