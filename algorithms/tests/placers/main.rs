//! Laich's placers against literal re-implementations of her text, and the laws that every placer keeps.

mod instances;
mod laws;
mod literal;
mod literal_paths;
mod objective;
mod search;
mod state;
