//! `place` and `simulate`.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use placebench::algorithms::period::Goal;
use placebench::algorithms::{Placer, Spec, StopToken, registry};
use placebench::datasets::Placement;
use placebench::environment;
use placebench::harness::evaluate::EvaluationError;
use placebench::harness::execute::simulate::{NetworkModel, Noise, network_model};
use placebench::harness::execute::{EXECUTORS, ExecuteSettings};
use placebench::harness::problem::{GraphEntry, Problem};
use placebench::harness::request::{
    Answer, CellRequest, ChosenScheduler, Given, Prepared, all_schedulers, choose_scheduler, silent,
};
use placebench::harness::results::{CellKey, Status};
use placebench::harness::suite::CellExecutor;
use pyo3::prelude::*;

use crate::evaluation::Evaluation;
use crate::fault::{Infeasible, TimedOut, fault};
use crate::instance::{Instance, InstanceOptions};
use crate::interrupt::wait;
use crate::placer::{PythonPlacer, Raised, device_of};

/// See `placebench.place` in the package.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn place(
    py: Python<'_>,
    graph: &Bound<'_, PyAny>,
    cluster: &Bound<'_, PyAny>,
    placer: &Bound<'_, PyAny>,
    scheduler: Option<&str>,
    network: &str,
    objective: &str,
    seed: u64,
    kinds: Option<&str>,
    memory: &str,
    devices: Option<usize>,
    time_limit: Option<f64>,
    passes: Vec<String>,
    noise: Option<&str>,
) -> PyResult<Evaluation> {
    let limit = Limit::of(time_limit)?;
    let raised = Raised::default();
    let (name, spec, placer) = placer_of(placer, &raised)?;
    let chosen = choose_scheduler(&name, &*placer, scheduler, &all_schedulers().map_err(fault)?).map_err(fault)?;
    let network = network_model(network).map_err(fault)?;
    let noise = noise.map(str::parse::<Noise>).transpose().map_err(fault)?;
    let goal = objective.parse().map_err(|error: String| fault(error))?;
    if noise.is_some() && goal == Goal::Period {
        return Err(fault("there is no period under noise: leave it out, or objective='period'"));
    }
    let options = InstanceOptions::of(devices, kinds, memory, seed)?.with_passes(passes)?;
    let instance = Instance::made(py, graph, cluster, options)?;
    evaluated(py, instance, Asked { placer, name, spec, chosen, network, noise, goal, seed }, limit, &raised)
}

/// See `placebench.simulate` in the package.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn simulate(
    py: Python<'_>,
    graph: &Bound<'_, PyAny>,
    cluster: &Bound<'_, PyAny>,
    placement: &Bound<'_, PyAny>,
    scheduler: &str,
    network: &str,
    seed: u64,
    kinds: Option<&str>,
    memory: &str,
    devices: Option<usize>,
    time_limit: Option<f64>,
    passes: Vec<String>,
    noise: Option<&str>,
) -> PyResult<Evaluation> {
    let limit = Limit::of(time_limit)?;
    let network = network_model(network).map_err(fault)?;
    let noise = noise.map(str::parse::<Noise>).transpose().map_err(fault)?;
    let options = InstanceOptions::of(devices, kinds, memory, seed)?.with_passes(passes)?;
    let instance = Instance::made(py, graph, cluster, options)?;
    let given = instance.problem.instance.cluster();
    let device = |(op, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        device_of(&item?, given).map_err(|what| fault(format!("placement: op {op} is on {what}")))
    };
    let placement: Vec<_> = placement.try_iter()?.enumerate().map(device).collect::<PyResult<_>>()?;
    let placer = Box::new(Given(Placement::new(placement)));
    let (name, spec) = ("given".to_owned(), None);
    let chosen =
        choose_scheduler(&name, &*placer, Some(scheduler), &all_schedulers().map_err(fault)?).map_err(fault)?;
    evaluated(
        py,
        instance,
        Asked { placer, name, spec, chosen, network, noise, goal: Goal::Makespan, seed },
        limit,
        &Raised::default(),
    )
}

/// What is placed and executed, and how.
struct Asked {
    placer: Box<dyn Placer>,
    name: String,
    /// The placer in the registry, if it is one of those.
    spec: Option<String>,
    chosen: ChosenScheduler,
    network: &'static dyn NetworkModel,
    noise: Option<Noise>,
    goal: Goal,
    seed: u64,
}

/// Seconds after which work is given up.
#[derive(Clone, Copy)]
struct Limit(Option<f64>);

impl Limit {
    fn of(seconds: Option<f64>) -> PyResult<Self> {
        match seconds {
            Some(seconds) if !(seconds > 0.0 && seconds <= 1e9) => {
                Err(fault("time_limit must be above 0 and at most 1e9 seconds"))
            }
            seconds => Ok(Self(seconds)),
        }
    }

