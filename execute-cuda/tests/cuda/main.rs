//! What can be known of the executor without a GPU.

mod clocks;
mod driver;
mod gate;
mod kernel;
mod machine;
mod plan;
mod random;
