//! What a placement problem is: graphs, clusters, instances, placements, and their files.
//!
//! Data flows one way through the suite: a [`DataflowGraph`] and a [`Cluster`] make an [`Instance`]; a placer turns it
//! into a [`Placement`]; [`PlacedGraph`] inserts the send/receive pairs; a simulator does the rest.

pub mod catalogue;
pub mod format;
pub mod stream;

mod arrays;
mod builder;
mod categories;
mod cluster;
mod colocation;
mod columns;
mod device_classes;
mod graph;
mod graph_error;
mod hypergraph;
mod ids;
mod instance;
mod kind;
mod kinds;
mod link;
mod magnitude;
mod measured_times;
mod memory_rule;
mod numbers;
mod overheads;
mod petgraph_traits;
mod placed;
mod placement;
mod properties;
mod renumbered;
mod rounding;
mod shared_links;
mod splitmix;
mod topology;
mod transpose;
mod undirected;
mod undirected_error;
mod undirected_rows;
mod units;
mod view;

pub use builder::{CyclePolicy, GraphBuilder, OpSpec};
pub use categories::{Categories, NameTable};
pub use cluster::{Cluster, ClusterError, Device, Roofline, processor_class};
pub use colocation::Colocation;
pub use device_classes::{DeviceClass, DeviceClasses, is_matrix_op};
pub use graph::{BackwardParts, DataflowGraph, Edge};
pub use graph_error::GraphError;
pub use hypergraph::{Hypergraph, HypergraphError};
pub use ids::{DeviceId, EdgeId, GroupId, OpId, TensorId, TransferId, UnitId};
pub use instance::{Instance, InstanceError};
pub use kind::{Kind, KindSet};
pub use kinds::Kinds;
pub use link::Link;
pub use magnitude::{MAGNITUDES, MOST_BYTES, MagnitudeError};
pub use measured_times::MeasuredTimes;
pub use memory_rule::MemoryRule;
pub use numbers::Numbers;
pub use overheads::TransferOverheads;
pub use placed::{PlacedGraph, Transfer};
pub use placement::{Placement, PlacementError};
pub use properties::{Properties, ccr};
pub use renumbered::Renumbered;
pub use rounding::{ROUNDING, is_equal, is_less};
pub use shared_links::SharedLinks;
pub use splitmix::{SplitMix64, splitmix64};
pub use topology::{Topology, TopologyError, TopologyLink};
pub use undirected::UndirectedGraph;
pub use undirected_error::UndirectedError;
pub use units::AssignmentUnits;
pub use view::{EdgeWeight, VertexWeight, Vertices, View, ViewError, ViewOptions};

/// Simulated time, in the time unit of the instance: seconds for graphs with measured costs, L's execution units (EU)
/// where costs are operations and speeds operations per EU.
pub type Time = f64;
