//! A `[[placer]]` table of a suite.

use std::path::PathBuf;

use placebench_algorithms::{Decision, PlaceContext, PlaceError, Placer, Spec, registry};
use placebench_datasets::Instance;
use serde::{Deserialize, Serialize};

use crate::command_placer::{CommandPlacer, InstanceFormat};

/// A placer that the suite gives a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Table", untagged)]
pub enum PlacerEntry {
    /// A placer of the registry under a name for print.
    Named {
        /// Name in tables.
        name: String,
        /// The placer, as `name` or `name(parameter=value)`.
        placer: String,
    },
    /// A program that places.
    Program(CommandPlacer),
    /// A function that places, in the program that runs the suite.
    Function(FunctionPlacer),
}

/// A placer that only the program that runs the suite can call, as `placebench.run` in Python does: see
/// [`RunPlan::provide`](super::RunPlan::provide).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionPlacer {
    /// Name in tables.
    pub name: String,
    /// Where the function is found, for people: `module:function`.
    pub function: String,
}

impl FunctionPlacer {
    /// Why the placer cannot place here.
    pub fn refusal(&self) -> String {
        let Self { name, function } = self;
        format!("the placer '{name}' is the Python function {function}: run the suite in Python, with placebench.run")
    }
}

impl Placer for FunctionPlacer {
    fn place(&self, _: &Instance, _: &PlaceContext) -> Result<Decision, PlaceError> {
        Err(PlaceError::Unsupported(self.refusal()))
    }
}

impl PlacerEntry {
    /// Name in tables.
    pub fn name(&self) -> &str {
        match self {
            Self::Named { name, .. } => name,
            Self::Program(program) => &program.name,
            Self::Function(placer) => &placer.name,
        }
    }

    /// The specification of a placer of the registry; programs and functions have none.
    pub fn spec(&self) -> Option<&str> {
        match self {
            Self::Named { placer, .. } => Some(placer),
            Self::Program(_) | Self::Function(_) => None,
        }
    }

    pub(super) fn program_mut(&mut self) -> Option<&mut CommandPlacer> {
        match self {
            Self::Named { .. } | Self::Function(_) => None,
            Self::Program(program) => Some(program),
        }
    }

    /// What is wrong with the entry, if anything.
    ///
    /// # Errors
    /// The first fault, with its remedy.
    pub(super) fn check(&self) -> Result<(), String> {
        let in_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if self.name().is_empty() || !self.name().chars().all(in_name) {
            return Err("name: use letters, digits, '-' and '_'".to_owned());
        }
        if registry::placer_names().iter().any(|name| name == self.name()) {
            return Err("placebench has a placer of that name: choose another".to_owned());
        }
        match self {
            Self::Named { placer, .. } => {
                let found = placer.parse::<Spec>().and_then(|spec| registry::placer(&spec));
                found.map(drop).map_err(|error| error.to_string())
            }
            Self::Program(program) => program.check(),
            Self::Function(placer) if placer.function.is_empty() => {
                Err("function: name one, as in \"my_module:my_placer\"".to_owned())
            }
            Self::Function(_) => Ok(()),
        }
    }
}

/// The keys of the table: those of a name for print, and those of a program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(
    expecting = "a [[placer]] table with name and placer, command or function; placers without a name go into placers = […]"
)]
struct Table {
    name: String,
    placer: Option<String>,
    command: Option<Vec<String>>,
    function: Option<String>,
    directory: Option<PathBuf>,
    format: Option<InstanceFormat>,
    time_limit_seconds: Option<f64>,
    memory_limit_mib: Option<u64>,
}

impl TryFrom<Table> for PlacerEntry {
    type Error = String;

    fn try_from(table: Table) -> Result<Self, String> {
        let Table { name, placer, command, function, directory, format, time_limit_seconds, memory_limit_mib } = table;
        let is_limited = time_limit_seconds.is_some() || memory_limit_mib.is_some();
        let of_program = is_limited || directory.is_some() || format.is_some();
        match (placer, command, function) {
            (Some(_), None, None) | (None, None, Some(_)) if of_program => Err(format!(
                "placer '{name}': placer and function go with name alone; the other keys are for a command"
            )),
            (Some(placer), None, None) => Ok(Self::Named { name, placer }),
            (None, None, Some(function)) => Ok(Self::Function(FunctionPlacer { name, function })),
            (None, Some(command), None) => {
                let format = format.unwrap_or_default();
                let program = CommandPlacer { name, command, directory, format, time_limit_seconds, memory_limit_mib };
                Ok(Self::Program(program))
            }
            _ => Err(format!("placer '{name}': give exactly one of placer, command, function")),
        }
    }
}
