//! Data-parallel training steps: each worker has a copy of the model, and workers exchange gradients.
//!
//! In a step, every worker runs a batch through a forward and a backward pass. After every `period` steps the workers
//! exchange gradients, or the same number of weights, and update; see [`Sync`] for how. In the other steps each worker
//! updates its own copy only: Local-SGD(period).
//!
//! The result is a dataflow graph like any other. All ops of a worker are one colocation group, and its layer label is
//! `worker_0`, `worker_1`, …; servers follow as `server_0`, …. So the placer `expert` puts worker i on device i, as
//! does the placement in [`TrainingGraph`].
//!
//! # Bytes and times
//! With P workers of equal speed, a model of M bytes, latency α and rate β between all workers, `detail=step`, and
//! without compression, an exchange moves and takes, under the network model `one_port`:
//!
//! | exchange | bytes in all | time |
//! |---|---|---|
//! | ring all-reduce | 2(P − 1) · M | 2(P − 1) · (α + M / (Pβ)) |
//! | recursive doubling, P = 2^k + r | (k · 2^k + 2r) · M | (k + 2 if r > 0) · (α + M / β) |
//! | gossip | 2P · M | 2 · (α + M / β) |
//! | one parameter server | 2P · M | 2P · (α + M / β) |
//!
//! Chunks of a ring are whole values, so that M / P is rounded up in the time.
//!
//! # Reference
//! K. A. Tolstobrov. "Исследование методов параллельного обучения нейронных сетей" (a study of methods of parallel
//! training of neural networks). Term paper, Lomonosov Moscow State University. §3.3, §4, §5. Cited as T.
//! Recursive doubling: R. Thakur, R. Rabenseifner, W. Gropp. "Optimization of Collective Communication Operations in
//! MPICH." IJHPCA 19(1), 2005.

mod exchange;
mod maker;
mod model;
mod params;

use placebench_base::process::check_memory;
use placebench_datasets::{DataflowGraph, DeviceId, GraphError, OpId, Placement};

pub use model::{Layer, Model};
pub use params::{Compression, Detail, INDEX_BYTES, Sync, TrainingParams, VALUE_BYTES};

use crate::error::GeneratorError;
use crate::leveled::{EDGE_BYTES, OP_BYTES};
use exchange::Bucket;
use maker::{Maker, Output};

/// Operations to update a weight: a multiplication by the learning rate and a subtraction.
const UPDATE_OPS: f64 = 2.0;

/// Training steps as a graph, with the placement they are meant for.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingGraph {
    /// The graph.
    pub graph: DataflowGraph,
    /// Worker i on device i, servers on the devices after the workers'.
    pub placement: Placement,
}

/// Makes training steps. Nothing is drawn at random: there is no seed.
///
/// # Errors
/// If a parameter makes no sense, or the graph does not fit 32-bit ids.
///
/// # Complexity
/// O(ops + edges). Each exchange adds 2P² ops on a ring, P · log P by recursive doubling, P otherwise.
///
/// # Example
/// ```
/// use placebench_generator::training_steps::{TrainingParams, generate_training};
///
/// let params = TrainingParams::preset("training_steps(workers=4)").unwrap().unwrap();
/// let made = generate_training(&params).unwrap();
/// // Four workers: weights, a step, a pack, six hops, an update each.
/// assert_eq!(made.graph.op_count(), 4 * (1 + 1 + 1 + 6 + 1));
/// ```
pub fn generate_training(params: &TrainingParams) -> Result<TrainingGraph, GeneratorError> {
    params.check()?;
    check_size(params)?;
    let layers = params.model_layers();
    let mut maker = Maker::new(params);
    maker.training(&layers)?;
    let placement = Placement::new(maker.place_of.iter().map(|&place| DeviceId::new(place)).collect());
    Ok(TrainingGraph { graph: maker.builder.build()?, placement })
}

/// Refuses what would not fit 32-bit ids before any memory is taken.
fn check_size(params: &TrainingParams) -> Result<(), GeneratorError> {
    let workers = u64::from(params.worker_count());
    let exchanges = u64::from(params.steps / params.period);
    let (layers, buckets) = match params.detail {
        Detail::Step => (1, 1),
        Detail::Layer => {
            let layers = params.model_layers();
            (2 * layers.len() as u64, layers.iter().filter(|layer| layer.values > 0).count() as u64)
        }
    };
    let of_exchange = match params.sync {
        Sync::RingAllReduce => 2 * workers * workers,
        Sync::RecursiveDoubling => workers * (3 + u64::from(workers.ilog2())),
        Sync::Gossip => workers,
        Sync::ParameterServer => workers + u64::from(params.servers),
    };
    let steps = u64::from(params.steps).saturating_mul(workers).saturating_mul(layers + 1);
    let ops = exchanges.saturating_mul(buckets).saturating_mul(of_exchange).saturating_add(steps);
    // No op has more than four inputs on average, but for servers and those that feed many updates.
    let fan = if params.sync == Sync::ParameterServer { 2 * u64::from(params.servers) + 2 } else { 4 };
    let edges = ops.saturating_mul(fan);
    if edges >= u64::from(u32::MAX) {
        return Err(GeneratorError::TooLarge { ops, edges });
    }
    // Most ops have one input at least.
    check_memory(&[(ops, OP_BYTES + EDGE_BYTES)], || format!("training steps of {ops} ops"))?;
    Ok(())
}

