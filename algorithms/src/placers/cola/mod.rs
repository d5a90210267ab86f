//! COLA: everything in one processing element, split by minimum-ratio cuts until the elements can be packed evenly.

mod split;

use placebench_datasets::{DeviceId, Instance, KindSet, Placement, Time};

use super::coarse::Vertices;
use super::coarse::cells::Cells;
use super::coarse::workers::Workers;
use super::load::{Fastest, Work};
use crate::fairness::{Assumption, Exception, Law};
use crate::{Algorithm, Assignment, Decision, Params, PlaceContext, PlaceError, Placer, SpecError, above};
use split::Splitter;

/// Starts with all ops fused into one processing element, and splits elements by cuts of least ratio (bytes across over the
/// product of the sides' loads) until longest-first packing puts them on the devices evenly and within memory.
///
/// # Reference
/// R. Khandekar, K. Hildrum, S. Parekh, D. Rajan, J. Wolf, K.-L. Wu, H. Andrade, B. Gedik, *COLA: Optimizing Stream Processing
/// Applications via Graph Partitioning*, Middleware 2009, LNCS 5896, pp. 308–327, doi:10.1007/978-3-642-10445-9_16.
///
/// # Complexity
/// O(splits · (elements · devices + edges of the element split)) time, with at most about devices / imbalance splits.
///
/// # Ties
/// Elements are packed by falling load, then lowest op; onto the device that is done first, then the lowest id. The most
/// loaded device of the lowest id is relieved; of its elements the largest, then the one of the lowest op. Of equal
/// ratios, the cut of the most even sides, then the one found first.
///
/// # Deviations
/// - Written from the paper's description, not its code. The paper finds cuts of least ratio by a linear program; here they are
///   approximated: the best prefix of two orders, topological and breadth-first from a far end, then moves of single
///   units that lower the ratio. Neither side may have less than a quarter of the load, if there is such a cut.
/// - The paper's processing cost of inter-element traffic, its re-fusing of elements on one host, and its constraints on
///   exlocation and licences are left out. Colocation groups are units, which are never split.
/// - Hosts are devices of unequal speed and kind. Ops that have the same choice of devices start fused, so at first there is an
///   element for each such choice. Devices that need more than ten times as long as the fastest devices would, or may run
///   less than a tenth of the ops (CPUs beside GPUs), take part only in what no other device can take.
/// - Load is time without communication. Even means within 1 + imbalance of total load over total speed, or of the largest
///   unit if that takes longer. If splitting cannot get there, because of kinds or memory, the last packing is taken.
#[derive(Clone, Copy, Debug)]
pub struct Cola {
    /// By what share the most loaded device may exceed an even load, > 0.
    pub imbalance: f64,
}

impl Algorithm for Cola {
    const NAME: &str = "cola";
    const SUMMARY: &str = "everything fused, then split by cuts of least ratio until it can be packed evenly";
    const SOURCE: &str = "Khandekar et al. 2009, L ch. 8";
    const ASSUMES: &[Assumption] = &[Assumption::EqualLinks, Assumption::NoKinds, Assumption::NoMemory];
    const EXCEPTIONS: &[Exception] = &[Exception::new(
        Law::RelabelledOps,
        "its cuts begin with topological and breadth-first orders, and numbers choose which ones",
    )];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let doc = "by what share the most loaded device may exceed an even load";
        Ok(Self { imbalance: params.number("imbalance", 0.1, above(0.0), doc)? })
    }
}

impl Placer for Cola {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let vertices = Vertices::new(instance, Cells::None);
        let workers = Workers::new(instance);
        context.stop.check()?;
        let problem = Problem::new(instance, &vertices, &workers);
        let mut elements = problem.fused();
        let mut splitter = Splitter::new(instance, &vertices);
        let even = problem.even_load(&elements) * (1.0 + self.imbalance);
        loop {
            context.stop.check()?;
            let packing = problem.pack(&elements);
            let (element, by_memory) = match packing.no_room {
                Some(homeless) => match to_make_room(&elements, homeless) {
                    Some(element) => (element, true),
                    None => return Err(problem.infeasible(&elements, &packing, homeless)),
                },
                None => match packing.to_split(&elements, &workers, even, self.imbalance) {
                    Some(element) => (element, false),
                    None => return Ok(Decision::placement(problem.placement(&elements, &packing))),
                },
            };
            let (kept, split_off) = splitter.split(&elements[element].vertices, |vertex| {
                if by_memory { vertices.demand_bytes(vertex) as f64 } else { problem.least[vertex as usize] }
            });
            elements[element] = problem.element(kept);
            elements.push(problem.element(split_off));
        }
    }
}

