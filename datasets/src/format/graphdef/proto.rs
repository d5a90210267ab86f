//! TensorFlow's messages, generated from `datasets/proto`; `tests/protos.rs` makes them again.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, MessageDescriptor};

/// The generated messages of the package `tensorflow`.
#[allow(dead_code, missing_docs, unreachable_pub, clippy::all)]
mod generated {
    include!("../../../proto/tensorflow.rs");
}

pub(super) use generated::attr_value::{ListValue, Value};
pub(super) use generated::tensor_shape_proto::Dim;
pub(super) use generated::{AttrValue, DataType, NodeDef, TensorProto, TensorShapeProto};

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let descriptors: &[u8] = include_bytes!("../../../proto/tensorflow.desc");
    DescriptorPool::decode(descriptors).expect("a test made these descriptors")
});

/// The descriptor of a message of the package `tensorflow` that is part of the build.
pub(super) fn descriptor(message: &str) -> MessageDescriptor {
    POOL.get_message_by_name(&format!("tensorflow.{message}")).expect("the message is one of those built in")
}
