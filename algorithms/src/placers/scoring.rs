//! Scoring: load balance and communication, weighed and added.

use placebench_datasets::{DeviceId, Instance};

use super::coarse::Vertices;
use super::coarse::cells::Cells;
use super::coarse::dag::VertexGraph;
use super::coarse::placing::VertexAssignment;
use super::coarse::readings::Weight;
use super::coarse::ready::ReadyQueue;
use super::coarse::workers::Workers;
use crate::fairness::{Assumption, Exception, Law};
use crate::total::compare;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Puts op after op, by upward rank, on the device of the highest score: `alpha · load score + beta · communication score`.
///
/// The load score is 1 less the ops on the device over the most on any; the communication score is the op's inputs on the
/// device over the most inputs of an op in the fringe, the ready ops of highest rank.
///
/// # Reference
/// C. Bahnmüller, *Improving Google's Open-Source Machine Learning System TensorFlow*, Master's thesis, University of
/// Stuttgart 2018, §4.1, §4.3, Alg. 4.3. The rank is the number of edges on the longest path to a sink, unweighted.
///
/// B tuned alpha on the graphs that the thesis reports (§5.4): 1.1 for the RNN and 0.9 for the NMT, with beta 1. The default of 1 is
/// the best of B's first search by powers of ten, for both.
///
/// # Complexity
/// O(vertices · devices + edges · log edges).
///
/// # Ties
/// Of equal ranks, the vertex with the lowest op id; of equal scores, the fastest device, then that of the lowest id.
///
/// # Deviations
/// - The load score is printed with min(1, ·) under the fraction, which divides by 0 before the first op is
///   placed; as the text says, it must be max(1, ·).
/// - The fringe is |D| in Alg. 4.3 and 2 |D| in the text, which is the default; |D| counts the devices that
///   compete.
/// - Colocation groups and LSTM and GRU cells ([`Cells`], told by names and layers) are one vertex, as B's are.
///   B does not say whether a cell is one time step of a layer, the default here, or all of them. Cycles that
///   contraction closes are opened by B's rule. A cell has its gradients with it, but ops of a cell that may
///   run on other kinds of devices than the rest are a vertex of their own. Nor does B say what a
///   vertex counts for ([`Weight`]: as many as it has ops).
/// - B has equal GPUs. Here a device's ops are divided by its relative speed, and devices that need more than
///   ten times as long as the fastest devices would, or may run less than a tenth of the ops (CPUs beside
///   GPUs), take part only in what no other device can take. A cell that no device has room for is placed unit by unit, near the device with most of its
///   inputs.
/// - B's standard device, for an op that scores 0 everywhere, is the first feasible one.
#[derive(Clone, Copy, Debug)]
pub struct Scoring {
    /// Weight of the load score, ≥ 0.
    pub alpha: f64,
    /// Weight of the communication score, ≥ 0.
    pub beta: f64,
    /// Ops in the fringe, in multiples of the number of devices that compete, ≥ 1.
    pub fringe: usize,
    /// Which ops of recurrent layers stay together.
    pub cells: Cells,
    /// What a cell or group counts for in the load.
    pub vertex: Weight,
}

impl Algorithm for Scoring {
    const NAME: &str = "scoring";
    const SUMMARY: &str = "highest weighted sum of a load score and a communication score";
    const SOURCE: &str = "B §4.3";
    const ASSUMES: &[Assumption] = &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoMemory];
    const EXCEPTIONS: &[Exception] = &[
        Exception::new(Law::RelabelledOps, "ops of equal rank, which is a count of edges, go by number"),
        Exception::new(Law::IsolatedOp, "an op without edges takes a place in the fringe and counts as one op of load"),
    ];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let alpha = "weight of the load score (B's tuned values: 1.1 on an RNN, 0.9 on an NMT model)";
        let fringe =
            "ready ops looked at together, in multiples of the number of devices (B: 2 in the text, 1 in Alg. 4.3)";
        Ok(Self {
            alpha: params.number("alpha", 1.0, 0.0.., alpha)?,
            beta: params.number("beta", 1.0, 0.0.., "weight of the communication score")?,
            fringe: params.number("fringe", 2, 1.., fringe)?,
            cells: Cells::param(params)?,
            vertex: Weight::param(params)?,
        })
    }
}

