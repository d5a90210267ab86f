//! Degrees of the vertices of a stream of edges.

use placebench_datasets::stream::EdgeStream;

use super::error::{StreamError, check};
use crate::{Named, Params, SpecError, StopToken};

/// Which degrees a partitioner of edges sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegreeSource {
    /// Those of the whole graph: the stream is read twice.
    Known,
    /// The number of edges so far, this one included.
    Partial,
}

impl Named for DegreeSource {
    const NAMES: &'static [(&'static str, Self)] = &[("known", Self::Known), ("partial", Self::Partial)];
}

impl DegreeSource {
    /// The parameter `degrees`.
    pub(super) fn param(params: &mut Params, default: Self) -> Result<Self, SpecError> {
        let doc = "partial: what the stream has told so far, or known: from reading it beforehand";
        params.word("degrees", default, doc)
    }
}

/// Degrees, which a self-loop raises by 2.
#[derive(Clone, Debug)]
pub(super) struct Degrees {
    of: Vec<u32>,
    source: DegreeSource,
}

impl Degrees {
    /// Reads the stream if the degrees are to be known, and leaves it at its beginning.
    pub(super) fn new(
        stream: &mut (impl EdgeStream + ?Sized),
        source: DegreeSource,
        stop: &StopToken,
    ) -> Result<Self, StreamError> {
        let mut of = vec![0u32; stream.vertex_count()];
        stream.rewind()?;
        if source == DegreeSource::Known {
            while let Some(edges) = stream.next_edges()? {
                check(stop)?;
                for &(a, b) in edges {
                    raise(&mut of, a);
                    raise(&mut of, b);
                }
            }
            stream.rewind()?;
        }
        Ok(Self { of, source })
    }

    /// Degrees of the ends of an edge that comes now.
    #[inline]
    pub(super) fn of_ends(&mut self, a: u32, b: u32) -> (u32, u32) {
        if self.source == DegreeSource::Partial {
            raise(&mut self.of, a);
            raise(&mut self.of, b);
        }
        (self.of[a as usize], self.of[b as usize])
    }

    /// No degrees at all.
    pub(super) fn none() -> Self {
        Self { of: Vec::new(), source: DegreeSource::Partial }
    }

    /// Edges of two vertices that are still to come after the one between them that comes now; 0 if degrees are not known.
    #[inline]
    pub(super) fn left_of_ends(&mut self, a: u32, b: u32) -> (u32, u32) {
        if self.source == DegreeSource::Partial {
            return (0, 0);
        }
        for vertex in [a, b] {
            let left = &mut self.of[vertex as usize];
            *left = left.saturating_sub(1);
        }
        (self.of[a as usize], self.of[b as usize])
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.of.capacity() as u64 * 4
    }
}

/// Beyond 32 bits a degree stays at the largest: only comparisons of such hubs lose by it.
#[inline]
fn raise(degrees: &mut [u32], vertex: u32) {
    let degree = &mut degrees[vertex as usize];
    *degree = degree.saturating_add(1);
}
