//! Ctrl-C: the first asks for an orderly end, the second ends at once.

use anyhow::Context;
use placebench::algorithms::StopToken;

/// Exit code of a command that Ctrl-C stopped: 128 + SIGINT, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Stops the token at the first Ctrl-C, and the process at the second.
///
/// # Errors
/// If the system does not let this process listen, or it listens already.
pub(crate) fn stop_on_ctrl_c(stop: &StopToken) -> anyhow::Result<()> {
    let stop = stop.clone();
    ctrlc::set_handler(move || {
        if stop.is_stopped() {
            std::process::exit(i32::from(INTERRUPTED));
        }
        eprintln!("stopping; once more to stop at once");
        stop.stop();
    })
    .context("cannot listen for Ctrl-C")
}
