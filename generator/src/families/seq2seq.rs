//! Translation networks: an encoder and a decoder with attention.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;

use super::network::{self, Network, Tensor, size};
use super::rnn::{Cell, Layer};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// An LSTM encoder over the source sentence and an LSTM decoder over the target sentence. At each target step the decoder's
/// output attends to all outputs of the encoder; the result is projected to the vocabulary, and is part of the next
/// step's input (input feeding).
///
/// With L layers, S source and T target steps there are 7 + 2L + (S + T)(L + 1) + 2T ops without training.
/// Flops are those of matrix products; an attention costs 4 · batch · S · hidden for scores and context, and 4 · batch · hidden²
/// to combine the context with the decoder's output.
///
/// # Reference
/// M.-T. Luong, H. Pham, C. D. Manning: Effective approaches to attention-based neural machine translation. EMNLP 2015,
/// 1412–1421 (dot score, input feeding); I. Sutskever, O. Vinyals, Q. V. Le: Sequence to sequence learning with neural
/// networks. NeurIPS 2014.
pub(super) struct Seq2Seq {
    layers: u64,
    source: u64,
    target: u64,
    hidden: u64,
    vocabulary: u64,
    batch: u64,
    training: bool,
}

impl GraphFamily for Seq2Seq {
    const NAME: &'static str = "seq2seq";
    const SUMMARY: &'static str = "LSTM encoder and decoder with attention, as in translation";
    const SOURCE: &'static str = "Sutskever et al. 2014; Luong et al. 2015";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            layers: size(params, "layers", 2, "layers of the encoder, and of the decoder")?,
            source: size(params, "source", 6, "steps of the source sentence")?,
            target: size(params, "target", 6, "steps of the target sentence")?,
            hidden: size(params, "hidden", 512, "values of a cell's state, and of an embedded word")?,
            vocabulary: size(params, "vocabulary", 32_000, "words of each language")?,
            batch: size(params, "batch", 32, "sentences handled at once")?,
            training: network::training(params)?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let Self { layers, source, target, hidden, vocabulary, batch, training } = *self;
        let steps = (source + target) as f64;
        network::expect(sketch, (layers as f64 + 3.0) * steps, (4.0 * layers as f64 + 7.0) * steps, training)?;
        let mut net = Network::default();
        net.layer("input".to_owned());
        let words = net.input(&vec![batch; (source + target) as usize]);
        let (source_words, target_words) = words.split_at(source as usize);
        let mut tensors = embed(&mut net, "source_embedding", source_words, vocabulary * hidden, batch * hidden);
        let target_inputs = embed(&mut net, "target_embedding", target_words, vocabulary * hidden, batch * hidden);
        let mut states = Vec::new();
        for layer in 0..layers {
            net.layer(format!("encoder_{layer}"));
            let mut cells = Layer::new(&mut net, Cell::Lstm, (hidden, hidden), batch, Vec::new());
            tensors = tensors.iter().map(|&input| cells.step(&mut net, &[input])).collect();
            states.push(cells.state());
        }
        net.layer("attention".to_owned());
        let memory = net.op("Memory", 0.0, &tensors, batch * source * hidden);
        let combine = net.variable(2 * hidden * hidden);
        let mut decoder = Vec::new();
        for (layer, state) in (0..).zip(states) {
            net.layer(format!("decoder_{layer}"));
            // The first layer takes the word and the attention of the step before.
            let input = if layer == 0 { 2 * hidden } else { hidden };
            decoder.push(Layer::new(&mut net, Cell::Lstm, (input, hidden), batch, state));
        }
        net.layer("projection".to_owned());
        let project = net.variable(hidden * vocabulary);
        let mut attended: Option<Tensor> = None;
        let mut results = Vec::new();
        for &word in &target_inputs {
            let mut inputs: Vec<Tensor> = [word].into_iter().chain(attended).collect();
            for (layer, cells) in decoder.iter_mut().enumerate() {
                net.layer(format!("decoder_{layer}"));
                inputs = vec![cells.step(&mut net, &inputs)];
            }
            net.layer("attention".to_owned());
            let flops = 4.0 * (batch * source * hidden) as f64 + 4.0 * (batch * hidden) as f64 * hidden as f64;
            let attention = net.op("Attention", flops, &[inputs[0], memory, combine], batch * hidden);
            attended = Some(attention);
            net.layer("projection".to_owned());
            let flops = 2.0 * (batch * hidden) as f64 * vocabulary as f64;
            results.push(net.op("Projection", flops, &[attention, project], batch * vocabulary));
        }
        net.layer("output".to_owned());
        net.end(training, &results);
        net.build(sketch, training)
    }
}

/// Looks up words in a table of vectors.
fn embed(net: &mut Network, label: &str, words: &[Tensor], table: u64, values: u64) -> Vec<Tensor> {
    net.layer(label.to_owned());
    let table = net.variable(table);
    words.iter().map(|&word| net.op("Embed", 0.0, &[word, table], values)).collect()
}
