//! TaskParallel: ops that are ready together go to different devices.

use placebench_datasets::{DeviceId, Instance};

use super::coarse::Vertices;
use super::coarse::cells::Cells;
use super::coarse::dag::VertexGraph;
use super::coarse::placing::VertexAssignment;
use super::coarse::ready::ReadyQueue;
use super::coarse::workers::Workers;
use crate::fairness::{Assumption, Exception, Law};
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Takes the ready ops of highest upward rank, one for each device, and deals them out to different devices, pair by
/// pair, the op and the device first that holds most of its inputs.
///
/// # Reference
/// C. Bahnmüller, *Improving Google's Open-Source Machine Learning System TensorFlow*, Master's thesis, University of
/// Stuttgart 2018, §4.1, §4.2, Alg. 4.1 and 4.2. The rank is the number of edges on the longest path to a sink, unweighted.
///
/// # Complexity
/// O(vertices · devices + edges · log edges) where every device suits every op; O(vertices · devices²) at worst.
///
/// # Ties
/// Of equal ranks, the vertex with the lowest op id. Of equal numbers of inputs, the vertex of the higher rank (then of
/// the lowest op id), then the fastest device, then that of the lowest id.
///
/// # Deviations
/// - Colocation groups and LSTM and GRU cells ([`Cells`], told by names and layers) are one vertex, as B's are.
///   B does not say whether a cell is one time step of a layer, the default here, or all of them. Cycles that
///   contraction closes are opened by B's rule. A cell has its gradients with it, but ops of a cell that may
///   run on other kinds of devices than the rest are a vertex of their own.
/// - B has equal GPUs. Here devices that need more than ten times as long as the fastest devices would, or may run
///   less than a tenth of the ops (CPUs beside GPUs), take part only in what no other device can take. An op for which no unused device is feasible
///   waits for the next round. A cell that no device has room for is placed unit by unit, near the device with
///   most of its inputs.
/// - Alg. 4.2 places exactly as many ops as there are devices, whatever the queue holds; here as many as there
///   are.
#[derive(Clone, Copy, Debug)]
pub struct TaskParallel {
    /// Which ops of recurrent layers stay together.
    pub cells: Cells,
}

impl Algorithm for TaskParallel {
    const NAME: &str = "task_parallel";
    const SUMMARY: &str = "ready ops of highest rank to different devices, each near its inputs";
    const SOURCE: &str = "B §4.2";
    const ASSUMES: &[Assumption] = &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoMemory];
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledOps, "ops of equal rank, which is a count of edges, go by number")];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { cells: Cells::param(params)? })
    }
}

impl Placer for TaskParallel {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let vertices = Vertices::new(instance, self.cells);
        let workers = Workers::new(instance);
        context.stop.check()?;
        let graph = VertexGraph::new(instance, &vertices);
        let mut rounds = Rounds {
            instance,
            queue: ReadyQueue::new(&graph),
            assignment: VertexAssignment::new(instance, &vertices, &workers),
            counts: vec![0; instance.cluster().device_count()],
            used: vec![false; instance.cluster().device_count()],
        };
        let mut fringe = Vec::new();
        for round in 0_usize.. {
            context.stop.check_at(round)?;
            rounds.queue.take(workers.count(), &mut fringe);
            if fringe.is_empty() {
                break;
            }
            rounds.deal_out(&fringe)?;
        }
        Ok(Decision::placement(rounds.assignment.finish()?))
    }
}

/// A vertex of the fringe that some device can take as a whole.
struct Waiting {
    vertex: u32,
    candidates: Vec<DeviceId>,
}

struct Rounds<'a> {
    instance: &'a Instance,
    queue: ReadyQueue<'a>,
    assignment: VertexAssignment<'a>,
    counts: Vec<u32>,
    used: Vec<bool>,
}

