//! `place` and `simulate`.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant as Clock};

use placebench::algorithms::{Decision, ONLINE, Placer, Spec, StopToken, registry};
use placebench::datasets::{self, Placement};
use placebench::harness::evaluate::{self, EvaluationError, Evaluator, Placed, Reference};
use placebench::harness::execute::simulate::{NetworkModel, Simulator, network_model};
use placebench::harness::execute::{EXECUTORS, ExecutorName};
use placebench::harness::results::{Row, Status};
use pyo3::prelude::*;

use crate::evaluation::Evaluation;
use crate::fault::{Infeasible, TimedOut, fault};
use crate::instance::{Instance, Options};
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
    seed: u64,
    kinds: &str,
    memory: &str,
    devices: Option<usize>,
    time_limit: Option<f64>,
) -> PyResult<Evaluation> {
    let limit = limit_of(time_limit)?;
    let raised = Raised::default();
    let (name, placer) = placer_of(placer, &raised)?;
    let scheduler = scheduler_of(&name, &*placer, scheduler)?;
    let network = network_model(network).map_err(fault)?;
    let options = Options::of(devices, kinds, memory, seed)?;
    let instance = Instance::made(py, graph, cluster, options)?;
    let request = Request { placer: Ok(placer), name, scheduler, network, seed, time_limit, limit };
    evaluated(py, instance, request, &raised)
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
    kinds: &str,
    memory: &str,
    devices: Option<usize>,
    time_limit: Option<f64>,
) -> PyResult<Evaluation> {
    let limit = limit_of(time_limit)?;
    registry::scheduler(&scheduler.parse::<Spec>().map_err(fault)?).map_err(fault)?;
    let network = network_model(network).map_err(fault)?;
    let instance = Instance::made(py, graph, cluster, Options::of(devices, kinds, memory, seed)?)?;
    let given = instance.instance.cluster();
    let device = |(op, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        device_of(&item?, given).map_err(|what| fault(format!("placement: op {op} is on {what}")))
    };
    let placement: Vec<_> = placement.try_iter()?.enumerate().map(device).collect::<PyResult<_>>()?;
    let (name, scheduler) = ("given".to_owned(), scheduler.to_owned());
    let request = Request { placer: Err(Placement::new(placement)), name, scheduler, network, seed, time_limit, limit };
    evaluated(py, instance, request, &Raised::default())
}

/// What is placed and executed, and how.
struct Request {
    /// A placer, or a placement that is there already.
    placer: Result<Box<dyn Placer>, Placement>,
    name: String,
    scheduler: String,
    network: &'static dyn NetworkModel,
    seed: u64,
    time_limit: Option<f64>,
    limit: Option<Duration>,
}

fn limit_of(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        Some(seconds) if !(seconds > 0.0 && seconds <= 1e9) => {
            Err(fault("time_limit must be above 0 and at most 1e9 seconds"))
        }
        seconds => Ok(seconds.map(Duration::from_secs_f64)),
    }
}

/// The placer of a specification or of a function, with its name in tables.
fn placer_of(placer: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<(String, Box<dyn Placer>)> {
    if let Ok(text) = placer.extract::<String>() {
        let spec = text.parse::<Spec>().map_err(fault)?;
        return Ok((text, registry::placer(&spec).map_err(fault)?));
    }
    if !placer.is_callable() {
        return Err(fault("a placer is a name ('placebench list placers'), or a function of an instance and a seed"));
    }
    let name: String = placer.getattr("name").or_else(|_| placer.getattr("__name__"))?.extract()?;
    let function = PythonPlacer::new(name.clone(), placer.clone().unbind(), Arc::clone(raised));
    Ok((name, Box::new(function)))
}

/// The scheduler asked for, or the default of the placer.
fn scheduler_of(name: &str, placer: &dyn Placer, scheduler: Option<&str>) -> PyResult<String> {
    match (placer.online(), scheduler) {
        (Some(_), None | Some(ONLINE)) => Ok(ONLINE.to_owned()),
        (Some(_), Some(_)) => Err(fault(format!("{name} decides during the run and needs no scheduler: leave it out"))),
        (None, None) => Ok("pct".to_owned()),
        (None, Some(ONLINE)) => Err(fault(format!("{name} decides before the run: give a scheduler, such as pct"))),
        (None, Some(scheduler)) => {
            registry::scheduler(&scheduler.parse::<Spec>().map_err(fault)?).map_err(fault)?;
            Ok(scheduler.to_owned())
        }
    }
}

/// Places, simulates, validates and measures, without the GIL.
fn evaluated(py: Python<'_>, made: Instance, request: Request, raised: &Raised) -> PyResult<Evaluation> {
    let stop = request.limit.map_or_else(StopToken::default, |limit| StopToken::with_deadline(Clock::now() + limit));
    let blank = Row {
        graph: made.graph.clone(),
        cluster: made.cluster.clone(),
        devices: made.instance.cluster().device_count() as u32,
        kinds: made.kinds,
        memory: Some(made.instance.memory_rule().name().to_owned()),
        placer: request.name.clone(),
        scheduler: request.scheduler.clone(),
        network: request.network.name().to_owned(),
        executor: ExecutorName::from(EXECUTORS[0].name),
        seed: request.seed,
        ops: made.instance.graph().op_count() as u64,
        edges: made.instance.graph().edge_count() as u64,
        time_unit: made.instance.time_unit().to_owned(),
        ..Row::default()
    };
    let (instance, token, time_limit) = (made.instance.clone(), stop.clone(), request.time_limit);
    let outcome = wait(py, &stop, |_| Ok(()), move || evaluate(&instance, &request, &token))?;
    let (reference, found) = outcome.map_err(|error| {
        let late = time_limit.filter(|_| stop.deadline().is_some_and(|deadline| Clock::now() >= deadline));
        exception(py, &error, late, raised)
    })?;
    let bound = reference.bound;
    let blank = Row { lower_bound: Some(bound.value), bound: Some(bound.name.to_owned()), ..blank };
    let row = found.row(blank);
    Ok(Evaluation { instance: Py::new(py, made)?, found, row })
}

fn evaluate(
    instance: &datasets::Instance,
    request: &Request,
    stop: &StopToken,
) -> Result<(Reference, evaluate::Evaluation), EvaluationError> {
    let simulator = Simulator::new(request.network);
    let reference = Reference::new(instance).with_single_device(instance, &simulator, stop);
    let evaluator = Evaluator { instance, reference: Some(&reference), seed: request.seed, stop };
    let placed = match &request.placer {
        Ok(placer) => evaluator.place(&**placer, request.network)?,
        Err(given) => Placed::Before { decision: Decision::placement(given.clone()), took: Duration::ZERO },
    };
    let scheduler = request.scheduler.parse::<Spec>().and_then(|spec| registry::scheduler(&spec)).ok();
    let found = evaluator.execute(&placed, scheduler.as_deref(), &simulator)?;
    Ok((reference, found))
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
