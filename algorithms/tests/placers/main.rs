//! All placers: a known result of each, and the laws that every placer keeps; Laich's placers against literal
//! re-implementations of her text.

mod golden;
mod laws;
mod literal;
mod literal_paths;
#[path = "../support/instances.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with other tests")]
mod literature;
mod objective;
#[path = "../support/random.rs"]
#[allow(unreachable_pub, reason = "shared with other tests")]
mod random;
mod search;
mod state;
mod sweep;
