//! Layer-by-layer random graphs.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use super::skips::Skips;
use crate::random::{Purpose, below, stream};
use crate::{GeneratorError, GraphFamily, Op, Sketch, Source};

/// Ops spread uniformly over layers; an edge between any two ops of different layers with one probability, from the earlier
/// layer to the later. With `adjacent`, only between neighbouring layers.
///
/// # Reference
/// T. Tobita, H. Kasahara: A standard task graph set for fair evaluation of multiprocessor scheduling algorithms. Journal of
/// Scheduling 5(5), 2002, 379–394 (`layrprob`); L.-C. Canon, M. El Sayah, P.-C. Héam: A comparison of random task graph
/// generation methods for scheduling problems. Euro-Par 2019, 61–73.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layered {
    /// Number of ops.
    nodes: u32,
    /// Number of layers; some may be empty.
    layers: u32,
    /// Probability of an edge.
    probability: f64,
    /// Whether edges run between neighbouring layers only.
    adjacent: bool,
}

impl GraphFamily for Layered {
    const NAME: &'static str = "layered";
    const SUMMARY: &'static str = "ops in random layers, an edge from earlier to later layers with one probability";
    const SOURCE: &'static str = "Tobita, Kasahara 2002; Canon et al. 2019";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            nodes: params.number("nodes", 100, 1.., "number of ops")?,
            layers: params.number("layers", 10, 1.., "number of layers, over which ops are spread uniformly")?,
            probability: params.number("probability", 0.1, 0.0..=1.0, "probability of an edge")?,
            adjacent: params.word(
                "adjacent",
                false,
                "whether edges run between neighbouring layers only: true or false",
            )?,
        })
    }

    fn build(&self, sketch: &mut Sketch, seed: u64) -> Result<(), GeneratorError> {
        let (nodes, layers) = (f64::from(self.nodes), f64::from(self.layers));
        // The share of pairs that lie in different layers, or in neighbouring ones.
        let share = (layers - 1.0) / layers * if self.adjacent { 2.0 / layers } else { 1.0 };
        sketch.expect(nodes, self.probability * nodes * nodes / 2.0 * share)?;
        let mut rng = stream(seed, Purpose::Structure, 0);
        let mut layer_of: Vec<u32> = (0..self.nodes).map(|_| below(&mut rng, u64::from(self.layers)) as u32).collect();
        layer_of.sort_unstable();
        let mut first = 0;
        for (op, &layer) in layer_of.iter().enumerate() {
            // The ops of the layers from which edges come: those before this layer, or those of the layer before it.
            if op == 0 || layer_of[op - 1] != layer {
                let earlier = layer_of[..op].partition_point(|&other| other + 1 < layer);
                first = if self.adjacent { earlier } else { 0 };
            }
            let end = layer_of[..op].partition_point(|&other| other < layer);
            let mut rng = stream(seed, Purpose::Structure, 1 + op as u64);
            let sources: Vec<_> = Skips::new(first as u64..end as u64, self.probability, &mut rng)
                .map(|op| (OpId(op as u32), 0))
                .collect();
            let label = format!("layer_{layer}");
            sketch.op(&Op { class: "Task", layer: Some(&label), outputs: &[0], ..Op::default() }, &sources)?;
        }
        Ok(())
    }
}
