//! The memory between which tensors are copied within a process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::payload::Payload;
use super::program::Program;

/// What moves, and what each transfer writes to.
pub(super) struct Tensors<'a> {
    program: &'a Program,
    payload: Payload,
    buffers: Vec<Mutex<Vec<u8>>>,
}

impl<'a> Tensors<'a> {
    /// Takes the memory that the runs of a program need.
    pub(super) fn new(program: &'a Program, seed: u64) -> Self {
        let payload = Payload::new(seed, program.largest_move());
        let buffers = program.moves.iter().map(|moved| Mutex::new(vec![0; moved.bytes as usize])).collect();
        Self { program, payload, buffers }
    }

    /// Copies the tensor of a transfer.
    pub(super) fn copy(&self, transfer: usize) {
        let moved = &self.program.moves[transfer];
        locked(&self.buffers[transfer]).copy_from_slice(self.payload.of(moved.content, moved.bytes));
    }

    /// Whether a transfer's bytes are those that were sent.
    pub(super) fn is_intact(&self, transfer: usize) -> bool {
        let moved = &self.program.moves[transfer];
        *locked(&self.buffers[transfer]) == self.payload.of(moved.content, moved.bytes)
    }

    /// Forgets what an earlier run left, which would hide a transfer that moves nothing.
    pub(super) fn clear(&self) {
        self.buffers.iter().for_each(|buffer| locked(buffer).fill(0));
    }
}

/// What a mutex guards, also after a panic: whoever panicked has ended the run.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::threads::program::Move;

    #[test]
    fn a_tensor_that_was_not_copied_or_was_changed_is_not_intact() {
        let moved = |content| Move { from: 0, to: 1, content, bytes: 100, length: 0 };
        let program = Program { devices: vec![Vec::new(); 2], moves: vec![moved(0), moved(1)] };
        let tensors = Tensors::new(&program, 7);
        assert!(!tensors.is_intact(0));
        tensors.copy(0);
        assert!(tensors.is_intact(0) && !tensors.is_intact(1));
        locked(&tensors.buffers[0])[99] ^= 1;
        assert!(!tensors.is_intact(0));
        tensors.copy(1);
        tensors.clear();
        assert!(!tensors.is_intact(1));
    }
}
