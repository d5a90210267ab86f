//! Schedules with ports, op by op: of a change on trial, and of one that is made.

use placebench_datasets::Time;

use super::{Copy, NONE, Ports, STRIDE, State};
use crate::placers::sweep::judge::Contention;

impl Ports<'_> {
    /// The makespan after the change at hand, which begins at a position, or `None` if it is beyond the limit.
    pub(super) fn evaluate(&mut self, begin: usize, limit: Time) -> Option<Time> {
        self.trial += 1;
        self.trial_copies.clear();
        self.state.clone_from(&self.states[begin / STRIDE]);
        for at in begin..self.order.len() {
            let op = self.order[at] as usize;
            let (start, _) = self.start_of(op, at, Some(begin));
            let finish = start + self.problem.exec(op, self.devices[op]);
            if start + self.least[op] > limit || finish > limit {
                return None;
            }
            self.trial_finish[op] = finish;
            self.state.free[self.devices[op] as usize].0 = finish;
        }
        Some(self.state.free.iter().map(|free| free.0).fold(0.0, Time::max))
    }

    /// Makes the change: computes again from a position on.
    pub(super) fn commit(&mut self, begin: usize) {
        while let Some(copy) = self.copies.pop_if(|copy| copy.position as usize >= begin) {
            self.heads[copy.producer as usize] = copy.former;
        }
        self.states.truncate(begin / STRIDE + 1);
        self.state.clone_from(&self.states[begin / STRIDE]);
        self.critical.clear();
        for at in begin..self.order.len() {
            if at % STRIDE == 0 && at > begin {
                self.states.push(self.state.clone());
            }
            let op = self.order[at] as usize;
            let (start, blame) = self.start_of(op, at, None);
            let device = self.devices[op] as usize;
            self.starts[op] = start;
            self.finish[op] = start + self.problem.exec(op, device as u32);
            self.blame[op] = blame;
            self.state.free[device] = (self.finish[op], op as u32);
        }
        (self.makespan, self.last) =
            self.state.free.iter().copied().fold((0.0, NONE), |a, b| if b.0 > a.0 { b } else { a });
    }

    pub(super) fn commit_all(&mut self) {
        for (position, &op) in self.order.iter().enumerate() {
            self.position[op as usize] = position as u32;
        }
        let none = vec![(0.0, NONE); self.problem.devices];
        self.states = vec![State { free: none.clone(), sends: none.clone(), receives: none }];
        self.commit(0);
        self.moved.clear();
    }

    /// When an op starts after what was scheduled before it, and what it waits for last. Sends what it needs; in a trial, which
    /// begins at a position, the copies are the trial's.
    ///
    /// Where a send takes time of its device, it takes it of the ops that come after this one in the order, and where a receive
    /// does, right before this op.
    #[inline]
    fn start_of(&mut self, op: usize, at: usize, trial: Option<usize>) -> (Time, u32) {
        let way = self.problem.forward();
        let device = self.devices[op];
        let (mut start, mut blame) = self.state.free[device as usize];
        let mut received = 0.0;
        for &(before, bytes) in way.before.of(op) {
            let producer = before as usize;
            let done = match trial {
                Some(begin) if self.position[producer] as usize >= begin => self.trial_finish[producer],
                _ => self.finish[producer],
            };
            let from = self.devices[producer];
            let (arrival, cause) = if from == device {
                (done, before)
            } else if let Some(arrival) = self.copy_of(producer, device, bytes, trial) {
                (arrival, before)
            } else {
                let (send, receive) = self.problem.ends(from, device, bytes);
                self.state.free[from as usize].0 += send;
                received += receive;
                let (done, time) = (done + send, way.from.time(from, device, bytes) - send - receive);
                let mut arrival;
                let mut cause = before;
                if self.contention == Contention::None {
                    arrival = done + time;
                } else if time > 0.0 {
                    let ports = (self.state.sends[from as usize], self.state.receives[device as usize]);
                    let (mut sent, mut received) = (ports.0.0.max(done), ports.1.0.max(done));
                    if self.contention == Contention::OneAtATime {
                        sent = sent.max(received);
                        received = sent;
                    }
                    arrival = sent.max(received) + time;
                    let port = if ports.0.0 > ports.1.0 { ports.0 } else { ports.1 };
                    if port.0 > done {
                        cause = port.1;
                    }
                    self.state.sends[from as usize] = (sent + time, op as u32);
                    self.state.receives[device as usize] = (received + time, op as u32);
                } else {
                    arrival = done;
                }
                arrival += receive;
                self.note(Copy { device, bytes, arrival, former: NONE, producer: before, position: at as u32 }, trial);
                // The same op's own transfers do not lead back.
                (arrival, if cause == op as u32 { before } else { cause })
            };
            if arrival > start {
                (start, blame) = (arrival, cause);
            }
        }
        let free = self.state.free[device as usize];
        match free.0 + received > start {
            true => (free.0 + received, free.1),
            false => (start, blame),
        }
    }

    fn copy_of(&self, producer: usize, device: u32, bytes: f64, trial: Option<usize>) -> Option<Time> {
        if trial.is_some() && self.trial_heads[producer].0 == self.trial {
            let mut at = self.trial_heads[producer].1;
            while at != NONE {
                let copy = &self.trial_copies[at as usize];
                if copy.device == device && copy.bytes == bytes {
                    return Some(copy.arrival);
                }
                at = copy.former;
            }
        }
        let begin = trial.unwrap_or(usize::MAX);
        let mut at = self.heads[producer];
        while at != NONE {
            let copy = &self.copies[at as usize];
            if copy.device == device && copy.bytes == bytes && (copy.position as usize) < begin {
                return Some(copy.arrival);
            }
            at = copy.former;
        }
        None
    }

    fn note(&mut self, copy: Copy, trial: Option<usize>) {
        let producer = copy.producer as usize;
        if trial.is_some() {
            let head = &mut self.trial_heads[producer];
            let former = if head.0 == self.trial { head.1 } else { NONE };
            *head = (self.trial, self.trial_copies.len() as u32);
            self.trial_copies.push(Copy { former, ..copy });
        } else {
            let former = std::mem::replace(&mut self.heads[producer], self.copies.len() as u32);
            self.copies.push(Copy { former, ..copy });
        }
    }
}
