//! The guard around decoders of other people, which panic on some damaged files.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

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

/// A decoder panicked on corrupt input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its content makes no sense")]
pub struct Undecodable;

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
    result.map_err(|_| Undecodable)
}
