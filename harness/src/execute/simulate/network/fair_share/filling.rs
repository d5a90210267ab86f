//! Progressive filling: the max–min fair rates of flows, kept up to date while flows come and go.

use placebench_datasets::{Cluster, DeviceId, SharedLinks, Time};

/// A rate that is smaller or larger by no more than this factor is the same, because sums of rates are rounded.
const SLACK: f64 = 1.0 + 1e-12;

/// The fair share of a link that holds up no flow: above any rate, even times [`SLACK`].
const UNLIMITED: f64 = f64::MAX / 2.0;

/// The fair share of a link that carries too much, though it holds up no flow yet.
const OVERLOADED: f64 = -1.0;

const NONE: u32 = u32::MAX;

/// The flows from one device to another. They have the same rate at every instant.
#[derive(Clone, Copy, Debug)]
struct Pair<'a> {
    /// Number of flows.
    count: f64,
    /// The rate of a flow that no link holds up.
    most: f64,
    /// The link that holds them up, or `NONE`.
    bottleneck: u32,
    links: &'a [u32],
    /// Bytes that a flow has moved if it was there all the time: by `since`, or, while a link holds the flows up, beyond what
    /// that link has served.
    moved: f64,
    since: Time,
    /// What such a flow has moved when the first of the flows ends.
    first_end: f64,
}

/// What else is known of a pair, for flows that begin and end.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// The pair of devices, row-major by sender.
    devices: u32,
    /// The place of the pair among the pairs of each link.
    places: Vec<u32>,
    /// Since when no link holds up its flows.
    free_since: Time,
}

/// A link with the pairs whose flows use it.
#[derive(Clone, Debug, Default)]
struct Link {
    /// Pairs, each with the position of this link in its route.
    pairs: Vec<(u32, u32)>,
    /// The sum of the rates that the flows would have alone.
    demand: f64,
    /// The other links of the flows that this link holds up, with the numbers of those flows.
    others: Vec<(u32, f64)>,
}

/// How a link is shared. Apart from [`Link`], because most of these are read at each instant.
#[derive(Clone, Copy, Debug)]
struct Share {
    capacity: f64,
    /// The flows that this link holds up: their number, and the rate of each.
    held: f64,
    rate: f64,
    /// They are the same ones as long as the rate is at least this, and below that.
    least: f64,
    below: f64,
    /// Bytes that a flow would have moved by `since` if it had been held up all the time.
    served: f64,
    since: Time,
    /// What that is when the first of the flows held up ends, and the pair of that flow.
    first_end: f64,
    first_pair: u32,
    /// Whether its flows have changed, or what holds one of them up.
    is_stale: bool,
    /// Whether the link is in the order.
    is_listed: bool,
}

impl Share {
    /// What each flow gets that the link holds up, if all others take `taken`.
    fn fair(&self, taken: f64) -> f64 {
        if self.held > 0.0 {
            (self.capacity - taken) / self.held
        } else if taken > self.capacity * SLACK {
            OVERLOADED
        } else {
            UNLIMITED
        }
    }

    fn served_by(&self, now: Time) -> f64 {
        if self.held > 0.0 && now > self.since { self.served + self.rate * (now - self.since) } else { self.served }
    }

    fn add_end(&mut self, index: u32, pair: &Pair<'_>) {
        let end = pair.first_end - pair.moved;
        if end < self.first_end {
            (self.first_end, self.first_pair) = (end, index);
        }
    }

    /// When the first flow ends that the link holds up, as bits.
    fn end_bits(&self) -> u64 {
        match self.first_pair {
            NONE => u64::MAX,
            _ => (self.since + (self.first_end - self.served).max(0.0) / self.rate).to_bits(),
        }
    }
}

