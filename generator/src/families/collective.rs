//! Collective exchanges between workers as ops.

use placebench_datasets::OpId;

use super::network::VALUE_BYTES;
use crate::{GeneratorError, Op, Output, Sketch};

/// Adds ops for workers, all ops of a worker on one device.
#[derive(Debug)]
pub(super) struct Workers {
    labels: Vec<String>,
    /// The first op of each worker.
    first: Vec<Option<OpId>>,
}

impl Workers {
    /// Workers `NAME_0`, `NAME_1`, ….
    pub(super) fn new(name: &str, count: usize) -> Self {
        Self { labels: (0..count).map(|worker| format!("{name}_{worker}")).collect(), first: vec![None; count] }
    }

    pub(super) fn count(&self) -> usize {
        self.labels.len()
    }

    /// Adds an op of a worker; its outputs are numbers of values.
    pub(super) fn op(
        &mut self,
        sketch: &mut Sketch,
        worker: usize,
        op: Op<'_>,
        inputs: &[Output],
    ) -> Result<OpId, GeneratorError> {
        let outputs: Vec<u64> = op.outputs.iter().map(|values| values * VALUE_BYTES).collect();
        let op = Op { layer: Some(&self.labels[worker]), with: self.first[worker], outputs: &outputs, ..op };
        let id = sketch.op(&op, inputs)?;
        self.first[worker].get_or_insert(id);
        Ok(id)
    }

    /// Adds up one tensor of each worker, of `values` values, on a ring: chunk c starts at worker c and goes round, P − 1 hops
    /// to be added to and P − 1 hops to be passed on. Returns for each worker the chunks of the sum.
    ///
    /// There are P + 2P(P − 1) ops, and 2(P − 1) times the tensor's bytes move between workers. Adding costs an operation a
    /// value.
    ///
    /// # Reference
    /// P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations. Journal of Parallel and
    /// Distributed Computing 69(2), 2009, 117–124.
    pub(super) fn all_reduce(
        &mut self,
        sketch: &mut Sketch,
        inputs: &[Output],
        values: u64,
    ) -> Result<Vec<Vec<Output>>, GeneratorError> {
        let count = self.count();
        if count == 1 {
            return Ok(vec![inputs.to_vec()]);
        }
        let chunk = |number: usize| (number as u64 + 1) * values / count as u64 - number as u64 * values / count as u64;
        let chunks: Vec<u64> = (0..count).map(chunk).collect();
        let mut splits = Vec::with_capacity(count);
        for (worker, &input) in inputs.iter().enumerate() {
            let split = Op { class: "Split", outputs: &chunks, ..Op::default() };
            splits.push(self.op(sketch, worker, split, &[input])?);
        }
        // Where each chunk is now.
        let mut at: Vec<Output> = (0..count).map(|number| (splits[number], number)).collect();
        let mut sums: Vec<Vec<Output>> = vec![Vec::with_capacity(count); count];
        for hop in 0..2 * (count - 1) {
            for (worker, sums) in sums.iter_mut().enumerate() {
                let number = (worker + 2 * count - hop - 1) % count;
                let outputs = [chunks[number]];
                at[number] = if hop + 1 < count {
                    let reduce = Op { class: "Reduce", ops: chunks[number] as f64, outputs: &outputs, ..Op::default() };
                    (self.op(sketch, worker, reduce, &[at[number], (splits[worker], number)])?, 0)
                } else {
                    let gather = Op { class: "Gather", outputs: &outputs, ..Op::default() };
                    (self.op(sketch, worker, gather, &[at[number]])?, 0)
                };
                if hop + 2 >= count {
                    sums.push(at[number]);
                }
            }
        }
        Ok(sums)
    }
}
