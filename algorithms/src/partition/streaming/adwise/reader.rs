//! The stream, edge by edge.

use placebench_datasets::format::FormatError;
use placebench_datasets::stream::EdgeStream;

/// An edge that comes.
pub(super) struct NextEdge {
    /// Its place in the stream, from 0.
    pub(super) edge: u64,
    pub(super) ends: (u32, u32),
}

/// Hands out the edges of a stream one at a time, with their places in it.
pub(super) struct Reader<'a> {
    stream: &'a mut dyn EdgeStream,
    batch: Vec<(u32, u32)>,
    at: usize,
    edge: u64,
    stream_bytes: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(stream: &'a mut dyn EdgeStream) -> Result<Self, FormatError> {
        stream.rewind()?;
        Ok(Self { stream, batch: Vec::new(), at: 0, edge: 0, stream_bytes: 0 })
    }

    /// The next edge.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<NextEdge>, FormatError> {
        if self.at == self.batch.len() {
            self.batch.clear();
            self.at = 0;
            if let Some(edges) = self.stream.next_edges()? {
                self.batch.extend_from_slice(edges);
            }
            self.stream_bytes = self.stream_bytes.max(self.stream.memory_bytes());
        }
        let next = self.batch.get(self.at).map(|&ends| NextEdge { edge: self.edge, ends });
        self.at += usize::from(next.is_some());
        self.edge += u64::from(next.is_some());
        Ok(next)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.stream_bytes + self.batch.capacity() as u64 * 8
    }
}
