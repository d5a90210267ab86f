//! A node with what is known of its inputs: what inference and costs ask.

use super::proto::{AttributeProto, NodeProto};
use super::tensor::Tensor;

/// Why the outputs of a node cannot be inferred.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// They depend on data, or on what is not modelled: the shapes that the file declares count, if it declares them.
    Unknown(String),
    /// The node contradicts its inputs or its operator.
    Wrong(String),
}

/// The outputs of a node, in order. Those that are missing at the end are unknown.
pub(super) type Outputs = Result<Vec<Tensor>, Fault>;

/// A node with its inputs.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) node: &'a NodeProto,
    /// `None` for optional inputs that are left out.
    pub(super) inputs: Vec<Option<&'a Tensor>>,
}

impl<'a> Call<'a> {
    /// An input that the node must have.
    pub(super) fn input(&self, index: usize) -> Result<&'a Tensor, Fault> {
        self.optional(index).ok_or_else(|| Fault::Wrong(format!("has no input {index}")))
    }

    pub(super) fn optional(&self, index: usize) -> Option<&'a Tensor> {
        self.inputs.get(index).copied().flatten()
    }

    /// All inputs that are there.
    pub(super) fn given(&self) -> impl Iterator<Item = &'a Tensor> + '_ {
        self.inputs.iter().copied().flatten()
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        self.node.attribute.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name).map(|attribute| attribute.i)
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.int(name).map_or(default, |value| value != 0)
    }

    pub(super) fn ints(&self, name: &str) -> Option<&'a [i64]> {
        self.attribute(name).map(|attribute| attribute.ints.as_slice())
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.attribute(name).and_then(|attribute| std::str::from_utf8(&attribute.s).ok())
    }

    /// Whole numbers that old versions of an operator have as an attribute and new ones as an input. `None` if neither is
    /// there.
    ///
    /// # Errors
    /// If the input is not constant.
    pub(super) fn list(&self, name: &str, index: usize) -> Result<Option<Vec<i64>>, Fault> {
        if let Some(list) = self.ints(name) {
            return Ok(Some(list.to_vec()));
        }
        let Some(input) = self.optional(index) else { return Ok(None) };
        input.whole().map(Some).ok_or_else(|| self.not_constant(name, index))
    }

    /// As [`Call::list`], where there must be one.
    pub(super) fn required(&self, name: &str, index: usize) -> Result<Vec<i64>, Fault> {
        self.list(name, index)?.ok_or_else(|| Fault::Wrong(format!("has no '{name}'")))
    }

    pub(super) fn not_constant(&self, name: &str, index: usize) -> Fault {
        let value = self.node.input.get(index).map_or("", String::as_str);
        Fault::Unknown(format!("its '{name}', the value '{value}', is not constant"))
    }

    /// An axis of `rank`, counted from the end if negative. `rank` itself is allowed where something is inserted.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize, Fault> {
        let from_start = if axis < 0 { axis + rank as i64 } else { axis };
        match usize::try_from(from_start) {
            Ok(axis) if axis < rank => Ok(axis),
            _ => Err(Fault::Wrong(format!("has the axis {axis}, but the rank is {rank}"))),
        }
    }

    /// The axis that an attribute names.
    pub(super) fn axis_of(&self, name: &str, default: i64, rank: usize) -> Result<usize, Fault> {
        self.axis(self.int(name).unwrap_or(default), rank)
    }

    /// Several axes, ascending. None may come twice.
    pub(super) fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>, Fault> {
        let mut found = axes.iter().map(|&axis| self.axis(axis, rank)).collect::<Result<Vec<_>, _>>()?;
        found.sort_unstable();
        match found.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(Fault::Wrong(format!("has an axis twice: {axes:?}"))),
            false => Ok(found),
        }
    }

    /// The value of a list for one spatial axis, or its default.
    pub(super) fn spatial(&self, name: &str, axis: usize, default: i64) -> Result<i64, Fault> {
        match self.ints(name) {
            None | Some([]) => Ok(default),
            Some(list) => list
                .get(axis)
                .copied()
                .ok_or_else(|| Fault::Wrong(format!("has '{name}' {list:?}, which is too short for its inputs"))),
        }
    }
}

/// The fault of inputs whose shapes do not fit.
pub(super) fn misfit(shapes: &[&[u64]]) -> Fault {
    let texts: Vec<_> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
    Fault::Wrong(format!("has inputs of shapes that do not fit: {}", texts.join(", ")))
}

/// A size that inference computed; a negative or huge one is a fault of the node.
pub(super) fn size(value: i64) -> Result<u64, Fault> {
    u64::try_from(value).map_err(|_| Fault::Wrong(format!("makes a dimension of size {value}")))
}