impl Maker<'_> {
    fn training(&mut self, layers: &[Layer]) -> Result<(), GraphError> {
        let bytes = [self.values * VALUE_BYTES];
        // The weights of each worker.
        let mut weights: Vec<Output> = (0..self.workers)
            .map(|worker| Ok((self.add(worker, "weights", "Variable", 0.0, &bytes, &[])?, 0)))
            .collect::<Result<_, GraphError>>()?;
        for step in 0..self.params.steps {
            let exchanges = (step + 1) % self.params.period == 0;
            let turn = step / self.params.period;
            let buckets = match self.params.detail {
                Detail::Step => self.whole_step(layers, step, exchanges, &mut weights)?,
                Detail::Layer => self.step_by_layers(layers, step, &weights)?,
            };
            if !exchanges && self.params.detail == Detail::Step {
                continue;
            }
            let mut inputs: Vec<Vec<Output>> = weights.iter().map(|&weights| vec![weights]).collect();
            for (name, values, gradients) in buckets {
                let bucket = Bucket { name: format!("step_{step}/{name}"), values, gradients, turn };
                let results = match exchanges && values > 0 {
                    true => self.exchange(&bucket)?,
                    false => bucket.gradients.iter().map(|&gradient| vec![gradient]).collect(),
                };
                for (inputs, results) in inputs.iter_mut().zip(results) {
                    inputs.extend(results);
                }
            }
            for (worker, (weights, inputs)) in weights.iter_mut().zip(&inputs).enumerate() {
                let mut cost = UPDATE_OPS * self.values as f64;
                if exchanges && self.params.sync == Sync::Gossip && self.workers > 1 {
                    // The update adds the gradients of both partners; other exchanges have ops for that.
                    cost += 2.0 * self.params.reduce_ops * self.values as f64;
                }
                let name = format!("step_{step}/update");
                *weights = (self.add(worker, &name, "Update", cost, &bytes, inputs)?, 0);
            }
        }
        Ok(())
    }

    /// A step of each worker as one op, its own update included unless an exchange follows.
    fn whole_step(
        &mut self,
        layers: &[Layer],
        step: u32,
        exchanges: bool,
        weights: &mut [Output],
    ) -> Result<Vec<(String, u64, Vec<Output>)>, GraphError> {
        let example: f64 = layers.iter().map(|layer| layer.forward_ops + layer.backward()).sum();
        let update = if exchanges { 0.0 } else { UPDATE_OPS * self.values as f64 };
        let cost = example * f64::from(self.params.batch) + update;
        let bytes = [self.values * VALUE_BYTES];
        let mut gradients = Vec::with_capacity(self.workers);
        for (worker, weights) in weights.iter_mut().enumerate() {
            let op = self.add(worker, &format!("step_{step}/train"), "Train", cost, &bytes, &[*weights])?;
            gradients.push((op, 0));
            if !exchanges {
                *weights = (op, 0);
            }
        }
        Ok(vec![(String::new(), self.values, gradients)])
    }

    /// Forward passes from the first layer to the last, backward passes from the last to the first; a bucket each layer
    /// that learns, in the order in which gradients are there.
    fn step_by_layers(
        &mut self,
        layers: &[Layer],
        step: u32,
        weights: &[Output],
    ) -> Result<Vec<(String, u64, Vec<Output>)>, GraphError> {
        let batch = f64::from(self.params.batch);
        let mut gradients = vec![Vec::with_capacity(self.workers); layers.len()];
        for (worker, &weights) in weights.iter().enumerate() {
            let mut last: Option<OpId> = None;
            for layer in layers {
                let name = format!("step_{step}/{}/forward", layer.name);
                let mut inputs = vec![weights];
                inputs.extend(last.map(|op| (op, 0)));
                last = Some(self.add(worker, &name, "Forward", layer.forward_ops * batch, &[0], &inputs)?);
            }
            for (number, layer) in layers.iter().enumerate().rev() {
                let name = format!("step_{step}/{}/backward", layer.name);
                let inputs: Vec<Output> = last.map(|op| (op, 0)).into_iter().collect();
                let outputs = [0, layer.values * VALUE_BYTES];
                let op = self.add(worker, &name, "Backward", layer.backward() * batch, &outputs, &inputs)?;
                gradients[number].push((op, 1));
                last = Some(op);
            }
        }
        let buckets = layers.iter().zip(gradients).rev();
        Ok(buckets.map(|(layer, gradients)| (format!("{}/", layer.name), layer.values, gradients)).collect())
    }
}
