//! One port: a device sends one transfer at a time and receives one at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_algorithms::period::Occupancy;
use placebench_datasets::{Cluster, Time, Transfer, TransferId};

use super::model::{BusyPorts, Network, NetworkModel};
use crate::execute::simulate::events::Events;
use crate::validator::TransferLaw;

/// A device sends one transfer at a time and receives one at a time; it may do both at once, and compute meanwhile.
///
/// A transfer holds its sender's and its receiver's port from its start to its end, for latency + bytes / rate. It starts
/// as soon as both are free and no transfer that has waited longer could start instead on one of them: a transfer waits
/// only for its own two ports, never behind another whose receiver is busy (no head-of-line blocking), so that no free
/// pair of ports stays idle while a transfer waits for both. Transfers queue in the order in which they become ready to
/// go: earlier instants first, and of those that become ready together the lowest id. A transfer that takes no time waits
/// for its turn like any other, but holds its ports for no time: the next can start at the same instant.
///
/// # Reference
/// The bidirectional one-port model: O. Beaumont, V. Boudet, Y. Robert, *A realistic model and an efficient heuristic
/// for scheduling with heterogeneous processors*, HCW 2002. Contention of communication in list scheduling in
/// general: O. Sinnen, L. A. Sousa, *Communication Contention in Task Scheduling*, IEEE TPDS 16(6), 2005,
/// <https://doi.org/10.1109/TPDS.2005.64>. Both let the scheduler choose the order of transfers; here it is the order
/// above.
///
/// # Complexity
/// O(devices) for each transfer; 16 bytes a transfer and 12 a pair of devices.
#[derive(Clone, Copy, Debug)]
pub struct OnePort;

impl NetworkModel for OnePort {
    fn name(&self) -> &'static str {
        "one_port"
    }

    fn doc(&self) -> &'static str {
        "a device sends one tensor at a time and receives one at a time"
    }

    fn source(&self) -> &'static str {
        "Beaumont, Boudet, Robert 2002"
    }

    fn laws(&self) -> &'static [TransferLaw] {
        &[TransferLaw::ExactTime, TransferLaw::OneAtATime]
    }

    fn start<'a>(&self, cluster: &'a Cluster) -> Option<Box<dyn Network + 'a>> {
        Some(Box::new(Ports::new(cluster.device_count())))
    }

    /// A transfer holds both ports for latency + bytes / rate.
    fn occupancy<'a>(&self, cluster: &'a Cluster) -> Box<dyn Occupancy + 'a> {
        let time = |from, to, bytes| cluster.transfer_time(bytes, from, to);
        Box::new(BusyPorts { cluster, time })
    }
}

/// Ends a queue, or is the head of an empty one.
const NONE: u32 = u32::MAX;

/// A set of devices, as bits.
#[derive(Clone, Debug)]
struct DeviceSet(Vec<u64>);

impl DeviceSet {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn full(count: usize) -> Self {
        let mut set = Self::new(count);
        (0..count).for_each(|device| set.set(device, true));
        set
    }

    fn set(&mut self, device: usize, value: bool) {
        let mask = 1 << (device % 64);
        match value {
            true => self.0[device / 64] |= mask,
            false => self.0[device / 64] &= !mask,
        }
    }

    fn contains(&self, device: usize) -> bool {
        self.0[device / 64] & (1 << (device % 64)) != 0
    }

    /// The devices in both sets, ascending.
    fn common<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = usize> + 's {
        self.0.iter().zip(&other.0).enumerate().flat_map(|(word, (a, b))| {
            let mut bits = a & b;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(word * 64 + bit)
            })
        })
    }
}

/// One end of a device's connection to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Port {
    Send(usize),
    Receive(usize),
}

/// The ports of all devices and the transfers that wait for them: one queue for each pair of devices.
#[derive(Debug)]
struct Ports {
    devices: usize,
    /// First and last waiting transfer of each pair, row-major by sender.
    head: Vec<u32>,
    tail: Vec<u32>,
    /// Place in the common order of the first waiting transfer of each pair.
    head_turn: Vec<u32>,
    /// The next waiting transfer of the same pair.
    next: Vec<u32>,
    /// Place of each transfer in the common order: the number of transfers that were ready before.
    turn: Vec<u32>,
    /// How long each transfer takes.
    time: Vec<Time>,
    turns: u32,
    /// For each sender, the receivers that it has transfers waiting for; for each receiver, the senders.
    waiting_for: Vec<DeviceSet>,
    waiting_from: Vec<DeviceSet>,
    idle_senders: DeviceSet,
    idle_receivers: DeviceSet,
    /// Ports that became free, or have new transfers, since the last start.
    touched: Vec<Port>,
    /// The place in the common order, and the pair, of the transfer that each touched port would start next.
    candidates: BinaryHeap<Reverse<(u32, usize, Port)>>,
    /// What each busy sender sends, as pair and transfer; ends of that, by sender.
    sending: Vec<(usize, TransferId)>,
    ends: Events,
    /// Transfers that started at this instant and took no time, so that they hold no ports.
    done_at_once: Vec<TransferId>,
    /// The bits of the last instant at which something started.
    last_start: u64,
}

