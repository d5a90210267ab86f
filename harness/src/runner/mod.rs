//! Runs the cells of a suite in parallel and turns each into a row, whatever happens in it.

mod environment;
mod finished;
mod folder;
mod folder_error;
mod guard;
mod inputs;
mod journal;
mod lock;
mod open;
mod replay;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use placebench_algorithms::StopToken;
use rayon::ThreadPool;
use rayon::prelude::*;

pub use environment::Environment;
pub use finished::Finished;
pub use folder::{RunFolder, RunState, read_environment, read_suite, table_of};
pub use folder_error::FolderError;
pub use guard::CELL_THREAD;
pub use inputs::{InputWatch, input_digests};
pub use open::{open_run, read_run};
pub use replay::{MeasuredCell, replay, replay_within};

use crate::request::{Answer, CellRequest, Prepared, failed};
use crate::results::{Row, Status};
use crate::suite::{Cell, CellGroup, RunPlan};
use guard::{Guarded, Limit, guarded};

/// Watches a run as it goes on; called from several threads.
pub trait Observer: Sync {
    /// The run begins, with this many cells, of them `done` from an earlier start.
    fn begin(&self, cells: usize, done: usize);

    /// A cell ended, well or not.
    fn cell(&self, ok: bool);

    /// How many shards of the run are running, and how many wait.
    fn shards(&self, _running: usize, _waiting: usize) {}

    /// Something that the person who waits should know.
    fn note(&self, _text: &str) {}
}

/// An observer that does not listen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn begin(&self, _: usize, _: usize) {}

    fn cell(&self, _: bool) {}
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    /// Cells that have a row that stands, those of earlier starts included.
    pub done: usize,
    /// Cells that the machine cut short: their rows say why, and a resumed run runs them again.
    pub interrupted: usize,
    /// Cells in all.
    pub cells: usize,
}

impl RunOutcome {
    /// Whether every cell has a row that stands: else the run was stopped, or cells were interrupted.
    pub fn is_complete(self) -> bool {
        self.done == self.cells
    }
}

/// Runs all cells of a plan that are not `done`, by their index, on the current rayon pool. Cells that are measured run when
/// all others are done, one at a time: they would disturb each other. Where the executor lets placements take turns, those
/// of one instance do.
///
/// Each row goes to `record` with its cell as soon as it is there; an error of `record` (a full disk) ends the run. Rows are the
/// same on any number of threads, but for the measured columns. A cell that panics or outlasts the time limit is a row like any
/// other. Once a stop was asked for, a cell that fails has no row: what ends a run ends the programs of its placers, too.
///
/// # Errors
/// The first error of `record`.
pub fn run<E: Send>(
    plan: &Arc<RunPlan>,
    done: impl Fn(usize) -> bool,
    stop: &StopToken,
    observer: &dyn Observer,
    record: impl Fn(Cell, &Row) -> Result<(), E> + Sync,
) -> Result<RunOutcome, E> {
    let cells = plan.cells.len();
    let before = (0..cells).filter(|&cell| done(cell)).count();
    observer.begin(cells, before);
    let is_measured = |cell: &Cell| plan.executors[cell.executor].entry.measures;
    let jobs = missing_jobs(plan, &done, |cell| !is_measured(cell), |a, b| shares_placement(plan, a, b));
    let measured = missing_jobs(plan, &done, is_measured, |a, b| takes_turns(plan, a, b));
    let pool = search_pool(plan, &jobs);
    let [fresh, interrupted] = [(); 2].map(|()| AtomicUsize::new(0));
    let keep = |cell: Cell, row: Row| -> Result<(), E> {
        if !row.is_ok() && stop.is_asked() {
            return Ok(());
        }
        record(cell, &row)?;
        if row.status == Status::Interrupted.name() {
            interrupted.fetch_add(1, Ordering::Relaxed);
            observer.note(&format!("interrupted: {}: {}", row.key(), row.error.unwrap_or_default()));
            return Ok(());
        }
        fresh.fetch_add(1, Ordering::Relaxed);
        observer.cell(row.is_ok());
        Ok(())
    };
    jobs.par_iter().try_for_each(|group_jobs| run_group(plan, group_jobs, pool.as_ref(), (stop, observer), &keep))?;
    for job in measured.into_iter().flatten() {
        run_group(plan, &[job], None, (stop, observer), &keep)?;
    }
    Ok(RunOutcome { done: before + fresh.into_inner(), interrupted: interrupted.into_inner(), cells })
}

