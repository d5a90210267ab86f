//! Runs foreign work so that neither a panic nor an endless loop takes the run down.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use placebench_algorithms::StopToken;
use placebench_base::processor::ThreadClock;

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

/// How long work may take.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// Processor time, see [`StopToken::within`].
    Processor(Duration),
    /// Time by the clock, for what is to happen in real time.
    Clock(Duration),
}

/// How often a waiting runner looks at the run's stop token, and at the time that the work has taken.
const POLL: Duration = Duration::from_millis(50);

/// How long work may go on after its stop token says stop.
const GRACE: Duration = Duration::from_secs(1);

/// Runs `work` on a thread of its own with a token that stops at the limit. Work that heeds the token ends by itself; work
/// that does not is abandoned after a second of grace: its thread goes on, but nobody waits for it.
pub(super) fn guarded<T: Send + 'static>(
    limit: Option<Limit>,
    run_stop: &StopToken,
    work: impl FnOnce(StopToken) -> T + Send + 'static,
) -> Guarded<T> {
    let token = match limit {
        None => run_stop.clone(),
        Some(Limit::Processor(limit)) => run_stop.within(limit),
        Some(Limit::Clock(limit)) => run_stop.until(Instant::now() + limit),
    };
    let (clock_sender, clock) = channel();
    let (sender, receiver) = channel();
    let given = token.clone();
    let spawned = thread::Builder::new().name(CELL_THREAD.to_owned()).spawn(move || {
        // From here on looks at the token count what this thread takes.
        let _ = given.is_stopped();
        let _ = clock_sender.send(ThreadClock::of_this_thread());
        let last = given.clone();
        let result = catch_unwind(AssertUnwindSafe(|| work(given)));
        let _ = last.is_stopped();
        // Sending fails if the work was abandoned: nothing reads the result then.
        let _ = sender.send(result.map_err(|payload| panic_message(payload.as_ref())));
    });
    if let Err(error) = spawned {
        return Guarded::Panicked(format!("cannot start a thread: {error}"));
    }
    let clock = clock.recv().ok().flatten();
    let [mut asked_to_stop, mut over_limit] = [None::<Instant>; 2];
    let is_over = |since: &mut Option<Instant>| since.get_or_insert_with(Instant::now).elapsed() > GRACE;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(Ok(value)) => {
                return if token.is_late(Duration::ZERO) { Guarded::Late(value) } else { Guarded::Done(value) };
            }
            Ok(Err(message)) => return Guarded::Panicked(message),
            Err(RecvTimeoutError::Disconnected) => return Guarded::Panicked("the thread vanished".to_owned()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if run_stop.is_asked() && is_over(&mut asked_to_stop) {
            return Guarded::Stopped;
        }
        // What the thread has taken, whether it looks at its token or not.
        let taken = clock.as_ref().and_then(ThreadClock::read).unwrap_or_default();
        if token.is_late(taken) && is_over(&mut over_limit) {
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
    #[cfg(target_os = "linux")]
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        let outcome = guarded::<()>(None, &StopToken::default(), |_| panic!("index {} is out of bounds", 7));
        assert_eq!(outcome, Guarded::Panicked("index 7 is out of bounds".to_owned()));
    }

    #[test]
    fn work_that_ignores_its_limit_is_abandoned() {
        let forever = |_: StopToken| {
            loop {
                thread::park();
            }
        };
        let short = Duration::from_millis(10);
        let outcome: Guarded<()> = guarded(Some(Limit::Clock(short)), &StopToken::default(), forever);
        assert_eq!(outcome, Guarded::TimedOut);
        // Waiting takes no processor time: the backstop ends it.
        let outcome: Guarded<()> = guarded(Some(Limit::Processor(short)), &StopToken::default(), forever);
        assert_eq!(outcome, Guarded::TimedOut);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_that_never_looks_at_its_token_is_abandoned_when_its_processor_time_is_up() {
        let ended = Arc::new(AtomicBool::new(false));
        let work = {
            let ended = Arc::clone(&ended);
            move |token: StopToken| {
                while !ended.load(Ordering::Relaxed) {}
                token.deadline()
            }
        };
        let limit = Duration::from_secs(1);
        let outcome = guarded(Some(Limit::Processor(limit)), &StopToken::default(), work);
        ended.store(true, Ordering::Relaxed);
        assert_eq!(outcome, Guarded::TimedOut);
    }

    #[test]
    fn work_that_heeds_its_limit_is_over_time_all_the_same() {
        for limit in [Limit::Clock, Limit::Processor] {
            let outcome =
                guarded(
                    Some(limit(Duration::from_millis(10))),
                    &StopToken::default(),
                    |stop| {
                        while !stop.is_stopped() {}
                    },
                );
            assert_eq!(outcome, Guarded::Late(()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn work_that_waits_for_the_machine_is_in_time() {
        let outcome = guarded(Some(Limit::Processor(Duration::from_millis(200))), &StopToken::default(), |stop| {
            thread::sleep(Duration::from_millis(400));
            stop.is_stopped()
        });
        assert_eq!(outcome, Guarded::Done(false));
    }

    #[test]
    fn work_in_time_returns_its_value() {
        assert_eq!(
            guarded(Some(Limit::Processor(Duration::from_secs(60))), &StopToken::default(), |_| 42),
            Guarded::Done(42)
        );
    }
}
