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
//! | one parameter server, synchronous, stale or asynchronous | 2P · M | synchronous: 2P · (α + M / β) |
//!
//! Gossip by a mixing matrix K sends a message of M bytes for each K\[i\]\[j\] > 0, i ≠ j; the time in the table is that of
//! partners and of a ring.
//!
//! With a staleness of s, worker i is done with exchange k no earlier than it has computed its steps since its exchange
//! k − 1, and than all workers have brought their gradients of exchange k − s. Where messages take no time, exchange k of
//! worker i ends at C(i, k) = max(C(i, k − 1) + w(i, k), max over j of C'(j, k − s)), C' being when gradients come: s = 0
//! gives the sum over steps of the slowest worker, and no limit the slowest worker's sum.
//!
//! # Hybrid of data and model parallelism
//! With `split` = P_r, P_r workers share a model and P_c = P / P_r groups of them train on batches of their own. A group
//! sends (P_r − 1) · B · 4 · (Σ d_l over all layers forward, Σ d_l over all but the last backward) bytes a step, with B
//! examples a batch and d_l neurons in layer l. Gholami et al. count twice as much backward, an all-reduce: there every
//! worker keeps all errors, here it gets those of its own neurons. Gradients are exchanged between the workers that have the
//! same part: P_c workers in place of P, M / P_r bytes in place of M, for each of the P_r parts.
//!
//! Chunks of a ring are whole values, so that M / P is rounded up in the time.
//!
//! # Reference
//! K. A. Tolstobrov. "Исследование методов параллельного обучения нейронных сетей" (a study of methods of parallel
//! training of neural networks). Term paper, Lomonosov Moscow State University. §3.3, §4, §5. Cited as T.
//! Recursive doubling: R. Thakur, R. Rabenseifner, W. Gropp. "Optimization of Collective Communication Operations in
//! MPICH." IJHPCA 19(1), 2005. Hybrid: A. Gholami, A. Azad, P. Jin, K. Keutzer, A. Buluç. "Integrated Model, Batch, and
//! Domain Parallelism in Training Neural Networks." SPAA 2018 (T's \[4\], Fig. 6).

mod exchange;
mod maker;
mod model;
mod params;

use placebench_base::process::check_memory;
use placebench_datasets::{DataflowGraph, DeviceId, GraphError, OpId, Placement};

pub use model::{Layer, Model};
pub use params::{Compression, Detail, INDEX_BYTES, Mixing, Sync, TrainingParams, VALUE_BYTES, longest_period};

use crate::error::GeneratorError;
use crate::exchange::{Members, share};
use crate::leveled::{EDGE_BYTES, OP_BYTES};
use crate::sketch::Output;
use exchange::Bucket;
use maker::Maker;

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
    let (groups, split) = (u64::from(params.group_count()), u64::from(params.split));
    let of_exchange = match params.sync {
        Sync::RingAllReduce => 2 * groups * groups,
        Sync::RecursiveDoubling => groups * (3 + u64::from(groups.ilog2())),
        Sync::Gossip => groups,
        Sync::ParameterServer => groups + u64::from(params.servers),
        Sync::Asynchronous | Sync::StaleSynchronous => groups + u64::from(params.servers) * (2 * groups + 1),
    };
    let steps = u64::from(params.steps).saturating_mul(workers).saturating_mul(layers + 1);
    let ops = exchanges.saturating_mul(buckets * split).saturating_mul(of_exchange).saturating_add(steps);
    // No op has more than four inputs on average, but for servers, those that feed many updates, and those of shared models.
    let servers = if params.sync.has_servers() { 2 * u64::from(params.servers) + 2 } else { 4 };
    let senders = match (params.sync, params.mixing) {
        (Sync::Gossip, Mixing::Complete) => groups,
        (Sync::Gossip, _) => 2 + params.matrix.len() as u64,
        _ => 0,
    };
    let edges = ops.saturating_mul(servers.max(split + 2).max(senders));
    if edges >= u64::from(u32::MAX) {
        return Err(GeneratorError::TooLarge { ops, edges });
    }
    // Mixing matrices are P × P numbers; outputs of shared models have an output for each other worker.
    let matrix = if params.sync == Sync::Gossip { groups * groups } else { 0 };
    let parts = [(ops, OP_BYTES), (edges, EDGE_BYTES), (matrix, 8), (steps.saturating_mul(split - 1), 8)];
    check_memory(&parts, || format!("training steps of {ops} ops"))?;
    Ok(())
}

