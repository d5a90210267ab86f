//! Scratch space that threads take and give back.

use std::sync::Mutex;

/// Idle scratch spaces: no more than were ever in use at once.
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

/// Zeros that are written at once. Otherwise the system maps each page at the first read and again at the first write, and
/// has to interrupt all threads for the second.
pub(crate) fn written_zeros<T: Copy + Default>(count: usize) -> Vec<T> {
    let mut zeros = Vec::with_capacity(count);
    // The compiler must not see the length: it would turn this into an allocation of zeros that are not written.
    zeros.resize(std::hint::black_box(count), T::default());
    zeros
}
