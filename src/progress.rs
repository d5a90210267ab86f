//! Shows how a run goes on: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use placebench::harness::runner::Observer;

/// Progress of a run on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// What is counted: cells, or parts.
    what: &'static str,
    /// Whether lines are printed instead of a bar.
    plain: bool,
    quiet: bool,
    started: Instant,
    cells: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicUsize,
    /// Shards that run and that wait, of a run in shards.
    shards: Mutex<Option<(usize, usize)>>,
}

impl Progress {
    /// A bar on a terminal, a line for every tenth of the cells elsewhere, nothing if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self::of("cells", quiet)
    }

    /// The same of other things than cells.
    pub(crate) fn of(what: &'static str, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal && !quiet { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) =
            ProgressStyle::with_template(&format!("{{bar:30}} {{pos}}/{{len}} {what}, {{eta}} left {{msg}}"))
        {
            bar.set_style(style);
        }
        Self {
            bar,
            what,
            plain: !terminal && !quiet,
            quiet,
            started: Instant::now(),
            cells: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            shards: Mutex::new(None),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints a line above the bar, unless quiet.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| eprintln!("{text}"));
        }
    }

    /// What stands behind the bar.
    fn message(&self) {
        let failed = Some(self.failed.load(Ordering::Relaxed)).filter(|&failed| failed > 0);
        let shards = *self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        let shards = shards.map(|(running, waiting)| format!("{running} shards running, {waiting} waiting"));
        let parts: Vec<String> = failed.map(|failed| format!("{failed} failed")).into_iter().chain(shards).collect();
        if !parts.is_empty() {
            self.bar.set_message(format!("({})", parts.join(", ")));
        }
    }

    fn line(&self, done: usize, cells: usize) {
        let failed = self.failed.load(Ordering::Relaxed);
        let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let what = self.what;
        eprintln!("{done}/{cells} {what}{failures}, {:.0} s", self.started.elapsed().as_secs_f64());
    }
}

impl Observer for Progress {
    fn begin(&self, cells: usize, done: usize) {
        self.cells.store(cells, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
        self.bar.set_length(cells as u64);
        self.bar.set_position(done as u64);
        self.bar.reset_eta();
        if self.plain {
            self.line(done, cells);
        }
    }

    fn shards(&self, running: usize, waiting: usize) {
        *self.shards.lock().unwrap_or_else(PoisonError::into_inner) = Some((running, waiting));
        self.message();
    }

    fn note(&self, text: &str) {
        self.say(text);
    }

    fn cell(&self, ok: bool) {
        if !ok {
            self.failed.fetch_add(1, Ordering::Relaxed);
            self.message();
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.inc(1);
        let cells = self.cells.load(Ordering::Relaxed);
        let tenth = (cells / 10).max(1);
        if self.plain && (done.is_multiple_of(tenth) || done == cells) {
            self.line(done, cells);
        }
    }
}