impl Ports {
    fn new(devices: usize) -> Self {
        Self {
            devices,
            head: vec![NONE; devices * devices],
            tail: vec![NONE; devices * devices],
            head_turn: vec![NONE; devices * devices],
            next: Vec::new(),
            turn: Vec::new(),
            time: Vec::new(),
            turns: 0,
            waiting_for: vec![DeviceSet::new(devices); devices],
            waiting_from: vec![DeviceSet::new(devices); devices],
            idle_senders: DeviceSet::full(devices),
            idle_receivers: DeviceSet::full(devices),
            touched: Vec::new(),
            candidates: BinaryHeap::new(),
            sending: vec![(0, TransferId(0)); devices],
            ends: Events::default(),
            done_at_once: Vec::new(),
            last_start: 0,
        }
    }

    fn offer(&mut self, port: Port) {
        if let Some((turn, pair)) = self.first_startable(port) {
            self.candidates.push(Reverse((turn, pair, port)));
        }
    }

    /// The first in the common order of the transfers that a free port could start now, with its pair of devices.
    fn first_startable(&self, port: Port) -> Option<(u32, usize)> {
        let first = |pairs: &mut dyn Iterator<Item = usize>| pairs.map(|pair| (self.head_turn[pair], pair)).min();
        match port {
            Port::Send(from) if self.idle_senders.contains(from) => {
                let receivers = self.waiting_for[from].common(&self.idle_receivers);
                first(&mut receivers.map(|to| from * self.devices + to))
            }
            Port::Receive(to) if self.idle_receivers.contains(to) => {
                let senders = self.waiting_from[to].common(&self.idle_senders);
                first(&mut senders.map(|from| from * self.devices + to))
            }
            _ => None,
        }
    }

    /// Starts the first waiting transfer of a pair, which takes its ports if it takes any time.
    fn start_first(&mut self, pair: usize, now: Time) -> TransferId {
        let (from, to) = (pair / self.devices, pair % self.devices);
        let id = TransferId(self.head[pair]);
        let next = self.next[id.index()];
        self.head[pair] = next;
        if next == NONE {
            self.head_turn[pair] = NONE;
            self.waiting_for[from].set(to, false);
            self.waiting_from[to].set(from, false);
        } else {
            self.head_turn[pair] = self.turn[next as usize];
        }
        self.last_start = now.to_bits();
        let end = now + self.time[id.index()];
        if end == now {
            self.done_at_once.push(id);
        } else {
            self.idle_senders.set(from, false);
            self.idle_receivers.set(to, false);
            self.sending[from] = (pair, id);
            self.ends.push(end, from as u32);
        }
        id
    }
}

impl Network for Ports {
    fn ready(&mut self, id: TransferId, transfer: &Transfer, stretch: f64) {
        let (from, to) = (transfer.from.index(), transfer.to.index());
        if self.next.len() <= id.index() {
            self.next.resize(id.index() + 1, NONE);
            self.turn.resize(id.index() + 1, NONE);
            self.time.resize(id.index() + 1, 0.0);
        }
        let pair = from * self.devices + to;
        self.turn[id.index()] = self.turns;
        self.time[id.index()] = transfer.time * stretch;
        if self.head[pair] == NONE {
            self.head[pair] = id.0;
            self.head_turn[pair] = self.turns;
            self.waiting_for[from].set(to, true);
            self.waiting_from[to].set(from, true);
            self.touched.push(Port::Send(from));
        } else {
            self.next[self.tail[pair] as usize] = id.0;
        }
        self.tail[pair] = id.0;
        self.turns += 1;
    }

    /// Starts, in the common order, every waiting transfer that finds both ports free.
    ///
    /// Only ports that were touched can have something to start. Each offers its first startable transfer. Starting one
    /// only takes ports away, so an offer stays a port's first until it starts or its partner is taken; then the port
    /// looks again.
    fn start(&mut self, now: Time, started: &mut Vec<TransferId>) {
        self.touched.sort_unstable();
        self.touched.dedup();
        for position in 0..self.touched.len() {
            self.offer(self.touched[position]);
        }
        self.touched.clear();
        while let Some(Reverse((turn, pair, port))) = self.candidates.pop() {
            let (from, to) = (pair / self.devices, pair % self.devices);
            let is_idle = self.idle_senders.contains(from) && self.idle_receivers.contains(to);
            if is_idle && self.head_turn[pair] == turn {
                started.push(self.start_first(pair, now));
            }
            // Its port has nothing more to offer if it is busy now.
            self.offer(port);
        }
    }

    fn end(&mut self, now: Time) -> Option<TransferId> {
        if let Some(id) = self.done_at_once.pop() {
            return Some(id);
        }
        let from = self.ends.pop_at(now)? as usize;
        let (pair, id) = self.sending[from];
        let to = pair % self.devices;
        self.idle_senders.set(from, true);
        self.idle_receivers.set(to, true);
        self.touched.extend([Port::Send(from), Port::Receive(to)]);
        Some(id)
    }

    fn next_bits(&self) -> u64 {
        if self.done_at_once.is_empty() { self.ends.next_bits() } else { self.last_start }
    }
}
