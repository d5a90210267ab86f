//! The fast Fourier transform.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// The fast Fourier transform of `points` points: a binary tree of 2m − 1 recursive calls, then log₂ m rows of m butterfly
/// ops; each takes two outputs of the row before.
///
/// There are 2m − 1 + m log₂ m ops and 2m − 2 + 2m log₂ m edges. Costs are drawn, as in the source.
///
/// # Reference
/// H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing.
/// IEEE TPDS 13(3), 2002, 260–274.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fft {
    /// Points, a power of two.
    points: usize,
}

impl GraphFamily for Fft {
    const NAME: &'static str = "fft";
    const SUMMARY: &'static str = "fast Fourier transform: a tree of recursive calls, then butterflies";
    const SOURCE: &'static str = "Topcuoglu et al. 2002";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let parse = |text: &str| text.parse().ok().filter(|points: &usize| points.is_power_of_two());
        Ok(Self { points: params.value("points", "16", "a power of two", "points: a power of two", parse)? })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let m = self.points;
        let mut row = vec![sketch.task("Call", &[])?];
        while row.len() < m {
            let mut next = Vec::with_capacity(2 * row.len());
            for &call in &row {
                for _ in 0..2 {
                    next.push(sketch.task("Call", &[call])?);
                }
            }
            row = next;
        }
        // Partners are neighbours first, then two apart, four apart, …
        for stage in 0..m.ilog2() {
            row = (0..m)
                .map(|point| sketch.task("Butterfly", &[row[point], row[point ^ (1 << stage)]]))
                .collect::<Result<Vec<OpId>, _>>()?;
        }
        Ok(())
    }
}