/// Threads for the searches, if any is to run: as many as run cells, but not the same, since those wait for their cells.
/// Without them, which only a lack of threads causes, searches use the global ones.
fn search_pool(plan: &RunPlan, jobs: &[Vec<Job>]) -> Option<Arc<ThreadPool>> {
    let searches = jobs.iter().flatten().any(|job| plan.placers[job[0].placer].1.uses_objective());
    let threads = rayon::ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .thread_name(|_| CELL_THREAD.to_owned());
    searches.then(|| threads.build().ok().map(Arc::new)).flatten()
}

/// Cells that run together: those of one placement, or those whose placements take turns.
type Job = Vec<Cell>;

/// The missing cells that are `wanted`, by group. Those that belong `together` are a job, in the order of its first.
fn missing_jobs(
    plan: &RunPlan,
    done: impl Fn(usize) -> bool,
    wanted: impl Fn(&Cell) -> bool,
    together: impl Fn(Cell, Cell) -> bool,
) -> Vec<Vec<Job>> {
    let mut groups: Vec<Vec<Job>> = Vec::new();
    let missing = plan.cells.iter().enumerate().filter(|(index, cell)| wanted(cell) && !done(*index));
    for cell in missing.map(|(_, &cell)| cell) {
        match groups.last_mut() {
            Some(jobs) if jobs[0][0].group == cell.group => match jobs.iter_mut().rfind(|job| together(job[0], cell)) {
                Some(job) => job.push(cell),
                _ => jobs.push(vec![cell]),
            },
            _ => groups.push(vec![vec![cell]]),
        }
    }
    groups
}

/// Whether two cells of a group get the same placement: one that was searched for under another network model is not it.
fn shares_placement(plan: &RunPlan, a: Cell, b: Cell) -> bool {
    (a.placer, a.numbering) == (b.placer, b.numbering)
        && (a.network == b.network || !plan.placers[a.placer].1.uses_objective())
}

/// Whether the placements of two measured cells of a group take turns.
fn takes_turns(plan: &RunPlan, a: Cell, b: Cell) -> bool {
    plan.executors[a.executor].entry.takes_turns && (a.executor, a.network) == (b.executor, b.network)
}

fn run_group<E: Send>(
    plan: &Arc<RunPlan>,
    jobs: &[Job],
    pool: Option<&Arc<ThreadPool>>,
    (stop, observer): (&StopToken, &dyn Observer),
    keep: &(impl Fn(Cell, Row) -> Result<(), E> + Sync),
) -> Result<(), E> {
    if stop.is_stopped() {
        return Ok(());
    }
    let group = &plan.groups[jobs[0][0].group];
    match make_instance(plan, group, stop) {
        Guarded::Done(Ok((prepared, note))) | Guarded::Late(Ok((prepared, note))) => {
            if let Some(note) = note {
                observer.note(&note);
            }
            jobs.par_iter().try_for_each(|job| run_job(plan, &prepared, job, pool, stop, keep))
        }
        Guarded::Stopped => Ok(()),
        Guarded::Done(Err(message)) | Guarded::Late(Err(message)) => {
            fail_all(plan, jobs, Status::Error, &message, keep)
        }
        Guarded::Panicked(message) => fail_all(plan, jobs, Status::Panicked, &message, keep),
        Guarded::TimedOut => fail_all(plan, jobs, Status::TimedOut, "the graph was not ready in time", keep),
    }
}

/// An instance, and what should be known of it.
type Noted = (Prepared, Option<String>);

fn make_instance(plan: &Arc<RunPlan>, group: &CellGroup, stop: &StopToken) -> Guarded<Result<Noted, String>> {
    let (plan, group) = (Arc::clone(plan), group.clone());
    guarded(None, stop, move |stop| {
        let problem = plan.problem(&group).map_err(|error| error.to_string())?;
        let networks = plan.networks.iter().map(|&(_, network)| network);
        let note = problem.note().map(|note| {
            let (graph, cluster) = (&plan.suite.graphs[group.graph], &plan.suite.clusters[group.cluster]);
            format!("note: {} on {}: {note}", graph.label(), cluster.label())
        });
        Ok((Prepared::new(problem, networks, &stop).with_numberings(plan.suite.numberings, group.seed), note))
    })
}

