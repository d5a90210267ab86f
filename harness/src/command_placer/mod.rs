//! Placers of other people: a program in any language that reads an instance's folder and writes one device a line.
//!
//! The contract, for authors of such programs, is docs/BRING-YOUR-OWN-PLACER.md.

mod answer;
mod error;
mod instance_folder;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use placebench_algorithms::{Decision, PlaceContext, PlaceError, Placer, StopToken};
use placebench_datasets::{Instance, Placement};
use serde::Serialize;

use crate::process::{self, Ending, Limits};
pub use error::{CommandError, Fault};
pub use instance_folder::{InstanceFormat, PlacerRequest, WriteError, write_instance};

/// The exit code by which a program says that it found no feasible placement.
pub const EXIT_INFEASIBLE: i32 = 3;

/// The environment variable that has the seed.
pub const SEED_VARIABLE: &str = "PLACEBENCH_SEED";

/// A program that places: called with the folder of the instance as its last argument, it writes one device a line, in
/// the order of ops, to standard output.
///
/// The program and all that it started are killed when its time is up or the run is told to stop, and whatever it has
/// left running is killed when it ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CommandPlacer {
    /// Name in tables.
    pub name: String,
    /// Program and arguments. A program without `/` is looked for in `PATH`; a path is relative to `directory`.
    pub command: Vec<String>,
    /// The program's working directory; by default the current one, in suite files that of the suite.
    pub directory: Option<PathBuf>,
    /// How the tables of the instance are written.
    pub format: InstanceFormat,
    /// Seconds of processor time, of the program and all that it starts, after which it is killed; by the clock ten times as many
    /// ([`StopToken::BACKSTOP`]).
    pub time_limit_seconds: Option<f64>,
    /// Most address space of the program, and of each process that it starts, in MiB. Linux only.
    pub memory_limit_mib: Option<u64>,
}

impl CommandPlacer {
    /// What is wrong with the description, if anything.
    ///
    /// # Errors
    /// The first fault, with its remedy.
    pub fn check(&self) -> Result<(), String> {
        if self.command.first().is_none_or(String::is_empty) {
            return Err("command: give a program, as in [\"python3\", \"my_placer.py\"]".to_owned());
        }
        if self.time_limit_seconds.is_some_and(|limit| !(limit > 0.0 && limit <= 1e9)) {
            return Err("time_limit_seconds: must be above 0 and at most 1e9".to_owned());
        }
        match self.memory_limit_mib {
            Some(0) => Err("memory_limit_mib: must be at least 1".to_owned()),
            Some(_) if !process::CAN_LIMIT_MEMORY => Err("memory_limit_mib: works on Linux only: remove it".to_owned()),
            _ => Ok(()),
        }
    }

    /// The files that the command names: the program, if it is found, and every argument that is a file.
    pub fn files(&self) -> Vec<PathBuf> {
        let directory = self.directory.as_deref().unwrap_or(Path::new(""));
        let Some((program, arguments)) = self.command.split_first() else { return Vec::new() };
        let program = match Path::new(program).components().count() {
            1 => {
                let folders = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
            }
            _ => Some(directory.join(program)),
        };
        let arguments = arguments.iter().map(|argument| directory.join(argument));
        program.into_iter().chain(arguments).filter(|path| path.is_file()).collect()
    }

    /// The placer with a time limit that is no longer than this one.
    pub fn within(&self, time_limit_seconds: Option<f64>) -> Self {
        let limits = [self.time_limit_seconds, time_limit_seconds];
        Self { time_limit_seconds: limits.into_iter().flatten().reduce(f64::min), ..self.clone() }
    }

