//! placebench for Python. This is the compiled half, `placebench._placebench`; the package around it is in
//! `python/placebench`, with its types in `_placebench.pyi`. What users read is docs/PYTHON.md.

mod array;
mod cluster;
mod command;
mod definition;
mod evaluation;
mod fault;
mod figure;
mod file;
mod graph;
mod instance;
mod interrupt;
mod job;
mod names;
mod partition;
mod place;
mod placer;
mod results;
mod suite;
mod table;

use pyo3::prelude::*;

/// The compiled half of placebench.
#[pymodule]
#[pyo3(name = "_placebench")]
mod module {
    #[pymodule_export]
    use crate::cluster::Cluster;
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::evaluation::Evaluation;
    #[pymodule_export]
    use crate::fault::{Error, Infeasible, Stopped, TimedOut};
    #[pymodule_export]
    use crate::figure::Figure;
    #[pymodule_export]
    use crate::graph::Graph;
    #[pymodule_export]
    use crate::instance::Instance;
    #[pymodule_export]
    use crate::names::names;
    #[pymodule_export]
    use crate::partition::{Partition, partition};
    #[pymodule_export]
    use crate::place::{place, simulate};
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::suite::{read_results, run};
    #[pymodule_export]
    use crate::table::Table;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::interrupt::quiet_contained_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
