//! How a placer's program can fail, in the words that its author reads.

use std::io;
use std::path::{Path, PathBuf};

use placebench_algorithms::{ExternalFault, PlaceError, StopToken};
use placebench_datasets::PlacementError;

/// Why a program gave no placement.
#[derive(Debug, thiserror::Error)]
#[error("the placer's program {fault}{}", quoted(.fault, .last_words))]
pub struct CommandError {
    /// What happened.
    pub fault: Fault,
    /// The last line that it wrote to standard error.
    pub last_words: Option<String>,
}

/// What happened to a placer's program; each reads on after "the placer's program".
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The description of the placer makes no sense.
    #[error("is not described rightly: {reason}")]
    Description {
        /// What is wrong and what to do.
        reason: String,
    },
    /// The instance's folder cannot be written.
    #[error("was not started, because its instance's folder cannot be written: {source}")]
    NoFolder {
        /// Why.
        source: io::Error,
    },
    /// The working directory does not exist.
    #[error("was not started, because its working directory '{}' does not exist", directory.display())]
    NoDirectory {
        /// The directory.
        directory: PathBuf,
    },
    /// There is no such program.
    #[error(
        "'{program}' was not found: a name without '/' is looked for in PATH, a path from the program's working \
         directory; a script's #! line must name a program that exists, too"
    )]
    NotFound {
        /// The program.
        program: String,
    },
    /// The program is no executable file.
    #[error("'{program}' may not be executed: make it executable, or put its interpreter first in the command")]
    NotExecutable {
        /// The program.
        program: String,
    },
    /// The system does not run it.
    #[error("'{program}' cannot be run: {source}")]
    CannotRun {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It ended with a code that says failure.
    #[error("exited with code {code}{}{}", limited(.memory_limit_mib), killed(*.code - 128))]
    Exited {
        /// The code.
        code: i32,
        /// The limit of its memory.
        memory_limit_mib: Option<u64>,
    },
    /// It ended with the code that says that it found no feasible placement.
    #[error("found no feasible placement (exit code {})", super::EXIT_INFEASIBLE)]
    NoneFound,
    /// A signal ended it.
    #[error("was ended by signal {signal}{}{}{}", signal_name(*.signal), limited(.memory_limit_mib), killed(*.signal))]
    Signalled {
        /// The signal's number.
        signal: i32,
        /// The limit of its memory.
        memory_limit_mib: Option<u64>,
    },
    /// Its time was up.
    #[error("was killed: not done within {}", time(.seconds))]
    TimedOut {
        /// The limit; none if the caller's deadline came first.
        seconds: Option<f64>,
    },
    /// The caller asked to stop.
    #[error("was stopped")]
    Stopped,
    /// It wrote more than any placement takes.
    #[error("was killed: it wrote more than {bytes} bytes to standard output, which is to have one device for each op")]
    TooMuchOutput {
        /// How much it may write.
        bytes: usize,
    },
    /// Something that it started lives on in another process group and could still write.
    #[error("ended, but left a process behind that keeps its standard output open")]
    OutputHeldOpen,
    /// It wrote too few or too many lines.
    #[error(
        "wrote {found} line(s) to standard output, but the graph has {expected} op(s): one device a line, in the order \
         of ops"
    )]
    WrongCount {
        /// Lines written.
        found: usize,
        /// Ops of the graph.
        expected: usize,
    },
    /// A line names no device.
    #[error("wrote '{text}' in line {line} of standard output, which is no device: {remedy}")]
    UnknownDevice {
        /// Line, from 1.
        line: usize,
        /// What it says.
        text: String,
        /// What it could have said.
        remedy: String,
    },
    /// The placement violates a constraint.
    #[error("wrote a placement that is not feasible: {error}")]
    Infeasible {
        /// Which constraint, which op, which device.
        error: PlacementError,
    },
}

impl Fault {
    pub(super) fn no_folder(source: io::Error) -> Self {
        Self::NoFolder { source }
    }

    /// Whether the machine is to blame, and the same program may succeed another time.
    fn is_interruption(&self) -> bool {
        match self {
            Self::Signalled { signal, .. } => FROM_OUTSIDE.contains(signal),
            Self::Exited { code, .. } => FROM_OUTSIDE.contains(&(code - 128)),
            Self::NoFolder { source } | Self::CannotRun { source, .. } => {
                use io::ErrorKind::{OutOfMemory, QuotaExceeded, StorageFull, WouldBlock};
                matches!(source.kind(), OutOfMemory | QuotaExceeded | StorageFull | WouldBlock)
            }
            _ => false,
        }
    }

