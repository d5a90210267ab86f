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
    listen(move || {
        if stop.is_stopped() || !HEEDED.load(Ordering::Acquire) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        eprintln!("stopping; once more to stop at once");
        stop.stop();
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(Heeded(()))
}

/// Calls `heard` at each INT, TERM and HUP, on a thread of its own. What is ignored from the start stays so: `nohup` has
/// placebench go on when its terminal goes.
#[cfg(unix)]
fn listen(heard: impl Fn() + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let listened = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(listened)?;
    let listener = std::thread::Builder::new().name("signals".to_owned());
    listener.spawn(move || signals.forever().for_each(|_| heard())).map(|_| ())
}

/// Whether this process ignores a signal, where the system tells (Linux).
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Calls `heard` at each Ctrl-C.
#[cfg(not(unix))]
fn listen(heard: impl Fn() + Send + 'static) -> std::io::Result<()> {
    ctrlc::set_handler(heard).map_err(std::io::Error::other)
}
