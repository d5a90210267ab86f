//! `run`: suites, from Python.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use placebench::algorithms::StopToken;
use placebench::environment;
use placebench::harness::results::{Filter, Row};
use placebench::harness::runner::{
    self, Environment, Finished, FolderError, Observer, RunFolder, RunState, input_digests, read_run, read_suite,
};
use placebench::harness::suite::{PlacerEntry, RunPlan, Suite, SuiteError};
use pyo3::prelude::*;

use crate::definition::toml_of;
use crate::fault::fault;
use crate::interrupt::wait;
use crate::placer::{PythonPlacer, Raised};
use crate::results::Results;

/// What Python says of a suite: its definition as JSON has the keys of a suite file.
const PLACE: &str = "suite";

/// A placer that is a Python function: its name in the suite, what is called, and what tells this state of its code from others.
type Function = (String, Py<PyAny>, String);

/// See `placebench.run` in the package.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn run(
    py: Python<'_>,
    name: Option<PathBuf>,
    definition: Option<&str>,
    functions: Vec<Function>,
    out: Option<PathBuf>,
    seed: Option<u64>,
    repetitions: Option<u32>,
    only: Option<&str>,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<Results>> {
    let mut suite = match (name, definition) {
        (_, Some(json)) => of_definition(json)?,
        (Some(name), None) => Suite::named(&name.to_string_lossy()).map_err(fault)?,
        (None, None) => return Err(fault("give a suite: a name, a file or a dictionary")),
    };
    if let Some(repetitions) = repetitions {
        suite.repetitions = repetitions;
        suite.graphs.iter_mut().for_each(|graph| graph.repetitions = None);
    }
    suite.seed = seed.unwrap_or(suite.seed);
    if let Some(only) = only {
        suite.only = only.parse::<Filter>().map_err(|error| fault(format!("where: {error}")))?;
    }
    let mut plan = RunPlan::new(suite).map_err(fault)?;
    let toml = plan.suite.to_toml().map_err(|_| fault("the suite has a path that is not Unicode"))?;
    let mut digests = BTreeMap::new();
    for (name, function, digest) in functions {
        digests.insert(format!("the function of placer {name}"), digest);
        plan.provide(&name, Box::new(PythonPlacer::new(name.clone(), function, Raised::default())));
    }
    let missing = plan.used_placer_entries().find_map(|entry| match entry {
        PlacerEntry::Function(placer) if !digests.contains_key(&format!("the function of placer {}", placer.name)) => {
            Some(format!(
                "the placer '{}' is the function {}: hand the function itself to run",
                placer.name, placer.function
            ))
        }
        _ => None,
    });
    if let Some(message) = missing {
        return Err(fault(message));
    }
    let plan = Arc::new(plan);
    let (stop, counter) = (StopToken::default(), Arc::new(Counter::default()));
    let work = {
        let (plan, stop, counter, out) = (Arc::clone(&plan), stop.clone(), Arc::clone(&counter), out.clone());
        move || in_pool(&plan, &toml, digests, out.as_deref(), threads.unwrap_or(0), &stop, &counter)
    };
    let mut told = None;
    let mut tell = |_: Python<'_>| -> PyResult<()> {
        let now = counter.now();
        if let Some(progress) = progress.as_ref().filter(|_| told != Some(now) && now.1 > 0) {
            told = Some(now);
            progress.call1(now)?;
        }
        Ok(())
    };
    let rows = wait(py, &stop, &mut tell, work)?.map_err(fault)?;
    tell(py)?;
    Results::new(py, rows, plan.suite.clone(), out)
}

/// The results in a run folder, finished or not.
#[pyfunction]
#[pyo3(signature = (folder, /))]
pub(crate) fn read_results(py: Python<'_>, folder: PathBuf) -> PyResult<Py<Results>> {
    let path = folder.clone();
    let read = move || -> Result<(Vec<Row>, Suite), FolderError> { Ok((read_run(&path)?, read_suite(&path)?.1?)) };
    let (rows, suite) = wait(py, &StopToken::default(), |_| Ok(()), read)?.map_err(fault)?;
    Results::new(py, rows, suite, Some(folder))
}

/// The suite of a dictionary. Paths are relative to the working directory.
fn of_definition(json: &str) -> PyResult<Suite> {
    let text = toml_of(json, PLACE)?;
    let suite = Suite::parse(&text, PLACE).and_then(|suite| suite.relative_to(Path::new(""), PLACE));
    suite.map_err(|error| match error {
        // Nobody sees the lines of the text.
        SuiteError::Syntax { path, reason, .. } => fault(format!("{path}: {reason}")),
        error => fault(error),
    })
}

/// How far a run is.
#[derive(Default)]
struct Counter {
    done: AtomicUsize,
    cells: AtomicUsize,
}

impl Counter {
    /// Cells that are done, and all.
    fn now(&self) -> (usize, usize) {
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

/// Runs a plan on that number of threads (0: one a core), in a folder or in memory.
fn in_pool(
    plan: &Arc<RunPlan>,
    toml: &str,
    digests: BTreeMap<String, String>,
    out: Option<&Path>,
    threads: usize,
    stop: &StopToken,
    counter: &Counter,
) -> Result<Vec<Row>, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| format!("cannot start threads, use fewer: {error}"))?;
    let mut inputs = input_digests(plan).map_err(|error| error.to_string())?;
    inputs.extend(digests);
    let environment = environment(pool.current_num_threads(), inputs);
    pool.install(|| match out {
        Some(path) => in_folder(plan, toml, &environment, path, stop, counter),
        None => Ok(in_memory(plan, &environment, stop, counter)),
    })
}

/// Runs a plan and keeps the rows, in the suite's order.
fn in_memory(plan: &Arc<RunPlan>, environment: &Environment, stop: &StopToken, counter: &Counter) -> Vec<Row> {
    let positions: BTreeMap<_, usize> = plan.cells.iter().enumerate().map(|(at, &cell)| (plan.key(cell), at)).collect();
    let kept: Mutex<Vec<(usize, Row)>> = Mutex::default();
    let keep = |row: &Row| -> Result<(), std::convert::Infallible> {
        let row = environment.sign(row.clone());
        let at = positions.get(&row.key()).copied().unwrap_or(usize::MAX);
        kept.lock().unwrap_or_else(PoisonError::into_inner).push((at, row));
        Ok(())
    };
    let Ok(_) = runner::run(plan, |_| false, stop, counter, keep);
    let mut rows = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|&(at, _)| at);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Runs a plan in a folder, or what is missing there.
fn in_folder(
    plan: &Arc<RunPlan>,
    toml: &str,
    environment: &Environment,
    path: &Path,
    stop: &StopToken,
    counter: &Counter,
) -> Result<Vec<Row>, String> {
    if let Some(RunState::Complete) = RunFolder::state(path, toml, environment) {
        return Err(format!(
            "{}: holds a complete run of this suite: read it with read_results, choose another folder with out, or delete it",
            path.display()
        ));
    }
    let run = || -> Result<Vec<Row>, FolderError> {
        let folder = RunFolder::open(path, toml, environment, None)?;
        let mut finished = Finished::new(path, plan)?;
        finished.update(None, |_, _| ())?;
        let outcome = runner::run(plan, |cell| finished.has(cell), stop, counter, |row| folder.append(row))?;
        if outcome.is_complete() {
            finished.update(None, |_, _| ())?;
            finished.write_table()?;
        }
        read_run(path)
    };
    run().map_err(|error| error.to_string())
}