/// A processing element: units that run on one device.
#[derive(Clone, Debug)]
struct Element {
    /// In topological order.
    vertices: Vec<u32>,
    work: Work,
    /// The sum of the least times of its units.
    least: Time,
    kinds: KindSet,
    demand_bytes: u64,
    lowest: u32,
}

/// Where elements are, and what that loads devices with.
#[derive(Clone, Debug)]
struct Packing {
    device_of: Vec<DeviceId>,
    times: Vec<Time>,
    loads: Vec<Time>,
    /// What is packed, in this order: all elements, or those before the one that no device has room for.
    packed: Vec<usize>,
    no_room: Option<usize>,
}

impl Packing {
    /// The largest element, of more than one unit, on the most loaded worker, if that has more than it should and the
    /// element is large enough to matter.
    fn to_split(&self, elements: &[Element], workers: &Workers, even: Time, imbalance: f64) -> Option<usize> {
        let mut most: Option<(Time, DeviceId)> = None;
        for (id, &load) in (0..).map(DeviceId).zip(&self.loads) {
            if workers.contains(id) && load > most.map_or(even, |(load, _)| load) {
                most = Some((load, id));
            }
        }
        let (_, crowded) = most?;
        let splittable = (0..elements.len()).filter(|&element| {
            self.device_of[element] == crowded
                && elements[element].vertices.len() > 1
                && self.times[element] > 0.5 * imbalance * even
        });
        splittable
            .max_by(|&a, &b| self.times[a].total_cmp(&self.times[b]).then(elements[b].lowest.cmp(&elements[a].lowest)))
    }
}

/// The element to split so that `homeless` finds room: itself or, if that is a single unit, the one of largest demand that
/// competes for its devices; of equal demands the first made.
fn to_make_room(elements: &[Element], homeless: usize) -> Option<usize> {
    let competes = |element: &Element| {
        element.vertices.len() > 1
            && element.demand_bytes > 0
            && !element.kinds.intersection(elements[homeless].kinds).is_empty()
    };
    if elements[homeless].vertices.len() > 1 {
        return Some(homeless);
    }
    (0..elements.len())
        .rev()
        .filter(|&index| competes(&elements[index]))
        .max_by_key(|&index| elements[index].demand_bytes)
}

struct Problem<'a> {
    instance: &'a Instance,
    vertices: &'a Vertices,
    workers: &'a Workers,
    works: Vec<Work>,
    /// The time of each vertex on the fastest device that it may run on.
    least: Vec<Time>,
    worker_kinds: KindSet,
    present: KindSet,
}

impl<'a> Problem<'a> {
    fn new(instance: &'a Instance, vertices: &'a Vertices, workers: &'a Workers) -> Self {
        let cluster = instance.cluster();
        let fastest = Fastest::of(instance);
        let present: KindSet = cluster.devices().iter().map(|device| device.kind).collect();
        let work_of = |vertex: u32| {
            let mut work = Work::default();
            for &unit in vertices.units(vertex) {
                work.add(&Work::of_unit(instance, unit));
            }
            work
        };
        let works: Vec<Work> = (0..vertices.count() as u32).map(work_of).collect();
        let least_of = |(vertex, work): (u32, &Work)| fastest.time(work, vertices.kinds(vertex));
        let least = (0..).zip(&works).map(least_of).collect();
        let worker_kinds = workers.by_speed().iter().map(|&id| cluster.device(id).kind).collect();
        Self { instance, vertices, workers, works, least, worker_kinds, present }
    }

