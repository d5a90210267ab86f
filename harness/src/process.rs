//! Runs a program within limits of time, memory and output, and leaves nothing of it behind.

mod family;

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use placebench_algorithms::StopToken;

use family::Family;
pub(super) use system::CAN_LIMIT_MEMORY;

/// What a program may use.
pub(super) struct Limits<'a> {
    /// Processor time of it and all that it started; by the clock [`StopToken::BACKSTOP`] times as much. Where the system does
    /// not tell processor time, time by the clock.
    pub(super) time: Option<Duration>,
    /// Address space of each of its processes.
    pub(super) memory_bytes: Option<u64>,
    /// What it may write to standard output.
    pub(super) output_bytes: usize,
    /// Ends it, too, and counts the processor time.
    pub(super) stop: &'a StopToken,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Its time, or that of the token, was up.
    TimedOut,
    /// The token asked to stop.
    Stopped,
    /// It wrote too much.
    Overflowed,
    /// By itself, but its standard output stays open.
    OutputHeldOpen,
}

/// What is left of a program.
pub(super) struct Finished {
    pub(super) ending: Ending,
    pub(super) stdout: Vec<u8>,
    /// The last few kilobytes.
    pub(super) stderr: Vec<u8>,
}

/// The longest pause between two looks at the program.
const POLL: Duration = Duration::from_millis(20);

/// How long pipes may stay open after the program and all that it started are gone.
const GRACE: Duration = Duration::from_secs(1);

/// How much of the end of standard error is kept.
const TAIL_BYTES: usize = 8 << 10;

/// Runs a program to its end.
///
/// # Errors
/// If it cannot be started.
pub(super) fn run(command: &mut Command, limits: &Limits<'_>) -> io::Result<Finished> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    system::prepare(command);
    let family = Family::of(command);
    let started = Instant::now();
    let mut program = Reaped { child: command.spawn()?, family };
    let child = &mut program.child;
    if let Some(bytes) = limits.memory_bytes {
        system::limit_memory(child, bytes)?;
    }
    let overflowed = Arc::new(AtomicBool::new(false));
    let read_stdout = child.stdout.take().map(|pipe| {
        let (most, overflowed) = (limits.output_bytes, Arc::clone(&overflowed));
        drain(move || read_at_most(pipe, most, &overflowed))
    });
    let stdout = read_stdout.transpose()?;
    let stderr = child.stderr.take().map(|pipe| drain(move || read_tail(pipe))).transpose()?;
    let ended_by_us = watch(child, &program.family, started, limits, &overflowed)?;
    // It is not reaped yet: what it has taken can still be read.
    limits.stop.spend(program.family.processor_time(program.child.id()).unwrap_or_default());
    program.kill();
    let status = program.child.wait()?;
    let until = Instant::now() + GRACE;
    let stdout = collect(stdout, until);
    let stderr = collect(stderr, until).unwrap_or_default();
    let ending = match ended_by_us {
        _ if overflowed.load(Ordering::Acquire) => Ending::Overflowed,
        Some(ending) => ending,
        None if stdout.is_none() => Ending::OutputHeldOpen,
        None => system::ending(status),
    };
    Ok(Finished { ending, stdout: stdout.unwrap_or_default(), stderr })
}

