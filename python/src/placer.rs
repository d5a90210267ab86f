//! A placer that is a Python function.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use placebench::algorithms::{Decision, ExternalFault, PlaceContext, PlaceError, Placer, StopToken};
use placebench::base::nearest;
use placebench::base::processor::ThreadClock;
use placebench::datasets::{Cluster, DeviceId, Instance as Problem, Placement};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::fault::{Infeasible, Stopped};
use crate::instance::Instance;

/// A Python function that gets an instance and a seed, and answers with a device for each op.
pub(crate) struct PythonPlacer {
    /// The name in tables.
    name: String,
    function: Py<PyAny>,
    raised: Raised,
}

/// The exception that a function raised last: the cause of the one that the caller gets.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// How often the time of a function is looked at.
const POLL: Duration = Duration::from_millis(20);

impl PythonPlacer {
    /// The placer of a function.
    pub(crate) fn new(name: String, function: Py<PyAny>, raised: Raised) -> Self {
        Self { name, function, raised }
    }

    fn ask(&self, py: Python<'_>, instance: &Problem, context: &PlaceContext) -> Result<Placement, PlaceError> {
        let watched = Watched::start(py, &context.stop).map_err(|error| self.failed(py, error))?;
        let answer = Instance::of_suite(instance)
            .into_pyobject(py)
            .and_then(|instance| self.function.bind(py).call1((instance, context.seed)));
        drop(watched);
        context.stop.check()?;
        let answer = answer.map_err(|error| self.failed(py, error))?;
        self.read(&answer, instance)
    }

    /// The placement that an answer says.
    fn read(&self, answer: &Bound<'_, PyAny>, instance: &Problem) -> Result<Placement, PlaceError> {
        let py = answer.py();
        let no_list = |what: String| {
            self.fault(ExternalFault::Failed, format!("answered with {what}: give a device for each op"))
        };
        if answer.is_instance_of::<PyString>() {
            return Err(no_list("a text".to_owned()));
        }
        let items = answer.try_iter().map_err(|_| no_list(format!("{}", answer.get_type())))?;
        let mut devices = Vec::with_capacity(instance.graph().op_count());
        for (op, item) in items.enumerate() {
            let item = item.map_err(|error| self.failed(py, error))?;
            let device = device_of(&item, instance.cluster())
                .map_err(|what| self.fault(ExternalFault::Failed, format!("answered for op {op} with {what}")))?;
            devices.push(device);
        }
        let placement = Placement::new(devices);
        let check = placement.check(instance);
        check.map_err(|error| {
            self.fault(ExternalFault::Invalid, format!("gave a placement that is not feasible: {error}"))
        })?;
        Ok(placement)
    }

    fn fault(&self, fault: ExternalFault, what: String) -> PlaceError {
        let message = format!("the placer's function '{}' {what}", self.name).replace('\n', " ");
        PlaceError::External { fault, message }
    }

    /// What an exception means.
    fn failed(&self, py: Python<'_>, error: PyErr) -> PlaceError {
        let text = error.value(py).str().map_or_else(|_| String::new(), |text| text.to_string());
        let class = error.get_type(py).name().map_or_else(|_| String::new(), |name| name.to_string());
        let fault = match error.is_instance_of::<Infeasible>(py) {
            true => self.fault(ExternalFault::Infeasible, format!("found no feasible placement: {text}")),
            false => self.fault(ExternalFault::Failed, format!("raised {class}: {text}{}", line_of(py, &error))),
        };
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        fault
    }
}

impl Placer for PythonPlacer {
    fn place(&self, instance: &Problem, context: &PlaceContext) -> Result<Decision, PlaceError> {
        context.stop.check()?;
        Python::attach(|py| self.ask(py, instance, context)).map(Decision::placement)
    }
}

/// The device that an item of an answer names, by its number or its name.
pub(crate) fn device_of(item: &Bound<'_, PyAny>, cluster: &Cluster) -> Result<DeviceId, String> {
    if let Ok(name) = item.extract::<String>() {
        let named = cluster.device_ids().find(|&device| cluster.device(device).name == name);
        let names = || cluster.devices().iter().map(|device| device.name.as_str());
        return named.ok_or_else(|| match nearest(&name, names()) {
            Some(nearest) => format!("'{name}', which is no device: did you mean '{nearest}'?"),
            None => format!("'{name}', which is no device: give a name like '{}'", names().next().unwrap_or_default()),
        });
    }
    // Numbers that stand for no device are refused when the placement is checked.
    let number = item.extract::<u32>().map(DeviceId);
    number.map_err(|_| match item.repr() {
        Ok(text) => format!("{text}, which is no device: give numbers from 0, or names"),
        Err(_) => "something that is no device".to_owned(),
    })
}

/// Where an exception was raised, for people.
fn line_of(py: Python<'_>, error: &PyErr) -> String {
    let last = || -> PyResult<String> {
        let mut traceback = error.traceback(py).map(Bound::into_any).ok_or_else(|| Stopped::new_err(()))?;
        while let Ok(Some(next)) = traceback.getattr("tb_next")?.extract::<Option<Bound<'_, PyAny>>>() {
            traceback = next;
        }
        let file: String = traceback.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract()?;
        Ok(format!(" ({file}, line {})", traceback.getattr("tb_lineno")?))
    };
    last().unwrap_or_default()
}

/// As long as this lives, the Python code of this thread is told to end when a token stops: `Stopped` is raised in it.
struct Watched {
    _ended: std::sync::mpsc::Sender<()>,
}

impl Watched {
    fn start(py: Python<'_>, stop: &StopToken) -> PyResult<Self> {
        let thread_id: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        let (ended, alive) = channel::<()>();
        let stop = stop.clone();
        let clock = ThreadClock::of_this_thread();
        let taken = move || clock.as_ref().and_then(ThreadClock::read).unwrap_or_default();
        let (counted, before) = (stop.spent(), taken());
        thread::Builder::new().name("placebench-watch".to_owned()).spawn(move || {
            while alive.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                // The function does not look at the token: its thread is looked at instead.
                if stop.is_stopped() || stop.is_late(counted + taken().saturating_sub(before)) {
                    // If it cannot be told, the runner abandons the thread.
                    let _ = Python::attach(|py| raise_in(py, thread_id));
                    return;
                }
            }
        })?;
        Ok(Self { _ended: ended })
    }
}

/// Raises `Stopped` in a thread that runs Python code, at its next instruction; nothing if it runs none any more.
fn raise_in(py: Python<'_>, thread_id: u64) -> PyResult<()> {
    let ctypes = py.import("ctypes")?;
    let thread = ctypes.call_method1("c_ulong", (thread_id,))?;
    let exception = ctypes.call_method1("py_object", (py.get_type::<Stopped>(),))?;
    ctypes.getattr("pythonapi")?.call_method1("PyThreadState_SetAsyncExc", (thread, exception))?;
    Ok(())
}
