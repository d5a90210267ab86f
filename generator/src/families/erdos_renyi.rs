//! Erdős–Rényi acyclic graphs.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use super::skips::Skips;
use crate::random::{Purpose, stream};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// An edge between any two ops with one probability, from the lower number to the higher.
///
/// # Reference
/// P. Erdős, A. Rényi: On random graphs I. Publicationes Mathematicae Debrecen 6, 1959, 290–297; acyclic as `sameprob` of
/// Tobita, Kasahara 2002, and in Canon, El Sayah, Héam, Euro-Par 2019.
///
/// # Complexity
/// O(ops + edges).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ErdosRenyi {
    /// Number of ops.
    nodes: u32,
    /// Probability of an edge.
    probability: f64,
}

impl GraphFamily for ErdosRenyi {
    const NAME: &'static str = "erdos_renyi";
    const SUMMARY: &'static str =
        "an edge between any two ops with one probability, from the lower number to the higher";
    const SOURCE: &'static str = "Erdős, Rényi 1959; Canon et al. 2019";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            nodes: params.number("nodes", 100, 1.., "number of ops")?,
            probability: params.number("probability", 0.05, 0.0..=1.0, "probability of an edge")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, seed: u64) -> Result<(), GeneratorError> {
        let nodes = f64::from(self.nodes);
        sketch.expect(nodes, self.probability * nodes * (nodes - 1.0) / 2.0)?;
        for op in 0..u64::from(self.nodes) {
            let mut rng = stream(seed, Purpose::Structure, op);
            let sources: Vec<OpId> = Skips::new(0..op, self.probability, &mut rng).map(|op| OpId(op as u32)).collect();
            sketch.task("Task", &sources)?;
        }
        Ok(())
    }
}
