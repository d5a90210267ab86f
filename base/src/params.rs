//! Parameters, declared where they are read: name, default, range and meaning in one place.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;

pub use crate::spec::ParamSpec;
use crate::spec::{Spec, SpecError};

/// What a user gave as parameters, of an algorithm or a family of graphs.
///
/// Each call of [`Params::number`], [`Params::word`] or [`Params::value`] declares a parameter and reads it: what the user
/// wrote, else the default.
#[derive(Clone, Debug)]
pub struct Params {
    spec: Spec,
    declared: Vec<ParamSpec>,
    /// What was read, in the same order.
    values: Vec<(String, String)>,
}

impl Params {
    /// The parameters of a spec.
    pub fn of(spec: &Spec) -> Self {
        Self { spec: spec.clone(), declared: Vec::new(), values: Vec::new() }
    }

    /// Nothing given: every parameter has its default.
    pub fn none() -> Self {
        Self::of(&Spec { name: String::new(), params: Vec::new() })
    }

    /// What was declared so far.
    pub fn declared(self) -> Vec<ParamSpec> {
        self.declared
    }

    /// A name with what was read so far, defaults included.
    pub fn values(&self, name: &str) -> Spec {
        Spec { name: name.to_owned(), params: self.values.clone() }
    }

    /// Whether the user gave this parameter.
    pub fn is_given(&self, name: &str) -> bool {
        self.spec.params.iter().any(|(given, _)| given == name)
    }

    /// The refusal of values that do not go together.
    pub fn refuse_together(&self, reason: impl Display) -> SpecError {
        SpecError::Together { owner: self.spec.name.clone(), reason: reason.to_string() }
    }

    /// The refusal of a value that does not go with others.
    pub fn refuse(&self, param: &str, value: impl Display, expected: impl Into<String>) -> SpecError {
        SpecError::BadValue {
            owner: self.spec.name.clone(),
            param: param.to_owned(),
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    /// A number in a range. Numbers that are not finite are in none. The range becomes part of the documentation.
    ///
    /// # Errors
    /// [`SpecError::BadValue`] if the user gave no such number.
    pub fn number<T: Number>(
        &mut self,
        name: &'static str,
        default: T,
        range: impl RangeBounds<T>,
        doc: &str,
    ) -> Result<T, SpecError> {
        let expected = format!("a {}{}", T::NOUN, limits(&range));
        let is_valid = |number: &T| number.is_finite() && range.contains(number);
        let parse = |text: &str| text.parse().ok().filter(is_valid);
        self.value(name, &default.to_string(), &expected, &format!("{doc}; {expected}"), parse)
    }

    /// One of a few words.
    ///
    /// # Errors
    /// [`SpecError::BadValue`] if the user gave another word.
    pub fn word<T: Named>(&mut self, name: &'static str, default: T, doc: &str) -> Result<T, SpecError> {
        let words: Vec<&str> = T::NAMES.iter().map(|(word, _)| *word).collect();
        let expected = match words.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            _ => words.concat(),
        };
        let parse = |text: &str| T::NAMES.iter().find(|(word, _)| *word == text).map(|&(_, value)| value);
        self.value(name, default.name(), &expected, doc, parse)
    }

    /// A number in a range, or `none`, which is the default.
    ///
    /// # Errors
    /// [`SpecError::BadValue`] if the user gave neither.
    pub fn optional<T: Number>(
        &mut self,
        name: &'static str,
        range: impl RangeBounds<T>,
        doc: &str,
    ) -> Result<Option<T>, SpecError> {
        let expected = format!("none or a {}{}", T::NOUN, limits(&range));
        let is_valid = |number: &T| number.is_finite() && range.contains(number);
        let parse = |text: &str| match text {
            "none" => Some(None),
            _ => text.parse().ok().filter(is_valid).map(Some),
        };
        self.value(name, "none", &expected, &format!("{doc}; {expected}"), parse)
    }

    /// Anything else. `parse` answers `None` if a text is not what is `expected`.
    ///
    /// # Errors
    /// [`SpecError::BadValue`] if the user gave something that does not parse.
    pub fn value<T>(
        &mut self,
        name: &'static str,
        default: &str,
        expected: &str,
        doc: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, SpecError> {
        self.declared.push(ParamSpec { name, default: default.to_owned(), doc: doc.to_owned() });
        let given = self.spec.params.iter().find(|(param, _)| param == name);
        let text = given.map_or(default, |(_, text)| text).to_owned();
        let value = parse(&text).ok_or_else(|| self.refuse(name, &text, expected))?;
        self.values.push((name.to_owned(), text));
        Ok(value)
    }
}

/// ` of at least 1`, ` above 0 and at most 1`.
fn limits<T: Display>(range: &impl RangeBounds<T>) -> String {
    let least = match range.start_bound() {
        Bound::Included(least) => format!("of at least {least}"),
        Bound::Excluded(least) => format!("above {least}"),
        Bound::Unbounded => String::new(),
    };
    let most = match range.end_bound() {
        Bound::Included(most) => format!("at most {most}"),
        Bound::Excluded(most) => format!("below {most}"),
        Bound::Unbounded => String::new(),
    };
    let limits: Vec<String> = [least, most].into_iter().filter(|limit| !limit.is_empty()).collect();
    if limits.is_empty() { String::new() } else { format!(" {}", limits.join(" and ")) }
}

/// All numbers above a limit, for [`Params::number`].
pub fn above<T>(limit: T) -> impl RangeBounds<T> {
    (Bound::Excluded(limit), Bound::Unbounded)
}

/// The numbers above a limit up to another, for [`Params::number`].
pub fn above_to<T>(limit: T, most: T) -> impl RangeBounds<T> {
    (Bound::Excluded(limit), Bound::Included(most))
}

/// A number that can be a parameter.
pub trait Number: Copy + PartialOrd + Display + FromStr {
    /// What it is called in messages.
    const NOUN: &'static str;

    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool {
        true
    }
}

impl Number for u32 {
    const NOUN: &'static str = "whole number";
}

impl Number for u64 {
    const NOUN: &'static str = "whole number";
}

impl Number for usize {
    const NOUN: &'static str = "whole number";
}

impl Number for f64 {
    const NOUN: &'static str = "number";

    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

/// A choice that users write as one of a few words.
pub trait Named: Copy + PartialEq + 'static {
    /// All values with their words.
    const NAMES: &'static [(&'static str, Self)];