/// The rates of all flows.
///
/// Progressive filling fixes the rates of the flows at the link with the least fair share, then at the next, and so on. Here
/// every link knows which flows it holds up, what the others take of it, and so its fair share. At the next instant the
/// shares differ little, and so does the order of the links by share. [`Filling::share`] walks along the last order, and
/// begins at the first link whose flows have changed. What is computed then is exact, but for rounding; nothing is put off.
pub(super) struct Filling<'a> {
    cluster: &'a Cluster,
    shared: &'a SharedLinks,
    links: Vec<Link>,
    shares: Vec<Share>,
    /// For each link, what its flows take that it does not hold up; and when the first flow ends that it does, as bits.
    taken: Vec<f64>,
    ends: Vec<u64>,
    /// The first of these ends.
    next_bits: u64,
    /// Short links by ascending rate.
    order: Vec<u32>,
    /// Pairs that have flows, and where each pair of devices is among them; free places are used again.
    pairs: Vec<Pair<'a>>,
    slots: Vec<Slot>,
    pair_of: Vec<u32>,
    free: Vec<u32>,
    /// Whether rates have to be computed; links that became short or no longer are.
    is_changed: bool,
    crossed: Vec<u32>,
    /// Pairs that no link may hold up, and whose first end may have changed.
    touched: Vec<u32>,
}

impl<'a> Filling<'a> {
    /// No flows.
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        let shared = cluster.shared_links();
        let share = |link| Share {
            capacity: shared.capacity(link),
            held: 0.0,
            rate: UNLIMITED,
            least: 0.0,
            below: f64::INFINITY,
            served: 0.0,
            since: 0.0,
            first_end: f64::INFINITY,
            first_pair: NONE,
            is_stale: true,
            is_listed: false,
        };
        Self {
            cluster,
            shared,
            links: vec![Link::default(); shared.count()],
            shares: (0..shared.count()).map(share).collect(),
            taken: vec![0.0; shared.count()],
            ends: vec![u64::MAX; shared.count()],
            next_bits: u64::MAX,
            order: Vec::new(),
            pairs: Vec::new(),
            slots: Vec::new(),
            pair_of: vec![NONE; cluster.device_count() * cluster.device_count()],
            free: Vec::new(),
            is_changed: false,
            crossed: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// A flow begins between two devices. Its pair, and the bytes that a flow of it has moved that was there all the time.
    pub(super) fn add(&mut self, devices: u32, now: Time) -> (u32, f64) {
        let index = self.pair_of[devices as usize];
        let index = if index == NONE { self.open(devices, now) } else { index };
        let pair = &mut self.pairs[index as usize];
        pair.count += 1.0;
        let most = pair.most;
        for &link in self.pairs[index as usize].links {
            self.change_demand(link, most);
        }
        (index, self.moved(index, now))
    }

    /// The first of a pair's flows is the one that has moved everything when a flow that was there all the time has moved
    /// `first_end`.
    pub(super) fn set_first_end(&mut self, index: u32, first_end: f64) {
        let pair = &mut self.pairs[index as usize];
        pair.first_end = first_end;
        if pair.bottleneck == NONE {
            self.touched.push(index);
        }
    }

    /// The first of a pair's flows ends, and `first_end` is that of the next one, or infinite.
    pub(super) fn remove_first(&mut self, index: u32, first_end: f64) {
        self.set_first_end(index, first_end);
        let pair = &mut self.pairs[index as usize];
        pair.count -= 1.0;
        let Pair { count, most, bottleneck, .. } = *pair;
        for &link in self.pairs[index as usize].links {
            self.change_demand(link, -most);
        }
        if bottleneck != NONE {
            // Others may end at the same instant.
            self.find_first(bottleneck);
        }
        if count == 0.0 {
            self.close(index);
        }
    }

    /// A pair that no link may hold up, and whose first end may have changed.
    pub(super) fn pop_touched(&mut self) -> Option<u32> {
        self.touched.pop()
    }

    /// For a pair that no link holds up: since when, and how long until its first flow ends.
    pub(super) fn time_left(&self, index: u32, now: Time) -> Option<(Time, Time)> {
        let pair = &self.pairs[index as usize];
        let left = (pair.first_end - self.moved(index, now)) / pair.most;
        (pair.bottleneck == NONE).then_some((self.slots[index as usize].free_since, left))
    }

    /// The time of the first end of a flow that a link holds up, as bits; `u64::MAX` if there is none.
    pub(super) fn next_bits(&self) -> u64 {
        self.next_bits
    }

    /// A pair that a link holds up and that has a flow that ends now. The caller then removes that flow.
    pub(super) fn pair_ending_at(&self, now: Time) -> Option<u32> {
        if self.next_bits != now.to_bits() {
            return None;
        }
        if now == f64::INFINITY {
            // Beyond the range of floats all times are the same: everything ends.
            let is_held = |pair: &Pair| pair.count > 0.0 && pair.bottleneck != NONE;
            return self.pairs.iter().position(is_held).map(|index| index as u32);
        }
        let link = self.order.iter().find(|&&link| self.ends[link as usize] == now.to_bits())?;
        Some(self.shares[*link as usize].first_pair)
    }

    /// Gives a place to a pair of devices that had no flows.
    fn open(&mut self, devices: u32, now: Time) -> u32 {
        let n = self.cluster.device_count();
        let (from, to) = (DeviceId::new(devices as usize / n), DeviceId::new(devices as usize % n));
        let pair = Pair {
            count: 0.0,
            most: self.cluster.link(from, to).rate,
            bottleneck: NONE,
            links: self.shared.route(from, to),
            moved: 0.0,
            since: now,
            first_end: f64::INFINITY,
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.pairs.push(pair);
            self.slots.push(Slot::default());
            self.pairs.len() as u32 - 1
        });
        self.pairs[index as usize] = pair;
        self.pair_of[devices as usize] = index;
        let slot = &mut self.slots[index as usize];
        (slot.devices, slot.free_since) = (devices, now);
        slot.places.clear();
        for (position, &link) in pair.links.iter().enumerate() {
            let pairs = &mut self.links[link as usize].pairs;
            slot.places.push(pairs.len() as u32);
            pairs.push((index, position as u32));
        }
        index
    }

