//! Fair sharing: transfers flow at the same time and share links max–min fairly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::{Cluster, SharedLinks, Time, Transfer, TransferId};

use super::{Network, NetworkModel};
use crate::execute::simulate::events::Events;
use crate::validator::TransferLaw;

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
/// When flows begin or end at an instant, rates are computed again for the flows that share short links with them, directly
/// or through others: O(flows · links of a route · log links), where a link on which flows of many different rates meet may
/// be looked at several times. A link is short if its flows could use more than its capacity; no other can hold up a flow.
#[derive(Clone, Copy, Debug)]
pub struct FairShare;

impl NetworkModel for FairShare {
    fn name(&self) -> &'static str {
        "fair_share"
    }

    fn doc(&self) -> &'static str {
        "transfers share the links of the topology, or the ports of devices, max-min fairly"
    }

    fn laws(&self) -> &'static [TransferLaw] {
        &[TransferLaw::LeastTime, TransferLaw::LinkCapacity]
    }

    fn start<'a>(&self, cluster: &'a Cluster) -> Option<Box<dyn Network + 'a>> {
        Some(Box::new(Flows::new(cluster)))
    }
}

/// A link is short if its flows could use more than its capacity by this factor. It is above 1 because sums of rates are
/// rounded.
const SHORT: f64 = 1.0 + 1e-12;

/// A transfer under way.
#[derive(Clone, Debug, Default)]
struct Flow {
    id: TransferId,
    /// When the transfer started, its latency, and how long it takes alone.
    start: Time,
    latency: Time,
    time: Time,
    bytes: f64,
    /// The rate of its pair.
    most: f64,
    links: Vec<u32>,
    /// Its place among the flows of each of these links.
    places: Vec<u32>,
    /// What is left at `since`, and the rate from then on.
    left: f64,
    since: Time,
    rate: f64,
    /// While rates are computed: the new rate, if it is known.
    fixed: Option<f64>,
    /// Grows with each change of its end.
    version: u32,
}

/// A link with the flows that use it.
#[derive(Clone, Debug, Default)]
struct SharedLink {
    capacity: f64,
    /// Flows, each with the position of this link in its route.
    flows: Vec<(u32, u32)>,
    /// The sum of the rates that the flows would have alone.
    demand: f64,
    /// While rates are computed: the capacity left, and the number of flows that have no rate yet.
    left: f64,
    open: u32,
    /// The last computation that looked at this link.
    seen: u64,
}

impl SharedLink {
    fn is_short(&self) -> bool {
        self.demand > self.capacity * SHORT
    }
}