    /// The word for a value.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl Named for bool {
    const NAMES: &'static [(&'static str, Self)] = &[("true", true), ("false", false)];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Params {
        Params::of(&text.parse().unwrap())
    }

    #[test]
    fn what_is_not_given_has_its_default_and_every_parameter_is_declared() {
        let mut params = params("x(rate=0.5)");
        assert_eq!(params.number("rate", 100.0, above(0.0), "learning rate"), Ok(0.5));
        assert_eq!(params.number("samples", 10_usize, 1.., "placements drawn"), Ok(10));
        assert_eq!(params.word("acyclic", false, "whether blocks form no cycle"), Ok(false));
        let declared: Vec<String> =
            params.declared().iter().map(|param| format!("{}={} {}", param.name, param.default, param.doc)).collect();
        assert_eq!(
            declared,
            [
                "rate=100 learning rate; a number above 0",
                "samples=10 placements drawn; a whole number of at least 1",
                "acyclic=false whether blocks form no cycle",
            ]
        );
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_what_it_must_be() {
        let refused = |text: &str, read: fn(&mut Params) -> Result<f64, SpecError>| {
            read(&mut params(text)).unwrap_err().to_string()
        };
        for value in ["0", "-1", "inf", "nan", "x"] {
            let message = refused(&format!("x(a={value})"), |params| params.number("a", 1.0, above_to(0.0, 1.0), ""));
            let expected = format!("'x': parameter 'a' is '{value}', but must be a number above 0 and at most 1");
            assert_eq!(message, expected);
        }
        let message = refused("x(a=maybe)", |params| params.word("a", true, "").map(|_| 0.0));
        assert_eq!(message, "'x': parameter 'a' is 'maybe', but must be true or false");
    }
}
