//! ClusterCap: few edges cut, by contractions in which no supernode may grow too heavy.

use placebench_datasets::Instance;

use super::clustering::{self, Clustering, Score, trials};
use super::coarse::cells::Cells;
use super::coarse::readings::{Edges, Weight};
use crate::fairness::{Assumption, Exception};
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Contracts random edges as long as no supernode gets heavier than 1.5 times an even share, merges the lightest until
/// there is one cluster a device, many times over, and places the clusters that the fewest edges run between.
///
/// # Reference
/// C. Bahnmüller, *Improving Google's Open-Source Machine Learning System TensorFlow*, Master's thesis, University of
/// Stuttgart 2018, §4.4, Alg. 4.4 and 4.5, §5.6.3; after D. R. Karger, *Global Min-cuts in RNC, and Other Ramifications of
/// a Simple Min-cut Algorithm*, SODA 1993, pp. 21–30.
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
/// - The cap bounds contraction only: merging the lightest, as B does at the end, may exceed it.
#[derive(Clone, Copy, Debug)]
pub struct ClusterCap {
    /// How many contractions to try, ≥ 1.
    pub trials: u32,
    /// The most that a supernode may weigh, in even shares, ≥ 1.
    pub slack: f64,
    /// Which ops of recurrent layers stay together.
    pub cells: Cells,
    /// Which edges are drawn and counted.
    pub edges: Edges,
    /// What a cell or group weighs.
    pub vertex: Weight,
}

impl Algorithm for ClusterCap {
    const NAME: &str = "cluster_cap";
    const SUMMARY: &str = "random edge contraction to clusters of limited weight, the fewest edges cut of many trials";
    const SOURCE: &str = "B §4.4, §5.6.3";
    const ASSUMES: &[Assumption] = clustering::ASSUMES;
    const EXCEPTIONS: &[Exception] = clustering::EXCEPTIONS;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let slack = "the most that a contracted cluster may weigh, in even shares";
        Ok(Self {
            trials: trials(params)?,
            slack: params.number("slack", 1.5, 1.0.., slack)?,
            cells: Cells::param(params)?,
            edges: Edges::param(params)?,
            vertex: Weight::param(params)?,
        })
    }
}

impl Placer for ClusterCap {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let Self { trials, slack, cells, edges, vertex } = *self;
        let score = Score::Communication;
        Clustering { trials, cells, edges, vertex, score, supernodes: 0, slack: Some(slack) }.place(instance, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    /// 0 to 5 in a ring, 6 hanging on 0, 7 on 6: the cheapest cut in two takes off {7} or {6, 7} with one edge.
    fn instance() -> Instance {
        let mut edges: Vec<_> = (0..5).map(|op| (op, op + 1, 1)).collect();
        edges.extend([(0, 5, 1), (0, 6, 1), (6, 7, 1)]);
        Instance::new(example::graph(&[1.0; 8], &edges, &[]), example::cluster(&[1.0, 1.0], 1.0)).unwrap()
    }

    #[test]
    fn the_cap_forbids_the_cheapest_cut() {
        // Cap 1.5 · 8/2 = 6: {0–5} and {6, 7} with one edge is allowed, {0–6} and {7} is not.
        let decision = ClusterCap::with_defaults().place(&instance(), &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [0, 0, 0, 0, 0, 0, 1, 1]);
        // Cap 1.25 · 4 = 5: the ring must be cut twice.
        let tight = ClusterCap { slack: 1.25, ..ClusterCap::with_defaults() };
        let devices = example::devices(&tight.place(&instance(), &PlaceContext::default()).unwrap());
        let ring_cuts = (0..6).filter(|&op| devices[op] != devices[(op + 1) % 6]).count();
        assert_eq!((ring_cuts, devices[0] == devices[6] && devices[6] == devices[7]), (2, true));
    }
}
