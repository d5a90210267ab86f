//! What holds a step back until the host has issued it: a kernel that watches a word of the host's memory.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use super::{Gpu, doing};
use crate::CudaError;
use crate::gate::LIMIT;

/// A gate at the beginning of every step, in the host's memory that the GPU reads.
pub(super) struct Gate {
    context: Arc<CudaContext>,
    /// The last step that may begin, and the last one that began without leave.
    words: *mut c_void,
    /// The same on the GPU.
    address: sys::CUdeviceptr,
    /// How many of the plan's commands are issued before the step begins.
    pub(super) held: usize,
}

impl Gate {
    /// A closed gate for the streams of a GPU.
    pub(super) fn new(gpu: &Gpu, held: usize) -> Result<Self, CudaError> {
        gpu.bind()?;
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP as c_uint;
        // SAFETY: the memory is freed once, when this is dropped.
        let words = doing("allocate memory of the host", unsafe { result::malloc_host(16, flags) })?;
        let mut gate = Self { context: Arc::clone(&gpu.context), words, address: 0, held };
        for index in 0..2 {
            gate.word(index).store(0, Ordering::SeqCst);
        }
        // SAFETY: the address outlives the call, and the memory was allocated for the GPU's use above.
        let answer = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut gate.address, words, 0) };
        doing("reach memory of the host", answer.result())?;
        Ok(gate)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: there are two aligned words, which live as long as this; what else writes them is the GPU.
        unsafe { AtomicU64::from_ptr(self.words.cast::<u64>().add(index)) }
    }

    /// Issues the kernel behind which a step waits.
    pub(super) fn hold(&self, gpu: &Gpu, stream: &CudaStream, mut step: u64) -> Result<(), CudaError> {
        let (mut words, mut limit) = (self.address, LIMIT.as_nanos() as u64);
        let mut parameters: [*mut c_void; 3] =
            [(&raw mut words).cast(), (&raw mut step).cast(), (&raw mut limit).cast()];
        gpu.bind()?;
        // SAFETY: the parameters are those of `hold_back`, in its order and of its types, and are read during the call. The
        // two words live until the session has waited for the GPU.
        let answer = unsafe {
            result::launch_kernel(gpu.hold_back, (1, 1, 1), (1, 1, 1), 0, stream.cu_stream(), &mut parameters)
        };
        doing("hold a step back", answer)
    }

    /// Lets all steps up to this one begin.
    pub(super) fn open(&self, step: u64) {
        self.word(0).store(step, Ordering::SeqCst);
    }

    /// Whether a step that has ended began before the host let it.
    pub(super) fn was_overdue(&self, step: u64) -> bool {
        self.word(1).load(Ordering::SeqCst) == step
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: allocated by `new` and freed nowhere else; the session has waited for what reads it.
        self.context.record_err(unsafe { result::free_host(self.words) });
    }
}
