//! Transformers: encoders, with experts if wanted, and decoders that generate token by token.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;

use super::network::{self, Network, Tensor, size};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// A transformer encoder. Each layer has a chain of four ops for every head, an op that combines the heads, and the
/// feed-forward ops; after each part the input is added and normalised. With `experts`, a router sends each token to the
/// `top` of this number of feed-forward networks instead, tokens spread evenly.
///
/// Without experts and training there are L(5H + 12) + 4 ops with L layers of H heads. A layer costs 8bsd² + 4bs²d + 4bsdf
/// flops in matrix products (b examples of s tokens of d values, f in the feed-forward network), and has 4d² + 2df + 9d + f
/// weights.
///
/// # Reference
/// A. Vaswani et al.: Attention is all you need. NeurIPS 2017; N. Shazeer et al.: Outrageously large neural networks: the
/// sparsely-gated mixture-of-experts layer. ICLR 2017; J. Devlin et al.: BERT. NAACL 2019 (the preset `bert_base`).
pub(super) struct Transformer {
    layers: u64,
    heads: u64,
    model: u64,
    feed_forward: u64,
    sequence: u64,
    batch: u64,
    vocabulary: u64,
    experts: u64,
    top: u64,
    training: bool,
}

impl GraphFamily for Transformer {
    const NAME: &'static str = "transformer";
    const SUMMARY: &'static str = "transformer encoder by heads, with a mixture of experts if wanted";
    const SOURCE: &'static str = "Vaswani et al. 2017; Shazeer et al. 2017";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let experts = "feed-forward networks of a layer among which a router chooses; 0: one without a router";
        let read = Self {
            layers: size(params, "layers", 2, "layers")?,
            heads: size(params, "heads", 4, "heads of an attention; they divide the model's values")?,
            model: size(params, "model", 512, "values of a token")?,
            feed_forward: size(params, "feed_forward", 2048, "values inside the feed-forward network")?,
            sequence: size(params, "sequence", 128, "tokens of an example")?,
            batch: size(params, "batch", 8, "examples handled at once")?,
            vocabulary: size(params, "vocabulary", 32_000, "tokens there are")?,
            experts: params.number("experts", 0, 0..=1 << 16, experts)?,
            top: size(params, "top", 2, "experts that each token goes to, of several")?,
            training: network::training(params)?,
        };
        if !read.model.is_multiple_of(read.heads) {
            return Err(params.refuse("heads", read.heads, format!("a divisor of model={}", read.model)));
        }
        if read.experts > 0 && read.top > read.experts {
            return Err(params.refuse("top", read.top, format!("at most experts={}", read.experts)));
        }
        Ok(read)
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let [layers, heads, experts] = [self.layers, self.heads, self.experts].map(|count| count as f64);
        let (ops, edges) = if self.experts == 0 { (4.0, 4.0) } else { (3.0 + 2.0 * experts, 2.0 + 3.0 * experts) };
        network::expect(
            sketch,
            layers * (5.0 * heads + 8.0 + ops),
            layers * (7.0 * heads + 9.0 + edges),
            self.training,
        )?;
        let tokens = self.batch * self.sequence;
        let mut net = Network::default();
        net.layer("input".to_owned());
        let words = net.input(&[tokens])[0];
        net.layer("embedding".to_owned());
        let mut at = net.weighted("Embed", self.vocabulary * self.model, 0.0, &[words], tokens * self.model);
        for layer in 0..self.layers {
            net.layer(format!("layer_{layer}/attention"));
            let attention = self.attention(&mut net, at);
            at = self.add_and_norm(&mut net, at, attention);
            net.layer(format!("layer_{layer}/feed_forward"));
            let fed = match self.experts {
                0 => self.feed_forward(&mut net, at),
                _ => self.mixture(&mut net, layer, at),
            };
            at = self.add_and_norm(&mut net, at, fed);
        }
        net.layer("output".to_owned());
        net.end(self.training, &[at]);
        net.build(sketch, self.training)
    }
}

impl Transformer {
    /// Values of all tokens.
    fn values(&self) -> u64 {
        self.batch * self.sequence * self.model
    }

    fn attention(&self, net: &mut Network, from: Tensor) -> Tensor {
        let (d, head, tokens) = (self.model, self.model / self.heads, self.batch * self.sequence);
        let scores = tokens * self.sequence;
        let product = 2.0 * scores as f64 * head as f64;
        let mut heads = Vec::new();
        for _ in 0..self.heads {
            // Queries, keys and values with their biases.
            let flops = 6.0 * (tokens * d) as f64 * head as f64;
            let projected = net.weighted("Project", 3 * (d + 1) * head, flops, &[from], 3 * tokens * head);
            let score = net.op("Scores", product, &[projected], scores);
            let weights = net.op("Softmax", scores as f64, &[score], scores);
            heads.push(net.op("Context", product, &[weights, projected], tokens * head));
        }
        net.weighted("Combine", (d + 1) * d, 2.0 * (tokens * d) as f64 * d as f64, &heads, tokens * d)
    }

    /// Adds the input of a part to its result and normalises the sum.
    fn add_and_norm(&self, net: &mut Network, input: Tensor, result: Tensor) -> Tensor {
        let values = self.values();
        let sum = net.op("Add", values as f64, &[input, result], values);
        net.weighted("Norm", 2 * self.model, values as f64, &[sum], values)
    }

