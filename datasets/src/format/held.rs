//! What a reader holds in memory as a whole: it asks whether there is room while it grows.

use std::io::{self, Read};

use placebench_base::process::check_memory;
use placebench_base::significant::bytes_text;

/// So many bytes are held before the first question.
const FIRST: u64 = 32 << 20;

/// A reader of bytes that stay in memory: a file, a line, a row. A buffer that is full doubles, so before the bytes double it
/// asks whether there is room. Few bytes of a compressed file can become more than any machine holds.
pub(crate) struct Held<R> {
    from: R,
    what: &'static str,
    held: u64,
    /// Double quotes among all bytes.
    quotes: u64,
    /// So much there is room for.
    room: u64,
}

impl<R> Held<R> {
    /// `what` is the thing that is held, with its article.
    pub(crate) fn new(what: &'static str, from: R) -> Self {
        Self { from, what, held: 0, quotes: 0, room: FIRST }
    }

    /// Double quotes that were read so far.
    pub(crate) fn quotes(&self) -> u64 {
        self.quotes
    }

    /// The next thing begins, and the last one is held no longer.
    pub(crate) fn begin(&mut self) {
        (self.held, self.room) = (0, FIRST);
    }
}

impl<R: Read> Read for Held<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.held >= self.room {
            check_memory(&[(self.held, 2)], || format!("{} of more than {}", self.what, bytes_text(self.held as f64)))
                .map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
            self.room = 2 * self.held;
        }
        let read = self.from.read(buffer)?;
        self.held += read as u64;
        self.quotes += buffer[..read].iter().filter(|&&byte| byte == b'"').count() as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_outgrows_memory_is_refused_before_it_doubles() {
        let mut zeros = Held { held: 1 << 60, room: 1 << 60, ..Held::new("a line", io::repeat(0)) };
        let error = zeros.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        let said = error.to_string();
        assert!(
            said.starts_with("a line of more than 1152922 TB takes about ") && said.contains(" of memory, and "),
            "{said}"
        );
        zeros.begin();
        assert_eq!(zeros.read(&mut [1; 8]).unwrap(), 8);
    }
}
