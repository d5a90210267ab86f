//! Memory shared with Python: NumPy reads arrays of this crate, and this crate reads those of NumPy, without a copy. The only
//! file with unsafe code.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::Arc;

use placebench::datasets::{DataflowGraph, OpId};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::fault::fault;

/// Numbers in memory that something keeps alive and nobody changes, for NumPy to look at through the buffer protocol.
#[pyclass(frozen, module = "placebench")]
pub(crate) struct Array {
    /// Keeps the memory alive.
    _owner: Box<dyn Any + Send + Sync>,
    data: *const u8,
    /// Bytes of an item.
    item: isize,
    /// The item in the words of Python's module `struct`.
    format: &'static CStr,
    /// Items along each axis. The last axis varies fastest.
    shape: Vec<isize>,
    /// Bytes from item to item along each axis.
    strides: Vec<isize>,
}

// SAFETY: the memory behind `data` is never written, and is freed with `_owner`, which may be sent and shared.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

/// A number that has a letter in Python's module `struct`, without padding or forbidden bits.
pub(crate) trait Item: Copy + Send + Sync + 'static {
    const FORMAT: &'static CStr;
}

impl Item for u8 {
    const FORMAT: &'static CStr = c"?";
}

impl Item for u32 {
    const FORMAT: &'static CStr = c"I";
}

impl Item for u64 {
    const FORMAT: &'static CStr = c"Q";
}

impl Item for f64 {
    const FORMAT: &'static CStr = c"d";
}

impl Array {
    /// A NumPy array that looks at items of an owner.
    fn view<'py, T: Item>(
        py: Python<'py>,
        owner: impl Any + Send + Sync,
        items: *const [T],
        columns: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let item = size_of::<T>() as isize;
        let length = items.len();
        let (shape, strides) = match columns {
            None => (vec![length as isize], vec![item]),
            Some(columns) => {
                let rows = length.checked_div(columns).unwrap_or(0);
                (vec![rows as isize, columns as isize], vec![columns as isize * item, item])
            }
        };
        let data = items.cast::<u8>();
        let array = Self { _owner: Box::new(owner), data, item, format: T::FORMAT, shape, strides };
        py.import("numpy")?.call_method1("asarray", (Bound::new(py, array)?,))
    }

    /// A NumPy array of one of a graph's own arrays, which is not copied and keeps the graph alive.
    pub(crate) fn of_graph<'py, T: Item>(
        py: Python<'py>,
        graph: &Arc<DataflowGraph>,
        items: impl FnOnce(&DataflowGraph) -> &[T],
    ) -> PyResult<Bound<'py, PyAny>> {
        let items = ptr::from_ref(items(graph));
        Self::view(py, Arc::clone(graph), items, None)
    }

    /// A NumPy array of numbers, which are not copied.
    pub(crate) fn of<T: Item>(py: Python<'_>, items: Vec<T>) -> PyResult<Bound<'_, PyAny>> {
        let view = ptr::from_ref(items.as_slice());
        Self::view(py, items, view, None)
    }

    /// As [`Array::of`], in rows of `columns` items.
    pub(crate) fn rows<T: Item>(py: Python<'_>, items: Vec<T>, columns: usize) -> PyResult<Bound<'_, PyAny>> {
        let view = ptr::from_ref(items.as_slice());
        Self::view(py, items, view, Some(columns))
    }
}

#[pymethods]
impl Array {
    /// # Safety
    /// As the buffer protocol says: `view` points to a buffer to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("the array cannot be changed: copy it first"));
        }
        let array = slf.get();
        let asked = |flag: c_int| flags & flag == flag;
        // SAFETY: Python hands in a view of its own. All that the fields point to lives in `array`, which never changes and which
        // `obj` keeps alive; a reader may not write to it, since `readonly` is set.
        unsafe {
            (*view).buf = array.data.cast_mut().cast();
            (*view).len = array.shape.iter().product::<isize>() * array.item;
            (*view).readonly = 1;
            (*view).itemsize = array.item;
            (*view).format = if asked(ffi::PyBUF_FORMAT) { array.format.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).ndim = array.shape.len() as c_int;
            (*view).shape = if asked(ffi::PyBUF_ND) { array.shape.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).strides =
                if asked(ffi::PyBUF_STRIDES) { array.strides.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = ptr::null_mut();
            (*view).obj = slf.clone().into_any().into_ptr();
        }
        Ok(())
    }
}

