//! The Rust code and the descriptors of TensorFlow's messages are those that its protocol buffers give.
//!
//! They are kept in the repository since the crates that make them take longer to build than the crate itself.

use std::fs;
use std::path::Path;

use protox::prost_reflect::prost::Message;

#[test]
fn what_is_kept_of_the_messages_is_what_the_protocol_buffers_give() {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Without source info: the protos' comments are no Rust documentation, and would double the descriptors.
    let descriptors = protox::Compiler::new([&proto])
        .unwrap()
        .include_imports(true)
        .include_source_info(false)
        .open_file("tensorflow/core/framework/graph.proto")
        .unwrap()
        .file_descriptor_set();
    fs::write(out.join("tensorflow.desc"), descriptors.encode_to_vec()).unwrap();
    prost_build::Config::new().btree_map(["."]).out_dir(out).compile_fds(descriptors).unwrap();
    for name in ["tensorflow.desc", "tensorflow.rs"] {
        let (kept, made) = (proto.join(name), out.join(name));
        assert!(
            fs::read(&kept).unwrap() == fs::read(&made).unwrap(),
            "if the change is meant: cp {} {}",
            made.display(),
            kept.display()
        );
    }
}
