//! From times on the clocks of several GPUs to those of a step. Nothing here calls CUDA.

use std::time::Duration;

use placebench_algorithms::Task;
use placebench_datasets::{PlacedGraph, TransferId};
use placebench_harness::timeline::Interval;

use crate::CudaError;
use crate::clocks::{self, Before};
use crate::plan::{Activity, arrivals};

/// When everything happened in one step, in seconds from its first start.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Each op.
    pub ops: Vec<Interval>,
    /// Each send op; none where sends cost nothing.
    pub sends: Vec<Interval>,
    /// Each transfer.
    pub transfers: Vec<Interval>,
    /// How long the host took to issue all commands.
    pub issued_in: Duration,
    /// Whether the step began before the host had issued what it should have: see [`crate::gate::LIMIT`].
    pub overdue: bool,
}

impl Step {
    /// When the last op or send op ended, in seconds.
    pub fn makespan(&self) -> f64 {
        self.ops.iter().chain(&self.sends).map(|at| at.end).fold(0.0, f64::max)
    }
}

/// Brings all times to one clock. `activities` stand in the order in which they were issued. `timed` has, for each of `activities`, the GPU whose clock measured it and the
/// time in seconds; `used` are the GPUs that take part, ascending; `facts` tie their clocks, and every transfer from one to
/// another does as well.
///
/// Where clocks drift, a task may seem to start before what it waited for has ended, by as much as [`clocks::offsets`] allows.
/// It starts then when that ended: no time is put further from the truth than the offsets' error.
///
/// # Errors
/// [`CudaError::Clocks`] if no offsets of the clocks explain the times.
pub fn assemble(
    placed: &PlacedGraph<'_>,
    activities: &[Activity],
    timed: &[(usize, Interval)],
    used: &[usize],
    mut facts: Vec<Before>,
    issued_in: Duration,
) -> Result<Step, CudaError> {
    let nothing = (0, Interval { start: 0.0, end: 0.0 });
    let mut ops = vec![nothing; placed.instance().graph().op_count()];
    let mut sends = vec![nothing; placed.transfer_count()];
    let mut transfers = vec![nothing; placed.transfer_count()];
    for (&activity, &at) in activities.iter().zip(timed) {
        match activity {
            Activity::Task(Task::Op(op)) => ops[op.index()] = at,
            Activity::Task(Task::Send(id) | Task::Receive(id)) => sends[id.index()] = at,
            Activity::Transfer(id) => transfers[id.index()] = at,
        }
    }
    for id in placed.transfer_ids() {
        let (gpu, at) = transfers[id.index()];
        for consumer in placed.remote_consumers(id) {
            let (other, started) = ops[consumer.index()];
            if other != gpu {
                facts.push(Before { earlier: (gpu, at.end), later: (other, started.start) });
            }
        }
    }
    let position = |gpu: usize| used.iter().position(|&other| other == gpu).expect("a GPU that takes part");
    for fact in &mut facts {
        fact.earlier.0 = position(fact.earlier.0);
        fact.later.0 = position(fact.later.0);
    }
    let offsets = clocks::offsets(used.len(), &facts)?;
    let shifted = |(gpu, at): (usize, Interval)| {
        let offset = offsets[position(gpu)];
        Interval { start: at.start + offset, end: at.end + offset }
    };
    let on_one_clock = |times: Vec<(usize, Interval)>| times.into_iter().map(shifted).collect::<Vec<_>>();
    let (mut ops, mut sends, mut transfers) = (on_one_clock(ops), on_one_clock(sends), on_one_clock(transfers));
    if used.len() > 1 {
        settle(placed, activities, &mut ops, &mut sends, &mut transfers);
    }
    let is_sent = |&id: &TransferId| placed.has_send(id);
    let mut step = Step {
        ops,
        sends: placed.transfer_ids().filter(is_sent).map(|id| sends[id.index()]).collect(),
        transfers,
        issued_in,
        overdue: false,
    };
    let all = || step.ops.iter().chain(&step.sends).chain(&step.transfers);
    let first = all().map(|at| at.start).fold(f64::INFINITY, f64::min);
    for at in step.ops.iter_mut().chain(&mut step.sends).chain(&mut step.transfers) {
        at.start -= first;
        at.end -= first;
    }
    Ok(step)
}

/// Lets nothing start before what it waited for has ended. `activities` stand in the order in which they were issued.
fn settle(
    placed: &PlacedGraph<'_>,
    activities: &[Activity],
    ops: &mut [Interval],
    sends: &mut [Interval],
    transfers: &mut [Interval],
) {
    let after = |at: &mut Interval, earlier: f64| {
        at.start = at.start.max(earlier);
        at.end = at.end.max(at.start);
        at.end
    };
    let arrivals = arrivals(placed);
    let devices = placed.instance().cluster().device_count();
    // When each device, and the connection of each pair, is through with what it did last.
    let mut free = vec![f64::NEG_INFINITY; devices];
    let mut connection_free = vec![f64::NEG_INFINITY; devices * devices];
    for &activity in activities {
        match activity {
            Activity::Task(Task::Op(op)) => {
                let free = &mut free[placed.device_of(op).index()];
                let arrived = arrivals[op.index()].iter().map(|id| transfers[id.index()].end);
                *free = after(&mut ops[op.index()], arrived.fold(*free, f64::max));
            }
            Activity::Task(Task::Send(id) | Task::Receive(id)) => {
                let free = &mut free[placed.transfer(id).from.index()];
                *free = after(&mut sends[id.index()], *free);
            }
            Activity::Transfer(id) => {
                let transfer = placed.transfer(id);
                let free = &mut connection_free[transfer.from.index() * devices + transfer.to.index()];
                let produced = match placed.has_send(id) {
                    true => sends[id.index()].end,
                    false => ops[transfer.source.index()].end,
                };
                *free = after(&mut transfers[id.index()], free.max(produced));
            }
        }
    }
}
