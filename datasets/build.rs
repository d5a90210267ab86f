//! Compiles TensorFlow's GraphDef messages to Rust, and to the descriptors that the text format is read by.

use std::path::PathBuf;
use std::{env, error, fs};

use protox::prost_reflect::prost::Message;

fn main() -> Result<(), Box<dyn error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // Without source info: the protos' comments are no Rust documentation, and would double the descriptors.
    let descriptors = protox::Compiler::new(["proto"])?
        .include_imports(true)
        .include_source_info(false)
        .open_file("tensorflow/core/framework/graph.proto")?
        .file_descriptor_set();
    fs::write(out.join("tensorflow.desc"), descriptors.encode_to_vec())?;
    prost_build::Config::new().btree_map(["."]).out_dir(&out).compile_fds(descriptors)?;
    Ok(())
}
