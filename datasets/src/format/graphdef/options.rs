//! What a user may choose when a GraphDef is read, and what the reader reports of it.

use std::fmt;
use std::str::FromStr;

/// What to do with the cycles of a GraphDef.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopPolicy {
    /// Refuse the graph, naming a node on the cycle.
    #[default]
    Reject,
    /// Drop the edges from `NextIteration` nodes into `Merge` nodes, which close the loops of TensorFlow, and no others: one pass
    /// through each loop is left. Other cycles are refused; TensorFlow has none.
    NextIteration,
    /// Drop, of each cycle, the edge over which a depth-first search found it (B §4.1).
    Drop,
}

impl FromStr for LoopPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "reject" => Ok(Self::Reject),
            "next_iteration" => Ok(Self::NextIteration),
            "drop" => Ok(Self::Drop),
            _ => Err(format!("unknown cycle policy '{text}': expected reject, next_iteration or drop")),
        }
    }
}

/// How to read a GraphDef.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// What to do with cycles.
    pub cycles: LoopPolicy,
    /// Whether the ends of an edge that hands over a reference or a resource handle are colocated, as TensorFlow's own placer
    /// does; `loc:@` classes always are.
    pub colocate_references: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { cycles: LoopPolicy::Reject, colocate_references: true }
    }
}

/// What the reader met in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Nodes, all of which became ops.
    pub nodes: usize,
    /// Inputs that carry a tensor.
    pub data_edges: usize,
    /// Inputs that only order.
    pub control_edges: usize,
    /// Nodes with a `loc:@` class.
    pub class_colocated: usize,
    /// Edges that hand over a reference or a resource handle, and so colocate their ends if
    /// [`ReadOptions::colocate_references`] is set.
    pub reference_edges: usize,
    /// Edges left out by the [`LoopPolicy`].
    pub dropped_edges: usize,
    /// Output ports whose size neither the file nor its sidecar tells; they count as 0 bytes.
    pub unknown_sizes: usize,
    /// Nodes whose cost neither the file nor its sidecar tells; they cost 0.
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
