//! Runs foreign work so that neither a panic nor an endless loop takes the run down.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use placebench_algorithms::StopToken;

/// Name of the threads that run cells, for a panic hook that wants to keep quiet about them.
pub const CELL_THREAD: &str = "placebench-cell";

/// How guarded work ended.
#[derive(Debug, PartialEq)]
pub(super) enum Guarded<T> {
    /// It returned.
    Done(T),
    /// It returned, but after its limit.
    Late(T),
    /// It panicked, with this message.
    Panicked(String),
    /// It outlasted its limit and was abandoned.
    TimedOut,
    /// The whole run was stopped before it returned.
    Stopped,
}

/// How often a waiting runner looks at the run's stop token.
const POLL: Duration = Duration::from_millis(50);

/// How long work may go on after its stop token says stop.
const GRACE: Duration = Duration::from_secs(1);

/// Runs `work` on a thread of its own with a token that stops at the limit. Work that heeds the token ends by itself; work
/// that does not is abandoned after a second of grace: its thread goes on, but nobody waits for it.
pub(super) fn guarded<T: Send + 'static>(
    limit: Option<Duration>,
    run_stop: &StopToken,
    work: impl FnOnce(StopToken) -> T + Send + 'static,
) -> Guarded<T> {
    let deadline = limit.map(|limit| Instant::now() + limit);
    let token = deadline.map_or_else(|| run_stop.clone(), |deadline| run_stop.until(deadline));
    let (sender, receiver) = channel();
    let spawned = thread::Builder::new().name(CELL_THREAD.to_owned()).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(token)));
        // Sending fails if the work was abandoned: nothing reads the result then.
        let _ = sender.send(result.map_err(|payload| panic_message(payload.as_ref())));
    });
    if let Err(error) = spawned {
        return Guarded::Panicked(format!("cannot start a thread: {error}"));
    }
    let mut asked_to_stop = None::<Instant>;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(Ok(value)) => {
                let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                return if late { Guarded::Late(value) } else { Guarded::Done(value) };
            }
            Ok(Err(message)) => return Guarded::Panicked(message),
            Err(RecvTimeoutError::Disconnected) => return Guarded::Panicked("the thread vanished".to_owned()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if run_stop.is_stopped() {
            let since = *asked_to_stop.get_or_insert_with(Instant::now);
            if since.elapsed() > GRACE {
                return Guarded::Stopped;
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline + GRACE) {
            return Guarded::TimedOut;
        }
    }
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "panicked without a message".to_owned()).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        let outcome = guarded::<()>(None, &StopToken::default(), |_| panic!("index {} is out of bounds", 7));
        assert_eq!(outcome, Guarded::Panicked("index 7 is out of bounds".to_owned()));
    }

    #[test]
    fn work_that_ignores_its_deadline_is_abandoned() {
        let outcome: Guarded<()> = guarded(Some(Duration::from_millis(10)), &StopToken::default(), |_| {
            loop {
                thread::park();
            }
        });
        assert_eq!(outcome, Guarded::TimedOut);
    }

    #[test]
    fn work_that_heeds_its_deadline_is_over_time_all_the_same() {
        let outcome = guarded(Some(Duration::from_millis(10)), &StopToken::default(), |stop| {
            while !stop.is_stopped() {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(2));
        });
        assert_eq!(outcome, Guarded::Late(()));
    }

    #[test]
    fn work_in_time_returns_its_value() {
        assert_eq!(guarded(Some(Duration::from_secs(60)), &StopToken::default(), |_| 42), Guarded::Done(42));
    }
}
