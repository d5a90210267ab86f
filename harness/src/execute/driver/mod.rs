//! Executors in Python: a driver runs the real ops of a graph, and says what it measured.
//!
//! The suite starts `python3 -m placebench_extract execute NAME --problem FILE` and reads JSON from its standard output,
//! one object a line. docs/FORMATS.md has the protocol.

mod answer;
mod problem;

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::Command;

use placebench_algorithms::StopToken;
use placebench_base::significant::bytes_text;
use placebench_datasets::PlacedGraph;

use super::setup::{Notify, Progress, Setup};
use super::simulate::{NetworkModel, Simulator};
use super::token::token;
use super::{ExecuteSettings, ExecutionError, Executor, Order, order_of};
use crate::measurement::Measurement;
use crate::process::{self, Ending, Limits};
use crate::timeline::Timeline;
use crate::validator::Demands;
use answer::Answer;
use problem::{DriverProblem, Source};

/// The variable that names the Python to start drivers with.
pub const PYTHON_VARIABLE: &str = "PLACEBENCH_PYTHON";

/// What a driver may write.
const MOST_BYTES: usize = 1 << 30;

/// Executes placed graphs with a driver in Python, which runs the graph's real ops on real devices.
///
/// The makespans are those of steps that nothing disturbs; the timeline comes from separate traced steps. The driver and
/// all that it started are killed when its time is up or the run is told to stop.
#[derive(Clone)]
pub struct Driver {
    name: &'static str,
    network: &'static dyn NetworkModel,
    settings: ExecuteSettings,
    source: Source,
    notify: Notify,
}

impl Driver {
    /// The driver of this name.
    ///
    /// # Errors
    /// If the graph has no real ops, or its times are no seconds.
    pub fn new(name: &'static str, setup: &Setup<'_>) -> Result<Self, String> {
        if setup.time_unit != "seconds" {
            return Err(format!(
                "graph '{}' has times in {}, which do not compare with measured seconds: use a graph with measured times",
                setup.graph.label(),
                setup.time_unit
            ));
        }
        let source = Source::of(setup.graph)?;
        let (settings, notify) = (setup.settings.clone(), setup.notify.clone());
        Ok(Self { name, network: setup.network, settings, source, notify })
    }

    fn failed(&self, reason: String) -> ExecutionError {
        ExecutionError::Failed { executor: self.name, reason }
    }

    /// Runs the driver to its end, and reads what it wrote.
    fn drive(&self, problems: &[DriverProblem], stop: &StopToken) -> Result<String, ExecutionError> {
        let fault = |error: io::Error| self.failed(error.to_string());
        let folder = tempfile::Builder::new().prefix("placebench-execute-").tempdir().map_err(fault)?;
        let (python, mut command) = python();
        command.args(["execute", self.name]);
        for (number, problem) in problems.iter().enumerate() {
            let file = folder.path().join(format!("problem{number}.json"));
            let out = private_file(&file).map_err(fault)?;
            serde_json::to_writer(out, problem).map_err(|error| fault(error.into()))?;
            command.arg("--problem").arg(&file);
        }
        let limits = Limits { time: None, memory_bytes: None, output_bytes: MOST_BYTES, stop };
        let finished = process::run(&mut command, &limits).map_err(|error| {
            self.failed(format!(
                "cannot start {python}: {error}; set {PYTHON_VARIABLE} to a Python that has the driver"
            ))
        })?;
        let text = String::from_utf8_lossy(&finished.stdout).into_owned();
        let runs = self.settings.runs().saturating_mul(problems.len() as u32);
        let how = match finished.ending {
            Ending::Exited(0) => return Ok(text),
            Ending::TimedOut | Ending::Stopped => {
                let done = text.lines().filter(|line| line.contains("\"step\"")).count() as u32;
                return Err(ExecutionError::Interrupted { executor: self.name, done: done.min(runs), runs });
            }
            // It says why.
            Ending::Exited(_) if text.lines().any(|line| line.contains("\"error\"")) => return Ok(text),
            Ending::Exited(code) => format!("ended with exit code {code}"),
            Ending::Signalled(signal) => format!("was killed by signal {signal}"),
            Ending::Overflowed => format!("wrote more than {MOST_BYTES} bytes"),
            Ending::OutputHeldOpen => "ended, but left a process that holds its output open".to_owned(),
        };
        let stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
        let said = stderr.lines().rfind(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim()));
        Err(self.failed(format!("the driver {how}{}", said.unwrap_or_default())))
    }

    /// What a driver has to do for a placed graph.
    fn problem(
        &self,
        placed: &PlacedGraph<'_>,
        order: Order<'_>,
        stop: &StopToken,
    ) -> Result<DriverProblem, ExecutionError> {
        let simulated = Simulator::new(self.network).execute(placed, order, stop)?;
        let token = token(&self.settings.hosts).map_err(|reason| self.failed(reason))?;
        let tasks = order_of(placed, &simulated);
        DriverProblem::new(placed, &tasks, &self.source, &self.settings, token).map_err(|reason| self.failed(reason))
    }

    /// Lets the driver run placed graphs of one instance in turns. All fail if one does.
    fn run(
        &self,
        placed: &[&PlacedGraph<'_>],
        problems: &[DriverProblem],
        stop: &StopToken,
    ) -> Result<Vec<Timeline>, ExecutionError> {
        let runs = self.settings.runs().saturating_mul(problems.len() as u32);
        (self.notify)(Progress::Begin { runs, seconds: None });
        let text = self.drive(problems, stop)?;
        let answers = answer::read(&text, placed, self.settings.repetitions).map_err(|reason| self.failed(reason))?;
        let turns = (placed.len() > 1).then(|| format!("in turns with {} others", placed.len() - 1));
        let timeline = |(placed, answer): (&&PlacedGraph<'_>, Answer)| {
            let Answer {
                hardware,
                software,
                transport,
                checked,
                bytes,
                slow: [slow, repeated],
                other_load,
                makespans,
                ops,
                transfers,
            } = answer;
            let moved = format!("{} moved", bytes_text(bytes as f64));
            let order = format!("order {}", self.settings.order);
            let transport = if transport.is_empty() { transport } else { format!("transport {transport}") };
            let slow = match (slow, repeated) {
                (0, 0) => String::new(),
                (0, repeated) => format!("{repeated} steps run again since a core was slow"),
                (slow, repeated) => {
                    format!("{slow} of {} steps on a slow core, {repeated} run again", makespans.len())
                }
            };
            let parts = [software, order, transport, turns.clone().unwrap_or_default(), moved, slow, checked];
            let measurement = Measurement {
                hardware,
                execution: parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", "),
                other_load,
                warm_ups: self.settings.warm_up,
                makespans,
                time_scale: 1.0,
            };
            // Drivers send beside the ops of a device, not as tasks of its order.
            Timeline::measured(placed, ops, Vec::new(), transfers).with_measurement(measurement)
        };
        Ok(placed.iter().zip(answers).map(timeline).collect())
    }
}

