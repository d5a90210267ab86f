//! Groups: what a search moves in one go. Assignment units, merged until few enough are left.

use placebench_datasets::{DeviceId, Instance, KindSet, Placement, Time, UnitId};

use crate::placers::load::Work;

/// The groups of an instance.
///
/// Units merge only with units of the same kinds (as far as the cluster has devices of them), so that no unit loses a
/// device by being in a group. Limits on time (each op on its fastest device) and demanded memory keep groups of a size: at
/// first what each would have if all were equal, then twice as much, and so on until few enough are left. Under each limit,
/// groups merge in the order of the bytes that pass between two units of theirs, most first (ties: lower unit ids); then
/// those that follow each other in topological order do. Groups are numbered by the topological position of their first op.
///
/// # Complexity
/// O(ops + edges · log edges + units · log units).
#[derive(Clone, Debug)]
pub(in crate::placers) struct Groups {
    /// The group of each op.
    of_op: Vec<u32>,
    /// The devices of a kind allowed to each group, ascending.
    allowed: Vec<Vec<DeviceId>>,
    /// What each group costs on devices of each kind.
    work: Vec<Work>,
    demand_bytes: Vec<u64>,
    /// Groups by demand, largest first.
    by_demand: Vec<u32>,
    /// Memory of each device, `u64::MAX` if it is unlimited.
    memory: Vec<u64>,
}

impl Groups {
    /// The groups of an instance, at most `limit` of them, or as many as there are different sets of kinds.
    pub(in crate::placers) fn new(instance: &Instance, limit: usize) -> Self {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let position = graph.topological_positions();
        let mut merged = Merging::new(instance, &position).merge_to(instance, limit);
        merged.flatten();
        let mut roots: Vec<(u32, u32)> = Vec::new();
        for unit in units.ids() {
            if merged.parent[unit.index()] == unit.0 {
                roots.push((merged.first[unit.index()], unit.0));
            }
        }
        roots.sort_unstable();
        let mut number = vec![0u32; units.count()];
        for (group, &(_, root)) in roots.iter().enumerate() {
            number[root as usize] = group as u32;
        }
        let mut work = vec![Work::default(); roots.len()];
        for unit in units.ids() {
            work[number[merged.parent[unit.index()] as usize] as usize].add(&Work::of_unit(instance, unit));
        }
        let of_op = graph.op_ids().map(|op| number[merged.parent[units.unit_of(op).index()] as usize]).collect();
        let root_values = |value: &dyn Fn(usize) -> u64| roots.iter().map(|&(_, root)| value(root as usize)).collect();
        let demand_bytes: Vec<u64> = root_values(&|root| merged.demand[root]);
        let mut by_demand: Vec<u32> = (0..roots.len() as u32).collect();
        by_demand.sort_by_key(|&group| std::cmp::Reverse(demand_bytes[group as usize]));
        let allowed = |&(_, root): &(u32, u32)| {
            let kinds = merged.kinds[root as usize];
            cluster.device_ids().filter(|&device| kinds.contains(cluster.device(device).kind)).collect()
        };
        Self {
            of_op,
            allowed: roots.iter().map(allowed).collect(),
            work,
            demand_bytes,
            by_demand,
            memory: cluster.devices().iter().map(|device| device.memory_bytes.unwrap_or(u64::MAX)).collect(),
        }
    }

    /// Number of groups.
    pub(in crate::placers) fn count(&self) -> usize {
        self.allowed.len()
    }

    /// The devices of a kind allowed to a group, ascending; never none.
    pub(in crate::placers) fn allowed(&self, group: usize) -> &[DeviceId] {
        &self.allowed[group]
    }