    /// What ends the wait for work that takes no processor time, such as a placer that sleeps.
    fn by_the_clock(self) -> impl FnMut(Python<'_>) -> PyResult<()> {
        let begun = Instant::now();
        move |_| match self.0 {
            Some(seconds) if begun.elapsed().as_secs_f64() > seconds * f64::from(StopToken::BACKSTOP) => {
                let times = StopToken::BACKSTOP;
                Err(TimedOut::new_err(format!(
                    "not done within {times} times the time limit of {seconds} s by the clock; give it more with time_limit"
                )))
            }
            _ => Ok(()),
        }
    }

    /// A token that stops at the limit.
    fn token(self) -> StopToken {
        let within = |seconds| StopToken::default().within(Duration::from_secs_f64(seconds));
        self.0.map_or_else(StopToken::default, within)
    }
}

/// The placer of a specification or of a function, with its name in tables, and its specification.
fn placer_of(placer: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<(String, Option<String>, Box<dyn Placer>)> {
    if let Ok(text) = placer.extract::<String>() {
        let spec = text.parse::<Spec>().map_err(fault)?;
        return Ok((text.clone(), Some(text), registry::placer(&spec).map_err(fault)?));
    }
    if !placer.is_callable() {
        return Err(fault("a placer is a name ('placebench list placers'), or a function of an instance and a seed"));
    }
    let name: String = placer.getattr("name").or_else(|_| placer.getattr("__name__"))?.extract()?;
    let function = PythonPlacer::new(name.clone(), placer.clone().unbind(), Arc::clone(raised));
    Ok((name, None, Box::new(function)))
}

/// Places, simulates, validates and measures, without the GIL.
fn evaluated(py: Python<'_>, made: Instance, asked: Asked, limit: Limit, raised: &Raised) -> PyResult<Evaluation> {
    let stop = limit.token();
    let key = CellKey {
        suite: String::new(),
        graph: made.graph.clone(),
        cluster: made.cluster.clone(),
        kinds: made.problem.kinds,
        network: asked.network.name().to_owned(),
        executor: asked.noise.map_or(CellExecutor::plain(&EXECUTORS[0]), CellExecutor::noisy).name,
        placer: asked.name.clone(),
        scheduler: asked.chosen.name.clone(),
        repetition: 0,
        seed: asked.seed,
        numbering: 0,
    };
    let (problem, token) = (made.problem.clone(), stop.clone());
    let Answer { evaluation, row } =
        wait(py, &stop, limit.by_the_clock(), move || evaluate(problem, key, &asked, &token))?;
    let found = evaluation.map_err(|error| {
        let late = limit.0.filter(|_| stop.is_late(Duration::ZERO));
        exception(py, &error, late, raised)
    })?;
    let row = environment(rayon::current_num_threads(), BTreeMap::new()).sign(row);
    Ok(Evaluation { instance: Py::new(py, made)?, found, row })
}

fn evaluate(problem: Problem, key: CellKey, asked: &Asked, stop: &StopToken) -> Answer {
    // The simulator, the only executor of Python, runs any graph.
    let passes = problem.passes.clone();
    let graph = GraphEntry { name: Some(key.graph.clone()), passes, ..GraphEntry::default() };
    let request = CellRequest {
        key,
        spec: asked.spec.as_deref(),
        memory: problem.instance.memory_rule(),
        graph: &graph,
        placer: &*asked.placer,
        schedulers: &asked.chosen.schedulers,
        network: asked.network,
        goal: asked.goal,
        executor: &EXECUTORS[0],
        noise: asked.noise,
        settings: &ExecuteSettings::default(),
        notify: silent(),
    };
    Prepared::new(problem, [asked.network], stop).evaluate(&request, stop)
}

/// The exception for an evaluation that failed, with the words of `placebench place`.
fn exception(py: Python<'_>, error: &EvaluationError, late: Option<f64>, raised: &Raised) -> PyErr {
    let status = error.status();
    let text = match error {
        _ if error.is_stop() => {
            let seconds = late.unwrap_or_default();
            format!("not done within the time limit of {seconds} s: {error}; give it more with time_limit")
        }
        EvaluationError::Place { error, .. } => error.to_string(),
        error if status == Status::Error => error.to_string(),
        error => format!("{}: {error}", status.name()),
    };
    let exception = match status {
        Status::Infeasible => Infeasible::new_err(text),
        Status::TimedOut => TimedOut::new_err(text),
        _ => fault(text),
    };
    let cause = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    exception.set_cause(py, cause);
    exception
}