struct Flows<'a> {
    cluster: &'a Cluster,
    shared: &'a SharedLinks,
    links: Vec<SharedLink>,
    /// Transfers under way; free slots are used again.
    flows: Vec<Flow>,
    free: Vec<u32>,
    /// Slots of transfers that became ready at this instant.
    ready: Vec<u32>,
    /// Slots of transfers at the end of their latency.
    latencies: Events,
    /// Ends of flows with slot and version. An entry of an older version is void.
    ends: BinaryHeap<Reverse<(u64, u32, u32)>>,
    active: usize,
    /// Links that were or became short because a flow began or ended.
    changed: Vec<u32>,
    /// The number of the computation, and when each flow was last part of one.
    computation: u64,
    seen: Vec<u64>,
    /// Scratch space: the flows of a computation, and its links by fair share.
    part: Vec<u32>,
    shares: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<'a> Flows<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let shared = cluster.shared_links();
        let link = |link| SharedLink { capacity: shared.capacity(link), ..SharedLink::default() };
        Self {
            cluster,
            shared,
            links: (0..shared.count()).map(link).collect(),
            flows: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            latencies: Events::default(),
            ends: BinaryHeap::new(),
            active: 0,
            changed: Vec::new(),
            computation: 0,
            seen: Vec::new(),
            part: Vec::new(),
            shares: BinaryHeap::new(),
        }
    }

    /// The latency of a transfer is over: its bytes begin to flow.
    fn begin(&mut self, slot: u32, now: Time) {
        let flow = &mut self.flows[slot as usize];
        (flow.left, flow.since, flow.rate) = (flow.bytes, now, flow.most);
        self.active += 1;
        let mut is_slowed = false;
        for (position, &link) in flow.links.iter().enumerate() {
            let shared = &mut self.links[link as usize];
            flow.places.push(shared.flows.len() as u32);
            shared.flows.push((slot, position as u32));
            shared.demand += flow.most;
            if shared.is_short() {
                self.changed.push(link);
                is_slowed = true;
            }
        }
        if !is_slowed {
            self.set_end(slot, now);
        } else {
            // No rate yet, so that any is a change.
            self.flows[slot as usize].rate = 0.0;
        }
    }

    /// A flow has moved all its bytes.
    fn finish(&mut self, slot: u32) -> TransferId {
        self.active -= 1;
        let links = std::mem::take(&mut self.flows[slot as usize].links);
        let mut places = std::mem::take(&mut self.flows[slot as usize].places);
        for (&link, &place) in links.iter().zip(&places) {
            let shared = &mut self.links[link as usize];
            if shared.is_short() {
                self.changed.push(link);
            }
            shared.flows.swap_remove(place as usize);
            shared.demand = if shared.flows.is_empty() { 0.0 } else { shared.demand - self.flows[slot as usize].most };
            if let Some(&(other, position)) = shared.flows.get(place as usize) {
                self.flows[other as usize].places[position as usize] = place;
            }
        }
        places.clear();
        let flow = &mut self.flows[slot as usize];
        (flow.links, flow.places) = (links, places);
        flow.version += 1;
        self.free.push(slot);
        flow.id
    }

    /// Computes anew the end of a flow whose rate has changed.
    fn set_end(&mut self, slot: u32, now: Time) {
        let flow = &mut self.flows[slot as usize];
        flow.version += 1;
        let end = match flow.left == flow.bytes && flow.rate == flow.most {
            // Exactly as under contention_free.
            true => (flow.start + flow.time).max(now),
            false => now + flow.left / flow.rate,
        };
        self.ends.push(Reverse((end.to_bits(), slot, flow.version)));
    }

    fn drop_void_ends(&mut self) {
        while let Some(&Reverse((_, slot, version))) = self.ends.peek()
            && self.flows[slot as usize].version != version
        {
            self.ends.pop();
        }
    }

    /// Computes the rates of all flows that the changed links can affect.
    fn share(&mut self, now: Time) {
        self.find_part();
        self.divide();
        for index in 0..self.part.len() {
            let slot = self.part[index];
            let flow = &mut self.flows[slot as usize];
            // A flow on no short link gets the rate of its pair.
            let rate = flow.fixed.unwrap_or(flow.most);
            if flow.rate != rate {
                flow.left = (flow.left - flow.rate * (now - flow.since)).max(0.0);
                (flow.since, flow.rate) = (now, rate);
                self.set_end(slot, now);
            }
        }
        if self.ends.len() > 4 * self.active + 64 {
            let flows = &self.flows;
            self.ends.retain(|&Reverse((_, slot, version))| flows[slot as usize].version == version);
        }
    }

    /// Collects the flows on changed links, and those that share short links with them, directly or through others.
    fn find_part(&mut self) {
        self.computation += 1;
        self.part.clear();
        let mut links = std::mem::take(&mut self.changed);
        while let Some(link) = links.pop() {
            let shared = &mut self.links[link as usize];
            if std::mem::replace(&mut shared.seen, self.computation) == self.computation {
                continue;
            }
            (shared.left, shared.open) = (shared.capacity, shared.flows.len() as u32);
            if shared.is_short() {
                let share = shared.left / f64::from(shared.open);
                self.shares.push(Reverse((share.to_bits(), link)));
            }
            for &(slot, _) in &self.links[link as usize].flows {
                if std::mem::replace(&mut self.seen[slot as usize], self.computation) != self.computation {
                    self.part.push(slot);
                    let flow = &mut self.flows[slot as usize];
                    flow.fixed = None;
                    links.extend(flow.links.iter().filter(|&&link| self.links[link as usize].is_short()));
                }
            }
        }
        self.changed = links;
    }

    /// Progressive filling: the link with the least fair share fixes the rates of its flows, then the next.
    fn divide(&mut self) {
        // Fair shares only grow as rates are fixed, apart from rounding.
        let mut least = 0.0f64;
        while let Some(Reverse((bits, link))) = self.shares.pop() {
            let Some(share) = self.fair_share(link) else { continue };
            let share = share.max(least);
            if share.to_bits() > bits {
                self.shares.push(Reverse((share.to_bits(), link)));
                continue;
            }
            least = share;
            // A flow that its own pair slows more leaves the rest of its share to the others.
            if self.fix_flows(link, |flow| (flow.most <= share).then_some(flow.most)) {
                self.shares.push(Reverse((share.to_bits(), link)));
            } else {
                self.fix_flows(link, |_| Some(share));
            }
        }
    }

    /// What is left of a link's capacity for each of its flows that has no rate yet; `None` if all have.
    fn fair_share(&self, link: u32) -> Option<f64> {
        let shared = &self.links[link as usize];
        (shared.open > 0).then(|| shared.left / f64::from(shared.open))
    }

    /// Fixes the rates of those flows of a link that have none yet and get one by `rate`. Whether there are any.
    fn fix_flows(&mut self, link: u32, rate: impl Fn(&Flow) -> Option<f64>) -> bool {
        let mut any = false;
        for index in 0..self.links[link as usize].flows.len() {
            let (slot, _) = self.links[link as usize].flows[index];
            let flow = &mut self.flows[slot as usize];
            if flow.fixed.is_some() {
                continue;
            }
            flow.fixed = rate(flow);
            let Some(rate) = flow.fixed else { continue };
            any = true;
            for &link in &flow.links {
                let shared = &mut self.links[link as usize];
                if shared.seen == self.computation {
                    shared.left -= rate;
                    shared.open -= 1;
                }
            }
        }
        any
    }
}

