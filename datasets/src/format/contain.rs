//! The guard around decoders of other people, which panic on some damaged files.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use placebench_base::process::available_memory;
use placebench_base::significant::bytes_text;

use super::FormatError;

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// How many threads are inside a decoder.
static DECODERS: AtomicUsize = AtomicUsize::new(0);

/// Whether this thread is inside a decoder whose panics become errors: for panic hooks that want to keep quiet about
/// them. The table library decodes on threads of its own.
pub fn is_decoding() -> bool {
    let of_tables = || thread::current().name().is_some_and(|name| name.starts_with("polars"));
    DECODING.get() || DECODERS.load(Ordering::Relaxed) > 0 && of_tables()
}

/// A decoder panicked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// Its input is corrupt.
    #[error("its content makes no sense")]
    Senseless,
    /// It found no memory, and says nothing of its input.
    #[error("reading it takes more memory than there is{}: close other programs, or use a machine with more", there(*available_bytes))]
    NoMemory {
        /// What this process can still get, if the system reports it.
        available_bytes: Option<u64>,
    },
}

fn there(available_bytes: Option<u64>) -> String {
    available_bytes.map_or_else(String::new, |bytes| format!(", {} are there", bytes_text(bytes as f64)))
}

impl Undecodable {
    /// What a panic with this message means. The system's words for want of memory are in those of the libraries.
    fn of(message: &str) -> Self {
        match ["OutOfMemory", "Cannot allocate memory", "not enough memory"].iter().any(|words| message.contains(words))
        {
            true => Self::NoMemory { available_bytes: available_memory() },
            false => Self::Senseless,
        }
    }

    /// The error of a file; `corrupt` makes it if the file is to blame.
    pub(crate) fn in_file(&self, path: &Path, corrupt: impl FnOnce(&str) -> FormatError) -> FormatError {
        match self {
            Self::Senseless => corrupt(&self.to_string()),
            Self::NoMemory { .. } => FormatError::file(path, self),
        }
    }
}

/// Runs a decoder that may panic on corrupt input, and turns the panic into an error. What users hand in is read like this.
///
/// # Errors
/// That the decoder panicked.
pub fn contain<T>(decode: impl FnOnce() -> T) -> Result<T, Undecodable> {
    DECODERS.fetch_add(1, Ordering::Relaxed);
    let before = DECODING.replace(true);
    // After a panic, what the closure has changed is dropped unread.
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(before);
    DECODERS.fetch_sub(1, Ordering::Relaxed);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Undecodable::of(text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_memory_is_not_called_damage() {
        let said = |panic: &str| {
            let error = contain(|| panic!("{panic}")).unwrap_err();
            error.in_file(Path::new("t.parquet"), |message| FormatError::file("t.parquet", message)).to_string()
        };
        assert_eq!(said("index out of bounds: the len is 0"), "t.parquet: its content makes no sense");
        let system = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        let error = said(&format!("called `Result::unwrap()` on an `Err` value: {system:?}"));
        assert!(error.starts_with("t.parquet: reading it takes more memory than there is"), "{error}");
        assert!(!cfg!(target_os = "linux") || error.contains("B are there: "), "{error}");
    }
}
