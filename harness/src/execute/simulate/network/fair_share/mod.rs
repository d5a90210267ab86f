//! Fair sharing: transfers flow at the same time and share links max–min fairly.

mod filling;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_algorithms::period::Occupancy;
use placebench_datasets::{Cluster, DeviceId, SharedLinks, Time, Transfer, TransferId};

use super::model::{Network, NetworkModel};
use crate::execute::simulate::events::Events;
use crate::validator::TransferLaw;
use filling::Filling;

/// Transfers share the links of the cluster's topology max–min fairly.
///
/// A transfer starts as soon as it can. For the latency of its pair it moves nothing and takes no share. Then it is a flow
/// that moves its bytes over all links of its route at once, at most at its pair's rate. At every instant the rates of all
/// flows are max–min fair: no flow can get more without taking from one that has no more than itself. So rates change
/// when a flow begins or ends, and with them the ends of the others. Where no link is short, a transfer takes
/// latency + bytes / rate, as under `contention_free`.
///
/// The links are [`Cluster::shared_links`]: those of the topology, each with its rate in each direction; without a topology
/// the ports of the devices. Ports are the default because that is where the transfers of a device meet: `one_port` gives a
/// port to one transfer at a time, `fair_share` divides it. A link for each pair would only slow transfers between the same
/// two devices.
///
/// # Reference
/// Max–min fairness: D. Bertsekas, R. Gallager, *Data Networks*, 2nd edition, 1992, §6.5.2. Flows as a model of networks in
/// simulation: P. Velho, L. M. Schnorr, H. Casanova, A. Legrand, *On the Validity of Flow-level TCP Network Models for Grid
/// and Cloud Simulations*, ACM TOMACS 23(4), 2013. It is SimGrid's model CM02 with all factors 1, but for one thing: SimGrid
/// weighs the flows of a link by the inverse of their routes' latencies, as TCP does; here all weigh the same.
///
/// # Complexity
/// A link is short if its flows could use more than its capacity; no other can hold up a flow. The flows of one pair of
/// devices have one rate, so the work grows with the pairs, not with the flows. A flow that begins or ends takes O(log flows
/// of its pair). If a link on its route is short, the rates of that instant take O(short links + pairs whose rates change ·
/// links of a route). Two links that change places in the order of rates add the pairs that use them; they are few, as the
/// order changes little from one instant to the next. 4 bytes a pair of devices, and about 200 for each with flows.
#[derive(Clone, Copy, Debug)]
pub struct FairShare;

impl NetworkModel for FairShare {
    fn name(&self) -> &'static str {
        "fair_share"
    }

    fn doc(&self) -> &'static str {
        "transfers share the links of the topology, or the ports of devices, max-min fairly"
    }

    fn source(&self) -> &'static str {
        "Bertsekas, Gallager 1992"
    }

    fn laws(&self) -> &'static [TransferLaw] {
        &[TransferLaw::LeastTime, TransferLaw::LinkCapacity]
    }

    fn start<'a>(&self, cluster: &'a Cluster) -> Option<Box<dyn Network + 'a>> {
        Some(Box::new(Flows::new(cluster)))
    }

    /// A link needs bytes / capacity for all that goes over it, however it is divided.
    fn occupancy<'a>(&self, cluster: &'a Cluster) -> Box<dyn Occupancy + 'a> {
        Box::new(BusyLinks { devices: cluster.device_count(), links: cluster.shared_links() })
    }
}

/// A transfer keeps each link of its route busy.
struct BusyLinks<'a> {
    devices: usize,
    links: &'a SharedLinks,
}

impl Occupancy for BusyLinks<'_> {
    fn parts(&self) -> usize {
        self.devices + self.links.count()
    }

    fn name(&self, part: usize) -> String {
        self.links.name(part - self.devices).to_owned()
    }

    fn transfer(&self, from: DeviceId, to: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time)) {
        for &link in self.links.route(from, to) {
            take(self.devices + link as usize, bytes as f64 / self.links.capacity(link as usize));
        }
    }
}

/// A transfer under way.
#[derive(Clone, Copy, Debug)]
struct Flow {
    id: TransferId,
    /// When the transfer started, its latency, and how long it takes alone.
    start: Time,
    latency: Time,
    time: Time,
    bytes: f64,
    /// Its pair of devices, row-major by sender; `None` if it takes no share of any link.
    devices: Option<u32>,
    /// When its latency was over.
    begin: Time,
}

/// All transfers under way. How fast they flow is up to [`Filling`].
struct Flows<'a> {
    cluster: &'a Cluster,
    filling: Filling<'a>,
    /// Transfers under way; free slots are used again.
    flows: Vec<Flow>,
    free: Vec<u32>,
    /// Slots of transfers that became ready at this instant.
    ready: Vec<u32>,
    /// Slots of transfers at the end of their latency; ends of transfers that take no share.
    latencies: Events,
    unshared: Events,
    /// The flows of each pair, by what a flow that was there all the time has moved when they end.
    flows_of: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Ends of pairs that no link holds up, with pair and version. An entry of an older version is void.
    ends: BinaryHeap<Reverse<(u64, u32, u32)>>,
    versions: Vec<u32>,
}