/// Ids as the numbers that they are.
pub(crate) fn numbers(ids: &[OpId]) -> &[u32] {
    // SAFETY: an id is a transparent wrapper of its number.
    unsafe { &*(ptr::from_ref(ids) as *const [u32]) }
}

/// Whole numbers of an array in Python's memory, of one of the types that ids have.
pub(crate) enum Integers {
    U32(PyBuffer<u32>),
    I32(PyBuffer<i32>),
    U64(PyBuffer<u64>),
    I64(PyBuffer<i64>),
}

impl Integers {
    /// The whole numbers of anything that NumPy takes for an array: an array of 32 or 64 bits is not copied.
    ///
    /// # Errors
    /// If they are no whole numbers; `name` is for the message.
    pub(crate) fn of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = object.py().import("numpy")?.call_method1("ascontiguousarray", (object,))?;
        if array.getattr("ndim")?.extract::<usize>()? != 1 {
            return Err(fault(format!(
                "{name}: is no list of numbers, but has several axes: give one number for each"
            )));
        }
        // An empty list has no type of its own.
        if array.len()? == 0 {
            return Ok(Self::I64(PyBuffer::get(&array.call_method1("astype", ("int64",))?)?));
        }
        let dtype = array.getattr("dtype")?;
        match dtype.str()?.to_str()? {
            "uint32" => Ok(Self::U32(PyBuffer::get(&array)?)),
            "int32" => Ok(Self::I32(PyBuffer::get(&array)?)),
            "uint64" => Ok(Self::U64(PyBuffer::get(&array)?)),
            "int64" => Ok(Self::I64(PyBuffer::get(&array)?)),
            "uint8" | "uint16" | "int8" | "int16" => {
                Ok(Self::I32(PyBuffer::get(&array.call_method1("astype", ("int32",))?)?))
            }
            found => Err(fault(format!("{name}: holds {found}: give whole numbers"))),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U32(buffer) => buffer.item_count(),
            Self::I32(buffer) => buffer.item_count(),
            Self::U64(buffer) => buffer.item_count(),
            Self::I64(buffer) => buffer.item_count(),
        }
    }

    /// The numbers in their order; a negative one is an error.
    pub(crate) fn iter<'a>(&'a self, py: Python<'a>) -> Box<dyn Iterator<Item = Result<u64, i64>> + 'a> {
        let positive = |number: i64| u64::try_from(number).map_err(|_| number);
        match self {
            Self::U32(buffer) => Box::new(items(buffer, py).iter().map(|&number| Ok(u64::from(number)))),
            Self::I32(buffer) => Box::new(items(buffer, py).iter().map(move |&number| positive(i64::from(number)))),
            Self::U64(buffer) => Box::new(items(buffer, py).iter().map(|&number| Ok(number))),
            Self::I64(buffer) => Box::new(items(buffer, py).iter().map(move |&number| positive(number))),
        }
    }
}

/// Numbers of an array in Python's memory.
pub(crate) struct Floats(PyBuffer<f64>);

impl Floats {
    /// The numbers of anything that NumPy takes for an array: an array of 64-bit floats is not copied.
    ///
    /// # Errors
    /// If they are no numbers; `name` is for the message.
    pub(crate) fn of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = object.py().import("numpy")?.call_method1("ascontiguousarray", (object, "float64"));
        let array = array.map_err(|error| fault(format!("{name}: {}", error.value(object.py()))))?;
        if array.getattr("ndim")?.extract::<usize>()? != 1 {
            return Err(fault(format!(
                "{name}: is no list of numbers, but has several axes: give one number for each"
            )));
        }
        Ok(Self(PyBuffer::get(&array)?))
    }

    /// The numbers.
    pub(crate) fn get<'a>(&'a self, py: Python<'a>) -> &'a [f64] {
        items(&self.0, py)
    }
}

/// The items of a contiguous buffer.
fn items<'a, T: Element>(buffer: &'a PyBuffer<T>, _held: Python<'a>) -> &'a [T] {
    match buffer.as_slice_ptr() {
        // SAFETY: the buffer is contiguous, aligned and alive as long as the borrow. The GIL is held all the while, so that no Python
        // code changes it.
        Some(items) => unsafe { items.as_ref() },
        None => &[],
    }
}
