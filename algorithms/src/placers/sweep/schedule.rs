//! A schedule as the searches keep it: the device of each op, and an order.

use placebench_datasets::Time;

use super::problem::{Problem, Way};

/// Where each op runs, and a linear extension of the graph that says in which order each device executes its ops.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    /// The device of each op.
    pub(super) devices: Vec<u32>,
    /// All ops.
    pub(super) order: Vec<u32>,
    /// When the last op finishes.
    pub(super) makespan: Time,
}

impl Schedule {
    /// A schedule with its makespan.
    pub(super) fn new(way: Way<'_>, devices: Vec<u32>, order: Vec<u32>) -> Self {
        let mut finish = vec![0.0; devices.len()];
        let makespan = way.finish_times(&devices, order.iter().copied(), &mut finish);
        Self { devices, order, makespan }
    }

    /// Given devices, each executing first what has the longest path behind it.
    pub(super) fn of_devices(problem: &Problem<'_>, devices: Vec<u32>) -> Self {
        let way = problem.forward();
        let topological: Vec<u32> = problem.instance.graph().topological_order().map(|op| op.0).collect();
        let mut tails = vec![0.0; problem.ops];
        for &op in topological.iter().rev() {
            let (op, device) = (op as usize, devices[op as usize]);
            let behind =
                way.after.of(op).iter().map(|&(after, bytes)| {
                    way.from.time(device, devices[after as usize], bytes) + tails[after as usize]
                });
            tails[op] = behind.fold(0.0, Time::max) + problem.exec(op, device);
        }
        let order = sorted_by(topological.into_iter(), |op| -tails[op as usize]);
        Self::new(way, devices, order)
    }

    /// The same devices and order on a problem with other links.
    pub(super) fn on(&self, problem: &Problem<'_>) -> Self {
        Self::new(problem.forward(), self.devices.clone(), self.order.clone())
    }

    /// The same schedule with time reversed.
    pub(super) fn reverse(&mut self) {
        self.order.reverse();
    }
}

/// The ops by a key, least first; equal keys stay in the order given.
pub(super) fn sorted_by(ops: impl Iterator<Item = u32>, key: impl Fn(u32) -> Time) -> Vec<u32> {
    let mut keyed: Vec<(Time, u32, u32)> = ops.zip(0..).map(|(op, position)| (key(op), position, op)).collect();
    keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, _, op)| op).collect()
}
