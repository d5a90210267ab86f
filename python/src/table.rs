//! The class `Table`: a data frame that any library which knows Arrow can take without a copy.

use polars::prelude::*;
use polars_arrow::array::{Array, StructArray};
use polars_arrow::ffi::{ArrowArrayStream, export_iterator};
use polars_arrow::record_batch::RecordBatchT;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::fault::fault;

/// Columns of equal length. It speaks Arrow's PyCapsule interface: `polars.DataFrame(table)`, `pyarrow.table(table)` and
/// `pandas.DataFrame.from_arrow(table)` take it, without a copy where the library permits.
#[pyclass(frozen, subclass, module = "placebench")]
pub(crate) struct Table {
    pub(crate) frame: DataFrame,
}

/// How strings are laid out in Arrow: as Polars has them, so that nothing is copied.
const LAYOUT: fn() -> CompatLevel = CompatLevel::newest;

impl Table {
    fn stream(&self) -> ArrowArrayStream {
        let fields: Vec<ArrowField> = self.frame.schema().to_arrow(LAYOUT()).iter_values().cloned().collect();
        let dtype = ArrowDataType::Struct(fields);
        let batch = |batch: RecordBatchT<Box<dyn Array>>| -> PolarsResult<Box<dyn Array>> {
            let rows = batch.len();
            Ok(StructArray::try_new(dtype.clone(), rows, batch.into_arrays(), None)?.boxed())
        };
        let mut frame = self.frame.clone();
        frame.align_chunks_par();
        let batches: Vec<_> = frame.iter_chunks(LAYOUT(), false).map(batch).collect();
        export_iterator(Box::new(batches.into_iter()), ArrowField::new("".into(), dtype.clone(), false))
    }
}

#[pymethods]
impl Table {
    /// The names of the columns, in order.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.frame.columns().iter().map(|column| column.name().as_str()).collect()
    }

    /// Arrow's PyCapsule interface. What is asked of the schema is not heeded, as the interface permits.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        PyCapsule::new_with_value(py, self.stream(), c"arrow_array_stream")
    }

    /// A `polars.DataFrame`. Not copied.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        needed(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// A `pandas.DataFrame`, by way of PyArrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        needed(slf.py(), "pandas")?;
        needed(slf.py(), "pyarrow")?.call_method1("table", (slf,))?.call_method0("to_pandas")
    }

    fn __len__(&self) -> usize {
        self.frame.height()
    }

    fn __repr__(&self) -> String {
        format!(
            "<placebench.Table: {} rows, {} columns; to_polars() or to_pandas()>",
            self.__len__(),
            self.columns().len()
        )
    }

    /// What a notebook shows: the data frame, where Polars is there.
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<Option<String>> {
        match slf.py().import("polars") {
            Ok(_) => Self::to_polars(slf)?.call_method0("_repr_html_")?.extract(),
            Err(_) => Ok(None),
        }
    }
}

/// A library that only some methods need.
pub(crate) fn needed<'py>(py: Python<'py>, library: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(library).map_err(|error| {
        let missing = fault(format!("this needs {library}: pip install {library}"));
        missing.set_cause(py, Some(error));
        missing
    })
}

/// The exception for what Polars refuses.
pub(crate) fn refused(error: PolarsError) -> PyErr {
    fault(error.to_string().replace('\n', " "))
}
