//! `run`: suites, from Python.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use placebench::algorithms::StopToken;
use placebench::harness::results::{Filter, Row};
use placebench::harness::runner::{FolderError, read_run, read_suite};
use placebench::harness::suite::{PlacerEntry, RunPlan, Suite, SuiteError};
use pyo3::prelude::*;

use crate::definition::toml_of;
use crate::fault::fault;
use crate::interrupt::wait;
use crate::job::{Counter, Job};
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
    let mut suite = suite_of(name, definition)?;
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
    let digests = provide(&mut plan, functions)?;
    let plan = Arc::new(plan);
    let job = Job { plan: Arc::clone(&plan), toml, digests, out: out.clone(), threads: threads.unwrap_or(0) };

    let (stop, counter) = (StopToken::default(), Arc::new(Counter::default()));
    let mut told = None;
    let mut tell = |_: Python<'_>| -> PyResult<()> {
        let now = counter.now();
        if let Some(progress) = progress.as_ref().filter(|_| told != Some(now) && now.1 > 0) {
            told = Some(now);
            progress.call1(now)?;
        }
        Ok(())
    };
    let work = {
        let (stop, counter) = (stop.clone(), Arc::clone(&counter));
        move || job.run(&stop, &counter)
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

/// The suite that a person names, or the one of a dictionary.
fn suite_of(name: Option<PathBuf>, definition: Option<&str>) -> PyResult<Suite> {
    match (name, definition) {
        (_, Some(json)) => of_definition(json),
        (Some(name), None) => Suite::named(&name.to_string_lossy()).map_err(fault),
        (None, None) => Err(fault("give a suite: a name, a file or a dictionary")),
    }
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

/// Gives the plan its placers that are Python functions. Answers with the digests of their code, by what a run folder calls
/// them.
fn provide(plan: &mut RunPlan, functions: Vec<Function>) -> PyResult<BTreeMap<String, String>> {
    let key = |placer: &str| format!("the function of placer {placer}");
    let mut digests = BTreeMap::new();
    for (name, function, digest) in functions {
        digests.insert(key(&name), digest);
        plan.provide(&name, Box::new(PythonPlacer::new(name.clone(), function, Raised::default())));
    }
    for entry in plan.used_placer_entries() {
        if let PlacerEntry::Function(placer) = entry
            && !digests.contains_key(&key(&placer.name))
        {
            let (name, function) = (&placer.name, &placer.function);
            return Err(fault(format!(
                "the placer '{name}' is the function {function}: hand the function itself to run"
            )));
        }
    }
    Ok(digests)
}
