//! What a network model is, and what the network is during a run.

use std::fmt;

use placebench_algorithms::period::Occupancy;
use placebench_datasets::{Cluster, DeviceId, Time, Transfer, TransferId};

use crate::validator::{Demands, TransferLaw};

/// How transfers share the network. Makespans under different models do not compare, so every table names the model.
///
/// This is all that the engine, timelines, the validator, suites and the command know of a model.
pub trait NetworkModel: Send + Sync {
    /// The name as suites and tables spell it.
    fn name(&self) -> &'static str;

    /// What the model says, in one line.
    fn doc(&self) -> &'static str;

    /// Where it comes from: a short citation.
    fn source(&self) -> &'static str;

    /// What the validator demands of the transfers of a run under this model.
    fn laws(&self) -> &'static [TransferLaw];

    /// The network at the beginning of a run; `None` if every transfer starts as soon as it is ready and takes
    /// latency + bytes / rate.
    fn start<'a>(&self, cluster: &'a Cluster) -> Option<Box<dyn Network + 'a>>;

    /// What the transfers of one run keep busy, of the parts of the network that they share: runs that follow each other can
    /// start no faster.
    fn occupancy<'a>(&self, cluster: &'a Cluster) -> Box<dyn Occupancy + 'a>;
}

/// Transfers share nothing.
pub(super) struct Nothing {
    pub(super) devices: usize,
}

impl Occupancy for Nothing {
    fn parts(&self) -> usize {
        self.devices
    }

    fn transfer(&self, _: DeviceId, _: DeviceId, _: u64, _: &mut dyn FnMut(usize, Time)) {}
}

/// A transfer keeps its sender's port out and its receiver's port in busy, for as long as `time` says.
pub(super) struct BusyPorts<'a, F> {
    pub(super) cluster: &'a Cluster,
    pub(super) time: F,
}

impl<F: Fn(DeviceId, DeviceId, u64) -> Time + Send + Sync> Occupancy for BusyPorts<'_, F> {
    fn parts(&self) -> usize {
        3 * self.cluster.device_count()
    }

    fn name(&self, part: usize) -> String {
        let devices = self.cluster.device_count();
        let port = if part / devices == 1 { "out of" } else { "into" };
        format!("the port {port} '{}'", self.cluster.devices()[part % devices].name)
    }

    fn transfer(&self, from: DeviceId, to: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time)) {
        let time = (self.time)(from, to, bytes);
        let devices = self.cluster.device_count();
        take(devices + from.index(), time);
        take(2 * devices + to.index(), time);
    }
}

/// The network during one run: when transfers start and end. Transfers are known by their ids, which are dense.
///
/// At an instant the engine calls [`end`](Network::end) until there is none, then [`ready`](Network::ready) for each
/// transfer that became ready, then [`start`](Network::start). It begins anew if something else happens at that instant.
pub trait Network {
    /// A transfer can go from now on; in ascending order of ids. Alone it takes `stretch` times what it costs.
    fn ready(&mut self, id: TransferId, transfer: &Transfer, stretch: f64);

    /// Starts what can start now, and appends it to `started`. What was started before may change its end.
    fn start(&mut self, now: Time, started: &mut Vec<TransferId>);

    /// A transfer that ends now, with everything that it held given back.
    fn end(&mut self, now: Time) -> Option<TransferId>;

    /// The bits of the time of what the network does next; `u64::MAX`, which is beyond any time, if it has nothing to do.
    /// That time may be an instant at which nothing starts or ends.
    fn next_bits(&self) -> u64;
}

impl dyn NetworkModel + '_ {
    /// What the validator demands of a simulated run under this model.
    pub fn demands(&self) -> Demands {
        Demands::Exact(self.laws())
    }
}

impl fmt::Display for dyn NetworkModel + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for dyn NetworkModel + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
