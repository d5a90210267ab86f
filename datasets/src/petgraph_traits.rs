//! petgraph's view of a graph: its visit traits on [`DataflowGraph`], and conversion both ways.
//!
//! So `petgraph::algo` works on `&DataflowGraph` as it stands: `toposort`, `tarjan_scc`, `dominators::simple_fast`, ….

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit;

use crate::{DataflowGraph, EdgeId, OpId, TensorId};
use crate::{GraphBuilder, GraphError, OpSpec};

impl visit::GraphBase for DataflowGraph {
    type NodeId = OpId;
    type EdgeId = EdgeId;
}

impl visit::GraphProp for DataflowGraph {
    type EdgeType = petgraph::Directed;
}

impl visit::Data for DataflowGraph {
    type NodeWeight = f64;
    type EdgeWeight = Option<TensorId>;
}

impl visit::NodeCount for DataflowGraph {
    fn node_count(&self) -> usize {
        self.op_count()
    }
}

impl visit::EdgeCount for DataflowGraph {
    fn edge_count(&self) -> usize {
        self.edge_count()
    }
}

impl visit::NodeIndexable for DataflowGraph {
    fn node_bound(&self) -> usize {
        self.op_count()
    }

    fn to_index(&self, op: OpId) -> usize {
        op.index()
    }

    fn from_index(&self, index: usize) -> OpId {
        OpId::new(index)
    }
}

impl visit::NodeCompactIndexable for DataflowGraph {}

impl visit::EdgeIndexable for DataflowGraph {
    fn edge_bound(&self) -> usize {
        self.edge_count()
    }

    fn to_index(&self, edge: EdgeId) -> usize {
        edge.index()
    }

    fn from_index(&self, index: usize) -> EdgeId {
        EdgeId::new(index)
    }
}

impl visit::IntoNodeIdentifiers for &DataflowGraph {
    type NodeIdentifiers = std::iter::Map<std::ops::Range<u32>, fn(u32) -> OpId>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        (0..self.op_count() as u32).map(OpId)
    }
}

/// An op with its cost, as petgraph's node references.
impl<'a> visit::IntoNodeReferences for &'a DataflowGraph {
    type NodeRef = (OpId, &'a f64);
    type NodeReferences = NodeReferences<'a>;

    fn node_references(self) -> Self::NodeReferences {
        NodeReferences { costs: self.ops.iter().enumerate() }
    }
}

/// Iterator over ops and their costs.
#[derive(Clone, Debug)]
pub struct NodeReferences<'a> {
    costs: std::iter::Enumerate<std::slice::Iter<'a, f64>>,
}

impl<'a> Iterator for NodeReferences<'a> {
    type Item = (OpId, &'a f64);

    fn next(&mut self) -> Option<Self::Item> {
        self.costs.next().map(|(index, cost)| (OpId::new(index), cost))
    }
}

impl<'a> visit::IntoNeighbors for &'a DataflowGraph {
    type Neighbors = std::iter::Copied<std::slice::Iter<'a, OpId>>;

    fn neighbors(self, op: OpId) -> Self::Neighbors {
        self.successor_ops(op).iter().copied()
    }
}

impl<'a> visit::IntoNeighborsDirected for &'a DataflowGraph {
    type NeighborsDirected = std::iter::Copied<std::slice::Iter<'a, OpId>>;

    fn neighbors_directed(self, op: OpId, direction: Direction) -> Self::NeighborsDirected {
        match direction {
            Direction::Outgoing => self.successor_ops(op).iter().copied(),
            Direction::Incoming => self.predecessor_ops(op).iter().copied(),
        }
    }
}

/// An edge with both ends and the tensor that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeReference {
    id: EdgeId,
    source: OpId,
    target: OpId,
    tensor: Option<TensorId>,
}

impl visit::EdgeRef for EdgeReference {
    type NodeId = OpId;
    type EdgeId = EdgeId;
    type Weight = Option<TensorId>;

    fn source(&self) -> OpId {
        self.source
    }

    fn target(&self) -> OpId {
        self.target
    }

    fn weight(&self) -> &Option<TensorId> {
        &self.tensor
    }

    fn id(&self) -> EdgeId {
        self.id
    }
}

/// Iterator over a run of edges with ascending ids.
#[derive(Clone, Debug)]
pub struct EdgeReferences<'a> {
    graph: &'a DataflowGraph,
    source: OpId,
    next: u32,
    end: u32,
}

impl Iterator for EdgeReferences<'_> {
    type Item = EdgeReference;

    fn next(&mut self) -> Option<EdgeReference> {
        if self.next == self.end {
            return None;
        }
        let id = EdgeId(self.next);
        self.next += 1;
        while self.graph.out_offsets[self.source.index() + 1] <= id.0 {
            self.source.0 += 1;
        }
        let edge = self.graph.edge(id);
        Some(EdgeReference { id, source: self.source, target: edge.op, tensor: edge.tensor })
    }
}

impl<'a> visit::IntoEdgeReferences for &'a DataflowGraph {
    type EdgeRef = EdgeReference;
    type EdgeReferences = EdgeReferences<'a>;

    fn edge_references(self) -> Self::EdgeReferences {
        EdgeReferences { graph: self, source: OpId(0), next: 0, end: self.edge_count() as u32 }
    }
}

