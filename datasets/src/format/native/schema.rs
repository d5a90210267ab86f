//! The names of the files, and the columns of the three tables.

/// The file that makes a folder a graph folder.
pub(crate) const HEADER_FILE: &str = "graph.toml";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// 8, 32 or 64-bit unsigned integers, by the number of bits.
    Unsigned(u8),
    /// 64-bit floating point.
    Double,
    /// UTF-8 text.
    Text,
}

/// How a column is encoded before compression, which other readers need not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Few distinct values.
    Dictionary,
    /// Neighbours differ little.
    Delta,
    /// Neither.
    Plain,
}

/// A column of a table.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) content: Content,
    /// Whether a cell may be null.
    pub(crate) nullable: bool,
    /// Whether the column may be left out, which is the same as all nulls.
    pub(crate) optional: bool,
    pub(crate) packing: Packing,
}

pub(crate) const fn required(name: &'static str, content: Content, packing: Packing) -> Column {
    Column { name, content, nullable: false, optional: false, packing }
}

pub(crate) const fn optional(name: &'static str, content: Content, packing: Packing) -> Column {
    Column { name, content, nullable: true, optional: true, packing }
}

/// A table: its file and its columns.
#[derive(Debug)]
pub(crate) struct TableSchema {
    pub(crate) file: &'static str,
    pub(crate) columns: &'static [Column],
}

pub(super) const OPS: TableSchema = TableSchema {
    file: "ops.parquet",
    columns: &[
        required("ops", Content::Double, Packing::Dictionary),
        required("memory_bytes", Content::Unsigned(64), Packing::Dictionary),
        required("kinds", Content::Unsigned(8), Packing::Dictionary),
        optional("group", Content::Unsigned(32), Packing::Delta),
        optional("cpu_seconds", Content::Double, Packing::Dictionary),
        optional("gpu_seconds", Content::Double, Packing::Dictionary),
        optional("tpu_seconds", Content::Double, Packing::Dictionary),
        optional("name", Content::Text, Packing::Plain),
        optional("op_type", Content::Text, Packing::Dictionary),
        optional("layer", Content::Text, Packing::Dictionary),
    ],
};

/// Positions in [`OPS`].
pub(super) mod ops {
    pub(in super::super) const OPS: usize = 0;
    pub(in super::super) const MEMORY_BYTES: usize = 1;
    pub(in super::super) const KINDS: usize = 2;
    pub(in super::super) const GROUP: usize = 3;
    /// The first of three, in the order of kinds.
    pub(in super::super) const SECONDS: usize = 4;
    pub(in super::super) const NAME: usize = 7;
    pub(in super::super) const OP_TYPE: usize = 8;
    pub(in super::super) const LAYER: usize = 9;
}

pub(super) const TENSORS: TableSchema = TableSchema {
    file: "tensors.parquet",
    columns: &[
        required("producer", Content::Unsigned(32), Packing::Delta),
        required("port", Content::Unsigned(32), Packing::Dictionary),
        required("bytes", Content::Unsigned(64), Packing::Dictionary),
    ],
};

/// Positions in [`TENSORS`].
pub(super) mod tensors {
    pub(in super::super) const PRODUCER: usize = 0;
    pub(in super::super) const PORT: usize = 1;
    pub(in super::super) const BYTES: usize = 2;
}

pub(super) const EDGES: TableSchema = TableSchema {
    file: "edges.parquet",
    columns: &[
        required("source", Content::Unsigned(32), Packing::Delta),
        Column { optional: false, ..optional("port", Content::Unsigned(32), Packing::Dictionary) },
        required("target", Content::Unsigned(32), Packing::Delta),
    ],
};

/// Positions in [`EDGES`].
pub(super) mod edges {
    pub(in super::super) const SOURCE: usize = 0;
    pub(in super::super) const PORT: usize = 1;
    pub(in super::super) const TARGET: usize = 2;
}