impl<'a> Flows<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        Self {
            cluster,
            filling: Filling::new(cluster),
            flows: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            latencies: Events::default(),
            unshared: Events::default(),
            flows_of: Vec::new(),
            ends: BinaryHeap::new(),
            versions: Vec::new(),
        }
    }

    /// The latency of a transfer is over: its bytes begin to flow.
    fn begin(&mut self, slot: u32, now: Time) {
        let flow = &mut self.flows[slot as usize];
        flow.begin = now;
        let Some(devices) = flow.devices else { return };
        let (pair, served) = self.filling.add(devices, now);
        if self.flows_of.len() <= pair as usize {
            self.flows_of.push(BinaryHeap::new());
            self.versions.push(0);
        }
        self.flows_of[pair as usize].push(Reverse(((served + flow.bytes).to_bits(), slot)));
        self.filling.set_first_end(pair, self.first_end(pair));
    }

    /// The first flow of a pair has moved all its bytes.
    fn finish(&mut self, pair: u32) -> Option<TransferId> {
        let Reverse((_, slot)) = self.flows_of[pair as usize].pop()?;
        self.filling.remove_first(pair, self.first_end(pair));
        self.free.push(slot);
        Some(self.flows[slot as usize].id)
    }

    fn first_end(&self, pair: u32) -> f64 {
        self.flows_of[pair as usize].peek().map_or(f64::INFINITY, |end| f64::from_bits(end.0.0))
    }

    /// Computes anew the ends of pairs that no link holds up, as far as they can have changed.
    fn update_ends(&mut self, now: Time) {
        while let Some(pair) = self.filling.pop_touched() {
            self.versions[pair as usize] += 1;
            let Some(&Reverse((_, slot))) = self.flows_of[pair as usize].peek() else { continue };
            let Some((free_since, left)) = self.filling.time_left(pair, now) else { continue };
            let flow = &self.flows[slot as usize];
            // A flow that was never held up ends exactly as under contention_free.
            let end = if flow.begin >= free_since { flow.start + flow.time } else { now + left };
            self.ends.push(Reverse((end.max(now).to_bits(), pair, self.versions[pair as usize])));
        }
        let versions = &self.versions;
        if self.ends.len() > 4 * versions.len() + 64 {
            self.ends.retain(|&Reverse((_, pair, version))| versions[pair as usize] == version);
        }
        while let Some(&Reverse((_, pair, version))) = self.ends.peek()
            && versions[pair as usize] != version
        {
            self.ends.pop();
        }
    }
}

impl Network for Flows<'_> {
    fn ready(&mut self, id: TransferId, transfer: &Transfer, stretch: f64) {
        let link = self.cluster.link(transfer.from, transfer.to);
        let devices = transfer.from.index() * self.cluster.device_count() + transfer.to.index();
        let takes_a_share = transfer.bytes > 0 && link.rate < f64::INFINITY;
        let flow = Flow {
            id,
            start: 0.0,
            latency: link.latency * stretch,
            time: transfer.time * stretch,
            bytes: transfer.bytes as f64 * stretch,
            devices: takes_a_share.then_some(devices as u32),
            begin: 0.0,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.flows[slot as usize] = flow;
                slot
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        self.ready.push(slot);
    }

    fn start(&mut self, now: Time, started: &mut Vec<TransferId>) {
        let mut ready = std::mem::take(&mut self.ready);
        for slot in ready.drain(..) {
            let flow = &mut self.flows[slot as usize];
            flow.start = now;
            started.push(flow.id);
            match flow.devices {
                None => self.unshared.push(now + flow.time, slot),
                Some(_) if flow.latency > 0.0 => self.latencies.push(now + flow.latency, slot),
                Some(_) => self.begin(slot, now),
            }
        }
        self.ready = ready;
        while let Some(slot) = self.latencies.pop_at(now) {
            self.begin(slot, now);
        }
        self.filling.share(now);
        self.update_ends(now);
    }

    fn end(&mut self, now: Time) -> Option<TransferId> {
        if let Some(slot) = self.unshared.pop_at(now) {
            self.free.push(slot);
            return Some(self.flows[slot as usize].id);
        }
        let first = self.ends.peek().filter(|end| end.0.0 == now.to_bits());
        let pair = first.map(|end| end.0.1).or_else(|| self.filling.pair_ending_at(now))?;
        let id = self.finish(pair);
        self.update_ends(now);
        id
    }

    fn next_bits(&self) -> u64 {
        let ends = self.ends.peek().map_or(u64::MAX, |end| end.0.0);
        self.latencies.next_bits().min(self.unshared.next_bits()).min(ends).min(self.filling.next_bits())
    }
}