    /// Runs the program on an instance.
    fn ask(&self, instance: &Instance, context: &PlaceContext) -> Result<Placement, CommandError> {
        self.check().map_err(|reason| Fault::Description { reason })?;
        let scratch = tempfile::Builder::new().prefix("placebench-").tempdir().map_err(Fault::no_folder)?;
        let folder = std::path::absolute(scratch.path()).map_err(Fault::no_folder)?;
        let request =
            PlacerRequest { seed: context.seed, time_limit_seconds: self.time_limit_seconds, format: self.format };
        write_instance(&folder, instance, &request).map_err(|error| Fault::no_folder(error.source))?;
        let mut command = self.command_on(&folder, context.seed)?;
        let limits = Limits {
            time: self.time_limit_seconds.map(Duration::from_secs_f64),
            memory_bytes: self.memory_limit_mib.map(|mib| mib.saturating_mul(1 << 20)),
            output_bytes: answer::most_bytes(instance),
            stop: &context.stop,
        };
        let finished = process::run(&mut command, &limits).map_err(|error| self.cannot_start(error))?;
        let answer = self.judge_ending(finished.ending, limits.output_bytes);
        if answer.is_err() && is_stopped(finished.ending, &context.stop) {
            return Err(Fault::Stopped.into());
        }
        let placement = answer.and_then(|()| answer::parse(&finished.stdout, instance)).and_then(|placement| {
            placement.check(instance).map_err(|error| Fault::Infeasible { error })?;
            Ok(placement)
        });
        placement.map_err(|fault| CommandError { fault, last_words: error::last_line(&finished.stderr, &folder) })
    }

    fn command_on(&self, folder: &Path, seed: u64) -> Result<Command, Fault> {
        let directory = self.directory.as_deref().filter(|path| !path.as_os_str().is_empty());
        let program = Path::new(&self.command[0]);
        let mut command = match directory {
            // Whether a relative program is meant from the old or the new directory would depend on the system.
            Some(directory) if program.components().count() > 1 => {
                Command::new(std::path::absolute(directory.join(program)).map_err(Fault::no_folder)?)
            }
            _ => Command::new(program),
        };
        if let Some(directory) = directory {
            if !directory.is_dir() {
                return Err(Fault::NoDirectory { directory: directory.to_owned() });
            }
            command.current_dir(directory);
        }
        command.args(&self.command[1..]).arg(folder).env(SEED_VARIABLE, seed.to_string());
        Ok(command)
    }

    fn cannot_start(&self, error: std::io::Error) -> Fault {
        let program = self.command[0].clone();
        match error.kind() {
            std::io::ErrorKind::NotFound => Fault::NotFound { program },
            std::io::ErrorKind::PermissionDenied => Fault::NotExecutable { program },
            _ => Fault::CannotRun { program, source: error },
        }
    }

    fn judge_ending(&self, ending: Ending, output_bytes: usize) -> Result<(), Fault> {
        let memory_limit_mib = self.memory_limit_mib;
        Err(match ending {
            Ending::Exited(0) => return Ok(()),
            Ending::Exited(EXIT_INFEASIBLE) => Fault::NoneFound,
            Ending::Exited(code) => Fault::Exited { code, memory_limit_mib },
            Ending::Signalled(signal) => Fault::Signalled { signal, memory_limit_mib },
            Ending::TimedOut => Fault::TimedOut { seconds: self.time_limit_seconds },
            Ending::Stopped => Fault::Stopped,
            Ending::Overflowed => Fault::TooMuchOutput { bytes: output_bytes },
            Ending::OutputHeldOpen => Fault::OutputHeldOpen,
        })
    }
}

/// Whether a program that has no answer ended because the run is to stop. What ends a whole tree of processes (`scancel`, a
/// shutdown) may reach the program before this process has heard of it: a signal that does that is waited for.
fn is_stopped(ending: Ending, stop: &StopToken) -> bool {
    const WAIT: Duration = Duration::from_secs(2);
    const POLL: Duration = Duration::from_millis(20);
    let signal = match ending {
        Ending::Signalled(signal) => signal,
        // As shells tell of their children.
        Ending::Exited(code) => code - 128,
        _ => 0,
    };
    let mut looks = if error::FROM_OUTSIDE.contains(&signal) { WAIT.as_millis() / POLL.as_millis() } else { 0 };
    while looks > 0 && !stop.is_asked() {
        std::thread::sleep(POLL);
        looks -= 1;
    }
    stop.is_asked()
}

impl Placer for CommandPlacer {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        context.stop.check()?;
        Ok(Decision::placement(self.ask(instance, context)?))
    }
}
