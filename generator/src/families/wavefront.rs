//! Wavefronts: a matrix that is filled from one corner, as in dynamic programming.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// A matrix whose elements need the element above and the one to the left; with `diagonal` also the one between.
///
/// With r rows and c columns there are rc ops and r(c − 1) + c(r − 1) edges, (r − 1)(c − 1) more with `diagonal`.
///
/// # Reference
/// T. F. Smith, M. S. Waterman: Identification of common molecular subsequences. Journal of Molecular Biology 147(1), 1981,
/// 195–197, for the recurrence; L. Lamport: The parallel execution of DO loops. CACM 17(2), 1974, 83–93, for the wavefront.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wavefront {
    rows: usize,
    columns: usize,
    diagonal: bool,
}

impl GraphFamily for Wavefront {
    const NAME: &'static str = "wavefront";
    const SUMMARY: &'static str = "a matrix filled from one corner: each element needs those above and to the left";
    const SOURCE: &'static str = "Lamport 1974; Smith, Waterman 1981";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            rows: params.number("rows", 8, 1..=1 << 31, "rows")?,
            columns: params.number("columns", 8, 1..=1 << 31, "columns")?,
            diagonal: params.word(
                "diagonal",
                false,
                "whether the element above and to the left counts: true or false",
            )?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let mut above: Vec<OpId> = Vec::new();
        for _ in 0..self.rows {
            let mut row: Vec<OpId> = Vec::new();
            for column in 0..self.columns {
                let corner = if self.diagonal && column > 0 { above.get(column - 1) } else { None };
                let inputs = [corner, above.get(column), row.last()];
                let inputs: Vec<OpId> = inputs.into_iter().flatten().copied().collect();
                row.push(sketch.task("Cell", &inputs)?);
            }
            above = row;
        }
        Ok(())
    }
}
