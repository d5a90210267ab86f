//! Undirected families whose functions have been there before the table: grids, random geometric graphs, R-MAT.

use placebench_base::params::{Params, above};
use placebench_base::spec::SpecError;
use placebench_datasets::UndirectedGraph;

use crate::{GeneratorError, RmatParams, StreamParams, UndirectedFamily, grid, rmat};

/// A square grid: see [`grid`].
pub(super) struct Grid {
    side: u32,
}

impl UndirectedFamily for Grid {
    const NAME: &'static str = "grid";
    const SUMMARY: &'static str = "square grid, each vertex tied to its up to four neighbours";
    const SOURCE: &'static str = "a mesh";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { side: params.number("side", 1000, 1.., "vertices along a side")? })
    }

    fn generate(&self, _seed: u64) -> Result<UndirectedGraph, GeneratorError> {
        grid(self.side)
    }
}

/// An R-MAT graph: see [`rmat`].
pub(super) struct Rmat(RmatParams);

impl UndirectedFamily for Rmat {
    const NAME: &'static str = "rmat";
    const SUMMARY: &'static str =
        "R-MAT: edges fall into quarters of quarters of the adjacency matrix; hubs, no geometry";
    const SOURCE: &'static str = "Chakrabarti, Zhan, Faloutsos 2004";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let base = RmatParams::default();
        let [a, b, c] = base.quarters;
        Ok(Self(RmatParams {
            scale: params.number("scale", base.scale, 1..=31, "binary logarithm of the number of vertices")?,
            degree: params.number("degree", base.degree, above(0.0), "mean degree, isolated vertices counted")?,
            quarters: [
                params.number("a", a, 0.0..=1.0, "probability of the upper left quarter")?,
                params.number("b", b, 0.0..=1.0, "probability of the upper right quarter")?,
                params.number("c", c, 0.0..=1.0, "probability of the lower left quarter")?,
            ],
            isolated: params.word("isolated", base.isolated, "whether vertices without edges stay: true or false")?,
            directed: params.word(
                "directed",
                base.directed,
                "whether edges have a direction: true only with --stream",
            )?,
        }))
    }

    fn generate(&self, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
        rmat(&self.0, seed)
    }

    fn streamed(&self) -> Option<StreamParams> {
        Some(StreamParams::Rmat(self.0))
    }
}
