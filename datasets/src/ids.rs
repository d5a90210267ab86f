//! Dense 32-bit identifiers, one type for each thing they count.

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a dense array.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the `index`-th item.
            ///
            /// # Panics
            /// If `index` does not fit 32 bits; graphs that large are refused when they are built.
            #[inline]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids are 32-bit; the builder refuses larger graphs"))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

dense_id!(
    /// An operation of a graph: `0..graph.op_count()`.
    OpId,
    "op"
);
dense_id!(
    /// An output port of an op, with the size of what it produces: `0..graph.tensor_count()`, grouped by op in port order.
    TensorId,
    "t"
);
dense_id!(
    /// An edge: its position in the forward adjacency, `0..graph.edge_count()`.
    EdgeId,
    "e"
);
dense_id!(
    /// A colocation group: `0..graph.colocation().group_count()`, in the order of their smallest members.
    GroupId,
    "g"
);
dense_id!(
    /// A device of a cluster: `0..cluster.device_count()`.
    DeviceId,
    "d"
);
dense_id!(
    /// An assignment unit (a colocation group, or an op in none): groups first, then single ops in ascending order.
    UnitId,
    "u"
);
dense_id!(
    /// A send/receive pair of a placed graph: `0..placed.transfer_count()`, grouped by sending op.
    TransferId,
    "x"
);
