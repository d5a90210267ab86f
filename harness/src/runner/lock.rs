//! Keeps two processes from writing one run.

use std::fs::{File, TryLockError};

/// Takes the lock of a file, unless somebody else has it. It is given back when the file is closed, also by a crash. Where the
/// file system knows no locks, everybody gets it: a run on such a disk is not protected, but possible.
pub(super) fn lock_alone(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}