impl<'a> visit::IntoEdges for &'a DataflowGraph {
    type Edges = EdgeReferences<'a>;

    fn edges(self, op: OpId) -> Self::Edges {
        let (next, end) = (self.out_offsets[op.index()], self.out_offsets[op.index() + 1]);
        EdgeReferences { graph: self, source: op, next, end }
    }
}

/// The set of ops that a traversal has seen, one bit an op.
#[derive(Clone, Debug, Default)]
pub struct Visited(Vec<u64>);

impl visit::VisitMap<OpId> for Visited {
    fn visit(&mut self, op: OpId) -> bool {
        let word = &mut self.0[op.index() / 64];
        let bit = 1 << (op.index() % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    fn is_visited(&self, op: &OpId) -> bool {
        self.0[op.index() / 64] & (1 << (op.index() % 64)) != 0
    }

    fn unvisit(&mut self, op: OpId) -> bool {
        let word = &mut self.0[op.index() / 64];
        let bit = 1 << (op.index() % 64);
        let was = *word & bit != 0;
        *word &= !bit;
        was
    }
}

impl visit::Visitable for DataflowGraph {
    type Map = Visited;

    fn visit_map(&self) -> Visited {
        Visited(vec![0; self.op_count().div_ceil(64)])
    }

    fn reset_map(&self, map: &mut Visited) {
        map.0.clear();
        map.0.resize(self.op_count().div_ceil(64), 0);
    }
}

impl DataflowGraph {
    /// A petgraph graph with the costs of ops (operations) as node weights and tensor sizes (bytes; 0 for control edges)
    /// as edge weights. Node and edge indices are the ids here.
    pub fn to_petgraph(&self) -> DiGraph<f64, u64> {
        let mut graph = DiGraph::with_capacity(self.op_count(), self.edge_count());
        for op in self.op_ids() {
            graph.add_node(self.ops(op));
        }
        for (source, edge) in self.edges() {
            graph.add_edge(NodeIndex::new(source.index()), NodeIndex::new(edge.op.index()), self.edge_bytes(edge));
        }
        graph
    }

    /// A graph from a petgraph graph with costs (operations) on nodes and sizes (bytes) on edges: each edge carries a
    /// tensor of its own.
    ///
    /// # Errors
    /// If the graph has a cycle, or a cost is not a finite number ≥ 0.
    pub fn from_petgraph(graph: &DiGraph<f64, u64>) -> Result<Self, GraphError> {
        let mut builder = GraphBuilder::default();
        let mut outputs = Vec::new();
        // petgraph lists a node's edges last first; ports count in the order of edge indices.
        let out_edges = |node| {
            let mut edges: Vec<_> = graph.edges(node).collect();
            edges.sort_unstable_by_key(visit::EdgeRef::id);
            edges
        };
        for node in graph.node_indices() {
            outputs.clear();
            outputs.extend(out_edges(node).iter().map(|edge| *edge.weight()));
            builder.add_op(OpSpec::cost(graph[node]), &outputs);
        }
        for node in graph.node_indices() {
            for (port, edge) in out_edges(node).iter().enumerate() {
                let target = visit::EdgeRef::target(edge);
                builder.add_edge(OpId::new(node.index()), port, OpId::new(target.index()))?;
            }
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use petgraph::algo::{dominators, tarjan_scc, toposort};
    use petgraph::visit::{EdgeRef, IntoEdgeReferences};

    use super::*;

    /// 0 → 1 → 3, 0 → 2 → 3, and 4 alone.
    fn diamond() -> DataflowGraph {
        let mut builder = GraphBuilder::default();
        for cost in [1.0, 2.0, 3.0, 4.0, 5.0] {
            builder.add_op(OpSpec::cost(cost), &[cost as u64 * 10]);
        }
        for (source, target) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
            builder.add_edge(OpId(source), 0, OpId(target)).unwrap();
        }
        builder.build().unwrap()
    }

    #[test]
    fn petgraph_algorithms_run_on_the_graph_itself() {
        let graph = diamond();
        assert_eq!(toposort(&graph, None).unwrap().len(), 5);
        assert_eq!(tarjan_scc(&graph).len(), 5);
        let dominators = dominators::simple_fast(&graph, OpId(0));
        assert_eq!(dominators.immediate_dominator(OpId(3)), Some(OpId(0)));
        let ends: Vec<_> = (&graph).edge_references().map(|edge| (edge.source().0, edge.target().0)).collect();
        assert_eq!(ends, [(0, 1), (0, 2), (1, 3), (2, 3)]);
    }

    #[test]
    fn conversion_to_petgraph_and_back_keeps_structure_and_weights() {
        let graph = diamond();
        let there = graph.to_petgraph();
        let back = DataflowGraph::from_petgraph(&there).unwrap();
        let again = back.to_petgraph();
        assert!(there.raw_nodes().iter().zip(again.raw_nodes()).all(|(a, b)| a.weight == b.weight));
        let list = |graph: &DiGraph<f64, u64>| -> Vec<_> {
            graph.edge_references().map(|edge| (edge.source(), edge.target(), *edge.weight())).collect()
        };
        assert_eq!(list(&there), list(&again));
    }
}