impl Rounds<'_> {
    /// One round: each device takes at most one vertex of the fringe; what is left goes back to the queue.
    fn deal_out(&mut self, fringe: &[u32]) -> Result<(), PlaceError> {
        self.used.fill(false);
        // Pairs that save communication: inputs there, position in the fringe, device.
        let mut pairs: Vec<(u32, usize, DeviceId)> = Vec::new();
        let mut waiting: Vec<Option<Waiting>> = Vec::with_capacity(fringe.len());
        for (position, &vertex) in fringe.iter().enumerate() {
            let mut candidates = Vec::new();
            self.assignment.candidates(vertex, &mut candidates);
            self.queue.count_inputs(vertex, &mut self.counts);
            if candidates.is_empty() {
                self.scatter(vertex)?;
                waiting.push(None);
                continue;
            }
            let held = |device: &DeviceId| self.counts[device.index()];
            pairs.extend(
                candidates.iter().filter(|&device| held(device) > 0).map(|&device| (held(&device), position, device)),
            );
            waiting.push(Some(Waiting { vertex, candidates }));
        }
        // Stable: the devices of a vertex stay in the order of their speeds.
        pairs.sort_by_key(|&(held, position, _)| (std::cmp::Reverse(held), position));
        for (_, position, device) in pairs {
            if let Some(entry) = waiting[position].take_if(|_| !self.used[device.index()]) {
                self.put(entry.vertex, device);
            }
        }
        for entry in waiting.into_iter().flatten() {
            match entry.candidates.iter().find(|device| !self.used[device.index()]) {
                Some(&device) => self.put(entry.vertex, device),
                None => self.queue.put_back(entry.vertex),
            }
        }
        Ok(())
    }

    fn put(&mut self, vertex: u32, device: DeviceId) {
        self.used[device.index()] = true;
        self.assignment.assign(vertex, device);
        self.queue.placed(vertex, device);
    }

    /// Places a vertex that no device can take as a whole near the device that holds most of its inputs.
    fn scatter(&mut self, vertex: u32) -> Result<(), PlaceError> {
        let held = |device: &DeviceId| self.counts[device.index()];
        let home = self.instance.cluster().device_ids().rev().max_by_key(held).unwrap_or_default();
        let device = self.assignment.scatter(vertex, home)?;
        self.queue.placed(vertex, device);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use placebench_datasets::{Kind, KindSet, OpSpec};

    fn place(instance: &Instance) -> Vec<u32> {
        example::devices(&TaskParallel::with_defaults().place(instance, &PlaceContext::default()).unwrap())
    }

    #[test]
    fn ready_ops_go_to_different_devices_and_inputs_decide_which() {
        // 0 ▶ 2 ▶ 4, 1 ▶ 3 ▶ 5, 1 ▶ 2. Ranks 2, 2, 1, 1, 0, 0.
        // Round 1: 0, 1, no inputs: d0, d1. Round 2: 2 has one input on each, 3 one on d1. Pairs in order: (1, 2, d0),
        // (1, 2, d1), (1, 3, d1): 2 on d0, 3 on d1. Round 3: 4 on d0, 5 on d1.
        let edges = [(0, 2, 1), (2, 4, 1), (1, 3, 1), (3, 5, 1), (1, 2, 1)];
        let graph = example::graph(&[1.0; 6], &edges, &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        assert_eq!(place(&instance), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn most_inputs_come_first_and_the_rest_must_go_elsewhere() {
        // 0, 1, 2 ▶ 3; 0 ▶ 4; ranks 1, 1, 1, 0, 0. Three devices: 0, 1, 2 on d0, d1, d2. Then 3 has one input on each and 4
        // one on d0: (1, 3, d0) comes first by position, so 4 finds d0 taken, and goes to d1.
        let edges = [(0, 3, 1), (1, 3, 1), (2, 3, 1), (0, 4, 1)];
        let graph = example::graph(&[1.0; 5], &edges, &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0; 3], 1.0)).unwrap();
        assert_eq!(place(&instance), [0, 1, 2, 0, 1]);
        // On two devices 2 is left for the second round, where 4, of rank 0, is ready: d0 for 4, which holds its input,
        // and d1 for 2, though 2 ranks higher. Then 3: inputs 0 on d0, 1 and 2 on d1.
        let graph = example::graph(&[1.0; 5], &edges, &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0; 2], 1.0)).unwrap();
        assert_eq!(place(&instance), [0, 1, 1, 1, 0]);
    }

    #[test]
    fn an_op_whose_devices_are_taken_waits_and_a_slow_cpu_gets_only_what_needs_it() {
        // Two isolated ops that need the CPU, two that run anywhere; the CPU is 20 times slower.
        let cpu = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(1.0) };
        let any = OpSpec::cost(1000.0);
        let graph = example::graph_of(&[cpu.clone(), cpu, any.clone(), any], &[], &[]);
        let devices = [(Kind::Cpu, 1.0), (Kind::Gpu, 20.0), (Kind::Gpu, 20.0)];
        let instance = Instance::new(graph, example::cluster_of_kinds(&devices)).unwrap();
        // Round 1: ops 0 and 1; one finds the CPU. Round 2: 1 on the CPU, 2 on the first GPU. Round 3: 3.
        assert_eq!(place(&instance), [0, 0, 1, 1]);
    }
}
