//! From times on the clocks of several GPUs to those of a step. Nothing here calls CUDA.

use std::time::Duration;

use placebench_algorithms::Task;
use placebench_datasets::{PlacedGraph, TransferId};
use placebench_harness::timeline::Interval;

use crate::CudaError;
use crate::clocks::{self, Before};
use crate::plan::Activity;

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
}

impl Step {
    /// When the last op or send op ended, in seconds.
    pub fn makespan(&self) -> f64 {
        self.ops.iter().chain(&self.sends).map(|at| at.end).fold(0.0, f64::max)
    }
}

/// Brings all times to one clock. `timed` has, for each of `activities`, the GPU whose clock measured it and the
/// time in seconds; `used` are the GPUs that take part, ascending; `facts` tie their clocks, and every transfer from one to
/// another does as well.
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
    let is_sent = |&id: &TransferId| placed.has_send(id);
    let sends: Vec<_> = placed.transfer_ids().filter(is_sent).map(|id| sends[id.index()]).collect();
    let mut step = Step {
        ops: ops.into_iter().map(shifted).collect(),
        sends: sends.into_iter().map(shifted).collect(),
        transfers: transfers.into_iter().map(shifted).collect(),
        issued_in,
    };
    let all = || step.ops.iter().chain(&step.sends).chain(&step.transfers);
    let first = all().map(|at| at.start).fold(f64::INFINITY, f64::min);
    for at in step.ops.iter_mut().chain(&mut step.sends).chain(&mut step.transfers) {
        at.start -= first;
        at.end -= first;
    }
    Ok(step)
}
