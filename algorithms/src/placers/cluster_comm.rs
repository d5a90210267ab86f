//! ClusterComm: the one of many random contractions that cuts the fewest edges.

use placebench_datasets::Instance;

use super::clustering::{self, Clustering, Score, trials};
use super::coarse::cells::Cells;
use super::coarse::readings::{Edges, Weight};
use crate::fairness::{Assumption, Exception};
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Contracts random edges until 100 supernodes are left, merges the lightest until there is one a device, many times
/// over, and places the clusters that the fewest edges run between.
///
/// # Reference
/// C. Bahnmüller, *Improving Google's Open-Source Machine Learning System TensorFlow*, Master's thesis, University of
/// Stuttgart 2018, §4.4, Alg. 4.4, and as evaluated in §5.6.2; after D. R. Karger, *Global Min-cuts in RNC, and Other
/// Ramifications of a Simple Min-cut Algorithm*, SODA 1993, pp. 21–30.
///
/// # Complexity
/// O(trials · (edges + vertices · log vertices)), in parallel over trials.
///
/// # Ties
/// As of [`ClusterLoad`](super::ClusterLoad).
///
/// # Deviations
/// As of [`ClusterLoad`](super::ClusterLoad), and:
/// - Alg. 4.4 starts from a best score of 0, which no negative score exceeds; here the first trial starts.
/// - With more than 100 devices contraction stops at their number. B's bound of 1/10 on the ratio of the lightest to the
///   heaviest cluster, which the 100 supernodes replaced, is not there.
#[derive(Clone, Copy, Debug)]
pub struct ClusterComm {
    /// How many contractions to try, ≥ 1.
    pub trials: u32,
    /// The number of supernodes at which contraction stops.
    pub supernodes: usize,
    /// Which ops of recurrent layers stay together.
    pub cells: Cells,
    /// Which edges are drawn and counted.
    pub edges: Edges,
    /// What a cell or group weighs.
    pub vertex: Weight,
}

impl Algorithm for ClusterComm {
    const NAME: &str = "cluster_comm";
    const SUMMARY: &str =
        "random edge contraction to 100 clusters, the lightest merged, the fewest edges cut of many trials";
    const SOURCE: &str = "B §4.4, §5.6.2";
    const ASSUMES: &[Assumption] = clustering::ASSUMES;
    const EXCEPTIONS: &[Exception] = clustering::EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let supernodes = "supernodes at which contraction stops, if that is more than there are devices";
        Ok(Self {
            trials: trials(params)?,
            supernodes: params.number("supernodes", 100, 0.., supernodes)?,
            cells: Cells::param(params)?,
            edges: Edges::param(params)?,
            vertex: Weight::param(params)?,
        })
    }
}

impl Placer for ClusterComm {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let Self { trials, supernodes, cells, edges, vertex } = *self;
        Clustering { trials, cells, edges, vertex, score: Score::Communication, supernodes, slack: None }
            .place(instance, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    /// Two complete graphs of 0 to 3 and of 4 to 7, with one edge between: 3 ▶ 4.
    fn instance() -> Instance {
        let mut edges = vec![(3, 4, 1)];
        for block in [0, 4] {
            edges.extend((0..4).flat_map(|a| (0..a).map(move |b| (block + b, block + a, 1))));
        }
        Instance::new(example::graph(&[1.0; 8], &edges, &[]), example::cluster(&[1.0, 1.0], 1.0)).unwrap()
    }

    #[test]
    fn the_single_edge_between_two_blocks_is_cut() {
        // Contracted to two supernodes right away; every other cut takes at least three edges.
        let comm = ClusterComm { supernodes: 2, ..ClusterComm::with_defaults() };
        let decision = comm.place(&instance(), &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn with_more_supernodes_than_ops_the_lightest_are_merged_and_no_edge_is_looked_at() {
        // Ops 0 to 7 of weight 1: 0+1, 2+3, 4+5, 6+7, then the sums in that order: 0–3 and 4–7.
        let decision = ClusterComm::with_defaults().place(&instance(), &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [0, 0, 0, 0, 1, 1, 1, 1]);
        let edges = [(0, 7, 1), (1, 6, 1)];
        let instance =
            Instance::new(example::graph(&[1.0; 8], &edges, &[]), example::cluster(&[1.0, 1.0], 1.0)).unwrap();
        // Isolated 2 to 5 come before 0, 1, 6, 7: 2+3, 4+5, 0+1, 6+7; then {2–5} and {0, 1, 6, 7}.
        let decision = ClusterComm::with_defaults().place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [0, 0, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn with_simple_edges_five_between_two_groups_cost_as_much_as_one() {
        // Vertices a = {0, 1, 2}, b = {3, 4, 5}, c = 6, d = 7: a and b share five edges, b, c and d are a triangle. The
        // cheapest cut takes off a with simple edges (1 against 2), and c, d or both with parallel ones (2 against 5).
        let edges = [(0, 3, 1), (1, 4, 1), (2, 5, 1), (0, 4, 1), (1, 5, 1), (3, 6, 1), (4, 7, 1), (6, 7, 1)];
        let groups = [(0, 1), (1, 2), (3, 4), (4, 5)];
        let place = |edges_count: Edges| {
            let graph = example::graph(&[1.0; 8], &edges, &groups);
            let instance = Instance::new(graph, example::cluster(&[1.0, 1.0], 1.0)).unwrap();
            let comm = ClusterComm { supernodes: 2, edges: edges_count, ..ClusterComm::with_defaults() };
            example::devices(&comm.place(&instance, &PlaceContext::default()).unwrap())
        };
        let simple = place(Edges::Simple);
        assert!(simple[0] != simple[3] && simple[3] == simple[6] && simple[6] == simple[7], "{simple:?}");
        let parallel = place(Edges::Parallel);
        assert_eq!(parallel[0], parallel[3], "{parallel:?}");
    }
}
