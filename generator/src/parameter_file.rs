//! Parameters of graphs as TOML files: `generator = "cholesky"`, then a line for each parameter.

use placebench_base::parse_toml;
use placebench_base::spec::{Spec, SpecError};
use toml::{Table, Value};

use crate::family::{Described, GraphParams, UndirectedParams};
use crate::family::{LEVELED, TRAINING_STEPS};
use crate::leveled::LeveledParams;
use crate::named::family;
use crate::training_steps::TrainingParams;

/// The key that names the family.
const FAMILY: &str = "generator";

impl Described {
    /// Reads parameters from TOML: the key `generator` names the family, `leveled` if there is none, and the others are
    /// its parameters. A dot in a parameter's name may be a table: `level_edges = { count = 10 }`.
    ///
    /// # Errors
    /// One line: what is wrong, with its line where TOML knows it.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let mut table: Table = parse_toml(text).map_err(|fault| fault.to_string())?;
        let name = match table.remove(FAMILY) {
            None => LEVELED.to_owned(),
            Some(Value::String(name)) => name,
            Some(other) => return Err(format!("'{FAMILY}' is {other}, but must be the name of a family in quotes")),
        };
        match name.as_str() {
            LEVELED => LeveledParams::from_toml(&without_family(text)).map(GraphParams::Leveled).map(Self::Dataflow),
            TRAINING_STEPS => {
                TrainingParams::from_toml(&without_family(text)).map(GraphParams::TrainingSteps).map(Self::Dataflow)
            }
            _ => Self::from_table(&name, table),
        }
    }

    fn from_table(name: &str, table: Table) -> Result<Self, String> {
        let entry = family(name).map_err(|error| error.to_string())?;
        let params = table.into_iter().map(|(key, value)| Ok((key.clone(), text(&key, value)?)));
        let spec = Spec { name: name.to_owned(), params: params.collect::<Result<_, String>>()? };
        entry.read(&spec).map_err(|error: SpecError| error.to_string())
    }

    /// The parameters as a TOML table, the family among them; [`Described::from_toml`] reads it.
    ///
    /// # Errors
    /// If TOML cannot hold a number.
    pub fn to_table(&self) -> Result<Table, String> {
        let params = match self {
            Self::Dataflow(params) => params,
            Self::Undirected(params) => return Ok(of_spec(params.values())),
        };
        let named = |name: &str, params: Result<Table, toml::ser::Error>| {
            let mut table = Table::from_iter([(FAMILY.to_owned(), Value::String(name.to_owned()))]);
            table.extend(params.map_err(|error| error.to_string().replace('\n', " "))?);
            Ok(table)
        };
        match params {
            GraphParams::Leveled(params) => named(LEVELED, Table::try_from(params)),
            GraphParams::TrainingSteps(params) => named(TRAINING_STEPS, Table::try_from(params)),
            GraphParams::Family(params) => Ok(of_spec(params.values())),
        }
    }

    /// The parameters as a TOML file.
    ///
    /// # Errors
    /// If TOML cannot hold a number.
    pub fn to_toml(&self) -> Result<String, String> {
        let mut table = self.to_table()?;
        let family = table.remove(FAMILY).map_or_else(String::new, |name| format!("{FAMILY} = {name}\n"));
        toml::to_string(&table).map(|rest| family + &rest).map_err(|error| error.to_string())
    }
}

impl From<UndirectedParams> for Described {
    fn from(params: UndirectedParams) -> Self {
        Self::Undirected(params)
    }
}

impl From<GraphParams> for Described {
    fn from(params: GraphParams) -> Self {
        Self::Dataflow(params)
    }
}

/// The text without the line that names the family, but with its line break, so that messages count lines right.
fn without_family(text: &str) -> String {
    let is_family = |line: &&str| line.strip_prefix(FAMILY).is_some_and(|rest| rest.trim_start().starts_with('='));
    match text.lines().map(str::trim_start).find(is_family) {
        Some(line) => text.replacen(line, "", 1),
        None => text.to_owned(),
    }
}

/// A value as it stands after `=` in a name with parameters.
fn text(key: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(flag) => Ok(flag.to_string()),
        other => Err(format!("parameter '{key}' is {other}, but must be a number, a text in quotes, true or false")),
    }
}

fn of_spec(spec: &Spec) -> Table {
    let value = |text: &str| {
        let number = text.parse().map(Value::Integer).or_else(|_| text.parse().map(Value::Float));
        number.or_else(|_| text.parse().map(Value::Boolean)).unwrap_or_else(|_| Value::String(text.to_owned()))
    };
    let family = [(FAMILY.to_owned(), Value::String(spec.name.clone()))];
    family.into_iter().chain(spec.params.iter().map(|(key, text)| (key.clone(), value(text)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{described, names};

    #[test]
    fn every_family_and_preset_comes_back_from_its_file() {
        for name in names() {
            let params = described(name).unwrap().unwrap();
            let file = params.to_toml().unwrap();
            assert!(file.starts_with("generator = \""), "{file}");
            assert_eq!(Described::from_toml(&file), Ok(params), "{file}");
        }
    }

    #[test]
    fn a_file_that_is_wrong_says_where_in_one_line() {
        for (file, part) in [
            ("generator = \"choleski\"", "unknown family of graphs 'choleski': did you mean 'cholesky'?"),
            ("generator = 3", "'generator' is 3, but must be the name"),
            ("generator = \"cholesky\"\ntile = \"x\"", "parameter 'tile' is 'x', but must be a whole number"),
            ("generator = \"cholesky\"\ntyles = 3", "no parameter 'tyles': did you mean 'tiles'?"),
            ("generator = \"cholesky\"\ntiles = [3]", "parameter 'tiles' is [3], but must be a number"),
            ("generator = \"cholesky\"\ntiles = ", "line 2"),
            ("# mine\ngenerator = \"leveled\"\nlevel = 3", "line 3: unknown field `level`"),
            ("generator = \"training_steps\"\nworkers = 0", "`workers` is 0, but must be in [1, 16384]"),
        ] {
            let message = Described::from_toml(file).unwrap_err();
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
        }
    }
}