/// A gradient that is made in a step: whose, of what.
struct Gradient {
    key: String,
    values: u64,
    members: Vec<usize>,
    outputs: Vec<Output>,
}

impl Maker<'_> {
    fn training(&mut self, layers: &[Layer]) -> Result<(), GraphError> {
        // The weights of each worker.
        let mut weights: Vec<Output> = (0..self.workers)
            .map(|worker| Ok((self.add(worker, "weights", "Variable", 0.0, &self.weight_bytes(worker), &[])?, 0)))
            .collect::<Result<_, GraphError>>()?;
        for step in 0..self.params.steps {
            let exchanges = (step + 1) % self.params.period == 0;
            let turn = step / self.params.period;
            let gradients = match self.params.detail {
                Detail::Step => self.whole_step(layers, step, exchanges, &mut weights)?,
                Detail::Layer => self.step_by_layers(layers, step, &weights)?,
            };
            if !exchanges && self.params.detail == Detail::Step {
                continue;
            }
            let mut inputs: Vec<Vec<Output>> = weights.iter().map(|&weights| vec![weights]).collect();
            for Gradient { key, values, members, outputs: gradients } in gradients {
                let bucket = Bucket { key, step, values, members, gradients, turn };
                let results = match exchanges && values > 0 {
                    true => self.exchange(&bucket)?,
                    false => bucket.gradients.iter().map(|&gradient| vec![gradient]).collect(),
                };
                for (&member, results) in bucket.members.iter().zip(results) {
                    inputs[member].extend(results);
                }
            }
            for (worker, (weights, inputs)) in weights.iter_mut().zip(&inputs).enumerate() {
                let values = self.values[worker] as f64;
                let mut cost = UPDATE_OPS * values;
                if !exchanges {
                    cost *= self.slowness(worker, step);
                }
                if exchanges && self.params.sync == Sync::Gossip && self.params.group_count() > 1 {
                    // The update adds the gradients of the others; other exchanges have ops for that.
                    let received = self.received(worker / self.params.split as usize);
                    cost += received as f64 * self.params.reduce_ops * values;
                }
                let name = format!("step_{step}/update");
                *weights = (self.add(worker, &name, "Update", cost, &self.weight_bytes(worker), inputs)?, 0);
            }
        }
        Ok(())
    }

    /// The bytes of a worker's weights.
    fn weight_bytes(&self, worker: usize) -> [u64; 1] {
        [self.values[worker] * VALUE_BYTES]
    }

    /// How many times as long a worker takes for its part of a step.
    fn slowness(&self, worker: usize, step: u32) -> f64 {
        if step as usize % self.workers == worker { self.params.straggler } else { 1.0 }
    }

    /// A step of each worker as one op, its own update included unless an exchange follows.
    fn whole_step(
        &mut self,
        layers: &[Layer],
        step: u32,
        exchanges: bool,
        weights: &mut [Output],
    ) -> Result<Vec<Gradient>, GraphError> {
        let example: f64 = layers.iter().map(|layer| layer.forward_ops + layer.backward()).sum();
        let values = self.params.values();
        let update = if exchanges { 0.0 } else { UPDATE_OPS * values as f64 };
        let cost = example * f64::from(self.params.batch) + update;
        let mut outputs = Vec::with_capacity(self.workers);
        for (worker, weights) in weights.iter_mut().enumerate() {
            let (name, cost) = (format!("step_{step}/train"), cost * self.slowness(worker, step));
            let op = self.add(worker, &name, "Train", cost, &[values * VALUE_BYTES], &[*weights])?;
            outputs.push((op, 0));
            if !exchanges {
                *weights = (op, 0);
            }
        }
        Ok(vec![Gradient { key: String::new(), values, members: (0..self.workers).collect(), outputs }])
    }

    /// Forward passes from the first layer to the last, backward passes from the last to the first; a gradient for each part
    /// of each layer, in the order in which they are there.
    ///
    /// Workers that share a model send each other what their neurons pass on: forward to all, and backward to each what its
    /// neurons have to know (T §3.3, model parallelism).
    fn step_by_layers(&mut self, layers: &[Layer], step: u32, weights: &[Output]) -> Result<Vec<Gradient>, GraphError> {
        let (split, batch) = (self.params.split as usize, f64::from(self.params.batch));
        // What a worker of a group passes on of a layer, for all examples.
        let passed = |layer: &Layer, part: usize| match split {
            1 => 0,
            _ => share(layer.outputs, part, split) * u64::from(self.params.batch) * VALUE_BYTES,
        };
        // Every entry is written below.
        let mut gradients = vec![vec![(OpId::new(0), 0); self.workers]; layers.len()];
        for group in (0..self.workers).step_by(split) {
            let members = group..group + split;
            // What each member needs before the next layer, besides its weights: of all members the same.
            let mut last: Vec<Output> = Vec::new();
            for layer in layers {
                let name = format!("step_{step}/{}/forward", layer.name);
                let cost = layer.forward_ops * batch / split as f64;
                let mut outputs = Vec::with_capacity(split);
                for worker in members.clone() {
                    let inputs: Vec<Output> = std::iter::once(weights[worker]).chain(last.iter().copied()).collect();
                    let (cost, bytes) = (cost * self.slowness(worker, step), passed(layer, worker - group));
                    outputs.push((self.add(worker, &name, "Forward", cost, &[bytes], &inputs)?, 0));
                }
                last = outputs;
            }
            // What each member needs before the layer below.
            let mut errors: Vec<Vec<Output>> = vec![last; split];
            for (number, layer) in layers.iter().enumerate().rev() {
                let name = format!("step_{step}/{}/backward", layer.name);
                let cost = layer.backward() * batch / split as f64;
                let below = number.checked_sub(1).map(|below| &layers[below]);
                let mut made = Vec::with_capacity(split);
                for worker in members.clone() {
                    let part = worker - group;
                    // Output 0 goes to the own layer below, 1 is the gradient, the others go to the other members.
                    let mut outputs = vec![0, share(layer.values, part, split) * VALUE_BYTES];
                    if let Some(below) = below.filter(|_| split > 1) {
                        outputs.extend((0..split).map(|to| passed(below, to)));
                    }
                    let mut cost = cost * self.slowness(worker, step);
                    if number + 1 < layers.len() {
                        // What the other members send is added up.
                        let added = (split - 1) as u64 * passed(layer, part) / VALUE_BYTES;
                        cost += self.params.reduce_ops * added as f64;
                    }
                    let op = self.add(worker, &name, "Backward", cost, &outputs, &errors[part])?;
                    gradients[number][worker] = (op, 1);
                    made.push(op);
                }
                if below.is_some() {
                    let from = |to: usize| {
                        made.iter().enumerate().map(move |(part, &op)| (op, if part == to { 0 } else { 2 + to }))
                    };
                    errors = (0..split).map(|to| from(to).collect()).collect();
                }
            }
        }
        let mut all = Vec::with_capacity(layers.len() * split);
        for (layer, outputs) in layers.iter().zip(gradients).rev() {
            for part in 0..split {
                let members: Vec<usize> = (part..self.workers).step_by(split).collect();
                let key = if split == 1 { format!("{}/", layer.name) } else { format!("{}/part_{part}/", layer.name) };
                let (values, outputs) =
                    (share(layer.values, part, split), members.iter().map(|&worker| outputs[worker]).collect());
                all.push(Gradient { key, values, members, outputs });
            }
        }
        Ok(all)
    }
}
