//! What it takes to be listed: a name, a sentence, a source, parameters.

use placebench_base::{Listed, find};

use crate::fairness::{Assumption, Exception};
use crate::{ParamSpec, Params, Spec, SpecError};

/// An algorithm that a suite or the command line can name.
pub trait Algorithm: Sized {
    /// Unique name among its like.
    const NAME: &'static str;
    /// One plain sentence.
    const SUMMARY: &'static str;
    /// Where it comes from: short citation with section.
    const SOURCE: &'static str;
    /// What its authors take for granted: where an instance breaks it, results are marked.
    const ASSUMES: &'static [Assumption] = &[];
    /// The laws of fairness that it does not keep.
    const EXCEPTIONS: &'static [Exception] = &[];

    /// Declares and reads all parameters, in the order in which they are to be listed, and makes the algorithm.
    ///
    /// # Errors
    /// If a value is not what its parameter takes.
    fn new(params: &mut Params) -> Result<Self, SpecError>;

    /// The algorithm with all parameters at their defaults.
    ///
    /// # Panics
    /// If [`Algorithm::new`] refuses its own defaults, which a test rules out for all that are listed.
    fn with_defaults() -> Self {
        Self::new(&mut Params::none()).expect("an algorithm takes its own defaults")
    }
}

/// A line of a registry: an algorithm as a `T`, for instance as a `dyn Placer`.
pub struct RegistryEntry<T: ?Sized> {
    /// Unique name.
    pub name: String,
    /// One plain sentence.
    pub summary: String,
    /// Where it comes from: short citation with section.
    pub source: &'static str,
    /// What its authors take for granted: see [`broken_assumptions`](crate::fairness::broken_assumptions).
    pub assumes: &'static [Assumption],
    /// The laws of fairness that it does not keep.
    pub exceptions: &'static [Exception],
    /// Declares and reads the parameters and makes the algorithm.
    pub(crate) new: Box<New<T>>,
}

/// What algorithms of a kind are called.
pub trait Role {
    /// As [`Listed::WHAT`].
    const WHAT: &'static str;
    /// As [`Listed::LIST`].
    const LIST: &'static str;
}

impl<T: Role + ?Sized> Listed for RegistryEntry<T> {
    const WHAT: &'static str = T::WHAT;
    const LIST: &'static str = T::LIST;

    fn name(&self) -> &str {
        &self.name
    }

    fn summary(&self) -> &str {
        &self.summary
    }
}

type New<T> = dyn Fn(&mut Params) -> Result<Box<T>, SpecError> + Send + Sync;

impl<T: ?Sized> RegistryEntry<T> {
    /// The line of an algorithm; `boxed` makes it a `T`.
    pub(crate) fn of<A: Algorithm + 'static>(boxed: fn(A) -> Box<T>) -> Self
    where
        T: 'static,
    {
        let new = move |params: &mut Params| A::new(params).map(boxed);
        Self {
            name: A::NAME.to_owned(),
            summary: A::SUMMARY.to_owned(),
            source: A::SOURCE,
            assumes: A::ASSUMES,
            exceptions: A::EXCEPTIONS,
            new: Box::new(new),
        }
    }

    /// The parameters with their defaults.
    pub fn params(&self) -> Vec<ParamSpec> {
        let mut params = Params::none();
        // Defaults are never refused: a test makes every algorithm with them.
        let _ = (self.new)(&mut params);
        params.declared()
    }

    /// Makes the algorithm from a spec that names it.
    ///
    /// # Errors
    /// If a parameter is unknown or its value is not what it takes.
    pub fn make(&self, spec: &Spec) -> Result<Box<T>, SpecError> {
        spec.check_names(&self.params())?;
        (self.new)(&mut Params::of(spec))
    }
}

/// Makes the algorithm that a spec names.
///
/// # Errors
/// If no entry has that name, a parameter is unknown, or its value is not what it takes.
pub(crate) fn make<'a, T: Role + ?Sized + 'a>(
    spec: &Spec,
    entries: impl Iterator<Item = &'a RegistryEntry<T>> + Clone,
) -> Result<Box<T>, SpecError> {
    find(entries, &spec.name)?.make(spec)
}
