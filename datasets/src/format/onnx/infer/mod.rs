//! Shapes and element types of what operators make, and the content of small whole numbers that decide shapes.
//!
//! Each function answers for a group of operators. They follow the ONNX specification of opset 22; where older opsets
//! have attributes instead of inputs, both are read.

pub(super) mod elementwise;
pub(super) mod generate;
pub(super) mod linear;
pub(super) mod rearrange;
pub(super) mod reduce;
pub(super) mod select;
pub(super) mod spatial;
pub(super) mod stretch;
