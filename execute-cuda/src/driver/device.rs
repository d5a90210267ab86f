//! What stands for a device of the cluster on its GPU, and the kernel that stands for a task there.

use std::ffi::c_void;

use cudarc::driver::{CudaStream, result};

use super::blas::Workbench;
use super::memory::Memory;
use super::{Gpu, doing};
use crate::CudaError;
use crate::kernels::THREADS;

/// Entries of the table of marks: the first one, and how many.
pub(super) type Entries = (u64, u32);

/// A device of the cluster.
pub(super) struct Device {
    /// Its GPU.
    pub(super) gpu: usize,
    /// Where its tensors lie.
    pub(super) region: Memory,
    /// Step, stop, faults, faulty op.
    pub(super) control: Memory,
    /// The table of marks: (address, mark) pairs.
    pub(super) marks: Memory,
    /// What its ops compute with, unless they spin.
    pub(super) workbench: Option<Workbench>,
}

/// What a launch of the kernel does.
pub(super) struct Launch {
    /// How long it spins.
    pub(super) nanoseconds: u64,
    /// What it checks.
    pub(super) inputs: Entries,
    /// What it writes.
    pub(super) outputs: Entries,
    /// The op that it names where it finds a fault.
    pub(super) op: u64,
}

impl Device {
    /// Issues the kernel that stands for a task.
    pub(super) fn launch(&self, gpu: &Gpu, stream: &CudaStream, launch: Launch) -> Result<(), CudaError> {
        let table = |(first, _): Entries| self.marks.address() + 16 * first;
        let Launch { mut nanoseconds, inputs, outputs, mut op } = launch;
        let (mut input_table, mut input_count) = (table(inputs), inputs.1);
        let (mut output_table, mut output_count) = (table(outputs), outputs.1);
        let mut control = self.control.address();
        let mut parameters: [*mut c_void; 7] = [
            (&raw mut nanoseconds).cast(),
            (&raw mut input_table).cast(),
            (&raw mut input_count).cast(),
            (&raw mut output_table).cast(),
            (&raw mut output_count).cast(),
            (&raw mut control).cast(),
            (&raw mut op).cast(),
        ];
        gpu.bind()?;
        // SAFETY: the parameters are those of `execute_op`, in its order and of its types, and are read during the call.
        // Its addresses lie in memory that the session owns until the GPU has ended: entries of the table of marks, the
        // control memory, and, in those entries, eight aligned bytes of the region.
        let answer = unsafe {
            result::launch_kernel(gpu.execute_op, (1, 1, 1), (THREADS, 1, 1), 0, stream.cu_stream(), &mut parameters)
        };
        doing("launch an op", answer)
    }
}