impl Placer for Scoring {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let vertices = Vertices::new(instance, self.cells).weighing(self.vertex);
        let workers = Workers::new(instance);
        context.stop.check()?;
        let graph = VertexGraph::new(instance, &vertices);
        let devices = instance.cluster().device_count();
        let mut queue = ReadyQueue::new(&graph);
        let mut assignment = VertexAssignment::new(instance, &vertices, &workers);
        let mut loads = Loads { workers: &workers, weights: vec![0; devices], largest: 0.0 };
        let (mut fringe, mut candidates, mut counts) = (Vec::new(), Vec::new(), vec![0; devices]);
        for round in 0_usize.. {
            context.stop.check_at(round)?;
            queue.take(self.fringe.saturating_mul(workers.count()), &mut fringe);
            let Some(most_inputs) = fringe.iter().map(|&vertex| queue.input_count(vertex)).max() else { break };
            for &vertex in &fringe {
                queue.count_inputs(vertex, &mut counts);
                assignment.candidates(vertex, &mut candidates);
                let communication = |device: DeviceId| f64::from(counts[device.index()]) / most_inputs.max(1) as f64;
                let score = |device| self.alpha * loads.score(device) + self.beta * communication(device);
                let device = match highest(&candidates, score) {
                    Some(device) => {
                        assignment.assign(vertex, device);
                        device
                    }
                    None => {
                        let held = |device: &DeviceId| counts[device.index()];
                        let home = instance.cluster().device_ids().rev().max_by_key(held).unwrap_or_default();
                        assignment.scatter(vertex, home)?
                    }
                };
                loads.add(device, vertices.weights()[vertex as usize]);
                queue.placed(vertex, device);
            }
        }
        Ok(Decision::placement(assignment.finish()?))
    }
}

/// The first device of the highest score; rounding makes no difference.
fn highest(devices: &[DeviceId], score: impl Fn(DeviceId) -> f64) -> Option<DeviceId> {
    let mut best: Option<(f64, DeviceId)> = None;
    for &device in devices {
        let score = score(device);
        if best.is_none_or(|(most, _)| compare(score, most).is_gt()) {
            best = Some((score, device));
        }
    }
    best.map(|(_, device)| device)
}

/// Ops on each device.
struct Loads<'a> {
    workers: &'a Workers,
    weights: Vec<u64>,
    /// The most ops on any device, divided by its relative speed.
    largest: f64,
}