    /// Takes the place of a pair that has no flows any more.
    fn close(&mut self, index: u32) {
        self.pairs[index as usize].bottleneck = NONE;
        let links = self.pairs[index as usize].links;
        for (position, &link) in links.iter().enumerate() {
            let place = self.slots[index as usize].places[position] as usize;
            let link = &mut self.links[link as usize];
            link.pairs.swap_remove(place);
            if let Some(&(moved, position)) = link.pairs.get(place) {
                self.slots[moved as usize].places[position as usize] = place as u32;
            }
            if link.pairs.is_empty() {
                // Without what rounding left.
                link.demand = 0.0;
            }
        }
        self.pair_of[self.slots[index as usize].devices as usize] = NONE;
        self.free.push(index);
    }

    /// The flows of a link could use so much more than before.
    fn change_demand(&mut self, link: u32, change: f64) {
        let (of_link, share) = (&mut self.links[link as usize], &mut self.shares[link as usize]);
        of_link.demand += change;
        let is_short = of_link.demand > share.capacity * SLACK;
        if is_short != share.is_listed {
            self.crossed.push(link);
        }
        if is_short || share.is_listed {
            share.is_stale = true;
            self.is_changed = true;
        }
    }

    /// What a flow has moved that was there all the time that a pair had flows.
    fn moved(&self, index: u32, now: Time) -> f64 {
        let pair = &self.pairs[index as usize];
        match self.shares.get(pair.bottleneck as usize) {
            Some(share) => share.served_by(now) + pair.moved,
            None => pair.moved + pair.most * (now - pair.since),
        }
    }