    /// A distribution over the allowed devices of a group: proportional to how fast they are at its ops, as far as times
    /// differ up to a hundredfold; even if it takes no time.
    pub(in crate::placers) fn speed_shares(&self, group: usize, instance: &Instance) -> Vec<f64> {
        let time = |&device: &DeviceId| self.work[group].time(instance, device);
        let times: Vec<Time> = self.allowed[group].iter().map(time).collect();
        let longest = times.iter().copied().fold(0.0, Time::max);
        let weight = |&time: &Time| if longest > 0.0 { 1.0 / (time / longest).max(0.01) } else { 1.0 };
        let weights: Vec<f64> = times.iter().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    /// The placement that puts each group on its device.
    pub(in crate::placers) fn placement(&self, choice: &[DeviceId]) -> Placement {
        Placement::new(self.of_op.iter().map(|&group| choice[group as usize]).collect())
    }

    /// Whether every device has memory for its groups: their demands stay below it (L §4.1).
    pub(in crate::placers) fn fits(&self, choice: &[DeviceId]) -> bool {
        let mut used = vec![0u64; self.memory.len()];
        for (&device, &demand) in choice.iter().zip(&self.demand_bytes) {
            let used = &mut used[device.index()];
            *used = used.saturating_add(demand);
        }
        used.iter().zip(&self.memory).all(|(&used, &memory)| used == 0 || memory == u64::MAX || used < memory)
    }

    /// Moves groups off devices that cannot hold them: by demand, largest first, a group whose device is full goes to the
    /// allowed device with the most memory left (ties: the lowest id). Whether all found room.
    pub(in crate::placers) fn repair(&self, choice: &mut [DeviceId]) -> bool {
        if self.fits(choice) {
            return true;
        }
        let mut left = self.memory.clone();
        for &group in &self.by_demand {
            let group = group as usize;
            let demand = self.demand_bytes[group];
            let holds =
                |device: DeviceId| demand == 0 || left[device.index()] == u64::MAX || demand < left[device.index()];
            if !holds(choice[group]) {
                let roomiest = self.allowed[group].iter().copied().filter(|&device| holds(device));
                let Some(device) = roomiest.reduce(|a, b| if left[b.index()] > left[a.index()] { b } else { a }) else {
                    return false;
                };
                choice[group] = device;
            }
            let left = &mut left[choice[group].index()];
            if *left != u64::MAX {
                *left -= demand;
            }
        }
        true
    }

    /// The choice nearest to a placement: each group goes where most of its ops are (ties: the lowest device id).
    pub(in crate::placers) fn nearest(&self, placement: &Placement) -> Vec<DeviceId> {
        let devices = self.memory.len();
        let mut count = vec![0u32; self.count() * devices];
        for (&group, device) in self.of_op.iter().zip(placement.devices()) {
            count[group as usize * devices + device.index()] += 1;
        }
        let most = |group: usize| {
            let count = &count[group * devices..(group + 1) * devices];
            let allowed = self.allowed[group].iter().copied();
            allowed.reduce(|a, b| if count[b.index()] > count[a.index()] { b } else { a })
        };
        (0..self.count()).filter_map(most).collect()
    }
}

/// Union-find over units with what merging needs to know of each set, kept at its root.
struct Merging {
    parent: Vec<u32>,
    kinds: Vec<KindSet>,
    work: Vec<Time>,
    demand: Vec<u64>,
    /// Topological position of the first op.
    first: Vec<u32>,
    count: usize,
}

impl Merging {
    fn new(instance: &Instance, position: &[u32]) -> Self {
        let units = instance.units();
        let present: KindSet = instance.cluster().devices().iter().map(|device| device.kind).collect();
        let times = instance.min_exec_times();
        let first = |unit: UnitId| units.members(unit).iter().map(|op| position[op.index()]).min().unwrap_or(u32::MAX);
        Self {
            parent: (0..units.count() as u32).collect(),
            kinds: units.ids().map(|unit| units.kinds(unit).intersection(present)).collect(),
            work: units.ids().map(|unit| units.members(unit).iter().map(|op| times[op.index()]).sum()).collect(),
            demand: units.ids().map(|unit| units.demand_bytes(unit)).collect(),
            first: units.ids().map(first).collect(),
            count: units.count(),
        }
    }

    fn merge_to(mut self, instance: &Instance, limit: usize) -> Self {
        let mut kinds: Vec<u8> = self.kinds.iter().map(|kinds| kinds.bits()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let limit = limit.max(kinds.len());
        if self.count <= limit {
            return self;
        }
        let even_work = self.work.iter().sum::<Time>() / limit as Time;
        let even_demand = self.demand.iter().fold(0u64, |sum, &demand| sum.saturating_add(demand)) / limit as u64 + 1;
        let edges = unit_edges(instance);
        // After 63 doublings nothing is too large.
        for doublings in 0..64 {
            let factor = 1u64 << doublings;
            let most = (even_work * factor as Time, even_demand.saturating_mul(factor));
            for &(_, a, b) in &edges {
                if self.count <= limit {
                    return self;
                }
                self.merge(a, b, most);
            }
            self.merge_neighbours(most, limit);
        }
        self
    }

    /// Merges sets that follow each other in topological order among those of their kinds.
    fn merge_neighbours(&mut self, most: (Time, u64), limit: usize) {
        let mut roots: Vec<(u8, u32, u32)> = (0..self.parent.len() as u32)
            .filter(|&unit| self.parent[unit as usize] == unit)
            .map(|root| (self.kinds[root as usize].bits(), self.first[root as usize], root))
            .collect();
        roots.sort_unstable();
        for pair in roots.windows(2) {
            if self.count <= limit {
                return;
            }
            self.merge(pair[0].2, pair[1].2, most);
        }
    }

    /// Makes every unit's parent its root: parents have lower ids, so that one pass is enough.
    fn flatten(&mut self) {
        for unit in 0..self.parent.len() {
            self.parent[unit] = self.parent[self.parent[unit] as usize];
        }
    }

    fn root(&mut self, mut unit: u32) -> u32 {
        while self.parent[unit as usize] != unit {
            let above = self.parent[self.parent[unit as usize] as usize];
            self.parent[unit as usize] = above;
            unit = above;
        }
        unit
    }

    /// Merges two sets of the same kinds unless they exceed a limit together.
    fn merge(&mut self, a: u32, b: u32, (most_work, most_demand): (Time, u64)) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b) as usize, a.max(b) as usize);
        let (work, demand) = (self.work[low] + self.work[high], self.demand[low].saturating_add(self.demand[high]));
        if low == high || self.kinds[low] != self.kinds[high] || work > most_work || demand > most_demand {
            return;
        }
        self.parent[high] = low as u32;
        self.work[low] = work;
        self.demand[low] = demand;
        self.first[low] = self.first[low].min(self.first[high]);
        self.count -= 1;
    }
}

