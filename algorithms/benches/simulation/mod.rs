//! A bare simulator without contention and with free sends, so that what is measured is the schedulers.

#![allow(unreachable_pub, reason = "a module of a benchmark")]

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use placebench_algorithms::{Plan, Scheduler, SimulationState, Task};
use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time, TransferId};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    End(DeviceId, OpId),
    Arrival(TransferId),
}

#[derive(Clone, Copy, PartialEq)]
struct Event(Time, What);

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// The makespan under a scheduler.
pub fn makespan(placed: &PlacedGraph<'_>, scheduler: &dyn Scheduler, plan: Option<&Plan>) -> Time {
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let mut policy = scheduler.start(placed, plan).expect("a plan where one is needed");
    let mut unfinished_inputs: Vec<u32> = graph.op_ids().map(|op| graph.in_degree(op) as u32).collect();
    let mut absent = unfinished_inputs.clone();
    let mut busy = vec![false; cluster.device_count()];
    let mut ready: Vec<OpId> = graph.op_ids().filter(|&op| graph.in_degree(op) == 0).collect();
    let mut events: BinaryHeap<Reverse<Event>> = BinaryHeap::new();
    let mut now = 0.0;
    loop {
        while let Some(&Reverse(Event(time, what))) = events.peek().filter(|event| event.0.0 == now) {
            events.pop();
            let arrived = match what {
                What::Arrival(id) => placed.remote_consumers(id),
                What::End(device, op) => {
                    busy[device.index()] = false;
                    for id in placed.transfers_of(op) {
                        events.push(Reverse(Event(time + placed.transfer(id).time, What::Arrival(id))));
                    }
                    for &successor in graph.successor_ops(op) {
                        unfinished_inputs[successor.index()] -= 1;
                    }
                    placed.local_consumers(op)
                }
            };
            for &op in arrived {
                absent[op.index()] -= 1;
                if absent[op.index()] == 0 {
                    ready.push(op);
                }
            }
        }
        ready.sort_unstable();
        for op in ready.drain(..) {
            let state = SimulationState { now, unfinished_inputs: &unfinished_inputs, busy: &busy };
            policy.ready(placed.device_of(op), Task::Op(op), &state);
        }
        for device in cluster.device_ids() {
            if busy[device.index()] {
                continue;
            }
            let state = SimulationState { now, unfinished_inputs: &unfinished_inputs, busy: &busy };
            if let Some(Task::Op(op)) = policy.next(device, &state) {
                busy[device.index()] = true;
                events.push(Reverse(Event(now + placed.exec_time(op), What::End(device, op))));
            }
        }
        match events.peek() {
            Some(&Reverse(Event(next, _))) => now = next,
            None => return now,
        }
    }
}
