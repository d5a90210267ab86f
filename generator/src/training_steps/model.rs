//! The model that is trained, as a list of layers.

use serde::{Deserialize, Serialize};

/// A built-in model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// The network of T's experiments on CIFAR-10: two convolutions, two fully connected layers; see [`Model::layers`].
    #[default]
    Cifar10Cnn,
    /// The same with a last layer of 100, for CIFAR-100.
    Cifar100Cnn,
}

/// A layer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name.
    pub name: String,
    /// Weights and biases, single-precision values of 4 bytes; 0 for a layer without weights.
    pub values: u64,
    /// Values that it passes on for one example: its neurons. Only workers that share a model send them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outputs: u64,
    /// Operations of a forward pass over one example.
    pub forward_ops: f64,
    /// Operations of a backward pass over one example; by default twice those of the forward pass, since it makes the
    /// gradients of both inputs and weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward_ops: Option<f64>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Layer {
    fn new(name: &str, values: u64, outputs: u64, forward_ops: u64) -> Self {
        Self { name: name.to_owned(), values, outputs, forward_ops: forward_ops as f64, backward_ops: None }
    }

    /// Operations of a backward pass over one example.
    pub fn backward(&self) -> f64 {
        self.backward_ops.unwrap_or(2.0 * self.forward_ops)
    }
}

impl Model {
    /// The layers, first to last.
    ///
    /// | layer | output | values | forward operations an example |
    /// |---|---|---|---|
    /// | input | 32 × 32 × 3 | | |
    /// | `conv1`, 3 × 3, padded | 32 × 32 × 32 | 896 | 1,769,472 |
    /// | `pool1`, 2 × 2, maximum | 16 × 16 × 32 | | 24,576 |
    /// | `conv2`, 3 × 3, padded | 16 × 16 × 64 | 18,496 | 9,437,184 |
    /// | `pool2`, 2 × 2, maximum | 8 × 8 × 64 | | 12,288 |
    /// | `fc1` | 128 | 524,416 | 1,048,576 |
    /// | `fc2` | 10 | 1,290 | 2,560 |
    ///
    /// Together 545,098 values (2,180,392 bytes); with 100 outputs 556,708 (2,226,832 bytes).
    ///
    /// # Deviations
    /// T shows the network as a picture (Fig. 8) and says of it only that it is simple and relatively small, takes
    /// CIFAR images of 32 × 32 pixels, consists of convolutions, pooling and fully connected layers (§3.2), and ends in
    /// a fully connected layer of 10, or of 100 for CIFAR-100. Numbers and sizes of the layers are ours, of the order
    /// usual for that. An operation is a multiplication, an addition or a comparison; activations are not counted.
    pub fn layers(self) -> Vec<Layer> {
        let classes: u64 = match self {
            Self::Cifar10Cnn => 10,
            Self::Cifar100Cnn => 100,
        };
        let (pixels, window) = (32 * 32, 3 * 3);
        let convolution = |name, from: u64, to: u64, pixels: u64| {
            Layer::new(name, (window * from + 1) * to, to * pixels, 2 * window * from * to * pixels)
        };
        // Three comparisons find the largest of four.
        let pool = |name, channels: u64, pixels: u64| Layer::new(name, 0, channels * pixels, 3 * channels * pixels);
        let connected = |name, from: u64, to: u64| Layer::new(name, (from + 1) * to, to, 2 * from * to);
        vec![
            convolution("conv1", 3, 32, pixels),
            pool("pool1", 32, pixels / 4),
            convolution("conv2", 32, 64, pixels / 4),
            pool("pool2", 64, pixels / 16),
            connected("fc1", 64 * pixels / 16, 128),
            connected("fc2", 128, classes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_have_the_values_and_operations_that_their_documentation_says() {
        let values = |model: Model| model.layers().iter().map(|layer| layer.values).sum::<u64>();
        assert_eq!((values(Model::Cifar10Cnn), values(Model::Cifar100Cnn)), (545_098, 556_708));
        let layers = Model::Cifar10Cnn.layers();
        let forward: Vec<f64> = layers.iter().map(|layer| layer.forward_ops).collect();
        assert_eq!(forward, [1_769_472.0, 24_576.0, 9_437_184.0, 12_288.0, 1_048_576.0, 2_560.0]);
        assert_eq!(layers[0].backward(), 3_538_944.0);
    }
}
