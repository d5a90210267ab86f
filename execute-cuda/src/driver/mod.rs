//! The calls of CUDA's driver: the only place with unsafe code.
//!
//! What makes it sound: a [`Session`](session::Session) owns all memory, streams and events that its commands use, gives the
//! GPU only addresses inside its own memory, and waits for the GPUs before it frees anything.

#![allow(unsafe_code)]

mod blas;
mod device;
mod gate;
mod gpu;
mod memory;
mod session;

pub(crate) use gpu::{Gpu, open};
pub(crate) use session::{Job, Session, Work};

use cudarc::driver::DriverError;

use crate::CudaError;

/// Says what was tried when the driver answered with an error.
fn doing<T>(what: &'static str, result: Result<T, DriverError>) -> Result<T, CudaError> {
    result.map_err(|error| {
        let text = error
            .error_string()
            .map_or_else(|_| format!("error {}", error.0 as u32), |text| text.to_string_lossy().into_owned());
        CudaError::Driver { what, error: text }
    })
}
