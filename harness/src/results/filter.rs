//! Which rows count: what `--where` says on the command line, and `where` in files of claims and figures.

use std::collections::BTreeMap;
use std::str::FromStr;

use placebench_base::did_you_mean;
use polars::prelude::*;
use serde::Deserialize;

use super::{Column, Table, UnknownColumn};

/// The rows that have, in each column named, one of the values listed; all rows if no column is named.
///
/// Written as `placer=heft,peft graph=nmt network=one_port`. Commas and spaces within parentheses belong to a value, and
/// so do spaces that no `column=` follows. A value may stand in double quotes: `graph="a, b"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Filter {
    columns: BTreeMap<Column, Vec<String>>,
}

/// Why a filter is refused.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A part is not `column=value`.
    #[error("'{term}' is no filter: write column=value, as in 'placer=heft,peft graph=nmt'")]
    Syntax {
        /// The part.
        term: String,
    },
    /// There is no such column.
    #[error(transparent)]
    Column(#[from] UnknownColumn),
    /// No row has the value.
    #[error("no row has {column} '{value}': {remedy}")]
    Value {
        /// The column.
        column: &'static str,
        /// The value.
        value: String,
        /// What to write instead.
        remedy: String,
    },
    /// Every value occurs, but no row has all that is asked for.
    #[error("no row has all of '{filter}'")]
    Nothing {
        /// The filter.
        filter: String,
    },
    /// The table library refuses.
    #[error(transparent)]
    Table(#[from] PolarsError),
}

impl Filter {
    /// Whether all rows pass.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The values listed for a column.
    pub fn values(&self, column: Column) -> &[String] {
        self.columns.get(&column).map_or(&[], Vec::as_slice)
    }

    /// The columns that are named.
    pub fn columns(&self) -> impl Iterator<Item = Column> {
        self.columns.keys().copied()
    }

    /// The filters that name one value of each column, in the order of the values, and what tells each from the others: the
    /// values of the columns that name several.
    pub fn alternatives(&self) -> Vec<(String, Self)> {
        let mut all = vec![(String::new(), Self::default())];
        for (column, values) in &self.columns {
            let one = |(label, filter): &(String, Self), value: &String| {
                let mut filter = filter.clone();
                filter.columns.insert(*column, vec![value.clone()]);
                let label = if values.len() > 1 { format!("{label} {value}") } else { label.clone() };
                (label.trim_start().to_owned(), filter)
            };
            all = all.iter().flat_map(|before| values.iter().map(move |value| one(before, value))).collect();
        }
        all
    }

    /// The rows of both: columns that both name must have one of the values of either.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for (column, values) in &other.columns {
            self.columns.entry(*column).or_default().extend(values.iter().cloned());
        }
        self
    }

    /// The filter with one more value of a column.
    #[must_use]
    pub fn and_one(mut self, column: Column, value: &str) -> Self {
        self.columns.entry(column).or_default().push(value.to_owned());
        self
    }

    /// The filter without what it says of some columns.
    #[must_use]
    pub fn without(mut self, columns: &[Column]) -> Self {
        self.columns.retain(|column, _| !columns.contains(column));
        self
    }

    /// Whether a row passes, as an expression over the columns of a [`Table`].
    pub fn expr(&self) -> Expr {
        let columns = self.columns.iter().map(|(column, values)| column.is_one_of(values));
        columns.reduce(Expr::and).unwrap_or_else(|| lit(true))
    }

    /// Checks that each value occurs in one of the tables, and that one of them has a row that passes.
    ///
    /// # Errors
    /// What is wrong, with the value that may be meant.
    pub fn check(&self, tables: &[&Table]) -> Result<(), FilterError> {
        for (&column, wanted) in &self.columns {
            for value in wanted {
                let passes = column.is_one_of(std::slice::from_ref(value));
                let mut rows = 0;
                for table in tables {
                    rows += table.filter(passes.clone())?.height();
                }
                if rows == 0 {
                    let mut known: Vec<String> = Vec::new();
                    for table in tables {
                        for texts in column.called() {
                            known.extend(table.distinct_values(texts)?);
                        }
                    }
                    known.sort_unstable();
                    known.dedup();
                    let known: Vec<String> = known.iter().map(|known| quoted_if_needed(known)).collect();
                    let remedy = did_you_mean(value, known.iter().map(String::as_str));
                    let column = column.name();
                    return Err(FilterError::Value { column, value: value.clone(), remedy });
                }
            }
        }
        for table in tables {
            if table.filter(self.expr())?.height() > 0 {
                return Ok(());
            }
        }
        Err(FilterError::Nothing { filter: self.to_string() })
    }
}

