//! Adds the ops and edges of a family's graph one after another, within 32-bit ids and the memory there is.

use placebench_base::process::check_memory;
use placebench_datasets::{GraphBuilder, OpId, OpSpec};

use crate::error::GeneratorError;

/// Bytes an op and an edge take at most while a graph is built.
const OP_BYTES: u64 = 160;
const EDGE_BYTES: u64 = 44;

/// An output of an op: the op and the number of its port.
pub type Output = (OpId, usize);

/// An op to add.
#[derive(Clone, Debug, Default)]
pub struct Op<'a> {
    /// What it does: the op type.
    pub class: &'a str,
    /// The layer, stage or worker that it belongs to.
    pub layer: Option<&'a str>,
    /// Cost in operations.
    pub ops: f64,
    /// Resident memory in bytes.
    pub memory_bytes: u64,
    /// Size of each output in bytes.
    pub outputs: &'a [u64],
    /// An op on whose device it must run.
    pub with: Option<OpId>,
}

/// A graph under construction.
#[derive(Debug, Default)]
pub struct Sketch {
    pub(crate) builder: GraphBuilder,
    edges: u64,
    /// Bytes for which there was room when it was last asked.
    bytes: u64,
}

impl Sketch {
    /// Adds an op with one output, whose costs are drawn later, after the ops whose outputs it takes.
    ///
    /// # Errors
    /// If the graph outgrows 32-bit ids or memory.
    pub fn task(&mut self, class: &str, inputs: &[OpId]) -> Result<OpId, GeneratorError> {
        let op = self.add(&Op { class, outputs: &[0], ..Op::default() }, inputs.len())?;
        for &input in inputs {
            self.builder.add_edge(input, 0, op)?;
        }
        Ok(op)
    }

    /// Adds an op with its costs.
    ///
    /// # Errors
    /// If an input does not exist, or the graph outgrows 32-bit ids or memory.
    pub fn op(&mut self, op: &Op<'_>, inputs: &[Output]) -> Result<OpId, GeneratorError> {
        let id = self.add(op, inputs.len())?;
        for &(producer, port) in inputs {
            self.builder.add_edge(producer, port, id)?;
        }
        if let Some(with) = op.with {
            self.builder.colocate(with, id)?;
        }
        Ok(id)
    }

    /// Lets `second` start only after `first` has ended.
    ///
    /// # Errors
    /// If an op does not exist.
    pub fn control(&mut self, first: OpId, second: OpId) -> Result<(), GeneratorError> {
        self.edges += 1;
        Ok(self.builder.add_control_edge(first, second)?)
    }

    /// Number of ops so far.
    pub fn op_count(&self) -> usize {
        self.builder.op_count()
    }

    /// Checks that a graph of about this number of ops and edges fits, before a family takes memory or time for it.
    ///
    /// # Errors
    /// If the graph would outgrow 32-bit ids or memory.
    pub fn expect(&self, ops: f64, edges: f64) -> Result<(), GeneratorError> {
        // Casts saturate: a cube of 2^32 is just too large.
        let (ops, edges) = (ops as u64, edges as u64);
        if ops.max(edges) >= u64::from(u32::MAX) {
            return Err(GeneratorError::TooLarge { ops, edges });
        }
        let parts = [(ops, OP_BYTES), (edges, EDGE_BYTES)];
        Ok(check_memory(&parts, || format!("a graph of about {ops} ops and {edges} edges"))?)
    }

    fn add(&mut self, op: &Op<'_>, inputs: usize) -> Result<OpId, GeneratorError> {
        self.edges += inputs as u64;
        let ops = self.builder.op_count() as u64 + 1;
        let bytes = ops * OP_BYTES + self.edges * EDGE_BYTES;
        if bytes > self.bytes {
            let edges = self.edges;
            if ops.max(edges) >= u64::from(u32::MAX) {
                return Err(GeneratorError::TooLarge { ops, edges });
            }
            // Asks for a quarter more, and so only when the graph has grown by that.
            self.bytes = bytes + bytes / 4 + (1 << 20);
            check_memory(&[(self.bytes, 1)], || format!("a graph of more than {ops} ops and {edges} edges"))?;
        }
        let Op { class, layer, ops, memory_bytes, outputs, .. } = *op;
        let spec = OpSpec { op_type: Some(class), layer, memory_bytes, ..OpSpec::cost(ops) };
        Ok(self.builder.add_op(spec, outputs))
    }
}
