//! Contents of small tensors: how they are read from a file, and how they move when a tensor is rearranged.

use super::proto::TensorProto;
use super::tensor::{Element, MAX_CONTENT, Tensor, elements};

/// The value that a file holds.
///
/// # Errors
/// If its shape is none, or holds another number of elements than the data.
pub(super) fn of_proto(proto: &TensorProto) -> Result<Tensor, String> {
    let shape = proto.dims.iter().map(|&size| u64::try_from(size)).collect::<Result<Vec<_>, _>>();
    let shape = shape.map_err(|_| format!("has the shape {:?}, with a negative dimension", proto.dims))?;
    let mut tensor = Tensor::new(Element(proto.data_type), shape);
    let Some(bytes) = tensor.bytes() else {
        return Err(match tensor.element.bits() {
            None => format!("has elements of type {}, whose size is unknown", proto.data_type),
            Some(_) => format!("has the shape {:?}, which is too large", proto.dims),
        });
    };
    const EXTERNAL: i32 = 1;
    if proto.data_location == EXTERNAL {
        return Ok(tensor);
    }
    let raw = proto.raw_data.len() as u64;
    if raw > 0 && raw != bytes {
        return Err(format!("has {raw} bytes of data, but its shape {:?} says {bytes}", proto.dims));
    }
    if tensor.elements().is_some_and(|count| count <= MAX_CONTENT) {
        tensor.content = decode(proto).filter(|content| Some(content.len() as u64) == tensor.elements());
    }
    Ok(tensor)
}

/// The elements of a tensor, of the types that may decide a shape.
fn decode(proto: &TensorProto) -> Option<Vec<f64>> {
    fn raw<const N: usize>(bytes: &[u8], of: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks::<N>().0.iter().map(|chunk| of(*chunk)).collect()
    }
    let data = &proto.raw_data[..];
    let packed = || proto.int32_data.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
    Some(match (proto.data_type, data.is_empty()) {
        (1, true) => proto.float_data.iter().map(|&value| f64::from(value)).collect(),
        (1, false) => raw(data, |bytes| f64::from(f32::from_le_bytes(bytes))),
        (6, true) | (9, true) => packed(),
        (6, false) => raw(data, |bytes| f64::from(i32::from_le_bytes(bytes))),
        (7, true) => proto.int64_data.iter().map(|&value| value as f64).collect(),
        (7, false) => raw(data, |bytes| i64::from_le_bytes(bytes) as f64),
        (9, false) => data.iter().map(|&byte| f64::from(byte != 0)).collect(),
        (11, true) => proto.double_data.clone(),
        (11, false) => raw(data, f64::from_le_bytes),
        (13, true) => proto.uint64_data.iter().map(|&value| value as f64).collect(),
        (13, false) => raw(data, |bytes| u64::from_le_bytes(bytes) as f64),
        _ => return None,
    })
}

/// The content of a tensor of a shape, element by element from its position. `None` if it is too large, or if an
/// element is unknown.
pub(super) fn build(shape: &[u64], element: impl Fn(&[u64]) -> Option<f64>) -> Option<Vec<f64>> {
    let count = elements(shape).filter(|&count| count <= MAX_CONTENT)?;
    let mut position = vec![0; shape.len()];
    let mut content = Vec::with_capacity(count as usize);
    for _ in 0..count {
        content.push(element(&position)?);
        for axis in (0..shape.len()).rev() {
            position[axis] += 1;
            if position[axis] < shape[axis] {
                break;
            }
            position[axis] = 0;
        }
    }
    Some(content)
}

/// The element of a tensor at a position, stretched if the tensor is smaller (NumPy's rule).
pub(super) fn stretched(tensor: &Tensor, position: &[u64]) -> Option<f64> {
    let skipped = position.len() - tensor.rank();
    let own = tensor.shape.iter().zip(&position[skipped..]);
    let index = own.fold(0, |index, (&size, &at)| index * size + if size == 1 { 0 } else { at });
    tensor.content.as_ref()?.get(index as usize).copied()
}