    /// Computes the rates of all flows that can have changed.
    ///
    /// Links are taken in their order of the last instant. A link whose fair share turns out less than that of the link
    /// before it changes places with it, and is looked at again with the flows of both free to be held up by either. When
    /// the walk is over, shares ascend along the order. So each flow is held up by the link with the least share on its
    /// route, and has no less there than any other flow: that is max–min fairness.
    pub(super) fn share(&mut self, now: Time) {
        if now == f64::INFINITY {
            self.next_bits = u64::MAX;
            return;
        }
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        self.list_short_links(now);
        let mut changes_left = self.order.len() * self.order.len();
        let is_stale = |&link: &u32| self.shares[link as usize].is_stale;
        let mut at = self.order.iter().position(is_stale).unwrap_or(self.order.len());
        'walk: while let Some(&link) = self.order.get(at) {
            let rate = self.fair_share(link);
            let mut is_changed = false;
            while at > 0 && !is_changed {
                let before = self.order[at - 1];
                let least = self.shares[before as usize].rate;
                if rate * SLACK >= least {
                    break;
                }
                if changes_left == 0 {
                    // Where shares differ by rounding alone, links could change places for ever.
                    self.fill_anew(now);
                    break 'walk;
                }
                changes_left -= 1;
                self.order.swap(at - 1, at);
                at -= 1;
                is_changed = self.release_common(before, link, now);
            }
            if !is_changed {
                self.set_rate(link, rate, now);
                at += 1;
            }
        }
        let ends = self.order.iter().map(|&link| self.ends[link as usize]);
        self.next_bits = ends.min().unwrap_or(u64::MAX);
    }

    /// Computes all rates without regard to the last ones: of the links left, the one with the least share is always next.
    fn fill_anew(&mut self, now: Time) {
        let mut left = std::mem::take(&mut self.order);
        for &link in &left {
            self.release(link, now, |_| true);
            self.shares[link as usize].is_stale = true;
        }
        let mut least = 0.0f64;
        while !left.is_empty() {
            let shares = left.iter().map(|&link| self.fair_share(link));
            let Some((next, share)) = shares.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
            // Shares only grow as rates are fixed, apart from rounding.
            least = least.max(share);
            let link = left.remove(next);
            self.set_rate(link, least, now);
            self.order.push(link);
        }
    }

    /// Adds links that became short to the order, and removes those that no longer are.
    fn list_short_links(&mut self, now: Time) {
        while let Some(link) = self.crossed.pop() {
            let share = &mut self.shares[link as usize];
            let is_short = self.links[link as usize].demand > share.capacity * SLACK;
            if is_short == share.is_listed {
                continue;
            }
            (share.is_listed, share.is_stale) = (is_short, true);
            if is_short {
                self.order.push(link);
            } else {
                self.release(link, now, |_| true);
                let share = &mut self.shares[link as usize];
                (share.held, share.rate, share.first_pair) = (0.0, UNLIMITED, NONE);
                self.ends[link as usize] = u64::MAX;
                self.order.retain(|&listed| listed != link);
            }
        }
    }

    /// What each flow gets that a link holds up, given the rates at the links before it in the order.
    fn fair_share(&mut self, link: u32) -> f64 {
        let share = &mut self.shares[link as usize];
        if !share.is_stale {
            let rate = share.fair(self.taken[link as usize]);
            if share.least <= rate * SLACK && rate * SLACK < share.below {
                return rate;
            }
        }
        share.is_stale = true;
        let mut new = Share { held: 0.0, below: f64::INFINITY, ..*share };
        let mut taken = 0.0;
        let (shares, pairs) = (&self.shares[..], &self.pairs[..]);
        let pairs = || self.links[link as usize].pairs.iter().map(|&(index, _)| &pairs[index as usize]);
        for pair in pairs() {
            if pair.bottleneck == NONE || pair.bottleneck == link {
                new.held += pair.count;
                new.below = new.below.min(pair.most);
            } else {
                taken += pair.count * shares[pair.bottleneck as usize].rate;
            }
        }
        // Flows that are slower than the share by themselves leave the rest to the others.
        let mut rate = new.fair(taken);
        let mut slower = 0.0;
        while rate * SLACK >= new.below {
            new.below = f64::INFINITY;
            let is_open = |pair: &&Pair| (pair.bottleneck == NONE || pair.bottleneck == link) && pair.most > slower;
            for pair in pairs().filter(is_open) {
                if pair.most <= rate * SLACK {
                    taken += pair.count * pair.most;
                    new.held -= pair.count;
                } else {
                    new.below = new.below.min(pair.most);
                }
            }
            slower = rate * SLACK;
            rate = new.fair(taken);
        }
        rate
    }

    /// Fixes the rate of the flows that a link holds up.
    fn set_rate(&mut self, link: u32, rate: f64, now: Time) {
        let share = &mut self.shares[link as usize];
        if !share.is_stale && share.rate == rate {
            return;
        }
        (share.served, share.since) = (share.served_by(now), now);
        if share.is_stale {
            self.hold_up(link, rate, now);
        }
        let (share, taken) = (&mut self.shares[link as usize], &mut self.taken[..]);
        let change = rate - share.rate;
        for &(other, count) in &self.links[link as usize].others {
            taken[other as usize] += count * change;
        }
        share.rate = rate;
        self.ends[link as usize] = share.end_bits();
    }

    /// Finds anew which flows a link holds up, if its fair share is `rate`. Its other flows are held up by links before it,
    /// or by none.
    fn hold_up(&mut self, link: u32, rate: f64, now: Time) {
        let (held, below, least, first_end) = (0.0, f64::INFINITY, 0.0, f64::INFINITY);
        let mut new = Share { held, below, least, first_end, first_pair: NONE, ..self.shares[link as usize] };
        let mut taken = 0.0;
        let mut others = std::mem::take(&mut self.links[link as usize].others);
        others.clear();
        for place in 0..self.links[link as usize].pairs.len() {
            let (index, _) = self.links[link as usize].pairs[place];
            let Pair { bottleneck, most, count, links, .. } = self.pairs[index as usize];
            if bottleneck != NONE && bottleneck != link {
                taken += count * self.shares[bottleneck as usize].rate;
            } else if most <= rate * SLACK {
                taken += count * most;
                new.least = new.least.max(most);
                if bottleneck == link {
                    self.let_go(index, now);
                }
            } else {
                if bottleneck == NONE {
                    self.hold(index, link, now);
                }
                new.held += count;
                new.below = new.below.min(most);
                new.add_end(index, &self.pairs[index as usize]);
                others.extend(links.iter().filter(|&&other| other != link).map(|&other| (other, count)));
            }
        }
        new.is_stale = false;
        if new.held == 0.0 {
            new.served = 0.0;
        }
        self.shares[link as usize] = new;
        self.taken[link as usize] = taken;
        self.links[link as usize].others = others;
    }

    /// Finds the first flow to end of those that a link holds up.
    fn find_first(&mut self, link: u32) {
        let share = &mut self.shares[link as usize];
        (share.first_end, share.first_pair) = (f64::INFINITY, NONE);
        for &(index, _) in &self.links[link as usize].pairs {
            let pair = &self.pairs[index as usize];
            if pair.bottleneck == link {
                share.add_end(index, pair);
            }
        }
        self.ends[link as usize] = share.end_bits();
    }

    /// From now on a link holds up the flows of a pair.
    fn hold(&mut self, index: u32, link: u32, now: Time) {
        let moved = self.moved(index, now) - self.shares[link as usize].served;
        let pair = &mut self.pairs[index as usize];
        (pair.bottleneck, pair.moved) = (link, moved);
        self.touched.push(index);
        self.mark_stale(index);
    }

    /// From now on no link holds up the flows of a pair.
    fn let_go(&mut self, index: u32, now: Time) {
        let moved = self.moved(index, now);
        let pair = &mut self.pairs[index as usize];
        (pair.bottleneck, pair.moved, pair.since) = (NONE, moved, now);
        self.slots[index as usize].free_since = now;
        self.touched.push(index);
        self.mark_stale(index);
    }

    fn mark_stale(&mut self, index: u32) {
        for &link in self.pairs[index as usize].links {
            self.shares[link as usize].is_stale = true;
        }
    }

    /// Lets go of the flows that a link holds up and that also use `other`. Whether there are any.
    fn release_common(&mut self, link: u32, other: u32, now: Time) -> bool {
        let is_common = self.links[link as usize].others.iter().any(|&(used, _)| used == other);
        if is_common {
            self.release(link, now, |links| links.contains(&other));
        }
        is_common
    }

    /// Lets go of the flows that a link holds up and whose links are such.
    fn release(&mut self, link: u32, now: Time, are_such: impl Fn(&[u32]) -> bool) {
        for place in 0..self.links[link as usize].pairs.len() {
            let (index, _) = self.links[link as usize].pairs[place];
            let is_held = self.pairs[index as usize].bottleneck == link;
            if is_held && are_such(self.pairs[index as usize].links) {
                self.let_go(index, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Device, Kind, Link, Topology, TopologyLink};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    /// Devices on a chain of switches, with few different rates, so that many links are equally short.
    fn cluster(rng: &mut Pcg64) -> Cluster {
        let (n, switches) = (rng.random_range(2..9usize), rng.random_range(1..4usize));
        let device = |id| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
        let mut vertices: Vec<String> = (0..n).map(|id| format!("d{id}")).collect();
        vertices.extend((0..switches).map(|id| format!("s{id}")));
        let mut link =
            |a, b| TopologyLink { a, b, link: Link { rate: f64::from(rng.random_range(1..=4u32)), latency: 0.0 } };
        let mut links: Vec<TopologyLink> = (0..n).map(|id| link(id, n + id % switches)).collect();
        links.extend((1..switches).map(|id| link(n + id - 1, n + id)));
        Cluster::from_topology((0..n).map(device).collect(), Topology { vertices, links }).unwrap()
    }

    #[test]
    fn rates_kept_up_to_date_are_those_computed_anew() {
        for seed in 0..200 {
            let mut rng = Pcg64::seed_from_u64(seed);
            let cluster = cluster(&mut rng);
            let n = cluster.device_count() as u32;
            let mut filling = Filling::new(&cluster);
            let mut begun: Vec<u32> = Vec::new();
            for step in 0..100 {
                let now = f64::from(step);
                if begun.is_empty() || rng.random_bool(0.6) {
                    let (from, to) = (rng.random_range(0..n), rng.random_range(1..n));
                    let (pair, moved) = filling.add(from * n + (from + to) % n, now);
                    filling.set_first_end(pair, moved + 1e9);
                    begun.push(pair);
                } else {
                    let pair = begun.swap_remove(rng.random_range(0..begun.len()));
                    filling.remove_first(pair, 1e9);
                }
                filling.share(now);
                let rates = |filling: &Filling<'_>| -> Vec<f64> {
                    let rate = |&pair: &u32| {
                        let pair = &filling.pairs[pair as usize];
                        filling.shares.get(pair.bottleneck as usize).map_or(pair.most, |share| share.rate)
                    };
                    begun.iter().map(rate).collect()
                };
                if step % 5 != 4 {
                    continue;
                }
                let kept = rates(&filling);
                filling.fill_anew(now);
                for (kept, anew) in kept.iter().zip(rates(&filling)) {
                    assert!((kept - anew).abs() <= 1e-9 * anew, "seed {seed}, step {step}: {kept} instead of {anew}");
                }
            }
        }
    }
}
