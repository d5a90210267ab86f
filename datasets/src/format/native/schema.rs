//! The names of the files, and the columns of the three tables.

use std::borrow::Cow;

use crate::measured_times::{class_of_column, column_of_class};

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
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: Cow<'static, str>,
    pub(crate) content: Content,
    /// Whether a cell may be null.
    pub(crate) nullable: bool,
    /// Whether the column may be left out, which is the same as all nulls.
    pub(crate) optional: bool,
    pub(crate) packing: Packing,
}

const NULLS: bool = true;
const NO_NULLS: bool = false;
const OPTIONAL: bool = true;
const REQUIRED: bool = false;

const fn column(name: &'static str, content: Content, nullable: bool, optional: bool, packing: Packing) -> Column {
    Column { name: Cow::Borrowed(name), content, nullable, optional, packing }
}

pub(crate) const fn required(name: &'static str, content: Content, packing: Packing) -> Column {
    column(name, content, NO_NULLS, REQUIRED, packing)
}

pub(crate) const fn optional(name: &'static str, content: Content, packing: Packing) -> Column {
    column(name, content, NULLS, OPTIONAL, packing)
}

/// A table: its file and its columns.
#[derive(Debug)]
pub(crate) struct TableSchema {
    pub(crate) file: &'static str,
    pub(crate) columns: &'static [Column],
    /// What else a table may have: the columns of a family, by name.
    pub(crate) others: fn(&str) -> Option<Column>,
}

impl TableSchema {
    /// The columns that a table may have whose file has columns of these names: those of the schema, and then the others.
    pub(super) fn columns_for<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<Column> {
        let is_own = |name: &str| self.columns.iter().any(|column| column.name == name);
        self.columns.iter().cloned().chain(names.filter(|name| !is_own(name)).filter_map(self.others)).collect()
    }
}

/// The measured times on a class of devices.
pub(super) fn seconds(class: &str) -> Column {
    let name = Cow::Owned(column_of_class(class));
    Column { name, content: Content::Double, nullable: true, optional: true, packing: Packing::Dictionary }
}

pub(super) const OPS: TableSchema = TableSchema {
    file: "ops.parquet",
    columns: &[
        required("ops", Content::Double, Packing::Dictionary),
        required("memory_bytes", Content::Unsigned(64), Packing::Dictionary),
        required("kinds", Content::Unsigned(8), Packing::Dictionary),
        optional("group", Content::Unsigned(32), Packing::Delta),
        column("bytes_moved", Content::Double, NO_NULLS, OPTIONAL, Packing::Dictionary),
        optional("name", Content::Text, Packing::Plain),
        optional("op_type", Content::Text, Packing::Dictionary),
        optional("layer", Content::Text, Packing::Dictionary),
        optional("attributes", Content::Text, Packing::Dictionary),
    ],
    others: |name| class_of_column(name).map(seconds),
};

/// Positions in [`OPS`].
pub(super) mod ops {
    pub(in super::super) const OPS: usize = 0;
    pub(in super::super) const MEMORY_BYTES: usize = 1;
    pub(in super::super) const KINDS: usize = 2;
    pub(in super::super) const GROUP: usize = 3;
    pub(in super::super) const BYTES_MOVED: usize = 4;
    pub(in super::super) const NAME: usize = 5;
    pub(in super::super) const OP_TYPE: usize = 6;
    pub(in super::super) const LAYER: usize = 7;
    pub(in super::super) const ATTRIBUTES: usize = 8;
    /// The first measured times, if there are any.
    pub(in super::super) const SECONDS: usize = 9;
}

pub(super) const TENSORS: TableSchema = TableSchema {
    file: "tensors.parquet",
    columns: &[
        required("producer", Content::Unsigned(32), Packing::Delta),
        required("port", Content::Unsigned(32), Packing::Dictionary),
        required("bytes", Content::Unsigned(64), Packing::Dictionary),
    ],
    others: |_| None,
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
        column("port", Content::Unsigned(32), NULLS, REQUIRED, Packing::Dictionary),
        required("target", Content::Unsigned(32), Packing::Delta),
    ],
    others: |_| None,
};

/// Positions in [`EDGES`].
pub(super) mod edges {
    pub(in super::super) const SOURCE: usize = 0;
    pub(in super::super) const PORT: usize = 1;
    pub(in super::super) const TARGET: usize = 2;
}