/// Pairs of units with the bytes between them, most bytes first, then lower ids.
fn unit_edges(instance: &Instance) -> Vec<(u64, u32, u32)> {
    let (graph, units) = (instance.graph(), instance.units());
    let mut edges: Vec<(u32, u32, u64)> = Vec::with_capacity(graph.edge_count());
    for (source, edge) in graph.edges() {
        let (a, b) = (units.unit_of(source).0, units.unit_of(edge.op).0);
        if a != b {
            edges.push((a.min(b), a.max(b), graph.edge_bytes(edge)));
        }
    }
    edges.sort_unstable();
    let mut pairs: Vec<(u64, u32, u32)> = Vec::with_capacity(edges.len());
    for (a, b, bytes) in edges {
        match pairs.last_mut() {
            Some(last) if (last.1, last.2) == (a, b) => last.0 = last.0.saturating_add(bytes),
            _ => pairs.push((bytes, a, b)),
        }
    }
    pairs.sort_unstable_by(|x, y| y.0.cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
    pairs
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Kind, OpSpec};

    use super::*;
    use crate::placers::example;

    #[test]
    fn few_units_stay_as_they_are() {
        let graph = example::graph(&[1.0; 4], &[(0, 1, 9)], &[(2, 3)]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        let groups = Groups::new(&instance, 3);
        assert_eq!(groups.of_op, [0, 1, 2, 2]);
    }

    #[test]
    fn the_largest_tensors_decide_what_is_merged() {
        // 0 ─8▶ 1, 2 ─9▶ 3, 1 ─1▶ 2: two groups of equal work.
        let graph = example::graph(&[1.0; 4], &[(0, 1, 8), (1, 2, 1), (2, 3, 9)], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        assert_eq!(Groups::new(&instance, 2).of_op, [0, 0, 1, 1]);
    }

    #[test]
    fn ops_of_different_kinds_never_share_a_group() {
        let cpu = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(1.0) };
        let specs = [cpu.clone(), OpSpec::cost(1.0), cpu, OpSpec::cost(1.0)];
        let graph = example::graph_of(&specs, &[(0, 1, 99), (1, 2, 99), (2, 3, 99)], &[]);
        let instance = Instance::new(graph, example::cluster_of_kinds(&[(Kind::Cpu, 1.0), (Kind::Gpu, 1.0)])).unwrap();
        let groups = Groups::new(&instance, 1);
        assert_eq!(groups.of_op, [0, 1, 0, 1]);
        assert_eq!((groups.allowed(0).len(), groups.allowed(1).len()), (1, 2));
    }

    #[test]
    fn a_chain_and_isolated_ops_are_merged_to_even_groups() {
        let edges: Vec<(u32, u32, u64)> = (1..500).map(|op| (op - 1, op, 5)).collect();
        let graph = example::graph(&[1.0; 1000], &edges, &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        let groups = Groups::new(&instance, 64);
        assert!((32..=64).contains(&groups.count()), "{}", groups.count());
        let size = |group: usize| groups.of_op.iter().filter(|&&of| of as usize == group).count();
        let largest = (0..groups.count()).map(size).max();
        assert!(largest <= Some(4 * 1000 / 64), "{largest:?}");
    }

    #[test]
    fn repair_moves_what_does_not_fit_and_says_when_nothing_helps() {
        let spec = |memory_bytes| OpSpec { memory_bytes, ..OpSpec::cost(1.0) };
        let graph = example::graph_of(&[spec(6), spec(5), spec(4)], &[], &[]);
        let cluster = |a, b| example::cluster_with_memory(&[(1.0, Some(a)), (1.0, Some(b))], 1.0);
        let groups = |a, b| Groups::new(&Instance::new(graph.clone(), cluster(a, b)).unwrap(), 9);
        let mut choice = vec![DeviceId(0); 3];
        assert!(groups(11, 12).repair(&mut choice));
        // 6 stays on d0, 5 does not fit beside it (11 is not below 11), 4 does.
        assert_eq!(choice, [DeviceId(0), DeviceId(1), DeviceId(0)]);
        assert!(!groups(6, 6).repair(&mut choice));
    }
}
