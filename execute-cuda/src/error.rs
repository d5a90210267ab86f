//! Why nothing was executed, or nothing was measured.

use std::time::Duration;

use placebench_datasets::Kind;

/// What can go wrong on GPUs. Each message is one line and says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaError {
    /// The driver's library cannot be loaded.
    #[error("no CUDA driver was found (libcuda.so.1): install NVIDIA's driver, or use --executor threads")]
    NoDriver,
    /// The driver sees no GPU.
    #[error("the CUDA driver finds no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --executor threads")]
    NoGpu,
    /// The driver lacks functions that are needed.
    #[error("the CUDA driver is too old (it is for CUDA {major}.{minor}): install one for CUDA 11.4 or later")]
    OldDriver {
        /// Version of CUDA that it knows.
        major: i32,
        /// Its second number.
        minor: i32,
    },
    /// The binding of the driver gave up.
    #[error("the binding of the CUDA driver failed: {0}")]
    Binding(String),
    /// cuBLAS cannot be loaded.
    #[error("the kernel compute needs cuBLAS, and libcublas.so.12 was not found: install it, or use the kernel wait")]
    NoCublas,
    /// cuBLAS refused.
    #[error("cuBLAS failed: {0}")]
    Cublas(String),
    /// The driver refused.
    #[error("the CUDA driver could not {what}: {error}")]
    Driver {
        /// What was tried.
        what: &'static str,
        /// What the driver says.
        error: String,
    },
    /// An option has a value that makes no sense.
    #[error("{0}")]
    Options(String),
    /// The cluster has more devices than there are.
    #[error(
        "the cluster has {cluster} devices and this machine {gpus} GPU(s): use virtual devices on one GPU, or a smaller cluster"
    )]
    TooFewGpus {
        /// Devices of the cluster.
        cluster: usize,
        /// GPUs that the process sees.
        gpus: usize,
    },
    /// The cluster has more devices than virtual ones were asked for.
    #[error("the cluster has {cluster} devices, and {asked} virtual one(s) were asked for: ask for {cluster}")]
    TooFewVirtual {
        /// Devices of the cluster.
        cluster: usize,
        /// Virtual devices.
        asked: usize,
    },
    /// The virtual devices would share hardware queues of the GPU without need.
    #[error(
        "{devices} virtual devices need {needed} hardware queues, and the driver has {queues}: set the environment variable CUDA_DEVICE_MAX_CONNECTIONS={most}",
        most = crate::gate::MOST_QUEUES
    )]
    TooFewQueues {
        /// Virtual devices.
        devices: usize,
        /// Queues that there are.
        queues: usize,
        /// Queues that the devices need.
        needed: usize,
    },
    /// A device of the cluster is no GPU.
    #[error(
        "device '{device}' is of kind {kind}, and GPUs execute devices of kind gpu: use another cluster, or virtual devices"
    )]
    NotGpu {
        /// The device.
        device: String,
        /// Its kind.
        kind: Kind,
    },
    /// An op would take longer than the kernel can count.
    #[error(
        "{task} would take {seconds} s, and an op may take at most {most} s: choose fewer seconds for a unit of time"
    )]
    TooLong {
        /// What takes long.
        task: String,
        /// How long.
        seconds: f64,
        /// The limit.
        most: f64,
    },
    /// The memory of a GPU does not suffice.
    #[error(
        "GPU {gpu} has {free} bytes free, and the placement needs {needed} there: place on more GPUs, or free memory"
    )]
    OutOfMemory {
        /// The GPU.
        gpu: usize,
        /// Bytes that the tensors, the resident memory of the ops and their scratch memory take.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The order of execution is none.
    #[error("the order of execution does not fit the graph: {0}")]
    Order(String),
    /// The clocks of several GPUs cannot be brought to one time.
    #[error("the clocks of the GPUs do not fit together: {0}")]
    Clocks(String),
    /// An op ran before its inputs were there, or on wrong data.
    #[error(
        "{op} on '{device}' found other data than its producers wrote ({faults} such inputs on the device): a defect of the executor or the GPU"
    )]
    WrongData {
        /// The device.
        device: String,
        /// The last op that found some.
        op: String,
        /// How many marks were wrong on the device.
        faults: u64,
    },
    /// The stop token asked for it.
    #[error("stopped after {finished} of {total} steps")]
    Stopped {
        /// Steps that ended before, warm-ups included.
        finished: u32,
        /// Steps to execute.
        total: u32,
    },
    /// A GPU does not end.
    #[error("a GPU did not end within {} s after it was told to stop: see nvidia-smi and the kernel's log", .0.as_secs())]
    Hung(Duration),
}