impl std::fmt::Display for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let term = |(column, values): (&Column, &Vec<String>)| {
            let values: Vec<_> = values.iter().map(|value| quoted_if_needed(value)).collect();
            format!("{}={}", column.name(), values.join(","))
        };
        f.write_str(&self.columns.iter().map(term).collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut terms: Vec<String> = Vec::new();
        for word in split(text, char::is_whitespace) {
            let names_column = word.split_once('=').is_some_and(|(name, _)| is_identifier(name));
            match terms.last_mut() {
                Some(term) if !names_column => *term = format!("{term} {word}"),
                _ => terms.push(word),
            }
        }
        let mut filter = Self::default();
        for term in terms {
            let (name, values) = term.split_once('=').ok_or_else(|| FilterError::Syntax { term: term.clone() })?;
            let values: Vec<String> = split(values, |c| c == ',').into_iter().map(unquoted).collect();
            if values.is_empty() {
                return Err(FilterError::Syntax { term: term.clone() });
            }
            filter.columns.entry(name.parse()?).or_default().extend(values);
        }
        Ok(filter)
    }
}

/// Filters written as `placer=heft,peft graph=nmt`, for fields of files: `#[serde(with = "…")]`.
pub(crate) mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// The parts of a text between separators that are outside of parentheses and of quoted values, those without a letter left out.
fn split(text: &str, separates: impl Fn(char) -> bool) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quoted) = (0usize, false);
    let mut before = ',';
    for c in text.chars() {
        match c {
            // Doubled within quotes, it ends them and begins them again.
            '"' if quoted || (depth == 0 && matches!(before, ',' | '=' | '"')) => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if quoted || depth > 0 || !separates(c) => part.push(c),
            _ => parts.push(String::new()),
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// What stands in double quotes, where two are one, or the value as it is.
fn unquoted(value: String) -> String {
    match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => value,
    }
}

/// A value as it is read again.
fn quoted_if_needed(value: &str) -> String {
    let names_column = |word: &String| word.split_once('=').is_some_and(|(name, _)| is_identifier(name));
    // What stands without quotes is read as words with one blank between them.
    let ends = split(&format!("{value},next"), |c| c == ',') == [value, "next"]
        && split(value, char::is_whitespace).join(" ") == value;
    let is_plain = ends && !value.contains('"') && !split(value, char::is_whitespace).iter().any(names_column);
    if is_plain { value.to_owned() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Row;

    fn table() -> Table {
        let row = |placer: &str, graph: &str, repetition| Row {
            placer: placer.into(),
            graph: graph.into(),
            repetition,
            ..Row::default()
        };
        let rows = [
            row("heft", "nmt", 0),
            row("heft(average=speed)", "nmt", 1),
            row("scoring(alpha=1,fringe=2)", "it's drawn", 0),
            Row { placer_spec: Some("peft(a=1)".into()), ..row("PEFT-1", "convnet", 0) },
        ];
        Table::new(&rows).unwrap()
    }

    fn rows(text: &str) -> Vec<u32> {
        let filter: Filter = text.parse().unwrap();
        table().filter(filter.expr()).unwrap().column("row").unwrap()
    }

    #[test]
    fn alternatives_name_one_value_of_each_column() {
        let filter: Filter = "graph=nmt,convnet placer=heft".parse().unwrap();
        let alternatives = filter.alternatives();
        let texts: Vec<(&str, String)> =
            alternatives.iter().map(|(label, filter)| (label.as_str(), filter.to_string())).collect();
        let expected = [("nmt", "graph=nmt placer=heft"), ("convnet", "graph=convnet placer=heft")];
        assert_eq!(texts, expected.map(|(label, text)| (label, text.to_owned())));
        assert_eq!(Filter::default().alternatives(), [(String::new(), Filter::default())]);
    }

    #[test]
    fn each_column_must_have_one_of_its_values_and_a_placer_goes_by_name_or_in_full() {
        assert_eq!(rows(""), [0, 1, 2, 3]);
        assert_eq!(rows("placer=heft"), [0, 1]);
        assert_eq!(rows("placer=heft(average=speed)"), [1]);
        assert_eq!(rows("placer_spec=heft"), [0]);
        assert_eq!(rows("placer=heft graph=nmt repetition=1"), [1]);
        assert_eq!(rows("placer=heft(average=speed),scoring(alpha=1,fringe=2)"), [1, 2]);
        assert_eq!(rows("graph=it's drawn placer=scoring"), [2]);
        for named in ["placer=PEFT-1", "placer=peft", "placer=peft(a=1)", "placer_spec=peft(a=1)"] {
            assert_eq!(rows(named), [3], "{named}");
        }
        assert!(rows("placer_spec=PEFT-1").is_empty());
        let both = "placer=heft".parse::<Filter>().unwrap().and(&"placer=scoring".parse().unwrap());
        assert_eq!(both, "placer=heft,scoring".parse().unwrap());
    }

    #[test]
    fn a_value_in_quotes_may_have_any_comma_and_what_is_written_is_read_again() {
        let values = |text: &str| text.parse::<Filter>().unwrap().values(Column::Graph).to_vec();
        assert_eq!(values(r#"graph="a, b",c placer=heft"#), ["a, b", "c"]);
        assert_eq!(values(r#"graph="x placer=y""#), ["x placer=y"]);
        assert_eq!(values(r#"graph=5" disk,"say ""x"", y""#), ["5\" disk", "say \"x\", y"]);
        assert_eq!(values("graph=nmt(a=1,b=2),it's drawn"), ["nmt(a=1,b=2)", "it's drawn"]);
        for value in [
            "a,b",
            "a placer=b",
            "\"a\"",
            "a (b",
            "f(a,b)",
            "it's drawn",
            "a\" b, c",
            "a) b, c",
            "a\",b",
            "\"",
            "\"\"",
            "a\"\",\"",
            "two  blanks",
            "a\ttab",
            " led",
        ] {
            let filter = Filter::default().and_one(Column::Graph, value).and_one(Column::Placer, "heft");
            assert_eq!(filter.to_string().parse::<Filter>().unwrap(), filter, "{filter}");
        }
    }

    #[test]
    fn a_mistake_is_told_with_what_may_be_meant() {
        let error = |text: &str| match text.parse::<Filter>() {
            Ok(filter) => filter.check(&[&table()]).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error("heft").contains("write column=value"));
        assert_eq!(error("placer_spec=hefft"), "no row has placer_spec 'hefft': did you mean 'heft'?");
        assert!(error("placer=").contains("write column=value"));
        assert_eq!(error("placr=heft"), "no column 'placr' to filter by: did you mean 'placer'?");
        assert_eq!(error("graph=nmtt"), "no row has graph 'nmtt': did you mean 'nmt'?");
        assert_eq!(error("placer=PEFT-2"), "no row has placer 'PEFT-2': did you mean 'PEFT-1'?");
        assert_eq!(error("graph=nmt placer=scoring"), "no row has all of 'graph=nmt placer=scoring'");
        assert!("graph=nmt".parse::<Filter>().unwrap().check(&[&table()]).is_ok());
    }
}
