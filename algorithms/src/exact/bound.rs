//! Lower bounds on what a partial schedule can still become.

use placebench_datasets::Time;

use super::area::Area;
use super::problem::Problem;
use super::state::State;

/// Tables reused from node to node.
#[derive(Debug)]
pub(super) struct Bound<'a> {
    problem: &'a Problem,
    area: Area,
    /// Least start of each unscheduled op on each device; infinite where it cannot be and end below the cutoff.
    pub(super) start: Vec<Time>,
    /// The same with the op's time.
    end: Vec<Time>,
    producers: Vec<Producer>,
    local: Vec<(Time, Time)>,
}

/// An unscheduled producer of an op, as seen from a device on which the op may run.
#[derive(Clone, Copy, Debug)]
struct Producer {
    /// Least time at which its data is there if it runs elsewhere.
    remote: Time,
    /// Its least start on the device.
    start: Time,
    /// Its time there.
    work: Time,
}

impl<'a> Bound<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let entries = problem.ops * problem.devices;
        Self {
            problem,
            area: Area::new(problem),
            start: vec![f64::INFINITY; entries],
            end: vec![f64::INFINITY; entries],
            producers: Vec::with_capacity(problem.ops),
            local: Vec::with_capacity(problem.ops),
        }
    }

    /// A lower bound on the makespan of every schedule that continues a partial one, or `None` if none of them ends before
    /// the cutoff.
    pub(super) fn of(&mut self, state: &State, cutoff: Time) -> Option<Time> {
        let problem = self.problem;
        let mut bound = state.free.iter().copied().fold(0.0, Time::max);
        if bound >= cutoff {
            return None;
        }
        for op in (0..problem.ops).filter(|&op| !state.is_done(op)) {
            let mut least = f64::INFINITY;
            for device in 0..problem.devices {
                let entry = op * problem.devices + device;
                (self.start[entry], self.end[entry]) = (f64::INFINITY, f64::INFINITY);
                if !state.allows(problem, op, device) {
                    continue;
                }
                let free = state.available(device).max(state.ready[entry]);
                let start = free.max(self.inputs_there(state, op, device));
                let end = start + problem.time[entry];
                let total = end + problem.tail[entry];
                // The op cannot be there in a schedule that is worth finding, nor does anything follow it there.
                if total < cutoff {
                    (self.start[entry], self.end[entry]) = (start, end);
                    least = least.min(total);
                }
            }
            if least == f64::INFINITY {
                return None;
            }
            bound = bound.max(least);
        }
        (!self.area.exceeds(problem, state, &self.start, cutoff)).then_some(bound)
    }

    /// When the inputs of an op that are not scheduled yet can be on a device at the earliest.
    ///
    /// Each producer runs elsewhere and its output is moved, or it runs on the device itself, one after the other. Only the
    /// producers that are worst off remotely are worth keeping.
    fn inputs_there(&mut self, state: &State, op: usize, device: usize) -> Time {
        let (problem, devices) = (self.problem, self.problem.devices);
        self.producers.clear();
        for arc in problem.inputs[op].iter().filter(|arc| !state.is_done(arc.op)) {
            let ends = &self.end[arc.op * devices..][..devices];
            let mut remote = f64::INFINITY;
            if problem.unit[arc.op] != problem.unit[op] {
                for from in (0..devices).filter(|&from| from != device) {
                    remote = remote.min(ends[from] + arc.delay[from * devices + device]);
                }
            }
            let entry = arc.op * devices + device;
            self.producers.push(Producer { remote, start: self.start[entry], work: problem.time[entry] });
        }
        match self.producers[..] {
            [] => 0.0,
            [only] => only.remote.min(only.start + only.work),
            _ => self.best_split(),
        }
    }

    fn best_split(&mut self) -> Time {
        let producers = &mut self.producers;
        for sorted in 1..producers.len() {
            let mut at = sorted;
            while at > 0 && producers[at - 1].remote < producers[at].remote {
                producers.swap(at - 1, at);
                at -= 1;
            }
        }
        let mut best = producers[0].remote;
        self.local.clear();
        for kept in 1..=producers.len() {
            let Producer { start, work, .. } = producers[kept - 1];
            if start == f64::INFINITY {
                break;
            }
            // One after the other in the order of their earliest starts, which is optimal.
            let at = self.local.iter().position(|&(other, _)| other > start).unwrap_or(self.local.len());
            self.local.insert(at, (start, work));
            let end = self.local.iter().fold(0.0, |end: Time, &(start, work)| end.max(start) + work);
            let away = producers.get(kept).map_or(0.0, |producer| producer.remote);
            best = best.min(end.max(away));
            if end >= away {
                break;
            }
        }
        best
    }
}
