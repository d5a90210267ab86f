//! Ctrl-C: while work goes on that can end in an orderly way, the first asks for that; otherwise it ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use placebench::algorithms::StopToken;

/// Exit code of a command that Ctrl-C stopped: 128 + SIGINT, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Whether anybody looks at the token.
static HEEDED: AtomicBool = AtomicBool::new(false);

/// As long as this lives, somebody looks at the token; afterwards Ctrl-C ends the process at once, whatever it waits for.
pub(crate) struct Heeded(());

impl Drop for Heeded {
    fn drop(&mut self) {
        HEEDED.store(false, Ordering::Release);
    }
}

/// Stops the token at the first Ctrl-C, and the process at the second, or when nobody looks at the token any more.
///
/// # Errors
/// If the system does not let this process listen, or it listens already.
pub(crate) fn stop_on_ctrl_c(stop: &StopToken) -> anyhow::Result<Heeded> {
    let stop = stop.clone();
    HEEDED.store(true, Ordering::Release);
    ctrlc::set_handler(move || {
        if stop.is_stopped() || !HEEDED.load(Ordering::Acquire) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        eprintln!("stopping; once more to stop at once");
        stop.stop();
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(Heeded(()))
}