impl Executor for Driver {
    fn demands(&self) -> Demands {
        Demands::Order
    }

    fn execute(
        &self,
        placed: &PlacedGraph<'_>,
        order: Order<'_>,
        stop: &StopToken,
    ) -> Result<Timeline, ExecutionError> {
        self.execute_all(&[(placed, order)], stop).remove(0)
    }

    fn execute_all(
        &self,
        runs: &[(&PlacedGraph<'_>, Order<'_>)],
        stop: &StopToken,
    ) -> Vec<Result<Timeline, ExecutionError>> {
        let problems: Vec<_> = runs.iter().map(|&(placed, order)| self.problem(placed, order, stop)).collect();
        let able = || runs.iter().zip(&problems).filter(|(_, problem)| problem.is_ok());
        let placed: Vec<&PlacedGraph<'_>> = able().map(|(&(placed, _), _)| placed).collect();
        let asked: Vec<DriverProblem> = able().filter_map(|(_, problem)| problem.as_ref().ok().cloned()).collect();
        let mut found = match self.run(&placed, &asked, stop) {
            Ok(timelines) => timelines.into_iter().map(Ok).collect(),
            Err(error @ ExecutionError::Interrupted { .. }) => vec![Err(error); placed.len()],
            // One of them fails: each alone shows which.
            Err(_) if placed.len() > 1 => {
                let alone = |(placed, problem): (&&PlacedGraph<'_>, &DriverProblem)| {
                    Ok(self.run(&[placed], std::slice::from_ref(problem), stop)?.remove(0))
                };
                placed.iter().zip(&asked).map(alone).collect()
            }
            Err(error) => vec![Err(error); placed.len()],
        }
        .into_iter();
        problems
            .into_iter()
            .filter_map(|problem| problem.map_or_else(|error| Some(Err(error)), |_| found.next()))
            .collect()
    }
}

/// Python with the package of the drivers, and its name.
pub(crate) fn python() -> (String, Command) {
    let python = env::var(PYTHON_VARIABLE).unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.args(["-m", "placebench_extract"]);
    if let Some(path) = python_path() {
        command.env("PYTHONPATH", path);
    }
    (python, command)
}

/// A new file that nobody else can read: it holds the token of the run.
fn private_file(path: &std::path::Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// `PYTHONPATH` with the package of a checkout that the command, or its working directory, is in. Installed commands find
/// the installed package.
fn python_path() -> Option<std::ffi::OsString> {
    let places = [env::current_exe().ok(), env::current_dir().ok()];
    let folders = places.iter().flatten().flat_map(|path| path.ancestors()).map(|path| path.join("python"));
    let package: PathBuf = { folders }.find(|folder| folder.join("placebench_extract/__main__.py").is_file())?;
    let given = env::var_os("PYTHONPATH").unwrap_or_default();
    env::join_paths(env::split_paths(&given).filter(|path| !path.as_os_str().is_empty()).chain([package])).ok()
}
