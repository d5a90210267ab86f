//! What the operating system reports about this process.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::significant::bytes_text;

/// The peak resident memory of this process so far, if the system reports it.
pub fn peak_rss_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// The program that [`program`] names instead of this process' own.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The program that does what the command `placebench` does: the one of this process, or what [`set_program`] named.
///
/// # Errors
/// If the system does not say which program this is.
pub fn program() -> io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |program| Ok(program.clone()))
}

/// Names the program `placebench` where it is not the one of this process: Python runs the command of a wheel. The first
/// call counts.
pub fn set_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
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

/// Whether something fits into memory, before it is begun: a process that asks for too much may be killed without a word.
/// `parts` says how many there are of each of its parts, and the bytes of one. A product or a sum beyond 64 bits is too much.
/// Where the system does not say what is there, all that a process can address is.
///
/// # Errors
/// If not.
///
/// # Example
/// ```
/// use placebench_base::process::check_memory;
///
/// let graph = |vertices: u64, edges: u64| check_memory(&[(vertices, 8), (edges, 4)], || "the graph".to_owned());
/// assert!(graph(1000, 5000).is_ok());
/// assert!(graph(1000, u64::MAX / 2).is_err());
/// ```
pub fn check_memory(parts: &[(u64, u64)], what: impl FnOnce() -> String) -> Result<(), NotEnoughMemory> {
    /// Less than this is not worth a look at the system's files.
    const LITTLE_BYTES: u64 = 64 << 20;
    let products = parts.iter().map(|&(count, bytes)| count.saturating_mul(bytes));
    let wanted_bytes = products.fold(0, u64::saturating_add);
    if wanted_bytes <= LITTLE_BYTES {
        return Ok(());
    }
    let available_bytes = available_memory().unwrap_or(isize::MAX as u64);
    match wanted_bytes > available_bytes {
        true => Err(NotEnoughMemory { what: what(), wanted_bytes, available_bytes }),
        false => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overflows_is_too_much_and_a_little_always_fits() {
        let wanted =
            |parts: &[(u64, u64)]| check_memory(parts, || "a matrix".to_owned()).map_err(|error| error.wanted_bytes);
        assert_eq!(wanted(&[(1 << 20, 8), (1 << 10, 16)]), Ok(()));
        assert_eq!(wanted(&[]), Ok(()));
        for too_much in [&[(u64::MAX, 2)][..], &[(1 << 40, 1 << 40), (1, 1)], &[(u64::MAX, 1), (u64::MAX, 1)]] {
            assert_eq!(wanted(too_much), Err(u64::MAX));
        }
        let error = check_memory(&[(1 << 32, 1 << 32)], || "a matrix".to_owned()).unwrap_err().to_string();
        assert!(error.starts_with("a matrix takes about ") && error.contains(" of memory, and "), "{error}");
    }
}
