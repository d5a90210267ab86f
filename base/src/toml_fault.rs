//! Reads TOML; what is wrong with a text is one line.

use std::fmt;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::{nearest, shortened};

/// A longer message loses its middle: the parser quotes values whole, and may list all names of a table.
const MOST_CHARACTERS: usize = 1000;

/// What is wrong with a TOML text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TomlFault {
    /// The line of the fault, from 1, if the parser knows it.
    pub line: Option<u64>,
    /// The fault, in one line.
    pub message: String,
}

/// Reads a TOML text.
///
/// # Errors
/// If the text is no TOML, or not that of a `T`.
///
/// # Example
/// ```
/// #[derive(Debug, serde::Deserialize)]
/// struct Size {
///     width: u32,
/// }
/// let fault = placebench_base::parse_toml::<Size>("# a size\nwidth = 'wide'").unwrap_err();
/// assert_eq!(fault.to_string(), "line 2: invalid type: string \"wide\", expected a whole number of at least 0");
/// ```
pub fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, TomlFault> {
    toml::from_str(text).map_err(|error| TomlFault::of(text, &error))
}

impl TomlFault {
    /// The parser's error about a text.
    pub fn of(text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| line_at(text, span.start));
        let message = error.message().replace('\n', " ");
        let message = of_variant(&message).unwrap_or(message);
        let message = match message.as_str() {
            "invalid type: map, expected a sequence" => table_for_list(text, error),
            _ => in_words(message),
        };
        let message = with_suggestion(&message).unwrap_or(message);
        Self { line, message: shortened(&message, MOST_CHARACTERS).into_owned() }
    }
}

/// What to write in place of the table that the parser found.
fn table_for_list(text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| line_at(text, span.start) as usize - 1);
    let line = text.lines().nth(start).unwrap_or_default().trim();
    let remedy = match line.strip_prefix('[').and_then(|line| line.split_once(']')) {
        Some((name, _)) => format!("write [[{name}]] with two brackets in place of [{name}]"),
        None => "write [{ … }] in place of { … }".to_owned(),
    };
    format!("a table where a list of tables is expected: {remedy}")
}

/// Reads a list of two, for `deserialize_with`: the parser itself reads a pair from a longer list, and ignores the rest.
///
/// # Errors
/// If it is no list, or one of another length.
pub fn exactly_two<'de, T: Deserialize<'de>, D: Deserializer<'de>>(input: D) -> Result<(T, T), D::Error> {
    let list = Vec::deserialize(input)?;
    let [first, second] = <[T; 2]>::try_from(list)
        .map_err(|list| D::Error::custom(format!("a list of {} where a list of two is expected", list.len())))?;
    Ok((first, second))
}

/// The parser's message without the words of its language at the end.
fn in_words(message: String) -> String {
    const WORDS: [(&[&str], &str); 7] = [
        (&["u8", "u16", "u32", "u64", "usize"], "a whole number of at least 0"),
        (&["i32", "i64"], "a whole number"),
        (&["a tuple of size 2"], "a list of two"),
        (&["a tuple of size 3"], "a list of three"),
        (&["f32", "f64"], "a number"),
        (&["a sequence"], "a list"),
        (&["a map"], "a table"),
    ];
    let Some((head, tail)) = message.rsplit_once(", expected ") else { return message };
    // Names of our types say nothing to whom the message is for.
    let tail = if tail.starts_with("struct ") { "a map" } else { tail };
    match WORDS.iter().find(|(theirs, _)| theirs.contains(&tail)) {
        Some((_, ours)) => format!("{head}, expected {ours}"),
        None => message,
    }
}

/// The parser has other words for an unknown key where a table is one of several forms: those that it has elsewhere.
fn of_variant(message: &str) -> Option<String> {
    let (name, known) = message.strip_prefix("unexpected keys in table: ")?.split_once(", available keys: ")?;
    let known: Vec<String> = known.split(", ").map(|key| format!("`{key}`")).collect();
    Some(format!("unknown field `{name}`, expected one of {}", known.join(", ")))
}

/// The parser's message about an unknown key or word, with the nearest known one in place of a long list, if one is near.
fn with_suggestion(message: &str) -> Option<String> {
    let (fault, known) = message.split_once(", expected ")?;
    let (what, name) = fault.strip_suffix('`')?.split_once('`')?;
    if !matches!(what.trim(), "unknown field" | "unknown variant") {
        return None;
    }
    let near = nearest(name, known.split('`').skip(1).step_by(2))?;
    Some(format!("{what}`{name}`: did you mean `{near}`?"))
}

/// The line, from 1, of a byte of a text.
pub fn line_at(text: &str, offset: usize) -> u64 {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1
}

impl std::error::Error for TomlFault {}

impl fmt::Display for TomlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "snake_case")]
    enum Rule {
        #[expect(dead_code, reason = "read from text alone")]
        Box { width: Option<u32>, height: Option<u32> },
    }

    #[test]
    fn a_misspelt_key_or_word_is_answered_with_the_nearest_and_a_wild_one_with_all() {
        let fault = |text: &str| parse_toml::<Rule>(text).unwrap_err().to_string();
        assert_eq!(fault("box = { hieght = 1 }"), "line 1: unknown field `hieght`: did you mean `height`?");
        assert_eq!(fault("box = { colour = 1 }"), "line 1: unknown field `colour`, expected one of `width`, `height`");
        assert!(fault("bxo = { width = 1 }").contains("unknown variant `bxo`"));
        let long = fault(&format!("box = {{ width = '{}' }}", "1 ".repeat(100_000)));
        assert!(long.starts_with("line 1: invalid type: string") && long.chars().count() < 1_100, "{long}");
    }

    #[derive(Debug, Deserialize)]
    struct Tables {
        #[expect(dead_code, reason = "read from text alone")]
        #[serde(default, rename = "box")]
        boxes: Vec<Rule>,
        #[expect(dead_code, reason = "read from text alone")]
        #[serde(default, deserialize_with = "pair")]
        range: Option<(u32, u32)>,
    }

    fn pair<'de, D: Deserializer<'de>>(input: D) -> Result<Option<(u32, u32)>, D::Error> {
        exactly_two(input).map(Some)
    }

    #[test]
    fn a_table_for_a_list_of_tables_is_answered_with_its_own_name() {
        let fault = |text: &str| parse_toml::<Tables>(text).unwrap_err().to_string();
        assert_eq!(
            fault("\n[box] # one\nbox = { width = 1 }"),
            "line 2: a table where a list of tables is expected: write [[box]] with two brackets in place of [box]"
        );
        assert_eq!(
            fault("box = { width = 1 }"),
            "line 1: a table where a list of tables is expected: write [{ … }] in place of { … }"
        );
    }

    #[test]
    fn a_pair_is_a_list_of_exactly_two() {
        assert!(parse_toml::<Tables>("range = [1, 2]").is_ok());
        for (text, count) in [("range = [1, 2, 3]", 3), ("range = [1]", 1)] {
            let fault = parse_toml::<Tables>(text).unwrap_err().to_string();
            assert_eq!(fault, format!("line 1: a list of {count} where a list of two is expected"));
        }
    }
}
