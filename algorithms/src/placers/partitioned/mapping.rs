//! Which block goes to which device: blocks made for equal devices may change places.

use placebench_datasets::{DeviceId, Instance, Time, is_equal, is_less};

use super::shares::Targets;
use crate::{PlaceContext, PlaceError};

/// More blocks than this keep their order: what they exchange would fill a matrix of gigabytes.
const MOST_BLOCKS: usize = 1024;

/// Up to this many orders are tried one by one; beyond, swaps improve the first until none helps.
const MOST_ORDERS: u64 = 40_320;

/// Most terms added up in the search by swaps.
const MOST_STEPS: u64 = 200_000_000;

/// What blocks hold and exchange.
pub(super) struct Blocks {
    count: usize,
    /// Weight of the units that may not run on each kind, for each block.
    misfit: Vec<[u64; 3]>,
    /// Memory that each block demands.
    demand_bytes: Vec<u64>,
    /// Bytes and tensors from each block to each other, row by row; each tensor once a destination.
    exchanged: Vec<(u64, u32)>,
}

impl Blocks {
    /// `block_of` is the block of each unit, `weight_of` its weight.
    pub(super) fn new(instance: &Instance, count: usize, block_of: &[u32], weight_of: impl Fn(usize) -> u64) -> Self {
        let (graph, units) = (instance.graph(), instance.units());
        let mut this = Self { count, misfit: vec![[0; 3]; count], demand_bytes: vec![0; count], exchanged: Vec::new() };
        for unit in units.ids() {
            let block = block_of[unit.index()] as usize;
            for kind in placebench_datasets::Kind::ALL {
                if !units.kinds(unit).contains(kind) {
                    this.misfit[block][kind.index()] += weight_of(unit.index());
                }
            }
            let demand = &mut this.demand_bytes[block];
            *demand = demand.saturating_add(units.demand_bytes(unit));
        }
        if count > MOST_BLOCKS {
            return this;
        }
        this.exchanged = vec![(0, 0); count * count];
        let block_of = |op| block_of[units.unit_of(op).index()] as usize;
        // The last tensor (or op, for control edges) that was sent to each block.
        let mut sent = vec![None; count];
        for op in graph.op_ids() {
            let from = block_of(op);
            for edge in graph.successors(op) {
                let to = block_of(edge.op);
                if to != from && sent[to] != Some((op, edge.tensor)) {
                    sent[to] = Some((op, edge.tensor));
                    let (bytes, tensors) = &mut this.exchanged[from * count + to];
                    *bytes = bytes.saturating_add(graph.edge_bytes(edge));
                    *tensors = tensors.saturating_add(1);
                }
            }
        }
        this
    }
}

/// What an order of blocks costs; less is better, from left to right.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
struct Cost {
    /// Weight on devices of a kind that may not run it.
    misfit: u64,
    /// Bytes beyond the memory of devices.
    overflow: u64,
    /// Time of all transfers between blocks, one after the other.
    transfers: Time,
}

impl Cost {
    fn plus(self, other: Self) -> Self {
        Self {
            misfit: self.misfit.saturating_add(other.misfit),
            overflow: self.overflow.saturating_add(other.overflow),
            transfers: self.transfers + other.transfers,
        }
    }
}

struct Mapping<'a> {
    instance: &'a Instance,
    blocks: &'a Blocks,
    targets: &'a Targets,
    /// For each block a number that is the same for blocks that may change places.
    class: Vec<usize>,
}

