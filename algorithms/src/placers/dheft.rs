//! dHEFT: HEFT's choice of the device, made when an op becomes ready.

use std::collections::VecDeque;

use placebench_datasets::{DeviceId, Instance, OpId, Time};

use crate::fairness::{Assumption, Exception, Law};
use crate::online::{OnlinePlacer, OnlinePolicy, OnlineState};
use crate::{Algorithm, Params, SpecError};

/// During the run: an op that becomes ready goes to the device where it will finish first, behind what the device was
/// given before.
///
/// # Reference
/// K. Chronaki, A. Rico, R. M. Badia, E. Ayguadé, J. Labarta, M. Valero, *Criticality-Aware Dynamic Task Scheduling for
/// Heterogeneous Architectures*, ICS 2015, doi:10.1145/2751205.2751235, where it is the comparison.
///
/// # Complexity
/// O((ops + edges) · devices).
///
/// # Ties
/// Ops that become ready at one instant: by id. Equal finish times: the lowest device id.
///
/// # Deviations
/// - The original learns the time of each type of task on each type of core while it runs; here times are known.
/// - The original has a shared memory; here the time until the inputs are there counts, those on their way included.
/// - The first op of a unit (colocation group) to become ready binds the unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dheft;

impl Algorithm for Dheft {
    const NAME: &str = "dheft";
    const SUMMARY: &str = "online: each ready op to the device where it will finish first";
    const SOURCE: &str = "Chronaki et al. 2015, L §8";
    const ASSUMES: &[Assumption] = &[Assumption::NoMemory, Assumption::FreeTransfers];
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledOps, "ops that become ready at one instant go by number")];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl OnlinePlacer for Dheft {
    fn start<'a>(&self, instance: &'a Instance) -> Box<dyn OnlinePolicy + 'a> {
        let times = vec![0.0; instance.cluster().device_count()];
        Box::new(EarliestFinish { instance, ready: VecDeque::new(), times })
    }
}

struct EarliestFinish<'a> {
    instance: &'a Instance,
    ready: VecDeque<OpId>,
    times: Vec<Time>,
}

impl OnlinePolicy for EarliestFinish<'_> {
    fn ready(&mut self, ops: &[OpId], _: &dyn OnlineState) {
        self.ready.extend(ops);
    }

    fn next(&mut self, state: &dyn OnlineState) -> Option<(OpId, DeviceId)> {
        let &op = self.ready.front()?;
        let unit = self.instance.units().unit_of(op);
        let device = match state.assignment().device_of_unit(unit) {
            Some(device) => device,
            None => {
                state.arrivals(op, &mut self.times);
                let finish = |device: DeviceId| {
                    self.times[device.index()].max(state.free_at(device)) + self.instance.exec_time(op, device)
                };
                let feasible = state.assignment().feasible_devices(unit).map(|device| (finish(device), device));
                feasible.reduce(|a, b| if b.0 < a.0 { b } else { a })?.1
            }
        };
        self.ready.pop_front();
        Some((op, device))
    }
}
