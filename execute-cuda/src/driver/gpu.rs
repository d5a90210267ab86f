//! The GPUs of this machine.

use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::doing;
use crate::CudaError;
use crate::kernels::PTX;

/// The first version with all functions that are called: `cuGraphInstantiateWithFlags` is the youngest.
const LEAST_VERSION: i32 = 11_040;

/// A GPU with the kernels loaded.
pub(crate) struct Gpu {
    pub(super) context: Arc<CudaContext>,
    module: sys::CUmodule,
    pub(super) execute_op: sys::CUfunction,
    pub(super) hold_back: sys::CUfunction,
}

// SAFETY: the handles belong to the context and may be used by any thread that has made it current, one after another; the
// executor holds its GPUs behind a mutex.
unsafe impl Send for Gpu {}

/// Opens every GPU that the process can see, in the driver's order, and lets them read each other's memory where they can.
///
/// # Errors
/// If there is no driver or no GPU, or the driver fails.
pub(crate) fn open() -> Result<Vec<Gpu>, CudaError> {
    // SAFETY: loads the driver's library, whose initialisers are NVIDIA's, and calls nothing.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoDriver);
    }
    match result::init() {
        Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => return Err(CudaError::NoGpu),
        started => doing("start", started)?,
    }
    let mut version = 0;
    // SAFETY: the number outlives the call.
    doing("say its version", unsafe { sys::cuDriverGetVersion(&raw mut version) }.result())?;
    if version < LEAST_VERSION {
        return Err(CudaError::OldDriver { major: version / 1000, minor: version % 1000 / 10 });
    }
    let count = doing("count the GPUs", CudaContext::device_count())?;
    if count == 0 {
        return Err(CudaError::NoGpu);
    }
    let gpus = (0..count as usize).map(Gpu::open).collect::<Result<Vec<_>, _>>()?;
    connect(&gpus)?;
    Ok(gpus)
}

/// Whether one GPU can read and write the memory of another.
fn can_access(gpu: &Gpu, peer: &Gpu) -> Result<bool, CudaError> {
    let mut can = 0;
    // SAFETY: both devices exist, and `can` outlives the call.
    let answer = unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, gpu.context.cu_device(), peer.context.cu_device()) };
    doing("ask whether GPUs reach each other", answer.result())?;
    Ok(can != 0)
}

/// Lets GPUs copy directly to each other where the hardware can. Elsewhere the driver copies through pinned memory of the
/// host by itself.
fn connect(gpus: &[Gpu]) -> Result<(), CudaError> {
    for gpu in gpus {
        for peer in gpus.iter().filter(|peer| peer.context != gpu.context) {
            if !can_access(gpu, peer)? {
                continue;
            }
            gpu.bind()?;
            // SAFETY: the peer's context is alive as long as its GPU.
            let answer = unsafe { sys::cuCtxEnablePeerAccess(peer.context.cu_ctx(), 0) };
            if answer != sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
                doing("let GPUs reach each other", answer.result())?;
            }
        }
    }
    Ok(())
}

impl Gpu {
    fn open(ordinal: usize) -> Result<Self, CudaError> {
        let context = doing("open a GPU", CudaContext::new(ordinal))?;
        // SAFETY: nothing here is made with the tracked slices of cudarc, which would need it.
        unsafe { context.disable_event_tracking() };
        let ptx =
            CString::new(PTX).map_err(|_| CudaError::Options("the kernels' text contains a zero byte".to_owned()))?;
        // SAFETY: the image is PTX text that ends in a zero byte and outlives the call.
        let module = doing("compile the kernels", unsafe { result::module::load_data(ptx.as_ptr().cast()) })?;
        let [execute_op, hold_back] = [c"execute_op", c"hold_back"].map(|name| {
            // SAFETY: the module was loaded above.
            doing("find a kernel", unsafe { result::module::get_function(module, name.to_owned()) })
        });
        match execute_op.and_then(|execute_op| Ok((execute_op, hold_back?))) {
            Ok((execute_op, hold_back)) => Ok(Self { context, module, execute_op, hold_back }),
            Err(error) => {
                // SAFETY: nothing uses the module.
                context.record_err(unsafe { result::module::unload(module) });
                Err(error)
            }
        }
    }

    /// Makes the GPU's context the current one of this thread.
    pub(super) fn bind(&self) -> Result<(), CudaError> {
        doing("choose a GPU", self.context.bind_to_thread())
    }

    /// Name of the model.
    pub(crate) fn name(&self) -> Result<String, CudaError> {
        doing("ask for a GPU's name", self.context.name())
    }

    /// Free memory in bytes.
    pub(crate) fn free_bytes(&self) -> Result<u64, CudaError> {
        let (free, _) = doing("ask for free memory", self.context.mem_get_info())?;
        Ok(free as u64)
    }

    /// Address on the PCI bus, by which other libraries know the GPU.
    pub(crate) fn bus_id(&self) -> Result<String, CudaError> {
        let mut text = [0 as c_char; 32];
        // SAFETY: the driver writes at most 32 bytes, a zero byte included.
        let answer =
            unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), text.len() as i32, self.context.cu_device()) };
        doing("ask for a GPU's place", answer.result())?;
        // SAFETY: the driver ended the text with a zero byte.
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    /// Whether copies to another GPU take the direct way.
    pub(crate) fn reaches(&self, peer: &Self) -> Result<bool, CudaError> {
        can_access(self, peer)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: every session, whose kernels use the module, has ended before its GPUs are dropped.
        self.context.record_err(unsafe { result::module::unload(self.module) });
    }
}
