//! LogGP: a device's network interface injects one message at a time and takes in one at a time.

use placebench_algorithms::period::Occupancy;
use placebench_datasets::{Cluster, Time, Transfer, TransferId};

use super::model::{BusyPorts, Network, NetworkModel};
use crate::execute::simulate::events::Events;
use crate::validator::TransferLaw;

/// The network of the LogGP model. The interface of a device is busy with a message for bytes / rate, the gap per byte times
/// its bytes: so much later at the earliest it injects the next one. The first byte arrives a latency after the injection
/// began, and the interface of the receiver is busy with the message for as long again. Both interfaces work at once, on
/// different messages, and latency keeps neither busy, unlike the ports of `one_port`: many messages can be under way.
///
/// Messages are injected in the order in which they become ready to go, and taken in in the order in which their first bytes
/// arrive. Earlier instants come first; at one instant causes come before what they cause: what an op without time sends
/// waits behind what was there before the op ran, whatever its id. Of messages that come together the lowest id is first. Where neither interface has another message, a transfer takes latency + bytes / rate, as under `contention_free`.
///
/// LogGP's overheads, for which the devices themselves are busy, belong to the cluster
/// ([`TransferOverheads`](placebench_datasets::TransferOverheads)): every network model has them.
///
/// # Reference
/// A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, *LogGP: Incorporating Long Messages into the LogP Model*,
/// SPAA 1995, doi:10.1145/215399.215427. A device's interface can send and receive at once, as there.
///
/// # Deviations
/// - A message of k bytes keeps an interface busy for k gaps per byte, not k − 1 and a gap per message: a link has a rate and
///   a latency, and no third number.
/// - LogP bounds the messages under way between two devices to latency / gap. Here that many wait in front of the receiver
///   at most without being counted: the sender does not stall.
///
/// # Complexity
/// O(log transfers under way) for each transfer; 16 bytes a device, and 40 for each transfer that is ready or under way.
#[derive(Clone, Copy, Debug)]
pub struct LogGp;

impl NetworkModel for LogGp {
    fn name(&self) -> &'static str {
        "loggp"
    }

    fn doc(&self) -> &'static str {
        "a device injects one tensor at a time and takes in one at a time; latency keeps neither end busy (LogGP)"
    }

    fn source(&self) -> &'static str {
        "Alexandrov et al. 1995"
    }

    fn laws(&self) -> &'static [TransferLaw] {
        &[TransferLaw::LeastTime, TransferLaw::GapPerByte]
    }

    fn start<'a>(&self, cluster: &'a Cluster) -> Option<Box<dyn Network + 'a>> {
        let free = vec![0.0; cluster.device_count()];
        Some(Box::new(Interfaces {
            cluster,
            ready: Vec::new(),
            injects_from: free.clone(),
            takes_from: free,
            messages: Vec::new(),
            injections: Events::default(),
            arrivals: Events::default(),
            ends: Events::default(),
        }))
    }

    /// A message keeps both interfaces busy for bytes / rate.
    fn occupancy<'a>(&self, cluster: &'a Cluster) -> Box<dyn Occupancy + 'a> {
        let time = |from, to, bytes| bytes as f64 / cluster.link(from, to).rate;
        Box::new(BusyPorts { cluster, time })
    }
}

/// A transfer that became ready.
#[derive(Clone, Copy, Debug)]
struct Message {
    from: usize,
    to: usize,
    latency: Time,
    /// How long it keeps an interface busy.
    gap: Time,
    /// How long it takes alone.
    time: Time,
    start: Time,
}

const NO_MESSAGE: Message = Message { from: 0, to: 0, latency: 0.0, gap: 0.0, time: 0.0, start: 0.0 };

/// When each interface has done what is known to come, and what happens next. Since interfaces take messages in the order in
/// which these come, what a message waits for is known as soon as it does.
struct Interfaces<'a> {
    cluster: &'a Cluster,
    /// Transfers that became ready at this instant.
    ready: Vec<TransferId>,
    /// From when on each interface can inject another message, and take in another.
    injects_from: Vec<Time>,
    takes_from: Vec<Time>,
    /// By id.
    messages: Vec<Message>,
    injections: Events,
    /// First bytes that reach their receivers.
    arrivals: Events,
    ends: Events,
}

impl Network for Interfaces<'_> {
    fn ready(&mut self, id: TransferId, transfer: &Transfer, stretch: f64) {
        let link = self.cluster.link(transfer.from, transfer.to);
        if self.messages.len() <= id.index() {
            self.messages.resize(id.index() + 1, NO_MESSAGE);
        }
        self.messages[id.index()] = Message {
            from: transfer.from.index(),
            to: transfer.to.index(),
            latency: link.latency * stretch,
            gap: transfer.bytes as f64 / link.rate * stretch,
            time: transfer.time * stretch,
            start: 0.0,
        };
        self.ready.push(id);
    }

    fn start(&mut self, now: Time, started: &mut Vec<TransferId>) {
        for id in self.ready.drain(..) {
            let message = &mut self.messages[id.index()];
            let injects_from = &mut self.injects_from[message.from];
            message.start = injects_from.max(now);
            *injects_from = message.start + message.gap;
            self.injections.push(message.start, id.0);
        }
        while let Some(id) = self.injections.pop_at(now) {
            self.arrivals.push(now + self.messages[id as usize].latency, id);
            started.push(TransferId(id));
        }
    }

    fn end(&mut self, now: Time) -> Option<TransferId> {
        while let Some(id) = self.arrivals.pop_at(now) {
            let message = self.messages[id as usize];
            let takes_from = &mut self.takes_from[message.to];
            // Exactly as under contention_free if nothing is in front.
            *takes_from =
                if *takes_from <= now { message.start + message.time } else { *takes_from + message.gap }.max(now);
            self.ends.push(*takes_from, id);
        }
        self.ends.pop_at(now).map(TransferId)
    }

    fn next_bits(&self) -> u64 {
        self.injections.next_bits().min(self.arrivals.next_bits()).min(self.ends.next_bits())
    }
}
