//! Neural networks as graphs: forward ops with shapes, and for training the gradients and updates that follow from them.

use placebench_base::params::Params;
use placebench_base::process::check_memory;
use placebench_base::spec::SpecError;
use placebench_datasets::{Categories, OpId};

use crate::{GeneratorError, Op, Output, Sketch};

/// Bytes of a value, single precision.
pub(super) const VALUE_BYTES: u64 = 4;

/// Bytes that an op and an edge take at most, in the network and in the graph that is made of it.
const OP_BYTES: f64 = 250.0;
const EDGE_BYTES: f64 = 40.0;

/// What a node of a network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Data: nothing is learned from its gradient.
    Input,
    /// Weights, resident where they are.
    Variable,
    /// Work.
    Compute,
}

#[derive(Debug)]
struct Node {
    role: Role,
    class: &'static str,
    flops: f64,
    /// Values of each output.
    outputs: Vec<u64>,
    inputs: Vec<Tensor>,
}

/// An output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    node: usize,
    port: usize,
}

/// A network under construction.
#[derive(Debug, Default)]
pub(super) struct Network {
    nodes: Vec<Node>,
    /// The layer of each node.
    layers: Categories,
    /// The label that new ops get.
    layer: String,
    /// The class whose ops share a device with those of their layer.
    together: Option<&'static str>,
}

impl Network {
    /// The label of the ops that follow.
    pub(super) fn layer(&mut self, label: String) {
        self.layer = label;
    }

    /// Data with outputs of these numbers of values.
    pub(super) fn input(&mut self, outputs: &[u64]) -> Vec<Tensor> {
        self.add(Role::Input, "Input", 0.0, &[], outputs)
    }

    /// Weights.
    pub(super) fn variable(&mut self, values: u64) -> Tensor {
        self.add(Role::Variable, "Variable", 0.0, &[], &[values])[0]
    }

    /// An op with one output.
    pub(super) fn op(&mut self, class: &'static str, flops: f64, inputs: &[Tensor], values: u64) -> Tensor {
        self.ops(class, flops, inputs, &[values])[0]
    }

    /// An op with several outputs.
    pub(super) fn ops(&mut self, class: &'static str, flops: f64, inputs: &[Tensor], outputs: &[u64]) -> Vec<Tensor> {
        self.add(Role::Compute, class, flops, inputs, outputs)
    }

    /// An op that reads weights: a variable of its own comes before it.
    pub(super) fn weighted(
        &mut self,
        class: &'static str,
        weights: u64,
        flops: f64,
        inputs: &[Tensor],
        values: u64,
    ) -> Tensor {
        let weights = self.variable(weights);
        let inputs: Vec<Tensor> = inputs.iter().copied().chain([weights]).collect();
        self.op(class, flops, &inputs, values)
    }

    /// The last op, which takes the results: the loss of training, or the output.
    pub(super) fn end(&mut self, training: bool, results: &[Tensor]) {
        let values: u64 = results.iter().map(|result| self.values(*result)).sum();
        self.op(if training { "Loss" } else { "Output" }, values as f64, results, u64::from(training));
    }

    /// Ops of this class in the same layer share a device.
    pub(super) fn together(&mut self, class: &'static str) {
        self.together = Some(class);
    }

    fn add(&mut self, role: Role, class: &'static str, flops: f64, inputs: &[Tensor], outputs: &[u64]) -> Vec<Tensor> {
        let node = self.nodes.len();
        self.nodes.push(Node { role, class, flops, outputs: outputs.to_vec(), inputs: inputs.to_vec() });
        self.layers.push(Some(&self.layer));
        (0..outputs.len()).map(|port| Tensor { node, port }).collect()
    }

    fn values(&self, tensor: Tensor) -> u64 {
        self.nodes[tensor.node].outputs[tensor.port]
    }

