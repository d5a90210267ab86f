//! Memory of a GPU, owned.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::{Gpu, doing};
use crate::CudaError;

/// Memory of a GPU.
pub(super) struct Memory {
    context: Arc<CudaContext>,
    address: sys::CUdeviceptr,
    bytes: u64,
}

impl Memory {
    pub(super) fn new(gpu: &Gpu, bytes: u64) -> Result<Self, CudaError> {
        gpu.bind()?;
        // SAFETY: the address is freed once, when this is dropped.
        let address = doing("allocate memory", unsafe { result::malloc_sync(bytes.max(8) as usize) })?;
        Ok(Self { context: Arc::clone(&gpu.context), address, bytes })
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn write(&self, values: &[u64]) -> Result<(), CudaError> {
        assert!(size_of_val(values) as u64 <= self.bytes, "values fit the memory they are written to");
        doing("choose a GPU", self.context.bind_to_thread())?;
        // SAFETY: the assertion above; the call returns when the values were read.
        doing("write to a GPU", unsafe { result::memcpy_htod_sync(self.address, values) })?;
        // The values may still be on their way then, and the streams of a session do not wait for such copies.
        doing("write to a GPU", result::ctx::synchronize())
    }

    pub(super) fn read<const N: usize>(&self) -> Result<[u64; N], CudaError> {
        assert!((8 * N) as u64 <= self.bytes, "what is read is there");
        let mut values = [0; N];
        doing("choose a GPU", self.context.bind_to_thread())?;
        // SAFETY: the assertion above; the call returns when the values were written.
        doing("read from a GPU", unsafe { result::memcpy_dtoh_sync(&mut values, self.address) })?;
        Ok(values)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: allocated by `new` and freed nowhere else; the session has waited for what used it.
        self.context.record_err(unsafe { result::free_sync(self.address) });
    }
}
