//! What the reader of GraphDefs reports.

use std::fmt;

/// What the reader found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Nodes; each became an op.
    pub nodes: usize,
    /// Inputs that carry a tensor.
    pub data_edges: usize,
    /// Inputs that only order.
    pub control_edges: usize,
    /// Nodes with a `loc:@` class.
    pub class_colocated: usize,
    /// Edges that hand over a reference or a resource handle. They colocate their ends unless
    /// [`ReadOptions::no_references`](crate::format::ReadOptions::no_references) is set.
    pub reference_edges: usize,
    /// Edges left out by the [`LoopPolicy`](crate::format::LoopPolicy).
    pub dropped_edges: usize,
    /// Output ports whose size neither the file nor the tables beside it say; they count as 0 bytes.
    pub unknown_sizes: usize,
    /// Nodes whose cost neither the file nor the tables beside it say; they cost 0.
    pub unknown_costs: usize,
    /// Nodes that may run on the CPU alone.
    pub cpu_only: usize,
}

impl fmt::Display for ImportReport {
    /// One line for a log or a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} nodes, {} data edges, {} control edges, {} with a class, {} reference edges, {} edges dropped, {} sizes unknown, \
             {} costs unknown, {} for the CPU alone",
            self.nodes,
            self.data_edges,
            self.control_edges,
            self.class_colocated,
            self.reference_edges,
            self.dropped_edges,
            self.unknown_sizes,
            self.unknown_costs,
            self.cpu_only
        )
    }
}