    /// Adds the ops; with `training` also a gradient op for each op on a path from weights, which costs twice the op's flops
    /// and takes the op's inputs again, and an update of each variable, on its device.
    pub(super) fn build(&self, sketch: &mut Sketch, training: bool) -> Result<(), GeneratorError> {
        let mut ids: Vec<OpId> = Vec::with_capacity(self.nodes.len());
        let mut first: Vec<Option<OpId>> = vec![None; self.layers.labels().len()];
        for (number, node) in self.nodes.iter().enumerate() {
            let together = (self.together == Some(node.class)).then(|| self.layers.number(number)).flatten();
            let inputs: Vec<Output> = node.inputs.iter().map(|input| (ids[input.node], input.port)).collect();
            let resident: u64 = if node.role == Role::Variable { node.outputs.iter().sum() } else { 0 };
            let op = Op {
                class: node.class,
                ops: node.flops,
                memory_bytes: resident * VALUE_BYTES,
                outputs: &node.outputs,
                with: together.and_then(|layer| first[layer]),
                ..Op::default()
            };
            let id = self.add_op(sketch, number, op, &inputs)?;
            if let Some(layer) = together {
                first[layer].get_or_insert(id);
            }
            ids.push(id);
        }
        if training {
            self.gradients(sketch, &ids)?;
        }
        Ok(())
    }

    fn gradients(&self, sketch: &mut Sketch, ids: &[OpId]) -> Result<(), GeneratorError> {
        let mut learns = Vec::with_capacity(self.nodes.len());
        // The ops that take each node's outputs, with the position of the input.
        let mut consumers: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            learns.push(node.role == Role::Variable || node.inputs.iter().any(|input| learns[input.node]));
            for (position, input) in node.inputs.iter().enumerate() {
                consumers[input.node].push((number, position));
            }
        }
        // The gradient op of each node, and for each input the port of its gradient.
        let mut gradients: Vec<Option<(OpId, Vec<Option<usize>>)>> = vec![None; self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate().rev().filter(|&(number, _)| learns[number]) {
            let mut inputs: Vec<Output> = Vec::new();
            for &(consumer, position) in &consumers[number] {
                if let Some((op, ports)) = &gradients[consumer] {
                    inputs.extend(ports[position].map(|port| (*op, port)));
                }
            }
            if node.role == Role::Variable {
                let values = node.outputs[0] as f64;
                // The sum of the gradients, then a multiplication and a subtraction.
                let flops = values * (inputs.len().saturating_sub(1) + 2) as f64;
                let update = Op { class: "Update", ops: flops, with: Some(ids[number]), ..Op::default() };
                self.add_op(sketch, number, update, &inputs)?;
                continue;
            }
            inputs.extend(node.inputs.iter().map(|input| (ids[input.node], input.port)));
            let mut outputs = Vec::new();
            let mut ports = Vec::new();
            for input in &node.inputs {
                ports.push(learns[input.node].then_some(outputs.len()));
                if learns[input.node] {
                    outputs.push(self.values(*input));
                }
            }
            let class = format!("{}Gradient", node.class);
            let op = Op { class: &class, ops: 2.0 * node.flops, outputs: &outputs, ..Op::default() };
            gradients[number] = Some((self.add_op(sketch, number, op, &inputs)?, ports));
        }
        Ok(())
    }

    /// Adds an op of a node's layer; its outputs are numbers of values.
    fn add_op(&self, sketch: &mut Sketch, node: usize, op: Op<'_>, inputs: &[Output]) -> Result<OpId, GeneratorError> {
        let outputs: Vec<u64> = op.outputs.iter().map(|values| values * VALUE_BYTES).collect();
        sketch.op(&Op { layer: self.layers.get(node), outputs: &outputs, ..op }, inputs)
    }
}

/// Checks that a network of about this number of forward ops and edges fits, before it takes memory or time.
pub(super) fn expect(sketch: &Sketch, ops: f64, edges: f64, training: bool) -> Result<(), GeneratorError> {
    // A gradient op takes the inputs of its op again, and the gradients of its outputs.
    let (ops, edges) = if training { (2.0 * ops, 3.0 * edges) } else { (ops, edges) };
    sketch.expect(ops, edges)?;
    let bytes = ops * OP_BYTES + edges * EDGE_BYTES;
    Ok(check_memory(&[(bytes as u64, 1)], || format!("a network of about {ops} ops and {edges} edges"))?)
}

/// The parameter that adds gradients and updates.
pub(super) fn training(params: &mut Params) -> Result<bool, SpecError> {
    params.word("training", false, "whether gradients and updates follow the forward pass: true or false")
}

/// A size of a network, which is below 2^20, so that products of three stay exact.
pub(super) fn size(params: &mut Params, name: &'static str, default: u64, doc: &str) -> Result<u64, SpecError> {
    params.number(name, default, 1..=1 << 20, doc)
}
