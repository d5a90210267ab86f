//! What ops were measured to take on devices of a class.

use std::sync::Arc;

use crate::{GraphError, OpId};

/// What follows the name of a class in the name of its column, in every format.
const SUFFIX: &str = "_seconds";

/// The measured times of all ops on the devices of one class, such as `gpu`, `h100` or `npu1`.
///
/// A device that says nothing else is of the class that its kind names: `cpu`, `gpu` or `tpu`.
#[derive(Clone, Debug)]
pub struct MeasuredTimes {
    class: Arc<str>,
    /// NaN where an op was not measured.
    times: Arc<[f64]>,
}

impl MeasuredTimes {
    /// The times of a class; `None` for ops that were not measured.
    ///
    /// # Errors
    /// If the name is none that a class may have.
    pub(crate) fn new(class: &str, times: impl IntoIterator<Item = Option<f64>>) -> Result<Self, GraphError> {
        if !is_class_name(class) {
            return Err(GraphError::BadClass { class: class.to_owned() });
        }
        Ok(Self { class: class.into(), times: times.into_iter().map(marked).collect() })
    }

    /// The class of devices.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The name of the column that holds these times in files: `h100_seconds`.
    pub(crate) fn column(&self) -> String {
        column_of_class(&self.class)
    }

    /// What an op takes on devices of the class, if it was measured there, in the instance's time unit.
    #[inline]
    pub fn of(&self, op: OpId) -> Option<f64> {
        time_at(&self.times, op)
    }

    /// The times by op, NaN where there is none.
    pub(crate) fn shared(&self) -> &Arc<[f64]> {
        &self.times
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.times.iter().all(|time| time.is_nan())
    }
}

impl PartialEq for MeasuredTimes {
    /// Two times that were not measured are equal.
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
        self.class == other.class
            && self.times.len() == other.times.len()
            && self.times.iter().zip(&*other.times).all(same)
    }
}

/// The time of an op in a column whose NaNs stand for none.
#[inline]
pub(crate) fn time_at(times: &[f64], op: OpId) -> Option<f64> {
    let time = times[op.index()];
    (!time.is_nan()).then_some(time)
}

/// A time as columns keep it. One that was given as NaN becomes negative, so that the check of values refuses it.
pub(crate) fn marked(time: Option<f64>) -> f64 {
    time.map_or(f64::NAN, |time| if time.is_nan() { -1.0 } else { time })
}

/// The columns that have a time at all, ascending by class.
pub(crate) fn sorted(columns: impl IntoIterator<Item = MeasuredTimes>) -> Vec<MeasuredTimes> {
    let mut columns: Vec<_> = columns.into_iter().filter(|column| !column.is_empty()).collect();
    columns.sort_by(|a, b| a.class.cmp(&b.class));
    columns
}

/// Whether a class may have this name: lower-case letters, digits and `_`, so that it can be part of a column's name anywhere.
pub(crate) fn is_class_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// What names of classes may hold, for messages.
pub(crate) const CLASS_NAMES: &str = "a class has a name of lower-case letters, digits and '_'";

/// The name of the column of a class.
pub(crate) fn column_of_class(class: &str) -> String {
    format!("{class}{SUFFIX}")
}

/// The class whose times a column of this name holds.
pub(crate) fn class_of_column(column: &str) -> Option<&str> {
    column.strip_suffix(SUFFIX).filter(|class| is_class_name(class))
}
