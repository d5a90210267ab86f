//! Pipeline-parallel training steps.

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use super::collective::Workers;
use super::network::size;
use super::transformer_costs::{LayerCosts, transformer_sizes};
use crate::{GeneratorError, GraphFamily, Op, Sketch, Source};

/// In which order a stage works through its micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schedule {
    /// The scheduler decides.
    Free,
    /// All forward passes, then all backward passes (Huang et al. 2019).
    GPipe,
    /// One forward, one backward in turn, after enough forward passes to fill the pipeline (Narayanan et al. 2019).
    OneForwardOneBackward,
}

impl Named for Schedule {
    const NAMES: &'static [(&'static str, Self)] =
        &[("free", Self::Free), ("gpipe", Self::GPipe), ("1f1b", Self::OneForwardOneBackward)];
}

/// A training step of a transformer whose layers are divided into stages, one a device. Micro-batches go forward through
/// all stages and backward again; then each stage updates its weights. A schedule orders the passes of a stage with control
/// edges.
///
/// With P stages and M micro-batches there are P(2M + 2) ops. If a stage's forward pass takes F and its backward pass B =
/// 2F, the critical path of `gpipe` and of `1f1b` is (M + P − 1)(F + B) and the update: the bubble of P − 1
/// micro-batches.
///
/// # Reference
/// Y. Huang et al.: GPipe: efficient training of giant neural networks using pipeline parallelism. NeurIPS 2019; D. Narayanan et al.:
/// PipeDream: generalized pipeline parallelism for DNN training. SOSP 2019; D. Narayanan et al.: Efficient large-scale
/// language model training on GPU clusters using Megatron-LM. SC 2021 (with a flush, as here).
pub(super) struct Pipeline {
    stages: usize,
    micro_batches: usize,
    schedule: Schedule,
    layers_per_stage: u64,
    costs: LayerCosts,
}

impl GraphFamily for Pipeline {
    const NAME: &'static str = "pipeline";
    const SUMMARY: &'static str = "pipeline-parallel training step: stages, micro-batches, a schedule";
    const SOURCE: &'static str = "Huang et al. 2019; Narayanan et al. 2019; Narayanan et al. 2021";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            stages: size(params, "stages", 4, "stages, each with a device of its own")? as usize,
            micro_batches: size(params, "micro_batches", 6, "micro-batches of a step")? as usize,
            schedule: params.word("schedule", Schedule::OneForwardOneBackward, "free, gpipe or 1f1b")?,
            layers_per_stage: size(params, "layers", 2, "transformer layers of a stage")?,
            costs: transformer_sizes(params)?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let (stages, batches) = (self.stages, self.micro_batches);
        let passes = stages as f64 * batches as f64;
        sketch.expect(2.0 * passes, 7.0 * passes)?;
        let mut workers = Workers::new("stage", stages);
        let values = [self.costs.values()];
        let flops = self.costs.flops() * self.layers_per_stage as f64;
        let weights = self.costs.weights() * self.layers_per_stage;
        let mut variables = Vec::new();
        for stage in 0..stages {
            let op = Op { class: "Variable", memory_bytes: 4 * weights, outputs: &[weights], ..Op::default() };
            variables.push((workers.op(sketch, stage, op, &[])?, 0));
        }
        // Forward and backward pass of each stage for each micro-batch.
        let mut forward: Vec<Vec<OpId>> = vec![Vec::new(); stages];
        for _ in 0..batches {
            let mut input = None;
            for stage in 0..stages {
                let inputs: Vec<_> = [variables[stage]].into_iter().chain(input).collect();
                let op = Op { class: "Forward", ops: flops, outputs: &values, ..Op::default() };
                forward[stage].push(workers.op(sketch, stage, op, &inputs)?);
                input = forward[stage].last().map(|&op| (op, 0));
            }
        }
        let mut backward: Vec<Vec<OpId>> = vec![Vec::new(); stages];
        for _ in 0..batches {
            let mut gradient = None;
            for stage in (0..stages).rev() {
                let pass = forward[stage][backward[stage].len()];
                let inputs: Vec<_> = [(pass, 0)].into_iter().chain(gradient).collect();
                // The gradients of the input and of the weights.
                let outputs = [values[0], weights];
                let op = Op { class: "Backward", ops: 2.0 * flops, outputs: &outputs, ..Op::default() };
                backward[stage].push(workers.op(sketch, stage, op, &inputs)?);
                gradient = backward[stage].last().map(|&op| (op, 0));
            }
        }
        for stage in 0..stages {
            let gradients: Vec<_> = backward[stage].iter().map(|&op| (op, 1)).collect();
            let ops = (weights * (batches as u64 + 1)) as f64;
            workers.op(sketch, stage, Op { class: "Update", ops, ..Op::default() }, &gradients)?;
            let order = self.order(stage).map(|(is_forward, batch)| match is_forward {
                true => forward[stage][batch],
                false => backward[stage][batch],
            });
            let order: Vec<OpId> = order.collect();
            for pair in order.windows(2) {
                sketch.control(pair[0], pair[1])?;
            }
        }
        Ok(())
    }
}

impl Pipeline {
    /// The passes of a stage in their order: whether forward, and the micro-batch.
    fn order(&self, stage: usize) -> impl Iterator<Item = (bool, usize)> {
        let batches = self.micro_batches;
        let (total, before) = match self.schedule {
            Schedule::Free => (0, 0),
            Schedule::GPipe => (batches, batches),
            Schedule::OneForwardOneBackward => (batches, (self.stages - stage - 1).min(batches)),
        };
        let (mut forward, mut backward) = (0, 0);
        std::iter::from_fn(move || {
            // Ahead by `before` at first, then by one more after each forward pass.
            let goes_forward = forward < total && (forward < before || forward - backward <= before);
            if goes_forward {
                forward += 1;
                Some((true, forward - 1))
            } else if backward < total {
                backward += 1;
                Some((false, backward - 1))
            } else {
                None
            }
        })
    }
}
