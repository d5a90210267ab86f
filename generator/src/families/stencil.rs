//! Stencils: a grid of cells that is computed again and again from neighbouring cells.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// A grid of cells in one to three dimensions over a number of steps. An op is a cell in a step: it takes the outputs of
/// itself and its neighbours along each axis in the step before. With `periodic`, opposite borders touch.
///
/// With side s, d dimensions and T steps there are T · s^d ops and, without `periodic`, (T − 1)(s^d + 2d · s^(d−1)(s − 1))
/// edges.
///
/// # Reference
/// E. Slaughter et al.: Task Bench: a parameterized benchmark for evaluating parallel runtime performance. SC 2020.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stencil {
    /// Cells along a side.
    side: usize,
    /// Dimensions.
    dimensions: u32,
    /// Steps.
    steps: u32,
    /// Whether opposite borders touch.
    periodic: bool,
}

impl GraphFamily for Stencil {
    const NAME: &'static str = "stencil";
    const SUMMARY: &'static str = "cells of a grid, step after step from their neighbours";
    const SOURCE: &'static str = "Slaughter et al. 2020";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            side: params.number("side", 8, 1..=1 << 20, "cells along a side of the grid")?,
            dimensions: params.number("dimensions", 1, 1..=3, "dimensions of the grid")?,
            steps: params.number("steps", 8, 1.., "steps")?,
            periodic: params.word("periodic", false, "whether opposite borders touch: true or false")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let (side, cells) = (self.side, self.side.saturating_pow(self.dimensions));
        let mut before = Vec::new();
        for step in 0..self.steps {
            let label = if step == 0 { "Start" } else { "Step" };
            let mut now: Vec<OpId> = Vec::new();
            for cell in 0..cells {
                let mut sources = vec![cell];
                if step == 0 {
                    sources.clear();
                } else {
                    for axis in 0..self.dimensions {
                        let stride = side.pow(axis);
                        let at = cell / stride % side;
                        let row = cell - at * stride;
                        let lower = if at > 0 { Some(at - 1) } else { self.periodic.then_some(side - 1) };
                        let upper = if at + 1 < side { Some(at + 1) } else { self.periodic.then_some(0) };
                        sources.extend([lower, upper].into_iter().flatten().map(|at| row + at * stride));
                    }
                    // Where a side is short, a neighbour can be both or the cell itself.
                    sources.sort_unstable();
                    sources.dedup();
                }
                let inputs: Vec<OpId> = sources.into_iter().map(|cell: usize| before[cell]).collect();
                now.push(sketch.task(label, &inputs)?);
            }
            before = now;
        }
        Ok(())
    }
}