impl Network for Flows<'_> {
    fn ready(&mut self, id: TransferId, transfer: &Transfer) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flows.push(Flow::default());
            self.seen.push(0);
            self.flows.len() as u32 - 1
        });
        let link = self.cluster.link(transfer.from, transfer.to);
        let flow = &mut self.flows[slot as usize];
        (flow.id, flow.latency, flow.time) = (id, link.latency, transfer.time);
        (flow.bytes, flow.most) = (transfer.bytes as f64, link.rate);
        flow.links.clear();
        if flow.bytes > 0.0 && flow.most < f64::INFINITY {
            flow.links.extend_from_slice(self.shared.route(transfer.from, transfer.to));
        }
        self.ready.push(slot);
    }

    fn start(&mut self, now: Time, started: &mut Vec<TransferId>) {
        let mut ready = std::mem::take(&mut self.ready);
        for slot in ready.drain(..) {
            let flow = &mut self.flows[slot as usize];
            flow.start = now;
            started.push(flow.id);
            if flow.latency > 0.0 {
                self.latencies.push(now + flow.latency, slot);
            } else {
                self.begin(slot, now);
            }
        }
        self.ready = ready;
        while let Some(slot) = self.latencies.pop_at(now) {
            self.begin(slot, now);
        }
        if !self.changed.is_empty() {
            self.share(now);
        }
        self.drop_void_ends();
    }

    fn end(&mut self, now: Time) -> Option<TransferId> {
        self.drop_void_ends();
        let &Reverse((_, slot, _)) = self.ends.peek().filter(|end| end.0.0 == now.to_bits())?;
        self.ends.pop();
        Some(self.finish(slot))
    }

    fn next_bits(&self) -> u64 {
        self.latencies.next_bits().min(self.ends.peek().map_or(u64::MAX, |end| end.0.0))
    }
}
