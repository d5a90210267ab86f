//! What a transport is: it runs a program, again and again.

use placebench_algorithms::StopToken;

use super::program::RunTimes;

/// One run to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Whether each transfer's bytes are compared with what was sent.
    pub(super) checks: bool,
}

/// A program on its devices.
pub(super) trait Session {
    /// Runs the program once, from the first step to the last.
    fn run(&mut self, run: Run, stop: &StopToken) -> Result<RunTimes, Fault>;

    /// The processes of this host that take part, beside this one.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// Why a run has no times.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// The stop token asked for it.
    Stopped,
    /// The bytes of a transfer arrived changed.
    Damaged {
        /// Which.
        transfer: usize,
    },
    /// Something else, in one line that says what to do.
    Other(String),
}
