//! Things by name, with parameters: the algorithm `heft(average=speed)`, the family of graphs `cholesky(tiles=8)`.

use std::fmt;
use std::str::FromStr;

use crate::{UnknownName, did_you_mean};

/// A parameter as users see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamSpec {
    /// Name, as users write it.
    pub name: &'static str,
    /// Default, as users would write it.
    pub default: String,
    /// One line: meaning, unit, range.
    pub doc: String,
}

/// A name and the parameters that the user gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spec {
    /// The name.
    pub name: String,
    /// Parameters in the order given.
    pub params: Vec<(String, String)>,
}

/// Why a text names nothing, or a parameter is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The text is not `name` or `name(key=value, …)`.
    #[error("'{text}' is no name with parameters: write 'name' or 'name(parameter=value, …)'")]
    Syntax {
        /// The text.
        text: String,
    },
    /// Nothing has that name.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// There is no such parameter.
    #[error("'{owner}' has no parameter '{param}': {remedy}")]
    UnknownParam {
        /// What it was given for.
        owner: String,
        /// The parameter given.
        param: String,
        /// The nearest parameter there is, or all.
        remedy: String,
    },
    /// A parameter is given twice.
    #[error("'{owner}' is given the parameter '{param}' twice")]
    RepeatedParam {
        /// What it was given for.
        owner: String,
        /// The parameter.
        param: String,
    },
    /// A parameter's value does not parse or is out of range.
    #[error("'{owner}': parameter '{param}' is '{value}', but must be {expected}")]
    BadValue {
        /// What it was given for.
        owner: String,
        /// The parameter.
        param: String,
        /// The value given.
        value: String,
        /// What it must be.
        expected: String,
    },
    /// Values that are right alone do not go together.
    #[error("'{owner}': {reason}")]
    Together {
        /// What they were given for.
        owner: String,
        /// What is wrong, and what to do.
        reason: String,
    },
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let syntax = || SpecError::Syntax { text: text.to_owned() };
        let trimmed = text.trim();
        let (name, list) = match trimmed.split_once('(') {
            None => (trimmed, ""),
            Some((name, rest)) => (name.trim_end(), rest.strip_suffix(')').ok_or_else(syntax)?),
        };
        let is_name = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        if !is_name(name) {
            return Err(syntax());
        }
        let mut params: Vec<(String, String)> = Vec::new();
        let items = items(list).ok_or_else(syntax)?;
        for item in items.into_iter().map(str::trim).filter(|_| !list.trim().is_empty()) {
            let (key, value) = item.split_once('=').ok_or_else(syntax)?;
            let (key, value) = (key.trim(), value.trim());
            if !is_name(key) || value.is_empty() {
                return Err(syntax());
            }
            if params.iter().any(|(known, _)| known == key) {
                return Err(SpecError::RepeatedParam { owner: name.to_owned(), param: key.to_owned() });
            }
            params.push((key.to_owned(), value.to_owned()));
        }
        Ok(Self { name: name.to_owned(), params })
    }
}

/// The parts of a list between its commas. Those within parentheses or brackets belong to a value, which may be a spec itself;
/// `None` if they do not match.
fn items(list: &str) -> Option<Vec<&str>> {
    let (mut items, mut begin, mut depth) = (Vec::new(), 0, 0u32);
    for (at, character) in list.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                items.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[begin..]);
    (depth == 0).then_some(items)
}

impl Spec {
    /// Checks that each given parameter is one of those declared.
    ///
    /// # Errors
    /// [`SpecError::UnknownParam`] with the nearest name there is, or with all.
    pub fn check_names(&self, declared: &[ParamSpec]) -> Result<(), SpecError> {
        let names = || declared.iter().map(|param| param.name);
        match self.params.iter().find(|(given, _)| !names().any(|name| name == given)) {
            None => Ok(()),
            Some((given, _)) => Err(SpecError::UnknownParam {
                owner: self.name.clone(),
                param: given.clone(),
                remedy: match declared {
                    [] => "it has none".to_owned(),
                    _ => did_you_mean(given, names()),
                },
            }),
        }
    }
}

impl fmt::Display for Spec {
    /// As the user would write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.name.clone();
        if !self.params.is_empty() {
            let list: Vec<String> = self.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
            text = format!("{text}({})", list.join(","));
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_reads_back_as_it_was_written() {
        let nested = "improve(placer=scoring(alpha=1.1,fringe=2),preset=fast)";
        assert_eq!(nested.parse::<Spec>().unwrap().params[0].1, "scoring(alpha=1.1,fringe=2)");
        for text in ["mite", "heft(average=speed)", "scoring(alpha=1.1,fringe=2)", nested] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        assert_eq!(" heft ( average = speed ) ".parse::<Spec>().unwrap().to_string(), "heft(average=speed)");
        assert_eq!("mite()".parse::<Spec>().unwrap().to_string(), "mite");
    }

    #[test]
    fn broken_specs_are_refused() {
        for text in [
            "",
            "()",
            "a b",
            "heft(",
            "heft(average)",
            "heft(=1)",
            "heft(average=)",
            "heft(a=1,,b=2)",
            "heft)x(",
            "a(b=c(d=1)",
            "a(b=c)d(e)",
        ] {
            assert!(text.parse::<Spec>().is_err(), "{text}");
        }
        assert!(matches!("heft(a=1,a=2)".parse::<Spec>(), Err(SpecError::RepeatedParam { .. })));
    }
}
