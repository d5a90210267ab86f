//! Tables of what people call by a name: placers, executors, network models.

use crate::nearest;

/// An entry of a table. A newcomer adds one line to its table, and `placebench list`, messages and look-ups know it.
pub trait Listed {
    /// What messages call an entry: `placer`.
    const WHAT: &'static str;
    /// What `placebench list` calls the table: `placers`.
    const LIST: &'static str;

    /// The name, unique in its table.
    fn name(&self) -> &str;

    /// One line about it.
    fn summary(&self) -> &str;
}

/// No entry of a table has the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{name}': {}", remedy(.nearest, list))]
pub struct UnknownName {
    /// What was sought: [`Listed::WHAT`].
    pub what: &'static str,
    /// The table: [`Listed::LIST`].
    pub list: &'static str,
    /// The name given.
    pub name: String,
    /// The nearest name there is.
    pub nearest: Option<String>,
}

fn remedy(nearest: &Option<String>, list: &str) -> String {
    match nearest {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => format!("see 'placebench list {list}'"),
    }
}

/// The entry of a name; spaces around it do not count.
///
/// # Errors
/// If there is none.
///
/// # Example
/// ```
/// use placebench_base::{Listed, find};
///
/// struct Colour(&'static str);
///
/// impl Listed for Colour {
///     const WHAT: &'static str = "colour";
///     const LIST: &'static str = "colours";
///
///     fn name(&self) -> &str {
///         self.0
///     }
///
///     fn summary(&self) -> &str {
///         "a colour"
///     }
/// }
///
/// let colours = [Colour("green"), Colour("blue")];
/// assert_eq!(find(&colours, "blue").unwrap().0, "blue");
/// let said = |name: &str| find(&colours, name).err().unwrap().to_string();
/// assert_eq!(said("gren"), "unknown colour 'gren': did you mean 'green'?");
/// assert_eq!(said("loud"), "unknown colour 'loud': see 'placebench list colours'");
/// ```
pub fn find<'a, T: Listed + ?Sized + 'a>(
    entries: impl IntoIterator<Item = &'a T, IntoIter: Clone>,
    name: &str,
) -> Result<&'a T, UnknownName> {
    let (entries, name) = (entries.into_iter(), name.trim());
    entries.clone().find(|entry| entry.name() == name).ok_or_else(|| UnknownName {
        what: T::WHAT,
        list: T::LIST,
        name: name.to_owned(),
        nearest: nearest(name, entries.map(Listed::name)),
    })
}
