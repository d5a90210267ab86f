//! Residual convolutional networks.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;

use super::network::{self, Network, Tensor, size};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// A residual network for images: a convolution of 7 × 7 with stride 2, pooling, stages of residual blocks of two
/// convolutions of 3 × 3, pooling over all positions, a fully connected layer. Each stage but the first halves both sides and
/// doubles the channels; where shapes change, a convolution of 1 × 1 is on the shortcut.
///
/// A convolution costs 2 · k² · channels in · channels out · positions · batch flops; normalisation (two weights a channel) and
/// activation are part of it, at no cost of their own. Additions and pooling cost one operation for each input
/// value.
///
/// # Reference
/// K. He, X. Zhang, S. Ren, J. Sun: Deep residual learning for image recognition. CVPR 2016, 770–778, Table 1: the presets
/// `resnet18` and `resnet34` have its weights (11,689,512 and 21,797,672) and multiplications (1.8 and 3.7 · 10⁹).
pub(super) struct Cnn {
    blocks: Vec<u64>,
    channels: u64,
    image: u64,
    classes: u64,
    batch: u64,
    training: bool,
}

/// Where a network is: a tensor with its side and its channels.
#[derive(Clone, Copy)]
struct Picture {
    tensor: Tensor,
    side: u64,
    channels: u64,
}

impl GraphFamily for Cnn {
    const NAME: &'static str = "cnn";
    const SUMMARY: &'static str = "residual convolutional network";
    const SOURCE: &'static str = "He et al. 2016";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let blocks = "residual blocks of each stage, in brackets";
        Ok(Self {
            blocks: params.value("blocks", "[1,1,1]", "numbers in brackets, such as [2,2,2,2]", blocks, stages)?,
            channels: size(params, "channels", 64, "channels of the first stage")?,
            image: size(params, "image", 224, "rows and columns of an image, of three channels")?,
            classes: size(params, "classes", 1000, "classes to tell apart")?,
            batch: size(params, "batch", 32, "images handled at once")?,
            training: network::training(params)?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let mut net = Network::default();
        net.layer("input".to_owned());
        let image = net.input(&[self.batch * self.image * self.image * 3])[0];
        net.layer("stem".to_owned());
        let image = Picture { tensor: image, side: self.image, channels: 3 };
        let stem = self.convolution(&mut net, image, 7, 2, self.channels);
        let mut at = self.pool(&mut net, stem);
        for (stage, &blocks) in self.blocks.iter().enumerate() {
            for block in 0..blocks {
                net.layer(format!("stage_{stage}/block_{block}"));
                let halves = stage > 0 && block == 0;
                let (stride, channels) = if halves { (2, 2 * at.channels) } else { (1, at.channels) };
                let first = self.convolution(&mut net, at, 3, stride, channels);
                let second = self.convolution(&mut net, first, 3, 1, channels);
                let shortcut = if halves { self.convolution(&mut net, at, 1, stride, channels) } else { at };
                let values = self.values(second);
                let sum = net.op("Add", values as f64, &[second.tensor, shortcut.tensor], values);
                at = Picture { tensor: sum, ..second };
            }
        }
        net.layer("classifier".to_owned());
        let values = self.values(at);
        let mean = net.op("AveragePool", values as f64, &[at.tensor], self.batch * at.channels);
        let weights = (at.channels + 1) * self.classes;
        let flops = 2.0 * (self.batch * at.channels) as f64 * self.classes as f64;
        let classes = net.weighted("Dense", weights, flops, &[mean], self.batch * self.classes);
        net.layer("output".to_owned());
        net.end(self.training, &[classes]);
        net.build(sketch, self.training)
    }
}

impl Cnn {
    fn values(&self, at: Picture) -> u64 {
        self.batch * at.side * at.side * at.channels
    }

    /// A convolution with normalisation and activation, padded so that a stride of 1 keeps the side.
    fn convolution(&self, net: &mut Network, from: Picture, kernel: u64, stride: u64, channels: u64) -> Picture {
        let side = from.side.div_ceil(stride);
        let window = kernel * kernel * from.channels;
        let flops = 2.0 * (window * channels) as f64 * (side * side * self.batch) as f64;
        let weights = window * channels + 2 * channels;
        let values = self.batch * side * side * channels;
        Picture { tensor: net.weighted("Conv", weights, flops, &[from.tensor], values), side, channels }
    }

    /// The largest of each 3 × 3 window, with stride 2.
    fn pool(&self, net: &mut Network, from: Picture) -> Picture {
        let side = from.side.div_ceil(2);
        let values = self.batch * side * side * from.channels;
        let tensor = net.op("MaxPool", self.values(from) as f64, &[from.tensor], values);
        Picture { tensor, side, ..from }
    }
}

/// `[2,2,2,2]`.
fn stages(text: &str) -> Option<Vec<u64>> {
    let numbers = text.strip_prefix('[')?.strip_suffix(']')?.split(',');
    let blocks: Vec<u64> = numbers.map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
    // Each stage doubles the channels.
    (blocks.len() <= 10 && blocks.iter().all(|blocks| (1..=10_000).contains(blocks))).then_some(blocks)
}
