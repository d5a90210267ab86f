//! Runs the cells of a suite in parallel and turns each into a row, whatever happens in it.

mod cell;
mod folder;
mod guard;
mod inputs;
mod lock;
mod replay;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use placebench_algorithms::StopToken;
use placebench_algorithms::fairness::{Assumption, broken_assumptions};
use rayon::ThreadPool;
use rayon::prelude::*;

pub use folder::{Environment, FolderError, RunFolder, RunState, read_environment, read_run, read_suite, table_of};
pub use guard::CELL_THREAD;
pub use inputs::input_digests;
pub use replay::{replay, replay_within};

use crate::evaluate::Reference;
use crate::execute::simulate::Simulator;
use crate::problem::Problem;
use crate::results::{CellKey, Row, Status};
use crate::suite::{Cell, Group, Plan};
use cell::Prepared;
use guard::{Outcome, guarded};

/// Watches a run as it goes on; called from several threads.
pub trait Observer: Sync {
    /// The run begins, with this many cells, of them `done` from an earlier start.
    fn begin(&self, cells: usize, done: usize);

    /// A cell ended.
    fn cell(&self, row: &Row);
}

/// An observer that does not listen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn begin(&self, _: usize, _: usize) {}

    fn cell(&self, _: &Row) {}
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunOutcome {
    /// Every cell has a row: all rows, in the suite's order.
    Complete(Vec<Row>),
    /// The run was stopped.
    Stopped {
        /// Cells that have a row.
        done: usize,
        /// Cells in all.
        cells: usize,
    },
}

/// Runs all cells of a plan that are not in `done`, on the current rayon pool. Cells that are measured run when all others
/// are done, one at a time: they would disturb each other.
///
/// Each row goes to `record` as soon as it is there; an error of `record` (a full disk) ends the run. Rows are the same
/// on any number of threads, but for the measured columns. A cell that panics or outlasts the time limit is a row like
/// any other.
///
/// # Errors
/// The first error of `record`.
pub fn run<E: Send>(
    plan: &Arc<Plan>,
    done: Vec<Row>,
    stop: &StopToken,
    observer: &dyn Observer,
    record: impl Fn(&Row) -> Result<(), E> + Sync,
) -> Result<RunOutcome, E> {
    let mut rows: HashMap<CellKey, Row> = done.into_iter().map(|row| (row.key(), row)).collect();
    rows.retain({
        let keys: std::collections::HashSet<CellKey> = plan.cells.iter().map(|&cell| plan.key(cell)).collect();
        move |key, _| keys.contains(key)
    });
    observer.begin(plan.cells.len(), rows.len());
    let is_measured = |cell: &Cell| plan.executors[cell.executor].measures;
    let jobs = missing_jobs(plan, &rows, |cell| !is_measured(cell));
    let measured = missing_jobs(plan, &rows, is_measured);
    let pool = search_pool(plan, &jobs);
    let fresh: Mutex<Vec<Row>> = Mutex::new(Vec::new());
    let keep = |row: Row| -> Result<(), E> {
        record(&row)?;
        observer.cell(&row);
        fresh.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(row);
        Ok(())
    };
    jobs.par_iter().try_for_each(|group_jobs| run_group(plan, group_jobs, pool.as_ref(), stop, &keep))?;
    // Each cell is a job: the time limit is for one.
    for &cell in measured.iter().flatten().flatten() {
        run_group(plan, &[vec![cell]], None, stop, &keep)?;
    }
    for row in fresh.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        rows.insert(row.key(), row);
    }
    let ordered: Vec<Row> = plan.cells.iter().filter_map(|&cell| rows.remove(&plan.key(cell))).collect();
    Ok(match ordered.len() == plan.cells.len() {
        true => RunOutcome::Complete(ordered),
        false => RunOutcome::Stopped { done: ordered.len(), cells: plan.cells.len() },
    })
}

/// Threads for the searches, if any is to run: as many as run cells, but not the same, since those wait for their cells.
/// Without them, which only a lack of threads causes, searches use the global ones.
fn search_pool(plan: &Plan, jobs: &[Vec<Job>]) -> Option<Arc<ThreadPool>> {
    let searches = jobs.iter().flatten().any(|job| plan.placers[job[0].placer].1.needs_objective());
    let threads = rayon::ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .thread_name(|_| CELL_THREAD.to_owned());
    searches.then(|| threads.build().ok().map(Arc::new)).flatten()
}

/// The cells of one placement: same group, same placer and, if the placer searches, same network model.
type Job = Vec<Cell>;

