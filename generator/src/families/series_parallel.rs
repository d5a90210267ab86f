//! Random series-parallel graphs.

use std::ops::Range;

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::random::{Purpose, Stream, below, stream, unit};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// Blocks one after another and side by side: a block of n ops is split at a random place into two that follow each other,
/// or, with the probability `parallel`, is a fork, up to `branches` blocks of random sizes, and a join.
///
/// Each graph has one source and one sink, and reduces to a single edge by series and parallel reductions.
///
/// # Reference
/// J. Valdes, R. E. Tarjan, E. L. Lawler: The recognition of series parallel digraphs. SIAM Journal on Computing 11(2), 1982,
/// 298–313, for the class. How blocks are split is ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SeriesParallel {
    /// Number of ops.
    nodes: u32,
    /// Probability that a block is a fork and a join, if it has four ops at least.
    parallel: f64,
    /// Most branches of a fork.
    branches: u32,
}

impl GraphFamily for SeriesParallel {
    const NAME: &'static str = "series_parallel";
    const SUMMARY: &'static str = "blocks in series and in parallel, between forks and joins";
    const SOURCE: &'static str = "Valdes, Tarjan, Lawler 1982";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let parallel = "probability that a block of four ops or more is a fork and a join, not two in series";
        Ok(Self {
            nodes: params.number("nodes", 100, 1.., "number of ops")?,
            parallel: params.number("parallel", 0.6, 0.0..=1.0, parallel)?,
            branches: params.number("branches", 4, 2.., "most branches of a fork")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, seed: u64) -> Result<(), GeneratorError> {
        sketch.expect(f64::from(self.nodes), f64::from(self.nodes - 1))?;
        let mut rng = stream(seed, Purpose::Structure, 0);
        // Ops are numbered in a topological order; `inputs` of each, `class` and the blocks still to be split.
        let mut inputs: Vec<Vec<u32>> = vec![Vec::new(); self.nodes as usize];
        let mut class = vec!["Task"; self.nodes as usize];
        let mut blocks: Vec<Range<u32>> = std::iter::once(0..self.nodes).collect();
        while let Some(block) = blocks.pop() {
            let size = block.end - block.start;
            if size >= 4 && unit(&mut rng) < self.parallel {
                let (fork, join) = (block.start, block.end - 1);
                (class[fork as usize], class[join as usize]) = ("Fork", "Join");
                for branch in parts(fork + 1..join, self.branches, &mut rng) {
                    inputs[branch.start as usize].push(fork);
                    inputs[join as usize].push(branch.end - 1);
                    blocks.push(branch);
                }
            } else if size >= 2 {
                let middle = block.start + 1 + below(&mut rng, u64::from(size - 1)) as u32;
                inputs[middle as usize].push(middle - 1);
                blocks.extend([block.start..middle, middle..block.end]);
            }
        }
        for (inputs, class) in inputs.iter().zip(class) {
            sketch.task(class, &inputs.iter().map(|&op| OpId(op)).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

/// Cuts two ops or more into two to `most` parts at random places.
fn parts(ops: Range<u32>, most: u32, rng: &mut Stream) -> Vec<Range<u32>> {
    let size = ops.end - ops.start;
    let count = 2 + below(rng, u64::from(most.min(size) - 1)) as u32;
    let mut cuts = Vec::with_capacity(count as usize + 1);
    while cuts.len() < count as usize - 1 {
        let cut = ops.start + 1 + below(rng, u64::from(size - 1)) as u32;
        if !cuts.contains(&cut) {
            cuts.push(cut);
        }
    }
    cuts.extend([ops.start, ops.end]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}