/// Waits until the program has ended (`None`) or has to.
fn watch(
    child: &mut Child,
    family: &Family,
    started: Instant,
    limits: &Limits<'_>,
    overflowed: &AtomicBool,
) -> io::Result<Option<Ending>> {
    let mut pause = Duration::from_millis(1);
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let mut next_look = started;
    loop {
        if system::has_ended(child)? {
            return Ok(None);
        }
        let now = Instant::now();
        let waited = now - started;
        if limits.time.is_some_and(|limit| waited >= limit.saturating_mul(StopToken::BACKSTOP)) {
            return Ok(Some(Ending::TimedOut));
        }
        // A look reads all processes of the system, and holds those up that it reads: what is measured would feel it.
        if now >= next_look && (limits.time.is_some() || limits.stop.left().is_some()) {
            let taken = family.processor_time(child.id()).unwrap_or(waited);
            if limits.stop.is_late(limits.stop.spent() + taken) || limits.time.is_some_and(|limit| taken >= limit) {
                return Ok(Some(Ending::TimedOut));
            }
            // It cannot be over its limit before all cores have worked for what is left.
            let left =
                [limits.time.map(|limit| limit - taken), limits.stop.left().map(|left| left.saturating_sub(taken))];
            let left = left.into_iter().flatten().min();
            next_look = left.and_then(|left| now.checked_add((left / cores).max(POLL))).unwrap_or(next_look);
        }
        if limits.stop.is_late(Duration::ZERO) {
            return Ok(Some(Ending::TimedOut));
        }
        if limits.stop.is_stopped() {
            return Ok(Some(Ending::Stopped));
        }
        if overflowed.load(Ordering::Acquire) {
            return Ok(Some(Ending::Overflowed));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(POLL);
    }
}

/// A child that is killed with all that it started, and reaped, whatever happens.
struct Reaped {
    child: Child,
    family: Family,
}

impl Reaped {
    /// The child must not be reaped yet: its id still names its group then.
    fn kill(&mut self) {
        // A shell whose child is killed would complain, or go on with the next command.
        system::freeze(&mut self.child);
        self.family.kill(self.child.id());
        system::kill(&mut self.child);
        // What it has started since.
        self.family.kill(self.child.id());
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        // After a regular end both do nothing.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// Reads on a thread of its own: a program must be able to write to both pipes at any time.
fn drain(read: impl FnOnce() -> Vec<u8> + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        // Nobody listens any more if the pipe outlived its program for too long.
        let _ = sender.send(read());
    })?;
    Ok(receiver)
}

fn collect(receiver: Option<Receiver<Vec<u8>>>, until: Instant) -> Option<Vec<u8>> {
    receiver?.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
}

/// All that comes, up to a limit. A pipe breaks when its program ends; the program's status tells more.
fn read_at_most(mut pipe: impl Read, most: usize, overflowed: &AtomicBool) -> Vec<u8> {
    let mut bytes = Vec::new();
    // An error leaves what was read before it.
    let _ = pipe.by_ref().take(most as u64).read_to_end(&mut bytes);
    if bytes.len() == most && matches!(pipe.read(&mut [0]), Ok(1)) {
        overflowed.store(true, Ordering::Release);
    }
    bytes
}

/// The last few kilobytes of all that comes.
fn read_tail(mut pipe: impl Read) -> Vec<u8> {
    let mut tail = Vec::new();
    let mut chunk = [0; TAIL_BYTES];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return tail,
            Ok(count) => {
                tail.extend_from_slice(&chunk[..count]);
                tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return tail,
        }
    }
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, ExitStatus};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    use super::Ending;

    /// Puts the program into a process group of its own, which is what [`kill`] kills.
    pub(super) fn prepare(command: &mut Command) {
        command.process_group(0);
    }

    /// Whether the program has ended. It stays a zombie, so that its id names its group until it is reaped.
    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(Pid::from_child(child)), options) {
            Ok(status) => Ok(status.is_some()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Stops the program's group until it is killed.
    pub(super) fn freeze(child: &mut Child) {
        // That nothing is left to stop is fine.
        let _ = kill_process_group(Pid::from_child(child), Signal::STOP);
    }

    /// Kills the program and all that it started and that is still in its group; it must not be reaped yet.
    pub(super) fn kill(child: &mut Child) {
        // That nothing is left to kill is fine.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }

    pub(super) fn ending(status: ExitStatus) -> Ending {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
        }
    }

    /// Whether [`limit_memory`] works here.
    pub(in super::super) const CAN_LIMIT_MEMORY: bool = cfg!(target_os = "linux");

    /// Limits the address space of the program and of all that it will start. It has been running for some microseconds
    /// then: what it has by now counts, but a process that it has started already would go free.
    #[cfg(target_os = "linux")]
    pub(super) fn limit_memory(child: &Child, bytes: u64) -> io::Result<()> {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        // A limit that we have ourselves cannot be raised.
        let bytes = getrlimit(Resource::As).maximum.map_or(bytes, |own| own.min(bytes));
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        match prlimit(Some(Pid::from_child(child)), Resource::As, limit) {
            Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Only Linux limits the memory of another process.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn limit_memory(_: &Child, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use std::process::{Child, Command, ExitStatus};

    use super::Ending;

    /// There are no process groups here.
    pub(super) fn prepare(_: &mut Command) {}

    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        Ok(child.try_wait()?.is_some())
    }

    /// Nothing can be stopped here.
    pub(super) fn freeze(_: &mut Child) {}

    /// Kills the program, but not what it started.
    pub(super) fn kill(child: &mut Child) {
        // That it has ended already is fine.
        let _ = child.kill();
    }

    pub(super) fn ending(status: ExitStatus) -> Ending {
        Ending::Exited(status.code().unwrap_or(-1))
    }

    /// Whether [`limit_memory`] works here.
    pub(in super::super) const CAN_LIMIT_MEMORY: bool = false;

    pub(super) fn limit_memory(_: &Child, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