    fn feed_forward(&self, net: &mut Network, from: Tensor) -> Tensor {
        let (d, f, tokens) = (self.model, self.feed_forward, self.batch * self.sequence);
        let flops = 2.0 * (tokens * d) as f64 * f as f64;
        let inner = net.weighted("Expand", (d + 1) * f, flops, &[from], tokens * f);
        net.weighted("Contract", (f + 1) * d, flops, &[inner], tokens * d)
    }

    /// A router, the experts, and the sum of what they make of each token.
    fn mixture(&self, net: &mut Network, layer: u64, from: Tensor) -> Tensor {
        let (d, f, tokens) = (self.model, self.feed_forward, self.batch * self.sequence);
        // A token goes to the `top` experts, all equally liked.
        let share = (tokens * self.top).div_ceil(self.experts);
        let weights = net.variable(d * self.experts);
        let flops = 2.0 * (tokens * d) as f64 * self.experts as f64;
        let routed = net.ops("Router", flops, &[from, weights], &vec![share * d; self.experts as usize]);
        let mut results = Vec::new();
        for (expert, &input) in routed.iter().enumerate() {
            net.layer(format!("layer_{layer}/expert_{expert}"));
            let flops = 4.0 * (share * d) as f64 * f as f64;
            results.push(net.weighted("Expert", 2 * d * f + f + d, flops, &[input], share * d));
        }
        net.layer(format!("layer_{layer}/feed_forward"));
        net.op("Merge", (tokens * self.top * d) as f64, &results, tokens * d)
    }
}

/// A transformer decoder that generates tokens one after another: the prompt first, all its tokens at once, then a token a
/// step. Keys and values of earlier tokens are kept: the cache of a layer grows by a token a step, and its ops share a
/// device.
///
/// With L layers and T steps there are 3 + 4L + T(2 + 5L) ops. A step of s tokens after c cached ones costs each layer
/// 6sd² + 4s(c + s)d + 2sd² + 4sdf flops an example; the prompt's step counts all pairs of its tokens, without a mask.
///
/// # Reference
/// A. Radford et al.: Language models are unsupervised multitask learners. OpenAI 2019 (the preset `gpt2`); R. Pope et al.:
/// Efficiently scaling transformer inference. MLSys 2023 (prefill, decode, KV cache).
pub(super) struct Decoder {
    layers: u64,
    model: u64,
    feed_forward: u64,
    prompt: u64,
    steps: u64,
    batch: u64,
    vocabulary: u64,
}

impl GraphFamily for Decoder {
    const NAME: &'static str = "decoder";
    const SUMMARY: &'static str = "transformer decoder that generates token by token, with caches of keys and values";
    const SOURCE: &'static str = "Radford et al. 2019; Pope et al. 2023";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            layers: size(params, "layers", 3, "layers")?,
            model: size(params, "model", 512, "values of a token")?,
            feed_forward: size(params, "feed_forward", 2048, "values inside the feed-forward network")?,
            prompt: size(params, "prompt", 128, "tokens of the prompt")?,
            steps: size(params, "steps", 3, "tokens generated, the first from the prompt")?,
            batch: size(params, "batch", 1, "examples handled at once")?,
            vocabulary: size(params, "vocabulary", 32_000, "tokens there are")?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let Self { layers, model: d, feed_forward: f, prompt, steps, batch, vocabulary } = *self;
        let (rows, columns) = (layers as f64, steps as f64);
        network::expect(sketch, 4.0 * rows + columns * (2.0 + 5.0 * rows), columns * (4.0 + 14.0 * rows), false)?;
        let mut net = Network::default();
        net.layer("input".to_owned());
        let mut words = net.input(&[batch * prompt])[0];
        net.layer("embedding".to_owned());
        let table = net.variable(vocabulary * d);
        let mut weights = Vec::new();
        for layer in 0..layers {
            net.layer(format!("layer_{layer}"));
            let sizes = [3 * (d + 1) * d, (d + 1) * d, (d + 1) * f + (f + 1) * d, 4 * d];
            weights.push(sizes.map(|values| net.variable(values)));
        }
        let mut caches: Vec<Option<Tensor>> = vec![None; layers as usize];
        let mut seen = 0;
        for step in 0..steps {
            let tokens = if step == 0 { prompt } else { 1 };
            seen += tokens;
            let (values, product) = (batch * tokens * d, 2.0 * (batch * tokens) as f64 * d as f64);
            net.layer("embedding".to_owned());
            let mut at = net.op("Embed", 0.0, &[words, table], values);
            for (layer, (&[project, combine, expand, norm], cache)) in weights.iter().zip(&mut caches).enumerate() {
                net.layer(format!("layer_{layer}"));
                let projected = net.ops("Project", 3.0 * product * d as f64, &[at, project], &[values, 2 * values]);
                let (query, new) = (projected[0], projected[1]);
                let kept: Vec<Tensor> = cache.iter().copied().chain([new]).collect();
                let kept = net.op("Cache", 0.0, &kept, 2 * batch * seen * d);
                *cache = Some(kept);
                let attended = net.op("Attend", 2.0 * product * seen as f64, &[query, kept], values);
                let combined = net.op("Combine", product * d as f64, &[attended, at, combine], values);
                at = net.op("FeedForward", 2.0 * product * f as f64, &[combined, expand, norm], values);
            }
            net.layer("sampling".to_owned());
            words = net.op("Sample", 2.0 * (batch * d) as f64 * vocabulary as f64, &[at, table], batch);
        }
        net.layer("output".to_owned());
        net.end(false, &[words]);
        net.together("Cache");
        net.build(sketch, false)
    }
}
