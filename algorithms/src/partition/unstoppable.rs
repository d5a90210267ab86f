//! A time limit for work that hears none, such as a call of a C library.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::StopToken;

/// How often the stop token is asked: well within the half second that placers may take beyond their limit.
const INTERVAL: Duration = Duration::from_millis(20);

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// The deadline passed, or the caller asked to stop.
    Stopped,
    /// The thread did not start, or it panicked.
    Failed(String),
}

/// Runs `work` on a thread of its own and waits for its result until `stop` says to stop. The thread cannot be ended: after a
/// stop it goes on alone, and its result is dropped.
///
/// # Errors
/// [`Unfinished`].
pub(super) fn run<T: Send + 'static>(
    stop: &StopToken,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unfinished> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // Nobody receives the result after a stop.
    let send = move || drop(sender.send(work()));
    thread::Builder::new()
        .spawn(send)
        .map_err(|error| Unfinished::Failed(format!("needs a thread, and none could be started: {error}")))?;
    loop {
        if stop.is_stopped() {
            return Err(Unfinished::Stopped);
        }
        match receiver.recv_timeout(INTERVAL) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Unfinished::Failed("ended without a result".to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn work_that_takes_too_long_is_left_alone() {
        let stop = StopToken::with_deadline(Instant::now() + Duration::from_millis(50));
        let outcome: Result<(), _> = run(&stop, || {
            loop {
                thread::park();
            }
        });
        assert_eq!(outcome, Err(Unfinished::Stopped));
    }

    #[test]
    fn a_result_in_time_arrives_and_a_panic_is_an_error() {
        assert_eq!(run(&StopToken::default(), || 7), Ok(7));
        let failed = run(&StopToken::default(), || -> u8 { panic!("on purpose") });
        assert!(matches!(failed, Err(Unfinished::Failed(_))));
    }
}
