//! What the operating system reports about this process.

use crate::significant::bytes_text;

/// The peak resident memory of this process so far, if the system reports it.
pub fn peak_rss_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// What is wanted does not fit into memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} takes about {} of memory, and {} are there: ask for less, or use a machine with more",
    bytes_text(*wanted_bytes as f64),
    bytes_text(*available_bytes as f64)
)]
pub struct NotEnoughMemory {
    /// What would be made, with its article.
    pub what: String,
    /// What it would take.
    pub wanted_bytes: u64,
    /// What this process can still get.
    pub available_bytes: u64,
}

/// Whether something that takes `wanted_bytes` fits into memory, before it is begun: a process that asks for too much may be
/// killed without a word. Where the system does not say what is there, everything fits.
///
/// # Errors
/// If not.
///
/// # Example
/// ```
/// use placebench_base::process::check_memory;
///
/// assert!(check_memory(1 << 10, || "a small graph".to_owned()).is_ok());
/// ```
pub fn check_memory(wanted_bytes: u64, what: impl FnOnce() -> String) -> Result<(), NotEnoughMemory> {
    /// Less than this is not worth a look at the system's files.
    const LITTLE_BYTES: u64 = 64 << 20;
    match available_memory() {
        _ if wanted_bytes <= LITTLE_BYTES => Ok(()),
        Some(available_bytes) if wanted_bytes > available_bytes => {
            Err(NotEnoughMemory { what: what(), wanted_bytes, available_bytes })
        }
        _ => Ok(()),
    }
}

/// Memory in bytes that this process can still get without swapping, if the system reports it: what the machine has left,
/// what is left of the process's limit of address space, and of the memory of its control group.
pub fn available_memory() -> Option<u64> {
    let machine = kilobytes("/proc/meminfo", "MemAvailable:")?;
    Some([address_space_left(), group_left()].into_iter().flatten().fold(machine, u64::min))
}

/// The bytes that a file of the system reports in kilobytes.
fn kilobytes(path: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn address_space_left() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(kilobytes("/proc/self/status", "VmSize:")?))
}

fn group_left() -> Option<u64> {
    let group = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |file: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup{path}/{file}")).ok()?;
        text.trim().parse().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}
