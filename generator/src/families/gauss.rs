//! Gaussian elimination, column by column.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::{GeneratorError, GraphFamily, Op, Sketch, Source};

/// Gaussian elimination of a `size` × `size` matrix: in step k a pivot op divides column k, and an update op subtracts it
/// from each column j > k.
///
/// There are (m² + m − 2)/2 ops and m² − m − 1 edges for m ≥ 2. The pivot of step k costs m − k operations, an update 2(m − k). Each op's
/// output is its column's m − k + 1 elements from row k on, of 8 bytes.
///
/// # Reference
/// M. Cosnard, M. Marrakchi, Y. Robert, D. Trystram: Parallel Gaussian elimination on an MIMD computer. Parallel
/// Computing 6(3), 1988, 275–296; as in H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task
/// scheduling for heterogeneous computing. IEEE TPDS 13(3), 2002, 260–274.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gauss {
    /// Rows and columns.
    size: u32,
}

impl GraphFamily for Gauss {
    const NAME: &'static str = "gauss";
    const SUMMARY: &'static str = "Gaussian elimination by columns: pivots and updates";
    const SOURCE: &'static str = "Cosnard et al. 1988, Topcuoglu et al. 2002";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { size: params.number("size", 10, 2.., "rows and columns of the matrix, of doubles of 8 bytes")? })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let side = f64::from(self.size);
        sketch.expect((side * side + side - 2.0) / 2.0, side * side - side - 1.0)?;
        let m = self.size as usize;
        let mut last: Vec<Option<OpId>> = vec![None; m];
        for k in 0..m - 1 {
            let below = (m - k - 1) as f64;
            let bytes = [8 * (m - k) as u64];
            let inputs: Vec<_> = last[k].map(|op| (op, 0)).into_iter().collect();
            let pivot = sketch.op(&Op { class: "Pivot", ops: below, outputs: &bytes, ..Op::default() }, &inputs)?;
            for column in &mut last[k + 1..] {
                let inputs: Vec<_> = [Some(pivot), *column].into_iter().flatten().map(|op| (op, 0)).collect();
                let update = Op { class: "Update", ops: 2.0 * below, outputs: &bytes, ..Op::default() };
                *column = Some(sketch.op(&update, &inputs)?);
            }
        }
        Ok(())
    }
}
