//! Matrix products by cuBLAS, and copies within a device, as stand-ins for the work of an op.

use std::sync::Arc;

use cudarc::cublas::{CudaBlas, result, sys};
use cudarc::driver::{CudaStream, result as driver};

use super::doing;
use super::memory::Memory;
use crate::CudaError;
use crate::kernels::Products;

/// Bytes that one copy moves at most; larger ops copy several times.
const MOST_COPIED: u64 = 64 << 20;

/// What the ops of a device compute with. The values are of no interest.
pub(super) struct Workbench {
    blas: CudaBlas,
    stream: Arc<CudaStream>,
    scratch: Memory,
    matrix_bytes: u64,
}

/// Bytes that the largest of `products` and copies of `bytes` need.
pub(super) fn scratch_bytes(products: impl Iterator<Item = Products>, most_bytes: u64) -> u64 {
    3 * matrix_bytes(products).max(most_bytes.min(MOST_COPIED).div_ceil(4) * 4)
}

/// How many commands [`Workbench::issue`] gives to its stream, at most about: cuBLAS takes one or two kernels a product.
pub(super) fn calls(products: Option<Products>, bytes: u64) -> usize {
    let products = products.map_or(0, |products| 2 * products.count as usize);
    // Copies are as long as the scratch memory allows, which holds the half of these bytes or MOST_COPIED.
    products + (bytes / 2).div_ceil(MOST_COPIED) as usize
}

fn matrix_bytes(products: impl Iterator<Item = Products>) -> u64 {
    products
        .map(|products| 4 * u64::from(products.side) * u64::from(products.side.max(products.depth)))
        .max()
        .unwrap_or(0)
}

impl Workbench {
    /// A workbench that computes in a stream, with [`scratch_bytes`] of memory.
    pub(super) fn new(stream: &Arc<CudaStream>, scratch: Memory) -> Result<Self, CudaError> {
        // SAFETY: loads cuBLAS's library, whose initialisers are NVIDIA's, and calls nothing.
        if !unsafe { sys::is_culib_present() } {
            return Err(CudaError::NoCublas);
        }
        let blas = CudaBlas::new(Arc::clone(stream)).map_err(|error| CudaError::Cublas(error.to_string()))?;
        let matrix_bytes = scratch.bytes() / 3;
        Ok(Self { blas, stream: Arc::clone(stream), scratch, matrix_bytes })
    }

    /// Issues the work of an op: products, then a copy of half of the bytes, which reads and writes them all.
    pub(super) fn issue(&self, products: Option<Products>, bytes: u64) -> Result<(), CudaError> {
        let base = self.scratch.address();
        if let Some(Products { side, depth, count }) = products {
            let (m, k) = (side as i32, depth as i32);
            for _ in 0..count {
                let none = sys::cublasOperation_t::CUBLAS_OP_N;
                // SAFETY: each matrix has its own third of the scratch memory, of at least 4 · side · max(side, depth) bytes;
                // the leading dimensions are those of dense columns; the factors outlive the call.
                let answer = unsafe {
                    result::sgemm(
                        *self.blas.handle(),
                        none,
                        none,
                        m,
                        m,
                        k,
                        &raw const ONE,
                        base as *const f32,
                        m,
                        (base + self.matrix_bytes) as *const f32,
                        k,
                        &raw const ZERO,
                        (base + 2 * self.matrix_bytes) as *mut f32,
                        m,
                    )
                };
                answer.map_err(|error| CudaError::Cublas(error.to_string()))?;
            }
        }
        let mut left = bytes / 2;
        while left > 0 {
            let now = left.min(self.matrix_bytes);
            // SAFETY: two different thirds of the scratch memory, of at least `now` bytes each.
            let answer = unsafe {
                driver::memcpy_dtod_async(base + self.matrix_bytes, base, now as usize, self.stream.cu_stream())
            };
            doing("issue a copy within a device", answer)?;
            left -= now;
        }
        Ok(())
    }
}

static ONE: f32 = 1.0;
static ZERO: f32 = 0.0;