impl Loads<'_> {
    fn load(&self, device: DeviceId) -> f64 {
        self.weights[device.index()] as f64 / self.workers.relative_speed(device)
    }

    fn score(&self, device: DeviceId) -> f64 {
        1.0 - self.load(device) / self.largest.max(1.0)
    }

    fn add(&mut self, device: DeviceId, weight: u64) {
        self.weights[device.index()] += weight;
        self.largest = self.largest.max(self.load(device));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    fn place(scoring: Scoring, instance: &Instance) -> Vec<u32> {
        example::devices(&scoring.place(instance, &PlaceContext::default()).unwrap())
    }

    /// 0 ▶ 2, 0 ▶ 3, 1 ▶ 4, 2 ▶ 5, 3 ▶ 5, 4 ▶ 5; ranks 2, 2, 1, 1, 1, 0.
    fn diamond(speeds: &[f64]) -> Instance {
        let edges = [(0, 2, 1), (0, 3, 1), (1, 4, 1), (2, 5, 1), (3, 5, 1), (4, 5, 1)];
        Instance::new(example::graph(&[1.0; 6], &edges, &[]), example::cluster(speeds, 1.0)).unwrap()
    }

    #[test]
    fn load_and_communication_are_weighed_and_added() {
        // Two devices, so fringes of 4. Fringe 1: 0, 1 (no inputs: communication 0). 0: load scores 1, 1: d0. 1: 0, 1: d1.
        // Fringe 2: 2, 3, 4, at most 1 input. 2: load 0, 0, communication 1, 0: d0 (2 ops). 3: load 0, 1/2;
        // communication 1, 0: d0 with 1 against 1/2 (3 ops). 4: load 0, 2/3, communication 0, 1: d1 (2 ops).
        // Fringe 3: 5, 3 inputs: load 0, 1/3; communication 2/3, 1/3: a tie but for rounding, 0.667 both: d0 or d1 by it.
        let mut placed = place(Scoring::with_defaults(), &diamond(&[1.0, 1.0]));
        placed.pop();
        assert_eq!(placed, [0, 1, 0, 0, 1]);
        // With alpha 3: 2: load 0, 0: d0 (2). 3: 0 + 1 against 3/2: d1 (2). 4: 0, 0 and 0, 1: d1 (3). 5: 3 · 1/3 + 1/3
        // on d0 against 2/3 on d1: d0.
        let heavy = Scoring { alpha: 3.0, ..Scoring::with_defaults() };
        assert_eq!(place(heavy, &diamond(&[1.0, 1.0])), [0, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn without_a_load_score_everything_follows_its_inputs_and_sources_go_first_device() {
        let scoring = Scoring { alpha: 0.0, ..Scoring::with_defaults() };
        assert_eq!(place(scoring, &diamond(&[1.0, 1.0])), [0; 6]);
    }

    #[test]
    fn the_fringe_sets_the_scale_of_communication() {
        // 0, 1 ▶ 2 and 0 ▶ 3, and 4 alone. Ranks 1, 1, 0, 0, 0. Fringe 2 (four): 0 d0, 1 d1, then 2, 3 not ready: only 4
        // is beside them: 4: load 0, 0, a tie: d0 (2 ops). Next fringe 2, 3; at most 2 inputs. 2: load 0, 1/2,
        // communication 1/2, 1/2: d1 (2 ops). 3: load 0, 0, communication 1/2, 0: d0.
        let edges = [(0, 2, 1), (1, 2, 1), (0, 3, 1)];
        let graph = || example::graph(&[1.0; 5], &edges, &[]);
        let instance = Instance::new(graph(), example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        assert_eq!(place(Scoring::with_defaults(), &instance), [0, 1, 1, 0, 0]);
        // Fringe 1 (two): 0 d0, 1 d1. Then 2, 3: 2: load 0, 0, communication 1/2 each: d0 (2). 3: load 0, 1/2,
        // communication 1/2, 0: a tie at 1/2: d0 (3). With fringe 2 the last was 3 with 1/2 against 0.
        let narrow = Scoring { fringe: 1, ..Scoring::with_defaults() };
        assert_eq!(place(narrow, &instance), [0, 1, 0, 0, 1]);
    }

    #[test]
    fn a_faster_device_takes_proportionally_more() {
        // Six isolated ops, speeds 2 and 1: loads count half on d0. Ops: d0 (0.5), d1 (1), then d0 scores 0.5: d0 (1), a
        // tie at 0: d0 (1.5), d1 scores 1/3: d1 (2), d0 scores 1/4: d0.
        let graph = example::graph(&[1.0; 6], &[], &[]);
        let instance = Instance::new(graph, example::cluster(&[2.0, 1.0], 1.0)).unwrap();
        assert_eq!(place(Scoring::with_defaults(), &instance), [0, 1, 0, 0, 1, 0]);
    }

    #[test]
    fn a_group_can_count_as_one_op_in_the_load() {
        // A group of three and two ops, no edges. By ops: the group on d0 (3), then d1 (1) and d1 (2). As one: d0 (1), d1
        // (1), and a tie: d0.
        let place = |vertex: Weight| {
            let graph = example::graph(&[1.0; 5], &[], &[(0, 1), (0, 2)]);
            let instance = Instance::new(graph, example::cluster(&[1.0, 1.0], 1.0)).unwrap();
            place(Scoring { vertex, ..Scoring::with_defaults() }, &instance)
        };
        assert_eq!(place(Weight::Ops), [0, 0, 0, 1, 1]);
        assert_eq!(place(Weight::One), [0, 0, 0, 1, 0]);
    }
}
