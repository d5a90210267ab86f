//! A run of a suite, as Python waits for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use placebench::algorithms::StopToken;
use placebench::environment;
use placebench::harness::results::Row;
use placebench::harness::runner::{
    self, Environment, Finished, FolderError, InputWatch, Observer, RunFolder, RunState, input_digests, read_run,
};
use placebench::harness::suite::RunPlan;

/// What is run, where, and on how many threads.
pub(crate) struct Job {
    pub(crate) plan: Arc<RunPlan>,
    /// The suite file of the run folder.
    pub(crate) toml: String,
    /// What tells the state of the code of Python functions from others.
    pub(crate) digests: BTreeMap<String, String>,
    /// The run folder; in memory if there is none.
    pub(crate) out: Option<PathBuf>,
    /// 0: one for each core.
    pub(crate) threads: usize,
}

impl Job {
    /// Runs the cells, or those that are missing in the folder. Answers with all rows.
    pub(crate) fn run(self, stop: &StopToken, counter: &Counter) -> Result<Vec<Row>, String> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let pool = pool.map_err(|error| format!("cannot start threads, use fewer: {error}"))?;
        let files = input_digests(&self.plan).map_err(|error| error.to_string())?;
        let watch = InputWatch::new(&self.plan, &files);
        let inputs = files.into_iter().chain(self.digests.clone()).collect();
        let environment = environment(pool.current_num_threads(), inputs);
        pool.install(|| match &self.out {
            None => Ok(self.in_memory(&environment, stop, counter)),
            Some(path) => match RunFolder::state(path, &self.toml, &environment) {
                Some(RunState::Complete) => Err(format!(
                    "{}: holds a complete run of this suite: read it with read_results, choose another folder with \
                     out, or delete it",
                    path.display()
                )),
                _ => self.in_folder(path, &environment, &watch, stop, counter).map_err(|error| error.to_string()),
            },
        })
    }

    /// The rows in the suite's order, whatever the order in which cells end.
    fn in_memory(&self, environment: &Environment, stop: &StopToken, counter: &Counter) -> Vec<Row> {
        let positions: BTreeMap<_, usize> =
            self.plan.cells.iter().enumerate().map(|(at, &cell)| (self.plan.key(cell), at)).collect();
        let kept: Mutex<Vec<(usize, Row)>> = Mutex::default();
        let keep = |_, row: &Row| -> Result<(), std::convert::Infallible> {
            let row = environment.sign(row.clone());
            let at = positions.get(&row.key()).copied().unwrap_or(usize::MAX);
            kept.lock().unwrap_or_else(PoisonError::into_inner).push((at, row));
            Ok(())
        };
        let Ok(_) = runner::run(&self.plan, |_| false, stop, counter, keep);
        let mut rows = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        rows.sort_by_key(|&(at, _)| at);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn in_folder(
        &self,
        path: &Path,
        environment: &Environment,
        watch: &InputWatch,
        stop: &StopToken,
        counter: &Counter,
    ) -> Result<Vec<Row>, FolderError> {
        let folder = RunFolder::open(path, &self.toml, environment, None)?;
        let mut finished = Finished::new(path, &self.plan)?;
        finished.update(None, |_, _| ())?;
        let record = |cell, row: &Row| {
            watch.check(&self.plan, cell)?;
            folder.append(row)
        };
        let outcome = runner::run(&self.plan, |cell| finished.has(cell), stop, counter, record)?;
        if outcome.is_complete() {
            watch.check_all()?;
            finished.update(None, |_, _| ())?;
            finished.write_table()?;
        }
        read_run(path)
    }
}

/// How far a run is.
#[derive(Default)]
pub(crate) struct Counter {
    done: AtomicUsize,
    cells: AtomicUsize,
}

impl Counter {
    /// Cells that are done, and all.
    pub(crate) fn now(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.cells.load(Ordering::Relaxed))
    }
}

impl Observer for Counter {
    fn begin(&self, cells: usize, done: usize) {
        self.cells.store(cells, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    fn cell(&self, _: bool) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
