//! Long work without the GIL, which Ctrl-C stops.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use placebench::algorithms::StopToken;
use placebench::datasets::format::is_decoding;
use placebench::harness::runner::CELL_THREAD;
use pyo3::prelude::*;

use crate::fault::fault;

/// Name of the threads that do the work.
const WORK_THREAD: &str = "placebench-python";

/// How often a waiting call looks for signals.
const POLL: Duration = Duration::from_millis(50);

/// How long work may go on after it was asked to stop; then nobody waits for it any more.
const GRACE: Duration = Duration::from_secs(5);

/// Does work on a thread of its own, while Python's other threads run. A signal such as Ctrl-C stops the token, and is raised
/// when the work has ended, or after some seconds if it does not heed the token. `each` is called now and then.
///
/// # Errors
/// What a signal handler or `each` raises; a panic, with its message.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    stop: &StopToken,
    mut each: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let contained = move || {
        let result = catch_unwind(AssertUnwindSafe(work));
        // Sending fails if nobody waits any more.
        let _ = sender.send(result);
    };
    let spawned = thread::Builder::new().name(WORK_THREAD.to_owned()).spawn(contained);
    spawned.map_err(|error| fault(format!("cannot start a thread: {error}")))?;
    let mut interrupt: Option<(PyErr, Instant)> = None;
    loop {
        let outcome;
        (receiver, outcome) = py.detach(move || {
            let outcome = receiver.recv_timeout(POLL);
            (receiver, outcome)
        });
        match (outcome, interrupt) {
            (Err(RecvTimeoutError::Timeout), Some((signal, since))) if since.elapsed() > GRACE => return Err(signal),
            (Err(RecvTimeoutError::Timeout), earlier) => interrupt = earlier,
            (_, Some((signal, _))) => return Err(signal),
            (Ok(Ok(value)), None) => return Ok(value),
            (Ok(Err(payload)), None) => return Err(panicked(payload.as_ref())),
            (Err(RecvTimeoutError::Disconnected), None) => return Err(fault("the working thread vanished")),
        }
        if interrupt.is_none() {
            let signal = py.check_signals().and_then(|()| each(py));
            interrupt = signal.err().map(|signal| {
                stop.stop();
                (signal, Instant::now())
            });
        }
    }
}

fn panicked(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    fault(format!("placebench has a fault: {}: please report it", text.replace('\n', " ")))
}

/// Keeps panics that become a row or an exception from being printed, too.
pub(crate) fn quiet_contained_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        let is_contained = thread.name().is_some_and(|name| [CELL_THREAD, WORK_THREAD].contains(&name));
        if !is_contained && !is_decoding() {
            default(info);
        }
    }));
}