fn run_job<E>(
    plan: &Arc<RunPlan>,
    prepared: &Prepared,
    job: &[Cell],
    pool: Option<&Arc<ThreadPool>>,
    stop: &StopToken,
    keep: &(impl Fn(Cell, Row) -> Result<(), E> + Sync),
) -> Result<(), E> {
    if stop.is_stopped() {
        return Ok(());
    }
    // The limit is for a cell. Placements that take turns share what they have together, by the clock: they run in real time.
    let measures = plan.executors[job[0].executor].entry.measures;
    let placing = plan.suite.time_limit_seconds.map(Duration::from_secs_f64);
    let limit = placing.map(|limit| match measures {
        true => Limit::Clock(limit.mul_f64(job.len() as f64)),
        false => Limit::Processor(limit),
    });
    let work = {
        let (plan, prepared, cells, pool) = (Arc::clone(plan), prepared.clone(), job.to_vec(), pool.cloned());
        move |token: StopToken| {
            let requests: Vec<_> = cells.iter().map(|&cell| plan.request(cell)).collect();
            match measures {
                true => prepared.answer_in_turns(&requests, placing, &token).into_iter().map(kept).collect(),
                false => simulate(&prepared, &requests, pool.as_deref(), &token),
            }
        }
    };
    let describe = |cell: Cell| prepared.blank_row(&plan.request(cell));
    match guarded(limit, stop, work) {
        Guarded::Done(None) if !stop.is_asked() => {
            let message = "stopped, though nobody asked it to";
            job.iter().try_for_each(|&cell| keep(cell, failed(describe(cell), Status::Error, message)))
        }
        Guarded::Done(None) | Guarded::Stopped => Ok(()),
        Guarded::Done(Some(rows)) => job.iter().zip(rows).try_for_each(|(&cell, row)| keep(cell, row)),
        Guarded::Panicked(message) => {
            job.iter().try_for_each(|&cell| keep(cell, failed(describe(cell), Status::Panicked, &message)))
        }
        // A placer that was stopped may have reported more about it than the limit.
        Guarded::Late(Some(rows)) if rows.iter().all(|row| row.status == Status::TimedOut.name()) => {
            // Programs say what their limit was.
            let named = |error: String| match error.starts_with("stopped") {
                true => format!("{error}; {}", limit_text(plan)),
                false => error,
            };
            let rows = rows.into_iter().map(|row| Row { error: row.error.map(named), ..row });
            job.iter().zip(rows).try_for_each(|(&cell, row)| keep(cell, row))
        }
        Guarded::Late(_) | Guarded::TimedOut => {
            let message = format!("not done in time; {}", limit_text(plan));
            job.iter().try_for_each(|&cell| keep(cell, failed(describe(cell), Status::TimedOut, &message)))
        }
    }
}

/// Simulates cells that share a placement, which is searched for on the threads of `pool`; `None` if the run was stopped.
fn simulate(
    prepared: &Prepared,
    requests: &[CellRequest<'_>],
    pool: Option<&ThreadPool>,
    stop: &StopToken,
) -> Option<Vec<Row>> {
    let first = requests.first()?;
    let placed = match pool {
        Some(pool) if first.placer.uses_objective() => pool.install(|| prepared.place(first, stop)),
        _ => prepared.place(first, stop),
    };
    requests.iter().map(|request| kept(prepared.answer(request, &placed, stop))).collect()
}

/// The row of an answer; `None` if it was cut short.
fn kept(answer: Answer) -> Option<Row> {
    (!answer.is_stopped()).then_some(answer.row)
}

fn limit_text(plan: &RunPlan) -> String {
    format!(
        "the suite's time_limit_seconds is {}, of processor time, or {} times as much by the clock",
        plan.suite.time_limit_seconds.unwrap_or_default(),
        StopToken::BACKSTOP
    )
}

fn fail_all<E>(
    plan: &RunPlan,
    jobs: &[Job],
    status: Status,
    message: &str,
    keep: &(impl Fn(Cell, Row) -> Result<(), E> + Sync),
) -> Result<(), E> {
    let row = |cell: Cell| failed(plan.request(cell).blank_row(), status, message);
    jobs.iter().flatten().try_for_each(|&cell| keep(cell, row(cell)))
}
