//! What is known of a value: the type of its elements, its shape, and its content if that may decide a shape.

/// Contents of more elements are forgotten: they decide no shape.
pub(super) const MAX_CONTENT: u64 = 4096;

/// A value of the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tensor {
    pub(super) element: Element,
    pub(super) shape: Vec<u64>,
    /// The elements in row-major order, if they are known. Whole numbers are exact up to 2^53; beyond, as in the ends of
    /// slices that mean "to the end", they only need to stay large.
    pub(super) content: Option<Vec<f64>>,
}

impl Tensor {
    /// Only type and shape of the value are known.
    pub(super) fn new(element: Element, shape: Vec<u64>) -> Self {
        Self { element, shape, content: None }
    }

    /// A list of whole numbers, as `Shape` makes it.
    pub(super) fn integers(content: impl IntoIterator<Item = u64>) -> Self {
        let content: Vec<f64> = content.into_iter().map(|value| value as f64).collect();
        Self { element: Element::INT64, shape: vec![content.len() as u64], content: Some(content) }
    }

    pub(super) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements; `None` if it is 2^64 or more.
    pub(super) fn elements(&self) -> Option<u64> {
        elements(&self.shape)
    }

    /// Bytes that it occupies. Elements smaller than a byte are packed.
    pub(super) fn bytes(&self) -> Option<u64> {
        Some(self.elements()?.checked_mul(self.element.bits()?)?.div_ceil(8))
    }

    /// The content as whole numbers, if it is known.
    pub(super) fn whole(&self) -> Option<Vec<i64>> {
        Some(self.content.as_ref()?.iter().map(|&value| value as i64).collect())
    }
}

/// Product of the dimensions.
pub(super) fn elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |product, &size| product.checked_mul(size))
}

/// The type of an element: a number of `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element(pub(super) i32);

impl Element {
    pub(super) const FLOAT: Self = Self(1);
    pub(super) const UINT8: Self = Self(2);
    pub(super) const INT32: Self = Self(6);
    pub(super) const INT64: Self = Self(7);
    pub(super) const BOOL: Self = Self(9);

    /// Bits of an element; `None` for text and for types of a newer version.
    pub(super) fn bits(self) -> Option<u64> {
        Some(match self.0 {
            25 | 26 => 2,
            21..=23 => 4,
            27 | 28 => 6,
            2 | 3 | 9 | 17..=20 | 24 => 8,
            4 | 5 | 10 | 16 => 16,
            1 | 6 | 12 => 32,
            7 | 11 | 13 | 14 => 64,
            15 => 128,
            _ => return None,
        })
    }

    /// Whether it is a whole number, signed or not, or a truth value.
    pub(super) fn is_whole(self) -> bool {
        matches!(self.0, 2..=7 | 9 | 12 | 13)
    }
}

/// The shape to which several shapes are stretched (NumPy's rule), if they fit.
pub(super) fn broadcast<'a>(shapes: impl IntoIterator<Item = &'a [u64]>) -> Option<Vec<u64>> {
    let mut result: Vec<u64> = Vec::new();
    for shape in shapes {
        if shape.len() > result.len() {
            let missing = shape.len() - result.len();
            result.splice(0..0, std::iter::repeat_n(1, missing));
        }
        let start = result.len() - shape.len();
        for (size, &own) in result[start..].iter_mut().zip(shape) {
            *size = match (*size, own) {
                (1, other) | (other, 1) => other,
                (one, other) if one == other => one,
                _ => return None,
            };
        }
    }
    Some(result)
}
