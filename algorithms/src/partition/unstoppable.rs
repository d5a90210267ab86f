//! A time limit for work that hears none, such as a call of a C library.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use placebench_base::processor::{ThreadClock, thread_time};

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
    let (clock_sender, clock) = mpsc::sync_channel(1);
    let (sender, receiver) = mpsc::sync_channel(1);
    let send = move || {
        // Nobody receives these after a stop.
        drop(clock_sender.send(ThreadClock::of_this_thread()));
        let result = work();
        drop(sender.send((result, thread_time())));
    };
    thread::Builder::new()
        .spawn(send)
        .map_err(|error| Unfinished::Failed(format!("needs a thread, and none could be started: {error}")))?;
    // Without a clock the limit is the token's backstop.
    let clock = clock.recv().ok().flatten();
    loop {
        // The thread cannot look at the token, so that nothing is counted before it has ended.
        let taken = clock.as_ref().and_then(ThreadClock::read).unwrap_or_default();
        if stop.is_stopped() || stop.is_late(stop.spent() + taken) {
            stop.spend(taken);
            return Err(Unfinished::Stopped);
        }
        match receiver.recv_timeout(INTERVAL) {
            Ok((result, taken)) => {
                stop.spend(taken);
                return Ok(result);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Unfinished::Failed("ended without a result".to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
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

    #[cfg(target_os = "linux")]
    #[test]
    fn work_that_does_not_look_at_the_token_is_counted() {
        let stop = StopToken::default().within(Duration::from_millis(50));
        let ended = Arc::new(AtomicBool::new(false));
        let outcome: Result<(), _> = run(&stop, {
            let ended = Arc::clone(&ended);
            move || while !ended.load(Ordering::Relaxed) {}
        });
        ended.store(true, Ordering::Relaxed);
        assert_eq!(outcome, Err(Unfinished::Stopped));
        assert!(stop.spent() >= Duration::from_millis(50));
    }

    #[test]
    fn a_result_in_time_arrives_and_a_panic_is_an_error() {
        assert_eq!(run(&StopToken::default(), || 7), Ok(7));
        let failed = run(&StopToken::default(), || -> u8 { panic!("on purpose") });
        assert!(matches!(failed, Err(Unfinished::Failed(_))));
    }
}
