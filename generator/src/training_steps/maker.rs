//! Adds ops to the graph of training steps, each at its worker or server.

use std::collections::BTreeMap;

use placebench_datasets::{GraphBuilder, GraphError, OpId, OpSpec};

use super::params::{TrainingParams, VALUE_BYTES};
use crate::exchange::{Members, share};
use crate::sketch::Output;

/// Builds the graph; a place is a worker, or a server by its number after the workers.
pub(super) struct Maker<'p> {
    pub(super) params: &'p TrainingParams,
    pub(super) workers: usize,
    /// Weights of a worker: all of the model, or its part of each layer.
    pub(super) values: Vec<u64>,
    /// By layer and server, the ops that say that an exchange is over, in the order of exchanges.
    pub(super) clocks: BTreeMap<(String, usize), Vec<OpId>>,
    labels: Vec<String>,
    /// The first op of each place, with which the others are colocated.
    first_op: Vec<Option<OpId>>,
    pub(super) place_of: Vec<usize>,
    pub(super) builder: GraphBuilder,
}

impl<'p> Maker<'p> {
    pub(super) fn new(params: &'p TrainingParams) -> Self {
        Self {
            params,
            workers: params.worker_count() as usize,
            values: values(params),
            clocks: BTreeMap::new(),
            labels: labels(params),
            first_op: Vec::new(),
            place_of: Vec::new(),
            builder: GraphBuilder::default(),
        }
    }
}

impl Members for Maker<'_> {
    /// All ops of a place are colocated.
    fn add(
        &mut self,
        place: usize,
        name: &str,
        op_type: &str,
        ops: f64,
        outputs: &[u64],
        inputs: &[Output],
    ) -> Result<OpId, GraphError> {
        let label = &self.labels[place];
        let memory_bytes = if op_type == "Variable" { self.values[place] * VALUE_BYTES } else { 0 };
        let name = format!("{label}/{name}");
        let (op_type, layer) = (Some(op_type), Some(label.as_str()));
        let spec = OpSpec { name: Some(&name), op_type, layer, memory_bytes, ..OpSpec::cost(ops) };
        let op = self.builder.add_op(spec, outputs);
        for &(producer, port) in inputs {
            self.builder.add_edge(producer, port, op)?;
        }
        self.place_of.push(place);
        self.first_op.resize(self.labels.len(), None);
        match self.first_op[place] {
            Some(first) => self.builder.colocate(first, op)?,
            None => self.first_op[place] = Some(op),
        }
        Ok(op)
    }
}

fn labels(params: &TrainingParams) -> Vec<String> {
    let workers = (0..params.worker_count()).map(|worker| format!("worker_{worker}"));
    workers.chain((0..params.server_count()).map(|server| format!("server_{server}"))).collect()
}

/// The weights of each worker.
fn values(params: &TrainingParams) -> Vec<u64> {
    let split = params.split as usize;
    let layers = params.model_layers();
    let part = |part: usize| layers.iter().map(|layer| share(layer.values, part, split)).sum();
    (0..params.worker_count() as usize).map(|worker| part(worker % split)).collect()
}
