//! `placebench execute`: one placement that really runs, measured and compared with its prediction.

use crate::output::Exit;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use placebench::harness::execute::{
    EXECUTORS, ExecuteSettings, ExecutorEntry, Kernel, Launch, Notify, OrderMode, Progress, RealTime, Transport,
    executor,
};
use placebench::harness::shards::task_addresses;

use super::place::{self, Executing, place_and_execute};
use crate::output::Form;

/// Arguments of `execute`.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    place: place::Args,

    /// What executes the placement: see 'placebench list executors'.
    #[arg(long, short, value_name = "NAME", default_value = "threads", value_parser = executor)]
    executor: &'static ExecutorEntry,

    /// Runs before the first that counts.
    #[arg(long, value_name = "N", default_value_t = ExecuteSettings::default().warm_up)]
    warm_up: u32,

    /// Runs that count; the median of their makespans is the result.
    #[arg(long, value_name = "N", default_value_t = ExecuteSettings::default().repetitions)]
    repetitions: u32,

    /// In which order devices execute their tasks: replay (as simulated) or dynamic (the scheduler decides during the run).
    #[arg(long, value_name = "MODE", default_value_t)]
    order: OrderMode,

    /// threads, cuda: what a device does while an op takes time: wait, or compute.
    #[arg(long, value_name = "KERNEL", default_value_t)]
    kernel: Kernel,

    /// threads, jax, torch: how tensors move: memory (threads: in one process; jax, torch: in memory that the processes of
    /// one host share), or tcp (over sockets, a process a device). Processes of several hosts use tcp.
    #[arg(long, value_name = "TRANSPORT", default_value_t)]
    transport: Transport,

    /// threads: how long the mean op takes, as in 3ms; the scale of time follows.
    #[arg(long, value_name = "TIME", default_value_t = ExecuteSettings::default().mean_op)]
    mean_op: RealTime,

    /// threads: lets the kernel compute run more devices than there are cores.
    #[arg(long)]
    oversubscribe: bool,

    /// cuda: makes N devices of one GPU, each with streams of its own.
    #[arg(long = "virtual", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    virtual_devices: Option<u32>,

    /// cuda: how a step is launched: commands (one by one, and the step begins when all are issued), or graph (as a whole).
    #[arg(long, value_name = "LAUNCH", default_value_t)]
    launch: Launch,

    /// Processes on other hosts, one a device, as ADDRESS:PORT, separated by commas. 'slurm' or 'slurm:PORT' stands for the
    /// tasks of this Slurm allocation, one a device; those of a node listen at the ports from PORT [7100] on.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    hosts: Vec<String>,

    /// Writes the row to this file: .csv, .json or .parquet. A run that fails is a row, too.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Shows no progress.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let settings = ExecuteSettings {
        warm_up: args.warm_up,
        repetitions: args.repetitions,
        order: args.order,
        kernel: args.kernel,
        transport: args.transport,
        mean_op: args.mean_op,
        oversubscribe: args.oversubscribe,
        virtual_devices: args.virtual_devices,
        launch: args.launch,
        hosts: hosts(&args.hosts)?,
    };
    if let Some(name) = settings.changed().find(|name| !args.executor.settings.contains(name)) {
        let others = EXECUTORS.iter().filter(|entry| entry.settings.contains(&name)).map(|entry| entry.name);
        bail!(
            "{}: the executor {} has no such setting: leave it out, or use --executor {}",
            option(name),
            args.executor.name,
            others.collect::<Vec<_>>().join(", ")
        );
    }
    settings.check().map_err(|(name, reason)| anyhow!("{}: {reason}", option(name)))?;
    let bar = Arc::new(Mutex::new(ProgressBar::hidden()));
    let executing = Executing {
        executor: args.executor,
        settings,
        notify: if args.quiet { Arc::new(|_| ()) } else { progress(Arc::clone(&bar)) },
        table: args.table.as_deref(),
    };
    let result = place_and_execute(&args.place, &executing, form);
    bar.lock().unwrap_or_else(PoisonError::into_inner).finish_and_clear();
    result
}

/// The port of a node's first task, unless another is given.
const FIRST_PORT: u16 = 7100;

/// The option of a setting.
fn option(setting: &str) -> String {
    match setting {
        "virtual_devices" => "--virtual".to_owned(),
        name => format!("--{}", name.replace('_', "-")),
    }
}

/// The hosts as given, or those of the Slurm allocation that this process is in.
fn hosts(given: &[String]) -> anyhow::Result<Vec<String>> {
    let [word] = given else { return Ok(given.to_vec()) };
    let port = match word.strip_prefix("slurm") {
        Some("") => FIRST_PORT,
        Some(rest) => match rest.strip_prefix(':').and_then(|port| port.parse().ok()) {
            Some(port) => port,
            None => return Ok(given.to_vec()),
        },
        None => return Ok(given.to_vec()),
    };
    let variable = |name: &str| {
        std::env::var(name)
            .map_err(|_| anyhow!("--hosts {word}: {name} is not set: run this in an allocation of Slurm"))
    };
    let (nodes, tasks) = (variable("SLURM_JOB_NODELIST")?, variable("SLURM_TASKS_PER_NODE")?);
    task_addresses(&nodes, &tasks, port).map_err(|reason| anyhow!("--hosts {word}: {reason}"))
}

/// Says in advance how long it will take, and shows a bar on a terminal.
fn progress(bar: Arc<Mutex<ProgressBar>>) -> Notify {
    Arc::new(move |progress| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::Begin { runs, seconds } => {
                let about = seconds.map_or_else(String::new, |seconds| format!(", about {seconds:.1} s"));
                eprintln!("{runs} runs{about}");
                if std::io::stderr().is_terminal() {
                    *bar = ProgressBar::new(u64::from(runs));
                    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left") {
                        bar.set_style(style);
                    }
                }
            }
            Progress::Run => bar.inc(1),
        }
    })
}
