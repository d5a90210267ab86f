//! ClusterLoad: the most even of many random contractions.

use placebench_datasets::Instance;

use super::clustering::{self, Clustering, Score, trials};
use super::coarse::cells::Cells;
use super::coarse::readings::{Edges, Weight};
use crate::fairness::{Assumption, Exception};
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Contracts random edges until one supernode a device is left, many times over, and places the contraction whose
/// clusters are most even: the one with the largest ratio of the lightest cluster to the heaviest.
///
/// # Reference
/// C. Bahnmüller, *Improving Google's Open-Source Machine Learning System TensorFlow*, Master's thesis, University of
/// Stuttgart 2018, §4.4, Alg. 4.4, §5.6.1; after D. R. Karger, *Global Min-cuts in RNC, and Other Ramifications of a Simple
/// Min-cut Algorithm*, SODA 1993, pp. 21–30.
///
/// # Complexity
/// O(trials · (edges + vertices · log vertices)), in parallel over trials; with simple edges about ten times that.
///
/// # Ties
/// Of equal scores, the earliest trial. Trial t draws from PCG-64-MCG seeded from (seed, t), so that the outcome does not
/// depend on threads.
///
/// # Deviations
/// - Colocation groups and LSTM and GRU cells ([`Cells`], told by names and layers) are one vertex, as B's are.
///   B does not say whether a cell is one time step of a layer, the default here, or all of them. Nor does B say what a
///   vertex counts for ([`Weight`]: as many as it has ops) and whether parallel edges are drawn each ([`Edges`]:
///   they are, as in Karger's algorithm). Edges that B's rule against cycles would drop are kept, since
///   direction does not matter.
/// - A graph in more pieces than devices runs out of edges: then the two lightest clusters are merged until
///   there is one a device, as B does in ClusterCap.
/// - B has equal GPUs. Here clusters go to the devices that need at most ten times as long as the fastest
///   devices would and may run a tenth of the ops (so not to CPUs beside GPUs), the heaviest cluster to the device that may run most of it,
///   then to the fastest. What a cluster's device may not run or has no memory for goes to the nearest device
///   (by rate) that can, first among those that have clusters; ops with least choice of kinds, then of largest
///   demand, are placed first.
#[derive(Clone, Copy, Debug)]
pub struct ClusterLoad {
    /// How many contractions to try, ≥ 1.
    pub trials: u32,
    /// Which ops of recurrent layers stay together.
    pub cells: Cells,
    /// Which edges are drawn and counted.
    pub edges: Edges,
    /// What a cell or group weighs.
    pub vertex: Weight,
}

impl Algorithm for ClusterLoad {
    const NAME: &str = "cluster_load";
    const SUMMARY: &str = "random edge contraction to one cluster a device, the most even of many trials";
    const SOURCE: &str = "B §4.4, §5.6.1";
    const ASSUMES: &[Assumption] = clustering::ASSUMES;
    const EXCEPTIONS: &[Exception] = clustering::EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            trials: trials(params)?,
            cells: Cells::param(params)?,
            edges: Edges::param(params)?,
            vertex: Weight::param(params)?,
        })
    }
}

impl Placer for ClusterLoad {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let Self { trials, cells, edges, vertex } = *self;
        Clustering { trials, cells, edges, vertex, score: Score::Load, supernodes: 0, slack: None }
            .place(instance, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use placebench_datasets::{Kind, KindSet, OpSpec};

    fn place(instance: &Instance) -> Vec<u32> {
        example::devices(&ClusterLoad::with_defaults().place(instance, &PlaceContext::default()).unwrap())
    }

    #[test]
    fn a_chain_of_six_is_cut_in_the_middle() {
        // Of its five contractions to two clusters one is even: {0, 1, 2}, {3, 4, 5}, ratio 1, and 1000 trials find it.
        // Equal clusters and devices: the cluster of the lowest op first.
        let edges: Vec<_> = (0..5).map(|op| (op, op + 1, 1)).collect();
        let instance =
            Instance::new(example::graph(&[1.0; 6], &edges, &[]), example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        assert_eq!(place(&instance), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn a_group_weighs_as_much_as_it_has_ops_and_the_heaviest_cluster_goes_to_the_fastest_device() {
        // 0 ▶ 1 ▶ 2 ▶ 3 ▶ 4, with {0, 5, 6, 7} a group of weight 4: of the cuts 4|4, 5|3, 6|2, 7|1 the first is even.
        let edges: Vec<_> = (0..4).map(|op| (op, op + 1, 1)).collect();
        let groups = [(0, 5), (0, 6), (0, 7)];
        let graph = || example::graph(&[1.0; 8], &edges, &groups);
        let instance = Instance::new(graph(), example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        assert_eq!(place(&instance), [0, 1, 1, 1, 1, 0, 0, 0]);
        // With a ninth op in the group 5|4, and the heavier goes to the faster d1.
        let graph = example::graph(&[1.0; 9], &edges, &[(0, 5), (0, 6), (0, 7), (0, 8)]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 2.0], 1.0)).unwrap();
        assert_eq!(place(&instance), [1, 0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn a_group_can_weigh_as_little_as_an_op() {
        // 0 ▶ 1 ▶ 2 ▶ 3, with {0, 4, 5, 6} a group: two vertices each is even, where 4|3 would be by ops.
        let edges: Vec<_> = (0..3).map(|op| (op, op + 1, 1)).collect();
        let groups = [(0, 4), (0, 5), (0, 6)];
        let place = |vertex: Weight| {
            let graph = example::graph(&[1.0; 7], &edges, &groups);
            let instance = Instance::new(graph, example::cluster(&[1.0, 1.0], 1.0)).unwrap();
            let load = ClusterLoad { vertex, ..ClusterLoad::with_defaults() };
            example::devices(&load.place(&instance, &PlaceContext::default()).unwrap())
        };
        assert_eq!(place(Weight::One), [0, 0, 1, 1, 0, 0, 0]);
        assert_eq!(place(Weight::Ops), [0, 1, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn pieces_without_edges_are_merged_lightest_first() {
        // Groups of 3, 2, 2, 1 without an edge, for two devices: 1 + 2 (the lower op) = 3, then 2 + 3 (the group) = 5:
        // {1-group, first 2-group} 3 and {second 2-group, 3-group} 5. The heavier goes first.
        let groups = [(0, 1), (0, 2), (3, 4), (5, 6)];
        let instance =
            Instance::new(example::graph(&[1.0; 8], &[], &groups), example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        assert_eq!(place(&instance), [0, 0, 0, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn what_a_clusters_device_may_not_run_goes_to_the_nearest_that_may() {
        // 0 ▶ 1 ▶ 2 ▶ 3, 1 needs a CPU; GPUs d1 and d2 are 20 times faster. Clusters {0, 1}, {2, 3} on d1, d2; 1 on d0.
        let cpu = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(1.0) };
        let any = OpSpec::cost(100.0);
        let edges: Vec<_> = (0..3).map(|op| (op, op + 1, 1)).collect();
        let graph = example::graph_of(&[any.clone(), cpu, any.clone(), any], &edges, &[]);
        let devices = [(Kind::Cpu, 1.0), (Kind::Gpu, 20.0), (Kind::Gpu, 20.0)];
        let instance = Instance::new(graph, example::cluster_of_kinds(&devices)).unwrap();
        assert_eq!(place(&instance), [1, 0, 2, 2]);
    }
}
