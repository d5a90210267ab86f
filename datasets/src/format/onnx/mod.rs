//! Reads and writes ONNX (`.onnx`).
//!
//! | in the file | in the graph |
//! |---|---|
//! | a node | an op; its cost comes from an analytic model of its operator ([`operators`]) |
//! | an input of the graph | an op `Input` without cost |
//! | an initializer | an op `Initializer` without cost, whose value is resident memory |
//! | a value | a tensor: elements × size of an element, in whole bytes |
//! | a node that reads a value | an edge |
//! | a named dimension | what the option `--dim` says |
//!
//! Shapes are inferred from those of the inputs and initializers ([`infer`]). Where an operator's shape depends on data,
//! or the operator is unknown, the shape that the file declares counts (`value_info`). Subgraphs (`If`, `Loop`, `Scan`),
//! functions of the model, sequences and sparse tensors are refused.
//!
//! The writer makes a model of the domain `placebench`, which `onnx.checker` accepts and tools can draw and cut, but not
//! run: see [`own`].

mod call;
mod content;
mod costs;
mod dims;
mod import;
mod infer;
mod names;
mod notes;
mod operators;
mod own;
mod proto;
mod tensor;
#[cfg(test)]
mod tests;

use std::path::Path;

use prost::Message;
use prost::bytes::Bytes;

use super::entry::{Format, GraphFile, Holds, Mark};
use super::options::{ReadOption, ReadOptions};
use super::{FormatError, compressed};
use proto::ModelProto;

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "onnx",
    mark: Mark::Extensions(&["onnx"]),
    title: "ONNX models, with inferred shapes and analytic costs",
    lacks: &[],
    options: &[ReadOption::Dim],
    holds: Holds::Graph { read: Some(read), write: Some(own::write) },
};

/// Reads a model. O(bytes of the file).
fn read(path: &Path, options: &ReadOptions) -> Result<GraphFile, FormatError> {
    let content = compressed::read(path)?;
    if content.is_empty() {
        return Err(FormatError::file(path, "the file is empty").remedy("export the model again"));
    }
    // The decoder refuses messages that nest more than 100 deep, so no file exhausts the stack.
    let model = ModelProto::decode(Bytes::from(content)).map_err(|error| {
        let fault = FormatError::file(path, format!("this is no ONNX model, or it was cut short ({error})"));
        fault.remedy("export it again, or check it with 'onnx.checker'")
    })?;
    if own::is_own(&model) {
        return own::read(path, &model, options);
    }
    import::read(path, &model, options)
}
