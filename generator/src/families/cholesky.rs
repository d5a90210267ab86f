//! Tiled Cholesky factorisation.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use super::tiles;
use crate::{GeneratorError, GraphFamily, Op, Sketch, Source};

/// The Cholesky factorisation of a matrix of `tiles` × `tiles` square tiles, right-looking: in step k POTRF factorises
/// tile (k, k), TRSM solves each tile below it, SYRK and GEMM update the tiles to the right.
///
/// There are t(t + 1)(t + 2)/6 ops and (t − 1)t(t + 1)/2 edges. A tile of b × b doubles costs b³/3 + b²/2 + b/6 flops in
/// POTRF, b³ in TRSM, b³ + b² in SYRK and 2b³ in GEMM; in all n³/3 + n²/2 + n/6 with n = tb, as without tiles. Each op's
/// output is its tile of 8b² bytes; resident memory is 0, since tiles move with the ops.
///
/// # Reference
/// A. Buttari, J. Langou, J. Kurzak, J. Dongarra: A class of parallel tiled linear algebra algorithms for multicore
/// architectures. Parallel Computing 35(1), 2009, 38–53. Flops: LAPACK Working Note 41, 1992.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cholesky {
    /// Tiles along a side.
    tiles: u32,
    /// Rows and columns of a tile.
    tile: u32,
}

impl GraphFamily for Cholesky {
    const NAME: &'static str = "cholesky";
    const SUMMARY: &'static str = "tiled Cholesky factorisation: POTRF, TRSM, SYRK, GEMM";
    const SOURCE: &'static str = "Buttari et al. 2009";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            tiles: params.number("tiles", 8, 1.., tiles::TILES)?,
            tile: params.number("tile", 512, 1.., tiles::TILE)?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let side = f64::from(self.tiles);
        sketch.expect(side * (side + 1.0) * (side + 2.0) / 6.0, (side - 1.0) * side * (side + 1.0) / 2.0)?;
        let (t, b) = (self.tiles as usize, f64::from(self.tile));
        let bytes = [tiles::bytes(self.tile)];
        let mut op = |class, ops, inputs: &[OpId]| {
            let inputs: Vec<_> = inputs.iter().map(|&op| (op, 0)).collect();
            sketch.op(&Op { class, ops, outputs: &bytes, ..Op::default() }, &inputs)
        };
        // The op that last wrote each tile of the lower triangle, row by row.
        let mut last: Vec<Option<OpId>> = vec![None; t * (t + 1) / 2];
        let at = |row: usize, column: usize| row * (row + 1) / 2 + column;
        for k in 0..t {
            let inputs: Vec<OpId> = last[at(k, k)].into_iter().collect();
            let factor = op("POTRF", tiles::potrf(b), &inputs)?;
            let mut column = Vec::with_capacity(t - k);
            for row in k + 1..t {
                let inputs: Vec<OpId> = last[at(row, k)].into_iter().chain([factor]).collect();
                column.push(op("TRSM", b * b * b, &inputs)?);
            }
            for row in k + 1..t {
                let solved = column[row - k - 1];
                for other in k + 1..row {
                    let inputs = last[at(row, other)].into_iter().chain([solved, column[other - k - 1]]);
                    last[at(row, other)] = Some(op("GEMM", 2.0 * b * b * b, &inputs.collect::<Vec<_>>())?);
                }
                let inputs = last[at(row, row)].into_iter().chain([solved]);
                last[at(row, row)] = Some(op("SYRK", b * b * (b + 1.0), &inputs.collect::<Vec<_>>())?);
            }
        }
        Ok(())
    }
}
