//! What the reader of GraphDefs reports.

use std::fmt;

/// What the reader found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Nodes of the file; each became an op, or several where loops were unrolled. All other numbers count what became of them.
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
    /// What [`LoopPolicy::Unroll`](crate::format::LoopPolicy::Unroll) did.
    pub unrolled: Option<Unrolling>,
}

/// How loops were unrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unrolling {
    /// Loops, outer and inner ones; 0 if nothing was to do.
    pub loops: usize,
    /// Iterations of each.
    pub times: u32,
    /// Nodes in loops.
    pub ops: usize,
    /// Ops that these became.
    pub copies: usize,
}

impl fmt::Display for Unrolling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { loops, times, ops, copies } = self;
        let iterations = if *times == 1 { "iteration" } else { "iterations" };
        match loops {
            0 => f.write_str("no loop to unroll"),
            1 => write!(f, "{ops} in a loop, which became {copies} ops in {times} {iterations}"),
            _ => write!(f, "{ops} in {loops} loops, which became {copies} ops, with {times} {iterations} of each loop"),
        }
    }
}

impl fmt::Display for ImportReport {
    /// One line for a log or a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes", self.nodes)?;
        self.unrolled.map_or(Ok(()), |unrolled| write!(f, " ({unrolled})"))?;
        write!(
            f,
            ", {} data edges, {} control edges, {} with a class, {} reference edges, {} edges dropped, {} sizes unknown, \
             {} costs unknown, {} for the CPU alone",
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
