//! The executors by name: one line each in [`EXECUTORS`].

use std::fmt;
use std::sync::OnceLock;

use placebench_base::{Listed, UnknownName, find};
use serde::{Deserialize, Serialize};

use super::Executor;
use super::driver::Driver;
use super::noisy::simulating;
use super::setup::Setup;
use super::simulate::Simulator;
use super::threads::Threads;

/// A kind of executor.
#[derive(Clone, Copy)]
pub struct ExecutorEntry {
    /// Its name in tables, in suites and on the command line.
    pub name: &'static str,
    /// One line for people.
    pub doc: &'static str,
    /// Whether clocks measure its times. Such cells run alone, one after the other.
    pub measures: bool,
    /// Whether placements of one graph take turns in a suite, so that their makespans compare
    /// ([`Executor::execute_all`]). Their rows come together.
    pub takes_turns: bool,
    /// Whether it is told the order of the ops alone: devices send and receive as these need.
    pub orders_ops: bool,
    /// The names of the [`ExecuteSettings`](super::ExecuteSettings) that it heeds.
    pub settings: &'static [&'static str],
    /// Makes one.
    pub make: MakeExecutor,
}

/// Makes an executor from a setup, or says in one line why it cannot.
pub type MakeExecutor = fn(&Setup<'_>) -> Result<Box<dyn Executor>, String>;

/// Makes `cuda`, which lives in a crate above this one that not every build has.
static CUDA: OnceLock<MakeExecutor> = OnceLock::new();

/// Gives the entry `cuda` its executor; a program that has it calls this once, before it makes executors.
pub fn provide_cuda(make: MakeExecutor) {
    CUDA.get_or_init(|| make);
}

fn make_cuda(setup: &Setup<'_>) -> Result<Box<dyn Executor>, String> {
    match CUDA.get() {
        Some(make) => make(setup),
        None => {
            Err("this placebench was built without it: build it with 'cargo build --release --features cuda', which \
                     needs nothing of CUDA"
                .to_owned())
        }
    }
}

impl fmt::Debug for ExecutorEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The settings of drivers whose devices are processes of our own.
const FRAMEWORK: &[&str] = &["warm_up", "repetitions", "order", "transport", "hosts"];

/// All executors, in the order in which tables list them; the first is the default.
pub static EXECUTORS: &[ExecutorEntry] = &[
    ExecutorEntry {
        name: "simulate",
        doc: "discrete events in simulated time; the default",
        measures: false,
        takes_turns: false,
        orders_ops: false,
        settings: &[],
        make: |setup| Ok(simulating(Simulator::new(setup.network), setup.noise, setup.seed)),
    },
    ExecutorEntry {
        name: "threads",
        doc: "a thread or process a device, waiting or computing for each op, moving real bytes",
        measures: true,
        takes_turns: false,
        orders_ops: false,
        settings: &["warm_up", "repetitions", "order", "kernel", "transport", "mean_op", "oversubscribe", "hosts"],
        make: |setup| Ok(Box::new(Threads::new(setup))),
    },
    ExecutorEntry {
        name: "jax",
        doc: "the real ops of a JAX function, a process a device; needs Python with JAX",
        measures: true,
        takes_turns: true,
        orders_ops: true,
        settings: FRAMEWORK,
        make: |setup| Ok(Box::new(Driver::new("jax", setup)?)),
    },
    ExecutorEntry {
        name: "torch",
        doc: "the real ops of a PyTorch step, a process a device; needs Python with PyTorch",
        measures: true,
        takes_turns: true,
        orders_ops: true,
        settings: FRAMEWORK,
        make: |setup| Ok(Box::new(Driver::new("torch", setup)?)),
    },
    ExecutorEntry {
        name: "tensorflow",
        doc: "the real ops of a TensorFlow graph, a worker a device; needs Python with TensorFlow",
        measures: true,
        takes_turns: false,
        orders_ops: true,
        settings: &["warm_up", "repetitions", "order", "hosts"],
        make: |setup| Ok(Box::new(Driver::new("tensorflow", setup)?)),
    },
    ExecutorEntry {
        name: "cuda",
        doc: "kernels and copies on NVIDIA GPUs, or on parts of one; needs a build with the feature cuda",
        measures: true,
        takes_turns: false,
        orders_ops: false,
        settings: &["warm_up", "repetitions", "order", "kernel", "virtual_devices", "launch", "hosts"],
        make: make_cuda,
    },
];

impl Listed for ExecutorEntry {
    const WHAT: &'static str = "executor";
    const LIST: &'static str = "executors";

    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> &str {
        self.doc
    }
}

/// The executor of a name.
///
/// # Errors
/// If there is none.
///
/// # Example
/// ```
/// use placebench_harness::execute::executor;
/// assert!(executor("threads").unwrap().measures);
/// assert_eq!(executor("thread").unwrap_err().to_string(), "unknown executor 'thread': did you mean 'threads'?");
/// ```
pub fn executor(name: &str) -> Result<&'static ExecutorEntry, UnknownName> {
    find(EXECUTORS, name)
}

/// The name of an executor in tables: of one in [`EXECUTORS`], or of one's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutorName(String);

impl ExecutorName {
    /// The name as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the simulator's, without noise.
    pub fn is_simulator(&self) -> bool {
        *self == Self::default()
    }

    /// Whether clocks measured.
    pub fn measures(&self) -> bool {
        executor(&self.0).is_ok_and(|entry| entry.measures)
    }
}

impl Default for ExecutorName {
    /// The simulator, which all tables had before there were others.
    fn default() -> Self {
        Self(EXECUTORS[0].name.to_owned())
    }
}

impl From<&str> for ExecutorName {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for ExecutorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
