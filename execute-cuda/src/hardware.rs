//! What a measurement ran on, as its row says it.

use std::fmt;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;

use crate::CudaError;
use crate::driver::Gpu;
use crate::gate::MOST_QUEUES;

/// The GPUs of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The GPUs that stand for devices, in the order of the devices.
    pub gpus: Vec<GpuInfo>,
    /// How many devices share the one GPU, if they are virtual.
    pub virtual_devices: Option<usize>,
    /// Version of NVIDIA's driver, if its management library says it.
    pub driver: Option<String>,
    /// Pairs of GPUs (sender, receiver) whose transfers the driver copies through the host's memory.
    pub staged: Vec<(usize, usize)>,
}

/// A GPU. `None`: the management library (NVML) is missing or does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuInfo {
    /// Model.
    pub name: String,
    /// Clock of the multiprocessors now, in MHz.
    pub clock_mhz: Option<u32>,
    /// Highest clock of the multiprocessors, in MHz.
    pub highest_clock_mhz: Option<u32>,
    /// Why the clock is lower than it could be, idleness left out; empty if nothing holds it back.
    pub throttled_by: Option<String>,
    /// Whether the GPU is divided into instances.
    pub mig: Option<bool>,
    /// Processes that compute on it beside this one.
    pub other_processes: Option<usize>,
}

impl Hardware {
    /// Asks the driver and the management library.
    pub(crate) fn ask(gpus: &[Gpu], virtual_devices: Option<usize>) -> Result<Self, CudaError> {
        let nvml = Nvml::init().ok();
        let infos = gpus.iter().map(|gpu| Ok(GpuInfo { name: gpu.name()?, ..ask_nvml(nvml.as_ref(), &gpu.bus_id()?) }));
        let infos = infos.collect::<Result<Vec<_>, CudaError>>()?;
        let mut staged = Vec::new();
        for (from, gpu) in gpus.iter().enumerate() {
            for (to, peer) in gpus.iter().enumerate() {
                if from != to && !gpu.reaches(peer)? {
                    staged.push((from, to));
                }
            }
        }
        let driver = nvml.and_then(|nvml| nvml.sys_driver_version().ok());
        Ok(Self { gpus: infos, virtual_devices, driver, staged })
    }
}

fn ask_nvml(nvml: Option<&Nvml>, bus_id: &str) -> GpuInfo {
    let Some(device) = nvml.and_then(|nvml| nvml.device_by_pci_bus_id(bus_id).ok()) else { return GpuInfo::default() };
    let reasons = device.current_throttle_reasons().ok().map(|reasons| reasons.difference(ThrottleReasons::GPU_IDLE));
    let own = std::process::id();
    GpuInfo {
        name: String::new(),
        clock_mhz: device.clock_info(Clock::SM).ok(),
        highest_clock_mhz: device.max_clock_info(Clock::SM).ok(),
        throttled_by: reasons.map(|reasons| {
            let names: Vec<_> = reasons.iter_names().map(|(name, _)| name.to_lowercase()).collect();
            names.join(" and ")
        }),
        mig: device.mig_mode().ok().map(|mode| mode.current == 1),
        other_processes: device
            .running_compute_processes()
            .ok()
            .map(|processes| processes.iter().filter(|process| process.pid != own).count()),
    }
}

/// One line: each GPU with what may disturb a measurement on it.
impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(count) = self.virtual_devices {
            write!(f, "{count} virtual devices on ")?;
            if count * count > MOST_QUEUES {
                write!(f, "{MOST_QUEUES} hardware queues, fewer than streams, of ")?;
            }
        }
        for (index, gpu) in self.gpus.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{gpu}")?;
        }
        if let Some(driver) = &self.driver {
            write!(f, "; driver {driver}")?;
        }
        for (from, to) in &self.staged {
            write!(f, "; transfers from GPU {from} to {to} go through the host")?;
        }
        Ok(())
    }
}

impl fmt::Display for GpuInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match (self.clock_mhz, self.highest_clock_mhz) {
            (Some(clock), Some(highest)) => write!(f, " at {clock} of {highest} MHz")?,
            (Some(clock), None) => write!(f, " at {clock} MHz")?,
            (None, _) => {}
        }
        if let Some(reasons) = self.throttled_by.as_ref().filter(|reasons| !reasons.is_empty()) {
            write!(f, ", throttled by {reasons}")?;
        }
        if self.mig == Some(true) {
            f.write_str(", MIG on")?;
        }
        match self.other_processes {
            Some(0) | None => Ok(()),
            Some(1) => f.write_str(", 1 other process on it"),
            Some(others) => write!(f, ", {others} other processes on it"),
        }
    }
}
