//! Why a stream was not partitioned.

use placebench_datasets::format::FormatError;

use crate::StopToken;
use crate::partition::PartitionError;

/// Why a stream was not partitioned.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The deadline passed, or the caller asked to stop.
    #[error("stopped before the partition was complete")]
    Stopped,
    /// The partitioner cannot handle such a stream or request.
    #[error("{0}")]
    Unsupported(String),
    /// The file behind the stream, or that of the answer, failed.
    #[error(transparent)]
    File(#[from] FormatError),
}

impl From<StreamError> for PartitionError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Stopped => Self::Stopped,
            StreamError::Unsupported(message) => Self::Unsupported(message),
            StreamError::File(error) => Self::Unsupported(error.to_string()),
        }
    }
}

pub(super) fn check(stop: &StopToken) -> Result<(), StreamError> {
    if stop.is_stopped() { Err(StreamError::Stopped) } else { Ok(()) }
}