    /// Whether the program ran at all, and so had the opportunity to say something.
    fn ran(&self) -> bool {
        !matches!(
            self,
            Self::Description { .. }
                | Self::NoFolder { .. }
                | Self::NoDirectory { .. }
                | Self::NotFound { .. }
                | Self::NotExecutable { .. }
                | Self::CannotRun { .. }
        )
    }
}

impl From<Fault> for CommandError {
    fn from(fault: Fault) -> Self {
        Self { fault, last_words: None }
    }
}

impl From<CommandError> for PlaceError {
    fn from(error: CommandError) -> Self {
        let fault = match error.fault {
            Fault::Stopped => return Self::Stopped,
            ref fault if fault.is_interruption() => ExternalFault::Interrupted,
            Fault::TimedOut { .. } => ExternalFault::TimedOut,
            Fault::NoneFound => ExternalFault::Infeasible,
            Fault::Infeasible { .. } => ExternalFault::Invalid,
            _ => ExternalFault::Failed,
        };
        Self::External { fault, message: error.to_string() }
    }
}

fn quoted(fault: &Fault, last_words: &Option<String>) -> String {
    match last_words {
        Some(line) => format!("; the last line of its stderr: {line}"),
        None if fault.ran() => "; it wrote nothing to stderr".to_owned(),
        None => String::new(),
    }
}

fn limited(memory_limit_mib: &Option<u64>) -> String {
    memory_limit_mib.map_or_else(String::new, |mib| format!(" (with its memory limited to {mib} MiB)"))
}

fn time(seconds: &Option<f64>) -> String {
    let within = |seconds| {
        format!("{seconds} s of processor time, or {} s by the clock", seconds * f64::from(StopToken::BACKSTOP))
    };
    seconds.map_or_else(|| "the time limit".to_owned(), within)
}

/// The signal by which a system ends processes when it runs out of memory.
const SIGKILL: i32 = 9;

/// HUP, INT, QUIT, KILL, TERM: who sends them wants the program to end; no fault of its own raises them.
pub(super) const FROM_OUTSIDE: [i32; 5] = [1, 2, 3, SIGKILL, 15];

/// What may be behind a signal, and what to do.
fn killed(signal: i32) -> &'static str {
    match signal {
        SIGKILL => ": by the system, if it ran out of memory: memory_limit_mib makes that a result of the placer",
        signal if FROM_OUTSIDE.contains(&signal) => ": somebody told it to end",
        _ => "",
    }
}

/// The names of the signals by which programs commonly end; their numbers are the same on all systems.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (SIGINT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

/// The most characters of a line that are quoted.
const QUOTED_CHARS: usize = 300;

/// The last line with something in it, fit for a table: without control characters, and without the folder's name,
/// which is another one each time.
pub(super) fn last_line(stderr: &[u8], folder: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(stderr).replace(&*folder.to_string_lossy(), "INSTANCE");
    let text = without_escapes(&text);
    let line = text.split(['\n', '\r']).map(str::trim).rfind(|line| !line.is_empty())?;
    Some(shortened(line, QUOTED_CHARS))
}

/// The text without control characters but line ends, and without the terminal's escape sequences (colours, say).
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.as_str().starts_with('[') => {
                // Parameters, then one letter.
                chars.by_ref().find(char::is_ascii_alphabetic);
            }
            '\n' | '\r' => plain.push(c),
            '\t' => plain.push(' '),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

/// The text, cut after `most` characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &str) -> Option<String> {
        last_line(text.as_bytes(), Path::new("/tmp/placebench-x"))
    }

    #[test]
    fn the_last_line_is_quoted_plainly() {
        assert_eq!(last(""), None);
        assert_eq!(last(" \n\r\n"), None);
        assert_eq!(last("first\nKeyError: 'x'\n\n").unwrap(), "KeyError: 'x'");
        assert_eq!(last("10 %\r20 %\r").unwrap(), "20 %");
        assert_eq!(last("\u{1b}[1;31mred\u{1b}[0m\tand\u{7} loud").unwrap(), "red and loud");
        assert_eq!(last("no file '/tmp/placebench-x/ops.csv'").unwrap(), "no file 'INSTANCE/ops.csv'");
        assert_eq!(last(&"ä".repeat(1000)).unwrap().chars().count(), QUOTED_CHARS + 1);
        assert_eq!(last_line(b"\xff\xfe", Path::new("/x")).unwrap(), "\u{fffd}\u{fffd}");
    }
}