impl Mapping<'_> {
    /// What a block costs alone on a device.
    fn alone(&self, block: usize, position: usize) -> Cost {
        let device = self.instance.cluster().device(self.targets.devices[position]);
        let demand = self.blocks.demand_bytes[block];
        // Demands have to stay below the memory.
        let overflow = device.memory_bytes.map_or(0, |memory| demand.saturating_add(1).saturating_sub(memory.max(1)));
        Cost { misfit: self.blocks.misfit[block][device.kind.index()], overflow, transfers: 0.0 }
    }

    /// Time of the transfers between two blocks on two devices.
    fn between(&self, (a, at): (usize, usize), (b, bt): (usize, usize)) -> Time {
        let (cluster, count) = (self.instance.cluster(), self.blocks.count);
        let one_way = |from: usize, to: usize, source: usize, target: usize| {
            let (bytes, tensors) = self.blocks.exchanged[from * count + to];
            if tensors == 0 {
                return 0.0;
            }
            let (from, to) = (self.targets.devices[source], self.targets.devices[target]);
            let (link, pair) = (cluster.link(from, to), cluster.transfer_overheads(from, to));
            let (constant, per_byte) = (pair.send + pair.receive, pair.send_per_byte + pair.receive_per_byte);
            f64::from(tensors) * (link.latency + constant) + (bytes as f64 / link.rate + bytes as f64 * per_byte)
        };
        one_way(a, b, at, bt) + one_way(b, a, bt, at)
    }

    /// The best of all orders, the first of equals; positions are tried ascending.
    fn best_of_all(&self) -> Vec<usize> {
        let count = self.blocks.count;
        let mut best: Option<(Cost, Vec<usize>)> = None;
        let mut order: Vec<usize> = Vec::with_capacity(count);
        let mut costs = vec![Cost::default()];
        let mut used = vec![false; count];
        let mut next = 0;
        // Depth first without recursion: `next` is the first position to try for the block `order.len()`.
        loop {
            let block = order.len();
            let found = (block < count)
                .then(|| (next..count).find(|&position| !used[position] && self.class[position] == self.class[block]));
            let Some(Some(position)) = found else {
                if block == count && best.as_ref().is_none_or(|(least, _)| costs[count] < *least) {
                    best = Some((costs[count], order.clone()));
                }
                let Some(last) = order.pop() else { break };
                costs.pop();
                used[last] = false;
                next = last + 1;
                continue;
            };
            let transfers = order.iter().enumerate().map(|(b, &at)| self.between((b, at), (block, position))).sum();
            let cost = costs[block].plus(self.alone(block, position)).plus(Cost { transfers, ..Cost::default() });
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                order.push(position);
                costs.push(cost);
                used[position] = true;
                next = 0;
            } else {
                next = position + 1;
            }
        }
        best.map_or_else(|| (0..count).collect(), |(_, order)| order)
    }

    /// Swaps two blocks of a class as long as that helps, the first pair that does, over and over.
    fn by_swaps(&self, context: &PlaceContext) -> Result<Vec<usize>, PlaceError> {
        let count = self.blocks.count;
        let mut order: Vec<usize> = (0..count).collect();
        let (mut steps, mut improved) = (0u64, true);
        while improved && steps < MOST_STEPS {
            improved = false;
            for a in 0..count {
                context.stop.check()?;
                for b in a + 1..count {
                    if self.class[a] != self.class[b] || steps >= MOST_STEPS {
                        continue;
                    }
                    steps += count as u64;
                    let now = self.of_pair(&order, a, b);
                    order.swap(a, b);
                    let then = self.of_pair(&order, a, b);
                    // Sums in another order differ in their last digits, which is no improvement.
                    let better = (then.misfit, then.overflow) < (now.misfit, now.overflow)
                        || (then.misfit, then.overflow) == (now.misfit, now.overflow)
                            && is_less(then.transfers, now.transfers);
                    if better {
                        improved = true;
                    } else {
                        order.swap(a, b);
                    }
                }
            }
        }
        Ok(order)
    }

    /// What two blocks cost, alone and with all others.
    fn of_pair(&self, order: &[usize], a: usize, b: usize) -> Cost {
        let mut transfers = self.between((a, order[a]), (b, order[b]));
        for (other, &at) in order.iter().enumerate().filter(|&(other, _)| other != a && other != b) {
            transfers += self.between((a, order[a]), (other, at)) + self.between((b, order[b]), (other, at));
        }
        self.alone(a, order[a]).plus(self.alone(b, order[b])).plus(Cost { transfers, ..Cost::default() })
    }
}

