//! Named dimensions, such as `batch`, and the sizes that the user gives them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use placebench_base::did_you_mean;

use super::proto::{Size, TensorShapeProto, ValueInfoProto};
use super::tensor::{Element, Tensor};
use crate::format::FormatError;
use crate::format::options::DimSize;

/// The sizes of named dimensions. A dimension without a name is called by its value and place: `x[0]`.
#[derive(Debug)]
pub(super) struct Dims {
    sizes: BTreeMap<String, u64>,
    /// The names that the file has.
    seen: BTreeSet<String>,
}

impl Dims {
    pub(super) fn new(given: &[DimSize]) -> Self {
        let sizes = given.iter().map(|dim| (dim.name.clone(), dim.size)).collect();
        Self { sizes, seen: BTreeSet::new() }
    }

    /// The shape that a file declares for a value, or the first dimension whose size nobody says. `None`: no shape is
    /// declared.
    pub(super) fn declared(&mut self, info: &ValueInfoProto) -> Option<Result<Tensor, String>> {
        let tensor = info.r#type.as_ref()?.tensor_type.as_ref()?;
        let shape = self.shape(&info.name, tensor.shape.as_ref()?);
        Some(shape.map(|shape| Tensor::new(Element(tensor.elem_type), shape)))
    }

    fn shape(&mut self, value: &str, shape: &TensorShapeProto) -> Result<Vec<u64>, String> {
        let mut sizes = Vec::with_capacity(shape.dim.len());
        let mut missing = None;
        for (axis, dim) in shape.dim.iter().enumerate() {
            let name = match &dim.size {
                Some(Size::Value(size)) if *size >= 0 => {
                    sizes.push(*size as u64);
                    continue;
                }
                Some(Size::Name(name)) if !name.is_empty() => name.clone(),
                _ => format!("{value}[{axis}]"),
            };
            match self.sizes.get(&name) {
                Some(&size) => sizes.push(size),
                None => drop(missing.get_or_insert_with(|| name.clone())),
            }
            self.seen.insert(name);
        }
        missing.map_or(Ok(sizes), Err)
    }

    /// Refuses a size for a dimension that the file does not have.
    pub(super) fn check_used(&self, path: &Path) -> Result<(), FormatError> {
        let seen = &self.seen;
        let Some(unknown) = self.sizes.keys().find(|name| !seen.contains(*name)) else { return Ok(()) };
        let fault = FormatError::file(path, format!("there is no dimension '{unknown}'"));
        Err(match seen.is_empty() {
            true => fault.remedy("all dimensions have sizes: leave out --dim"),
            false => fault.remedy(did_you_mean(unknown, seen.iter().map(String::as_str))),
        })
    }
}