    /// The kinds of device that a vertex chooses from.
    fn choice(&self, vertex: u32) -> KindSet {
        let kinds = self.vertices.kinds(vertex);
        let among_workers = kinds.intersection(self.worker_kinds);
        if among_workers.is_empty() { kinds.intersection(self.present) } else { among_workers }
    }

    /// An element for each choice of kinds: together, all vertices in topological order of their first ops.
    fn fused(&self) -> Vec<Element> {
        let mut members: [Vec<u32>; 8] = Default::default();
        let mut seen = vec![false; self.vertices.count()];
        for op in self.instance.graph().topological_order() {
            let vertex = self.vertices.of_op(self.instance, op);
            if !std::mem::replace(&mut seen[vertex as usize], true) {
                members[usize::from(self.choice(vertex).bits())].push(vertex);
            }
        }
        members.into_iter().filter(|members| !members.is_empty()).map(|members| self.element(members)).collect()
    }

    fn element(&self, vertices: Vec<u32>) -> Element {
        let mut element = Element {
            vertices: Vec::new(),
            work: Work::default(),
            least: 0.0,
            kinds: KindSet::ALL,
            demand_bytes: 0,
            lowest: u32::MAX,
        };
        for &vertex in &vertices {
            element.work.add(&self.works[vertex as usize]);
            element.least += self.least[vertex as usize];
            element.kinds = element.kinds.intersection(self.vertices.kinds(vertex));
            element.demand_bytes = element.demand_bytes.saturating_add(self.vertices.demand_bytes(vertex));
            element.lowest = element.lowest.min(vertex);
        }
        Element { vertices, ..element }
    }

    /// What workers would be loaded with if work could be divided at will, and at least the largest unit.
    fn even_load(&self, elements: &[Element]) -> Time {
        let on_workers = |element: &&Element| !element.kinds.intersection(self.worker_kinds).is_empty();
        let shared = || elements.iter().filter(on_workers);
        let total: Time = shared().map(|element| element.least).sum();
        let speed: f64 = self.workers.by_speed().iter().map(|&id| self.workers.relative_speed(id)).sum();
        let largest = shared().flat_map(|element| &element.vertices).map(|&vertex| self.least[vertex as usize]);
        largest.fold(total / speed, Time::max)
    }

    /// Longest first: each element to the worker that is done with it first or, if no worker can take it, the device.
    fn pack(&self, elements: &[Element]) -> Packing {
        let cluster = self.instance.cluster();
        let mut order: Vec<usize> = (0..elements.len()).collect();
        order.sort_by(|&a, &b| {
            elements[b].least.total_cmp(&elements[a].least).then(elements[a].lowest.cmp(&elements[b].lowest))
        });
        let mut packing = Packing {
            device_of: vec![DeviceId::default(); elements.len()],
            times: vec![0.0; elements.len()],
            loads: vec![0.0; cluster.device_count()],
            packed: Vec::with_capacity(elements.len()),
            no_room: None,
        };
        let mut used = vec![0u64; cluster.device_count()];
        for index in order {
            let element = &elements[index];
            let time = |id: DeviceId| element.work.time(self.instance, id);
            let feasible = cluster.device_ids().filter(|&id| {
                let device = cluster.device(id);
                let together = used[id.index()].saturating_add(element.demand_bytes);
                let fits = |memory: u64| element.demand_bytes == 0 || together < memory;
                element.kinds.contains(device.kind) && device.memory_bytes.is_none_or(fits)
            });
            let best = feasible.min_by(|&a, &b| {
                let done = |id: DeviceId| packing.loads[id.index()] + time(id);
                let idle = |id: DeviceId| !self.workers.contains(id);
                idle(a).cmp(&idle(b)).then(done(a).total_cmp(&done(b)))
            });
            let Some(device) = best else {
                packing.no_room = Some(index);
                return packing;
            };
            packing.packed.push(index);
            packing.device_of[index] = device;
            packing.times[index] = time(device);
            packing.loads[device.index()] += time(device);
            used[device.index()] = used[device.index()].saturating_add(element.demand_bytes);
        }
        packing
    }

