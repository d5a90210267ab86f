//! Tensor-parallel training steps.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;

use super::collective::Workers;
use super::network::size;
use super::transformer_costs::{LayerCosts, transformer_sizes};
use crate::{GeneratorError, GraphFamily, Op, Output, Sketch, Source};

/// A training step of a transformer whose every layer is divided among all workers: each has a part of the heads and of the
/// feed-forward network. Their partial results are added up on a ring twice a layer forward, and twice backward.
///
/// With W workers and L layers there are LW(8W + 4) + W ops for W ≥ 2, and 8L(W − 1) times the bytes of a layer's values
/// move.
///
/// # Reference
/// M. Shoeybi et al.: Megatron-LM: training multi-billion parameter language models using model parallelism.
/// arXiv:1909.08053, 2019, §3, Fig. 3 and 4.
pub(super) struct TensorParallel {
    workers: usize,
    layers: usize,
    costs: LayerCosts,
}

impl GraphFamily for TensorParallel {
    const NAME: &'static str = "tensor_parallel";
    const SUMMARY: &'static str = "tensor-parallel training step: layers divided among workers, sums on a ring";
    const SOURCE: &'static str = "Shoeybi et al. 2019";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            workers: params.number("workers", 2, 1..=1 << 14, "workers that share every layer")?,
            layers: size(params, "layers", 1, "transformer layers")? as usize,
            costs: transformer_sizes(params)?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let count = self.workers;
        // Four sums on a ring a layer, each of P + 2P(P - 1) ops.
        let (p, layers) = (count as f64, self.layers as f64);
        sketch.expect(layers * (8.0 * p * p + 4.0 * p), layers * (16.0 * p * p + 10.0 * p))?;
        let mut workers = Workers::new("worker", count);
        let values = self.costs.values();
        let mut inputs: Vec<Vec<Output>> = Vec::new();
        for worker in 0..count {
            // Every worker has all examples.
            let op = Op { class: "Input", outputs: &[values], ..Op::default() };
            inputs.push(vec![(workers.op(sketch, worker, op, &[])?, 0)]);
        }
        let halves = [
            ("Attention", self.costs.attention_flops(), self.costs.attention_weights()),
            ("FeedForward", self.costs.feed_forward_flops(), self.costs.feed_forward_weights()),
        ];
        // Of each half layer: its class, flops and weights of a worker's part, and each worker's variable and pass.
        let mut passes = Vec::new();
        for _ in 0..self.layers {
            for (class, flops, weights) in halves {
                let (flops, weights) = (flops / count as f64, weights.div_ceil(count as u64));
                let (mut done, mut partial) = (Vec::new(), Vec::new());
                for (worker, inputs) in inputs.iter().enumerate() {
                    let op = Op { class: "Variable", memory_bytes: 4 * weights, outputs: &[weights], ..Op::default() };
                    let variable = workers.op(sketch, worker, op, &[])?;
                    let inputs: Vec<Output> = inputs.iter().copied().chain([(variable, 0)]).collect();
                    let pass = Op { class, ops: flops, outputs: &[values], ..Op::default() };
                    let pass = workers.op(sketch, worker, pass, &inputs)?;
                    partial.push((pass, 0));
                    done.push(inputs);
                }
                inputs = workers.all_reduce(sketch, &partial, values)?;
                passes.push((class, flops, weights, done));
            }
        }
        // The gradient of the last sum is the sum itself, up to the loss, which is left out.
        for (class, flops, weights, done) in passes.into_iter().rev() {
            let class = format!("{class}Gradient");
            let mut partial = Vec::new();
            for (worker, forward) in done.iter().enumerate() {
                let inputs: Vec<Output> = inputs[worker].iter().chain(forward).copied().collect();
                let op = Op { class: &class, ops: 2.0 * flops, outputs: &[values, weights], ..Op::default() };
                let gradient = workers.op(sketch, worker, op, &inputs)?;
                partial.push((gradient, 0));
                let update = Op { class: "Update", ops: 2.0 * weights as f64, ..Op::default() };
                workers.op(sketch, worker, update, &[(gradient, 1)])?;
            }
            inputs = workers.all_reduce(sketch, &partial, values)?;
        }
        Ok(())
    }
}
