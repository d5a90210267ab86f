//! Unrolled recurrent networks.

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;

use super::network::{self, Network, Tensor, size};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// A recurrent cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// One matrix product, one state.
    Plain,
    /// Three gates, one state (Cho et al. 2014).
    Gru,
    /// Four gates, two states (Hochreiter, Schmidhuber 1997).
    Lstm,
}

impl Named for Cell {
    const NAMES: &'static [(&'static str, Self)] = &[("lstm", Self::Lstm), ("gru", Self::Gru), ("plain", Self::Plain)];
}

/// A layer of cells with its weights: each step takes an input and the state of the step before.
pub(super) struct Layer {
    cell: Cell,
    weights: Tensor,
    /// Values of an input and of the state, of one example.
    sizes: (u64, u64),
    batch: u64,
    state: Vec<Tensor>,
}

impl Layer {
    /// A layer with a variable of its own; `state` is where it begins.
    pub(super) fn new(net: &mut Network, cell: Cell, sizes: (u64, u64), batch: u64, state: Vec<Tensor>) -> Self {
        let (input, hidden) = sizes;
        let weights = net.variable(cell.gates() * ((input + hidden) * hidden + hidden));
        Self { cell, weights, sizes, batch, state }
    }

    /// A step; returns the output.
    pub(super) fn step(&mut self, net: &mut Network, inputs: &[Tensor]) -> Tensor {
        let (input, hidden) = self.sizes;
        let flops = 2.0 * (self.cell.gates() * self.batch * (input + hidden)) as f64 * hidden as f64;
        let all: Vec<Tensor> = inputs.iter().chain(&self.state).copied().chain([self.weights]).collect();
        let states = if self.cell == Cell::Lstm { 2 } else { 1 };
        self.state = net.ops("Cell", flops, &all, &vec![self.batch * hidden; states]);
        self.state[0]
    }

    /// The state after the last step.
    pub(super) fn state(&self) -> Vec<Tensor> {
        self.state.clone()
    }
}

impl Cell {
    fn gates(self) -> u64 {
        match self {
            Self::Plain => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }
}

/// A recurrent network of several layers, unrolled over time: the cell of layer l at step t takes the output of layer l − 1 at
/// t and its own state at t − 1. All steps of a layer share its weights.
///
/// With L layers and T steps there are LT + L + 2 ops without training. A cell costs the flops of its matrix products:
/// 2 · gates · batch · hidden · (input + hidden).
///
/// # Reference
/// S. Hochreiter, J. Schmidhuber: Long short-term memory. Neural Computation 9(8), 1997, 1735–1780. Unrolled as in
/// A. Mirhoseini et al.: Device placement optimization with reinforcement learning. ICML 2017.
pub(super) struct Rnn {
    layers: u64,
    steps: u64,
    hidden: u64,
    batch: u64,
    cell: Cell,
    training: bool,
}

impl GraphFamily for Rnn {
    const NAME: &'static str = "rnn";
    const SUMMARY: &'static str = "recurrent network of layers, unrolled over time";
    const SOURCE: &'static str = "Hochreiter, Schmidhuber 1997; Mirhoseini et al. 2017";
    const COSTS: Source = Source::Own;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            layers: size(params, "layers", 2, "layers")?,
            steps: size(params, "steps", 8, "steps over time")?,
            hidden: size(params, "hidden", 512, "values of a cell's state, and of an input")?,
            batch: size(params, "batch", 32, "examples handled at once")?,
            cell: params.word("cell", Cell::Lstm, "lstm, gru or plain")?,
            training: network::training(params)?,
        })
    }

    fn build(&self, sketch: &mut Sketch, _seed: u64) -> Result<(), GeneratorError> {
        let cells = self.layers as f64 * self.steps as f64;
        network::expect(sketch, cells, 4.0 * cells, self.training)?;
        let mut net = Network::default();
        net.layer("input".to_owned());
        let mut tensors = net.input(&vec![self.batch * self.hidden; self.steps as usize]);
        for layer in 0..self.layers {
            net.layer(format!("layer_{layer}"));
            let mut cells = Layer::new(&mut net, self.cell, (self.hidden, self.hidden), self.batch, Vec::new());
            tensors = tensors.iter().map(|&input| cells.step(&mut net, &[input])).collect();
        }
        net.layer("output".to_owned());
        net.end(self.training, &tensors);
        net.build(sketch, self.training)
    }
}
