//! All partitioners by name, one line each.

use std::sync::LazyLock;

use super::streaming::{Adwise, ByMasters, Dbh, EdgePartitioner, Fennel, Greedy, Hdrf, Ldg, VertexStreamPartitioner};
use super::{Chunk, FiducciaMattheyses, Hashing, LevelSlabs, Metis, Multilevel, Partitioner};
use crate::algorithm::{Algorithm, RegistryEntry, Role, make};
use crate::{Spec, SpecError};

/// The partitioners of vertices, in the order in which tables list them.
pub static PARTITIONERS: LazyLock<Vec<RegistryEntry<dyn Partitioner>>> = LazyLock::new(|| {
    vec![
        entry::<Multilevel>(),
        entry::<FiducciaMattheyses>(),
        entry::<Metis>(),
        entry::<Chunk>(),
        entry::<LevelSlabs>(),
        entry::<Ldg>(),
        entry::<Fennel>(),
        entry::<ByMasters<Hdrf>>(),
        entry::<ByMasters<Dbh>>(),
        entry::<ByMasters<Greedy>>(),
        entry::<ByMasters<Adwise>>(),
        entry::<Hashing>(),
    ]
});

/// The partitioners of edges, in the order in which tables list them. Each is one of vertices too, by [`ByMasters`].
pub static EDGE_PARTITIONERS: LazyLock<Vec<RegistryEntry<dyn EdgePartitioner>>> =
    LazyLock::new(|| vec![edge_entry::<Hdrf>(), edge_entry::<Dbh>(), edge_entry::<Greedy>(), edge_entry::<Adwise>()]);

/// The partitioners of vertices that read a stream. Their parameter `order` is for graphs in memory: a file has its own.
pub static STREAM_PARTITIONERS: LazyLock<Vec<RegistryEntry<dyn VertexStreamPartitioner>>> = LazyLock::new(|| {
    vec![
        RegistryEntry::of::<Ldg>(|partitioner| Box::new(partitioner)),
        RegistryEntry::of::<Fennel>(|partitioner| Box::new(partitioner)),
    ]
});

impl Role for dyn Partitioner {
    const WHAT: &str = "partitioner";
    const LIST: &str = "partitioners";
}

impl Role for dyn VertexStreamPartitioner {
    const WHAT: &str = "partitioner of streams";
    const LIST: &str = "partitioners";
}

impl Role for dyn EdgePartitioner {
    const WHAT: &str = "partitioner of edges";
    const LIST: &str = "partitioners";
}

fn entry<A: Algorithm + Partitioner + 'static>() -> RegistryEntry<dyn Partitioner> {
    RegistryEntry::of::<A>(|partitioner| Box::new(partitioner))
}

fn edge_entry<A: Algorithm + EdgePartitioner + 'static>() -> RegistryEntry<dyn EdgePartitioner> {
    RegistryEntry::of::<A>(|partitioner| Box::new(partitioner))
}

/// Makes the partitioner of vertices that a spec names.
///
/// # Errors
/// If no partitioner has that name, or a parameter is unknown or out of range.
pub fn partitioner(spec: &Spec) -> Result<Box<dyn Partitioner>, SpecError> {
    make(spec, PARTITIONERS.iter())
}

/// Makes the partitioner of vertices of a stream that a spec names.
///
/// # Errors
/// If no such partitioner has that name, or a parameter is unknown or out of range.
pub fn stream_partitioner(spec: &Spec) -> Result<Box<dyn VertexStreamPartitioner>, SpecError> {
    make(spec, STREAM_PARTITIONERS.iter())
}

/// Makes the partitioner of edges that a spec names.
///
/// # Errors
/// If no partitioner of edges has that name, or a parameter is unknown or out of range.
pub fn edge_partitioner(spec: &Spec) -> Result<Box<dyn EdgePartitioner>, SpecError> {
    make(spec, EDGE_PARTITIONERS.iter())
}