/// The missing cells that are `wanted`, by group, then by placer.
fn missing_jobs(plan: &Plan, rows: &HashMap<CellKey, Row>, wanted: impl Fn(&Cell) -> bool) -> Vec<Vec<Job>> {
    let mut groups: Vec<Vec<Job>> = Vec::new();
    let is_missing = |cell: &Cell| wanted(cell) && !rows.contains_key(&plan.key(*cell));
    for cell in plan.cells.iter().copied().filter(is_missing) {
        match groups.last_mut() {
            Some(jobs) if jobs[0][0].group == cell.group => match jobs.last_mut() {
                Some(job) if shares_placement(plan, job[0], cell) => job.push(cell),
                _ => jobs.push(vec![cell]),
            },
            _ => groups.push(vec![vec![cell]]),
        }
    }
    groups
}

/// Whether two cells of a group get the same placement: one that was searched for under another network model is not it.
fn shares_placement(plan: &Plan, a: Cell, b: Cell) -> bool {
    a.placer == b.placer && (a.network == b.network || !plan.placers[a.placer].1.needs_objective())
}

fn run_group<E: Send>(
    plan: &Arc<Plan>,
    jobs: &[Job],
    pool: Option<&Arc<ThreadPool>>,
    stop: &StopToken,
    keep: &(impl Fn(Row) -> Result<(), E> + Sync),
) -> Result<(), E> {
    if stop.is_stopped() {
        return Ok(());
    }
    let group = &plan.groups[jobs[0][0].group];
    match make_instance(plan, group, stop) {
        Outcome::Done(Ok(prepared)) | Outcome::Late(Ok(prepared)) => {
            jobs.par_iter().try_for_each(|job| run_job(plan, &prepared, job, pool, stop, keep))
        }
        Outcome::Stopped => Ok(()),
        Outcome::Done(Err(message)) | Outcome::Late(Err(message)) => {
            fail_all(plan, jobs, Status::Error, &message, keep)
        }
        Outcome::Panicked(message) => fail_all(plan, jobs, Status::Panicked, &message, keep),
        Outcome::TimedOut => fail_all(plan, jobs, Status::TimedOut, "the graph was not ready in time", keep),
    }
}

fn make_instance(plan: &Arc<Plan>, group: &Group, stop: &StopToken) -> Outcome<Result<Prepared, String>> {
    let (plan, group) = (Arc::clone(plan), group.clone());
    guarded(None, stop, move |stop| {
        let Problem { instance, time_unit } = plan.problem(&group).map_err(|error| error.to_string())?;
        let reference = Reference::new(&instance);
        let with_single_device =
            |network| reference.clone().with_single_device(&instance, &Simulator::new(network), &stop);
        let references = plan.networks.iter().map(|&(_, network)| with_single_device(network)).collect();
        let broken = broken_assumptions(&Assumption::ALL, &instance);
        Ok(Prepared { instance, time_unit, references, broken })
    })
}

fn run_job<E>(
    plan: &Arc<Plan>,
    prepared: &Prepared,
    job: &[Cell],
    pool: Option<&Arc<ThreadPool>>,
    stop: &StopToken,
    keep: &(impl Fn(Row) -> Result<(), E> + Sync),
) -> Result<(), E> {
    if stop.is_stopped() {
        return Ok(());
    }
    let limit = plan.suite.time_limit_seconds.map(Duration::from_secs_f64);
    let work = {
        let (plan, prepared, cells, pool) = (Arc::clone(plan), prepared.clone(), job.to_vec(), pool.cloned());
        move |token: StopToken| cell::run(&plan, &prepared, &cells, pool.as_deref(), &token)
    };
    let describe = |cell: Cell| cell::blank_row(plan, cell, Some(prepared));
    match guarded(limit, stop, work) {
        Outcome::Done(None) | Outcome::Stopped => Ok(()),
        Outcome::Done(Some(rows)) => rows.into_iter().try_for_each(keep),
        Outcome::Panicked(message) => {
            job.iter().try_for_each(|&cell| keep(cell::failed(describe(cell), Status::Panicked, &message)))
        }
        // A placer that was stopped may have reported more about it than the limit.
        Outcome::Late(Some(rows)) if rows.iter().all(|row| row.status == Status::TimedOut.name()) => {
            // Programs say what their limit was.
            let named = |error: String| match error.starts_with("stopped") {
                true => format!("{error}; {}", limit_text(plan)),
                false => error,
            };
            rows.into_iter().map(|row| Row { error: row.error.map(named), ..row }).try_for_each(keep)
        }
        Outcome::Late(_) | Outcome::TimedOut => {
            let message = format!("not done in time; {}", limit_text(plan));
            job.iter().try_for_each(|&cell| keep(cell::failed(describe(cell), Status::TimedOut, &message)))
        }
    }
}

fn limit_text(plan: &Plan) -> String {
    format!("the suite's time_limit_seconds is {}", plan.suite.time_limit_seconds.unwrap_or_default())
}

fn fail_all<E>(
    plan: &Plan,
    jobs: &[Job],
    status: Status,
    message: &str,
    keep: &(impl Fn(Row) -> Result<(), E> + Sync),
) -> Result<(), E> {
    jobs.iter().flatten().try_for_each(|&cell| keep(cell::failed(cell::blank_row(plan, cell, None), status, message)))
}