/// The device of each block. Block `i` was made for the `i`-th device of the targets; blocks made for devices with the
/// same share may change places, so that, in this order, the least weight is on devices of a kind that may not run it, the
/// fewest bytes exceed memories, and transfers between blocks take the least time.
///
/// # Errors
/// [`PlaceError::Stopped`].
pub(super) fn map_blocks(
    instance: &Instance,
    blocks: &Blocks,
    targets: &Targets,
    context: &PlaceContext,
) -> Result<Vec<DeviceId>, PlaceError> {
    if blocks.exchanged.is_empty() {
        return Ok(targets.devices.clone());
    }
    let class: Vec<usize> = (0..blocks.count)
        .map(|block| (0..block).find(|&other| is_equal(targets.shares[other], targets.shares[block])).unwrap_or(block))
        .collect();
    let mut size = vec![0u64; blocks.count];
    let mut orders = 1u64;
    for &class in &class {
        size[class] += 1;
        orders = orders.saturating_mul(size[class]);
    }
    let mapping = Mapping { instance, blocks, targets, class };
    let order = if orders <= MOST_ORDERS { mapping.best_of_all() } else { mapping.by_swaps(context)? };
    Ok(order.into_iter().map(|position| targets.devices[position]).collect())
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, Device, Kind, KindSet, Link, OpSpec};

    use super::*;
    use crate::placers::example;

    /// Equal CPUs; `rate` of each pair.
    fn cluster(devices: usize, rate: impl Fn(usize, usize) -> f64) -> Cluster {
        let device = |id| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
        Cluster::new((0..devices).map(device).collect(), |from, to| Link {
            rate: rate(from.index(), to.index()),
            latency: 0.0,
        })
        .unwrap()
    }

    fn equal(devices: usize) -> Targets {
        let share = 1.0 / devices as f64;
        Targets { devices: (0..devices).map(DeviceId::new).collect(), shares: vec![share; devices] }
    }

    /// Op `i` in block `i`.
    fn mapped(instance: &Instance, targets: &Targets) -> Vec<u32> {
        let count = targets.devices.len();
        let block_of: Vec<u32> = (0..instance.units().count() as u32).collect();
        let blocks = Blocks::new(instance, count, &block_of, |_| 1);
        let devices = map_blocks(instance, &blocks, targets, &PlaceContext::default()).unwrap();
        devices.into_iter().map(|device| device.0).collect()
    }

    #[test]
    fn blocks_that_exchange_much_get_the_fast_link() {
        // op0 sends 100 bytes to op3, op1 1 byte to op2; only d0 and d1 have a fast link.
        let graph = example::graph(&[1.0; 4], &[(0, 3, 100), (1, 2, 1)], &[]);
        let fast = |a: usize, b: usize| if a + b == 1 { 100.0 } else { 1.0 };
        let instance = Instance::new(graph, cluster(4, fast)).unwrap();
        assert_eq!(mapped(&instance, &equal(4)), [0, 2, 3, 1]);
        // On equal links nothing moves, nor where shares differ.
        let graph = instance.graph().clone();
        let plain = Instance::new(graph, cluster(4, |_, _| 1.0)).unwrap();
        assert_eq!(mapped(&plain, &equal(4)), [0, 1, 2, 3]);
        let shares = vec![0.1, 0.2, 0.3, 0.4];
        assert_eq!(mapped(&instance, &Targets { shares, ..equal(4) }), [0, 1, 2, 3]);
    }

    #[test]
    fn kinds_come_before_transfers() {
        let cpu = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(1.0) };
        let graph = example::graph_of(&[cpu, OpSpec::cost(1.0)], &[], &[]);
        let cluster = example::cluster_of_kinds(&[(Kind::Gpu, 1.0), (Kind::Cpu, 1.0)]);
        assert_eq!(mapped(&Instance::new(graph, cluster).unwrap(), &equal(2)), [1, 0]);
    }

    #[test]
    fn swaps_find_the_order_of_a_ring_as_well() {
        // Twelve blocks in a chain, each sending to the next but one half around; links fast between neighbours only.
        let edges: Vec<(u32, u32, u64)> = (0..11).map(|op| (op, op + 1, 100)).collect();
        let graph = example::graph(&[1.0; 12], &edges, &[]);
        // Neighbours in the order 0 6 1 7 2 8 …
        let place = |device: usize| if device < 6 { 2 * device } else { 2 * (device - 6) + 1 };
        let rate = |a: usize, b: usize| if place(a).abs_diff(place(b)) == 1 { 100.0 } else { 1.0 };
        let instance = Instance::new(graph, cluster(12, rate)).unwrap();
        let devices = mapped(&instance, &equal(12));
        let time: f64 = devices.windows(2).map(|pair| 100.0 / rate(pair[0] as usize, pair[1] as usize)).sum();
        // As it stands every transfer takes 100; most become fast.
        assert!(time < 500.0, "{time} with {devices:?}");
        assert_eq!(devices, mapped(&instance, &equal(12)));
    }
}
