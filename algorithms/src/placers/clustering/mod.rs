//! B's three clustering placers: many random contractions. The best is placed, a cluster a device.

mod contraction;
mod merging;
mod roots;
mod simple;

use placebench_datasets::{DeviceId, Instance, Kind};
use rayon::prelude::*;

use super::coarse::Vertices;
use super::coarse::cells::Cells;
use super::coarse::placing::VertexAssignment;
use super::coarse::readings::{Edges, Weight};
use super::coarse::workers::Workers;
use crate::fairness::{Assumption, Exception, Law};
use crate::{Decision, Params, PlaceContext, PlaceError, SpecError};
use contraction::{Contractible, Limits, Trial};

/// What the three assume.
pub(super) const ASSUMES: &[Assumption] = &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoMemory];

/// The laws that the three do not keep.
pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception::new(Law::RelabelledOps, "it contracts random edges between numbered ops: other numbers, other draws"),
    Exception::new(Law::IsolatedOp, "every op is a vertex that weighs one, whatever it costs"),
];

/// What makes one contraction better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Score {
    /// The lightest cluster over the heaviest.
    Load,
    /// Few edges between clusters.
    Communication,
}

/// The parameter `trials`.
pub(super) fn trials(params: &mut Params) -> Result<u32, SpecError> {
    params.number("trials", 1000, 1.., "random contractions to choose from")
}

/// What the three placers differ in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clustering {
    pub(super) trials: u32,
    pub(super) cells: Cells,
    pub(super) edges: Edges,
    pub(super) vertex: Weight,
    pub(super) score: Score,
    /// Supernodes at which contraction stops, if more than devices.
    pub(super) supernodes: usize,
    /// The most that a supernode may weigh while contracting, in shares of what each device would get.
    pub(super) slack: Option<f64>,
}

impl Clustering {
    /// The best of all trials, placed.
    pub(super) fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let vertices = Vertices::new(instance, self.cells).weighing(self.vertex);
        let workers = Workers::new(instance);
        let clusters = self.clusters(instance, &vertices, workers.count(), context)?;
        place_clusters(instance, context, &vertices, &workers, &clusters)
    }

    /// The cluster of each vertex in the best trial.
    fn clusters(
        &self,
        instance: &Instance,
        vertices: &Vertices,
        devices: usize,
        context: &PlaceContext,
    ) -> Result<Vec<u32>, PlaceError> {
        let graph = Contractible::new(vertices.weights(), vertices.edges(instance), self.edges);
        let share = vertices.weights().iter().sum::<u64>() as f64 / devices as f64;
        let limits = Limits {
            supernodes: devices.max(self.supernodes),
            heaviest: self.slack.map_or(u64::MAX, |slack| (share * slack) as u64),
            clusters: devices,
        };
        let all_alike = graph.has_no_edges() || vertices.count() <= devices || devices == 1;
        let trials = if all_alike { 1 } else { self.trials };
        let (_, best) = (0..trials)
            .into_par_iter()
            .with_min_len(8)
            .map_init(
                || Trial::new(&graph, limits),
                |worker, trial| {
                    context.stop.check()?;
                    worker.run(context.seed, trial);
                    let score = match self.score {
                        Score::Load => worker.balance(),
                        Score::Communication => -(worker.cut() as f64),
                    };
                    Ok((score, trial))
                },
            )
            .try_reduce(|| (f64::NEG_INFINITY, u32::MAX), |a, b| Ok(better(a, b)))?;
        let mut winner = Trial::new(&graph, limits);
        winner.run(context.seed, best);
        Ok(winner.clusters())
    }
}

/// The higher score, then the earlier trial.
fn better(a: (f64, u32), b: (f64, u32)) -> (f64, u32) {
    if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a }
}

/// Gives each cluster a device, and places it there as far as kinds and memory allow.
///
/// Clusters choose by falling weight (then by lowest vertex), among the workers left, the one that may run most of their
/// ops, then the fastest, then the lowest id. What a cluster's device cannot take goes to the nearest device that can.
fn place_clusters(
    instance: &Instance,
    context: &PlaceContext,
    vertices: &Vertices,
    workers: &Workers,
    clusters: &[u32],
) -> Result<Decision, PlaceError> {
    let count = clusters.iter().max().map_or(0, |&last| last as usize + 1);
    let mut weights = vec![0u64; count];
    let mut weights_on = vec![[0u64; 3]; count];
    for (vertex, &cluster) in (0..).zip(clusters) {
        let weight = vertices.weights()[vertex as usize];
        weights[cluster as usize] += weight;
        for kind in vertices.kinds(vertex).iter() {
            weights_on[cluster as usize][kind.index()] += weight;
        }
    }
    let mut by_weight: Vec<usize> = (0..count).collect();
    by_weight.sort_by(|&a, &b| weights[b].cmp(&weights[a]));
    let mut free: Vec<DeviceId> = workers.by_speed().to_vec();
    let mut homes: Vec<DeviceId> = vec![DeviceId::default(); count];
    for cluster in by_weight {
        let kind_of = |device: DeviceId| -> Kind { instance.cluster().device(device).kind };
        let suits = |&position: &usize| weights_on[cluster][kind_of(free[position]).index()];
        // The last of the largest in reverse is the first: the fastest.
        if let Some(position) = (0..free.len()).rev().max_by_key(suits) {
            homes[cluster] = free.remove(position);
        }
    }
    // What has least choice goes first, so that memory is there for it.
    let mut order: Vec<u32> = (0..vertices.count() as u32).collect();
    order.sort_by_key(|&vertex| {
        (vertices.kinds(vertex).iter().count(), std::cmp::Reverse(vertices.demand_bytes(vertex)), vertex)
    });
    let mut assignment = VertexAssignment::new(instance, vertices, workers);
    let mut candidates = Vec::new();
    for (position, vertex) in order.into_iter().enumerate() {
        context.stop.check_at(position)?;
        let home = homes[clusters[vertex as usize] as usize];
        assignment.put_vertex_near(vertex, home, &mut candidates)?;
    }
    Ok(Decision::placement(assignment.finish()?))
}
