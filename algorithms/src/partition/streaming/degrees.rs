//! Degrees of the vertices of a stream of edges.

use std::str::FromStr;

use placebench_datasets::stream::EdgeStream;

use super::error::{StreamError, check};
use crate::StopToken;

/// Which degrees a partitioner of edges sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegreeSource {
    /// Those of the whole graph: the stream is read twice.
    Known,
    /// The number of edges so far, this one included.
    Partial,
}

impl FromStr for DegreeSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "known" => Ok(Self::Known),
            "partial" => Ok(Self::Partial),
            _ => Err(format!("'{text}' is neither known nor partial")),
        }
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
