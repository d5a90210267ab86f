//! What a transformer layer costs as a whole.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;

use super::network::size;

/// The sizes of a layer, whose feed-forward network is four times as wide as the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayerCosts {
    pub(super) model: u64,
    pub(super) sequence: u64,
    pub(super) batch: u64,
}

impl LayerCosts {
    /// Values that leave a layer: `batch` · `sequence` · `model`.
    pub(super) fn values(self) -> u64 {
        self.batch * self.sequence * self.model
    }

    /// Flops of attention in a forward pass: 8bsd² + 4bs²d.
    pub(super) fn attention_flops(self) -> f64 {
        self.values() as f64 * (8 * self.model + 4 * self.sequence) as f64
    }

    /// Flops of the feed-forward network in a forward pass: 16bsd².
    pub(super) fn feed_forward_flops(self) -> f64 {
        self.values() as f64 * (16 * self.model) as f64
    }

    /// Flops of a forward pass: 24bsd² + 4bs²d (Narayanan et al. 2021).
    pub(super) fn flops(self) -> f64 {
        self.attention_flops() + self.feed_forward_flops()
    }

    /// Weights of attention and its normalisation: 4d² + 6d.
    pub(super) fn attention_weights(self) -> u64 {
        4 * self.model * self.model + 6 * self.model
    }

    /// Weights of the feed-forward network and its normalisation: 8d² + 7d.
    pub(super) fn feed_forward_weights(self) -> u64 {
        8 * self.model * self.model + 7 * self.model
    }

    /// Weights of a layer: 12d² + 13d.
    pub(super) fn weights(self) -> u64 {
        self.attention_weights() + self.feed_forward_weights()
    }
}

/// Declares and reads the sizes.
pub(super) fn transformer_sizes(params: &mut Params) -> Result<LayerCosts, SpecError> {
    Ok(LayerCosts {
        model: size(params, "model", 512, "values of a token")?,
        sequence: size(params, "sequence", 128, "tokens of an example")?,
        batch: size(params, "batch", 4, "examples handled at once, in a micro-batch")?,
    })
}
