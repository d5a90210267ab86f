//! Uniform random graphs.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::UndirectedGraph;

use crate::{GeneratorError, GnmParams, StreamParams, UndirectedFamily, gnm};

/// G(n, m): see [`gnm`].
///
/// # Reference
/// P. Erdős, A. Rényi: On random graphs I. Publicationes Mathematicae 6, 1959, 290–297.
pub(super) struct Gnm(GnmParams);

impl UndirectedFamily for Gnm {
    const NAME: &'static str = "gnm";
    const SUMMARY: &'static str = "G(n, m): every graph of n vertices and m edges is equally likely";
    const SOURCE: &'static str = "Erdős, Rényi 1959; Funke et al. 2019";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let base = GnmParams::default();
        Ok(Self(GnmParams {
            vertices: params.number("vertices", base.vertices, 1..u32::MAX, "number of vertices")?,
            edges: params.number("edges", base.edges, 0.., "number of edges")?,
            directed: params.word(
                "directed",
                base.directed,
                "whether edges have a direction: true only with --stream",
            )?,
        }))
    }

    fn generate(&self, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
        gnm(&self.0, seed)
    }

    fn streamed(&self) -> Option<StreamParams> {
        Some(StreamParams::Gnm(self.0))
    }
}
