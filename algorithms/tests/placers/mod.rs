//! All placers: a known result of each, and the laws that every placer keeps; Laich's placers against literal
//! re-implementations of her text.

mod golden;
mod laws;
mod literal;
mod literal_paths;
mod objective;
mod pipeline;
mod search;
mod state;
mod sweep;