    /// The error that an element of a single unit fits nowhere beside what was packed before it.
    fn infeasible(&self, elements: &[Element], packing: &Packing, homeless: usize) -> PlaceError {
        let mut assignment = Assignment::new(self.instance);
        for &element in &packing.packed {
            for &unit in elements[element].vertices.iter().flat_map(|&vertex| self.vertices.units(vertex)) {
                assignment.assign(unit, packing.device_of[element]);
            }
        }
        assignment.infeasible(self.vertices.units(elements[homeless].vertices[0])[0])
    }

    fn placement(&self, elements: &[Element], packing: &Packing) -> Placement {
        let mut device_of = vec![DeviceId::default(); self.vertices.count()];
        for (element, &device) in elements.iter().zip(&packing.device_of) {
            for &vertex in &element.vertices {
                device_of[vertex as usize] = device;
            }
        }
        let ops = self.instance.graph().op_ids();
        Placement::new(ops.map(|op| device_of[self.vertices.of_op(self.instance, op) as usize]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use placebench_datasets::{Kind, OpSpec};

    fn place(instance: &Instance) -> Result<Vec<u32>, PlaceError> {
        Cola::with_defaults().place(instance, &PlaceContext::default()).map(|decision| example::devices(&decision))
    }

    #[test]
    fn two_blocks_are_cut_at_the_thin_edge_between_them() {
        // 0 to 3 and 4 to 7 with 10 bytes on each edge of a chain, 1 byte from 3 to 4. One element takes 8 on one device,
        // even is 4: split. Ratio of 3|4: 1/16, of any other cut at least 10/16. Equal halves: the one of op 0 first.
        let mut edges: Vec<_> = (0..7).map(|op| (op, op + 1, 10)).collect();
        edges[3].2 = 1;
        let instance =
            Instance::new(example::graph(&[1.0; 8], &edges, &[]), example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        assert_eq!(place(&instance).unwrap(), [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn elements_are_packed_longest_first_onto_the_device_that_is_done_first() {
        // A chain of 6 and speeds 2, 1: even is 6/3 = 2 · 1.1 (in time of the fast device: 3 in all over 1.5). One element:
        // d0 takes 3. Cut in the middle, all edges equal: 3|3. The first goes to d0 (1.5) and the second to d0 as
        // well (3 against 3 on d1: the lower id). Split its largest, the first: 1|2 or 2|1 of 3 with equal ratios 1/2: the
        // first found in topological order, 1|2. Packed: {3, 4, 5} d0 1.5, {1, 2} d1 2 against 2.5 on d0, {0} d0: 2.
        let edges: Vec<_> = (0..5).map(|op| (op, op + 1, 1)).collect();
        let instance =
            Instance::new(example::graph(&[1.0; 6], &edges, &[]), example::cluster(&[2.0, 1.0], 1.0)).unwrap();
        assert_eq!(place(&instance).unwrap(), [0, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn memory_forces_splits_and_kinds_keep_elements_apart() {
        // Four ops that cost nothing, of 10 bytes; each device has room for two.
        let spec = OpSpec { memory_bytes: 10, ..OpSpec::cost(0.0) };
        let graph = || example::graph_of(&[spec.clone(), spec.clone(), spec.clone(), spec.clone()], &[], &[]);
        let cluster = |memory| example::cluster_with_memory(&[(1.0, Some(memory)), (1.0, Some(memory))], 1.0);
        let instance = Instance::new(graph(), cluster(21)).unwrap();
        assert_eq!(place(&instance).unwrap(), [0, 0, 1, 1]);
        let error = place(&Instance::new(graph(), cluster(20)).unwrap()).unwrap_err();
        assert!(matches!(error, PlaceError::Infeasible { demand_bytes: 10, free_bytes: 10, .. }), "{error}");

        // An op for the CPU beside two for the GPUs.
        let cpu = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(1.0) };
        let any = OpSpec::cost(100.0);
        let graph = example::graph_of(&[any.clone(), cpu, any], &[(0, 1, 1), (1, 2, 1)], &[]);
        let devices = [(Kind::Cpu, 1.0), (Kind::Gpu, 20.0), (Kind::Gpu, 20.0)];
        let instance = Instance::new(graph, example::cluster_of_kinds(&devices)).unwrap();
        assert_eq!(place(&instance).unwrap(), [1, 0, 2]);
    }
}
