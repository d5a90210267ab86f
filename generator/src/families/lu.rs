//! Tiled LU factorisation without pivoting.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use super::tiles;
use crate::{GeneratorError, GraphFamily, Op, Sketch, Source};

/// The LU factorisation of a matrix of `tiles` × `tiles` square tiles without pivoting, right-looking: in step k GETRF
/// factorises tile (k, k), TRSM solves the tiles to its right and below it, GEMM updates all others.
///
/// There are t(t + 1)(2t + 1)/6 ops and (t − 1)t(2t + 1)/2 edges. A tile of b × b doubles costs 2b³/3 − b²/2 − b/6 flops in
/// GETRF, b³ − b² in TRSM with the unit triangle, b³ with the other, and 2b³ in GEMM; in all 2n³/3 − n²/2 − n/6 with
/// n = tb, as without tiles. Each op's output is its tile of 8b² bytes.
///
/// # Reference
/// A. Buttari, J. Langou, J. Kurzak, J. Dongarra: A class of parallel tiled linear algebra algorithms for multicore
/// architectures. Parallel Computing 35(1), 2009, 38–53. There with incremental pivoting, which is left out here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lu {
    /// Tiles along a side.
    tiles: u32,
    /// Rows and columns of a tile.
    tile: u32,
}

impl GraphFamily for Lu {
    const NAME: &'static str = "lu";
    const SUMMARY: &'static str = "tiled LU factorisation without pivoting: GETRF, TRSM, GEMM";
    const SOURCE: &'static str = "Buttari et al. 2009";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            tiles: params.number("tiles", 6, 1.., tiles::TILES)?,
            tile: params.number("tile", 512, 1.., tiles::TILE)?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let side = f64::from(self.tiles);
        sketch
            .expect(side * (side + 1.0) * (2.0 * side + 1.0) / 6.0, (side - 1.0) * side * (2.0 * side + 1.0) / 2.0)?;
        let (t, b) = (self.tiles as usize, f64::from(self.tile));
        let bytes = [tiles::bytes(self.tile)];
        let mut op = |class, ops, inputs: &mut dyn Iterator<Item = OpId>| {
            let inputs: Vec<_> = inputs.map(|op| (op, 0)).collect();
            sketch.op(&Op { class, ops, outputs: &bytes, ..Op::default() }, &inputs)
        };
        // The op that last wrote each tile, row by row.
        let mut last: Vec<Option<OpId>> = vec![None; t * t];
        for k in 0..t {
            let factor = op("GETRF", tiles::getrf(b), &mut last[k * t + k].into_iter())?;
            for other in k + 1..t {
                let (right, below) = (k * t + other, other * t + k);
                last[right] = Some(op("TRSM", b * b * (b - 1.0), &mut last[right].into_iter().chain([factor]))?);
                last[below] = Some(op("TRSM", b * b * b, &mut last[below].into_iter().chain([factor]))?);
            }
            for row in k + 1..t {
                for column in k + 1..t {
                    let solved = last[row * t + k].into_iter().chain(last[k * t + column]);
                    let tile = row * t + column;
                    last[tile] = Some(op("GEMM", 2.0 * b * b * b, &mut last[tile].into_iter().chain(solved))?);
                }
            }
        }
        Ok(())
    }
}
