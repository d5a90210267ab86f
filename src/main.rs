//! The `placebench` command.
fn main() {}
