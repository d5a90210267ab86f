//! Scratch space that threads take and give back.

use std::sync::Mutex;

/// Idle scratch spaces: at most as many as threads ever needed one at the same time.
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T> Pool<T> {
    /// Works with an idle space, or one that `make` makes; the work must leave it as it was.
    pub(crate) fn with<R>(&self, make: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        // A lock is poisoned only where a thread panicked, and then all ends.
        let idle = self.0.lock().ok().and_then(|mut idle| idle.pop());
        let mut space = idle.unwrap_or_else(make);
        let result = work(&mut space);
        if let Ok(mut idle) = self.0.lock() {
            idle.push(space);
        }
        result
    }
}

/// Zeros on pages that are written at once. Pages of an allocation that is merely known to be zero are mapped again when the
/// first write follows a read, of which all threads must be told.
pub(crate) fn written_zeros<T: Copy + Default>(count: usize) -> Vec<T> {
    let mut zeros = Vec::with_capacity(count);
    // Whose length is not known to be the capacity, so that it does not become such an allocation after all.
    zeros.resize(std::hint::black_box(count), T::default());
    zeros
}
