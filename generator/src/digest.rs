//! The SHA-256 of a graph's content, to compare it with a graph that is not at hand.

use placebench_datasets::{Categories, DataflowGraph, Kind, OpId};
use sha2::{Digest, Sha256};

/// The SHA-256 of a graph's content, as 64 hexadecimal digits.
///
/// All numbers are little-endian; counts and sizes are 64 bits, ids 32. Hashed are, in this order:
/// 1. the text `placebench graph 1`, the number of ops, tensors and edges;
/// 2. for each op its cost (the bits of the double); then for each its memory; then for each its kinds (one byte, bit 0 CPU,
///    1 GPU, 2 TPU);
/// 3. for each op its number of outputs; then the size of each tensor;
/// 4. for each op its number of in-edges, then for each in order the producer and the tensor, 2³² − 1 for a control edge;
/// 5. for each op its colocation group plus one, 0 for none;
/// 6. for each of CPU, GPU, TPU one byte, whether there are measured times; if so for each op the bits, −1 for none;
/// 7. names, op types and layers, each one byte, whether there are any; if so for each op one byte, whether it has one, and if so
///    its length in bytes and the text.
///
/// Columns that graphs have gained since are hashed where a graph has them: measured times of further classes and bytes moved
/// before names, attributes last, as layers are.
///
/// # Complexity
/// O(ops + edges): about 33 bytes an op and 8 an edge are hashed.
pub fn graph_sha256(graph: &DataflowGraph) -> String {
    let mut hash = Buffered { sha: Sha256::new(), buffer: Vec::with_capacity(Buffered::SIZE) };
    hash.bytes(b"placebench graph 1");
    for count in [graph.op_count(), graph.tensor_count(), graph.edge_count()] {
        hash.bytes(&(count as u64).to_le_bytes());
    }
    graph.op_ids().for_each(|op| hash.bytes(&graph.ops(op).to_bits().to_le_bytes()));
    graph.op_ids().for_each(|op| hash.bytes(&graph.memory_bytes(op).to_le_bytes()));
    graph.op_ids().for_each(|op| hash.bytes(&[graph.kinds(op).bits()]));
    graph.op_ids().for_each(|op| hash.bytes(&(graph.outputs(op).len() as u32).to_le_bytes()));
    for tensor in graph.op_ids().flat_map(|op| graph.outputs(op)) {
        hash.bytes(&graph.tensor_bytes(tensor).to_le_bytes());
    }
    for op in graph.op_ids() {
        hash.bytes(&(graph.in_degree(op) as u32).to_le_bytes());
        for edge in graph.predecessors(op) {
            hash.bytes(&edge.op.0.to_le_bytes());
            hash.bytes(&edge.tensor.map_or(u32::MAX, |tensor| tensor.0).to_le_bytes());
        }
    }
    for op in graph.op_ids() {
        let group = graph.colocation().group_of(op).map_or(0, |group| group.0 + 1);
        hash.bytes(&group.to_le_bytes());
    }
    let number = |value: Option<f64>| value.unwrap_or(-1.0).to_bits().to_le_bytes();
    for kind in Kind::ALL {
        let times = graph.measured_on(kind.class());
        hash.bytes(&[u8::from(times.is_some())]);
        if let Some(times) = times {
            graph.op_ids().for_each(|op| hash.bytes(&number(times.of(op))));
        }
    }
    // What graphs may have since adds nothing to the digest of one that has it not.
    for times in
        graph.measured_times().iter().filter(|times| Kind::ALL.iter().all(|kind| kind.class() != times.class()))
    {
        hash.bytes(times.class().as_bytes());
        graph.op_ids().for_each(|op| hash.bytes(&number(times.of(op))));
    }
    if graph.has_bytes_moved() {
        graph.op_ids().for_each(|op| hash.bytes(&number(graph.bytes_moved(op))));
    }
    hash.texts(graph, graph.has_names(), |op| graph.name(op));
    hash.categories(graph, graph.op_types());
    hash.categories(graph, graph.layers());
    if graph.attributes().is_some() {
        hash.categories(graph, graph.attributes());
    }
    hash.finish()
}

/// Collects bytes and hashes them in large pieces: a call for every number would cost more than the hashing.
struct Buffered {
    sha: Sha256,
    buffer: Vec<u8>,
}

impl Buffered {
    const SIZE: usize = 1 << 14;

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > Self::SIZE {
            self.sha.update(&self.buffer);
            self.buffer.clear();
        }
        self.buffer.extend_from_slice(bytes);
    }

    fn texts<'a>(&mut self, graph: &DataflowGraph, any: bool, text: impl Fn(OpId) -> Option<&'a str>) {
        self.bytes(&[u8::from(any)]);
        if !any {
            return;
        }
        for op in graph.op_ids() {
            let text = text(op);
            self.bytes(&[u8::from(text.is_some())]);
            if let Some(text) = text {
                self.bytes(&(text.len() as u64).to_le_bytes());
                self.bytes(text.as_bytes());
            }
        }
    }

    fn categories(&mut self, graph: &DataflowGraph, categories: Option<&Categories>) {
        self.texts(graph, categories.is_some(), |op| categories.and_then(|categories| categories.get(op.index())));
    }

    fn finish(mut self) -> String {
        self.sha.update(&self.buffer);
        self.sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use placebench_datasets::{GraphBuilder, KindSet, OpSpec};

    /// Two ops and an edge; each variant differs from the first in one thing.
    fn variant(number: usize) -> DataflowGraph {
        let mut builder = GraphBuilder::default();
        let mut first = OpSpec { name: Some("a"), layer: Some("x"), ..OpSpec::cost(1.0) };
        let mut second = OpSpec { name: Some("b"), ..OpSpec::cost(1.0) };
        match number {
            1 => first.ops = 2.0,
            2 => first.memory_bytes = 5,
            3 => first.kinds = KindSet::only(Kind::Gpu),
            4 => first.times = &[("gpu", 1.0)],
            5 => second.name = Some("c"),
            6 => second.op_type = Some("MatMul"),
            7 => second.layer = Some("x"),
            13 => second.attributes = Some("x"),
            _ => {}
        }
        let a = builder.add_op(first, if number == 8 { &[9, 1] } else { &[8, 1] });
        let b = builder.add_op(second, &[]);
        match number {
            9 => builder.add_edge(a, 1, b).unwrap(),
            10 => builder.add_control_edge(a, b).unwrap(),
            11 => {}
            _ => builder.add_edge(a, 0, b).unwrap(),
        }
        if number == 12 {
            builder.colocate(a, b).unwrap();
        }
        builder.build().unwrap()
    }

    #[test]
    fn every_part_of_a_graph_counts() {
        let hashes: Vec<String> = (0..14).map(|number| graph_sha256(&variant(number))).collect();
        for (number, hash) in hashes.iter().enumerate() {
            assert_eq!(hash.len(), 64);
            assert!(!hashes[..number].contains(hash), "variant {number}");
        }
        assert_eq!(graph_sha256(&variant(0)), hashes[0]);
    }
}
