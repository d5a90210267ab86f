//! Random orders: the intersection of random permutations.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::random::{Purpose, below, stream};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// The partial order of ops that come in the same order in each of a number of random permutations, without the edges that
/// others imply.
///
/// Two ops are ordered with probability 2^(1 − orders). With one permutation the graph is a chain.
///
/// # Reference
/// P. Winkler: Random orders. Order 1(4), 1985, 317–331; for scheduling in Canon, El Sayah, Héam, Euro-Par 2019.
///
/// # Complexity
/// O(ops² · (orders + edges / ops)), so at most 65,536 ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RandomOrders {
    /// Number of ops.
    nodes: u32,
    /// Number of permutations.
    orders: u32,
}

impl GraphFamily for RandomOrders {
    const NAME: &'static str = "random_orders";
    const SUMMARY: &'static str = "the order that random permutations have in common, without implied edges";
    const SOURCE: &'static str = "Winkler 1985; Canon et al. 2019";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            nodes: params.number("nodes", 100, 1..=1 << 16, "number of ops")?,
            orders: params.number("orders", 2, 1..=64, "number of permutations: more leave fewer ops ordered")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, seed: u64) -> Result<(), GeneratorError> {
        let count = self.nodes as usize;
        // Ops are numbered in the order of the first permutation; the others say where each op stands.
        let positions: Vec<Vec<u32>> = (1..self.orders).map(|order| permutation(self.nodes, seed, order)).collect();
        let is_before = |a: usize, b: usize| positions.iter().all(|at| at[a] < at[b]);
        for op in 0..count {
            let mut sources: Vec<OpId> = Vec::new();
            // From the last op before this one: whatever is before a source already is implied.
            for other in (0..op).rev() {
                if is_before(other, op) && !sources.iter().any(|source| is_before(other, source.index())) {
                    sources.push(OpId(other as u32));
                }
            }
            sources.reverse();
            sketch.task("Task", &sources)?;
        }
        Ok(())
    }
}

/// A uniform permutation of 0..`count`.
fn permutation(count: u32, seed: u64, index: u32) -> Vec<u32> {
    let mut rng = stream(seed, Purpose::Structure, u64::from(index));
    let mut numbers: Vec<u32> = (0..count).collect();
    for position in 1..numbers.len() {
        numbers.swap(position, below(&mut rng, position as u64 + 1) as usize);
    }
    numbers
}
