//! What goes wrong becomes an exception, with the words of the command line.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::{PyBaseException, PyException};
use pyo3::prelude::*;

create_exception!(
    placebench,
    Error,
    PyException,
    "What placebench refuses or cannot do; the text is that of the command line."
);
create_exception!(
    placebench,
    Infeasible,
    Error,
    "There is no feasible placement, or none was found. A placer may raise it."
);
create_exception!(placebench, TimedOut, Error, "It was not done within the time limit.");
create_exception!(
    placebench,
    Stopped,
    PyBaseException,
    "Raised inside a placer when its time is up or the run is stopped."
);

/// The exception with the text of an error.
pub(crate) fn fault(error: impl Display) -> PyErr {
    Error::new_err(error.to_string())
}
