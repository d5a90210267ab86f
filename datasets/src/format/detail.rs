//! What a graph may have and a format may lack.

use std::fmt;

/// Something for which a format may have no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// The title in the header.
    Title,
    /// The licence in the header.
    Licence,
    /// What numbers count, where it is not operations, seconds and bytes.
    Units,
    /// Where the graph comes from.
    Provenance,
    /// Which of the kinds that ops have kernels for they may run on, where it is not all.
    KindRule,
    /// Names of ops.
    Names,
    /// Types of ops.
    Types,
    /// Layer labels.
    Layers,
    /// Attributes of ops, which say which ops compute the same function.
    Attributes,
    /// Resident memory.
    Memory,
    /// The device kinds that an op may run on.
    Kinds,
    /// Measured times.
    Times,
    /// Bytes that ops read from and write to their device's memory.
    BytesMoved,
    /// Colocation groups.
    Colocation,
    /// Which end of an edge produces and which consumes.
    Direction,
    /// Tensors with their sizes. Without them, all edges become control edges.
    Tensors,
    /// Tensors that several edges carry. Without them, each edge gets a tensor of its own.
    SharedTensors,
    /// Tensors that no edge carries.
    UnusedTensors,
    /// Edges that carry nothing. Without them, they carry a tensor of 0 bytes.
    ControlEdges,
    /// Several edges from one op to another. Without them, one edge carries the sum of their bytes.
    ParallelEdges,
    /// A tensor that an op reads twice, and a control edge beside another edge.
    RepeatedInputs,
    /// The order of an op's outputs. Without it, they are in the order of their consumers.
    OutputOrder,
    /// The order of an op's inputs. Without it, they are in the order of their tensors.
    InputOrder,
    /// Weights of vertices: the costs of ops.
    VertexWeights,
    /// Weights of edges: the bytes of tensors.
    EdgeWeights,
    /// Edges of weight 0.
    ZeroEdges,
    /// Weights that add up to 2³¹ or more. Without them, they are scaled down to less, and rounded.
    WideWeights,
    /// Nets without pins.
    EmptyNets,
    /// Links that differ by direction.
    OneWayLinks,
    /// The links from which the rates of a cluster follow.
    Topology,
    /// What a send op costs.
    SendOps,
    /// What transfers cost their ends.
    TransferOverheads,
    /// Classes of devices, by which graphs give measured times.
    DeviceClasses,
    /// Speeds of matrix units and bandwidths of memories.
    Rooflines,
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Title => "title",
            Self::Licence => "licence",
            Self::Units => "units",
            Self::Provenance => "provenance",
            Self::KindRule => "rule of kinds",
            Self::Names => "names",
            Self::Types => "op types",
            Self::Layers => "layers",
            Self::Attributes => "attributes",
            Self::Memory => "resident memory",
            Self::Kinds => "device kinds",
            Self::Times => "measured times",
            Self::BytesMoved => "bytes moved",
            Self::Colocation => "colocation",
            Self::Direction => "direction",
            Self::Tensors => "tensors",
            Self::SharedTensors => "shared tensors",
            Self::UnusedTensors => "unused tensors",
            Self::ControlEdges => "control edges",
            Self::ParallelEdges => "parallel edges",
            Self::RepeatedInputs => "repeated inputs",
            Self::OutputOrder => "order of outputs",
            Self::InputOrder => "order of inputs",
            Self::VertexWeights => "weights of vertices",
            Self::EdgeWeights => "weights of edges",
            Self::ZeroEdges => "edges of weight 0",
            Self::WideWeights => "weights that add up to 2^31 or more",
            Self::EmptyNets => "nets without pins",
            Self::OneWayLinks => "links that differ by direction",
            Self::Topology => "topology",
            Self::SendOps => "send_ops",
            Self::TransferOverheads => "overheads of transfers",
            Self::DeviceClasses => "classes of devices",
            Self::Rooflines => "rooflines of devices",
        })
    }
}
